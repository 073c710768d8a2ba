//! Table `region`: characters of a game that are built, read, checked, changed and sent, and the data sets of
//! rust_serialization_benchmark.

use std::time::{Duration, Instant};

use crate::bench::Bench;
use crate::driver::{Role, Team};
use crate::failure::Failure;
use crate::rows::Case;
use crate::stats::percentile;
use crate::systems::Kind;
use crate::view::{Column, Drawing, Part, Plot, Text, View};

const TABLE: &str = "region";
/// The operations on characters: the command, and the names of the median and of the 99th percentile.
const CHARACTER: [(&str, &str, &str); 4] = [
    ("build", "build_ns", "build_p99_ns"),
    ("read", "read_ns", "read_p99_ns"),
    ("validate", "validate_ns", "validate_p99_ns"),
    ("mutate_send", "mutate_send_ns", "mutate_send_p99_ns"),
];
/// The talk's loops of 100,000 passes.
const LOOPS: [(&str, &str); 4] = [
    ("encode", "encode"),
    ("decode", "decode"),
    ("native_read", "read loop"),
    ("native_write", "write loop"),
];
const PASSES: f64 = 100_000.0;
const METHODS: [&str; 4] = ["exception", "longjmp", "error code", "reserved window"];
const GROWTHS: [u32; 4] = [100, 125, 150, 200];
const PREALLOCATED: [u32; 3] = [0, 4096, 8192];
const DATA_SETS: [&str; 7] = ["log", "mesh", "minecraft_savedata", "mk48", "tables", "words", "world"];
/// The operations on data sets: the command, and the names of the median and of the 99th percentile.
const OF_DATA_SETS: [(&str, &str, &str); 10] = [
    ("serialize", "serialize_ns", "serialize_p99_ns"),
    ("validate", "validate_ns", "validate_p99_ns"),
    ("read", "read_ns", "read_p99_ns"),
    ("update", "update_ns", "update_p99_ns"),
    ("validate_live", "validate_live_ns", "validate_live_p99_ns"),
    ("look_up", "look_up_ns", "look_up_p99_ns"),
    ("send", "send_ns", "send_p99_ns"),
    ("validate_packed", "validate_packed_ns", "validate_packed_p99_ns"),
    ("pack", "pack_ns", "pack_p99_ns"),
    ("unpack", "unpack_ns", "unpack_p99_ns"),
];

const SYSTEMS: [Kind; 18] = [
    Kind::Situ,
    Kind::SituClang,
    Kind::SituCanonical,
    Kind::Std,
    Kind::Boost,
    Kind::XOffset,
    Kind::Cista,
    Kind::FlatBuffers,
    Kind::CapnProto,
    Kind::MessagePack,
    Kind::Protobuf,
    Kind::SituRust,
    Kind::SituPacked,
    Kind::StdRust,
    Kind::Rkyv,
    Kind::FlatBuffersRust,
    Kind::CapnProtoRust,
    Kind::Prost,
];

/// How often and how long a number is sampled.
struct Sampling {
    turns: usize,
    budget: Duration,
}

/// Runs the same command on all systems in turns. A system that does not offer it has no samples.
fn in_turns(teams: &mut [Team], command: &str, sampling: &Sampling) -> Result<Vec<Vec<f64>>, Failure> {
    // Once before the measurement.
    for team in teams.iter_mut() {
        team.ask(&format!("run {command} rounds=1"))?;
    }
    let mut samples = vec![Vec::new(); teams.len()];
    let mut rounds = vec![1_u32; teams.len()];
    let start = Instant::now();
    for turn in 0..sampling.turns {
        if turn >= 3 && start.elapsed() > sampling.budget {
            break;
        }
        for ((team, samples), rounds) in teams.iter_mut().zip(&mut samples).zip(&mut rounds) {
            let begin = Instant::now();
            let mut found = team.ask(&format!("run {command} rounds={rounds}"))?;
            // Chooses as many rounds as fit into some milliseconds, including preparations.
            let taken = begin.elapsed().as_secs_f64() * 1e3;
            *rounds = ((f64::from(*rounds) * 8.0 / taken.max(0.01)) as u32).clamp(1, 200).min(*rounds * 4);
            samples.append(&mut found);
        }
    }
    Ok(samples)
}

