//! The files of the rings behind the first one, mapped.

use std::mem::offset_of;
use std::os::fd::AsFd;
use std::os::unix::fs::FileExt;
use std::sync::OnceLock;
use std::sync::atomic::AtomicUsize;

use situ_memory::sync::atomic::AtomicU64;
use situ_memory::{Access, Beneath, Mapping, MemoryError};

use super::files::system;
use super::format::{HEAD_OFFSET, Head, Header, PAGE, RingHeader, RingParts};
use crate::protocol::ring::{Ring, Rows};
use crate::protocol::row::RowKind;

/// Depths are powers of two up to 65,536, and each ring is deeper than the previous one.
pub(crate) const MAX_RINGS: usize = 17;
/// A ring behind the first one.
#[derive(Debug)]
pub(super) struct Further {
    pub(super) map: Mapping,
    pub(super) header: RingHeader,
    kind: RowKind,
    pub(super) parts: RingParts,
    /// The number of its first message: the previous ring was sealed there.
    pub(super) base: u64,
}

/// The rings behind the first one that this process has found.
#[derive(Debug, Default)]
pub(crate) struct Rings {
    pub(super) further: [OnceLock<Further>; MAX_RINGS],
    /// Their number. Stored with release after the ring itself, loaded with acquire before it.
    pub(super) known: AtomicUsize,
}

impl Further {
    /// Opens a ring, for writing or only for reading. `base` is the number of its first message; without it,
    /// the header has to contain that number.
    pub(super) fn open(
        place: &Beneath,
        topic: &Header,
        index: u32,
        base: Option<u64>,
        writable: bool,
    ) -> Result<Self, MemoryError> {
        let path = place.path();
        let file = place.open(writable).map_err(|error| system("open", path, error))?;
        let malformed =
            |reason: &str| MemoryError::Malformed { path: path.to_owned(), reason: reason.to_owned() };
        let size = file.metadata().map_err(|error| system("look at", path, error))?.len();
        if size < PAGE as u64 {
            return Err(malformed("it is too short"));
        }
        let mut bytes = [0u8; size_of::<RingHeader>()];
        file.read_exact_at(&mut bytes, 0).map_err(|error| system("read", path, error))?;
        // SAFETY: A header is plain numbers without padding, for which any bytes are valid.
        let header = unsafe { bytes.as_ptr().cast::<RingHeader>().read_unaligned() };
        let parts = header.check(topic, index, size).map_err(|unusable| unusable.at(path))?;
        let access = if writable { Access::ReadWrite } else { Access::Read };
        let map = Mapping::without_filling(file.as_fd(), parts.end, access)
            .map_err(|error| MemoryError::not_mapped(path, error))?;
        let base = base.or(header.base.checked_sub(1));
        let base =
            base.ok_or_else(|| malformed("the previous ring is gone, and its header has no first number"))?;
        Ok(Self { map, header, kind: topic.row_kind(), parts, base })
    }

    /// The word of the header with the number of its first message.
    pub(super) fn base_word(&self) -> &AtomicU64 {
        // SAFETY: the header lies at the beginning of the mapping, which is larger; any bits are a valid
        // atomic, and sharing one is no data race.
        unsafe { &*self.map.base().add(offset_of!(RingHeader, base)).cast::<AtomicU64>() }
    }

    pub(super) fn columns(&self) -> *const u8 {
        self.map.base().wrapping_add(self.parts.columns)
    }

    pub(super) fn ring(&self) -> Ring<'_> {
        // SAFETY: the header was checked against the file's size and the topic's header: `depth` rows of this
        // kind lie at `rows`, at the beginning of a page, and the head lies in the header page. All of them
        // are atomics, for which any bits are valid and sharing is no data race.
        let (rows, head) = unsafe {
            let base = self.map.base();
            let kind = self.kind;
            (
                Rows::at(kind, base.add(self.parts.rows), self.header.depth as usize),
                &*base.add(HEAD_OFFSET).cast::<Head>(),
            )
        };
        Ring::beginning_at(self.base, rows, &head.end)
    }
}
