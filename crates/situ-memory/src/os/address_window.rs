//! Address windows: ranges in which regions grow without moving, carved from one reservation per process.

use std::ffi::c_void;
use std::ptr::NonNull;
use std::sync::{Mutex, PoisonError};

use rustix::mm::{Advice, MapFlags, MprotectFlags, ProtFlags, madvise, mmap_anonymous, mprotect};
use situ_region::{Backing, MAX_SIZE, total_for};

use crate::os::mapped_range::lock_as_used;

/// The smallest window, and the largest, which is enough for any region.
const SMALLEST: usize = 1 << 20;
const LARGEST: usize = 1 << 32;
/// How many sizes there are: the powers of two from the smallest to the largest.
const SIZES: usize = (LARGEST.ilog2() - SMALLEST.ilog2() + 1) as usize;
/// Windows become writable in steps of at least this many bytes, and of as many as are writable already, so
/// that few windows cost a system call. Larger steps would be wrong: `mlockall(MCL_CURRENT)` finds memory for
/// everything that is writable.
const STEP: usize = 16 << 20;

/// No window of this size is available.
#[derive(Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error(
    "there is no window of {bytes} bytes: the process may not reserve more address space (ulimit -v); use a heap region"
)]
pub struct NoAddressWindow {
    /// The bytes asked for.
    pub bytes: usize,
}

situ_layout::debug_as_text!(NoAddressWindow);

/// A range of addresses that costs nothing until it is touched. A region in it grows in place.
///
/// Where the program locks its memory (`mlockall(MCL_FUTURE)`), the pages of windows are locked as they are
/// used. A program that makes windows first and locks all memory then (`MCL_CURRENT`) should add
/// `MCL_ONFAULT`. Otherwise the kernel finds memory for everything that is mapped at that moment, and a
/// window is as large as its region may become.
///
/// ```
/// use situ_region::{Options, Region, Vector};
/// use situ_memory::AddressWindow;
///
/// let window = AddressWindow::take(1 << 24)?;
/// let mut r = Region::<Vector<u32>, AddressWindow>::with_backing(window, Options::default())?;
/// let begin = r.bytes().as_ptr();
/// for i in 0..100_000 {
///     r.root_mut().push(i)?;
/// }
/// assert_eq!(r.bytes().as_ptr(), begin);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct AddressWindow {
    begin: NonNull<u8>,
    size: usize,
}

// SAFETY: a window owns its memory, which is reached only through it.
unsafe impl Send for AddressWindow {}
// SAFETY: as above; nothing changes through a shared reference.
unsafe impl Sync for AddressWindow {}

impl AddressWindow {
    /// A window in which a region can grow to at least `limit` bytes.
    pub fn take(limit: u32) -> Result<Self, NoAddressWindow> {
        let bytes = total_for(limit.min(MAX_SIZE)).max(SMALLEST).next_power_of_two();
        let begin = POOL.lock().unwrap_or_else(PoisonError::into_inner).take(bytes);
        begin.map(|begin| Self { begin, size: bytes }).ok_or(NoAddressWindow { bytes })
    }
}

impl Drop for AddressWindow {
    fn drop(&mut self) {
        // SAFETY: the window's pages belong to it alone. Private anonymous memory is zero when it is touched
        // again.
        if unsafe { madvise(self.begin.as_ptr().cast(), self.size, Advice::LinuxDontNeed) }.is_ok() {
            POOL.lock().unwrap_or_else(PoisonError::into_inner).give(self.begin, self.size);
        }
    }
}

// SAFETY: the window lies at a multiple of the smallest one. It is readable, writable and zero, belongs to
// this value alone until that is dropped, and never moves.
unsafe impl Backing for AddressWindow {
    fn memory(&mut self) -> (NonNull<u8>, usize) {
        (self.begin, self.size)
    }
    fn is_zero(&self) -> bool {
        true
    }
    fn grow(&mut self, _: usize) -> Option<(NonNull<u8>, usize)> {
        None
    }
}

static POOL: Mutex<Pool> = Mutex::new(Pool::new());

/// One reservation, which the first window makes. It is inaccessible at first, and becomes writable from its
/// front as windows are carved. The kernel treats neighbours of the same access as one mapping, so there are
/// two, however many windows there are. Memory counts when it is touched (`MAP_NORESERVE`). Huge pages are
/// off, because a small region would occupy one each.
struct Pool {
    begin: Option<NonNull<u8>>,
    reserved: usize,
    writable: usize,
    carved: usize,
    /// Returned windows, by size, without memory.
    free: [Vec<NonNull<u8>>; SIZES],
}

// SAFETY: the pool owns what it points to.
unsafe impl Send for Pool {}

