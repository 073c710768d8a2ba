//! Table `conversion-ros`: `UInt8MultiArray` of 64 KiB through rclrs, rclcpp and rclpy, in one process and in
//! two (`rclrs/`).
//!
//! All programs run at once and sleep while it is not their turn. Two forms take turns, A B B A. The result
//! is the ratio of two neighbouring rounds, since other load of the machine affects both alike. All programs
//! start anew several times, because chance decides at each start where memory lies.

use std::io::{BufRead, BufReader, Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;

use crate::bench::Bench;
use crate::failure::Failure;
use crate::os;
use crate::rows::Case;
use crate::stats::{grouped_interval, percentile};
use crate::systems::Kind;
use crate::view::{Text, View};

const TABLE: &str = "conversion-ros";
/// The table of the ratios in JSON.
const RATIOS: &str = "conversion-ros-ratios";
const SYSTEMS: [Kind; 10] = [
    Kind::Situ,
    Kind::SituWorker,
    Kind::SituLend,
    Kind::SituRmw,
    Kind::RosidlRuntimeRs,
    Kind::RosidlRuntimeRsWorker,
    Kind::RosidlRuntimeRsRmw,
    Kind::Elementwise,
    Kind::Rclcpp,
    Kind::Rclpy,
];
/// The pairs that take turns. The first pair is one form with itself: the distance of its ratio from 1 is due
/// to chance.
const PAIRS: [(Kind, Kind); 11] = [
    (Kind::Situ, Kind::Situ),
    (Kind::Situ, Kind::RosidlRuntimeRs),
    (Kind::SituWorker, Kind::RosidlRuntimeRsWorker),
    (Kind::SituRmw, Kind::RosidlRuntimeRsRmw),
    (Kind::SituLend, Kind::RosidlRuntimeRs),
    (Kind::Situ, Kind::Elementwise),
    (Kind::Situ, Kind::Rclcpp),
    (Kind::SituWorker, Kind::Rclcpp),
    (Kind::SituLend, Kind::Rclcpp),
    (Kind::SituRmw, Kind::Rclcpp),
    (Kind::Situ, Kind::Rclpy),
];
/// The time limit for finding the partner, and for an answer.
const TIMEOUT: Duration = Duration::from_secs(40);
/// The messages of a form before the measurement, twice.
const WARM_UP: u64 = 256;
/// The subscriber reports received messages in steps of this size.
const STEP: u64 = 16;

/// Makes the C library's allocator keep freed memory. Otherwise it may return a message's memory to the
/// kernel and take it again each time, depending on neighbouring memory. That costs as much as all the rest,
/// and affects forms by chance.
const KEEP: &str = "glibc.malloc.trim_threshold=1073741824:glibc.malloc.mmap_threshold=1073741824:glibc.malloc.top_pad=16777216";
/// The cases: the name, whether there are two processes, and whether the allocator keeps freed memory.
const CASES: [(&str, bool, bool); 4] = [
    ("u8_65536_one_process", false, true),
    ("u8_65536_two_processes", true, true),
    ("u8_65536_one_process_untuned", false, false),
    ("u8_65536_two_processes_untuned", true, false),
];

/// Replaces the Python process by another program.
const BECOME: &str = "import os, sys; os.execv(sys.argv[1], sys.argv[1:])";

/// A program with one or more forms.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Program {
    Rclrs,
    Rclcpp,
    Rclpy,
}

impl Program {
    const ALL: [Self; 3] = [Self::Rclrs, Self::Rclcpp, Self::Rclpy];

    fn of(system: Kind) -> Self {
        match system {
            Kind::Rclcpp => Self::Rclcpp,
            Kind::Rclpy => Self::Rclpy,
            _ => Self::Rclrs,
        }
    }
}

/// The paths of the programs and of ROS.
struct Places {
    venv: PathBuf,
    build: PathBuf,
    folder: PathBuf,
}

impl Places {
    fn find() -> Self {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("rclrs");
        let build = folder.join("../../build");
        Self { venv: build.join("venv"), build: build.join("rclrs"), folder }
    }

