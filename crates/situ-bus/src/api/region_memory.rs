//! The memory of a region that is built in a loan: it grows in place, as the loan's slot does.

use std::cell::{Cell, RefCell};
use std::ptr::NonNull;

use situ_region::{Backing, BufferError, MAX_SIZE, Options, Region, RegionMessage, total_for};

use crate::port::growing::GROWING_ROOM;
use crate::port::loan::{DetachedLoan, LoanError};
use crate::port::publisher::RawPublisher;

/// The minimum size of the memory that is lent for a region, in bytes.
const LEAST: usize = 1024;
/// A loan can grow to this multiple of the size of the last messages.
const ROOM: usize = 8;

/// The memory of a loan.
pub struct LoanMemory {
    /// The publisher that lent it. It outlives every region that is built in a loan of it, and only such
    /// regions own this memory.
    publisher: *const RawPublisher,
    /// `None` once it was taken out to be published.
    loan: Option<DetachedLoan>,
}

// SAFETY: it is only reached through a region under construction, which stays with the thread of its
// publisher.
unsafe impl Send for LoanMemory {}
// SAFETY: as above.
unsafe impl Sync for LoanMemory {}

impl LoanMemory {
    /// The loan's body, as memory.
    pub(crate) fn extent(&self) -> (NonNull<u8>, usize) {
        let Some(loan) = &self.loan else { return (NonNull::dangling(), 0) };
        let (body, size) = loan.body_in_slot();
        NonNull::new(body).map_or((NonNull::dangling(), 0), |body| (body, size))
    }
}

// SAFETY: A body in a slot begins at a multiple of 64. Pages of a memory file are initialized, and the
// owner's mapping is readable and writable. Only this loan uses the slot until it is published or given back.
// It grows in place.
unsafe impl Backing for LoanMemory {
    fn memory(&mut self) -> (NonNull<u8>, usize) {
        self.extent()
    }

    fn is_zero(&self) -> bool {
        false
    }

    #[cold]
    fn grow(&mut self, total: usize) -> Option<(NonNull<u8>, usize)> {
        // SAFETY: the publisher outlives the loan.
        let publisher = unsafe { &*self.publisher };
        let (_, had) = self.extent();
        // SAFETY: it was detached from a loan of this publisher.
        let mut loan = unsafe { publisher.attach(self.loan.take()?) };
        let grown = loan.grow_body(total);
        self.loan = Some(loan.detach());
        let clean_from = grown.ok()?;
        let (memory, size) = self.extent();
        // Bytes of an earlier message in the slot.
        let dirty = clean_from.min(size).saturating_sub(had);
        // SAFETY: these bytes, behind the memory that was lent before, now belong to the loan.
        unsafe { memory.add(had).write_bytes(0, dirty) };
        Some((memory, size))
    }
}

impl Drop for LoanMemory {
    fn drop(&mut self) {
        if let Some(loan) = self.loan.take() {
            // SAFETY: the publisher outlives the loan, and lent it.
            drop(unsafe { (*self.publisher).attach(loan) });
        }
    }
}

/// What a sender of regions keeps from one message to the next.
pub struct RegionMemory {
    /// The size of the last images. A loan begins with this size.
    hint: Cell<usize>,
    /// A box without a loan, for the next loan.
    spare: RefCell<Option<Box<LoanMemory>>>,
}

impl Default for RegionMemory {
    fn default() -> Self {
        Self { hint: Cell::new(LEAST), spare: RefCell::default() }
    }
}

impl std::fmt::Debug for RegionMemory {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("RegionMemory").field("hint", &self.hint).finish_non_exhaustive()
    }
}

impl RegionMemory {
    /// The size of the body and the room to lend for a new value, with room for an image of at least `bytes`.
    pub(crate) fn sizes(&self, bytes: u32) -> (usize, usize) {
        self.at_least(self.hint.get(), total_for(bytes))
    }

    /// The same for a copy of an image of `bytes`.
    pub(crate) fn sizes_of_copy(&self, bytes: usize) -> (usize, usize) {
        let needed = total_for(u32::try_from(bytes).unwrap_or(u32::MAX)).max(self.hint.get());
        self.at_least(needed, needed.saturating_mul(ROOM))
    }

    fn at_least(&self, bytes: usize, room: usize) -> (usize, usize) {
        let most = total_for(MAX_SIZE);
        let room = room.max(self.hint.get().saturating_mul(ROOM)).clamp(GROWING_ROOM, most);
        (bytes.max(LEAST), room)
    }

