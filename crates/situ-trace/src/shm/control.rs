//! The control file: collectors announce their session in it, and producers wait for a session on it.
//!
//! ```text
//!   collector (holds the file's lock)            producer
//!   1. generation is even: make it so            1. g = generation          (acquire) even: no session
//!   2. write the session      (relaxed)          2. read the session        (relaxed)
//!   3. generation += 1, odd   (release)          3. generation is still g?  (fence)   no: again
//!   4. wake all producers that sleep on it       4. sleep until it is not g
//!   ...
//!   5. generation += 1, even  (release), wake
//! ```
//!
//! A collector that dies leaves the generation odd and the lock free. Producers therefore check the lock from
//! time to time, and the next collector begins with step 1. Producers may sleep on the file at any time, so a
//! collector that ends leaves it.

use std::fs::File;
use std::io;
use std::os::fd::AsFd;
use std::os::unix::fs::{FileExt, MetadataExt};
use std::time::Duration;

use rustix::fs::FlockOperation;
use rustix::thread::futex;
use situ_memory::fork::LockedFile;
use situ_memory::process::{Identity, State};
use situ_memory::sync::atomic::{AtomicU8, AtomicU32, AtomicU64, Ordering, fence};
use situ_memory::wake::WakeWord;
use situ_memory::{Access, Beneath, Mapping, MemoryError, OpenRoot, Root, RootError, find_memory};

use crate::shm::session::{Policy, Session};
use crate::system::{self, failed};

const MAGIC: u64 = u64::from_le_bytes(*b"SITUTRAC");
const VERSION: u32 = 3;
const SIZE: usize = 4096;
const TEXT_OFFSET: usize = 1024;
/// The maximum size of a session's categories, in bytes.
pub const MAX_CATEGORIES: usize = SIZE - TEXT_OFFSET;
const FILE: &str = "control";
/// The number of attempts of a starting collector to take the lock. Other processes hold the lock for a
/// moment when they check it.
const LOCK_ATTEMPTS: u32 = 100;

/// The words of the file. Zeroed memory announces no session.
#[repr(C)]
struct Page {
    magic: AtomicU64,
    version: AtomicU32,
    reserved: [u32; 29],
    /// Odd while there is a session. Producers sleep on it.
    generation: AtomicU32,
    reserved1: [u32; 31],
    /// The number of rings created so far.
    arrivals: AtomicU32,
    reserved2: [u32; 31],
    /// The word on which the collector sleeps.
    work: WakeWord,
    reserved3: [u64; 8],
    /// The generation that should end.
    stop: AtomicU32,
    reserved4: [u32; 31],
    id: AtomicU64,
    ring_bytes: AtomicU64,
    pid: AtomicU32,
    chunk_bytes: AtomicU32,
    stall: AtomicU32,
    stall_ms: AtomicU32,
    categories_len: AtomicU32,
    reserved5: u32,
    born: AtomicU64,
    namespaces: AtomicU64,
}

const _: () = assert!(size_of::<Page>() <= TEXT_OFFSET && size_of::<WakeWord>() == 64);

/// The mapped control file.
#[derive(Debug)]
pub(crate) struct Control {
    root: OpenRoot,
    directory: Beneath,
    map: Mapping,
    /// Used to check whether the lock is held.
    file: File,
    inode: u64,
}

