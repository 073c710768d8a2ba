//! One Rust system of table `region`: executes the driver's commands on standard input (`src/driver.rs` of
//! the benchmark).

mod character;
mod data;
#[path = "../../src/workload/random.rs"]
#[allow(dead_code, reason = "this program uses a part of it")]
mod random;
mod suite;
mod systems;

use std::collections::BTreeMap;
use std::process::ExitCode;

/// Binds the calling thread to one core.
fn pin(cpu: usize) -> std::io::Result<()> {
    // SAFETY: an all-zero `cpu_set_t` is the empty set.
    let mut set: libc::cpu_set_t = unsafe { std::mem::zeroed() };
    if cpu >= libc::CPU_SETSIZE as usize {
        return Err(std::io::Error::from_raw_os_error(libc::EINVAL));
    }
    // SAFETY: `set` is a valid set, and the index lies within it.
    unsafe { libc::CPU_SET(cpu, &mut set) };
    // SAFETY: the size given is the size of the set pointed at.
    let rc = unsafe { libc::sched_setaffinity(0, size_of::<libc::cpu_set_t>(), &set) };
    if rc == 0 { Ok(()) } else { Err(std::io::Error::last_os_error()) }
}

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let arguments: BTreeMap<&str, &str> =
        words.chunks_exact(2).map(|pair| (pair[0].as_str(), pair[1].as_str())).collect();
    let outcome = (|| {
        let cpu = arguments.get("--cpu").and_then(|cpu| cpu.parse().ok()).ok_or("missing --cpu")?;
        pin(cpu).map_err(|error| format!("cannot bind to core {cpu}: {error}"))?;
        let suite = match *arguments.get("--system").ok_or("missing --system")? {
            "situ-rust" => systems::situ::suite(),
            "situ-packed" => systems::situ_sets::packed_suite(),
            "std-rust" => systems::native::suite(),
            "rkyv" => systems::rkyv::suite(),
            "flatbuffers-rust" => systems::flatbuffers::suite(),
            "prost" => systems::prost::suite(),
            #[cfg(with_capnp)]
            "capnp-rust" => systems::capnp::suite(),
            #[cfg(not(with_capnp))]
            "capnp-rust" => {
                Err("built without the compiler `capnp` (bench/setup.sh region installs it)".into())
            }
            other => Err(format!("no such system: {other}").into()),
        }?;
        suite.serve()
    })();
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            println!("error {}", error.to_string().replace('\n', " "));
            ExitCode::FAILURE
        }
    }
}
