//! The encoder: one visitor for all types.

use situ_layout::OpaqueBuffer;
use situ_layout::visit::{
    Element, Extensibility, MemberInfo, MemberVisitor, Number, Structure, TypeInfo, Union, Visitor,
};
use situ_layout::{BulkElement, BulkRef, MapField, MapKey, Value, dense_bytes};

use super::encoding::{ByteOrder, Encapsulation, Encoding};
use super::error::{EncodeError, EncodeProblem};
use super::writer::{BytesSink, Counter, Delimiter, Sink, SliceSink, Writer};

/// Returns the size of an encoded message, its header included.
pub fn encoded_size<T: Structure>(message: &T, encoding: Encoding) -> Result<usize, EncodeError> {
    encoded_size_with_body(message, &[], encoding)
}

/// Returns the encoded size of a flat message with its bulk members in `body`.
pub fn encoded_size_with_body<T: Structure>(
    message: &T,
    body: &[u8],
    encoding: Encoding,
) -> Result<usize, EncodeError> {
    encode(message, body, encoding, Counter::default()).map(|counter| counter.len())
}

/// Encodes a message into a buffer, and returns its size.
pub fn encode_into<T: Structure>(
    message: &T,
    buffer: &mut [u8],
    encoding: Encoding,
) -> Result<usize, EncodeError> {
    encode_into_with_body(message, &[], buffer, encoding)
}

/// Encodes a flat message with its bulk members in `body` into a buffer, and returns its size.
pub fn encode_into_with_body<T: Structure>(
    message: &T,
    body: &[u8],
    buffer: &mut [u8],
    encoding: Encoding,
) -> Result<usize, EncodeError> {
    let available = buffer.len();
    match encode(message, body, encoding, SliceSink::new(buffer)) {
        Ok(sink) => Ok(sink.len()),
        Err(EncodeError { problem: EncodeProblem::BufferTooSmall { .. }, .. }) => {
            let needed = encoded_size_with_body(message, body, encoding)?;
            Err(EncodeProblem::BufferTooSmall { needed, available }.into())
        }
        Err(error) => Err(error),
    }
}

/// Encodes a message.
pub fn encode_to_vec<T: Structure>(message: &T, encoding: Encoding) -> Result<Vec<u8>, EncodeError> {
    encode_to_vec_with_body(message, &[], encoding)
}

/// Encodes a flat message with its bulk members in `body`.
pub fn encode_to_vec_with_body<T: Structure>(
    message: &T,
    body: &[u8],
    encoding: Encoding,
) -> Result<Vec<u8>, EncodeError> {
    let size = encoded_size_with_body(message, body, encoding)?;
    encode(message, body, encoding, BytesSink::with_capacity(size)).map(BytesSink::into_vec)
}

fn encode<T: Structure, S: Sink>(
    message: &T,
    body: &[u8],
    encoding: Encoding,
    sink: S,
) -> Result<S, EncodeError> {
    let extensibility = T::INFO.extensibility;
    let writer = Writer::new(sink, Encapsulation { encoding, order: ByteOrder::Little, extensibility })?;
    let mut encoder = Encoder { writer, body, optional: None, in_array: false };
    encoder.structure(message)?;
    Ok(encoder.writer.into_sink())
}

/// Writes every value that it visits.
struct Encoder<'b, S> {
    writer: Writer<S>,
    body: &'b [u8],
    /// The optional member to which the next value belongs, and whether its structure is mutable.
    optional: Option<(&'static MemberInfo, bool)>,
    /// Whether the next array is the element of an array.
    in_array: bool,
}

/// Passes the members of a structure to the encoder.
struct Members<'e, 'b, 'v, S, T> {
    encoder: &'e mut Encoder<'b, S>,
    value: &'v T,
    mutable: bool,
}

