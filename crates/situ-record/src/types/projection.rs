//! Flat messages as CDR, without values in between: large arrays stay where they lie.

use std::ops::Range;

use situ_layout::NoMemory;
use situ_schema::dynamic::{self, ReadError, WriteError};
use situ_schema::model::{Extensibility, Kind, Primitive, Type, TypeId};
use situ_schema::{ContainerLayout, Schema};
use situ_wire::Encoding;

/// The part of a message in which bytes lie.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Part {
    /// Its head.
    Head,
    /// Its body.
    Body,
}

/// A message as CDR: bytes, and parts of the message that come in between.
#[derive(Debug, Default)]
pub struct Projected {
    /// The bytes that were written.
    pub bytes: Vec<u8>,
    /// Where in `bytes` a part of the message comes in between.
    pub cuts: Vec<(usize, Part, Range<usize>)>,
    /// The bytes of all cuts.
    cut_bytes: usize,
}

/// Why a message has no CDR form.
#[derive(Debug, thiserror::Error)]
pub enum ProjectError {
    /// A part lies outside of the message.
    #[error("the message is malformed: {size} bytes at byte {at} of its {part:?} are outside of it")]
    Outside {
        /// Where it should lie.
        part: Part,
        /// Where it begins.
        at: u64,
        /// Its size.
        size: u64,
    },
    /// A length exceeds its bound.
    #[error("the message is malformed: a length of {length} exceeds its bound {bound}")]
    TooLong {
        /// The length.
        length: u64,
        /// The bound.
        bound: u64,
    },
    /// The message cannot be read.
    #[error("the message is malformed: {0}")]
    Read(#[from] ReadError),
    /// The message cannot be written as CDR.
    #[error("the message has no CDR form: {0}")]
    Write(#[from] WriteError),
}

#[derive(Debug)]
enum Step {
    /// Numbers that lie together: where, how many bytes, how they are aligned in CDR.
    Block {
        at: u64,
        size: u64,
        align: u64,
    },
    Text {
        at: u64,
        bound: u64,
    },
    Sequence {
        at: u64,
        data: u64,
        bound: u64,
        elements: Elements,
    },
    Bulk {
        at: u64,
        bound: u64,
        elements: Elements,
    },
    Array {
        at: u64,
        count: u64,
        elements: Elements,
    },
}

#[derive(Debug)]
struct Elements {
    stride: u64,
    steps: Vec<Step>,
}

/// Turns flat messages of one type into CDR.
#[derive(Debug)]
pub struct Projection {
    /// `None` if the type has parts for which values are made first.
    steps: Option<Vec<Step>>,
}

impl Projection {
    /// For a type of a schema.
    pub fn new(schema: &Schema, root: TypeId) -> Self {
        let mut steps = Vec::new();
        let is_simple = compile(schema, &Type::Named(root), 0, &mut steps).is_some();
        Self { steps: is_simple.then_some(steps) }
    }

    /// A message as CDR. Parts from `large` bytes on stay where they lie.
    pub fn project(
        &self,
        (schema, root): (&Schema, TypeId),
        (head, body): (&[u8], &[u8]),
        large: usize,
        into: &mut Projected,
    ) -> Result<(), ProjectError> {
        into.bytes.clear();
        into.cuts.clear();
        into.cut_bytes = 0;
        let Some(steps) = &self.steps else {
            // The bytes that are checked must be those that are read, and a hostile publisher may still
            // change these.
            let value = dynamic::from_flat(schema, root, &private(head)?, &private(body)?)?;
            into.bytes = dynamic::to_cdr(schema, root, &value, Encoding::Xcdr1)?;
            return Ok(());
        };
        into.bytes.extend_from_slice(&[0, 1, 0, 0]);
        let mut run = Run { head, body, large, into };
        run.steps(steps, Part::Head, 0)
    }
}

fn private(bytes: &[u8]) -> Result<Vec<u8>, ReadError> {
    let mut copy = Vec::new();
    copy.try_reserve_exact(bytes.len()).map_err(|_| NoMemory { bytes: bytes.len() })?;
    copy.extend_from_slice(bytes);
    Ok(copy)
}

/// Adds the steps of a value at an offset. `None` if the type needs values.
fn compile(schema: &Schema, ty: &Type, at: u64, steps: &mut Vec<Step>) -> Option<()> {
    let elements = |element: &Type| {
        let mut steps = Vec::new();
        compile(schema, element, 0, &mut steps)?;
        Some(Elements { stride: schema.flat_extent(element).ok()?.size, steps })
    };
    if let Some((element, dimensions)) = schema.array(ty) {
        let count = Type::element_count(&dimensions)?;
        let elements = elements(element)?;
        steps.push(Step::Array { at, count, elements });
        return Some(());
    }
    match schema.resolve(ty) {
        Type::Primitive(Primitive::WChar) => None,
        Type::Primitive(primitive) => {
            let size = primitive.size();
            match steps.last_mut() {
                Some(Step::Block { at: begin, size: length, align })
                    if *align == size && *begin + *length == at =>
                {
                    *length += size;
                }
                _ => steps.push(Step::Block { at, size, align: size }),
            }
            Some(())
        }
        Type::String { bound } => {
            steps.push(Step::Text { at, bound: u64::from((*bound)?) });
            Some(())
        }
        Type::Sequence { element, bound } => {
            let ContainerLayout { data_offset, .. } = schema.container_layout(ty)?;
            let (bound, elements) = (u64::from((*bound)?), elements(element)?);
            steps.push(Step::Sequence { at, data: at + data_offset, bound, elements });
            Some(())
        }
        Type::Named(id) => match &schema.definition(*id).kind {
            Kind::Struct(it) if it.base.is_none() && it.extensibility == Extensibility::Final => {
                let layout = schema.flat_layout(*id)?;
                for (member, place) in it.members.iter().zip(&layout.members) {
                    let at = at + place.offset;
                    match schema.resolve(&member.ty) {
                        _ if member.optional => return None,
                        Type::Sequence { element, bound } if member.bulk => {
                            let bound = bound.map_or(u64::MAX, u64::from);
                            steps.push(Step::Bulk { at, bound, elements: elements(element)? });
                        }
                        _ => compile(schema, &member.ty, at, steps)?,
                    }
                }
                Some(())
            }
            Kind::Enum(_) => {
                steps.push(Step::Block { at, size: 4, align: 4 });
                Some(())
            }
            _ => None,
        },
        _ => None,
    }
}

struct Run<'a> {
    head: &'a [u8],
    body: &'a [u8],
    large: usize,
    into: &'a mut Projected,
}

impl<'a> Run<'a> {
    fn part(&self, part: Part, at: u64, size: u64) -> Result<(&'a [u8], Range<usize>), ProjectError> {
        let bytes = match part {
            Part::Head => self.head,
            Part::Body => self.body,
        };
        let range = || {
            let begin = usize::try_from(at).ok()?;
            let range = begin..begin.checked_add(usize::try_from(size).ok()?)?;
            Some((bytes.get(range.clone())?, range))
        };
        range().ok_or(ProjectError::Outside { part, at, size })
    }