/// Records the median and the 99th percentile.
fn record(
    bench: &mut Bench,
    case: &Case,
    teams: &[Team],
    samples: Vec<Vec<f64>>,
    (median, tail): (&'static str, Option<&'static str>),
) {
    for (team, mut samples) in teams.iter().zip(samples) {
        if let Some(value) = percentile(&mut samples, 0.5) {
            bench.record(TABLE, case, team.kind, median, value);
        }
        if let (Some(tail), Some(value)) = (tail, percentile(&mut samples, 0.99)) {
            bench.record(TABLE, case, team.kind, tail, value);
        }
    }
}

/// One answer of each system.
fn once(teams: &mut [Team], command: &str) -> Result<Vec<Vec<f64>>, Failure> {
    teams.iter_mut().map(|team| team.ask(&format!("run {command} rounds=1"))).collect()
}

/// Measures the table.
pub fn run(bench: &mut Bench) -> Result<View, Failure> {
    let cpus = bench.cores(1)?;
    let lone = [Role { name: "lone", index: 0, cpu: cpus[0] }];
    let mut teams = SYSTEMS
        .into_iter()
        .map(|kind| Team::start(bench.session(), TABLE, kind, &lone))
        .collect::<Result<Vec<_>, _>>()?;
    bench.note_absent(TABLE, &Case::named("character"), &teams);
    let sampling =
        Sampling { turns: bench.scale(40, 400), budget: Duration::from_secs(bench.scale(4, 40) as u64) };
    characters(bench, &mut teams, &sampling)?;
    talk(bench, &mut teams, &sampling)?;
    let half = Sampling { turns: sampling.turns / 2, budget: sampling.budget / 2 };
    data_sets(bench, &mut teams, &half)?;
    bench.note_absent(TABLE, &Case::named("the end"), &teams);
    targets(bench);
    let title = "A game's character as a message, and sets of records (logarithmic)";
    Ok(View { text: Text::Systems(&PARTS), plot: Some(Plot { title, drawing: Drawing::Systems(&PANELS) }) })
}

fn characters(bench: &mut Bench, teams: &mut [Team], sampling: &Sampling) -> Result<(), Failure> {
    let case = Case::named("character");
    for (operation, median, tail) in CHARACTER {
        let samples = in_turns(teams, &format!("op={operation}"), sampling)?;
        record(bench, &case, teams, samples, (median, Some(tail)));
    }
    let sizes = once(teams, "op=sizes")?;
    let mut images = Vec::new();
    for (team, sizes) in teams.iter().zip(&sizes) {
        let [bytes, compressed, checksum] = sizes[..] else { continue };
        bench.record(TABLE, &case, team.kind, "bytes", bytes);
        bench.record(TABLE, &case, team.kind, "zlib_bytes", compressed);
        if matches!(team.kind, Kind::SituCanonical | Kind::SituRust) {
            images.push(checksum);
        }
    }
    if let [a, b] = images[..] {
        bench.remark(if a == b {
            "the canonical images of C++ and Rust are the same bytes".to_owned()
        } else {
            format!("THE CANONICAL IMAGES OF C++ AND RUST DIFFER: CRC {a} and {b}")
        });
    }
    let churn = once(teams, "op=churn")?;
    for (team, growth) in teams.iter().zip(churn) {
        if let [growth] = growth[..] {
            bench.record(TABLE, &Case::named("churn"), team.kind, "growth_bytes", growth);
        }
    }
    for (operation, name) in [("push_back", "push_back with room"), ("allocation", "free and allocate")] {
        let samples = in_turns(teams, &format!("op={operation}"), sampling)?;
        record(bench, &Case::named(name), teams, samples, ("p50_ns", Some("p99_ns")));
    }
    Ok(())
}

