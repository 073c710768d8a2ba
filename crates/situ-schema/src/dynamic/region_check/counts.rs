//! Where the bytes of an image are: its parts, and the rows of its members.

use std::collections::HashMap;

use super::header::RegionHeader;
use super::round_up;
use crate::layout::region::RegionType;
use crate::model::{Lookup, TypeId};

/// The bytes that values of one member have in blocks of their own.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MemberBytes {
    /// The member, with `[]` for elements and entries: `gear[].value.name`.
    pub path: String,
    /// What it is: `string`, `vector`, `hash map`.
    pub kind: &'static str,
    /// The number of its blocks.
    pub blocks: u64,
    /// Bytes that hold data.
    pub used: u64,
    /// Bytes that are reserved for more elements.
    pub room: u64,
    /// Bytes that round blocks up to multiples of 16.
    pub rounding: u64,
}

/// Where the bytes of an image are.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RegionBytes {
    /// The header of the image.
    pub header: RegionHeader,
    /// The bytes of the root, rounded up to a multiple of 16.
    pub root: u64,
    /// The bytes of the table of versions.
    pub versions: u64,
    /// Members with blocks, in the order in which the image was walked.
    pub members: Vec<MemberBytes>,
    /// Bytes in no block.
    pub free: u64,
    /// Whether the image has members that the schema does not know. Their blocks count as free.
    pub is_newer: bool,
    /// Whether several links lead to one value.
    pub shares_values: bool,
}

/// The rows of members, which a walk makes as it meets them. A struct or union within itself has the rows of
/// the outer one, so their number depends on the schema, and not on the depth of the image.
pub(super) struct Rows {
    rows: Vec<MemberBytes>,
    /// For each row, the one above it, and the struct or union whose members are below it.
    places: Vec<(usize, Option<TypeId>)>,
    known: HashMap<(usize, String), usize>,
}

impl Rows {
    /// The root is the first row. It has no blocks.
    pub fn new() -> Self {
        let mut rows = Self { rows: Vec::new(), places: Vec::new(), known: HashMap::new() };
        rows.add(0, String::new(), "root");
        rows
    }

    fn add(&mut self, parent: usize, path: String, kind: &'static str) -> usize {
        self.rows.push(MemberBytes { path, kind, blocks: 0, used: 0, room: 0, rounding: 0 });
        self.places.push((parent, None));
        self.rows.len() - 1
    }

    /// The row of a member or of elements.
    pub fn row(&mut self, parent: usize, step: &str, ty: &'static str) -> usize {
        if let Some(row) = self.known.get(&(parent, step.to_owned())) {
            return *row;
        }
        let above = &self.rows[parent].path;
        let path = match (above.is_empty(), step.starts_with('[')) {
            (true, _) | (_, true) => format!("{above}{step}"),
            _ => format!("{above}.{step}"),
        };
        let row = self.add(parent, path, ty);
        self.known.insert((parent, step.to_owned()), row);
        row
    }

    /// The row whose members are those of a struct or union at `row`: that row, or one above it that is of
    /// the same type.
    pub fn of_type(&mut self, row: usize, id: TypeId) -> usize {
        let mut above = row;
        loop {
            let (parent, of) = self.places[above];
            if of == Some(id) {
                return above;
            }
            if above == 0 {
                break;
            }
            above = parent;
        }
        self.places[row].1 = Some(id);
        row
    }

    /// Counts a block of `bytes` bytes, of which `room` hold nothing.
    pub fn count(&mut self, row: usize, bytes: u64, room: u64) {
        let row = &mut self.rows[row];
        row.blocks += 1;
        row.used += bytes - room;
        row.room += room;
        row.rounding += round_up(bytes) - bytes;
    }

    /// The rows with blocks.
    pub fn with_blocks(self) -> Vec<MemberBytes> {
        let mut members = self.rows;
        members.retain(|row| row.blocks > 0);
        members
    }
}

/// What a member with values of a type is.
pub(super) fn kind(ty: &RegionType) -> &'static str {
    match ty {
        RegionType::Text => "string",
        RegionType::Vector(_) => "vector",
        RegionType::Set(Lookup::Sorted, _) => "sorted set",
        RegionType::Set(Lookup::Hash, _) => "hash set",
        RegionType::Set(Lookup::Ordered, _) => "ordered set",
        RegionType::Map(Lookup::Sorted, ..) => "sorted map",
        RegionType::Map(Lookup::Hash, ..) => "hash map",
        RegionType::Map(Lookup::Ordered, ..) => "ordered map",
        RegionType::Unique(_) => "unique",
        RegionType::Shared(_) => "shared",
        RegionType::Weak(_) => "weak",
        RegionType::Optional(value) => kind(value),
        _ => "value",
    }
}
