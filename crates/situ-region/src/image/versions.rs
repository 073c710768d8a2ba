//! Appendable structs: the history of their members, and the table in an image that lists the members that
//! its writer knew.

use std::any::TypeId;

use situ_layout::{Invalid, InvalidProblem};

use crate::error::invalid;
use crate::image::sha256::sha256_u64;
use crate::memory::granule::{GRANULE, ROOT, u32_at};

/// The offset in the header of the table's place.
pub(crate) const TABLE_AT: u32 = 60;

/// This program's version of an appendable struct; [`region_struct`](crate::region_struct) makes it.
#[derive(Clone, Debug)]
pub struct Version {
    of: TypeId,
    name: &'static str,
    members: Vec<&'static str>,
    /// Element `i` is the hash of the first `i` members.
    history: Vec<u64>,
    sizes: Vec<u32>,
    /// As `sizes`, in packed images.
    packed_sizes: Vec<u32>,
    /// The end of the last member in packed images.
    packed_end: u32,
}

impl Version {
    /// Starts the version of a struct, without members.
    pub fn of<T: 'static>(name: &'static str) -> Self {
        let begin = history_of(name);
        Self {
            of: TypeId::of::<T>(),
            name,
            members: Vec::new(),
            history: vec![begin],
            sizes: vec![0],
            packed_sizes: vec![0],
            packed_end: 0,
        }
    }

    /// The struct.
    pub(crate) fn named(&self) -> (TypeId, &'static str) {
        (self.of, self.name)
    }

    /// Adds the next member, whose lines in the layout are `lines`, and whose last byte lies before `end`.
    /// `packed` is its size and alignment in packed images.
    pub(crate) fn add(&mut self, name: &'static str, lines: &str, end: u32, packed: (u32, u32)) {
        let before = self.history[self.members.len()];
        self.history.push(next_in_history(before, lines));
        self.sizes.push(end.next_multiple_of(8));
        self.packed_end = self.packed_end.next_multiple_of(packed.1) + packed.0;
        self.packed_sizes.push(self.packed_end.next_multiple_of(8));
        self.members.push(name);
    }

    /// The sizes of the struct with its first members, in packed images or in others.
    fn sizes(&self, packed: bool) -> &[u32] {
        if packed { &self.packed_sizes } else { &self.sizes }
    }

    fn key(&self) -> u64 {
        key_of(self.name)
    }
}

/// The history of a struct without members.
pub(crate) fn history_of(name: &str) -> u64 {
    sha256_u64(format!("region-appendable-v1 {name}\n").as_bytes())
}

/// The history with one more member, whose lines in the layout these are.
pub(crate) fn next_in_history(before: u64, lines: &str) -> u64 {
    sha256_u64(format!("{before:016x}\n{lines}").as_bytes())
}

/// The key of a struct in a table.
pub(crate) fn key_of(name: &str) -> u64 {
    sha256_u64(format!("{name}\n").as_bytes())
}

/// A name that two of these structs have.
pub(crate) fn twin(versions: &[Version]) -> Option<&'static str> {
    let is_twin =
        |(i, version): &(usize, &Version)| versions[..*i].iter().any(|each| each.name == version.name);
    versions.iter().enumerate().find(is_twin).map(|(_, version)| version.name)
}

/// The table of versions of an image with these structs; empty if there are none.
pub(crate) fn table(versions: &[Version], packed: bool) -> Vec<u8> {
    let entry = |version: &Version| {
        (version.key(), version.sizes(packed)[version.members.len()], version.history[1..].to_vec())
    };
    table_with(versions.iter().map(entry).collect())
}

/// As [`table`], with the key, the size and the history of each struct.
pub(crate) fn table_with(mut versions: Vec<(u64, u32, Vec<u64>)>) -> Vec<u8> {
    if versions.is_empty() {
        return Vec::new();
    }
    versions.sort_unstable_by_key(|(key, ..)| *key);
    let words: usize = versions.iter().map(|(_, _, history)| 2 + history.len()).sum();
    let mut table = Vec::with_capacity(8 + 8 * words);
    table.extend((versions.len() as u32).to_le_bytes());
    table.extend((words as u32).to_le_bytes());
    for (key, size, history) in versions {
        table.extend(key.to_le_bytes());
        table.extend(size.to_le_bytes());
        table.extend((history.len() as u32).to_le_bytes());
        history.iter().for_each(|hash| table.extend(hash.to_le_bytes()));
    }
    table
}

