//! Prefetching of cache lines.

/// Prefetches a line that will be read soon. Any address is allowed; nothing is accessed.
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

/// Prefetches a line that will be written soon, so that no other core has a copy of it by then.
#[inline]
pub(crate) fn prefetch_for_write(address: *const u8) {
    // The intrinsic is lowered to a prefetch for reading unless the target is known to have `prefetchw`.
    // Every 64-bit processor accepts the instruction, even if it ignores the hint.
    #[cfg(target_arch = "x86_64")]
    // SAFETY: prefetching never faults, whatever the address, and changes no register or flag.
    unsafe {
        std::arch::asm!("prefetchw [{}]", in(reg) address, options(nostack, preserves_flags, readonly));
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = address;
}
