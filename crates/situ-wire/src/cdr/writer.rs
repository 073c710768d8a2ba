//! Writes the parts of a CDR message: numbers, strings, delimited parts and parameters.

use situ_layout::visit::{Element, Number, Shape};

use super::encoding::{Encapsulation, Encoding, HEADER_SIZE, MAX_DEPTH};
use super::error::EncodeProblem;
use super::reader::{
    LONG_ID, LONG_MUST_UNDERSTAND, MEMBER_MUST_UNDERSTAND, PID_EXTENDED, PID_LIST_END, SHORT_MUST_UNDERSTAND,
};

#[cfg(target_endian = "big")]
compile_error!("Situ's memory layouts and its encoder are little endian");

/// The largest member id that fits into a short parameter header.
const MAX_SHORT_ID: u32 = 0x3f00;

/// The destination of a message's bytes.
pub trait Sink {
    /// The number of bytes so far.
    fn len(&self) -> usize;

    /// Whether there are no bytes yet.
    fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Appends bytes.
    fn put(&mut self, bytes: &[u8]) -> Result<(), EncodeProblem>;

    /// Replaces bytes that were put before.
    fn patch(&mut self, at: usize, bytes: &[u8]);

    /// Inserts `count` bytes at `at`, which are patched later.
    fn insert(&mut self, at: usize, count: usize) -> Result<(), EncodeProblem>;
}

/// Counts bytes without keeping them.
#[derive(Clone, Copy, Debug, Default)]
pub struct Counter {
    len: usize,
}

impl Sink for Counter {
    #[inline]
    fn len(&self) -> usize {
        self.len
    }

    #[inline]
    fn put(&mut self, bytes: &[u8]) -> Result<(), EncodeProblem> {
        self.len += bytes.len();
        Ok(())
    }

    fn patch(&mut self, _at: usize, _bytes: &[u8]) {}

    fn insert(&mut self, _at: usize, count: usize) -> Result<(), EncodeProblem> {
        self.len += count;
        Ok(())
    }
}

/// Fills a slice.
#[derive(Debug)]
pub struct SliceSink<'a> {
    slice: &'a mut [u8],
    len: usize,
}

impl<'a> SliceSink<'a> {
    /// Creates a sink that fills the slice from its beginning.
    pub fn new(slice: &'a mut [u8]) -> Self {
        Self { slice, len: 0 }
    }

    /// The next `count` bytes of the slice.
    #[inline]
    fn room(&mut self, count: usize) -> Result<&mut [u8], EncodeProblem> {
        let needed = self.len.saturating_add(count);
        let available = self.slice.len();
        self.slice.get_mut(self.len..needed).ok_or(EncodeProblem::BufferTooSmall { needed, available })
    }
}

impl Sink for SliceSink<'_> {
    #[inline]
    fn len(&self) -> usize {
        self.len
    }

    #[inline]
    fn put(&mut self, bytes: &[u8]) -> Result<(), EncodeProblem> {
        self.room(bytes.len())?.copy_from_slice(bytes);
        self.len += bytes.len();
        Ok(())
    }

    fn patch(&mut self, at: usize, bytes: &[u8]) {
        self.slice[at..at + bytes.len()].copy_from_slice(bytes);
    }

    fn insert(&mut self, at: usize, count: usize) -> Result<(), EncodeProblem> {
        self.room(count)?;
        self.slice.copy_within(at..self.len, at + count);
        self.len += count;
        Ok(())
    }
}

/// Grows a vector.
#[derive(Clone, Debug, Default)]
pub struct BytesSink {
    bytes: Vec<u8>,
}

impl BytesSink {
    /// Creates a sink with memory for `capacity` bytes.
    pub fn with_capacity(capacity: usize) -> Self {
        Self { bytes: Vec::with_capacity(capacity) }
    }

    /// The bytes.
    pub fn into_vec(self) -> Vec<u8> {
        self.bytes
    }
}

impl Sink for BytesSink {
    #[inline]
    fn len(&self) -> usize {
        self.bytes.len()
    }

    #[inline]
    fn put(&mut self, bytes: &[u8]) -> Result<(), EncodeProblem> {
        self.bytes.extend_from_slice(bytes);
        Ok(())
    }

    fn patch(&mut self, at: usize, bytes: &[u8]) {
        self.bytes[at..at + bytes.len()].copy_from_slice(bytes);
    }

