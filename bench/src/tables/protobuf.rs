//! Table `protobuf`: encoding messages into memory that is there, in C++ by GCC and Clang, and in Rust, in turns on one core.

use std::collections::BTreeMap;
use std::hint::black_box;
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::time::Instant;

use crate::allocations::allocations;
use crate::bench::{Bench, Case};
use crate::failure::Failure;
use crate::os;
use crate::stats::percentile;
use crate::systems::Kind;
use crate::workload::protobuf::{Encode, Input, SYSTEMS, Shape};

const TABLE: &str = "protobuf";
/// As in peers/protobuf/peer.cpp.
const PER_MESSAGE: usize = 512;
const COLD: usize = 64 << 20;
const PACKED: usize = 4096;
/// What is written: its name, the message, how many bytes are passed over from one to the next, and by how much fewer
/// iterations are enough.
const CASES: [(&str, Shape, usize, usize); 5] = [
    ("simple", Shape::Simple, 0, 1),
    ("nested", Shape::Nested, 0, 4),
    ("simple, cold", Shape::Simple, PER_MESSAGE, 4),
    ("nested, cold", Shape::Nested, PER_MESSAGE, 8),
    ("packed fixed32", Shape::Packed, 0, 8),
];

/// What was measured, by case, system and metric.
type Samples = BTreeMap<(String, Kind, String), Vec<f64>>;

/// A program in C++.
struct Peer {
    compiler: &'static str,
    child: Child,
    input: ChildStdin,
    output: BufReader<ChildStdout>,
}

