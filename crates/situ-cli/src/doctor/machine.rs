//! Checks of limits, processors, clock and huge pages.

use rustix::process::{Resource, getrlimit};

use super::Check;
use crate::output::units;

/// The number of descriptors that a few nodes with a hundred topics need.
const FILES: u64 = 1024;
/// The size of a large topic's pool.
const LOCKED: u64 = 64 << 20;

/// Checks the limits of this process and the features of the machine.
pub fn checks() -> Vec<Check> {
    let read = |path: &str| std::fs::read_to_string(path).unwrap_or_default().trim().to_owned();
    vec![
        open_files(getrlimit(Resource::Nofile).current),
        locked_memory(getrlimit(Resource::Memlock).current),
        processors(std::thread::available_parallelism().map_or(1, |n| n.get())),
        clock(&read("/sys/devices/system/clocksource/clocksource0/current_clocksource")),
        huge_pages(&read("/sys/kernel/mm/transparent_hugepage/shmem_enabled")),
    ]
}

fn open_files(limit: Option<u64>) -> Check {
    const NAME: &str = "open files";
    match limit {
        None => Check::ok(NAME, "unlimited"),
        Some(n) if n < FILES => Check::warn(
            NAME,
            format!("at most {n} per process"),
            "Every topic and every peer takes a descriptor: `ulimit -n 4096`, or LimitNOFILE= in a systemd unit.",
        ),
        Some(n) => Check::ok(NAME, format!("at most {n} per process")),
    }
}

fn locked_memory(limit: Option<u64>) -> Check {
    const NAME: &str = "locked memory";
    match limit {
        None => Check::ok(NAME, "unlimited"),
        Some(n) if n < LOCKED => Check::warn(
            NAME,
            format!("at most {}", units::bytes(n)),
            "This matters only if pools are locked in memory, so that they are not swapped out: `ulimit -l unlimited`, or \
             LimitMEMLOCK=infinity in a systemd unit.",
        ),
        Some(n) => Check::ok(NAME, format!("at most {}", units::bytes(n))),
    }
}

fn processors(count: usize) -> Check {
    const NAME: &str = "processors";
    if count < 2 {
        return Check::warn(
            NAME,
            "1 usable",
            "Publisher and subscriber share it: block (`wait`) instead of busy polling.",
        );
    }
    Check::ok(NAME, format!("{count} usable"))
}

fn clock(source: &str) -> Check {
    const NAME: &str = "clock";
    match source {
        "" => Check::ok(NAME, "source unknown"),
        "tsc" | "kvm-clock" | "arch_sys_counter" | "hyperv_clocksource_tsc_page" => {
            Check::ok(NAME, format!("{source}, read without a system call"))
        }
        other => Check::warn(
            NAME,
            format!("{other}, each reading is a system call"),
            "Time stamps cost some hundred nanoseconds each. If the machine has a stable TSC, boot with \
             `clocksource=tsc`.",
        ),
    }
}

fn huge_pages(setting: &str) -> Check {
    const NAME: &str = "huge pages";
    let chosen = setting.split('[').nth(1).and_then(|s| s.split(']').next()).unwrap_or("unknown");
    Check::ok(
        NAME,
        match chosen {
            "never" | "deny" => {
                "off for shared memory (large messages fault 4 KiB at a time when first written)".into()
            }
            other => format!("{other} for shared memory"),
        },
    )
}

#[cfg(test)]
mod tests {
    use super::super::Status;
    use super::*;

    #[test]
    fn limits() {
        assert_eq!(open_files(Some(256)).status, Status::Warn);
        assert_eq!(open_files(Some(1 << 20)).status, Status::Ok);
        assert_eq!(open_files(None).status, Status::Ok);
        assert_eq!(locked_memory(Some(64 << 10)).status, Status::Warn);
        assert_eq!(locked_memory(None).status, Status::Ok);
    }

    #[test]
    fn a_slow_clock_and_a_single_processor_are_reported() {
        assert_eq!(clock("hpet").status, Status::Warn);
        assert_eq!(clock("tsc").status, Status::Ok);
        assert_eq!(processors(1).status, Status::Warn);
        assert_eq!(processors(2).found, "2 usable");
    }

    #[test]
    fn the_setting_in_brackets_counts() {
        assert_eq!(
            huge_pages("always within_size [advise] never deny force").found,
            "advise for shared memory"
        );
        assert!(huge_pages("always [never] deny").found.starts_with("off"));
        assert_eq!(huge_pages("").found, "unknown for shared memory");
    }
}
