//! Reads the parts of a CDR message: numbers, strings, delimited parts and parameters. It never reads out of
//! bounds.
//!
//! Another process may change the message at any time. The reader therefore copies everything out, reads each
//! byte that affects a decision only once, and copies text before it checks the text.

use situ_layout::SharedBytes;
use situ_layout::visit::Number;

use super::encoding::{ByteOrder, Encapsulation, Encoding, HEADER_SIZE, MAX_DEPTH};
use super::error::{DecodeError, DecodeProblem};

/// The parameter id that announces an extended header.
pub(crate) const PID_EXTENDED: u16 = 0x3f01;
/// The parameter id that ends a list.
pub(crate) const PID_LIST_END: u16 = 0x3f02;
/// The parameter id of a parameter without meaning.
const PID_IGNORE: u16 = 0x3f03;
/// The bits of the id in a short header.
const SHORT_ID: u16 = 0x3fff;
/// The must-understand flag of a short header.
pub(crate) const SHORT_MUST_UNDERSTAND: u16 = 0x4000;
/// The flag of a short header that marks an id as its vendor's.
const SHORT_VENDOR: u16 = 0x8000;
/// The bits of the id in an extended header.
pub(crate) const LONG_ID: u32 = 0x0fff_ffff;
/// The must-understand flag of an extended header.
pub(crate) const LONG_MUST_UNDERSTAND: u32 = 0x4000_0000;
/// The flag of an extended header that marks an id as its vendor's.
const LONG_VENDOR: u32 = 0x8000_0000;
/// The must-understand flag of a member header of version 2.
pub(crate) const MEMBER_MUST_UNDERSTAND: u32 = 0x8000_0000;

/// The header of a member of a mutable type, or of an optional member in version 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Parameter {
    /// The member's id. A vendor's own ids have the top bit set, so that they differ from all members' ids.
    pub id: u32,
    /// Whether a reader that does not know the member must refuse the message.
    pub must_understand: bool,
    /// The number of bytes of its value.
    pub length: usize,
}

/// A part of the message that was entered and must be left.
#[derive(Debug)]
#[must_use = "a scope that is entered must be left"]
pub struct Scope {
    end: usize,
    outer_end: usize,
    outer_origin: usize,
}

/// Memory for the copy of a string, which is checked there. Short strings need no heap memory.
#[derive(Debug)]
pub struct TextBuffer {
    short: [u8; 128],
    long: Vec<u8>,
}

impl Default for TextBuffer {
    fn default() -> Self {
        Self { short: [0; 128], long: Vec::new() }
    }
}

impl TextBuffer {
    #[inline]
    fn copy(&mut self, bytes: SharedBytes<'_>) -> Result<&[u8], DecodeProblem> {
        if let Some(short) = self.short.get_mut(..bytes.len()) {
            bytes.copy_to(short);
            return Ok(short);
        }
        bytes.try_copy_over(&mut self.long)?;
        Ok(&self.long)
    }
}

/// The 16-bit units of a wide string in a message. In version 1 each takes 32 bits.
#[derive(Clone, Debug)]
pub struct WideUnits<'a> {
    bytes: SharedBytes<'a>,
    at: usize,
    /// The size of a unit, in bytes.
    size: usize,
    swap: bool,
}

impl Iterator for WideUnits<'_> {
    /// If the message has changed after the check, a unit may be larger than 16 bits. Such a unit is replaced
    /// by U+FFFD.
    type Item = u16;

    #[inline]
    fn next(&mut self) -> Option<u16> {
        self.next_number().map(|unit| u16::try_from(unit).unwrap_or(0xfffd))
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        let left = (self.bytes.len() - self.at) / self.size;
        (left, Some(left))
    }
}

impl ExactSizeIterator for WideUnits<'_> {}

impl WideUnits<'_> {
    /// A number of 2 or 4 bytes.
    #[inline]
    fn next_number(&mut self) -> Option<u32> {
        let number = if self.size == 2 {
            let unit = u16::from_ne_bytes(self.bytes.array(self.at)?);
            u32::from(if self.swap { unit.swap_bytes() } else { unit })
        } else {
            let unit = u32::from_ne_bytes(self.bytes.array(self.at)?);
            if self.swap { unit.swap_bytes() } else { unit }
        };
        self.at += self.size;
        Some(number)
    }
}

/// Reads a CDR message from its beginning to its end.
#[derive(Clone, Debug)]
pub struct Reader<'a> {
    message: SharedBytes<'a>,
    at: usize,
    end: usize,
    origin: usize,
    encoding: Encoding,
    swap: bool,
    depth: u32,
}

