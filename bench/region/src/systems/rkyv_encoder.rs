//! rkyv's writer and arena, which are used again for each message.

use rkyv::Serialize;
use rkyv::rancor::Error;
use rkyv::ser::allocator::{Arena, ArenaHandle};
use rkyv::util::AlignedVec;

use crate::suite::Outcome;

/// A reused writer and arena.
pub struct Encoder {
    bytes: AlignedVec,
    arena: Arena,
}

impl Encoder {
    /// An encoder without memory.
    pub fn new() -> Self {
        Self { bytes: AlignedVec::new(), arena: Arena::new() }
    }

    /// The archive of a value.
    pub fn encode<T>(&mut self, value: &T) -> Outcome<&[u8]>
    where
        T: for<'a> Serialize<rkyv::api::high::HighSerializer<AlignedVec, ArenaHandle<'a>, Error>>,
    {
        let mut bytes = std::mem::take(&mut self.bytes);
        bytes.clear();
        self.bytes = rkyv::api::high::to_bytes_in_with_alloc(value, bytes, self.arena.acquire())?;
        Ok(&self.bytes)
    }
}
