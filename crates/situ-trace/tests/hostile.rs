//! Rings that are overwritten at random, and rings that are forged: the collector neither crashes nor hangs,
//! and other producers' packets are whole. Also sessions that are forged in the control file: a traced
//! process gives them no more than its limits allow.
#![cfg(not(loom))]

mod common;

use std::fs::{self, OpenOptions};
use std::os::fd::AsFd;
use std::os::unix::process::ExitStatusExt;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicU8, AtomicU32, AtomicU64, Ordering};
use std::sync::mpsc;
use std::time::{Duration, Instant};

use common::{Scratch, TIMEOUT, role, write};
use situ_memory::{Access, Mapping};
use situ_testkit::Random;
use situ_testkit::process::{Role, say};
use situ_trace::{Collector, Limits, Producer};

fn rounds(usual: u64) -> u64 {
    std::env::var("SITU_CHAOS_KILLS").map_or(usual, |kills| kills.parse::<u64>().unwrap() / 20 + 1)
}

/// Writes while there is a session.
#[test]
#[ignore = "played by the children of the other tests"]
fn child() {
    let Some((role, scratch)) = role() else { return };
    let producer = Producer::connect(&scratch.root(), &role, |_| {}).unwrap();
    assert!(producer.wait_for_session(TIMEOUT));
    let mut writer = producer.writer();
    let mut random = Random(common::now_ns());
    for number in 0.. {
        let size = if random.below(10) == 0 { random.below(8000) } else { random.below(100) };
        if number == 100 {
            say("ready");
        }
        if !write(&mut writer, number, size as usize, random.below(5) as u32) {
            return;
        }
        if random.below(64) == 0 {
            std::thread::sleep(Duration::from_micros(50));
        }
    }
}

/// The rings of the session, in the order of their creation.
fn rings(collector: &Collector, scratch: &Scratch) -> Vec<PathBuf> {
    let directory = scratch.root().path().join("trace").join(format!("{:016x}", collector.session().id));
    let mut rings: Vec<_> = fs::read_dir(directory).unwrap().map(|entry| entry.unwrap().path()).collect();
    rings.sort_by_key(|path| path.metadata().unwrap().modified().unwrap());
    rings
}

/// Flips bits of a ring, most often in the important parts: the header, the words, the list, the entries, the
/// chunks' headers.
fn corrupt(map: &Mapping, random: &mut Random, chunk: u64) {
    let len = map.len() as u64;
    let at = match random.below(8) {
        0 => random.below(128),
        1 => 2048 + random.below(640),
        2 => 4096 + random.below(4096),
        3 => 8192 + random.below(1024),
        4 | 5 => 8192 + 65536 + random.below((len - 8192 - 65536) / chunk) * chunk + random.below(20),
        _ => random.below(len),
    };
    // SAFETY: the place lies in the mapping; atomics may be shared with other processes.
    let byte = unsafe { &*map.base().add(at as usize).cast::<AtomicU8>() };
    match random.below(3) {
        0 => byte.store(random.number() as u8, Ordering::Relaxed),
        _ => _ = byte.fetch_xor(1 << random.below(8), Ordering::Relaxed),
    }
}