fn talk(bench: &mut Bench, teams: &mut [Team], sampling: &Sampling) -> Result<(), Failure> {
    for (operation, name) in LOOPS {
        let samples = in_turns(teams, &format!("op={operation}"), sampling)?;
        // The median pass, to reduce the effect of other load.
        for (team, mut samples) in teams.iter().zip(samples) {
            if let Some(pass) = percentile(&mut samples, 0.5) {
                bench.record(TABLE, &Case::named(name), team.kind, "total_ms", pass * PASSES / 1e6);
            }
        }
    }
    for growth in GROWTHS {
        for preallocate in PREALLOCATED {
            let grown = once(teams, &format!("op=memory growth={growth} preallocate={preallocate}"))?;
            let case = Case::named(format!("memory, growth {growth} %, preallocated {preallocate}"));
            for (team, grown) in teams.iter().zip(grown) {
                if let [bytes] = grown[..] {
                    bench.record(TABLE, &case, team.kind, "memory_mib", bytes / f64::from(1 << 20));
                }
            }
        }
        let case = Case::named(format!("growth {growth} %"));
        for (what, metric) in [("build", "build_ns"), ("read", "read_ns"), ("write", "write_ns")] {
            let command = format!("op=growth what={what} growth={growth} preallocate=0");
            let samples = in_turns(teams, &command, sampling)?;
            record(bench, &case, teams, samples, (metric, None));
        }
        let images = once(teams, &format!("op=growth what=image growth={growth} preallocate=0"))?;
        record(bench, &case, teams, images, ("bytes", None));
    }
    for method in METHODS {
        let words = method.replace(' ', "_");
        let samples = in_turns(teams, &format!("op=resizing method={words}"), sampling)?;
        record(bench, &Case::named(format!("resizing, {method}")), teams, samples, ("build_ns", None));
    }
    Ok(())
}

fn data_sets(bench: &mut Bench, teams: &mut [Team], sampling: &Sampling) -> Result<(), Failure> {
    for set in DATA_SETS {
        let case = Case::named(set);
        // C++ reads the image that Rust has written.
        let image = bench.session().file(&format!("{set}.region")).display().to_string();
        once(teams, &format!("set={set} op=export image={image}"))?;
        let sizes = once(teams, &format!("op=sizes set={set}"))?;
        for (team, sizes) in teams.iter().zip(&sizes) {
            if let [bytes, compressed, _] = sizes[..] {
                bench.record(TABLE, &case, team.kind, "bytes", bytes);
                bench.record(TABLE, &case, team.kind, "zlib_bytes", compressed);
            }
        }
        let live = once(teams, &format!("op=live_sizes set={set}"))?;
        for (team, sizes) in teams.iter().zip(&live) {
            if let [bytes, ..] = sizes[..] {
                bench.record(TABLE, &case, team.kind, "live_bytes", bytes);
            }
        }
        for (operation, median, tail) in OF_DATA_SETS {
            let command = format!("set={set} op={operation} image={image}");
            let samples = in_turns(teams, &command, sampling)?;
            record(bench, &case, teams, samples, (median, Some(tail)));
        }
        // If the image was never written, there is nothing to remove.
        let _ = std::fs::remove_file(&image);
    }
    Ok(())
}