    /// The memory of a loan that was lent with such sizes.
    ///
    /// # Safety
    /// The publisher lent it. It outlives the memory, and does not move meanwhile. The memory stays with its
    /// thread.
    pub(crate) unsafe fn of(&self, publisher: *const RawPublisher, loan: DetachedLoan) -> Box<LoanMemory> {
        let spare = self.spare.borrow_mut().take();
        let mut memory = spare.unwrap_or_else(|| Box::new(LoanMemory { publisher, loan: None }));
        // The publisher may be another one, or have moved, since the box was made.
        memory.publisher = publisher;
        memory.loan = Some(loan);
        memory
    }

    /// Ends the construction of a region. Returns the loan, and the size of the image in its body.
    pub(crate) fn finish<T: RegionMessage>(&self, region: Region<T, LoanMemory>) -> (DetachedLoan, usize) {
        let (mut memory, size) = region.into_boxed();
        let Some(loan) = memory.loan.take() else { unreachable!("a loan's memory is lent") };
        self.spare.replace(Some(memory));
        self.learn(size);
        (loan, size)
    }

    /// Notes how much memory an image needed. The hint grows at once and shrinks by an eighth of the
    /// difference.
    fn learn(&self, size: usize) {
        let (before, needed) = (self.hint.get(), total_for(size as u32) + size / 4);
        self.hint.set(if needed > before { needed } else { before - (before - needed) / 8 }.max(LEAST));
    }
}

/// A new value in a loan's memory.
pub(crate) fn begin<T: RegionMessage>(memory: Box<LoanMemory>) -> Result<Region<T, LoanMemory>, LoanError> {
    Region::with_boxed(memory, growing()).map_err(|error| too_small(&error))
}

/// The memory options of a lent region: only its slot limits its size.
pub(crate) fn growing() -> Options {
    Options { limit: MAX_SIZE, ..Options::default() }
}

/// Converts an error that does not occur with a slot of the requested size.
#[cold]
pub(crate) fn too_small(error: &BufferError) -> LoanError {
    let body_size = match error {
        BufferError::TooSmall { least, .. } => *least,
        _ => 0,
    };
    let reason = "the region's root does not fit into a slot";
    LoanError::Size { head_size: 0, head_align: 1, body_size, reason }
}

/// The methods that regions under construction have in common.
///
/// The region itself stays private: a caller could swap it with that of another publisher's loan.
macro_rules! build_region {
    ([$($parameters:tt)*] $loan:ty, $of:ident, $name:literal) => {
        impl<$($parameters)*> $loan {
            fn region(&self) -> &situ_region::Region<$of, crate::api::region_memory::LoanMemory> {
                let Some(region) = &self.region else { unreachable!("a loan is there until it ends") };
                region
            }

            fn region_mut(&mut self) -> &mut situ_region::Region<$of, crate::api::region_memory::LoanMemory> {
                let Some(region) = &mut self.region else { unreachable!("a loan is there until it ends") };
                region
            }

            /// The value, for reading.
            pub fn root(&self) -> situ_region::Ref<'_, $of> {
                self.region().root()
            }

            /// The value, for changing it. It grows in place.
            pub fn root_mut(&mut self) -> situ_region::Mut<'_, $of> {
                self.region_mut().root_mut()
            }

            /// Reserves memory for an image of this size now, instead of when it is needed.
            pub fn reserve(&mut self, bytes: usize) -> Result<(), situ_region::Full> {
                self.region_mut().reserve(bytes)
            }

            /// Makes the live image as small as the canonical one, in its order; see
            /// [`Region::compact`](situ_region::Region::compact).
            pub fn compact(&mut self) -> Result<(), situ_region::Full> {
                self.region_mut().compact()
            }

            /// Closes the gaps between blocks in the slot; see
            /// [`Region::compact_in_place`](situ_region::Region::compact_in_place). If this process dies
            /// during that, no other process sees the slot, because it was never published.
            pub fn compact_in_place(&mut self) {
                self.region_mut().compact_in_place();
            }

            /// The live image.
            pub fn bytes(&self) -> &[u8] {
                self.region().bytes()
            }

            /// The canonical image: equal values have equal bytes.
            pub fn canonical(&self) -> Vec<u8> {
                self.region().canonical()
            }
        }

        impl<$($parameters)*> std::fmt::Debug for $loan {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.debug_struct($name)
                    .field("type", &$of::NAME)
                    .field("bytes", &self.bytes().len())
                    .finish()
            }
        }
    };
}

pub(crate) use build_region;
