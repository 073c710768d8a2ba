//! The writer and its handles: messages, text or bytes in pieces, packed fields.

use std::fmt;
use std::marker::PhantomData;
use std::ptr::NonNull;

use super::core::Core;
use super::delegate::Delegate;
use super::error::WriteError;
use super::wire::{MAX_VARINT, WireType, zigzag32, zigzag64};

/// The longest varint of 32 bits, in bytes.
const MAX_VARINT32: usize = 5;

/// Writes one protobuf message, front to back, into the memory of its [`Delegate`].
///
/// It does not allocate, copies each byte once, and makes no system call, unless the delegate does.
pub struct Writer<'d> {
    core: Core,
    delegate: PhantomData<&'d mut dyn Delegate>,
}

impl<'d> Writer<'d> {
    /// Begins a message in the delegate's first chunk.
    #[inline(always)]
    pub fn new<D: Delegate + 'd>(delegate: &'d mut D) -> Self {
        let first = delegate.first();
        let delegate: NonNull<dyn Delegate + 'd> = NonNull::from(delegate);
        // SAFETY: only the lifetime changes. The writer does not pass the pointer on, and does not outlive
        // 'd.
        let delegate =
            unsafe { std::mem::transmute::<NonNull<dyn Delegate + 'd>, NonNull<dyn Delegate>>(delegate) };
        // SAFETY: the delegate is borrowed exclusively for 'd.
        Self { core: unsafe { Core::new(delegate, first) }, delegate: PhantomData }
    }

    /// Returns the message itself, for writing fields. A second call continues the same message.
    #[inline(always)]
    pub fn message(&mut self) -> Message<'_> {
        self.core.close_above(0);
        Message { depth: 0, core: &mut self.core }
    }

    /// Returns the length so far, in bytes. The lengths of open messages are estimated.
    pub fn position(&self) -> u64 {
        self.core.position()
    }

    /// Returns the first error so far.
    pub fn error(&self) -> Option<WriteError> {
        self.core.error()
    }

    /// Passes the last chunk to the delegate, and returns the length of the whole message in bytes. Later
    /// fields are discarded, until [`restart`](Self::restart).
    // By reference: the writer is large, and moving it would take longer than writing a small message.
    #[inline]
    pub fn finish(&mut self) -> Result<u64, WriteError> {
        self.core.finish()
    }

    /// Begins another message, in the delegate's first chunk. An unfinished message is lost.
    pub fn restart(&mut self) {
        self.core.restart();
    }
}

impl fmt::Debug for Writer<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Writer").field("position", &self.position()).field("error", &self.error()).finish()
    }
}

/// An open message. It borrows its parent, so that the parent can be written only after this message has
/// ended. Dropping the handle ends it. (A leaked handle ends with its parent.)
///
/// Fields are appended in the order of the calls. [`Writer::finish`] reports errors.
pub struct Message<'w> {
    core: &'w mut Core,
    /// The level that it opened, counted from 1; 0 for the outermost message.
    depth: u32,
}

impl Drop for Message<'_> {
    #[inline(always)]
    fn drop(&mut self) {
        if self.depth > 0 {
            self.core.close_level(self.depth);
        }
    }
}

impl fmt::Debug for Message<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Message").field("depth", &self.depth).finish()
    }
}

impl<'w> Message<'w> {
    /// Writes a field of type `int32`; negative numbers have ten bytes.
    #[inline]
    pub fn int32(&mut self, field: u32, value: i32) {
        self.core.varint_field(field, i64::from(value) as u64, MAX_VARINT);
    }

    /// Writes a field of type `int64`.
    #[inline]
    pub fn int64(&mut self, field: u32, value: i64) {
        self.core.varint_field(field, value as u64, MAX_VARINT);
    }

    /// Writes a field of type `uint32`.
    #[inline]
    pub fn uint32(&mut self, field: u32, value: u32) {
        self.core.varint_field(field, u64::from(value), MAX_VARINT32);
    }

    /// Writes a field of type `uint64`.
    #[inline]
    pub fn uint64(&mut self, field: u32, value: u64) {
        self.core.varint_field(field, value, MAX_VARINT);
    }

    /// Writes a field of type `sint32`: numbers of small magnitude are short.
    #[inline]
    pub fn sint32(&mut self, field: u32, value: i32) {
        self.core.varint_field(field, u64::from(zigzag32(value)), MAX_VARINT32);
    }

    /// Writes a field of type `sint64`: numbers of small magnitude are short.
    #[inline]
    pub fn sint64(&mut self, field: u32, value: i64) {
        self.core.varint_field(field, zigzag64(value), MAX_VARINT);
    }

    /// Writes a field of type `bool`.
    #[inline]
    pub fn bool(&mut self, field: u32, value: bool) {
        self.core.varint_field(field, u64::from(value), 1);
    }