impl<S: Sink, T> MemberVisitor<T> for Members<'_, '_, '_, S, T> {
    type Error = EncodeError;

    fn member<M: Value>(
        &mut self,
        info: &'static MemberInfo,
        get: impl Fn(&T) -> &M,
        _get_mut: impl Fn(&mut T) -> &mut M,
    ) -> Result<(), EncodeError> {
        self.encoder.member(info, self.mutable, get(self.value)).map_err(|error| error.in_member(info.name))
    }
}

impl<S: Sink> Encoder<'_, S> {
    fn is_version2(&self) -> bool {
        self.writer.encoding() == Encoding::Xcdr2
    }

    fn member<M: Value>(
        &mut self,
        info: &'static MemberInfo,
        mutable: bool,
        value: &M,
    ) -> Result<(), EncodeError> {
        if info.optional {
            self.optional = Some((info, mutable));
            value.visit(self)
        } else if mutable {
            self.parameter(info, value)
        } else {
            value.visit(self)
        }
    }

    fn parameter<M: Value>(&mut self, info: &MemberInfo, value: &M) -> Result<(), EncodeError> {
        let mark = self.writer.begin_parameter(info.id, info.must_understand, M::SHAPE)?;
        value.visit(self)?;
        Ok(self.writer.end_parameter(mark)?)
    }

    fn begin_delimited_if(&mut self, condition: bool) -> Result<Option<Delimiter>, EncodeError> {
        let delimit = condition && self.is_version2();
        Ok(if delimit { Some(self.writer.begin_delimited()?) } else { None })
    }

    fn end_delimited(&mut self, delimiter: Option<Delimiter>) -> Result<(), EncodeError> {
        Ok(delimiter.map_or(Ok(()), |delimiter| self.writer.end_delimited(delimiter))?)
    }

    /// Encodes the elements of a sequence or array.
    fn elements<T: Value>(&mut self, elements: &[T]) -> Result<(), EncodeError> {
        if elements.is_empty() {
            return Ok(());
        }
        if let Some(bytes) = dense_bytes(elements) {
            if T::SHAPE.element != Element::Other {
                self.writer.align(T::SHAPE.size)?;
                return Ok(self.writer.bytes(bytes)?);
            }
            // Dense structures that begin at their alignment have the same bytes in memory and on the wire.
            if self.writer.is_aligned(align_of::<T>()) {
                return Ok(self.writer.bytes(bytes)?);
            }
        }
        for (index, element) in elements.iter().enumerate() {
            self.in_array = false;
            element.visit(self).map_err(|error| error.in_element(index))?;
        }
        Ok(())
    }

    fn members<T: Structure>(&mut self, value: &T, mutable: bool) -> Result<(), EncodeError> {
        T::visit_members(&mut Members { encoder: self, value, mutable })
    }

    fn union_parameters<T: Union>(&mut self, value: &T) -> Result<(), EncodeError> {
        let discriminator = value.discriminator();
        let shape = <T::Discriminator as Value>::SHAPE;
        let mark = self.writer.begin_parameter(0, true, shape)?;
        discriminator.visit(self)?;
        self.writer.end_parameter(mark)?;
        if let Some((case, shape)) = T::case_of(discriminator) {
            let mark = self.writer.begin_parameter(case.id, false, shape)?;
            value.visit_case(self)?;
            self.writer.end_parameter(mark)?;
        }
        Ok(())
    }

    /// Writes a structure or union: its nesting level and delimiter here, and its parts with `write`. The
    /// argument of `write` is whether the parts are parameters.
    fn composite(
        &mut self,
        info: &TypeInfo,
        write: impl FnOnce(&mut Self, bool) -> Result<(), EncodeError>,
    ) -> Result<(), EncodeError> {
        self.writer.descend()?;
        let mutable = info.extensibility == Extensibility::Mutable;
        let delimiter = self.begin_delimited_if(info.extensibility != Extensibility::Final)?;
        write(self, mutable)?;
        if mutable && !self.is_version2() {
            self.writer.list_end()?;
        }
        self.end_delimited(delimiter)?;
        self.writer.ascend();
        Ok(())
    }
}

