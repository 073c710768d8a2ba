//! The pages behind a mapping: present before their first use, huge, or of a preferred NUMA node.
//!
//! A kernel may lack huge pages, or the node that a program names. What it answered is a value,
//! [`PageOutcome`], and never an error of the memory itself, which works with any pages.

use std::ffi::{c_int, c_long, c_ulong, c_void};
use std::fmt;
use std::io;
use std::sync::OnceLock;
use std::sync::atomic::AtomicU8;
use std::sync::atomic::Ordering::Relaxed;

use rustix::mm::{Advice, MapFlags, ProtFlags};

const PAGE: usize = 4096;
/// `MADV_COLLAPSE`: makes huge pages of present ones now. Linux has it since 6.1.
const MADV_COLLAPSE: c_int = 25;
/// `MPOL_PREFERRED`: memory of this node, or of others when it has none left.
const MPOL_PREFERRED: c_int = 1;
/// The largest number of a node, and one more.
const NODES: u32 = 1024;

/// Which pages memory should have. The default is what the kernel chooses.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct PageOptions {
    /// Huge pages, where whole ones fit. They save entries of the processor's table of addresses.
    pub huge: bool,
    /// Memory of this NUMA node. When the node has none left, the kernel takes other memory.
    pub node: Option<u32>,
}

impl PageOptions {
    pub(crate) fn are_default(&self) -> bool {
        *self == Self::default()
    }
}

/// What the kernel answered to one wish.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Outcome {
    /// There was no such wish.
    #[default]
    NotAsked,
    /// It has accepted it.
    Done,
    /// It has refused, with this error number. Where a domain has no such wishes, it is `EOPNOTSUPP`.
    Refused(i32),
}

impl Outcome {
    pub(crate) fn of(result: io::Result<()>) -> Self {
        result.map_or_else(|error| Self::Refused(error.raw_os_error().unwrap_or(libc::EIO)), |()| Self::Done)
    }
}

impl fmt::Display for Outcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotAsked => f.write_str("not asked for"),
            Self::Done => f.write_str("done"),
            Self::Refused(number) => write!(f, "refused: {}", io::Error::from_raw_os_error(*number)),
        }
    }
}

/// What became of [`PageOptions`].
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct PageOutcome {
    /// Whether the kernel makes huge pages. It may accept the wish and make none: see
    /// [`huge_bytes`](Self::huge_bytes).
    pub huge: Outcome,
    /// The bytes of the last reservation, or of fixed slots, that the kernel has made huge pages of.
    pub huge_bytes: u64,
    /// Whether memory comes from the preferred node.
    pub node: Outcome,
}

impl PageOutcome {
    /// All wishes are refused, because a domain has no such pages.
    pub fn unsupported(options: &PageOptions) -> Self {
        let refused = Outcome::Refused(libc::EOPNOTSUPP);
        let answer = |asked: bool| if asked { refused } else { Outcome::NotAsked };
        Self { huge: answer(options.huge), huge_bytes: 0, node: answer(options.node.is_some()) }
    }
}

/// Asks for pages of a kind behind a shared mapping of memory, before it has them. For domains of memory that
/// the CPU may touch.
///
/// # Safety
/// The range is mapped, and begins at a page.
pub unsafe fn prefer_pages(begin: *mut u8, len: usize, options: &PageOptions) -> PageOutcome {
    let mut outcome = PageOutcome::default();
    if options.huge {
        // SAFETY: the range is mapped. The advice changes no contents.
        let advised = unsafe { rustix::mm::madvise(begin.cast::<c_void>(), len, Advice::LinuxHugepage) };
        outcome.huge = Outcome::of(advised.map_err(io::Error::from));
    }
    if let Some(node) = options.node {
        // SAFETY: as above.
        outcome.node = Outcome::of(unsafe { prefer_node(begin, len, node) });
    }
    outcome
}

