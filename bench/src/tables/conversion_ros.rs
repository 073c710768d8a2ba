//! Table `conversion-ros`: `UInt8MultiArray` of 64 KiB through rclrs and rclpy, in one process and in two (`rclrs/`).

use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use crate::bench::{Bench, Case};
use crate::failure::Failure;
use crate::stats::percentile;
use crate::systems::Kind;

const TABLE: &str = "conversion-ros";
const SYSTEMS: [Kind; 5] = [Kind::Situ, Kind::SituRmw, Kind::Elementwise, Kind::RosidlRuntimeRs, Kind::Rclpy];
/// How long a program may take to find its partner and to count.
const PATIENCE: Duration = Duration::from_secs(40);
/// What the change to the generator reported, in messages a second: before, after, and rclcpp.
const PUBLISHED: (u32, u32, u32) = (30_578, 135_560, 151_279);

/// Makes Python another program.
const BECOME: &str = "import os, sys; os.execv(sys.argv[1], sys.argv[1:])";

/// Where everything is.
struct Programs {
    venv: PathBuf,
    rclrs: PathBuf,
    folder: PathBuf,
}

/// A process that ends with this value.
struct Running(Child);

impl Drop for Running {
    fn drop(&mut self) {
        // It may have ended by itself; nothing is left to do then.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

impl Programs {
    fn find() -> Self {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("rclrs");
        let build = folder.join("../../build");
        Self { venv: build.join("venv"), rclrs: build.join("rclrs/target/release/situ-bench-rclrs"), folder }
    }

    fn start(
        &self,
        system: Kind,
        mode: &str,
        topic: &str,
        domain: u32,
        time: Duration,
    ) -> Result<Running, Failure> {
        let mut command = Command::new(self.venv.join("bin/python"));
        if system == Kind::Rclpy {
            command.arg(self.folder.join("peer.py"));
        } else {
            // The packages' own libraries are found by who is started from their Python.
            command.args(["-c", BECOME]).arg(&self.rclrs);
        }
        command
            .args([mode, system.name(), topic, &time.as_secs_f64().to_string()])
            .env("AMENT_PREFIX_PATH", &self.venv)
            .env("LD_LIBRARY_PATH", self.venv.join("lib"))
            .env("RMW_IMPLEMENTATION", "rmw_fastrtps_cpp")
            // Nobody else's messages: a domain of its own, on this machine.
            .env("ROS_DOMAIN_ID", domain.to_string())
            .env("ROS_AUTOMATIC_DISCOVERY_RANGE", "LOCALHOST")
            .env("FASTDDS_DEFAULT_PROFILES_FILE", self.folder.join("shm.xml"))
            .env("FASTRTPS_DEFAULT_PROFILES_FILE", self.folder.join("shm.xml"))
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        let child = command.spawn().map_err(Failure::io(format!("cannot start {}", system.name())))?;
        Ok(Running(child))
    }

    /// Messages a second, received.
    fn measure(&self, system: Kind, two: bool, domain: u32, time: Duration) -> Result<f64, Failure> {
        let topic = "situ_bench";
        let publisher = if two { Some(self.start(system, "publish", topic, domain, time)?) } else { None };
        let mut receiver =
            self.start(system, if two { "subscribe" } else { "single" }, topic, domain, time)?;
        let begin = Instant::now();
        loop {
            let ended = receiver.0.try_wait().map_err(Failure::io("cannot wait"))?;
            if ended.is_some() {
                break;
            }
            if begin.elapsed() > PATIENCE {
                return Err(Failure::Worker(format!("{} did not end within {PATIENCE:?}", system.name())));
            }
            std::thread::sleep(Duration::from_millis(20));
        }
        drop(publisher);
        remove_dead_segments();
        let text = |stream: Option<&mut dyn std::io::Read>| {
            let mut text = String::new();
            // What cannot be read is missing below.
            let _ = stream.map(|stream| stream.read_to_string(&mut text));
            text
        };
        let printed = text(receiver.0.stdout.as_mut().map(|it| it as &mut dyn std::io::Read));
        printed.trim().parse().map_err(|_| {
            let why = text(receiver.0.stderr.as_mut().map(|it| it as &mut dyn std::io::Read));
            Failure::Worker(format!("{}: {}", system.name(), why.trim()))
        })
    }
}

/// Removes the shared memory of Fast DDS whose processes are gone: they are killed, or end without asking the middleware to, and what
/// they leave would be found by the next ones. A living process holds a lock on the file `…_el` beside its segment or port.
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

/// Measures it.
pub fn run(bench: &mut Bench) -> Result<(), Failure> {
    let programs = Programs::find();
    if !programs.rclrs.is_file() || !programs.venv.join(".ready").is_file() {
        bench.remark(
            "absent: it needs ROS and rclrs from their package indexes (bench/rclrs/build.sh says what is missing)"
                .to_owned(),
        );
        return Ok(());
    }
    let rounds = bench.scale(3, 7);
    let time = Duration::from_secs_f64(bench.scale(2, 5) as f64);
    let mut domain = std::process::id() % 90;
    for (name, two) in [("u8_65536_one_process", false), ("u8_65536_two_processes", true)] {
        let mut samples = SYSTEMS.map(|_| Vec::new());
        let mut absent = Vec::new();
        for _ in 0..rounds {
            for (system, samples) in SYSTEMS.into_iter().zip(&mut samples) {
                if absent.contains(&system) {
                    continue;
                }
                // Discovery does not meet what the last program left.
                domain = domain % 90 + 1;
                match programs.measure(system, two, domain, time) {
                    Ok(value) => samples.push(value),
                    Err(failure) => {
                        bench
                            .remark(format!("{TABLE}: {} is absent from `{name}`: {failure}", system.name()));
                        absent.push(system);
                    }
                }
            }
        }
        let case = Case::named(name);
        for (system, samples) in SYSTEMS.into_iter().zip(&mut samples) {
            if let Some(median) = percentile(samples, 0.5) {
                bench.record(TABLE, &case, system, "msg_per_s", median);
            }
        }
    }
    let (before, after, rclcpp) = PUBLISHED;
    bench.remark(format!(
        "for orientation, what the change to ROS's generator reported for one process, on another machine: {before} messages a second before, {after} after, {rclcpp} in rclcpp"
    ));
    Ok(())
}