/// Adds a remark for each target.
fn targets(bench: &mut Bench) {
    let mut lines = Vec::new();
    let mut say = |what: &str, found: Option<f64>, limit: f64, unit: &str| {
        let Some(found) = found else { return };
        let met = if found <= limit { "met" } else { "missed" };
        lines.push(format!("target: {what}: {found:.2}{unit}, at most {limit}{unit}: {met}"));
    };
    let of = |case: &str, system: Kind, metric: &str| bench.value(TABLE, case, system, metric);
    let ratio =
        |case: &str, metric: &str, own: Kind, to: Kind| Some(of(case, own, metric)? / of(case, to, metric)?);
    for own in [Kind::Situ, Kind::SituRust] {
        let name = own.name();
        let sent = format!("{name}: receive, validate, mutate, send");
        say(&sent, of("character", own, "mutate_send_ns"), 400.0, " ns");
        let to_flatbuffers = ratio("character", "mutate_send_ns", own, Kind::FlatBuffers);
        say(&format!("{sent}, beside FlatBuffers"), to_flatbuffers, 0.3, "x");
        say(&format!("{name}: validate a character"), of("character", own, "validate_ns"), 150.0, " ns");
    }
    say("canonical image", of("character", Kind::SituCanonical, "bytes"), 3400.0, " bytes");
    say("canonical image, zlib", of("character", Kind::SituCanonical, "zlib_bytes"), 3100.0, " bytes");
    say("growth by churn", of("churn", Kind::Situ, "growth_bytes"), 0.0, " bytes");
    say("push_back with room", of("push_back with room", Kind::Situ, "p50_ns"), 4.0, " ns");
    say("free and allocate", of("free and allocate", Kind::Situ, "p50_ns"), 10.0, " ns");
    for case in ["read loop", "write loop"] {
        let name = format!("{case}, beside std");
        say(&name, ratio(case, "total_ms", Kind::Situ, Kind::Std), 1.0, "x");
        for (std, name) in [(Kind::Std, "std (C++ by GCC)"), (Kind::StdRust, "std-rust")] {
            let to_std = ratio(case, "total_ms", Kind::SituRust, std);
            say(&format!("situ-rust: {case}, beside {name}"), to_std, 1.0, "x");
        }
    }
    for own in [Kind::Situ, Kind::SituRust] {
        let name = format!("{}: validate log, beside rkyv", own.name());
        say(&name, ratio("log", "validate_ns", own, Kind::Rkyv), 0.7, "x");
    }
    for (set, metric, own, what, limit) in [
        ("world", "bytes", Kind::SituPacked, "packed: bytes", 1.0),
        ("world", "validate_ns", Kind::SituPacked, "packed: validate", 1.0),
        ("world", "validate_ns", Kind::SituRust, "canonical: validate", 1.0),
        ("world", "look_up_ns", Kind::SituRust, "look up", 1.2),
        ("world", "look_up_ns", Kind::SituPacked, "packed: look up", 1.2),
        ("world", "read_ns", Kind::SituRust, "walk", 1.2),
        ("world", "read_ns", Kind::SituPacked, "packed: walk", 1.2),
        ("words", "bytes", Kind::SituPacked, "packed: bytes", 1.05),
    ] {
        say(&format!("{set}, {what}, beside rkyv"), ratio(set, metric, own, Kind::Rkyv), limit, "x");
    }
    let live = of("world", Kind::SituRust, "validate_live_ns");
    let to_rkyv = live.zip(of("world", Kind::Rkyv, "validate_ns")).map(|(own, rkyv)| own / rkyv);
    say("world, live: validate, beside rkyv", to_rkyv, 1.5, "x");
    for line in lines {
        bench.remark(line);
    }
}

