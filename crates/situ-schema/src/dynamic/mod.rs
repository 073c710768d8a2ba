//! Messages without compiled types: read by their schema, printed, and written back.
//!
//! A [`Value`] is read from the bytes of a flat message, of a region, or from CDR, printed as YAML or JSON,
//! made from YAML or JSON, and turned into bytes again. No input makes these functions panic, read out of
//! bounds, or take memory beyond [`MAX_VALUES`] values besides what the input pays for itself.
//!
//! ```
//! use situ_schema::{Schema, dynamic};
//!
//! let schema = Schema::from_idl("@flat struct Point { int32 x; int32 y; };")?;
//! let point = schema.find("Point").unwrap();
//! let value = dynamic::from_text(&schema, point, "{x: 1, y: -2}")?;
//! let message = dynamic::to_flat(&schema, point, &value)?;
//! assert_eq!(message.head, [1, 0, 0, 0, 254, 255, 255, 255]);
//! let again = dynamic::from_flat(&schema, point, &message.head, &message.body)?;
//! assert_eq!(again.to_yaml(&Default::default()), "x: 1\ny: -2\n");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod cdr_read;
mod cdr_write;
mod defaults;
mod error;
mod flat_read;
mod flat_write;
mod memory;
mod nested;
mod packed_read;
mod print;
mod region_bytes;
mod region_check;
mod region_read;
mod region_rewrite;
mod region_types;
mod region_view;
mod region_write;
mod text;
mod tree;
mod value;

pub use cdr_read::from_cdr;
pub use cdr_write::to_cdr;
pub use defaults::default_value;
pub use error::{ReadError, ReadProblem, TextError, WriteError, WriteProblem};
pub use flat_read::{from_flat, part_from_flat};
pub use flat_write::{FlatMessage, part_to_flat, to_flat};
pub use print::PrintOptions;
pub use region_bytes::from_region;
pub use region_check::{ImageError, MemberBytes, RegionBytes, RegionHeader, check_region};
pub use region_rewrite::{RewriteError, rewrite_region};
pub use region_types::{RegionTypes, RegionTypesError};
pub use region_view::{Places, RegionPart, RegionVersions, RegionView, StructMember, region_members};
pub use region_write::{insert_in_region, key_of, set_in_region, set_key_in_region, to_packed, to_region};
pub use situ_region::dynamic::Form;
pub use text::from_text;
pub use value::{Numbers, Record, Value};

use std::collections::HashMap;
use std::sync::Arc;

use situ_layout::Headroom;

use crate::model::{Kind, Member, Primitive, Type, TypeId};
use crate::schema::Schema;

/// How many values one message may have, in addition to one for each byte that is read.
pub const MAX_VALUES: u64 = 1 << 20;

/// A type as dynamic readers and writers look at it: no typedefs, and an array of arrays is one array.
enum Shape<'s> {
    Primitive(Primitive),
    Text { bound: Option<u32> },
    WideText { bound: Option<u32> },
    Sequence { element: &'s Type, bound: Option<u32> },
    Array { element: &'s Type, dimensions: Vec<u32> },
    Map { key: &'s Type, value: &'s Type, bound: Option<u32> },
    Definition(TypeId, &'s Kind),
}

fn shape<'s>(schema: &'s Schema, ty: &'s Type) -> Shape<'s> {
    if let Some((element, dimensions)) = schema.array(ty) {
        return Shape::Array { element, dimensions };
    }
    match schema.resolve(ty) {
        Type::Primitive(primitive) => Shape::Primitive(*primitive),
        Type::String { bound } => Shape::Text { bound: *bound },
        Type::WString { bound } => Shape::WideText { bound: *bound },
        Type::Sequence { element, bound } => Shape::Sequence { element, bound: *bound },
        Type::Map { key, value, bound } => Shape::Map { key, value, bound: *bound },
        Type::Array { element, .. } => Shape::Sequence { element, bound: None },
        Type::Named(id) => Shape::Definition(*id, &schema.definition(*id).kind),
    }
}

/// The number of elements of an array.
fn count(dimensions: &[u32]) -> u64 {
    Type::element_count(dimensions).unwrap_or(u64::MAX)
}

/// The primitive that elements of this type are stored as in [`Numbers`]: integers and floating-point
/// numbers.
fn number(schema: &Schema, ty: &Type) -> Option<Primitive> {
    match schema.resolve(ty) {
        Type::Primitive(Primitive::Bool | Primitive::Char8 | Primitive::WChar) => None,
        Type::Primitive(primitive) => Some(*primitive),
        _ => None,
    }
}

/// The names of the members of structs, made once for each.
#[derive(Default)]
struct Names {
    known: HashMap<TypeId, Arc<[String]>>,
}

impl Names {
    fn of(&mut self, schema: &Schema, id: TypeId) -> Arc<[String]> {
        let make = || all_members(schema, id).iter().map(|it| it.name.clone()).collect();
        Arc::clone(self.known.entry(id).or_insert_with(make))
    }
}

/// The members of a struct, those of its bases first.
fn all_members(schema: &Schema, id: TypeId) -> Vec<&Member> {
    let mut lineage = Vec::new();
    let mut current = Some(id);
    while let Some(it) = current.and_then(|id| schema.definition(id).kind.as_struct()) {
        lineage.push(it);
        current = it.base;
    }
    lineage.iter().rev().flat_map(|it| &it.members).collect()
}

/// The size of a long name of a member, in bytes.
const NAME: usize = 256;

/// How many more values may be made.
#[derive(Clone, Copy)]
struct Budget {
    left: u64,
    headroom: Headroom,
}

impl Budget {
    fn new(input: usize) -> Self {
        Self { left: MAX_VALUES.saturating_add(input as u64), headroom: Headroom::default() }
    }

    /// Takes `count` values. Also checks that there is memory for a box with a value, and for its name:
    /// readers take each value that they box by itself.
    fn take(&mut self, count: u64) -> Result<(), ReadProblem> {
        self.left = self.left.checked_sub(count).ok_or(ReadProblem::TooManyValues)?;
        Ok(self.headroom.expect(size_of::<Value>() + NAME)?)
    }
}
