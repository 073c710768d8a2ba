//! Messages without compiled-in types: a topic carries its schema, and that is enough to read and to write them.

mod cdr;
mod cdr_write;
pub mod flat;
mod json;
pub mod value;

use situ::bus::{Encoding, RawSample};
use situ_schema::model::{Bitmask, Enum, Primitive, Type, TypeId};
use situ_schema::{Schema, SchemaError};

pub use json::from_json;
use value::Value;

/// Types nested deeper than this are not read.
const MOST_DEPTH: usize = 128;
/// Elements without a size that are read at most.
const MOST_EMPTY: usize = 1024;

/// Why a message cannot be read or written by its schema.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub enum DynamicError {
    /// The bytes end too early.
    #[error("the message is {size} bytes long and ends before byte {at}, where a value should be")]
    Short {
        /// Where a value should be.
        at: u64,
        /// Bytes there are.
        size: u64,
    },
    /// A container is longer than its bound.
    #[error("{length} elements, and at most {bound} are allowed")]
    Length {
        /// Elements announced.
        length: u64,
        /// The bound.
        bound: u64,
    },
    /// A bulk member points outside the body.
    #[error("a bulk member of {len} elements at {offset} lies outside the body of {size} bytes")]
    Bulk {
        /// Where it begins.
        offset: u64,
        /// Its elements.
        len: u64,
        /// Size of the body.
        size: u64,
    },
    /// A boolean is neither 0 nor 1.
    #[error("a boolean holds {value}")]
    Bool {
        /// What it holds.
        value: u8,
    },
    /// Types are nested too deeply.
    #[error("the message is nested more than {MOST_DEPTH} levels deep")]
    Depth,
    /// The type has no flat storage.
    #[error("{type_name} cannot be stored flat")]
    NotFlat {
        /// The type.
        type_name: String,
    },
    /// A value is not of the type that the schema asks for.
    #[error("expected {expected}, found {found}")]
    Mismatch {
        /// What the schema asks for.
        expected: String,
        /// What is there.
        found: String,
    },
    /// The encapsulation header does not fit the type.
    #[error("the encapsulation id {id:#06x} is unknown or does not fit a type that is {extensibility}")]
    Encapsulation {
        /// The id.
        id: u16,
        /// The type's extensibility.
        extensibility: &'static str,
    },
    /// A member that must be understood is unknown.
    #[error("member {id} must be understood, and the schema does not know it")]
    UnknownMember {
        /// The member's id.
        id: u32,
    },
    /// There is no such member.
    #[error("{type_name} has no member `{name}`; it has: {members}")]
    NoMember {
        /// The type.
        type_name: String,
        /// The name.
        name: String,
        /// The members there are.
        members: String,
    },
    /// Any of these, with the member it happened in.
    #[error("{path}: {source}")]
    Within {
        /// The member, such as `points[3].x`.
        path: String,
        /// What happened.
        source: Box<DynamicError>,
    },
}

impl DynamicError {
    /// The error, said to have happened within a member.
    fn within(self, step: &str) -> Self {
        match self {
            DynamicError::Within { path, source } => {
                let dot = if path.starts_with('[') { "" } else { "." };
                DynamicError::Within { path: format!("{step}{dot}{path}"), source }
            }
            other => DynamicError::Within { path: step.to_owned(), source: Box::new(other) },
        }
    }
}

/// Why the schema of a topic is of no use.
#[derive(Debug, thiserror::Error)]
pub enum ReaderError {
    /// It is no schema.
    #[error("the schema that the topic carries cannot be read: {0}")]
    Schema(#[from] Box<SchemaError>),
    /// It does not hold the topic's type.
    #[error("the schema that the topic carries does not define {type_name}")]
    Missing {
        /// The type.
        type_name: String,
    },
}

/// Reads the messages of one topic by the schema that it carries.
#[derive(Debug)]
pub struct MessageReader {
    schema: Schema,
    root: TypeId,
}

impl MessageReader {
    /// From the canonical schema of a topic and its type.
    pub fn new(schema: &str, type_name: &str) -> Result<Self, ReaderError> {
        let schema = Schema::from_idl(schema)?;
        let root =
            schema.find(type_name).ok_or_else(|| ReaderError::Missing { type_name: type_name.to_owned() })?;
        Ok(Self { schema, root })
    }

    /// Reads a message, at most `limit` elements of each sequence.
    pub fn read(&self, sample: &RawSample, limit: usize) -> Result<Value, DynamicError> {
        match sample.encoding() {
            Encoding::Flat => flat::read(&self.schema, self.root, sample.head(), sample.body(), limit),
            Encoding::Xcdr1 | Encoding::Xcdr2 => cdr::read(&self.schema, self.root, sample.body(), limit),
        }
    }
}

/// A message as the bytes that are published.
#[derive(Debug)]
pub struct Encoded {
    /// The head; empty if it is serialized.
    pub head: Vec<u8>,
    /// The alignment of the head.
    pub align: usize,
    /// The body.
    pub body: Vec<u8>,
}

/// Encodes a complete message. Serialized ones are written as XCDR1.
pub fn encode(
    schema: &Schema,
    root: TypeId,
    value: &Value,
    encoding: Encoding,
) -> Result<Encoded, DynamicError> {
    match encoding {
        Encoding::Flat => {
            let (head, body) = flat::write(schema, root, value)?;
            let align = schema.flat_layout(root).map_or(1, |l| l.extent.align as usize);
            Ok(Encoded { head, align, body })
        }
        Encoding::Xcdr1 | Encoding::Xcdr2 => {
            Ok(Encoded { head: Vec::new(), align: 1, body: cdr_write::write(schema, root, value)? })
        }
    }
}

fn enum_value(of: &Enum, value: i32) -> Value {
    Value::Enum { name: of.by_value(value).map(|e| e.name.clone()), value }
}

fn flags(of: &Bitmask, value: u64) -> Value {
    let set = of.flags.iter().filter(|f| value >> f.position & 1 == 1);
    let names: Vec<String> = set.clone().map(|f| f.name.clone()).collect();
    let known = set.fold(0, |bits, f| bits | 1 << f.position);
    // Names that would not tell the whole value are left out.
    Value::Bits { names: if known == value { names } else { Vec::new() }, value }
}

fn mismatch(schema: &Schema, ty: &Type) -> DynamicError {
    DynamicError::Mismatch { expected: schema.display(ty), found: "a value of another type".into() }
}

/// The little-endian bytes of a primitive.
fn scalar_bytes(primitive: Primitive, value: &Value) -> Result<Vec<u8>, DynamicError> {
    let mismatch = || DynamicError::Mismatch {
        expected: primitive.idl().into(),
        found: value.to_text(8).trim().to_owned(),
    };
    let size = primitive.size() as usize;
    Ok(match (primitive, value) {
        (Primitive::Bool, Value::Bool(v)) => vec![u8::from(*v)],
        (Primitive::Char8, Value::Char(v)) => vec![*v],
        (Primitive::F32, Value::Float(v)) => v.to_le_bytes().to_vec(),
        (Primitive::F64, Value::Double(v)) => v.to_le_bytes().to_vec(),
        (_, Value::Signed(v)) if in_range(primitive, i128::from(*v)) => v.to_le_bytes()[..size].to_vec(),
        (_, Value::Unsigned(v)) if in_range(primitive, i128::from(*v)) => v.to_le_bytes()[..size].to_vec(),
        _ => return Err(mismatch()),
    })
}

fn in_range(primitive: Primitive, value: i128) -> bool {
    primitive.integer_range().is_some_and(|(low, high)| (low..=high).contains(&value))
}

#[cfg(test)]
mod tests;
