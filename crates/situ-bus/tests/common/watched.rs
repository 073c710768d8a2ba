//! Children that are killed and watched: each gives signs of life, and must not stand still.

use std::fs::OpenOptions;
use std::os::fd::AsFd;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use situ_memory::{Access, Mapping};

use super::Scratch;
use super::process::{Role, command};

/// How many kills are made: some hundreds, or as many as the environment says.
pub fn kills(usual: u64) -> u64 {
    std::env::var("SITU_CHAOS_KILLS").map_or(usual, |kills| kills.parse().unwrap())
}

/// How long anything may stand still before it counts as hanging. Generous: the machine may be busy.
pub const PATIENCE: Duration = Duration::from_secs(20);

/// The signs of life of all children: one word each, in memory that they share with their parent.
pub struct Beats {
    path: PathBuf,
    map: Mapping,
}

impl Beats {
    /// Parent: makes the words.
    pub fn new(scratch: &Scratch) -> Self {
        let path = scratch.0.with_extension("beats");
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
        // SAFETY: the page holds so many words; they are atomics.
        unsafe { &*self.map.base().cast::<AtomicU64>().add(index) }
    }
}

impl Drop for Beats {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.path);
    }
}

/// Bytes of memory that the files below the root take.
pub fn memory(scratch: &Scratch) -> u64 {
    use std::os::unix::fs::MetadataExt;
    scratch
        .files()
        .iter()
        .filter_map(|path| path.metadata().ok())
        .map(|metadata| metadata.blocks() * 512)
        .sum()
}

/// A child that is watched.
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

    /// Fails if the child ended by itself or stands still.
    pub fn look(&mut self, beats: &Beats) {
        if let Some(status) = self.role.child.try_wait().unwrap() {
            panic!("{:?} ended by itself: {status}", self.name);
        }
        let beat = beats.of(self.index).load(Ordering::Relaxed);
        if beat != self.beat {
            (self.beat, self.at) = (beat, Instant::now());
        }
        // Who waits has nothing to do while publishers are blocked or dead, but some always come.
        if self.at.elapsed() > PATIENCE {
            let pid = self.role.child.id();
            let state = std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
            let place = std::fs::read_to_string(format!("/proc/{pid}/syscall")).unwrap_or_default();
            panic!("{:?} (process {pid}) stands still: {place}\n{state}", self.name);
        }
    }
}

/// Sets a flag when dropped.
pub struct Stop<'a>(pub &'a AtomicBool);

impl Drop for Stop<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}
