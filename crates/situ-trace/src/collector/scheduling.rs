//! The kernel's scheduling events, by ftrace: which thread ran on which processor, and what woke it.
//!
//! A session has ring buffers of its own in the kernel (an *instance* of tracefs), so it does not disturb
//! other users of ftrace, and nothing remains when it ends. If the collector is killed, its instance remains;
//! the next one removes it. Only users who may write in tracefs, usually the superuser, can do this.

use std::fs::{self, File, OpenOptions};
use std::io::{self, ErrorKind, Read};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use rustix::fs::OFlags;
use situ_wire::protobuf::{Fixed, Writer};

use super::assembler::PacketSink;
use super::clocks::SEQUENCE;
use super::sched_pages::{Format, Kind, read_page};
use crate::system;

/// Where tracefs is usually mounted.
const PLACES: [&str; 2] = ["/sys/kernel/tracing", "/sys/kernel/debug/tracing"];
/// The beginning of the names of instances; the process number, and a number of the session, follow.
const PREFIX: &str = "situ-";
/// The size of the kernel's ring buffer for each processor, in KiB.
const BUFFER_KIB: &str = "4096";
/// The largest page that is read.
const MAX_PAGE: usize = 64 << 10;
/// The maximum number of pages of a processor that are read at once, so that other events are not late.
const PAGES_AT_ONCE: usize = 256;

/// An operation in tracefs that failed.
#[derive(Debug)]
pub(super) struct Failed {
    pub(super) path: PathBuf,
    pub(super) source: io::Error,
}

/// The events of a session.
pub(super) struct Scheduling {
    instance: PathBuf,
    formats: Vec<Format>,
    processors: Vec<(u32, File)>,
    page: Vec<u8>,
    packet: Vec<u8>,
    pub(super) events: u64,
    pub(super) lost: u64,
}

fn at(path: PathBuf) -> impl FnOnce(io::Error) -> Failed {
    move |source| Failed { path, source }
}

/// Finds tracefs.
fn tracefs() -> Result<PathBuf, Failed> {
    let mut last = None;
    for place in PLACES {
        let path = Path::new(place).join("instances");
        match fs::read_dir(&path) {
            Ok(_) => return Ok(place.into()),
            Err(source) => last = last.or(Some(Failed { path, source })),
        }
    }
    Err(last.unwrap_or_else(|| Failed { path: PLACES[0].into(), source: ErrorKind::NotFound.into() }))
}

impl Scheduling {
    /// Begins to record.
    pub(super) fn begin() -> Result<Self, Failed> {
        let instances = tracefs()?.join("instances");
        remove_leftovers(&instances);
        let instance = instances.join(format!("{PREFIX}{}-{:x}", std::process::id(), system::unique()));
        fs::create_dir(&instance).map_err(at(instance.clone()))?;
        // From here on, dropping it removes the instance.
        let mut made = Self {
            instance,
            formats: Vec::new(),
            processors: Vec::new(),
            page: vec![0; MAX_PAGE],
            packet: vec![0; 4 * MAX_PAGE],
            events: 0,
            lost: 0,
        };
        made.set("trace_clock", "boot")?;
        made.set("buffer_size_kb", BUFFER_KIB)?;
        for kind in Kind::ALL {
            let folder = format!("events/sched/{}", kind.name());
            let path = made.instance.join(&folder).join("format");
            let text = fs::read_to_string(&path).map_err(at(path.clone()))?;
            let unknown =
                || io::Error::new(ErrorKind::Unsupported, "the event has other fields than expected");
            made.formats.push(Format::parse(kind, &text).ok_or_else(unknown).map_err(at(path))?);
            made.set(&format!("{folder}/enable"), "1")?;
        }
        let folder = made.instance.join("per_cpu");
        for entry in fs::read_dir(&folder).map_err(at(folder.clone()))? {
            let name = entry.map_err(at(folder.clone()))?.file_name();
            let number = name.to_str().and_then(|name| name.strip_prefix("cpu")?.parse().ok());
            let Some(number) = number else { continue };
            let path = folder.join(&name).join("trace_pipe_raw");
            let flags = (OFlags::NONBLOCK | OFlags::CLOEXEC).bits() as i32;
            let file = OpenOptions::new().read(true).custom_flags(flags).open(&path).map_err(at(path))?;
            made.processors.push((number, file));
        }
        made.set("tracing_on", "1")?;
        Ok(made)
    }

    fn set(&self, name: &str, value: &str) -> Result<(), Failed> {
        let path = self.instance.join(name);
        fs::write(&path, value).map_err(at(path))
    }

    /// Writes what the kernel has recorded since the last call.
    pub(super) fn read(&mut self, to: &mut dyn PacketSink) {
        for (processor, file) in &mut self.processors {
            for _ in 0..PAGES_AT_ONCE {
                let Ok(length @ 1..) = file.read(&mut self.page) else { break };
                let mut buffer = Fixed::new(&mut self.packet);
                let mut writer = Writer::new(&mut buffer);
                let found = {
                    let mut packet = writer.message();
                    packet.uint32(10, SEQUENCE);
                    let mut bundle = packet.message(1);
                    bundle.uint32(1, *processor);
                    read_page(&self.page[..length], &self.formats, &mut bundle)
                };
                self.lost = self.lost.saturating_add(found.lost);
                if writer.finish().is_ok() && found.events != 0 {
                    self.events += found.events;
                    to.put(SEQUENCE, buffer.written(), &[]);
                }
            }
        }
    }

    /// Ends the recording, and writes the rest.
    pub(super) fn finish(&mut self, to: &mut dyn PacketSink) {
        if self.set("tracing_on", "0").is_ok() {
            // A buffer has 16 times as many pages as are read at once.
            for _ in 0..16 {
                self.read(to);
            }
        }
    }
}

impl Drop for Scheduling {
    fn drop(&mut self) {
        // The kernel removes an instance only while none of its files is open.
        self.processors.clear();
        let _ = fs::remove_dir(&self.instance);
    }
}

/// Removes the instances of collectors that have died.
fn remove_leftovers(instances: &Path) {
    let Ok(entries) = fs::read_dir(instances) else { return };
    for name in entries.flatten().map(|entry| entry.file_name()) {
        let pid =
            name.to_str().and_then(|name| name.strip_prefix(PREFIX)?.split('-').next()?.parse::<u32>().ok());
        if pid.is_some_and(|pid| !Path::new(&format!("/proc/{pid}")).exists()) {
            let _ = fs::remove_dir(instances.join(&name));
        }
    }
}