impl<'a> Reader<'a> {
    /// Reads the encapsulation header.
    pub fn new(message: impl Into<SharedBytes<'a>>) -> Result<(Self, Encapsulation), DecodeError> {
        let message = message.into();
        let Some([high, low, _, options]) = message.array::<HEADER_SIZE>(0) else {
            let problem = DecodeProblem::Truncated { needed: HEADER_SIZE, left: message.len() };
            return Err(DecodeError::at(0, problem));
        };
        let id = u16::from_be_bytes([high, low]);
        let encapsulation = Encapsulation::from_id(id)
            .ok_or_else(|| DecodeError::at(0, DecodeProblem::UnknownEncapsulation { id }))?;
        let padding = usize::from(options & 3);
        let padded = message.len().is_multiple_of(4) && padding <= message.len() - HEADER_SIZE;
        let reader = Self {
            message,
            at: HEADER_SIZE,
            end: if padded { message.len() - padding } else { message.len() },
            origin: HEADER_SIZE,
            encoding: encapsulation.encoding,
            swap: encapsulation.order != ByteOrder::NATIVE,
            depth: 0,
        };
        Ok((reader, encapsulation))
    }

    /// The version.
    #[inline]
    pub fn encoding(&self) -> Encoding {
        self.encoding
    }

    /// Whether the message's byte order differs from this machine's.
    #[inline]
    pub fn is_swapped(&self) -> bool {
        self.swap
    }

    /// The position in the message, its header included.
    #[inline]
    pub fn position(&self) -> usize {
        self.at
    }

    /// Returns the number of bytes to the end of the message, or of the part that was entered.
    #[inline]
    pub fn remaining(&self) -> usize {
        self.end - self.at
    }

    /// An error at the current position.
    pub fn error(&self, problem: impl Into<DecodeProblem>) -> DecodeError {
        DecodeError::at(self.at, problem)
    }

    /// Counts one level of nesting.
    #[inline]
    pub fn descend(&mut self) -> Result<(), DecodeError> {
        if self.depth >= MAX_DEPTH {
            return Err(self.error(DecodeProblem::TooDeep));
        }
        self.depth += 1;
        Ok(())
    }

    /// Releases one level of nesting.
    #[inline]
    pub fn ascend(&mut self) {
        self.depth = self.depth.saturating_sub(1);
    }