    /// Writes a field of an enum type.
    #[inline]
    pub fn enumeration(&mut self, field: u32, value: impl Into<i32>) {
        self.int32(field, value.into());
    }

    /// Writes a field of type `fixed32`.
    #[inline]
    pub fn fixed32(&mut self, field: u32, value: u32) {
        self.core.fixed_field(field, WireType::Fixed32, value.to_le_bytes());
    }

    /// Writes a field of type `fixed64`.
    #[inline]
    pub fn fixed64(&mut self, field: u32, value: u64) {
        self.core.fixed_field(field, WireType::Fixed64, value.to_le_bytes());
    }

    /// Writes a field of type `sfixed32`.
    #[inline]
    pub fn sfixed32(&mut self, field: u32, value: i32) {
        self.core.fixed_field(field, WireType::Fixed32, value.to_le_bytes());
    }

    /// Writes a field of type `sfixed64`.
    #[inline]
    pub fn sfixed64(&mut self, field: u32, value: i64) {
        self.core.fixed_field(field, WireType::Fixed64, value.to_le_bytes());
    }

    /// Writes a field of type `float`.
    #[inline]
    pub fn float(&mut self, field: u32, value: f32) {
        self.core.fixed_field(field, WireType::Fixed32, value.to_le_bytes());
    }

    /// Writes a field of type `double`.
    #[inline]
    pub fn double(&mut self, field: u32, value: f64) {
        self.core.fixed_field(field, WireType::Fixed64, value.to_le_bytes());
    }

    /// Writes a field of type `string`.
    #[inline]
    pub fn string(&mut self, field: u32, value: &str) {
        self.core.bytes_field(field, value.as_bytes());
    }

    /// Writes a field of type `bytes`, or an encoded message.
    #[inline]
    pub fn bytes(&mut self, field: u32, value: &[u8]) {
        self.core.bytes_field(field, value);
    }

    /// Begins a field of type `string`, appended in pieces.
    #[inline]
    pub fn text_in_pieces(&mut self, field: u32) -> TextInPieces<'_> {
        TextInPieces { message: self.message(field) }
    }

    /// Begins a field of type `bytes`, appended in pieces.
    #[inline]
    pub fn bytes_in_pieces(&mut self, field: u32) -> BytesInPieces<'_> {
        BytesInPieces { message: self.message(field) }
    }

    /// Begins a field of a message type.
    #[inline]
    pub fn message(&mut self, field: u32) -> Message<'_> {
        self.core.open(field);
        Message { depth: self.core.depth(), core: self.core }
    }

    /// Begins a group: a message with a tag at its end instead of a length in front.
    #[inline]
    pub fn group(&mut self, field: u32) -> Message<'_> {
        self.core.open_group(field);
        Message { depth: self.core.depth(), core: self.core }
    }

    /// Begins an entry of a map: write the key as field 1 and the value as field 2.
    #[inline]
    pub fn entry(&mut self, field: u32) -> Message<'_> {
        self.message(field)
    }

    /// Begins a packed field, to which numbers are appended.
    #[inline]
    pub fn packed(&mut self, field: u32) -> Packed<'_> {
        Packed { message: self.message(field) }
    }

    /// Writes a packed field of `int32` or an enum; nothing for an empty slice.
    pub fn packed_int32(&mut self, field: u32, values: &[i32]) {
        self.packed_varints(field, values.iter().map(|value| i64::from(*value) as u64));
    }

    /// Writes a packed field of `int64`; nothing for an empty slice.
    pub fn packed_int64(&mut self, field: u32, values: &[i64]) {
        self.packed_varints(field, values.iter().map(|value| *value as u64));
    }

    /// Writes a packed field of `uint32`; nothing for an empty slice.
    pub fn packed_uint32(&mut self, field: u32, values: &[u32]) {
        self.packed_varints(field, values.iter().map(|value| u64::from(*value)));
    }

    /// Writes a packed field of `uint64`; nothing for an empty slice.
    pub fn packed_uint64(&mut self, field: u32, values: &[u64]) {
        self.packed_varints(field, values.iter().copied());
    }

    /// Writes a packed field of `sint32`; nothing for an empty slice.
    pub fn packed_sint32(&mut self, field: u32, values: &[i32]) {
        self.packed_varints(field, values.iter().map(|value| u64::from(zigzag32(*value))));
    }

    /// Writes a packed field of `sint64`; nothing for an empty slice.
    pub fn packed_sint64(&mut self, field: u32, values: &[i64]) {
        self.packed_varints(field, values.iter().map(|value| zigzag64(*value)));
    }

    /// Writes a packed field of `bool`; nothing for an empty slice.
    pub fn packed_bool(&mut self, field: u32, values: &[bool]) {
        // A bool is one byte, 0 or 1, in memory and on the wire.
        self.packed_fixed(field, values);
    }

    /// Writes a packed field of `fixed32`, `fixed64`, `sfixed32`, `sfixed64`, `float` or `double` with one
    /// copy; nothing for an empty slice.
    pub fn packed_fixed<T: PackedElement>(&mut self, field: u32, values: &[T]) {
        if !values.is_empty() {
            self.bytes(field, plain_bytes(values));
        }
    }

    /// Writes encoded fields unchanged.
    pub fn raw(&mut self, fields: &[u8]) {
        self.core.put(fields);
    }

    fn packed_varints(&mut self, field: u32, values: impl ExactSizeIterator<Item = u64>) {
        if values.len() > 0 {
            let packed = self.packed(field);
            values.for_each(|value| packed.message.core.put_varint(value));
        }
    }

    /// Borrows the message for a shorter time, so that it can be passed by value.
    #[inline]
    pub fn reborrow(&mut self) -> Message<'_> {
        // With depth 0, dropping the handle ends nothing.
        Message { depth: 0, core: self.core }
    }

    /// Appends bytes to a field that is already begun.
    #[inline]
    fn append(&mut self, bytes: &[u8]) {
        self.core.put(bytes);
    }
}

