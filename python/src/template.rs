//! New flat messages in memory that is lent: the defaults of the head, and the places of bulk members.

use pyo3::prelude::*;
use pyo3::types::PyDict;
use situ_schema::dynamic;
use situ_schema::model::Type;

use crate::errors::Kind as Error;
use crate::types::{Kind, Part, Types};

/// The alignment of bulk members in a body.
const BULK_ALIGN: u64 = 64;
/// Heads up to this size are filled as a whole.
const SMALL: usize = 4096;

/// Where the descriptor of a bulk member lies, where its elements begin, and how many there are.
pub type Descriptor = (usize, u64, u64);

/// A new flat message, and its bulk members.
pub struct Template {
    pub head: Vec<u8>,
    pub align: usize,
    /// The parts of the head that a new message needs; others may hold anything.
    ranges: Vec<(usize, usize)>,
    pub bulk: Vec<BulkMember>,
}

/// A bulk member.
pub struct BulkMember {
    /// Its path, such as `image.data`.
    pub name: String,
    /// Where its descriptor lies.
    at: u64,
    stride: u64,
    bound: Option<u32>,
}

impl Template {
    /// Of a type; `None` if it has no flat form.
    pub fn of(py: Python<'_>, types: &Types) -> PyResult<Option<Self>> {
        let (schema, root) = (&types.schema, types.root);
        let Some(layout) = schema.flat_layout(root) else { return Ok(None) };
        let refused = |error: &dyn std::fmt::Display| Error::Conversion.error(py, error);
        let value = dynamic::default_value(schema, root).map_err(|error| refused(&error))?;
        let head = dynamic::to_flat(schema, root, &value).map_err(|error| refused(&error))?.head;
        let mut ranges = vec![(0, head.len())];
        if head.len() > SMALL {
            ranges.clear();
            needed(types, &types.part(&Type::Named(root)), 0, &mut ranges);
        }
        let bulk = schema.bulk_fields(root).into_iter().map(|it| {
            let path: Vec<&str> = it.path.iter().map(String::as_str).filter(|it| *it != "base").collect();
            BulkMember {
                name: path.join("."),
                at: it.offset,
                stride: it.element_extent.size,
                bound: it.bound,
            }
        });
        Ok(Some(Self { head, align: layout.extent.align as usize, ranges, bulk: bulk.collect() }))
    }

    /// Where the elements of bulk members lie, for these numbers of elements: descriptors, and the size of
    /// the body.
    pub fn lay_out(
        &self,
        py: Python<'_>,
        sizes: Option<&Bound<'_, PyDict>>,
    ) -> PyResult<(Vec<Descriptor>, u64)> {
        let mut counts = vec![0u64; self.bulk.len()];
        for (name, count) in sizes.into_iter().flatten() {
            let name: String = name.extract()?;
            let Some(index) = self.bulk.iter().position(|it| it.name == name) else {
                let text = format!(
                    "there is no bulk member `{name}`; there are: {}",
                    self.bulk.iter().map(|it| it.name.as_str()).collect::<Vec<_>>().join(", ")
                );
                return Err(Error::Conversion.error(py, text));
            };
            let member = &self.bulk[index];
            let count: u64 = count.extract().map_err(|_| {
                Error::Conversion.error(py, format!("`{name}`: a number of elements is expected"))
            })?;
            if let Some(bound) = member.bound.filter(|bound| count > u64::from(*bound)) {
                return Err(Error::Conversion
                    .error(py, format!("`{name}`: {count} elements exceed the bound {bound}")));
            }
            counts[index] = count;
        }
        let mut descriptors = Vec::with_capacity(counts.len());
        let mut end = 0u64;
        for (member, count) in self.bulk.iter().zip(counts) {
            let at = end.next_multiple_of(BULK_ALIGN);
            let next = count.checked_mul(member.stride).and_then(|size| at.checked_add(size));
            end = next.filter(|end| *end < 1 << 62).ok_or_else(|| {
                Error::Conversion.error(py, format!("`{}`: {count} elements exceed any memory", member.name))
            })?;
            descriptors.push((member.at as usize, at, count));
        }
        Ok((descriptors, end))
    }

    /// Makes a new message of a head that may hold anything.
    pub fn fill(&self, bytes: &mut [u8], descriptors: &[Descriptor]) {
        for (at, size) in &self.ranges {
            let range = *at..(*at + *size).min(self.head.len());
            bytes[range.clone()].copy_from_slice(&self.head[range]);
        }
        for (at, offset, count) in descriptors {
            bytes[*at..*at + 8].copy_from_slice(&offset.to_le_bytes());
            bytes[*at + 8..*at + 16].copy_from_slice(&count.to_le_bytes());
        }
    }
}

/// The bytes of a new value that readers look at.
fn needed(types: &Types, part: &Part, at: u64, ranges: &mut Vec<(usize, usize)>) {
    let mut add = |size: u64| ranges.push((at as usize, size as usize));
    match &part.kind {
        Kind::Text(_) | Kind::WideText(_) => add(6),
        Kind::Sequence { .. } | Kind::Map => add(4),
        Kind::Struct(id) => {
            for member in &types.plan(*id).members {
                if member.bulk {
                    ranges.push(((at + member.at) as usize, 16));
                } else if member.optional {
                    ranges.push(((at + member.at) as usize, 1));
                } else {
                    needed(types, &member.part, at + member.at, ranges);
                }
            }
        }
        _ => add(part.size),
    }
}