/// The number of members of a struct in an image, and its size there.
#[derive(Clone, Copy, Debug)]
struct Known {
    of: TypeId,
    members: u32,
    size: u32,
}

/// The versions of an image's appendable structs, if they differ from this program's.
#[derive(Clone, Debug, Default)]
pub(crate) struct Versions {
    known: Vec<Known>,
    /// Whether one of them has members that this program does not know.
    pub newer: bool,
    /// The first struct that differs, with the numbers of its members in the image and in this program.
    pub differs: Option<(&'static str, u32, u32)>,
    /// The first struct with fewer members in the image.
    pub fewer: Option<(&'static str, u32, u32)>,
}

impl Versions {
    /// The members and the size of a struct in the image.
    pub(crate) fn of<T: 'static>(&self) -> Option<(u32, u32)> {
        let found = self.known.iter().find(|known| known.of == TypeId::of::<T>())?;
        Some((found.members, found.size))
    }
}

fn u64_at(image: &[u8], at: u32) -> u64 {
    u64::from(u32_at(image, at)) | u64::from(u32_at(image, at + 4)) << 32
}

/// The place of an image's table, and its size in bytes.
pub(crate) fn table_of(image: &[u8]) -> Result<(u32, u32), Invalid> {
    let at = u32_at(image, TABLE_AT);
    let bad = || invalid(TABLE_AT, InvalidProblem::BadVersions { at });
    if at < ROOT || !at.is_multiple_of(GRANULE) {
        return bad();
    }
    match table_size(image, at) {
        Some(bytes) => Ok((at, bytes)),
        None => bad(),
    }
}

/// The size in bytes of the table at `at`, if it lies within the image.
pub(crate) fn table_size(image: &[u8], at: u32) -> Option<u32> {
    let left = image.len().checked_sub(at as usize).filter(|left| *left >= 8)? as u64;
    let bytes = 8 + 8 * u64::from(u32_at(image, at + 4));
    (bytes <= left).then_some(bytes as u32)
}

/// Reads the table at `at` of `bytes` bytes, which differs from the one that this program would write.
pub(crate) fn compare<const PACKED: bool>(
    image: &[u8],
    (at, bytes): (u32, u32),
    own: &[Version],
) -> Result<Versions, Invalid> {
    let bad = || invalid(if PACKED { at } else { TABLE_AT }, InvalidProblem::BadVersions { at });
    let end = at + bytes;
    let mut versions = Versions::default();
    let (mut entry, mut before) = (at + 8, None);
    for _ in 0..u32_at(image, at) {
        if end - entry < 16 {
            return bad();
        }
        let (key, size, members) =
            (u64_at(image, entry), u32_at(image, entry + 8), u32_at(image, entry + 12));
        let history = entry + 16;
        if u64::from(members) * 8 > u64::from(end - history) || before.is_some_and(|before| before >= key) {
            return bad();
        }
        (entry, before) = (history + 8 * members, Some(key));
        let Some(version) = own.iter().find(|version| version.key() == key) else { continue };
        let here = version.members.len() as u32;
        let common = members.min(here);
        let same = |i: &u32| u64_at(image, history + 8 * i) == version.history[*i as usize + 1];
        if let Some(last) = common.checked_sub(1).filter(|last| !same(last)) {
            let first = (0..last).find(|i| !same(i)).unwrap_or(last);
            return invalid(
                history + 8 * first,
                InvalidProblem::OtherHistory {
                    name: version.name,
                    number: first + 1,
                    member: version.members[first as usize],
                },
            );
        }
        let own_size = version.sizes(PACKED)[common as usize];
        let fits =
            if members <= here { size == own_size } else { size >= own_size && size.is_multiple_of(8) };
        if !fits || u64::from(size) > image.len() as u64 {
            return bad();
        }
        let differs = (members != here).then_some((version.name, members, here));
        versions.newer |= members > here;
        versions.differs = versions.differs.or(differs);
        versions.fewer = versions.fewer.or(differs.filter(|_| members < here));
        versions.known.push(Known { of: version.of, members, size });
    }
    if entry != end || versions.differs.is_none() {
        return bad();
    }
    Ok(versions)
}