impl<S: Sink> Visitor for Encoder<'_, S> {
    type Error = EncodeError;

    fn boolean(&mut self, value: bool) -> Result<(), EncodeError> {
        Ok(self.writer.boolean(value)?)
    }

    fn number<T: Number>(&mut self, value: T) -> Result<(), EncodeError> {
        Ok(self.writer.number(value)?)
    }

    fn text(&mut self, text: &str) -> Result<(), EncodeError> {
        Ok(self.writer.text(text)?)
    }

    fn wide_text(&mut self, units: &[u16]) -> Result<(), EncodeError> {
        Ok(self.writer.wide_text(units)?)
    }

    fn sequence<T: Value>(&mut self, elements: &[T]) -> Result<(), EncodeError> {
        self.writer.descend()?;
        let delimiter = self.begin_delimited_if(!T::SHAPE.is_primitive())?;
        self.writer.length(elements.len())?;
        self.elements(elements)?;
        self.end_delimited(delimiter)?;
        self.writer.ascend();
        Ok(())
    }

    fn opaque_buffer(&mut self, buffer: OpaqueBuffer) -> Result<(), EncodeError> {
        Err(EncodeProblem::OpaqueBuffer(buffer).into())
    }

    fn array<T: Value>(&mut self, elements: &[T]) -> Result<(), EncodeError> {
        self.writer.descend()?;
        let inner = std::mem::take(&mut self.in_array);
        let delimiter = self.begin_delimited_if(!inner && !T::SHAPE.is_made_of_primitives())?;
        if T::SHAPE.is_array && T::SHAPE.element == Element::Other {
            for (index, element) in elements.iter().enumerate() {
                self.in_array = true;
                element.visit(self).map_err(|error| error.in_element(index))?;
            }
        } else {
            self.elements(elements)?;
        }
        self.end_delimited(delimiter)?;
        self.writer.ascend();
        Ok(())
    }

    fn map<K: MapKey, V: Value, M: MapField<K, V>>(&mut self, table: &M) -> Result<(), EncodeError> {
        self.writer.descend()?;
        let primitive = K::SHAPE.is_primitive() && V::SHAPE.is_primitive();
        let delimiter = self.begin_delimited_if(!primitive)?;
        self.writer.length(table.entry_count())?;
        for (index, (key, value)) in table.entries().enumerate() {
            key.visit(self).and_then(|()| value.visit(self)).map_err(|error| error.in_element(index))?;
        }
        self.end_delimited(delimiter)?;
        self.writer.ascend();
        Ok(())
    }

    fn optional<T: Value>(&mut self, value: Option<&T>) -> Result<(), EncodeError> {
        const UNNAMED: &MemberInfo = &MemberInfo::new("", 0);
        let (info, mutable) = self.optional.take().unwrap_or((UNNAMED, false));
        match value {
            Some(value) if mutable => self.parameter(info, value),
            None if mutable => Ok(()),
            _ if self.is_version2() => {
                self.writer.boolean(value.is_some())?;
                value.map_or(Ok(()), |value| value.visit(self))
            }
            Some(value) => self.parameter(info, value),
            None => {
                let mark = self.writer.begin_parameter(info.id, info.must_understand, T::SHAPE)?;
                Ok(self.writer.end_parameter(mark)?)
            }
        }
    }

    fn structure<T: Structure>(&mut self, value: &T) -> Result<(), EncodeError> {
        self.composite(T::INFO, |encoder, mutable| encoder.members(value, mutable))
    }

    fn union<T: Union>(&mut self, value: &T) -> Result<(), EncodeError> {
        self.composite(T::INFO, |encoder, mutable| {
            if mutable {
                return encoder.union_parameters(value);
            }
            value.discriminator().visit(encoder)?;
            value.visit_case(encoder)
        })
    }

    fn bulk<T: BulkElement, const N: usize>(&mut self, reference: &BulkRef<T, N>) -> Result<(), EncodeError> {
        let elements = reference.slice(self.body).map_err(EncodeProblem::Bulk)?;
        self.sequence(elements)
    }
}
