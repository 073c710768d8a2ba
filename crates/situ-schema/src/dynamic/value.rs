//! The values of messages whose types are known at run time only.

use situ_layout::NoMemory;

use super::memory;
use std::sync::Arc;

use crate::model::Primitive;

/// A value of any type.
#[derive(Debug, Clone, PartialEq)]
pub enum Value {
    /// A boolean.
    Bool(bool),
    /// A signed integer.
    Signed(i64),
    /// An unsigned integer.
    Unsigned(u64),
    /// A `float`.
    Float(f32),
    /// A `double`.
    Double(f64),
    /// A `char`, as its byte.
    Char(u8),
    /// A `wchar`, as its UTF-16 unit.
    WChar(u16),
    /// A string.
    Text(String),
    /// A wide string, as its UTF-16 units.
    WideText(Vec<u16>),
    /// A value of an enum, and the name that it has, if it has one.
    Enum {
        /// The value.
        value: i32,
        /// The enumerator's name.
        name: Option<String>,
    },
    /// A value of a bitmask, and the names of the flags that are set.
    Bitmask {
        /// The bits.
        bits: u64,
        /// The names of the flags, in the order of the schema.
        flags: Vec<String>,
    },
    /// A struct, the members of its bases first.
    Record(Record),
    /// A union.
    Union {
        /// The discriminator.
        discriminator: Box<Value>,
        /// The name and value of the selected case, if there is one.
        case: Option<(String, Box<Value>)>,
    },
    /// An optional member. A weak link of a region, which may lead to a value around it, has the offset of
    /// its value in the image.
    Optional(Option<Box<Value>>),
    /// A sequence or array of integers or floating-point numbers.
    Numbers(Numbers),
    /// Any other sequence or array.
    List(Vec<Value>),
    /// A map.
    Map(Vec<(Value, Value)>),
}

impl Value {
    /// A weak link: the offset of its value in the image, because the value may contain the link.
    pub(super) fn weak(to: Option<u64>) -> Self {
        Self::Optional(to.map(|to| Box::new(Self::Unsigned(to))))
    }
}

/// A struct: names and values of its members.
#[derive(Debug, Clone, PartialEq)]
pub struct Record {
    pub(super) names: Arc<[String]>,
    pub(super) values: Vec<Value>,
}

impl Record {
    /// A struct with these members. Both lists are in the order of the schema, the members of bases first.
    pub fn new(names: Arc<[String]>, values: Vec<Value>) -> Self {
        Self { names, values }
    }

    /// The members in order.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = (&str, &Value)> {
        self.names.iter().map(String::as_str).zip(&self.values)
    }

    /// The member with this name.
    pub fn get(&self, name: &str) -> Option<&Value> {
        self.values.get(self.names.iter().position(|it| it == name)?)
    }

    /// The member with this name, to be changed.
    pub fn get_mut(&mut self, name: &str) -> Option<&mut Value> {
        self.values.get_mut(self.names.iter().position(|it| it == name)?)
    }
}

/// Numbers of one kind, densely.
#[derive(Debug, Clone, PartialEq)]
pub enum Numbers {
    /// `uint8`.
    U8(Vec<u8>),
    /// `int8`.
    I8(Vec<i8>),
    /// `uint16`.
    U16(Vec<u16>),
    /// `int16`.
    I16(Vec<i16>),
    /// `uint32`.
    U32(Vec<u32>),
    /// `int32`.
    I32(Vec<i32>),
    /// `uint64`.
    U64(Vec<u64>),
    /// `int64`.
    I64(Vec<i64>),
    /// `float`.
    F32(Vec<f32>),
    /// `double`.
    F64(Vec<f64>),
}

/// Runs the same expression on the vector of each kind.
macro_rules! each {
    ($numbers:expr, $vector:ident => $body:expr) => {
        match $numbers {
            Numbers::U8($vector) => $body,
            Numbers::I8($vector) => $body,
            Numbers::U16($vector) => $body,
            Numbers::I16($vector) => $body,
            Numbers::U32($vector) => $body,
            Numbers::I32($vector) => $body,
            Numbers::U64($vector) => $body,
            Numbers::I64($vector) => $body,
            Numbers::F32($vector) => $body,
            Numbers::F64($vector) => $body,
        }
    };
}
pub(super) use each;

