//! Asking for cache lines before they are needed.

/// Asks for a line that will be read soon. Any address will do; nothing is accessed.
#[inline]
pub(crate) fn prefetch(address: *const u8) {
    #[cfg(target_arch = "x86_64")]
    // SAFETY: prefetching never faults, whatever the address.
    unsafe {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        _mm_prefetch::<_MM_HINT_T0>(address.cast());
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = address;
}

/// Asks for a line that will be written soon, so that no other core has a copy of it by then.
#[inline]
pub(crate) fn prefetch_for_write(address: *const u8) {
    // The intrinsic is lowered to a prefetch for reading unless the target is known to have `prefetchw`;
    // every 64-bit processor takes the instruction, if only as a hint to ignore.
    #[cfg(target_arch = "x86_64")]
    // SAFETY: prefetching never faults, whatever the address, and changes no register or flag.
    unsafe {
        std::arch::asm!("prefetchw [{}]", in(reg) address, options(nostack, preserves_flags, readonly));
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = address;
}