    /// Takes the next bytes.
    #[inline]
    pub fn bytes(&mut self, count: usize) -> Result<SharedBytes<'a>, DecodeError> {
        match self.message.get(self.at, count) {
            Some(bytes) if count <= self.remaining() => {
                self.at += count;
                Ok(bytes)
            }
            _ => Err(self.error(DecodeProblem::Truncated { needed: count, left: self.remaining() })),
        }
    }

    /// Returns the number of padding bytes in front of a number of this size.
    #[inline]
    fn padding(&self, size: usize) -> usize {
        let align = size.min(self.encoding.max_align()).max(1);
        (self.at - self.origin).next_multiple_of(align) - (self.at - self.origin)
    }

    /// Returns whether a number of this size needs no padding here.
    #[inline]
    pub fn is_aligned(&self, size: usize) -> bool {
        self.padding(size) == 0
    }

    /// Skips the padding in front of a number of this size.
    #[inline]
    pub fn align(&mut self, size: usize) -> Result<(), DecodeError> {
        self.bytes(self.padding(size)).map(|_| ())
    }

    /// Reads a number or character.
    #[inline]
    pub fn number<T: Number>(&mut self) -> Result<T, DecodeError> {
        self.align(size_of::<T>())?;
        let mut bytes = [0; 8];
        const { assert!(size_of::<T>() <= 8, "numbers have at most 8 bytes") };
        let bytes = &mut bytes[..size_of::<T>()];
        self.bytes(size_of::<T>())?.copy_to(bytes);
        // The slice has the size of T, so the default is never used.
        let number = T::from_ne_slice(bytes).unwrap_or_else(situ_layout::default_value);
        Ok(if self.swap { number.swapped() } else { number })
    }

    /// Reads a boolean.
    #[inline]
    pub fn boolean(&mut self) -> Result<bool, DecodeError> {
        let at = self.at;
        match self.number::<u8>()? {
            0 => Ok(false),
            1 => Ok(true),
            value => Err(DecodeError::at(at, DecodeProblem::NotABool { value })),
        }
    }

    /// Reads the length of a sequence, string or map. Its elements take at least `element` bytes each (at
    /// least 1).
    #[inline]
    pub fn length(&mut self, element: usize) -> Result<usize, DecodeError> {
        self.align(4)?;
        let at = self.at;
        let length = self.number::<u32>()? as usize;
        if length.saturating_mul(element.max(1)) > self.remaining() {
            let problem = DecodeProblem::LengthTooLong { length, left: self.remaining() };
            return Err(DecodeError::at(at, problem));
        }
        Ok(length)
    }

    /// Reads a string into `buffer`, and checks it there.
    #[inline]
    pub fn text<'b>(&mut self, buffer: &'b mut TextBuffer) -> Result<&'b str, DecodeError> {
        let length = self.length(1)?;
        let at = self.at;
        let bytes = buffer.copy(self.bytes(length)?).map_err(|problem| DecodeError::at(at, problem))?;
        let bytes = bytes.strip_suffix(&[0]).unwrap_or(bytes);
        std::str::from_utf8(bytes)
            .map_err(|error| DecodeError::at(at, DecodeProblem::NotUtf8 { valid_up_to: error.valid_up_to() }))
    }

    /// Reads a string of 16-bit units.
    pub fn wide_text(&mut self) -> Result<WideUnits<'a>, DecodeError> {
        let at = self.at;
        let (bytes, size) = match self.encoding {
            Encoding::Xcdr1 => (self.length(4)? * 4, 4),
            Encoding::Xcdr2 => (self.length(1)?, 2),
        };
        if !bytes.is_multiple_of(size) {
            return Err(DecodeError::at(at, DecodeProblem::OddWideText { bytes }));
        }
        let units = WideUnits { bytes: self.bytes(bytes)?, at: 0, size, swap: self.swap };
        let mut checked = units.clone();
        while let Some(unit) = checked.next_number() {
            if unit > 0xffff {
                return Err(DecodeError::at(at, DecodeProblem::WideUnitTooLarge { unit }));
            }
        }
        Ok(units)
    }

    /// Enters a part of `length` bytes. Until it is left, nothing behind it can be read.
    #[inline]
    pub fn enter(&mut self, length: usize) -> Result<Scope, DecodeError> {
        if length > self.remaining() {
            let problem = DecodeProblem::Truncated { needed: length, left: self.remaining() };
            return Err(self.error(problem));
        }
        let scope = Scope { end: self.at + length, outer_end: self.end, outer_origin: self.origin };
        self.end = scope.end;
        Ok(scope)
    }

    /// Continues behind the part, regardless of how much of it was read.
    #[inline]
    pub fn leave(&mut self, scope: Scope) {
        self.at = scope.end;
        self.end = scope.outer_end;
        self.origin = scope.outer_origin;
    }

    /// Reads a delimiter (version 2) and enters the part that it delimits.
    #[inline]
    pub fn delimited(&mut self) -> Result<Scope, DecodeError> {
        let length = self.number::<u32>()? as usize;
        self.enter(length)
    }

    /// Reads the header of the next member of a mutable type, or of an optional member in version 1. Returns
    /// `None` behind the last member.
    pub fn parameter(&mut self) -> Result<Option<Parameter>, DecodeError> {
        match self.encoding {
            Encoding::Xcdr1 => self.parameter1(),
            Encoding::Xcdr2 => self.parameter2(),
        }
    }

    fn parameter1(&mut self) -> Result<Option<Parameter>, DecodeError> {
        loop {
            self.align(4)?;
            let at = self.at;
            let header = self.number::<u16>()?;
            let length = self.number::<u16>()?;
            let must_understand = header & SHORT_MUST_UNDERSTAND != 0;
            match header & SHORT_ID {
                PID_LIST_END => return Ok(None),
                PID_IGNORE => {
                    self.bytes(usize::from(length))?;
                }
                PID_EXTENDED if length != 8 => {
                    return Err(DecodeError::at(at, DecodeProblem::BadParameterHeader { length }));
                }
                PID_EXTENDED => {
                    let header = self.number::<u32>()?;
                    let length = self.number::<u32>()? as usize;
                    return Ok(Some(Parameter {
                        id: header & (LONG_ID | LONG_VENDOR),
                        must_understand: header & LONG_MUST_UNDERSTAND != 0,
                        length,
                    }));
                }
                id => {
                    let vendor = if header & SHORT_VENDOR == 0 { 0 } else { LONG_VENDOR };
                    let id = u32::from(id) | vendor;
                    return Ok(Some(Parameter { id, must_understand, length: usize::from(length) }));
                }
            }
        }
    }

    fn parameter2(&mut self) -> Result<Option<Parameter>, DecodeError> {
        // Some writers count the padding behind the last member.
        if self.remaining() <= self.padding(4) {
            return Ok(None);
        }
        let header = self.number::<u32>()?;
        let length = match header >> 28 & 7 {
            code @ 0..4 => 1 << code,
            4 => self.number::<u32>()? as usize,
            code => {
                // The value begins with its own length, which is part of the value.
                let at = self.at;
                let next = self.number::<u32>()? as usize;
                self.at = at;
                let unit: usize = [1, 4, 8][code as usize - 5];
                next.saturating_mul(unit).saturating_add(4)
            }
        };
        Ok(Some(Parameter {
            id: header & LONG_ID,
            must_understand: header & MEMBER_MUST_UNDERSTAND != 0,
            length,
        }))
    }

    /// Enters the value of a parameter.
    pub fn enter_parameter(&mut self, parameter: &Parameter) -> Result<Scope, DecodeError> {
        let scope = self.enter(parameter.length)?;
        if self.encoding == Encoding::Xcdr1 {
            self.origin = self.at;
        }
        Ok(scope)
    }

    /// Skips the value of an unknown parameter. Returns an error if the reader must not ignore the parameter.
    pub fn skip_parameter(&mut self, parameter: &Parameter) -> Result<(), DecodeError> {
        if parameter.must_understand {
            return Err(self.error(DecodeProblem::NotUnderstood { id: parameter.id }));
        }
        self.bytes(parameter.length).map(|_| ())
    }
}
