//! Iterates over the fields of an encoded message, without copying.

use super::error::{ReadError, ReadProblem};
use super::wire::{MAX_LENGTH, WireType};

/// The maximum depth of groups, and of messages within messages, that a reader follows.
pub const MAX_READ_LEVELS: u32 = 100;

/// The value of a field as it is stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Value<'a> {
    /// A varint.
    Varint(u64),
    /// Eight bytes, little endian.
    Fixed64(u64),
    /// A string, bytes, message or packed field.
    Bytes(&'a [u8]),
    /// The fields of a group.
    Group(&'a [u8]),
    /// Four bytes, little endian.
    Fixed32(u32),
}

/// One field.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Field<'a> {
    /// Its number.
    pub number: u32,
    /// Its value.
    pub value: Value<'a>,
    /// The whole field, tag included.
    pub bytes: &'a [u8],
    /// The offset of its tag.
    pub(super) at: u32,
    /// The offset of its value, behind the tag. The length of a `Bytes` value is part of the value.
    pub(super) value_at: u32,
}

impl Field<'_> {
    /// Its wire type.
    pub fn wire_type(&self) -> WireType {
        match self.value {
            Value::Varint(_) => WireType::Varint,
            Value::Fixed64(_) => WireType::Fixed64,
            Value::Bytes(_) => WireType::Bytes,
            Value::Group(_) => WireType::GroupStart,
            Value::Fixed32(_) => WireType::Fixed32,
        }
    }
}

/// A position in bytes that are read from front to back.
#[derive(Clone, Copy, Debug)]
pub struct Cursor<'a> {
    pub(super) bytes: &'a [u8],
    pub(super) at: usize,
}

impl<'a> Cursor<'a> {
    #[inline]
    pub(super) fn is_at_end(&self) -> bool {
        self.at >= self.bytes.len()
    }

    #[inline]
    pub(super) fn varint(&mut self) -> Result<u64, ReadProblem> {
        match self.bytes.get(self.at) {
            Some(byte) if *byte < 0x80 => {
                self.at += 1;
                Ok(u64::from(*byte))
            }
            _ => self.long_varint(),
        }
    }

    fn long_varint(&mut self) -> Result<u64, ReadProblem> {
        let mut value = 0;
        for (index, byte) in self.bytes[self.at.min(self.bytes.len())..].iter().take(10).enumerate() {
            // Bits beyond 64 are dropped, as all implementations do.
            value |= u64::from(byte & 0x7f) << (7 * index);
            if *byte < 0x80 {
                self.at += index + 1;
                return Ok(value);
            }
        }
        Err(if self.bytes.len() - self.at < 10 { ReadProblem::Truncated } else { ReadProblem::LongVarint })
    }

    #[inline]
    pub(super) fn take(&mut self, count: usize) -> Result<&'a [u8], ReadProblem> {
        let taken = self.bytes[self.at..].get(..count).ok_or(ReadProblem::Truncated)?;
        self.at += count;
        Ok(taken)
    }

    #[inline]
    pub(super) fn array<const N: usize>(&mut self) -> Result<[u8; N], ReadProblem> {
        let bytes = self.bytes[self.at..].first_chunk().ok_or(ReadProblem::Truncated)?;
        self.at += N;
        Ok(*bytes)
    }

    #[inline]
    fn tag(&mut self) -> Result<(u32, WireType), ReadProblem> {
        let tag = u32::try_from(self.varint()?).map_err(|_| ReadProblem::InvalidTag)?;
        let wire = WireType::from_bits(tag & 7).ok_or(ReadProblem::InvalidTag)?;
        if tag >> 3 == 0 { Err(ReadProblem::InvalidTag) } else { Ok((tag >> 3, wire)) }
    }

    #[inline]
    pub(super) fn delimited(&mut self) -> Result<&'a [u8], ReadProblem> {
        let length = self.varint()?;
        if length > (self.bytes.len() - self.at) as u64 {
            return Err(ReadProblem::Truncated);
        }
        self.take(length as usize)
    }

    /// Reads the content of a group, and skips its end.
    fn group(&mut self, number: u32) -> Result<&'a [u8], ReadProblem> {
        let begin = self.at;
        let mut open = [0; MAX_READ_LEVELS as usize];
        open[0] = number;
        let mut depth = 1;
        loop {
            let before = self.at;
            let (number, wire) = self.tag()?;
            match wire {
                WireType::Varint => drop(self.varint()?),
                WireType::Fixed64 => drop(self.take(8)?),
                WireType::Fixed32 => drop(self.take(4)?),
                WireType::Bytes => drop(self.delimited()?),
                WireType::GroupStart => {
                    *open.get_mut(depth).ok_or(ReadProblem::TooDeep)? = number;
                    depth += 1;
                }
                WireType::GroupEnd => {
                    depth -= 1;
                    if open[depth] != number {
                        return Err(ReadProblem::UnexpectedGroupEnd);
                    }
                    if depth == 0 {
                        return Ok(&self.bytes[begin..before]);
                    }
                }
            }
        }
    }

    #[inline]
    fn field(&mut self) -> Result<Field<'a>, ReadProblem> {
        let at = self.at;
        let (number, wire) = self.tag()?;
        let value_at = self.at;
        let value = match wire {
            WireType::Varint => Value::Varint(self.varint()?),
            WireType::Fixed64 => Value::Fixed64(u64::from_le_bytes(self.array()?)),
            WireType::Bytes => Value::Bytes(self.delimited()?),
            WireType::GroupStart => Value::Group(self.group(number)?),
            WireType::GroupEnd => return Err(ReadProblem::UnexpectedGroupEnd),
            WireType::Fixed32 => Value::Fixed32(u32::from_le_bytes(self.array()?)),
        };
        Ok(Field { number, value, bytes: &self.bytes[at..self.at], at: at as u32, value_at: value_at as u32 })
    }
}

/// Iterates over the fields of a message. The iteration ends after an error.
#[derive(Clone, Copy, Debug)]
pub struct Fields<'a> {
    cursor: Cursor<'a>,
}

impl<'a> Fields<'a> {
    /// The fields of an encoded message.
    pub fn new(bytes: &'a [u8]) -> Self {
        Self::between(bytes, 0)
    }

    /// The fields from an offset on.
    pub(super) fn between(bytes: &'a [u8], at: usize) -> Self {
        Self { cursor: Cursor { bytes, at } }
    }
}

impl<'a> Iterator for Fields<'a> {
    type Item = Result<Field<'a>, ReadError>;

    #[inline]
    fn next(&mut self) -> Option<Self::Item> {
        if self.cursor.is_at_end() {
            return None;
        }
        if self.cursor.bytes.len() as u64 > MAX_LENGTH {
            self.cursor.bytes = &[];
            return Some(Err(ReadError { at: 0, problem: ReadProblem::TooLong }));
        }
        let begin = self.cursor.at;
        Some(self.cursor.field().map_err(|problem| {
            self.cursor.bytes = &[];
            ReadError { at: begin, problem }
        }))
    }
}
