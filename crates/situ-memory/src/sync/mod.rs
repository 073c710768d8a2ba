//! The words that processes share, and the protocols on them.
//!
//! Under `--cfg loom` the atomics are loom's. The model checker therefore explores the same code that runs
//! between processes.
//!
//! ```text
//!   fence          when the bytes of a slot are complete
//!   slot_control   the generation of a slot
//!   wake           sleeping and waking between processes
//! ```

pub(crate) mod fence;
pub(crate) mod slot_control;
pub mod wake;

#[cfg(loom)]
pub use loom::sync::atomic;
#[cfg(not(loom))]
pub use std::sync::atomic;

/// Stands between the two accesses of a protocol of the form "write mine, then read theirs", where at least
/// one side must read the other's new value.
///
/// Such protocols (a hold and a generation, a row and a wake word, a cursor and a wake word, an epoch
/// and a row) use only sequentially consistent accesses. All of them have their place in one total order that
/// agrees with each thread's own order, so the later of the two writers reads what the earlier one wrote.
/// Processors keep that promise because the write is a read-modify-write. On x86 it is a locked instruction,
/// which is a full barrier. On ARM it is `ldaxr/stlxr` or `casal`, which a later `ldar` does not overtake. No
/// fence is needed.
///
/// Loom treats sequentially consistent accesses as acquire-release, which promise nothing here, but honours
/// sequentially consistent fences. This function is therefore such a fence under loom, and nothing otherwise.
/// It must only stand where both neighbours are sequentially consistent already.
#[inline(always)]
pub fn between_sequentially_consistent() {
    #[cfg(loom)]
    atomic::fence(atomic::Ordering::SeqCst);
}