/// Numbers with the same bytes in memory and on the wire.
///
/// # Safety
/// Every byte of a value must be initialized, and little endian.
pub unsafe trait PackedElement: Copy {}

// SAFETY: numbers have no padding, and the crate does not build for big-endian machines.
unsafe impl PackedElement for u32 {}
// SAFETY: as above.
unsafe impl PackedElement for i32 {}
// SAFETY: as above.
unsafe impl PackedElement for f32 {}
// SAFETY: as above.
unsafe impl PackedElement for u64 {}
// SAFETY: as above.
unsafe impl PackedElement for i64 {}
// SAFETY: as above.
unsafe impl PackedElement for f64 {}
// SAFETY: a bool is one byte of 0 or 1.
unsafe impl PackedElement for bool {}

fn plain_bytes<T: PackedElement>(values: &[T]) -> &[u8] {
    // SAFETY: every byte of every value is initialized.
    unsafe { std::slice::from_raw_parts(values.as_ptr().cast(), size_of_val(values)) }
}

/// A field of type `string` that is written in pieces; also a target of `write!`.
#[derive(Debug)]
pub struct TextInPieces<'w> {
    message: Message<'w>,
}

impl TextInPieces<'_> {
    /// Appends a piece.
    #[inline]
    pub fn push(&mut self, piece: &str) {
        self.message.append(piece.as_bytes());
    }
}

impl fmt::Write for TextInPieces<'_> {
    fn write_str(&mut self, piece: &str) -> fmt::Result {
        self.push(piece);
        Ok(())
    }
}

/// A field of type `bytes` that is written in pieces.
#[derive(Debug)]
pub struct BytesInPieces<'w> {
    message: Message<'w>,
}

impl BytesInPieces<'_> {
    /// Appends a piece.
    #[inline]
    pub fn push(&mut self, piece: &[u8]) {
        self.message.append(piece);
    }
}

impl std::io::Write for BytesInPieces<'_> {
    fn write(&mut self, piece: &[u8]) -> std::io::Result<usize> {
        self.push(piece);
        Ok(piece.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

/// A packed field that is written number by number. All numbers must be of the field's type.
#[derive(Debug)]
pub struct Packed<'w> {
    message: Message<'w>,
}

impl Packed<'_> {
    /// Appends an `int32` or an enum's value.
    #[inline]
    pub fn int32(&mut self, value: i32) {
        self.message.core.put_varint(i64::from(value) as u64);
    }

    /// Appends an `int64`.
    #[inline]
    pub fn int64(&mut self, value: i64) {
        self.message.core.put_varint(value as u64);
    }

    /// Appends a `uint32`.
    #[inline]
    pub fn uint32(&mut self, value: u32) {
        self.message.core.put_varint(u64::from(value));
    }

    /// Appends a `uint64`.
    #[inline]
    pub fn uint64(&mut self, value: u64) {
        self.message.core.put_varint(value);
    }

    /// Appends a `sint32`.
    #[inline]
    pub fn sint32(&mut self, value: i32) {
        self.message.core.put_varint(u64::from(zigzag32(value)));
    }

    /// Appends a `sint64`.
    #[inline]
    pub fn sint64(&mut self, value: i64) {
        self.message.core.put_varint(zigzag64(value));
    }

    /// Appends a `bool`.
    #[inline]
    pub fn bool(&mut self, value: bool) {
        self.message.core.put_varint(u64::from(value));
    }

    /// Appends a `fixed32`, `fixed64`, `sfixed32`, `sfixed64`, `float` or `double`.
    #[inline]
    pub fn fixed<T: PackedElement>(&mut self, value: T) {
        self.message.append(plain_bytes(std::slice::from_ref(&value)));
    }
}