impl Drop for Peer {
    fn drop(&mut self) {
        // It ends when its input does; if it hangs, it is not waited for.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Peer {
    fn start(compiler: &'static str, core: usize) -> Result<Self, Failure> {
        let path = program(compiler);
        let mut child = Command::new(&path)
            .arg(core.to_string())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .map_err(Failure::io(format!("{path} (bench/peers/protobuf/build.sh builds it)")))?;
        let (Some(input), Some(output)) = (child.stdin.take(), child.stdout.take()) else {
            return Err(Failure::Protocol { line: path, why: "it has no input or output" });
        };
        Ok(Self { compiler, child, input, output: BufReader::new(output) })
    }

    /// Sends a command, and keeps what comes back.
    fn ask(&mut self, command: &str, samples: &mut Samples) -> Result<(), Failure> {
        let broken = || Failure::io(format!("the peer built by {}", self.compiler));
        writeln!(self.input, "{command}").map_err(broken())?;
        loop {
            let mut line = String::new();
            if self.output.read_line(&mut line).map_err(broken())? == 0 {
                return Err(Failure::Protocol { line: command.to_owned(), why: "the peer ended" });
            }
            let mut words = line.trim().split('|');
            let (Some(case), Some(system), Some(metric), Some(value)) =
                (words.next(), words.next(), words.next(), words.next())
            else {
                return Ok(());
            };
            // Clang's code of libprotobuf and of the floor is no other.
            let system = match (self.compiler, system) {
                ("clang", "situ") => Kind::SituClang,
                ("clang", "mapbox") => Kind::MapboxClang,
                ("clang", _) => continue,
                (_, name) => Kind::parse(name)
                    .ok_or(Failure::Protocol { line: line.clone(), why: "an unknown system" })?,
            };
            let value = value
                .parse()
                .map_err(|_| Failure::Protocol { line: line.clone(), why: "this is no number" })?;
            samples.entry((case.to_owned(), system, metric.to_owned())).or_default().push(value);
        }
    }
}

fn program(compiler: &str) -> String {
    format!("{}/build/bin/peer-protobuf-{compiler}", env!("CARGO_MANIFEST_DIR"))
}

/// The size of a call in a program, in bytes of machine code: that of a function with five calls less that of one with one,
/// what the compiler has put aside as unlikely included.
fn code_per_call(compiler: &str, name: &str) -> Option<f64> {
    let output = Command::new("nm").args(["-S", "--defined-only", &program(compiler)]).output().ok()?;
    let text = String::from_utf8(output.stdout).ok()?;
    let size = |symbol: &str| {
        text.lines()
            .filter_map(|line| {
                let words: Vec<&str> = line.split_whitespace().collect();
                let name = words.get(3)?;
                let is_part =
                    name.strip_prefix(symbol).is_some_and(|rest| rest.is_empty() || rest.starts_with('.'));
                is_part.then(|| i64::from_str_radix(words[1], 16).ok()).flatten()
            })
            .reduce(|a, b| a + b)
    };
    Some((size(&format!("code_{name}_5"))? - size(&format!("code_{name}_1"))?) as f64 / 4.0)
}

/// One round of a system in Rust: nanoseconds a message.
fn round(
    encode: Encode,
    case: (Shape, usize, usize),
    input: &Input,
    memory: &mut [u8],
    place: &mut usize,
    iterations: usize,
) -> Result<f64, Failure> {
    let (shape, step, share) = case;
    let (count, size) = (iterations / share, if step == 0 { PER_MESSAGE + PACKED } else { PER_MESSAGE });
    for _ in 0..64 {
        encode(input, shape, &mut memory[..size])?;
    }
    let begin = Instant::now();
    for _ in 0..count {
        // The hot ones always go to the beginning; the cold ones go on where the last round was.
        let at = if step == 0 { 0 } else { *place };
        let out = &mut memory[at..at + size];
        encode(black_box(input), shape, black_box(out))?;
        black_box(&memory[at]);
        *place = (*place + step) % (COLD - PER_MESSAGE);
    }
    Ok(begin.elapsed().as_nanos() as f64 / count as f64)
}

fn measure(core: usize, rounds: usize, iterations: usize) -> Result<(Samples, Vec<String>), Failure> {
    os::pin(core).map_err(Failure::io("cannot bind to a core"))?;
    let (mut samples, mut remarks) = (Samples::new(), Vec::new());
    let mut peers = Vec::new();
    for compiler in ["gcc", "clang"] {
        match Peer::start(compiler, core) {
            Ok(peer) => peers.push(peer),
            Err(failure) => remarks.push(format!("protobuf: the peers in C++ are absent: {failure}")),
        }
    }
    let input = Input::new();
    // Every page is there before anything is measured.
    let mut memory = vec![1; COLD];
    for peer in &mut peers {
        peer.ask("facts", &mut samples)?;
    }
    for &(system, encode) in SYSTEMS {
        for (case, shape, _, _) in CASES {
            encode(&input, shape, &mut memory)?;
            let before = allocations();
            let bytes = encode(&input, shape, &mut memory)?;
            let count = allocations() - before;
            let mut keep = |metric: &str, value| {
                samples.insert((case.to_owned(), system, metric.to_owned()), vec![value]);
            };
            keep("bytes", bytes as f64);
            keep("allocations", count as f64);
        }
    }
    let mut place = 0;
    for _ in 0..rounds {
        for peer in &mut peers {
            peer.ask(&format!("round {iterations}"), &mut samples)?;
        }
        for &(system, encode) in SYSTEMS {
            for (case, shape, step, share) in CASES {
                let ns = round(encode, (shape, step, share), &input, &mut memory, &mut place, iterations)?;
                samples.entry((case.to_owned(), system, "ns".to_owned())).or_default().push(ns);
            }
        }
    }
    Ok((samples, remarks))
}

/// Measures it.
pub fn run(bench: &mut Bench) -> Result<(), Failure> {
    let core = bench.cores(1)?[0];
    // A round of a case is short, about a tenth of a millisecond: whatever else the machine does hits some rounds, not all.
    let (rounds, iterations) = (bench.scale(201, 1001), 8_000);
    // A thread of its own, so that this one is not bound to a core.
    let measuring = std::thread::spawn(move || measure(core, rounds, iterations));
    let Ok(outcome) = measuring.join() else {
        return Err(Failure::Worker("the measuring thread panicked".to_owned()));
    };
    let (mut samples, remarks) = outcome?;
    remarks.into_iter().for_each(|remark| bench.remark(remark));
    for (name, ..) in CASES {
        let case = Case::named(name);
        for (metric, shown) in [("ns", "p50_ns"), ("bytes", "bytes"), ("allocations", "allocations")] {
            for ((of, system, what), values) in &mut samples {
                if of == name
                    && what == metric
                    && let Some(value) = percentile(values, 0.5)
                {
                    bench.record(TABLE, &case, *system, shown, value);
                }
            }
        }
    }
    let case = Case::named("set_ call");
    for (compiler, name, system) in [
        ("gcc", "situ", Kind::Situ),
        ("clang", "situ", Kind::SituClang),
        ("gcc", "libprotobuf", Kind::Libprotobuf),
    ] {
        // Without the programs, or without nm, there is nothing to say.
        if Path::new(&program(compiler)).is_file()
            && let Some(value) = code_per_call(compiler, name)
        {
            bench.record(TABLE, &case, system, "code_bytes", value);
        }
    }
    bench.plot_bars(TABLE, "Encoding protobuf messages", "p50_ns", "nanoseconds")
}
