//! Memory for allocations that cannot report a failure.
//!
//! Inserting into a `BTreeMap` and creating a `Box` end the program where there is no memory: the standard
//! library has no fallible functions for them. Readers whose number of entries comes from a message therefore
//! check first. [`Headroom`] allocates the memory fallibly, and returns it right before it is needed. It does
//! so for many entries at once, because most nodes of a map are small.
//!
//! Two gaps remain, which stable Rust cannot close. Another thread may take the memory in between, and an
//! allocator need not serve small blocks from the memory of a large one. Both matter only for a program that
//! is about to run out of memory anyway, and then its end is the same as before.

use std::hint::black_box;

use super::shared_bytes::NoMemory;
use crate::value::container::MapField;

/// The number of bytes that are checked at once.
const STEP: usize = 64 << 10;

/// How many bytes were available at the last check, and were not spent since.
#[derive(Clone, Copy, Debug, Default)]
pub struct Headroom {
    left: usize,
}

impl Headroom {
    /// Checks that this many bytes can be allocated.
    #[inline]
    pub fn expect(&mut self, bytes: usize) -> Result<(), NoMemory> {
        if self.left < bytes {
            self.left = check(bytes)?;
        }
        self.left -= bytes;
        Ok(())
    }

    /// Checks that an entry can be inserted into a map. Flat maps have their memory already. A node of a
    /// `BTreeMap` has room for 11 entries and 12 links. An insertion may split several nodes, but rarely: on
    /// average it needs a sixth of a node.
    #[inline]
    pub fn expect_entry<K, V, M: MapField<K, V>>(&mut self, _map: &M) -> Result<(), NoMemory> {
        if M::ALLOCATES { self.expect(11 * size_of::<(K, V)>() + 128) } else { Ok(()) }
    }
}

/// Returns how many bytes are available: these, or more.
#[cold]
fn check(bytes: usize) -> Result<usize, NoMemory> {
    let is_available = |size: &usize| {
        let mut memory = Vec::<u8>::new();
        let reserved = memory.try_reserve_exact(*size);
        // Otherwise the compiler may remove the allocation, because nothing uses it.
        black_box(&memory);
        reserved.is_ok()
    };
    [bytes.max(STEP), bytes].into_iter().find(is_available).ok_or(NoMemory { bytes })
}