    fn number<const N: usize>(&self, part: Part, at: u64) -> Result<[u8; N], ProjectError> {
        let mut number = [0; N];
        number.copy_from_slice(self.part(part, at, N as u64)?.0);
        Ok(number)
    }

    /// Aligns relative to the end of the encapsulation header.
    #[inline]
    fn align(&mut self, align: u64) {
        let bytes = &mut self.into.bytes;
        let position = bytes.len() - 4 + self.into.cut_bytes;
        let padded = position.next_multiple_of(align as usize);
        bytes.resize(bytes.len() + padded - position, 0);
    }

    fn block(&mut self, part: Part, at: u64, size: u64, align: u64) -> Result<(), ProjectError> {
        let (bytes, range) = self.part(part, at, size)?;
        self.align(align);
        if bytes.len() < self.large {
            self.into.bytes.extend_from_slice(bytes);
        } else {
            self.into.cuts.push((self.into.bytes.len(), part, range));
            self.into.cut_bytes += bytes.len();
        }
        Ok(())
    }

    fn length(&mut self, length: u64, bound: u64) -> Result<(), ProjectError> {
        let most = bound.min(u64::from(u32::MAX));
        if length > most {
            return Err(ProjectError::TooLong { length, bound: most });
        }
        self.align(4);
        self.into.bytes.extend_from_slice(&(length as u32).to_le_bytes());
        Ok(())
    }

    fn elements(&mut self, elements: &Elements, part: Part, at: u64, count: u64) -> Result<(), ProjectError> {
        if count == 0 {
            return Ok(());
        }
        let outside = ProjectError::Outside { part, at, size: u64::MAX };
        let Some(size) = count.checked_mul(elements.stride) else { return Err(outside) };
        match elements.steps.as_slice() {
            // The elements have no padding in either form, so they are one block.
            [Step::Block { at: 0, size: one, align }] if *one == elements.stride => {
                self.block(part, at, size, *align)
            }
            steps => {
                self.part(part, at, size)?;
                (0..count).try_for_each(|index| self.steps(steps, part, at + index * elements.stride))
            }
        }
    }