#[test]
fn a_ring_that_is_overwritten_spoils_nothing_else() {
    let mut random = Random::seeded("overwritten rings");
    for _ in 0..rounds(12) {
        let scratch = Scratch::new();
        let chunk = 256 << random.below(3);
        let collector = scratch.collect(|options| {
            (options.ring_bytes, options.chunk_bytes) = (64 << 10, chunk);
            options.period = Duration::from_millis(1);
        });
        let mut child = Role::start(&scratch, "victim");
        child.wait_for("ready");
        let [ring] = &rings(&collector, &scratch)[..] else { panic!("one ring") };
        let file = OpenOptions::new().read(true).write(true).open(ring).unwrap();
        let len = file.metadata().unwrap().len() as usize;
        let map = Mapping::new(file.as_fd(), 0, len, Access::ReadWrite).unwrap();
        let producer = scratch.producer("honest");
        let mut writer = producer.writer();
        let (mut number, start) = (0, Instant::now());
        while start.elapsed() < Duration::from_millis(150) {
            for _ in 0..random.below(20) {
                corrupt(&map, &mut random, chunk.into());
            }
            assert!(write(&mut writer, number, random.below(300) as usize, 2));
            number += 1;
            std::thread::sleep(Duration::from_micros(random.below(200)));
        }
        assert_eq!(child.kill().signal(), Some(9), "the victim itself ended");
        let before = Instant::now();
        let summary = collector.stop().unwrap();
        assert!(before.elapsed() < TIMEOUT);
        // The victim's packets may have any content, but each must consist of whole fields.
        let bytes = fs::read(scratch.file()).unwrap();
        let honest = summary.producers.iter().find(|producer| producer.name == "honest").unwrap();
        let sequence = honest.writers[0].sequence;
        let packets = common::packets_of(&bytes, sequence);
        let numbers: Vec<_> = packets.iter().map(|packet| packet.test.unwrap().0).collect();
        assert_eq!(numbers, (0..number).collect::<Vec<_>>());
        assert_eq!((honest.writers[0].packets, honest.malformed), (number, 0));
    }
}

/// The collector works while a process overwrites the words without a pause.
#[test]
fn a_producer_that_overwrites_its_words_without_end_stalls_no_other() {
    let mut random = Random::seeded("never stopping");
    let scratch = Scratch::new();
    let collector = scratch.collect(|options| (options.ring_bytes, options.chunk_bytes) = (64 << 10, 256));
    let mut child = Role::start(&scratch, "victim");
    child.wait_for("ready");
    let [ring] = &rings(&collector, &scratch)[..] else { panic!("one ring") };
    let file = OpenOptions::new().read(true).write(true).open(ring).unwrap();
    let len = file.metadata().unwrap().len() as usize;
    let map = Mapping::new(file.as_fd(), 0, len, Access::ReadWrite).unwrap();
    let stop = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let (map, stop) = (&map, &stop);
        scope.spawn(move || {
            while !stop.load(Ordering::Relaxed) {
                corrupt(map, &mut random, 256);
            }
        });
        let producer = scratch.producer("honest");
        let mut writer = producer.writer();
        for number in 0..1000 {
            assert!(write(&mut writer, number, 100, 1));
            std::thread::sleep(Duration::from_micros(100));
        }
        let summary = collector.stop().unwrap();
        stop.store(true, Ordering::Relaxed);
        let honest = summary.producers.iter().find(|producer| producer.name == "honest").unwrap();
        assert_eq!((honest.writers[0].packets, honest.malformed), (1000, 0));
    });
}

#[test]
fn files_that_are_not_rings_are_named_in_the_summary() {
    let scratch = Scratch::new();
    let collector = scratch.collect(|_| {});
    let directory = scratch.root().path().join("trace").join(format!("{:016x}", collector.session().id));
    fs::write(directory.join("0000000000000001.ring"), b"SITURING, I say").unwrap();
    fs::write(directory.join("0000000000000002.ring"), vec![0; 100_000]).unwrap();
    std::os::unix::fs::symlink("/dev/zero", directory.join("0000000000000003.ring")).unwrap();
    fs::create_dir(directory.join("0000000000000004.ring")).unwrap();
    let producer = scratch.producer("honest");
    assert!(write(&mut producer.writer(), 0, 5, 1));
    let summary = collector.stop().unwrap();
    assert_eq!(summary.packets, 1);
    let given_up = summary.producers.iter().filter(|producer| producer.given_up.is_some()).count();
    assert_eq!((given_up, summary.producers.len()), (4, 5), "{summary:?}");
    // The trace says so, too.
    let trace = situ_trace::reader::ReadTrace::read(&fs::read(scratch.file()).unwrap());
    assert_eq!((trace.troubles.damaged, summary.damaged()), (4, 4));
    // The collector removes only files that are rings, or unfinished rings.
    let mut left: Vec<_> = fs::read_dir(directory).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    left.sort();
    assert_eq!(left, ["0000000000000003.ring", "0000000000000004.ring"]);
}