    fn insert(&mut self, at: usize, count: usize) -> Result<(), EncodeProblem> {
        self.bytes.splice(at..at, std::iter::repeat_n(0, count));
        Ok(())
    }
}

/// A delimiter whose length is not yet known.
#[derive(Debug)]
#[must_use = "a delimiter that is begun must be ended"]
pub struct Delimiter {
    at: usize,
}

/// A parameter header whose length is not yet known.
#[derive(Debug)]
#[must_use = "a parameter that is begun must be ended"]
pub struct ParameterMark {
    header: usize,
    value: usize,
    outer_origin: usize,
    id: u32,
    must_understand: bool,
    form: HeaderForm,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum HeaderForm {
    /// Version 1, `{id, length}`.
    Short,
    /// Version 1, `{0x3f01, 8, id, length}`.
    Extended,
    /// Version 2, the length in the header.
    Coded,
    /// Version 2, the length behind the header.
    NextInt,
}

/// Writes a CDR message from its beginning to its end, in little-endian byte order.
#[derive(Debug)]
pub struct Writer<S> {
    sink: S,
    origin: usize,
    encoding: Encoding,
    depth: u32,
}

impl<S: Sink> Writer<S> {
    /// Writes the encapsulation header.
    pub fn new(mut sink: S, encapsulation: Encapsulation) -> Result<Self, EncodeProblem> {
        let [high, low] = encapsulation.id().to_be_bytes();
        sink.put(&[high, low, 0, 0])?;
        let origin = sink.len();
        debug_assert_eq!(origin, HEADER_SIZE);
        Ok(Self { sink, origin, encoding: encapsulation.encoding, depth: 0 })
    }

    /// The version.
    #[inline]
    pub fn encoding(&self) -> Encoding {
        self.encoding
    }

    /// Returns the sink, which holds the message.
    pub fn into_sink(self) -> S {
        self.sink
    }

    /// Counts one level of nesting.
    #[inline]
    pub fn descend(&mut self) -> Result<(), EncodeProblem> {
        if self.depth >= MAX_DEPTH {
            return Err(EncodeProblem::TooDeep);
        }
        self.depth += 1;
        Ok(())
    }

    /// Releases one level of nesting.
    #[inline]
    pub fn ascend(&mut self) {
        self.depth = self.depth.saturating_sub(1);
    }

    #[inline]
    fn padding(&self, size: usize) -> usize {
        let align = size.min(self.encoding.max_align()).max(1);
        let at = self.sink.len() - self.origin;
        at.next_multiple_of(align) - at
    }

    /// Whether a number of this size needs no padding here.
    #[inline]
    pub fn is_aligned(&self, size: usize) -> bool {
        self.padding(size) == 0
    }

    /// Writes the padding in front of a number of this size.
    #[inline]
    pub fn align(&mut self, size: usize) -> Result<(), EncodeProblem> {
        self.sink.put(&[0; 8][..self.padding(size)])
    }

    /// Writes bytes unchanged.
    #[inline]
    pub fn bytes(&mut self, bytes: &[u8]) -> Result<(), EncodeProblem> {
        self.sink.put(bytes)
    }

    /// Writes a number or character.
    #[inline]
    pub fn number<T: Number>(&mut self, number: T) -> Result<(), EncodeProblem> {
        self.align(size_of::<T>())?;
        number.with_ne_bytes(|bytes| self.sink.put(bytes))
    }

    /// Writes a boolean.
    #[inline]
    pub fn boolean(&mut self, value: bool) -> Result<(), EncodeProblem> {
        self.number(u8::from(value))
    }

    /// Writes the length of a sequence or map.
    #[inline]
    pub fn length(&mut self, length: usize) -> Result<(), EncodeProblem> {
        self.number(u32::try_from(length).map_err(|_| EncodeProblem::TooLong { length })?)
    }

    /// Writes a string.
    #[inline]
    pub fn text(&mut self, text: &str) -> Result<(), EncodeProblem> {
        self.length(text.len() + 1)?;
        self.bytes(text.as_bytes())?;
        self.bytes(&[0])
    }

    /// Writes a string of 16-bit units. In version 1 each takes 32 bits.
    pub fn wide_text(&mut self, units: &[u16]) -> Result<(), EncodeProblem> {
        match self.encoding {
            Encoding::Xcdr1 => {
                self.length(units.len())?;
                units.iter().try_for_each(|unit| self.number(u32::from(*unit)))
            }
            Encoding::Xcdr2 => {
                self.length(size_of_val(units))?;
                units.iter().try_for_each(|unit| self.number(*unit))
            }
        }
    }