/// The printed parts.
const PARTS: [Part; 20] = [
    Part {
        title: "a character: build until it can be sent; read all; validate; receive, validate, change and send; bytes",
        columns: &[
            ("character", "build_ns", "build"),
            ("character", "read_ns", "read"),
            ("character", "validate_ns", "validate"),
            ("character", "mutate_send_ns", "mutate+send"),
            ("character", "mutate_send_p99_ns", "p99"),
            ("character", "bytes", "bytes"),
            ("character", "zlib_bytes", "zlib"),
        ],
        own: Kind::Situ,
        to: None,
    },
    Part {
        title: "the talk's loops: 100,000 passes",
        columns: &[
            ("encode", "total_ms", "encode"),
            ("decode", "total_ms", "decode"),
            ("read loop", "total_ms", "read loop"),
            ("write loop", "total_ms", "write loop"),
        ],
        own: Kind::Situ,
        to: Some(Kind::Std),
    },
    Part {
        title: "small operations",
        columns: &[
            ("push_back with room", "p50_ns", "push_back"),
            ("push_back with room", "p99_ns", "p99"),
            ("free and allocate", "p50_ns", "free+allocate"),
            ("free and allocate", "p99_ns", "p99"),
            ("churn", "growth_bytes", "left by churn"),
        ],
        own: Kind::Situ,
        to: Some(Kind::Std),
    },
    Part {
        title: "growing from a buffer of 1 KiB, by the way to detect a full one",
        columns: &[
            ("resizing, exception", "build_ns", "exception"),
            ("resizing, longjmp", "build_ns", "longjmp"),
            ("resizing, error code", "build_ns", "error code"),
            ("resizing, reserved window", "build_ns", "reserved window"),
        ],
        own: Kind::Situ,
        to: None,
    },
    Part {
        title: "resident memory of 10,000 characters, by growth of containers in percent, nothing preallocated",
        columns: &[
            ("memory, growth 100 %, preallocated 0", "memory_mib", "100"),
            ("memory, growth 125 %, preallocated 0", "memory_mib", "125"),
            ("memory, growth 150 %, preallocated 0", "memory_mib", "150"),
            ("memory, growth 200 %, preallocated 0", "memory_mib", "200"),
        ],
        own: Kind::Situ,
        to: Some(Kind::Std),
    },
    Part {
        title: "the same with 4096 bytes preallocated",
        columns: &[
            ("memory, growth 100 %, preallocated 4096", "memory_mib", "100"),
            ("memory, growth 125 %, preallocated 4096", "memory_mib", "125"),
            ("memory, growth 150 %, preallocated 4096", "memory_mib", "150"),
            ("memory, growth 200 %, preallocated 4096", "memory_mib", "200"),
        ],
        own: Kind::Situ,
        to: None,
    },
    Part {
        title: "the same with 8192 bytes preallocated",
        columns: &[
            ("memory, growth 100 %, preallocated 8192", "memory_mib", "100"),
            ("memory, growth 125 %, preallocated 8192", "memory_mib", "125"),
            ("memory, growth 150 %, preallocated 8192", "memory_mib", "150"),
            ("memory, growth 200 %, preallocated 8192", "memory_mib", "200"),
        ],
        own: Kind::Situ,
        to: None,
    },
    growth(
        "characters with containers that grow by 100 % (only as needed)",
        &[
            ("growth 100 %", "build_ns", "build"),
            ("growth 100 %", "read_ns", "read"),
            ("growth 100 %", "write_ns", "write"),
            ("growth 100 %", "bytes", "live image"),
        ],
    ),
    growth(
        "by 150 %",
        &[
            ("growth 150 %", "build_ns", "build"),
            ("growth 150 %", "read_ns", "read"),
            ("growth 150 %", "write_ns", "write"),
            ("growth 150 %", "bytes", "live image"),
        ],
    ),
    growth(
        "by 200 %",
        &[
            ("growth 200 %", "build_ns", "build"),
            ("growth 200 %", "read_ns", "read"),
            ("growth 200 %", "write_ns", "write"),
            ("growth 200 %", "bytes", "live image"),
        ],
    ),
    records(
        "log: 10,000 lines of a web server, many short texts",
        &[
            ("log", "bytes", "bytes"),
            ("log", "zlib_bytes", "zlib"),
            ("log", "serialize_ns", "serialize"),
            ("log", "validate_ns", "validate"),
            ("log", "read_ns", "read"),
            ("log", "update_ns", "update"),
        ],
    ),
    records(
        "mesh: 125,000 triangles",
        &[
            ("mesh", "bytes", "bytes"),
            ("mesh", "zlib_bytes", "zlib"),
            ("mesh", "serialize_ns", "serialize"),
            ("mesh", "validate_ns", "validate"),
            ("mesh", "read_ns", "read"),
            ("mesh", "update_ns", "update"),
        ],
    ),
    records(
        "minecraft_savedata: 500 players, nested, optional parts",
        &[
            ("minecraft_savedata", "bytes", "bytes"),
            ("minecraft_savedata", "zlib_bytes", "zlib"),
            ("minecraft_savedata", "serialize_ns", "serialize"),
            ("minecraft_savedata", "validate_ns", "validate"),
            ("minecraft_savedata", "read_ns", "read"),
            ("minecraft_savedata", "update_ns", "update"),
        ],
    ),
    records(
        "mk48: 1,000 updates of a game of ships",
        &[
            ("mk48", "bytes", "bytes"),
            ("mk48", "zlib_bytes", "zlib"),
            ("mk48", "serialize_ns", "serialize"),
            ("mk48", "validate_ns", "validate"),
            ("mk48", "read_ns", "read"),
            ("mk48", "update_ns", "update"),
        ],
    ),
    records(
        "tables: hash maps of 40,000 items and 10,000 names, and 100,000 lookups",
        &[
            ("tables", "bytes", "bytes"),
            ("tables", "zlib_bytes", "zlib"),
            ("tables", "serialize_ns", "serialize"),
            ("tables", "validate_ns", "validate"),
            ("tables", "read_ns", "look up"),
        ],
    ),
    records(
        "words: 100,000 texts of 12 to 19 letters",
        &[
            ("words", "bytes", "bytes"),
            ("words", "zlib_bytes", "zlib"),
            ("words", "serialize_ns", "serialize"),
            ("words", "validate_ns", "validate"),
            ("words", "read_ns", "read"),
        ],
    ),
    records(
        "world: a save file of 100,000 entities; look up 100,000 names; receive, validate, change 1,000 and send",
        &[
            ("world", "bytes", "bytes"),
            ("world", "live_bytes", "live"),
            ("world", "serialize_ns", "serialize"),
            ("world", "validate_ns", "validate"),
            ("world", "validate_live_ns", "live"),
            ("world", "read_ns", "walk"),
            ("world", "look_up_ns", "look up"),
            ("world", "send_ns", "change+send"),
        ],
    ),
    packed("packed images: written from a region, by data set", &OF_PACKED[0]),
    packed("packed images: checked (in Rust: the rows above)", &OF_PACKED[1]),
    packed("packed images: made a region again", &OF_PACKED[2]),
];

