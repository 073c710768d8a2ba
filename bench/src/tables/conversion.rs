//! Table `conversion`: messages in ROS 2's C form, converted to idiomatic Rust and back. A program of its own
//! (`conversion/`) measures them, with the C library's allocator.

use std::path::Path;
use std::process::Command;

use crate::bench::Bench;
use crate::failure::Failure;
use crate::rows::Case;
use crate::systems::Kind;
use crate::view::{Drawing, View};

const TABLE: &str = "conversion";
const METRICS: [&str; 3] = ["p50_ns", "p99_ns", "allocations"];

/// Measures the table.
pub fn run(bench: &mut Bench) -> Result<View, Failure> {
    let core = bench.cores(1)?[0];
    let rounds = bench.scale(301, 3001);
    let path = std::env::current_exe()
        .map_err(Failure::io("cannot find this program"))?
        .with_file_name("situ-bench-conversion");
    let output = Command::new(&path)
        .args([core.to_string(), rounds.to_string()])
        .output()
        .map_err(Failure::io(format!("{} (bench/conversion/build.sh builds it)", path.display())))?;
    if !output.status.success() {
        return Err(Failure::Worker(String::from_utf8_lossy(&output.stderr).trim().to_owned()));
    }
    for line in String::from_utf8_lossy(&output.stdout).lines() {
        let broken = |why| Failure::Protocol { line: line.to_owned(), why };
        let words: Vec<&str> = line.split('|').collect();
        let [case, system, metric, value] = words[..] else {
            return Err(broken("expected four parts"));
        };
        let system = Kind::parse(system).ok_or_else(|| broken("an unknown system"))?;
        let metric =
            METRICS.into_iter().find(|known| *known == metric).ok_or_else(|| broken("an unknown metric"))?;
        let value = value.parse().map_err(|_| broken("the value is not a number"))?;
        bench.record(TABLE, &Case::named(case), system, metric, value);
    }
    to_floor(bench);
    without_ros(bench);
    Ok(View::of(
        "Messages of ROS 2 to and from their C form",
        Drawing::Bars { metric: "p50_ns", unit: "nanoseconds" },
    ))
}

/// Adds a remark on the distance between copying and the floor.
fn to_floor(bench: &mut Bench) {
    let ratios = bench.ratios(TABLE, "p50_ns", Kind::SituCopy, Kind::Floor);
    let shown: Vec<String> = ratios.iter().map(|ratio| format!("{ratio:.2}")).collect();
    bench.remark(format!("situ-copy / floor, row by row: {}", shown.join(" ")));
}

/// Adds a remark if ROS's runtime is missing.
fn without_ros(bench: &mut Bench) {
    if bench.ratios(TABLE, "p50_ns", Kind::Elementwise, Kind::Floor).is_empty() {
        let venv = Path::new(env!("CARGO_MANIFEST_DIR")).join("../build/venv");
        bench.remark(format!(
            "elementwise and rosidl_runtime_rs are absent: they need the ROS packages that `scripts/setup.sh python` installs into {}",
            venv.display()
        ));
    }
}