    /// Writes a delimiter (version 2). [`end_delimited`](Self::end_delimited) sets its length.
    pub fn begin_delimited(&mut self) -> Result<Delimiter, EncodeProblem> {
        self.number(0u32)?;
        Ok(Delimiter { at: self.sink.len() })
    }

    /// Ends a delimited part.
    pub fn end_delimited(&mut self, delimiter: Delimiter) -> Result<(), EncodeProblem> {
        let length = self.sink.len() - delimiter.at;
        let length = u32::try_from(length).map_err(|_| EncodeProblem::TooLong { length })?;
        self.sink.patch(delimiter.at - 4, &length.to_le_bytes());
        Ok(())
    }

    /// Writes the header of a member of a mutable type, or of an optional member in version 1. `shape` is the
    /// shape of the value. [`end_parameter`](Self::end_parameter) sets the length.
    pub fn begin_parameter(
        &mut self,
        id: u32,
        must_understand: bool,
        shape: Shape,
    ) -> Result<ParameterMark, EncodeProblem> {
        if id > LONG_ID {
            return Err(EncodeProblem::MemberIdTooLarge { id });
        }
        let form = match self.encoding {
            Encoding::Xcdr1 if id <= MAX_SHORT_ID => HeaderForm::Short,
            Encoding::Xcdr1 => HeaderForm::Extended,
            Encoding::Xcdr2 if !shape.is_array && shape.element != Element::Other => HeaderForm::Coded,
            Encoding::Xcdr2 => HeaderForm::NextInt,
        };
        self.align(4)?;
        let header = self.sink.len();
        self.sink.put(&[0; 12][..form.size()])?;
        let value = self.sink.len();
        let outer_origin = self.origin;
        if self.encoding == Encoding::Xcdr1 {
            self.origin = value;
        }
        Ok(ParameterMark { header, value, outer_origin, id, must_understand, form })
    }

    /// Ends a parameter.
    pub fn end_parameter(&mut self, mark: ParameterMark) -> Result<(), EncodeProblem> {
        self.origin = mark.outer_origin;
        let size = self.sink.len() - mark.value;
        let length = u32::try_from(size).map_err(|_| EncodeProblem::TooLong { length: size })?;
        let mut form = mark.form;
        if form == HeaderForm::Short && u16::try_from(size).is_err() {
            form = HeaderForm::Extended;
            self.sink.insert(mark.value, form.size() - HeaderForm::Short.size())?;
        }
        let mut header = [0; 12];
        match form {
            HeaderForm::Short => {
                let flag = if mark.must_understand { SHORT_MUST_UNDERSTAND } else { 0 };
                header[..2].copy_from_slice(&(mark.id as u16 | flag).to_le_bytes());
                header[2..4].copy_from_slice(&(size as u16).to_le_bytes());
            }
            HeaderForm::Extended => {
                let flag = if mark.must_understand { LONG_MUST_UNDERSTAND } else { 0 };
                header[..2].copy_from_slice(&(PID_EXTENDED | SHORT_MUST_UNDERSTAND).to_le_bytes());
                header[2..4].copy_from_slice(&8u16.to_le_bytes());
                header[4..8].copy_from_slice(&(mark.id | flag).to_le_bytes());
                header[8..12].copy_from_slice(&length.to_le_bytes());
            }
            HeaderForm::Coded | HeaderForm::NextInt => {
                let code = if form == HeaderForm::Coded { size.trailing_zeros() } else { 4 };
                let flag = if mark.must_understand { MEMBER_MUST_UNDERSTAND } else { 0 };
                header[..4].copy_from_slice(&(mark.id | flag | code << 28).to_le_bytes());
                header[4..8].copy_from_slice(&length.to_le_bytes());
            }
        }
        self.sink.patch(mark.header, &header[..form.size()]);
        Ok(())
    }

    /// Ends the list of members of a mutable type in version 1.
    pub fn list_end(&mut self) -> Result<(), EncodeProblem> {
        self.align(4)?;
        self.number(PID_LIST_END | SHORT_MUST_UNDERSTAND)?;
        self.number(0u16)
    }
}

impl HeaderForm {
    const fn size(self) -> usize {
        match self {
            Self::Short | Self::Coded => 4,
            Self::NextInt => 8,
            Self::Extended => 12,
        }
    }
}
