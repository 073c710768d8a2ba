//! The bytes of a pool's control file: where its parts lie, and how a header is checked before use.

use std::fs::File;
use std::io;
use std::path::Path;

use super::{GRANULE, Strategy};
use crate::domain::traits::{DomainId, DomainKind};
use crate::os::beneath::Beneath;
use crate::os::mapping::MemoryError;
use crate::sync::slot_control::SlotControl;

pub(crate) const PAGE: usize = 4096;
pub(crate) const MAGIC: u64 = u64::from_le_bytes(*b"SITUPOOL");
/// The version of the format of pools. The header of a topic has it too, so that participants with different
/// versions do not meet (`spec/topic.md`, *Versions of formats*).
pub const POOL_VERSION: u32 = 6;
/// The slot's number in a row has 16 bits.
pub(crate) const MAX_SLOTS: u32 = 1 << 16;
/// The largest number of bytes of memory: the allocators count granules in 32 bits.
pub(crate) const MAX_CAPACITY: u64 = ((u32::MAX as u64 - 64) * GRANULE as u64) / PAGE as u64 * PAGE as u64;

/// The beginning of a pool's control file.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct PoolHeader {
    magic: u64,
    version: u32,
    header_size: u32,
    /// The pool's own number, drawn at random.
    pub id: u64,
    /// The node that owns it.
    pub owner: u64,
    domain_kind: u32,
    domain_number: u32,
    strategy: u32,
    /// The largest number of slots.
    pub slots: u32,
    pub(crate) controls_offset: u64,
    /// The largest number of bytes of memory. With a domain that shares descriptors, it is the size of the
    /// memory.
    pub capacity: u64,
}

const _: () = assert!(size_of::<PoolHeader>() == 64);
/// The offset of the number of slots whose controls have memory: a word that only grows.
pub(crate) const CUT_OFFSET: usize = 64;
/// The offset of the first control: a few of them fit the header's page.
pub(crate) const CONTROLS_OFFSET: usize = 128;

impl PoolHeader {
    /// A header of the current version.
    pub(crate) fn new(
        (id, owner): (u64, u64),
        domain: DomainId,
        strategy: &Strategy,
        slots: u32,
        capacity: u64,
    ) -> Self {
        Self {
            magic: MAGIC,
            version: POOL_VERSION,
            header_size: size_of::<PoolHeader>() as u32,
            id,
            owner,
            domain_kind: domain.kind.number(),
            domain_number: domain.number,
            strategy: strategy.number(),
            slots,
            controls_offset: CONTROLS_OFFSET as u64,
            capacity,
        }
    }

    /// The domain of the pool's memory.
    pub fn domain(&self) -> DomainId {
        DomainId { kind: DomainKind::from_number(self.domain_kind), number: self.domain_number }
    }
}

/// The end of the controls of the first `slots` slots.
pub(crate) fn end_of_controls(slots: u32) -> usize {
    CONTROLS_OFFSET + slots as usize * size_of::<SlotControl>()
}

/// The size of a control file with `slots` slots.
pub(crate) fn control_size(slots: u32) -> usize {
    end_of_controls(slots).next_multiple_of(PAGE)
}

/// The data file beside a control file.
pub(crate) fn data_path(control: &Beneath) -> Beneath {
    control.with_extension("data")
}

pub(crate) fn system(action: &'static str, path: &Path, source: io::Error) -> MemoryError {
    MemoryError::System { action, path: path.to_owned(), source }
}

pub(crate) fn malformed(path: &Path, reason: impl Into<String>) -> MemoryError {
    MemoryError::Malformed { path: path.to_owned(), reason: reason.into() }
}

/// Reads and checks a header.
pub(crate) fn read_header(file: &File, path: &Path) -> Result<PoolHeader, MemoryError> {
    use std::os::unix::fs::FileExt;
    let mut bytes = [0u8; size_of::<PoolHeader>()];
    file.read_exact_at(&mut bytes, 0).map_err(|source| system("read", path, source))?;
    // SAFETY: a header is plain numbers without padding; the bytes need no alignment for an unaligned read.
    let header = unsafe { bytes.as_ptr().cast::<PoolHeader>().read_unaligned() };
    let end = control_size(header.slots.clamp(64, MAX_SLOTS));
    let size = file.metadata().map_err(|source| system("look at", path, source))?.len();
    if header.magic != MAGIC {
        return Err(malformed(path, "it does not begin with SITUPOOL"));
    }
    if header.version != POOL_VERSION {
        let (found, ours) = (header.version, POOL_VERSION);
        return Err(MemoryError::OtherVersion { path: path.to_owned(), format: "pools", found, ours });
    }
    let checks = [
        (
            (64..=MAX_SLOTS).contains(&header.slots) && header.slots.is_multiple_of(64),
            "impossible number of slots",
        ),
        (header.controls_offset == CONTROLS_OFFSET as u64, "the controls are not where they belong"),
        (size >= end as u64, "the file is too short"),
    ];
    if let Some((_, reason)) = checks.iter().find(|(ok, _)| !ok) {
        return Err(malformed(path, *reason));
    }
    let capacity = header.capacity;
    if !(1..=MAX_CAPACITY).contains(&capacity) || !capacity.is_multiple_of(PAGE as u64) {
        let reason =
            format!("impossible capacity of {capacity} bytes: at most {MAX_CAPACITY}, in whole pages");
        return Err(malformed(path, reason));
    }
    Ok(header)
}

#[cfg(test)]
mod tests {
    use std::mem::offset_of;

    use super::*;

    /// The rows of the table below a heading of `spec/pool.md`: offset, size, name.
    fn table(heading: &str) -> Vec<(usize, usize, &'static str)> {
        let page = include_str!("../../../../spec/pool.md");
        let section = page.split(&format!("### {heading}\n")).nth(1).expect("the section is there");
        let section = section.split("\n#").next().unwrap();
        section
            .lines()
            .filter_map(|line| {
                let mut cells = line.strip_prefix("| ")?.split('|').map(str::trim);
                let (offset, size) = (cells.next()?.parse().ok()?, cells.next()?.parse().ok()?);
                Some((offset, size, cells.next()?.trim_matches('`')))
            })
            .collect()
    }

    #[test]
    fn the_specification_names_every_field_where_it_is() {
        assert_eq!(
            table("Header"),
            [
                (offset_of!(PoolHeader, magic), 8, "magic"),
                (offset_of!(PoolHeader, version), 4, "version"),
                (offset_of!(PoolHeader, header_size), 4, "header_size"),
                (offset_of!(PoolHeader, id), 8, "id"),
                (offset_of!(PoolHeader, owner), 8, "owner"),
                (offset_of!(PoolHeader, domain_kind), 4, "domain_kind"),
                (offset_of!(PoolHeader, domain_number), 4, "domain_number"),
                (offset_of!(PoolHeader, strategy), 4, "strategy"),
                (offset_of!(PoolHeader, slots), 4, "slots"),
                (offset_of!(PoolHeader, controls_offset), 8, "controls_offset"),
                (offset_of!(PoolHeader, capacity), 8, "capacity"),
                (CUT_OFFSET, 8, "cut"),
            ]
        );
        assert_eq!(table("Control"), crate::sync::slot_control::FIELDS);
        // Calculated by hand: 31 controls of 128 bytes fit the first page behind 128 bytes.
        assert_eq!((end_of_controls(31), end_of_controls(32)), (4096, 4224));
        assert_eq!((control_size(64), control_size(65536)), (12288, 8_392_704));
    }
}
