//! Maps a file once for all its participants in this process.
//!
//! The kernel limits how many mappings a process has (`vm.max_map_count`, usually 65,530). A publisher and a
//! subscriber of one topic in one process read and write the same files, so they share the mappings. A
//! mapping can be written exactly while one of its participants may write. The process as a whole therefore
//! has no more rights than its participants need together, as if each had a mapping of its own.
//!
//! A mapping that was made from a descriptor for reading cannot become writable. The first participant that
//! writes then gets another one, which is shared from there on.
//!
//! # Concurrency
//!
//! Ranges are found, mapped and given up under one lock. A range is in the table from its first participant
//! to its last, unless a better one has replaced it. So a range that is found has a participant, and lives.
//! A forked child may inherit the table while another thread of its parent has it locked, and its ranges are
//! private zeroes there. It therefore makes a table of its own, and lets that of its parent be.

use std::collections::HashMap;
use std::io;
use std::os::fd::BorrowedFd;
use std::ptr::null_mut;
use std::sync::atomic::{AtomicPtr, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::os::fork::Process;
use crate::os::mapped_range::{Access, MappedRange};

/// The device and inode of a file, and the number of its first bytes that are mapped. The file of a range
/// keeps its inode for as long as the range lives.
type Key = (u64, u64, usize);

#[derive(Default)]
struct Ranges {
    by_file: HashMap<Key, Arc<MappedRange>>,
    /// The files of ranges that are or were in `by_file`, and the number of their participants; by address.
    used: HashMap<usize, (Key, usize)>,
}

/// The ranges of one process.
struct Table {
    process: Process,
    ranges: Mutex<Ranges>,
}

/// The newest table. Those of ancestors are never freed.
static TABLE: AtomicPtr<Table> = AtomicPtr::new(null_mut());

/// The ranges of this process.
fn ranges() -> MutexGuard<'static, Ranges> {
    let process = Process::this();
    loop {
        // Acquire: the table was filled before it was stored.
        let newest = TABLE.load(Ordering::Acquire);
        // SAFETY: a table is stored once, and never freed.
        if let Some(table) = unsafe { newest.as_ref() }.filter(|table| table.process == process) {
            // Every step leaves the maps consistent.
            return table.ranges.lock().unwrap_or_else(PoisonError::into_inner);
        }
        let own = Box::into_raw(Box::new(Table { process, ranges: Mutex::default() }));
        if TABLE.compare_exchange(newest, own, Ordering::AcqRel, Ordering::Relaxed).is_err() {
            // SAFETY: it was just made, and no other thread has seen it.
            drop(unsafe { Box::from_raw(own) });
        }
    }
}

fn address(range: &MappedRange) -> usize {
    range.extent().base.as_ptr() as usize
}

/// Returns a range with the first `len` bytes of a file, for one more participant: one that this process has,
/// or a new one. It counts as a writer if its access allows writing. No memory is taken for holes.
pub(super) fn find_or_map(file: BorrowedFd<'_>, len: usize, access: Access) -> io::Result<Arc<MappedRange>> {
    let stat = rustix::fs::fstat(file)?;
    let key = (stat.st_dev, stat.st_ino, len);
    let mut ranges = ranges();
    let Ranges { by_file, used } = &mut *ranges;
    let found = by_file.get(&key).filter(|range| {
        // A damaged one is no longer the file.
        !range.is_damaged() && (access == Access::Read || range.may_write() && access == Access::ReadWrite)
    });
    if let Some(range) = found {
        if access == Access::ReadWrite {
            range.begin_writing()?;
        }
        used.entry(address(range)).or_insert((key, 0)).1 += 1;
        return Ok(range.clone());
    }
    let range = MappedRange::without_filling(null_mut(), file, len, access)?;
    used.insert(address(&range), (key, 1));
    by_file.insert(key, range.clone());
    Ok(range)
}