#[test]
fn planted_files_in_the_directory_of_traces_are_neither_followed_nor_removed() {
    let (scratch, home) = (Scratch::new(), Scratch::new());
    let root = scratch.root();
    drop(scratch.collect(|_| {}));
    // A session's directory that is a link to private files, and one with files that are no rings.
    let number = "0123456789abcdef";
    fs::create_dir_all(home.root().path()).unwrap();
    let precious = [format!("{number}.ring"), format!("{number}.new"), "diary".to_owned()];
    for name in &precious {
        fs::write(home.root().path().join(name), "dear diary").unwrap();
    }
    let trace = root.path().join("trace");
    std::os::unix::fs::symlink(home.root().path(), trace.join(number)).unwrap();
    let strange = trace.join("0123456789abcde0");
    fs::create_dir(&strange).unwrap();
    for name in &precious {
        fs::write(strange.join(name), "dear diary").unwrap();
    }
    fs::write(strange.join("0000000000000001.ring"), "SITURING").unwrap();
    fs::write(strange.join("0000000000000002.new"), "").unwrap();
    situ_trace::clean(&root).unwrap();
    drop(scratch.collect(|_| {}));
    assert_eq!(fs::read_dir(home.root().path()).unwrap().count(), precious.len());
    assert_eq!(fs::read_dir(&strange).unwrap().count(), precious.len(), "only rings are removed");
    // The directory of traces is a link itself.
    fs::rename(&trace, root.path().join("moved")).unwrap();
    std::os::unix::fs::symlink(home.root().path(), &trace).unwrap();
    situ_trace::clean(&root).unwrap();
    assert!(Producer::connect(&root, "led astray", |_| {}).is_err());
    assert!(Collector::start(&root, situ_trace::CollectorOptions::to_file("/dev/null")).is_err());
    assert_eq!(fs::read_dir(home.root().path()).unwrap().count(), precious.len());
}

/// The control file as a process with write access sees it, while a collector holds its lock.
struct Forger {
    map: Mapping,
    directory: PathBuf,
    _collector: Collector,
}

impl Forger {
    fn new(scratch: &Scratch) -> Self {
        let collector = scratch.collect(|_| {});
        let directory = scratch.root().path().join("trace");
        let file = OpenOptions::new().read(true).write(true).open(directory.join("control")).unwrap();
        let map = Mapping::new(file.as_fd(), 0, 4096, Access::ReadWrite).unwrap();
        Self { map, directory, _collector: collector }
    }

    fn word(&self, offset: usize) -> &AtomicU32 {
        assert!(offset <= 4092);
        // SAFETY: the place lies in the mapping and is aligned; atomics may be shared with other processes.
        unsafe { &*self.map.base().add(offset).cast::<AtomicU32>() }
    }

    /// The directory of a forged session's rings.
    fn rings(&self, id: u64) -> PathBuf {
        self.directory.join(format!("{id:016x}"))
    }

    /// Announces a session that requests endless waiting and endless rings. The offsets are those of
    /// `spec/trace.md`.
    fn announce(&self, id: u64) {
        self.word(128).fetch_and(!1, Ordering::SeqCst);
        for (offset, value) in [(640, id), (648, u64::MAX)] {
            // SAFETY: as in `word`; the offsets are multiples of 8.
            let word = unsafe { &*self.map.base().add(offset).cast::<AtomicU64>() };
            word.store(value, Ordering::SeqCst);
        }
        for (offset, value) in [(660, 256), (664, 1), (668, u32::MAX), (672, u32::MAX)] {
            self.word(offset).store(value, Ordering::SeqCst);
        }
        self.word(128).fetch_add(3, Ordering::SeqCst);
    }
}