impl Numbers {
    /// How many there are.
    pub fn len(&self) -> usize {
        each!(self, it => it.len())
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The first number that is not greater than the one before it. Floating-point numbers are in the total
    /// order of IEEE 754.
    pub(super) fn not_ascending(&self) -> Option<u32> {
        let index = match self {
            Self::F32(it) => it.windows(2).position(|pair| pair[0].total_cmp(&pair[1]).is_ge()),
            Self::F64(it) => it.windows(2).position(|pair| pair[0].total_cmp(&pair[1]).is_ge()),
            _ => each!(self, it => it.windows(2).position(|pair| pair[0] >= pair[1])),
        };
        index.map(|index| index as u32 + 1)
    }

    /// The kind of a single number.
    pub fn primitive(&self) -> Primitive {
        match self {
            Self::U8(_) => Primitive::U8,
            Self::I8(_) => Primitive::I8,
            Self::U16(_) => Primitive::U16,
            Self::I16(_) => Primitive::I16,
            Self::U32(_) => Primitive::U32,
            Self::I32(_) => Primitive::I32,
            Self::U64(_) => Primitive::U64,
            Self::I64(_) => Primitive::I64,
            Self::F32(_) => Primitive::F32,
            Self::F64(_) => Primitive::F64,
        }
    }

    /// From bytes, in little or big endian. Bytes behind the last whole number are ignored. `None` for
    /// booleans and characters.
    pub fn from_bytes(
        primitive: Primitive,
        bytes: &[u8],
        big_endian: bool,
    ) -> Result<Option<Self>, NoMemory> {
        macro_rules! read {
            ($kind:ty) => {{
                let read = if big_endian { <$kind>::from_be_bytes } else { <$kind>::from_le_bytes };
                memory::list(bytes.as_chunks().0.iter().map(|it| read(*it)))?
            }};
        }
        Ok(Some(match primitive {
            Primitive::U8 => Self::U8(read!(u8)),
            Primitive::I8 => Self::I8(read!(i8)),
            Primitive::U16 => Self::U16(read!(u16)),
            Primitive::I16 => Self::I16(read!(i16)),
            Primitive::U32 => Self::U32(read!(u32)),
            Primitive::I32 => Self::I32(read!(i32)),
            Primitive::U64 => Self::U64(read!(u64)),
            Primitive::I64 => Self::I64(read!(i64)),
            Primitive::F32 => Self::F32(read!(f32)),
            Primitive::F64 => Self::F64(read!(f64)),
            Primitive::Bool | Primitive::Char8 | Primitive::WChar => return Ok(None),
        }))
    }

    /// As bytes in little endian.
    pub fn to_bytes(&self) -> Vec<u8> {
        each!(self, it => it.iter().flat_map(|it| it.to_le_bytes()).collect())
    }

    /// The number at a position.
    pub fn get(&self, index: usize) -> Option<Value> {
        Some(match self {
            Self::U8(it) => Value::Unsigned((*it.get(index)?).into()),
            Self::I8(it) => Value::Signed((*it.get(index)?).into()),
            Self::U16(it) => Value::Unsigned((*it.get(index)?).into()),
            Self::I16(it) => Value::Signed((*it.get(index)?).into()),
            Self::U32(it) => Value::Unsigned((*it.get(index)?).into()),
            Self::I32(it) => Value::Signed((*it.get(index)?).into()),
            Self::U64(it) => Value::Unsigned(*it.get(index)?),
            Self::I64(it) => Value::Signed(*it.get(index)?),
            Self::F32(it) => Value::Float(*it.get(index)?),
            Self::F64(it) => Value::Double(*it.get(index)?),
        })
    }
}

impl Value {
    /// A description for messages.
    pub fn word(&self) -> &'static str {
        match self {
            Self::Bool(_) => "a boolean",
            Self::Signed(_) | Self::Unsigned(_) => "an integer",
            Self::Float(_) | Self::Double(_) => "a floating-point number",
            Self::Char(_) | Self::WChar(_) => "a character",
            Self::Text(_) | Self::WideText(_) => "text",
            Self::Enum { .. } => "an enumerator",
            Self::Bitmask { .. } => "a bitmask",
            Self::Record(_) => "a struct",
            Self::Union { .. } => "a union",
            Self::Optional(_) => "an optional value",
            Self::Numbers(_) | Self::List(_) => "a list",
            Self::Map(_) => "a map",
        }
    }

    /// The member of a struct, the case of a union, or the value of an optional member, by names joined with
    /// dots: `header.stamp.sec`.
    pub fn find(&self, path: &str) -> Option<&Value> {
        let (first, rest) = path.split_once('.').map_or((path, None), |(first, rest)| (first, Some(rest)));
        let inner = match self {
            Self::Record(record) => record.get(first)?,
            Self::Union { case: Some((name, value)), .. } if name == first => value,
            Self::Optional(Some(value)) => return value.find(path),
            _ => return None,
        };
        rest.map_or(Some(inner), |rest| inner.find(rest))
    }

    /// The value of a boolean, character, integer or enum as an integer: a union's discriminator.
    pub fn as_integer(&self) -> Option<i128> {
        Some(match self {
            Self::Bool(it) => i128::from(*it),
            Self::Signed(it) => i128::from(*it),
            Self::Unsigned(it) => i128::from(*it),
            Self::Char(it) => i128::from(*it),
            Self::WChar(it) => i128::from(*it),
            Self::Enum { value, .. } => i128::from(*value),
            Self::Bitmask { bits, .. } => i128::from(*bits),
            _ => return None,
        })
    }
}
