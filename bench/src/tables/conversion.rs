//! Table `conversion`: messages as ROS 2's C code has them to and from idiomatic Rust, measured by a program of its own
//! (`conversion/`), whose allocator is the C library's.

use std::path::Path;
use std::process::Command;

use crate::bench::{Bench, Case};
use crate::failure::Failure;
use crate::systems::Kind;

const TABLE: &str = "conversion";
const METRICS: [&str; 3] = ["p50_ns", "p99_ns", "allocations"];

/// Measures it.
pub fn run(bench: &mut Bench) -> Result<(), Failure> {
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
            return Err(broken("it has not four parts"));
        };
        let system = Kind::parse(system).ok_or_else(|| broken("an unknown system"))?;
        let metric =
            METRICS.into_iter().find(|known| *known == metric).ok_or_else(|| broken("an unknown metric"))?;
        let value = value.parse().map_err(|_| broken("this is no number"))?;
        bench.record(TABLE, &Case::named(case), system, metric, value);
    }
    to_floor(bench);
    without_ros(bench);
    bench.plot_bars(TABLE, "Messages of ROS 2 to and from C's layout", "p50_ns", "nanoseconds")
}

/// Says how far copying is from the floor.
fn to_floor(bench: &mut Bench) {
    let ratios = bench.ratios(TABLE, "p50_ns", Kind::SituCopy, Kind::Floor);
    let shown: Vec<String> = ratios.iter().map(|ratio| format!("{ratio:.2}")).collect();
    bench.remark(format!("situ-copy / floor, row by row: {}", shown.join(" ")));
}

/// Says why the runtime of ROS is missing, if it is.
fn without_ros(bench: &mut Bench) {
    if bench.ratios(TABLE, "p50_ns", Kind::Elementwise, Kind::Floor).is_empty() {
        let venv = Path::new(env!("CARGO_MANIFEST_DIR")).join("../build/venv");
        bench.remark(format!(
            "elementwise and rosidl_runtime_rs are absent: they need the ROS packages that `scripts/setup.sh python` installs into {}",
            venv.display()
        ));
    }
}
