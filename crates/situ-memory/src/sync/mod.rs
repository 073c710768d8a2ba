//! The words that processes share, and the protocols on them. Under `--cfg loom` the atomics are loom's, so that the very
//! code that runs between processes is what the model checker explores.
//!
//! ```text
//!   fence          when the bytes of a slot are complete
//!   slot_control   which readers hold a slot
//!   wake           sleeping and waking between processes
//! ```

pub(crate) mod fence;
pub(crate) mod slot_control;
pub mod wake;

#[cfg(loom)]
pub use loom::sync::atomic;
#[cfg(not(loom))]
pub use std::sync::atomic;

/// Stands between the two accesses of a protocol of the form "write mine, then read theirs", of which both sides must not
/// read the old value.
///
/// Such protocols (a holder bit and a generation, a row and a wake word, a cursor and a wake word, an epoch and a row)
/// are written with sequentially consistent accesses alone: all of them have their place in one total order that agrees
/// with each thread's own, so the later of the two writers reads what the earlier wrote. Processors keep that promise
/// because the write is a read-modify-write (x86: a locked instruction, which is a full barrier; ARM: `ldaxr/stlxr` or
/// `casal`, which a later `ldar` does not overtake), and no fence is needed.
///
/// Loom treats sequentially consistent accesses as acquire-release, which promise nothing here, but honours
/// sequentially consistent fences. So this is one under loom, and nothing otherwise. It must only stand where both
/// neighbours are sequentially consistent already.
#[inline(always)]
pub fn between_sequentially_consistent() {
    #[cfg(loom)]
    atomic::fence(atomic::Ordering::SeqCst);
}