    /// The file of a program.
    fn file(&self, program: Program) -> PathBuf {
        match program {
            Program::Rclrs => self.build.join("target/release/situ-bench-rclrs"),
            Program::Rclcpp => self.build.join("rclcpp/peer"),
            Program::Rclpy => self.folder.join("peer.py"),
        }
    }
}

/// A process that is killed on drop.
struct Running(Child);

impl Drop for Running {
    fn drop(&mut self) {
        // The process may have ended by itself.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// A running program: one process, or a publisher and a subscriber.
struct Team {
    program: Program,
    /// The publisher is the first one.
    processes: Vec<Running>,
    orders: ChildStdin,
    answers: Receiver<String>,
}

/// The cost of a round for each message.
#[derive(Clone, Copy, Debug)]
struct Cost {
    /// Nanoseconds until it was received.
    time: f64,
    /// Nanoseconds on the CPU, in all processes.
    cpu: f64,
}

/// One of the costs.
type Measure = fn(&Cost) -> f64;

impl Team {
    /// Starts a program with all its forms, rotated by `turn`.
    fn start(
        bench: &mut Bench,
        places: &Places,
        program: Program,
        (_, two, keeps): (&str, bool, bool),
        turn: usize,
    ) -> Result<Self, Failure> {
        let id = bench.next_id();
        let arrivals = bench.session().directory().join(format!("arrivals-{id}"));
        std::fs::write(&arrivals, 0_u64.to_ne_bytes())
            .map_err(Failure::io("cannot write the file of arrivals"))?;
        let mut forms: Vec<&str> =
            SYSTEMS.iter().filter(|&&it| Program::of(it) == program).map(|it| it.name()).collect();
        let first = turn % forms.len();
        forms.rotate_left(first);
        let cores = bench.cores(2)?;
        // The libraries of the packages, and those that were built for rclcpp.
        let libraries = &format!(
            "{}:{}",
            places.venv.join("lib").display(),
            places.build.join("rclcpp/install/lib").display()
        );
        let domain = (u64::from(std::process::id()) + id) % 90 + 1;
        let start = |mode: &str, cores: &[usize]| -> Result<Running, Failure> {
            let mut command = Command::new(places.venv.join("bin/python"));
            if program != Program::Rclpy {
                // Processes that are started from the packages' Python find the packages' libraries.
                command.args(["-c", BECOME]);
            }
            command
                .arg(places.file(program))
                .arg(mode)
                .arg(&arrivals)
                .args(&forms)
                .env("AMENT_PREFIX_PATH", &places.venv)
                .env("LD_LIBRARY_PATH", libraries)
                .env("RMW_IMPLEMENTATION", "rmw_fastrtps_cpp")
                // A domain of its own on this machine keeps out messages of other programs.
                .env("ROS_DOMAIN_ID", domain.to_string())
                .env("ROS_AUTOMATIC_DISCOVERY_RANGE", "LOCALHOST")
                .env("FASTDDS_DEFAULT_PROFILES_FILE", places.folder.join("shm.xml"))
                .env("FASTRTPS_DEFAULT_PROFILES_FILE", places.folder.join("shm.xml"))
                .stdin(Stdio::piped())
                .stdout(Stdio::piped())
                .stderr(Stdio::piped());
            if keeps {
                command.env("GLIBC_TUNABLES", KEEP);
            }
            // A child inherits the cores that its parent has when it starts the child.
            os::bind(cores).map_err(Failure::io("cannot choose cores"))?;
            let child = command.spawn().map_err(Failure::io(format!("cannot start {program:?}")));
            os::bind(&bench.cores(1)?).map_err(Failure::io("cannot choose cores"))?;
            Ok(Running(child?))
        };
        let mut processes = if two {
            vec![start("publish", &cores[..1])?, start("subscribe", &cores[1..2])?]
        } else {
            vec![start("single", &cores[..2])?]
        };
        let (Some(orders), Some(output)) = (processes[0].0.stdin.take(), processes[0].0.stdout.take()) else {
            return Err(Failure::Worker(format!("{program:?} has no pipes")));
        };
        let (sender, answers) = channel();
        std::thread::spawn(move || {
            for line in BufReader::new(output).lines().map_while(Result::ok) {
                if sender.send(line).is_err() {
                    break;
                }
            }
        });
        let mut team = Self { program, processes, orders, answers };
        team.answer()?;
        Ok(team)
    }

    /// The next line. An error gives the reason why there is none.
    fn answer(&mut self) -> Result<String, Failure> {
        self.answers.recv_timeout(TIMEOUT).map_err(|_| {
            let mut why = String::new();
            for process in &mut self.processes {
                // Standard error ends only with the process. The message lacks what cannot be read.
                let _ = process.0.kill();
                let _ = process.0.stderr.take().map(|mut it| it.read_to_string(&mut why));
            }
            Failure::Worker(format!("{:?} does not answer: {}", self.program, why.trim()))
        })
    }

    fn cpu(&self) -> Result<u64, Failure> {
        self.processes
            .iter()
            .map(|it| os::cpu_ns(it.0.id()))
            .sum::<std::io::Result<u64>>()
            .map_err(Failure::io(format!("cannot read the CPU time of {:?}", self.program)))
    }

    /// One round of `count` messages.
    fn round(&mut self, system: Kind, count: u64) -> Result<Cost, Failure> {
        let before = self.cpu()?;
        // If the program is gone, it does not answer.
        let _ = writeln!(self.orders, "{} {count}", system.name());
        let answer = self.answer()?;
        let nanoseconds: f64 =
            answer.parse().map_err(|_| Failure::Worker(format!("{:?} says: {answer}", self.program)))?;
        let cpu = self.cpu()? - before;
        Ok(Cost { time: nanoseconds / count as f64, cpu: cpu as f64 / count as f64 })
    }
}

/// The programs of one start.
struct Start {
    teams: Vec<Team>,
    /// The number of messages in a round of each system.
    counts: Vec<(Kind, u64)>,
}

impl Start {
    /// Starts the programs, and warms up each form.
    fn new(
        bench: &mut Bench,
        places: &Places,
        present: &[Program],
        case: (&str, bool, bool),
        turn: usize,
        round: Duration,
    ) -> Result<Self, Failure> {
        let mut start = Self { teams: Vec::new(), counts: Vec::new() };
        for &program in present {
            start.teams.push(Team::start(bench, places, program, case, turn)?);
        }
        for system in SYSTEMS.into_iter().filter(|&it| present.contains(&Program::of(it))) {
            let team = start.team(system)?;
            team.round(system, WARM_UP)?;
            let cost = team.round(system, WARM_UP)?;
            let count = (round.as_nanos() as f64 / cost.time) as u64;
            start.counts.push((system, count.max(STEP).next_multiple_of(STEP)));
        }
        Ok(start)
    }

    fn team(&mut self, system: Kind) -> Result<&mut Team, Failure> {
        let program = Program::of(system);
        let found = self.teams.iter_mut().find(|it| it.program == program);
        found.ok_or_else(|| Failure::Worker(format!("{program:?} does not run")))
    }

    fn round(&mut self, system: Kind) -> Result<Cost, Failure> {
        let count = self.counts.iter().find(|it| it.0 == system).map_or(STEP, |it| it.1);
        self.team(system)?.round(system, count)
    }
}

/// The measurements of one case.
#[derive(Default)]
struct Samples {
    /// Each round.
    rounds: Vec<(Kind, Cost)>,
    /// For each pair and start, each round of the first system with its neighbour of the second.
    pairs: Vec<((Kind, Kind), usize, Cost, Cost)>,
}

impl Samples {
    fn record(&self, bench: &mut Bench, case: &str) {
        let named = Case::named(case);
        for system in SYSTEMS {
            let costs: Vec<Cost> = self.rounds.iter().filter(|it| it.0 == system).map(|it| it.1).collect();
            let median = |of: Measure| percentile(&mut costs.iter().map(of).collect::<Vec<_>>(), 0.5);
            if let (Some(time), Some(cpu)) = (median(|it| it.time), median(|it| it.cpu)) {
                bench.record(TABLE, &named, system, "msg_per_s", 1e9 / time);
                bench.record(TABLE, &named, system, "cpu_ns", cpu);
            }
        }
        for pair in PAIRS {
            let mut shown = Vec::new();
            let (time, cpu): (Measure, Measure) = (|it| it.time, |it| it.cpu);
            for (of, metrics) in [
                (time, ["time_ratio", "time_ratio_low", "time_ratio_high"]),
                (cpu, ["cpu_ratio", "cpu_ratio_low", "cpu_ratio_high"]),
            ] {
                let mut groups: Vec<Vec<f64>> = Vec::new();
                for (_, start, own, peer) in self.pairs.iter().filter(|it| it.0 == pair) {
                    groups.resize_with(groups.len().max(start + 1), Vec::new);
                    groups[*start].push(of(own) / of(peer));
                }
                let median = percentile(&mut groups.concat(), 0.5);
                let (Some(median), Some((low, high))) = (median, grouped_interval(&groups)) else {
                    continue;
                };
                let against = Case::named(format!("{case} / {}", pair.1.name()));
                for (metric, value) in metrics.into_iter().zip([median, low, high]) {
                    bench.record(RATIOS, &against, pair.0, metric, value);
                }
                shown.push(format!("{median:.3}x ({low:.3} to {high:.3})"));
            }
            if let [time, cpu] = shown.as_slice() {
                let names = format!("{} / {}", pair.0.name(), pair.1.name());
                bench.remark(format!("{case:<30} {names:<42} time {time}, CPU {cpu}"));
            }
        }
    }
}

/// Removes the shared memory of Fast DDS's dead processes: the next ones would find it. They were killed, or
/// ended without a shutdown of the middleware. A living process holds a lock on the file `…_el` beside its
/// segment or port.
fn remove_dead_segments() {
    let folder = Path::new("/dev/shm");
    let Ok(entries) = std::fs::read_dir(folder) else { return };
    for entry in entries.flatten() {
        let name = entry.file_name().to_string_lossy().into_owned();
        let Some(segment) = name.strip_suffix("_el").filter(|name| name.starts_with("fastdds_")) else {
            continue;
        };
        let free = std::fs::File::open(entry.path()).is_ok_and(|file| file.try_lock().is_ok());
        if free {
            for dead in [segment.to_owned(), format!("sem.{segment}_mutex"), name.clone()] {
                // Not every segment has all three.
                let _ = std::fs::remove_file(folder.join(dead));
            }
        }
    }
}

/// Measures the table.
pub fn run(bench: &mut Bench) -> Result<View, Failure> {
    let view = View { text: Text::Cases, plot: None };
    let places = Places::find();
    if !places.file(Program::Rclrs).is_file() || !places.venv.join(".ready").is_file() {
        bench.remark(
            "absent: needs ROS and rclrs from their package indexes (bench/rclrs/build.sh prints what is missing)"
                .to_owned(),
        );
        return Ok(view);
    }
    let mut present = Program::ALL.to_vec();
    if !places.file(Program::Rclcpp).is_file() {
        present.retain(|&it| it != Program::Rclcpp);
        bench.remark(format!("{TABLE}: rclcpp is absent (bench/rclrs/build.sh prints what is missing)"));
    }
    let starts = bench.scale(4, 20);
    let round = Duration::from_millis(bench.scale(30, 50) as u64);
    bench.remark(format!(
        "in each of {starts} starts all pairs take turns A B B A: the ratios are medians of {} pairs of rounds, with their 95 % \
         confidence intervals",
        2 * starts
    ));
    for case in CASES {
        let mut samples = Samples::default();
        for turn in 0..starts {
            let mut start = Start::new(bench, &places, &present, case, turn, round)?;
            let is_there = |it: &Kind| present.contains(&Program::of(*it));
            for (own, peer) in PAIRS.into_iter().filter(|it| is_there(&it.1)) {
                for own_first in [true, false] {
                    let (first, second) = if own_first { (own, peer) } else { (peer, own) };
                    let (a, b) = (start.round(first)?, start.round(second)?);
                    samples.rounds.extend([(first, a), (second, b)]);
                    let (of_own, of_peer) = if own_first { (a, b) } else { (b, a) };
                    samples.pairs.push(((own, peer), turn, of_own, of_peer));
                }
                if os::interrupted() {
                    return Ok(view);
                }
            }
            drop(start);
            remove_dead_segments();
        }
        samples.record(bench, case.0);
    }
    Ok(view)
}