/// A session requests 49 days of waiting for each packet, and no collector reads.
#[test]
fn a_forged_session_does_not_stop_writers() {
    const THREADS: u64 = 3;
    const PACKETS: u64 = 4000;
    let scratch = Scratch::new();
    let forger = Forger::new(&scratch);
    fs::create_dir(forger.rings(1)).unwrap();
    forger.announce(1);
    let limits = Limits::new().ring_bytes(1 << 20);
    let producer = Producer::connect_within(&scratch.root(), "victim", limits, |_| {}).unwrap();
    assert!(producer.wait_for_session(TIMEOUT));
    let (done, all_done) = mpsc::channel();
    for _ in 0..THREADS {
        let (mut writer, done) = (producer.writer(), done.clone());
        std::thread::spawn(move || {
            assert!((0..PACKETS).all(|number| write(&mut writer, number, 200, 1)));
            done.send(writer.lost().packets).unwrap();
        });
    }
    let lost: u64 = (0..THREADS).map(|_| all_done.recv_timeout(TIMEOUT).expect("the writer continues")).sum();
    assert!(lost > 0, "the ring is full");
    assert_eq!(producer.stalled(), limits.stall, "the whole limit, and not more");
    // The ring has at most the bytes that the process allows, plus the list and the entries.
    let [ring] = &fs::read_dir(forger.rings(1)).unwrap().map(|it| it.unwrap()).collect::<Vec<_>>()[..] else {
        panic!("one ring")
    };
    assert!(ring.metadata().unwrap().len() < (1 << 20) + (1 << 18));
}

/// Sessions begin and end without a pause: the memory and the time that they cost are bounded.
#[test]
fn sessions_that_follow_each_other_without_a_pause_cost_little() {
    let scratch = Scratch::new();
    let forger = Forger::new(&scratch);
    fs::create_dir(forger.rings(1)).unwrap();
    let limits = Limits::new().ring_bytes(1 << 16);
    let producer = Producer::connect_within(&scratch.root(), "victim", limits, |_| {}).unwrap();
    let mut writer = producer.writer();
    let (start, mut sessions) = (Instant::now(), 0u32);
    while start.elapsed() < Duration::from_millis(600) {
        forger.announce(1);
        sessions += 1;
        write(&mut writer, 0, 10, 0);
        std::thread::sleep(Duration::from_micros(200));
    }
    assert!(sessions > 20, "{sessions} are not many");
    // At most the current one, and the last four that have ended. One more may be in creation.
    let rings = fs::read_dir(forger.rings(1)).unwrap().count();
    assert!((1..=6).contains(&rings), "{rings} rings after {sessions} sessions");
    assert!(producer.stalled() <= limits.stall);
    drop(forger);
    // The process takes part in a real session.
    let collector = scratch.collect(|_| {});
    let begin = Instant::now();
    while !write(&mut writer, 7, 10, 0) || producer.session().is_none_or(|it| it.id != collector.session().id)
    {
        assert!(begin.elapsed() < TIMEOUT);
        std::thread::sleep(Duration::from_millis(1));
    }
    assert!(write(&mut writer, 7, 10, 0));
    collector.stop().unwrap();
    assert!(scratch.trace().numbers().contains(&7));
}

/// The kernel provides the owner of the session's directory. A link is never accepted.
#[test]
fn sessions_of_other_users_are_joined_only_if_the_limits_allow_it() {
    const NOBODY: u32 = 65_534;
    let scratch = Scratch::new();
    let forger = Forger::new(&scratch);
    let joins = |limits: Limits, id: u64, should: bool| {
        forger.announce(id);
        let producer = Producer::connect_within(&scratch.root(), "victim", limits, |_| {}).unwrap();
        // A producer checks at once when it starts. A short time is therefore sufficient to see that it does
        // not join.
        let time = if should { TIMEOUT } else { Duration::from_millis(200) };
        assert_eq!(producer.wait_for_session(time), should);
        assert_eq!(fs::read_dir(forger.rings(id)).unwrap().count(), usize::from(should));
    };
    let limits = Limits::new().ring_bytes(1 << 16);
    fs::create_dir(scratch.join("elsewhere")).unwrap();
    std::os::unix::fs::symlink(scratch.join("elsewhere"), forger.rings(2)).unwrap();
    joins(limits.other_users(true), 2, false);
    fs::create_dir(forger.rings(3)).unwrap();
    if std::os::unix::fs::chown(forger.rings(3), Some(NOBODY), None).is_err() {
        eprintln!("SKIPPED: only the superuser can give a directory to another user");
        return;
    }
    joins(limits, 3, false);
    joins(limits.other_users(true), 3, true);
}
