//! Children that are killed and watched: each must give signs of life.

use std::fs::OpenOptions;
use std::os::fd::AsFd;
use std::os::unix::process::ExitStatusExt;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use rustix::process::Signal;
use situ_memory::{Access, Mapping};

use super::Scratch;
use situ_testkit::Random;
use situ_testkit::process::{Role, command};

/// The number of kills: some hundreds, or the environment's number.
pub fn kills(usual: u64) -> u64 {
    std::env::var("SITU_CHAOS_KILLS").map_or(usual, |kills| kills.parse().unwrap())
}

/// The time without a sign of life that counts as hanging. It is long, because the machine may be busy.
pub const TIMEOUT: Duration = Duration::from_secs(20);

/// The heartbeats of all children: one word each, in memory that they share with their parent.
pub struct Beats {
    path: PathBuf,
    map: Mapping,
}

impl Beats {
    /// Parent: creates the words.
    pub fn new(scratch: &Scratch) -> Self {
        let path = scratch.with_extension("beats");
        std::fs::write(&path, [0; 4096]).unwrap();
        Self::open(path)
    }

    pub fn open(path: PathBuf) -> Self {
        let file = OpenOptions::new().read(true).write(true).open(&path).unwrap();
        let map = Mapping::new(file.as_fd(), 0, 4096, Access::ReadWrite).unwrap();
        Self { path, map }
    }

    pub fn of(&self, index: usize) -> &AtomicU64 {
        assert!(index < 512);
        // SAFETY: the page holds this number of words; they are atomics.
        unsafe { &*self.map.base().cast::<AtomicU64>().add(index) }
    }
}

impl Drop for Beats {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.path);
    }
}

/// The bytes of memory of the files below the root.
fn memory(scratch: &Scratch) -> u64 {
    use std::os::unix::fs::MetadataExt;
    scratch
        .files()
        .iter()
        .filter_map(|path| path.metadata().ok())
        .map(|metadata| metadata.blocks() * 512)
        .sum()
}

/// A watched child.
pub struct Watched {
    pub role: Role,
    pub name: &'static str,
    index: usize,
    beat: u64,
    at: Instant,
}

impl Watched {
    pub fn start(scratch: &Scratch, name: &'static str, index: usize, beats: &Beats) -> Self {
        let mut command = command(scratch, name);
        command.env("SITU_TEST_INDEX", index.to_string()).stdout(std::process::Stdio::piped());
        let beat = beats.of(index).load(Ordering::Relaxed);
        Self { role: Role::of(command), name, index, beat, at: Instant::now() }
    }

    /// Fails if the child ended by itself or gives no sign of life.
    pub fn look(&mut self, beats: &Beats) {
        if let Some(status) = self.role.child.try_wait().unwrap() {
            panic!("{:?} ended by itself: {status}", self.name);
        }
        let beat = beats.of(self.index).load(Ordering::Relaxed);
        if beat != self.beat {
            (self.beat, self.at) = (beat, Instant::now());
        }
        // A waiting process has no messages while publishers are blocked or dead, but some always arrive.
        if self.at.elapsed() > TIMEOUT {
            let pid = self.role.child.id();
            let state = std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
            let place = std::fs::read_to_string(format!("/proc/{pid}/syscall")).unwrap_or_default();
            panic!("{:?} (process {pid}) stands still: {place}\n{state}", self.name);
        }
    }
}

/// Sets a flag when dropped.
struct Stop<'a>(&'a AtomicBool);

impl Drop for Stop<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// A process that is not killed: takes messages until a flag is set, and counts them.
pub type Witness<'a> = &'a (dyn Fn(&AtomicU64, &AtomicBool) + Sync);

/// The result of kills at random.
pub struct Outcome<const WITNESSES: usize> {
    /// The number of messages that each witness took.
    pub seen: [u64; WITNESSES],
    /// The largest number of bytes seen in the files below the root.
    pub most_memory: u64,
}

/// Runs children with these roles, and kills them at random moments, some after they were stopped for a
/// while. Starts others in their place. Fails if a child ends by itself or stands still, or if a witness
/// receives no more messages.
///
/// `pause` returns the microseconds until the next kill. `before_the_end` is called when all children are
/// gone and the witnesses still run.
pub fn kill_at_random<const WITNESSES: usize>(
    scratch: &Scratch,
    random: &mut Random,
    roles: &[&'static str],
    witnesses: [Witness<'_>; WITNESSES],
    (kills, pause): (u64, fn(&mut Random) -> u64),
    before_the_end: impl FnOnce(),
) -> Outcome<WITNESSES> {
    let beats = Beats::new(scratch);
    let (stop, seen) = (AtomicBool::new(false), [const { AtomicU64::new(0) }; WITNESSES]);
    let mut most_memory = 0;
    std::thread::scope(|scope| {
        let witnesses: Vec<_> = std::iter::zip(witnesses, &seen)
            .map(|(witness, seen)| {
                let stop = &stop;
                scope.spawn(move || witness(seen, stop))
            })
            .collect();
        // The witnesses must end on every way out of the scope.
        let _stopped = Stop(&stop);
        let start = |index: usize| Watched::start(scratch, roles[index], index, &beats);
        let mut children: Vec<_> = (0..roles.len()).map(start).collect();
        let mut known = seen.each_ref().map(|seen| (seen.load(Ordering::Relaxed), Instant::now()));
        for kill in 0..kills {
            std::thread::sleep(Duration::from_micros(pause(random)));
            let index = random.below(children.len() as u64) as usize;
            if random.below(8) == 0 {
                // Stopped while others continue, then killed or continued.
                children[index].role.signal(Signal::STOP);
                std::thread::sleep(Duration::from_micros(random.below(30_000)));
                children[index].role.signal(Signal::CONT);
            }
            let old = std::mem::replace(&mut children[index], start(index));
            let status = old.role.kill();
            assert_eq!(status.signal(), Some(9), "{:?} ended by itself: {status}", old.name);
            children.iter_mut().for_each(|child| child.look(&beats));
            assert!(witnesses.iter().all(|witness| !witness.is_finished()), "a witness failed");
            for (known, seen) in known.iter_mut().zip(&seen) {
                let now = seen.load(Ordering::Relaxed);
                if now != known.0 {
                    *known = (now, Instant::now());
                }
                assert!(known.1.elapsed() < TIMEOUT, "no message comes any more ({now} so far)");
            }
            if kill % 16 == 0 {
                most_memory = most_memory.max(memory(scratch));
            }
        }
        drop(children);
        before_the_end();
    });
    Outcome { seen: seen.each_ref().map(|seen| seen.load(Ordering::Relaxed)), most_memory }
}
