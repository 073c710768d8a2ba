//! The pages of the host that a device knows, by address. The table has the imported buffers, but not the
//! device.

use std::any::Any;
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use ash::vk;

/// Whole pages of this process as a buffer of the device.
pub struct Import {
    pub first: usize,
    pub size: usize,
    pub buffer: vk::Buffer,
    /// Destroys the buffer when the last copy of this is dropped.
    pub keep: Arc<dyn Any + Send + Sync>,
}

impl Import {
    /// `len` bytes of it, from `at` on.
    pub fn span(&self, at: u64, len: u64) -> Span {
        Span { buffer: self.buffer, _keep: self.keep.clone(), at, len }
    }
}

/// Bytes that lie within one import.
pub struct Span {
    buffer: vk::Buffer,
    _keep: Arc<dyn Any + Send + Sync>,
    /// Their offset in the import.
    pub at: u64,
    /// Their number.
    pub len: u64,
}

impl Span {
    /// The buffer, which lives as long as this.
    pub fn buffer(&self) -> vk::Buffer {
        self.buffer
    }
}

/// Counters of a device's use of host pages, for users and tests.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct HostPages {
    /// How often pages were imported since the device was opened, for one copy or to be registered.
    pub imported: u64,
    /// How many imports are registered.
    pub registered: usize,
    /// Copies directly from or to such pages, of either kind, since the device was opened.
    pub copies: u64,
}

/// Why pages were not registered.
pub enum Unregistered {
    /// They overlap registered pages.
    Overlap,
    /// The table is full.
    Full,
}

impl Unregistered {
    pub fn reason(&self) -> &'static str {
        match self {
            Self::Overlap => "some of these pages are registered already",
            Self::Full => "the device has no room for more registrations",
        }
    }
}

/// The pages of the host that a device of this process knows.
#[derive(Default)]
pub struct PageTable {
    /// By their first address; none overlap.
    registered: Mutex<BTreeMap<usize, Import>>,
    imported: AtomicU64,
    copies: AtomicU64,
    refusals: AtomicU32,
}

impl PageTable {
    pub fn counts(&self) -> HostPages {
        HostPages {
            imported: self.imported.load(Ordering::Relaxed),
            registered: self.lock().len(),
            copies: self.copies.load(Ordering::Relaxed),
        }
    }

    pub fn count_import(&self) {
        self.imported.fetch_add(1, Ordering::Relaxed);
    }

    pub fn count_copy(&self) {
        self.copies.fetch_add(1, Ordering::Relaxed);
    }

    pub fn count_refusal(&self) {
        self.refusals.fetch_add(1, Ordering::Relaxed);
    }

    /// How many imports the driver refused.
    pub fn refusals(&self) -> u32 {
        self.refusals.load(Ordering::Relaxed)
    }

    /// Enters pages, if they overlap none and the table has fewer than `limit` entries.
    pub fn register(&self, import: Import, limit: usize) -> Result<(), Unregistered> {
        let mut registered = self.lock();
        let before = registered.range(..import.first + import.size).next_back();
        if before.is_some_and(|(_, before)| before.first + before.size > import.first) {
            return Err(Unregistered::Overlap);
        }
        if registered.len() >= limit {
            return Err(Unregistered::Full);
        }
        registered.insert(import.first, import);
        Ok(())
    }

    /// Removes the pages that begin at `first`. From now on no copy finds them, and no other memory can be at
    /// their address yet. They are dropped without the lock.
    pub fn unregister(&self, first: usize) {
        let import = self.lock().remove(&first);
        drop(import);
    }

    /// The parts of registered pages that hold these bytes: two registrations may meet within them. `None` if
    /// some bytes lie on no registered page.
    pub fn find(&self, at: usize, len: u64) -> Option<Vec<Span>> {
        let end = at.checked_add(usize::try_from(len).ok()?)?;
        let registered = self.lock();
        let (mut spans, mut next) = (Vec::new(), at);
        while next < end {
            let (_, import) = registered.range(..=next).next_back()?;
            let until = end.min(import.first + import.size);
            if until <= next {
                return None;
            }
            spans.push(import.span((next - import.first) as u64, (until - next) as u64));
            next = until;
        }
        Some(spans)
    }

    /// Locks, also after a panic: the table is consistent at every step.
    fn lock(&self) -> MutexGuard<'_, BTreeMap<usize, Import>> {
        self.registered.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