/// The reason that the control file cannot be used.
#[derive(thiserror::Error)]
pub enum ControlError {
    /// The root directory cannot be used.
    #[error(transparent)]
    Root(#[from] RootError),
    /// The file cannot be created or mapped, or is not a control file.
    #[error(transparent)]
    Memory(#[from] MemoryError),
}

situ_layout::debug_as_text!(ControlError);

impl Control {
    /// Opens the file, and creates it if it does not exist.
    pub(crate) fn open(root: &Root) -> Result<Self, ControlError> {
        let root = root.prepare_only(&["trace"])?;
        let directory = root.trace();
        let place = directory.join(FILE);
        loop {
            if let Some(control) = Self::open_existing(&root)? {
                return Ok(control);
            }
            // The file is complete before it gets its name. It gets the name only if no other process was
            // faster.
            let hidden = directory.join(format!("{:016x}.new", system::unique()));
            let made = Self::make(&root, &hidden).and_then(|()| match hidden.rename_new(&place) {
                Ok(()) => Ok(()),
                // Another process was faster, or removes the file.
                Err(error)
                    if matches!(error.kind(), io::ErrorKind::AlreadyExists | io::ErrorKind::NotFound)
                        && root.check().is_ok() =>
                {
                    Ok(())
                }
                Err(error) => Err(failed("name", place.path(), error)),
            });
            let _ = hidden.remove();
            made?;
        }
    }

    /// Opens the file. `None` if it does not exist.
    pub(crate) fn find(root: &Root) -> Result<Option<Self>, ControlError> {
        match root.open()? {
            Some(root) => Ok(Self::open_existing(&root)?),
            None => Ok(None),
        }
    }

    fn make(root: &Root, place: &Beneath) -> Result<(), MemoryError> {
        let (file, path) = (system::create(root, place)?, place.path());
        let map = file
            .set_len(SIZE as u64)
            .and_then(|()| find_memory(file.as_fd(), 0, SIZE as u64))
            .and_then(|()| Mapping::new(file.as_fd(), 0, SIZE, Access::ReadWrite))
            .map_err(|error| failed("allocate memory for", path, error))?;
        // SAFETY: the mapping is zeroed, larger than the words, and all of them are atomics or reserved.
        let page = unsafe { &*map.base().cast::<Page>() };
        page.version.store(VERSION, Ordering::Relaxed);
        page.magic.store(MAGIC, Ordering::Release);
        Ok(())
    }

    fn open_existing(root: &OpenRoot) -> Result<Option<Self>, MemoryError> {
        let directory = root.trace();
        let place = directory.join(FILE);
        let path = place.path();
        let file = match place.open(true) {
            Ok(file) => file,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(failed("open", path, error)),
        };
        let metadata = file.metadata().map_err(|error| failed("read the metadata of", path, error))?;
        let malformed =
            |reason: &str| MemoryError::Malformed { path: path.to_owned(), reason: reason.to_owned() };
        if metadata.len() > SIZE as u64 {
            let reason =
                format!("it has {} bytes, too many for a file of Situ: remove it by hand", metadata.len());
            return Err(failed("use", path, io::Error::new(io::ErrorKind::InvalidData, reason)));
        }
        if metadata.len() < SIZE as u64 {
            return Err(malformed("it is not a control file of traces"));
        }
        let map = Mapping::new(file.as_fd(), 0, SIZE, Access::ReadWrite)
            .map_err(|error| failed("map", path, error))?;
        let control = Self { root: root.clone(), directory, map, file, inode: metadata.ino() };
        let page = control.page();
        if page.magic.load(Ordering::Acquire) != MAGIC || page.version.load(Ordering::Relaxed) != VERSION {
            return Err(malformed("it is not a control file of traces, or has another version"));
        }
        Ok(Some(control))
    }

    /// Removes a control file that cannot be used because of its size, magic or version. Returns whether it
    /// was removed.
    ///
    /// The content is unknown, so the name and kind (see [`Beneath::remove_if`]), the size and the lock
    /// decide: a file that is larger than a control file, or locked by a collector, stays. A file of another
    /// version stays if `in_use`. A producer that sleeps on the mapped file finds the next file as it does
    /// after [`remove`](Self::remove).
    pub(crate) fn remove_broken(root: &OpenRoot, in_use: bool) -> bool {
        root.trace().join(FILE).remove_if(|file| {
            let mut start = [0; 12];
            let len = file.read_at(&mut start, 0).unwrap_or(0);
            let is_ours = len == start.len() && start[..8] == MAGIC.to_le_bytes();
            let is_broken = !is_ours || start[8..] != VERSION.to_le_bytes();
            let is_small = file.metadata().is_ok_and(|file| file.len() <= SIZE as u64);
            let is_whole = file.metadata().is_ok_and(|file| file.len() == SIZE as u64);
            is_small
                && (!is_whole || (is_broken && !(is_ours && in_use)))
                && rustix::fs::flock(file, FlockOperation::NonBlockingLockExclusive).is_ok()
        })
    }

    fn page(&self) -> &Page {
        // SAFETY: the mapping is larger than the words, which are atomics or reserved, and lives as long as
        // `self`.
        unsafe { &*self.map.base().cast::<Page>() }
    }

    fn text(&self) -> &[AtomicU8] {
        // SAFETY: the text lies in the mapping, behind the words; atomics may be shared with other processes.
        unsafe {
            std::slice::from_raw_parts(self.map.base().add(TEXT_OFFSET).cast::<AtomicU8>(), MAX_CATEGORIES)
        }
    }

    /// The root directory that contains the file.
    pub(crate) fn root(&self) -> &OpenRoot {
        &self.root
    }

    /// The directory of a session's rings.
    pub(crate) fn rings(&self, session: u64) -> Beneath {
        self.directory.join(format!("{session:016x}"))
    }

    /// The directory of the control file and of the sessions' directories.
    pub(crate) fn directory(&self) -> &Beneath {
        &self.directory
    }

    /// Returns whether the file still has its name in the directory.
    pub(crate) fn is_current(&self) -> bool {
        self.directory.join(FILE).stat().is_ok_and(|now| now.st_ino == self.inode)
    }

    /// The word on which the collector sleeps.
    pub(crate) fn work(&self) -> &WakeWord {
        &self.page().work
    }

    /// The number of rings created so far.
    pub(crate) fn arrivals(&self) -> u32 {
        self.page().arrivals.load(Ordering::Acquire)
    }

    /// Producer: announces a new ring to the collector.
    pub(crate) fn arrive(&self) {
        self.page().arrivals.fetch_add(1, Ordering::AcqRel);
        self.work().notify();
    }

    pub(crate) fn generation(&self) -> u32 {
        self.page().generation.load(Ordering::Acquire)
    }

    /// Returns the announced session. Its collector may be dead.
    pub(crate) fn session(&self) -> Option<Session> {
        let page = self.page();
        // Bounded: a process that writes to the file without end must not hold this process here.
        for _ in 0..1000 {
            let generation = self.generation();
            if generation.is_multiple_of(2) {
                return None;
            }
            let length = page.categories_len.load(Ordering::Relaxed) as usize;
            let bytes = self.text()[..length.min(MAX_CATEGORIES)].iter();
            let bytes: Vec<u8> = bytes.map(|byte| byte.load(Ordering::Relaxed)).collect();
            let policy = match page.stall.load(Ordering::Relaxed) {
                0 => Policy::Drop,
                _ => Policy::Stall {
                    at_most: Duration::from_millis(page.stall_ms.load(Ordering::Relaxed).into()),
                },
            };
            let session = Session {
                generation,
                id: page.id.load(Ordering::Relaxed),
                categories: String::from_utf8_lossy(&bytes).into_owned(),
                collector_pid: page.pid.load(Ordering::Relaxed),
                ring_bytes: page.ring_bytes.load(Ordering::Relaxed),
                chunk_bytes: page.chunk_bytes.load(Ordering::Relaxed),
                policy,
            };
            // Keeps the loads above before the one below.
            fence(Ordering::Acquire);
            if page.generation.load(Ordering::Relaxed) == generation {
                return Some(session);
            }
        }
        None
    }

    /// Returns whether a collector lives. In doubt, returns true. The lock alone is not sufficient: a child
    /// that was cloned from the collector holds it too. If another collector has taken the lock and not yet
    /// announced itself, the result is about the previous collector. Its session is over, so the result is
    /// correct.
    pub(crate) fn has_collector(&self) -> bool {
        let page = self.page();
        system::is_locked(&self.file)
            && Identity {
                pid: page.pid.load(Ordering::Relaxed),
                born: page.born.load(Ordering::Relaxed),
                namespaces: page.namespaces.load(Ordering::Relaxed),
            }
            .state()
                != State::Ended
    }

    /// Producer: sleeps until the generation differs from `generation`, at most for `time`. May return early.
    pub(crate) fn sleep(&self, generation: u32, time: Duration) {
        let time = futex::Timespec {
            tv_sec: time.as_secs().try_into().unwrap_or(i64::MAX),
            tv_nsec: time.subsec_nanos().into(),
        };
        let _ = futex::wait(&self.page().generation, futex::Flags::empty(), generation, Some(&time));
    }

    /// Wakes all producers, so that they check the file.
    pub(crate) fn wake(&self) {
        let _ = futex::wake(&self.page().generation, futex::Flags::empty(), i32::MAX as u32);
    }

    /// Collector: takes the lock, through a descriptor of its own. Returns `None` if another collector holds
    /// it, and `NotFound` if the file has lost its name. While the lock is held, the file keeps its name.
    pub(crate) fn lock(&self) -> io::Result<Option<LockedFile>> {
        let file = self.directory.join(FILE).open(true)?;
        if file.metadata()?.ino() != self.inode {
            return Err(io::ErrorKind::NotFound.into());
        }
        for _ in 0..LOCK_ATTEMPTS {
            match rustix::fs::flock(&file, FlockOperation::NonBlockingLockExclusive) {
                Ok(()) if self.is_current() => return Ok(Some(LockedFile::new(file))),
                // Removed before this process had the lock.
                Ok(()) => return Err(io::ErrorKind::NotFound.into()),
                // Possibly a process that only checks the lock.
                Err(rustix::io::Errno::WOULDBLOCK) => std::thread::sleep(Duration::from_millis(1)),
                Err(error) => return Err(error.into()),
            }
        }
        Ok(None)
    }

    /// With the lock: removes the file. A producer that sleeps on it checks the name from time to time, and
    /// then opens the next file.
    pub(crate) fn remove(&self) {
        let _ = self.directory.join(FILE).remove();
    }

    /// Collector, with the lock: announces a session and sets its generation.
    pub(crate) fn announce(&self, session: &mut Session) {
        let page = self.page();
        // A collector may have died in its session, or while announcing one. From here on there is no
        // session.
        let even = self.generation().next_multiple_of(2);
        page.generation.store(even, Ordering::Relaxed);
        // Keeps the stores below after the one above.
        fence(Ordering::Release);
        page.id.store(session.id, Ordering::Relaxed);
        page.ring_bytes.store(session.ring_bytes, Ordering::Relaxed);
        page.chunk_bytes.store(session.chunk_bytes, Ordering::Relaxed);
        let Identity { born, namespaces, .. } = Identity::of_this();
        page.pid.store(session.collector_pid, Ordering::Relaxed);
        page.born.store(born, Ordering::Relaxed);
        page.namespaces.store(namespaces, Ordering::Relaxed);
        let (stall, ms) = match session.policy {
            Policy::Drop => (0, 0),
            Policy::Stall { at_most } => (1, u32::try_from(at_most.as_millis()).unwrap_or(u32::MAX)),
        };
        page.stall.store(stall, Ordering::Relaxed);
        page.stall_ms.store(ms, Ordering::Relaxed);
        let text = session.categories.as_bytes();
        page.categories_len.store(text.len() as u32, Ordering::Relaxed);
        for (place, byte) in self.text().iter().zip(text) {
            place.store(*byte, Ordering::Relaxed);
        }
        session.generation = even.wrapping_add(1);
        page.generation.store(session.generation, Ordering::Release);
        self.wake();
    }

    /// Collector, with the lock: ends its session.
    pub(crate) fn conclude(&self, session: &Session) {
        self.page().generation.store(session.generation.wrapping_add(1), Ordering::Release);
        self.wake();
    }

    /// Any process: requests that the session's collector ends it.
    pub(crate) fn request_stop(&self, session: &Session) {
        self.page().stop.store(session.generation, Ordering::Release);
        self.work().notify();
    }

    /// Returns whether a process has requested the session's end.
    pub(crate) fn is_stop_requested(&self, session: &Session) -> bool {
        self.page().stop.load(Ordering::Acquire) == session.generation
    }
}

#[cfg(test)]
mod tests {
    use std::mem::offset_of;

    use super::*;

    #[test]
    fn offsets_are_those_of_the_specification() {
        assert_eq!(offset_of!(Page, generation), 128);
        assert_eq!(offset_of!(Page, arrivals), 256);
        assert_eq!(offset_of!(Page, work), 384);
        assert_eq!(offset_of!(Page, stop), 512);
        assert_eq!(offset_of!(Page, id), 640);
        assert_eq!(offset_of!(Page, ring_bytes), 648);
        assert_eq!(offset_of!(Page, pid), 656);
        assert_eq!(offset_of!(Page, chunk_bytes), 660);
        assert_eq!(offset_of!(Page, stall), 664);
        assert_eq!(offset_of!(Page, stall_ms), 668);
        assert_eq!(offset_of!(Page, categories_len), 672);
    }
}