/// # Safety
/// The range is mapped, and begins at a page.
unsafe fn prefer_node(begin: *mut u8, len: usize, node: u32) -> io::Result<()> {
    if node >= NODES {
        return Err(rustix::io::Errno::INVAL.into());
    }
    const BITS: u32 = c_ulong::BITS;
    let mut nodes: [c_ulong; (NODES / BITS) as usize] = [0; (NODES / BITS) as usize];
    nodes[(node / BITS) as usize] = 1 << (node % BITS);
    // The kernel reads one bit less than the number says.
    let bits = c_ulong::from(NODES) + 1;
    // SAFETY: the range is mapped, the set has as many bits as the kernel reads, and a policy changes no
    // contents.
    let result = unsafe {
        libc::syscall(libc::SYS_mbind, begin, len, c_long::from(MPOL_PREFERRED), nodes.as_ptr(), bits, 0)
    };
    if result == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

/// Makes pages present for writing. Using them then costs no page fault. Where the kernel has no call for
/// that (before 5.14), each page is touched.
///
/// # Safety
/// The range is mapped for reading and writing, and has memory.
pub(crate) unsafe fn populate(begin: *mut u8, len: usize) {
    // SAFETY: the range is mapped; populating does not change its contents.
    let populated = unsafe { rustix::mm::madvise(begin.cast::<c_void>(), len, Advice::LinuxPopulateWrite) };
    if populated.is_err() {
        for at in (0..len).step_by(PAGE) {
            // SAFETY: the byte is mapped for reading and writing. It is set to its own value in one step,
            // because others may use the page already.
            unsafe { &*begin.add(at).cast::<AtomicU8>() }.fetch_or(0, Relaxed);
        }
    }
}

/// Makes huge pages of the present pages of a range, where whole ones fit. Returns their bytes, and the last
/// refusal.
///
/// # Safety
/// The range is mapped for reading and writing, and has memory.
pub(crate) unsafe fn make_huge(begin: *mut u8, len: usize) -> (u64, Option<Outcome>) {
    let huge = huge_page_size();
    let first = begin.addr().next_multiple_of(huge);
    let end = (begin.addr() + len) / huge * huge;
    let (mut bytes, mut refused) = (0, None);
    for at in (first..end).step_by(huge) {
        let at = begin.wrapping_add(at - begin.addr()).cast::<c_void>();
        // SAFETY: the huge page lies in the range. Its contents stay; others may use them meanwhile.
        if unsafe { libc::madvise(at, huge, MADV_COLLAPSE) } == 0 {
            bytes += huge as u64;
        } else {
            refused = Some(Outcome::of(Err(io::Error::last_os_error())));
        }
    }
    (bytes, refused)
}

/// The size of a huge page.
pub(crate) fn huge_page_size() -> usize {
    static SIZE: OnceLock<usize> = OnceLock::new();
    *SIZE.get_or_init(|| {
        let told = std::fs::read_to_string("/sys/kernel/mm/transparent_hugepage/hpage_pmd_size");
        let told = told.ok().and_then(|told| told.trim().parse::<usize>().ok());
        told.filter(|size| size.is_power_of_two() && *size > PAGE).unwrap_or(2 << 20)
    })
}

/// An address at which huge pages of a mapping of this size would be aligned, probably unused. It is only a
/// hint: the kernel places a mapping elsewhere if another thread takes the addresses meanwhile.
pub(crate) fn aligned_hint(len: usize) -> *mut c_void {
    let huge = huge_page_size();
    let Some(ample) = len.checked_add(huge) else { return std::ptr::null_mut() };
    // SAFETY: the kernel chooses the address, and no code gets to know the mapping before it is gone.
    let begin = unsafe {
        rustix::mm::mmap_anonymous(std::ptr::null_mut(), ample, ProtFlags::empty(), MapFlags::PRIVATE)
            .and_then(|begin| rustix::mm::munmap(begin, ample).map(|()| begin))
    };
    begin.map_or(std::ptr::null_mut(), |begin| begin.with_addr(begin.addr().next_multiple_of(huge)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_kernel_refuses_is_told() {
        let len = 4 << 20;
        // SAFETY: the kernel chooses the address.
        let begin = unsafe {
            rustix::mm::mmap_anonymous(
                std::ptr::null_mut(),
                len,
                ProtFlags::READ | ProtFlags::WRITE,
                MapFlags::SHARED,
            )
        }
        .unwrap()
        .cast::<u8>();
        let ask = |huge, node| {
            // SAFETY: the range is mapped until the end of the test.
            unsafe { prefer_pages(begin, len, &PageOptions { huge, node }) }
        };
        assert_eq!(ask(false, None), PageOutcome::default());
        // EINVAL: no machine has so many nodes. ENOSYS: the kernel knows of none.
        let refused = ask(false, Some(1_000_000));
        assert_eq!((refused.huge, refused.node), (Outcome::NotAsked, Outcome::Refused(libc::EINVAL)));
        let absent = ask(false, Some(1023)).node;
        assert!(matches!(absent, Outcome::Refused(libc::EINVAL | libc::ENOSYS | libc::EPERM)), "{absent}");
        assert_ne!(ask(true, None).huge, Outcome::NotAsked);
        // SAFETY: mapped for reading and writing, with memory on demand.
        unsafe { populate(begin, len) };
        // SAFETY: as above.
        let (bytes, refused) = unsafe { make_huge(begin, len) };
        assert!(bytes <= len as u64 && bytes.is_multiple_of(huge_page_size() as u64));
        assert!(bytes > 0 || refused.is_some() || huge_page_size() > len / 2, "neither done nor refused");
        // SAFETY: no code uses it any more.
        unsafe { rustix::mm::munmap(begin.cast(), len) }.unwrap();
    }

    #[test]
    fn a_hint_is_aligned() {
        assert!(aligned_hint(8 << 20).addr().is_multiple_of(huge_page_size()));
        assert!(aligned_hint(usize::MAX).is_null());
    }

    #[test]
    fn outcomes_are_texts() {
        assert_eq!(Outcome::NotAsked.to_string(), "not asked for");
        assert_eq!(Outcome::Refused(libc::EINVAL).to_string(), "refused: Invalid argument (os error 22)");
    }
}
