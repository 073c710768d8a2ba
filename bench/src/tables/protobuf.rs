//! Table `protobuf`: encoding messages into existing memory, in C++ by GCC and Clang, and in Rust, in turns
//! on one core.

use std::collections::BTreeMap;
use std::hint::black_box;
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::time::Instant;

use crate::allocations::allocations;
use crate::bench::Bench;
use crate::failure::Failure;
use crate::os;
use crate::rows::Case;
use crate::stats::percentile;
use crate::systems::Kind;
use crate::view::{Drawing, View};
use crate::workload::protobuf::{Encode, Input, SYSTEMS, Shape};

const TABLE: &str = "protobuf";
/// As in peers/protobuf/peer.cpp.
const PER_MESSAGE: usize = 512;
const COLD: usize = 64 << 20;
const PACKED: usize = 4096;
/// The cases: the name, the message, the distance from one message to the next in bytes, and the factor by
/// which the case has fewer iterations.
const CASES: [(&str, Shape, usize, usize); 5] = [
    ("simple", Shape::Simple, 0, 1),
    ("nested", Shape::Nested, 0, 4),
    ("simple, cold", Shape::Simple, PER_MESSAGE, 4),
    ("nested, cold", Shape::Nested, PER_MESSAGE, 8),
    ("packed fixed32", Shape::Packed, 0, 8),
];

/// The measurements, by case, system and metric.
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
        // The process ends with its input. If it hangs, this kills it.
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

    /// Sends a command, and keeps the answers.
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
            // Clang's code of libprotobuf and of the floor would be the same.
            let system = match (self.compiler, system) {
                ("clang", "situ") => Kind::SituClang,
                ("clang", "mapbox") => Kind::MapboxClang,
                ("clang", "protozero") => Kind::ProtoZeroClang,
                ("clang", _) => continue,
                (_, name) => Kind::parse(name)
                    .ok_or(Failure::Protocol { line: line.clone(), why: "an unknown system" })?,
            };
            let value = value
                .parse()
                .map_err(|_| Failure::Protocol { line: line.clone(), why: "the value is not a number" })?;
            samples.entry((case.to_owned(), system, metric.to_owned())).or_default().push(value);
        }
    }
}

fn program(compiler: &str) -> String {
    format!("{}/build/bin/peer-protobuf-{compiler}", env!("CARGO_MANIFEST_DIR"))
}

/// The code size of a call in a program, in bytes: the size of a function with five calls minus that of one
/// with one call, divided by four. It includes the code that the compiler put aside as unlikely.
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

/// One round of a Rust system: nanoseconds a message.
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
        // Hot messages always go to the beginning. Cold ones continue after the last round's place.
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
    // Touches every page before the measurement.
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

/// Measures the table.
pub fn run(bench: &mut Bench) -> Result<View, Failure> {
    let core = bench.cores(1)?[0];
    // A round of a case takes about a tenth of a millisecond. Other load of the machine then affects some
    // rounds, and not all.
    let (rounds, iterations) = (bench.scale(201, 1001), 8_000);
    // A thread of its own is bound to the core; this one is not.
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
        // Without the programs, or without nm, there is no code size.
        if Path::new(&program(compiler)).is_file()
            && let Some(value) = code_per_call(compiler, name)
        {
            bench.record(TABLE, &case, system, "code_bytes", value);
        }
    }
    Ok(View::of("Encoding protobuf messages", Drawing::Bars { metric: "p50_ns", unit: "nanoseconds" }))
}