/// A column of one operation for each data set.
const fn by_set(metric: &'static str) -> [Column; 6] {
    [
        ("log", metric, "log"),
        ("mesh", metric, "mesh"),
        ("minecraft_savedata", metric, "minecraft"),
        ("mk48", metric, "mk48"),
        ("words", metric, "words"),
        ("world", metric, "world"),
    ]
}
const OF_PACKED: [[Column; 6]; 3] = [by_set("pack_ns"), by_set("validate_packed_ns"), by_set("unpack_ns")];

const fn packed(title: &'static str, columns: &'static [Column]) -> Part {
    Part { title, columns, own: Kind::SituPacked, to: None }
}

const fn growth(title: &'static str, columns: &'static [Column]) -> Part {
    Part { title, columns, own: Kind::Situ, to: None }
}

const fn records(title: &'static str, columns: &'static [Column]) -> Part {
    Part { title, columns, own: Kind::SituRust, to: None }
}

/// The drawn panels.
const PANELS: [Column; 12] = [
    ("character", "build_ns", "build"),
    ("character", "read_ns", "read all"),
    ("character", "validate_ns", "validate"),
    ("character", "mutate_send_ns", "receive, validate, mutate, send"),
    ("log", "serialize_ns", "serialize"),
    ("log", "validate_ns", "validate"),
    ("log", "read_ns", "read"),
    ("log", "update_ns", "update"),
    ("log", "bytes", "bytes"),
    ("mesh", "validate_ns", "validate"),
    ("minecraft_savedata", "validate_ns", "validate"),
    ("mk48", "validate_ns", "validate"),
];
