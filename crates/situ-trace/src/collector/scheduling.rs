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

/// Finds tracefs among some places.
fn tracefs(places: [&str; 2]) -> Result<PathBuf, Failed> {
    let mut last = None;
    for place in places {
        let path = Path::new(place).join("instances");
        match fs::read_dir(&path) {
            Ok(_) => return Ok(place.into()),
            Err(source) => last = last.or(Some(Failed { path, source })),
        }
    }
    Err(last.unwrap_or_else(|| Failed { path: places[0].into(), source: ErrorKind::NotFound.into() }))
}

impl Scheduling {
    /// Begins to record.
    pub(super) fn begin() -> Result<Self, Failed> {
        let instances = tracefs(PLACES)?.join("instances");
        remove_leftovers(&instances);
        let instance = instances.join(format!("{PREFIX}{}-{:x}", std::process::id(), system::unique()));
        fs::create_dir(&instance).map_err(at(instance.clone()))?;
        Self::open(instance)
    }

    /// Begins to record in an instance, which the kernel has filled with its files. Dropping it removes the
    /// instance.
    fn open(instance: PathBuf) -> Result<Self, Failed> {
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

#[cfg(test)]
mod tests {
    use prost::Message;

    use super::*;

    /// The packets of a session.
    #[derive(Default)]
    struct Packets(Vec<Vec<u8>>);

    impl PacketSink for Packets {
        fn put(&mut self, sequence: u32, packet: &[u8], added: &[u8]) {
            assert_eq!((sequence, added), (SEQUENCE, &[][..]));
            self.0.push(packet.to_vec());
        }

        fn end(&mut self, _: u32) {}
    }

    #[derive(Clone, PartialEq, Message)]
    struct Packet {
        #[prost(message, optional, tag = "1")]
        bundle: Option<Bundle>,
    }

    #[derive(Clone, PartialEq, Message)]
    struct Bundle {
        #[prost(uint32, tag = "1")]
        cpu: u32,
        #[prost(message, repeated, tag = "2")]
        events: Vec<Event>,
    }

    #[derive(Clone, PartialEq, Message)]
    struct Event {
        #[prost(uint64, tag = "1")]
        at_ns: u64,
        #[prost(uint32, tag = "2")]
        pid: u32,
        #[prost(message, optional, tag = "20")]
        waking: Option<Waking>,
    }

    #[derive(Clone, PartialEq, Message)]
    struct Waking {
        #[prost(string, tag = "1")]
        comm: String,
        #[prost(int32, tag = "2")]
        pid: i32,
        #[prost(int32, tag = "3")]
        prio: i32,
        #[prost(int32, tag = "5")]
        target_cpu: i32,
    }

    const SWITCH: &str = "name: sched_switch\nID: 316\nformat:\n\
        \tfield:int common_pid;\toffset:4;\tsize:4;\tsigned:1;\n\
        \tfield:char prev_comm[16];\toffset:8;\tsize:16;\tsigned:0;\n\
        \tfield:pid_t prev_pid;\toffset:24;\tsize:4;\tsigned:1;\n\
        \tfield:int prev_prio;\toffset:28;\tsize:4;\tsigned:1;\n\
        \tfield:long prev_state;\toffset:32;\tsize:8;\tsigned:1;\n\
        \tfield:char next_comm[16];\toffset:40;\tsize:16;\tsigned:0;\n\
        \tfield:pid_t next_pid;\toffset:56;\tsize:4;\tsigned:1;\n\
        \tfield:int next_prio;\toffset:60;\tsize:4;\tsigned:1;\n";
    const WAKING: &str = "name: sched_waking\nID: 318\nformat:\n\
        \tfield:int common_pid;\toffset:4;\tsize:4;\tsigned:1;\n\
        \tfield:char comm[16];\toffset:8;\tsize:16;\tsigned:0;\n\
        \tfield:pid_t pid;\toffset:24;\tsize:4;\tsigned:1;\n\
        \tfield:int prio;\toffset:28;\tsize:4;\tsigned:1;\n\
        \tfield:int target_cpu;\toffset:32;\tsize:4;\tsigned:1;\n";

    /// An empty folder of this test.
    fn folder(name: &str) -> PathBuf {
        let folder = std::env::temp_dir().join(format!("situ-tracefs-{}-{name}", std::process::id()));
        let _ = fs::remove_dir_all(&folder);
        fs::create_dir_all(&folder).unwrap();
        folder
    }

    /// An instance as the kernel fills it, with a page of each processor.
    fn instance(name: &str, pages: &[Vec<u8>]) -> PathBuf {
        let folder = folder(name);
        for (event, format) in [("sched_switch", SWITCH), ("sched_waking", WAKING)] {
            let event = folder.join("events/sched").join(event);
            fs::create_dir_all(&event).unwrap();
            fs::write(event.join("format"), format).unwrap();
        }
        fs::create_dir_all(folder.join("per_cpu/all")).unwrap();
        for (number, page) in pages.iter().enumerate() {
            let processor = folder.join(format!("per_cpu/cpu{number}"));
            fs::create_dir_all(&processor).unwrap();
            fs::write(processor.join("trace_pipe_raw"), page).unwrap();
        }
        folder
    }

    /// A page of the time 1000, with a thread that wakes the thread 9, called `arm`, 24 ns later.
    fn page(lost: u64) -> Vec<u8> {
        // 9 words of 4 bytes, 24 ns after the page's time.
        let mut data = (9_u32 | 24 << 5).to_le_bytes().to_vec();
        data.extend([62, 1, 0, 0, 7, 0, 0, 0]);
        data.extend(*b"arm\0\0\0\0\0\0\0\0\0\0\0\0\0");
        [9_i32, -2, 3].iter().for_each(|number| data.extend(number.to_le_bytes()));
        let length = data.len() as u64;
        let flags = if lost == 0 { 0 } else { 0b11 << 30 };
        let mut page = 1000_u64.to_le_bytes().to_vec();
        page.extend((flags | length).to_le_bytes());
        page.extend(data);
        page.extend(lost.to_le_bytes());
        page
    }

    #[test]
    fn recorded_pages_become_packets_of_their_processors() {
        let instance = instance("pages", &[page(0), Vec::new(), page(5)]);
        let mut scheduling = Scheduling::open(instance.clone()).unwrap_or_else(|error| panic!("{error:?}"));
        let is = |file: &str, content: &str| fs::read_to_string(instance.join(file)).unwrap() == content;
        assert!(is("trace_clock", "boot") && is("buffer_size_kb", "4096") && is("tracing_on", "1"));
        assert!(is("events/sched/sched_switch/enable", "1") && is("events/sched/sched_waking/enable", "1"));
        let mut packets = Packets::default();
        scheduling.read(&mut packets);
        scheduling.finish(&mut packets);
        assert!(is("tracing_on", "0"));
        let mut bundles: Vec<Bundle> = Vec::new();
        packets.0.iter().for_each(|it| bundles.extend(Packet::decode(&**it).unwrap().bundle));
        bundles.sort_by_key(|bundle| bundle.cpu);
        let waking = Some(Waking { comm: "arm".into(), pid: 9, prio: -2, target_cpu: 3 });
        let events = vec![Event { at_ns: 1024, pid: 7, waking }];
        let expected = [Bundle { cpu: 0, events: events.clone() }, Bundle { cpu: 2, events }];
        assert_eq!(bundles, expected);
        assert_eq!((scheduling.events, scheduling.lost), (2, 5));
        fs::remove_dir_all(&instance).unwrap();
    }

    #[test]
    fn damaged_pages_are_no_events() {
        let whole = page(0);
        for length in [0, 7, 15, 16, 19, 30, 55] {
            let instance = instance("damaged", &[whole[..length].to_vec(), vec![0xff; 5000]]);
            let mut scheduling =
                Scheduling::open(instance.clone()).unwrap_or_else(|error| panic!("{error:?}"));
            let mut packets = Packets::default();
            scheduling.read(&mut packets);
            assert_eq!((packets.0.len(), scheduling.events), (0, 0), "{length}");
            fs::remove_dir_all(&instance).unwrap();
        }
    }

    #[test]
    fn what_the_kernel_does_not_have_is_an_error_with_its_path() {
        let failed = |instance: &Path| match Scheduling::open(instance.to_owned()) {
            Err(failed) => (failed.path, failed.source.kind()),
            Ok(_) => panic!("it has what is needed"),
        };
        let without_waking = instance("events", &[]);
        let format = without_waking.join("events/sched/sched_waking/format");
        fs::write(&format, SWITCH).unwrap();
        assert_eq!(failed(&without_waking), (format.clone(), ErrorKind::Unsupported));
        fs::remove_file(&format).unwrap();
        assert_eq!(failed(&without_waking), (format, ErrorKind::NotFound));
        let without_pages = instance("processors", &[]);
        fs::create_dir_all(without_pages.join("per_cpu/cpu0")).unwrap();
        let page = without_pages.join("per_cpu/cpu0/trace_pipe_raw");
        assert_eq!(failed(&without_pages), (page, ErrorKind::NotFound));
        let nowhere = tracefs(["/no/such/tracefs", "/no/other/tracefs"]).unwrap_err();
        let expected = Path::new("/no/such/tracefs/instances");
        assert_eq!((&*nowhere.path, nowhere.source.kind()), (expected, ErrorKind::NotFound));
        for folder in [without_waking, without_pages] {
            fs::remove_dir_all(folder).unwrap();
        }
    }

    #[test]
    fn instances_of_dead_collectors_are_removed() {
        let tracefs_folder = folder("leftovers");
        let instances = tracefs_folder.join("instances");
        let own = format!("situ-{}-1", std::process::id());
        // No process has a number above 2^22.
        for name in ["situ-99999999-1", &own, "situ-other", "other"] {
            fs::create_dir_all(instances.join(name)).unwrap();
        }
        let place = tracefs_folder.to_str().unwrap();
        assert_eq!(tracefs(["/no/such/tracefs", place]).unwrap_or_default(), tracefs_folder);
        remove_leftovers(&instances);
        let mut left: Vec<_> = fs::read_dir(&instances).unwrap().map(|it| it.unwrap().file_name()).collect();
        left.sort();
        assert_eq!(left, ["other", &own, "situ-other"]);
        fs::remove_dir_all(&tracefs_folder).unwrap();
    }
}