/// A participant gives up a range. The range may be one that is not shared.
pub(super) fn leave(range: &Arc<MappedRange>, writes: bool) {
    if !range.is_ours() {
        return;
    }
    let mut ranges = ranges();
    let Ranges { by_file, used } = &mut *ranges;
    let Some((key, users)) = used.get_mut(&address(range)) else { return };
    *users -= 1;
    if *users > 0 {
        if writes {
            // If the kernel refuses, the range stays writable, which only a stray write would notice.
            let _ = range.end_writing();
        }
        return;
    }
    let key = *key;
    used.remove(&address(range));
    if by_file.get(&key).is_some_and(|other| Arc::ptr_eq(other, range)) {
        // The participant still has it: it is unmapped outside the lock.
        by_file.remove(&key);
    }
}

#[cfg(test)]
mod tests {
    use std::fs::File;
    use std::os::fd::AsFd;
    use std::path::{Path, PathBuf};

    use super::*;
    use crate::os::mapping::Mapping;

    const LEN: usize = 8192;

    fn file(scratch: &situ_testkit::Scratch) -> PathBuf {
        std::fs::create_dir_all(scratch.path()).unwrap();
        let path = scratch.path().canonicalize().unwrap().join("shared");
        std::fs::write(&path, [7; LEN]).unwrap();
        path
    }

    fn map(path: &Path, access: Access) -> Mapping {
        let file = File::options().read(true).write(access == Access::ReadWrite).open(path).unwrap();
        Mapping::without_filling(file.as_fd(), LEN, access).unwrap()
    }

    /// The rights of the mappings of a file.
    fn rights(path: &Path) -> Vec<String> {
        let maps = std::fs::read_to_string("/proc/self/maps").unwrap();
        let of_file = maps.lines().filter(|line| line.ends_with(path.to_str().unwrap()));
        of_file.map(|line| line.split(' ').nth(1).unwrap().to_owned()).collect()
    }

    #[test]
    fn a_range_can_be_written_exactly_while_a_participant_may_write() {
        let scratch = situ_testkit::Scratch::new("shared");
        let path = file(&scratch);
        let first = map(&path, Access::ReadWrite);
        let (second, reader) = (map(&path, Access::ReadWrite), map(&path, Access::Read));
        assert_eq!([first.base(), second.base()], [reader.base(); 2]);
        assert_eq!(rights(&path), ["rw-s"]);
        first.protect(Access::Read).unwrap();
        first.protect(Access::Read).unwrap();
        assert_eq!(rights(&path), ["rw-s"], "the second writes");
        drop(second);
        assert_eq!(rights(&path), ["r--s"]);
        assert_eq!(reader.while_writable(|| rights(&path)).unwrap(), ["rw-s"]);
        assert_eq!(rights(&path), ["r--s"]);
        first.protect(Access::ReadWrite).unwrap();
        assert_eq!(rights(&path), ["rw-s"]);
        drop(first);
        assert_eq!(rights(&path), ["r--s"]);
        let last = map(&path, Access::ReadWrite);
        drop(reader);
        assert_eq!(rights(&path), ["rw-s"]);
        drop(last);
        assert!(rights(&path).is_empty());
    }

    #[test]
    fn a_range_from_a_descriptor_for_reading_never_becomes_writable() {
        let scratch = situ_testkit::Scratch::new("shared");
        let path = file(&scratch);
        let reader = map(&path, Access::Read);
        assert!(reader.while_writable(|| ()).is_err());
        let writer = map(&path, Access::ReadWrite);
        let mut both = rights(&path);
        both.sort();
        assert_eq!(both, ["r--s", "rw-s"]);
        // From here on the better one is shared, and it outlives its first participant.
        let later = map(&path, Access::Read);
        assert_eq!(later.base(), writer.base());
        drop((writer, reader));
        assert_eq!(rights(&path), ["r--s"]);
        assert_eq!(map(&path, Access::Read).base(), later.base());
    }

    #[test]
    fn files_and_lengths_are_told_apart() {
        let scratch = situ_testkit::Scratch::new("shared");
        let path = file(&scratch);
        let whole = map(&path, Access::Read);
        let part = Mapping::without_filling(File::open(&path).unwrap().as_fd(), 4096, Access::Read).unwrap();
        assert_ne!(whole.base(), part.base());
        std::fs::remove_file(&path).unwrap();
        std::fs::write(&path, [8; LEN]).unwrap();
        let other = map(&path, Access::Read);
        // SAFETY: both have the byte, and no code changes it.
        assert_eq!(unsafe { [whole.base().read(), other.base().read()] }, [7, 8]);
    }
}