    fn steps(&mut self, steps: &[Step], part: Part, base: u64) -> Result<(), ProjectError> {
        for step in steps {
            match step {
                Step::Block { at, size, align } => self.block(part, base + at, *size, *align)?,
                Step::Text { at, bound } => {
                    let length = u64::from(u32::from_le_bytes(self.number(part, base + at)?));
                    if length > *bound {
                        return Err(ProjectError::TooLong { length, bound: *bound });
                    }
                    self.length(length + 1, u64::MAX)?;
                    let (text, _) = self.part(part, base + at + 4, length)?;
                    self.into.bytes.extend_from_slice(text);
                    self.into.bytes.push(0);
                }
                Step::Sequence { at, data, bound, elements } => {
                    let length = u64::from(u32::from_le_bytes(self.number(part, base + at)?));
                    self.length(length, *bound)?;
                    self.elements(elements, part, base + data, length)?;
                }
                Step::Bulk { at, bound, elements } => {
                    let offset = u64::from_le_bytes(self.number(part, base + at)?);
                    let length = u64::from_le_bytes(self.number(part, base + at + 8)?);
                    self.length(length, *bound)?;
                    self.elements(elements, Part::Body, offset, length)?;
                }
                Step::Array { at, count, elements } => self.elements(elements, part, base + at, *count)?,
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The projection of a message, put together.
    fn projected(idl: &str, name: &str, text: &str, large: usize) -> (Vec<u8>, Vec<u8>) {
        let schema = Schema::from_idl(idl).unwrap();
        let root = schema.find(name).unwrap();
        let value = dynamic::from_text(&schema, root, text).unwrap();
        let flat = dynamic::to_flat(&schema, root, &value).unwrap();
        let expected = dynamic::to_cdr(&schema, root, &value, Encoding::Xcdr1).unwrap();
        let projection = Projection::new(&schema, root);
        let mut out = Projected::default();
        projection.project((&schema, root), (&flat.head, &flat.body), large, &mut out).unwrap();
        let (mut bytes, mut from) = (Vec::new(), 0);
        for (at, part, range) in &out.cuts {
            bytes.extend_from_slice(&out.bytes[from..*at]);
            from = *at;
            let source = if *part == Part::Head { &flat.head } else { &flat.body };
            bytes.extend_from_slice(&source[range.clone()]);
        }
        bytes.extend_from_slice(&out.bytes[from..]);
        (bytes, expected)
    }

    #[test]
    fn flat_messages_become_the_same_cdr_as_values() {
        let idl = "@final struct P { uint8 a; double b; };
            @final enum E { X, Y };
            @final @flat struct M {
              boolean ok; double d; uint8 c; P p; P many[2]; sequence<P, 4> some; string<9> name; E e;
              sequence<double, 3> numbers; sequence<string<4>, 3> names; int16 grid[2][3];
              @bulk sequence<uint8> raw; @bulk sequence<double> more; float last;
            };";
        let text = "{ok: true, d: 1.5, c: 7, p: {a: 1, b: 2.5}, many: [{a: 3, b: 4}, {a: 5, b: 6}], some: [{a: 9, b: 1}],
            name: hello, e: Y, numbers: [1, 2], names: [ab, ''], grid: [[1, 2, 3], [4, 5, 6]],
            raw: [1, 2, 3, 4, 5], more: [0.5, 0.25], last: 2}";
        for large in [usize::MAX, 1, 3] {
            let (bytes, expected) = projected(idl, "M", text, large);
            assert_eq!(bytes, expected, "{large}");
        }
        // With its own values: the bytes of the first members.
        let (bytes, _) = projected(idl, "M", text, usize::MAX);
        assert_eq!(&bytes[..13], [0, 1, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0]);
        let (bytes, expected) =
            projected("@flat struct O { @optional long x; long y; };", "O", "{x: 3, y: 4}", 1);
        assert_eq!(bytes, expected);
    }

    #[test]
    fn malformed_messages_are_errors() {
        let schema = Schema::from_idl("@flat struct M { string<3> s; @bulk sequence<octet> b; };").unwrap();
        let root = schema.find("M").unwrap();
        let projection = Projection::new(&schema, root);
        let project = |head: &[u8], body: &[u8]| {
            projection.project((&schema, root), (head, body), 64, &mut Projected::default())
        };
        let mut head = vec![0; 24];
        assert!(project(&head, &[]).is_ok());
        assert!(matches!(project(&head[..10], &[]), Err(ProjectError::Outside { .. })));
        head[0] = 4;
        assert!(matches!(project(&head, &[]), Err(ProjectError::TooLong { length: 4, bound: 3 })));
        head[0] = 0;
        head[8..16].copy_from_slice(&u64::MAX.to_le_bytes());
        head[16] = 2;
        assert!(matches!(project(&head, &[1, 2]), Err(ProjectError::Outside { part: Part::Body, .. })));
    }
}