impl Pool {
    const fn new() -> Self {
        Self { begin: None, reserved: 0, writable: 0, carved: 0, free: [const { Vec::new() }; SIZES] }
    }

    fn index(size: usize) -> usize {
        (size.ilog2() - SMALLEST.ilog2()) as usize
    }

    fn take(&mut self, size: usize) -> Option<NonNull<u8>> {
        if let Some(begin) = self.free.get_mut(Self::index(size))?.pop() {
            return Some(begin);
        }
        let all = match self.begin {
            Some(begin) => begin,
            None => self.reserve()?,
        };
        let end = self.carved.checked_add(size).filter(|end| *end <= self.reserved)?;
        if end > self.writable {
            let step = self.writable.max(STEP).max(end - self.writable);
            let more = step.min(self.reserved - self.writable);
            // SAFETY: within the reservation.
            let from = unsafe { all.add(self.writable) };
            lock_as_used(from, more).ok()?;
            // SAFETY: the range is within the reservation, and no window uses it yet.
            unsafe { mprotect(from.as_ptr().cast(), more, MprotectFlags::READ | MprotectFlags::WRITE) }
                .ok()?;
            self.writable += more;
        }
        // SAFETY: within the reservation.
        let begin = unsafe { all.add(self.carved) };
        self.carved = end;
        Some(begin)
    }

    fn give(&mut self, begin: NonNull<u8>, size: usize) {
        if let Some(free) = self.free.get_mut(Self::index(size)) {
            free.push(begin);
        }
    }

    /// Reserves 16 TiB, an eighth of the address space. Where a limit forbids it, halves the size until it
    /// succeeds, down to 256 MiB.
    fn reserve(&mut self) -> Option<NonNull<u8>> {
        let mut size = 1_usize << 44;
        while size >= 1 << 28 {
            let flags = MapFlags::PRIVATE | MapFlags::NORESERVE;
            // SAFETY: a new mapping at an address that the kernel chooses, so it replaces none.
            let at =
                unsafe { mmap_anonymous(std::ptr::null_mut::<c_void>(), size, ProtFlags::empty(), flags) };
            if let Some(begin) = at.ok().and_then(|at| NonNull::new(at.cast::<u8>())) {
                // SAFETY: the range was just mapped. If the kernel ignores the advice, more memory is used,
                // and nothing breaks.
                let _ = unsafe { madvise(begin.as_ptr().cast(), size, Advice::LinuxNoHugepage) };
                (self.begin, self.reserved) = (Some(begin), size);
                return Some(begin);
            }
            size /= 2;
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use situ_region::{Options, Region, Vector};

    use super::*;

    type Numbers = Region<Vector<u64>, AddressWindow>;

    fn made(limit: u32) -> Numbers {
        let window = AddressWindow::take(limit).unwrap();
        Region::with_backing(window, Options { limit, ..Options::default() }).unwrap()
    }

    #[test]
    fn a_region_grows_in_place_up_to_its_limit() {
        let mut r = made(1 << 20);
        let begin = r.bytes().as_ptr();
        let mut count = 0;
        while r.root_mut().push(count).is_ok() {
            count += 1;
        }
        assert_eq!(r.bytes().as_ptr(), begin);
        assert_eq!(count, ((1 << 20) - 80) / 8, "all of it, behind header and root");
        assert_eq!(r.root().as_slice().last(), Some(&(count - 1)));
        let largest = made(MAX_SIZE);
        assert!(largest.room() >= MAX_SIZE as usize);
    }

    #[test]
    fn windows_that_come_back_are_zero() {
        for round in 0..50 {
            let mut r = made(1 << 20);
            assert!(r.root().is_empty(), "{round}");
            assert!(r.bytes()[80..].iter().all(|byte| *byte == 0));
            r.root_mut().set(&[u64::MAX; 1000][..]).unwrap();
            let canonical = r.canonical();
            let (mut window, size) = r.into_backing();
            let (begin, _) = window.memory();
            // SAFETY: the window's front is the region's image, and no code writes to it.
            let image = unsafe { std::slice::from_raw_parts(begin.as_ptr(), size) };
            assert_eq!(Region::<Vector<u64>>::adopt(image).unwrap().canonical(), canonical);
        }
    }

    #[test]
    fn many_windows_are_few_mappings() {
        let maps = || std::fs::read_to_string("/proc/self/maps").unwrap().lines().count();
        let first = made(1 << 20);
        let before = maps();
        let regions: Vec<_> = (0..5000).map(|_| made(1 << 20)).collect();
        // Other tests of this process may map memory meanwhile.
        assert!(maps() < before + 100);
        drop((first, regions));
    }
}
