//! The decoder: one visitor for all types.

use situ_layout::visit::{
    Element, Extensibility, MemberInfo, MemberVisitor, Number, Structure, TypeInfo, Union, VisitorMut,
};
use situ_layout::{
    BulkCursor, BulkElement, BulkRef, Headroom, MapField, MapKey, Message, OptionalField, SequenceField,
    SharedBytes, TextField, Value, WideTextField, boxed, default_value, dense_bytes_mut, reset,
};

use super::encoding::Encoding;
use super::error::{DecodeError, DecodeProblem};
use super::reader::{Reader, Scope, TextBuffer};

/// The maximum memory for one message, in addition to 64 times its own length.
pub const MAX_MEMORY: usize = 64 << 20;

/// Decodes a message over the previous content of `message`. Vectors keep their memory. After an error,
/// `message` holds a mixture of old and new values.
///
/// Bytes behind the message are ignored. If another process changes the bytes meanwhile, the result is an
/// error or some valid message.
pub fn decode<'a, T: Structure>(
    message: &mut T,
    bytes: impl Into<SharedBytes<'a>>,
) -> Result<(), DecodeError> {
    decode_with_body(message, &mut [], bytes)
}

/// Decodes a flat message whose bulk members go into its body. The body must begin at a multiple of 64 bytes
/// and be large enough; see [`bulk_lengths`].
pub fn decode_with_body<'a, T: Structure>(
    message: &mut T,
    body: &mut [u8],
    bytes: impl Into<SharedBytes<'a>>,
) -> Result<(), DecodeError> {
    run(message, Body::Write(body), bytes.into())
}

/// Returns the lengths of the bulk members of an encoded message, for constructing the flat message into
/// which it is then decoded.
pub fn bulk_lengths<'a, T: Message>(
    bytes: impl Into<SharedBytes<'a>>,
) -> Result<T::BulkLengths, DecodeError> {
    if size_of::<T::BulkLengths>() == 0 {
        return Ok(T::BulkLengths::default());
    }
    let mut head = boxed::<T>();
    run(&mut *head, Body::Measure, bytes.into())?;
    Ok(head.bulk_lengths())
}

fn run<T: Structure>(message: &mut T, body: Body<'_>, bytes: SharedBytes<'_>) -> Result<(), DecodeError> {
    let (reader, encapsulation) = Reader::new(bytes)?;
    let extensibility = T::INFO.extensibility;
    if !encapsulation.fits(extensibility) {
        let problem = DecodeProblem::OtherExtensibility { id: encapsulation.id(), extensibility };
        return Err(DecodeError::at(0, problem));
    }
    let memory = bytes.len().saturating_mul(64).saturating_add(MAX_MEMORY);
    let mut decoder = Decoder {
        reader,
        body,
        bulk: BulkCursor::default(),
        memory,
        memory_limit: memory,
        headroom: Headroom::default(),
        optional: None,
        in_array: false,
        text: TextBuffer::default(),
    };
    decoder.structure(message)
}

/// The destination of the elements of bulk members.
enum Body<'b> {
    Write(&'b mut [u8]),
    /// No destination: only the lengths are needed.
    Measure,
}

/// Sets every value that it visits.
struct Decoder<'a, 'b> {
    reader: Reader<'a>,
    body: Body<'b>,
    bulk: BulkCursor,
    /// The number of bytes of memory that elements may still take.
    memory: usize,
    memory_limit: usize,
    /// For the nodes of maps.
    headroom: Headroom,
    /// The optional member to which the next value belongs, and whether its structure is mutable.
    optional: Option<(&'static MemberInfo, bool)>,
    /// Whether the next array is the element of an array.
    in_array: bool,
    text: TextBuffer,
}

/// Passes the members of a structure to the decoder, in order.
struct Members<'d, 'a, 'b, 'v, T> {
    decoder: &'d mut Decoder<'a, 'b>,
    value: &'v mut T,
    /// Whether members at the end may be missing.
    may_end: bool,
}

impl<T> MemberVisitor<T> for Members<'_, '_, '_, '_, T> {
    type Error = DecodeError;

    fn member<M: Value>(
        &mut self,
        info: &'static MemberInfo,
        _get: impl Fn(&T) -> &M,
        get_mut: impl Fn(&mut T) -> &mut M,
    ) -> Result<(), DecodeError> {
        if self.may_end && self.decoder.reader.remaining() == 0 {
            return Ok(());
        }
        self.decoder.member(info, false, get_mut(self.value)).map_err(|error| error.in_member(info.name))
    }
}

/// Passes the member with this id to the decoder.
struct Find<'d, 'a, 'b, 'v, T> {
    decoder: &'d mut Decoder<'a, 'b>,
    value: &'v mut T,
    id: u32,
    found: bool,
}

impl<T> MemberVisitor<T> for Find<'_, '_, '_, '_, T> {
    type Error = DecodeError;

    fn member<M: Value>(
        &mut self,
        info: &'static MemberInfo,
        _get: impl Fn(&T) -> &M,
        get_mut: impl Fn(&mut T) -> &mut M,
    ) -> Result<(), DecodeError> {
        if info.id != self.id || self.found {
            return Ok(());
        }
        self.found = true;
        self.decoder.member(info, true, get_mut(self.value)).map_err(|error| error.in_member(info.name))
    }
}

/// Reverses the bytes of every number of this size.
fn swap_numbers(bytes: &mut [u8], size: usize) {
    if size > 1 {
        bytes.chunks_exact_mut(size).for_each(<[u8]>::reverse);
    }
}

impl<'a> Decoder<'a, '_> {
    fn is_version2(&self) -> bool {
        self.reader.encoding() == Encoding::Xcdr2
    }

    fn member<M: Value>(
        &mut self,
        info: &'static MemberInfo,
        mutable: bool,
        value: &mut M,
    ) -> Result<(), DecodeError> {
        self.optional = info.optional.then_some((info, mutable));
        value.visit_mut(self)
    }

    fn enter_delimited_if(&mut self, condition: bool) -> Result<Option<Scope>, DecodeError> {
        let delimited = condition && self.is_version2();
        Ok(if delimited { Some(self.reader.delimited()?) } else { None })
    }

    fn leave(&mut self, scope: Option<Scope>) {
        if let Some(scope) = scope {
            self.reader.leave(scope);
        }
    }

    /// Returns the bytes of `count` elements, if the message has them in their layout in memory. For numbers,
    /// the byte order may differ.
    fn dense<T: Value>(&mut self, count: usize) -> Result<Option<SharedBytes<'a>>, DecodeError> {
        let is_number = T::SHAPE.element != Element::Other;
        if count == 0 || !T::DENSE || (!is_number && self.reader.is_swapped()) {
            return Ok(None);
        }
        if is_number {
            self.reader.align(T::SHAPE.size)?;
        } else if !self.reader.is_aligned(align_of::<T>()) {
            return Ok(None);
        }
        self.reader.bytes(count.saturating_mul(size_of::<T>())).map(Some)
    }

    /// Decodes the elements of an array or of bulk data.
    fn elements<T: Value>(&mut self, elements: &mut [T]) -> Result<(), DecodeError> {
        if let Some(bytes) = self.dense::<T>(elements.len())?
            && let Some(to) = dense_bytes_mut(elements)
        {
            bytes.copy_to(to);
            if self.reader.is_swapped() {
                swap_numbers(to, T::SHAPE.size);
            }
            return Ok(());
        }
        for (index, element) in elements.iter_mut().enumerate() {
            self.in_array = false;
            element.visit_mut(self).map_err(|error| error.in_element(index))?;
        }
        Ok(())
    }

    /// Counts memory for an element that may have fewer bytes in the message.
    fn charge(&mut self, size: usize) -> Result<(), DecodeError> {
        self.memory = self
            .memory
            .checked_sub(size)
            .ok_or_else(|| self.reader.error(DecodeProblem::TooMuchMemory { limit: self.memory_limit }))?;
        Ok(())
    }

    /// Reads the length of a sequence of these elements.
    fn sequence_length<T: Value>(&mut self) -> Result<usize, DecodeError> {
        let is_number = T::SHAPE.element != Element::Other;
        self.reader.length(if is_number { size_of::<T>() } else { 1 })
    }

    fn check_bound(&self, length: usize, bound: Option<usize>) -> Result<(), DecodeError> {
        match bound {
            Some(bound) if length > bound => {
                Err(self.reader.error(DecodeProblem::BoundExceeded { length, bound }))
            }
            _ => Ok(()),
        }
    }

    /// Reads the members of a mutable structure. Passes each id to `decode`, which returns whether the id is
    /// known.
    fn parameters(
        &mut self,
        mut decode: impl FnMut(&mut Self, u32) -> Result<bool, DecodeError>,
    ) -> Result<(), DecodeError> {
        while let Some(parameter) = self.reader.parameter()? {
            let at = self.reader.position();
            let scope = self.reader.enter_parameter(&parameter)?;
            let known = decode(self, parameter.id)?;
            self.reader.leave(scope);
            if !known && parameter.must_understand {
                return Err(DecodeError::at(at, DecodeProblem::NotUnderstood { id: parameter.id }));
            }
        }
        Ok(())
    }

    /// Reads a structure or union: its nesting level and delimiter here, and its parts with `read`.
    fn composite(
        &mut self,
        info: &TypeInfo,
        read: impl FnOnce(&mut Self) -> Result<(), DecodeError>,
    ) -> Result<(), DecodeError> {
        self.reader.descend()?;
        let scope = self.enter_delimited_if(info.extensibility != Extensibility::Final)?;
        read(self)?;
        self.leave(scope);
        self.reader.ascend();
        Ok(())
    }

    /// Reads the elements of bulk data without storing them.
    fn skip_elements<T: BulkElement>(&mut self, count: usize) -> Result<(), DecodeError> {
        if self.dense::<T>(count)?.is_none() {
            let mut scratch: T = default_value();
            for index in 0..count {
                self.in_array = false;
                scratch.visit_mut(self).map_err(|error| error.in_element(index))?;
            }
        }
        Ok(())
    }
}

impl VisitorMut for Decoder<'_, '_> {
    type Error = DecodeError;

    fn boolean(&mut self, value: &mut bool) -> Result<(), DecodeError> {
        *value = self.reader.boolean()?;
        Ok(())
    }

    fn number<T: Number>(&mut self, value: &mut T) -> Result<(), DecodeError> {
        *value = self.reader.number()?;
        Ok(())
    }

    fn text<T: TextField>(&mut self, text: &mut T) -> Result<(), DecodeError> {
        let at = self.reader.position();
        let value = self.reader.text(&mut self.text)?;
        text.try_reserve(value.len()).map_err(|error| DecodeError::at(at, error))?;
        text.try_assign(value).map_err(|error| DecodeError::at(at, error))
    }

    fn wide_text<T: WideTextField>(&mut self, text: &mut T) -> Result<(), DecodeError> {
        let at = self.reader.position();
        let units = self.reader.wide_text()?;
        text.try_reserve(units.len()).map_err(|error| DecodeError::at(at, error))?;
        text.try_assign_iter(units).map_err(|error| DecodeError::at(at, error))
    }

    fn sequence<T: Value, L: SequenceField<T>>(&mut self, list: &mut L) -> Result<(), DecodeError> {
        self.reader.descend()?;
        let scope = self.enter_delimited_if(!T::SHAPE.is_primitive())?;
        let count = self.sequence_length::<T>()?;
        self.check_bound(count, L::BOUND)?;
        if let Some(bytes) = self.dense::<T>(count)? {
            let swap = self.reader.is_swapped();
            list.clear();
            list.try_reserve(count).map_err(|error| self.reader.error(error))?;
            // SAFETY: there are as many bytes as the elements have, so all are written; the elements are
            // dense, so any bytes are valid.
            unsafe {
                list.try_extend_with(count, |elements| {
                    debug_assert_eq!(size_of_val(elements), bytes.len());
                    bytes.copy_to_uninit(elements);
                    Ok::<_, DecodeProblem>(())
                })
            }
            .map_err(|problem| self.reader.error(problem))?;
            if swap && let Some(bytes) = dense_bytes_mut(list) {
                swap_numbers(bytes, T::SHAPE.size);
            }
        } else {
            list.truncate(count);
            for index in 0..count {
                let element = if index < list.len() {
                    &mut list[index]
                } else {
                    if !L::INLINE {
                        self.charge(size_of::<T>())?;
                    }
                    list.try_reserve(1).map_err(|error| self.reader.error(error))?;
                    list.try_push_default().map_err(|error| self.reader.error(error))?
                };
                self.in_array = false;
                element.visit_mut(self).map_err(|error| error.in_element(index))?;
            }
        }
        self.leave(scope);
        self.reader.ascend();
        Ok(())
    }

    fn array<T: Value>(&mut self, elements: &mut [T]) -> Result<(), DecodeError> {
        self.reader.descend()?;
        let inner = std::mem::take(&mut self.in_array);
        let scope = self.enter_delimited_if(!inner && !T::SHAPE.is_made_of_primitives())?;
        if T::SHAPE.is_array && T::SHAPE.element == Element::Other {
            for (index, element) in elements.iter_mut().enumerate() {
                self.in_array = true;
                element.visit_mut(self).map_err(|error| error.in_element(index))?;
            }
        } else {
            self.elements(elements)?;
        }
        self.leave(scope);
        self.reader.ascend();
        Ok(())
    }

    fn map<K: MapKey, V: Value, M: MapField<K, V>>(&mut self, table: &mut M) -> Result<(), DecodeError> {
        self.reader.descend()?;
        let primitive = K::SHAPE.is_primitive() && V::SHAPE.is_primitive();
        let scope = self.enter_delimited_if(!primitive)?;
        let count = self.reader.length(K::SHAPE.size.max(1) + V::SHAPE.size.max(1))?;
        self.check_bound(count, M::BOUND)?;
        table.clear();
        for index in 0..count {
            self.charge(size_of::<K>() + size_of::<V>())?;
            let mut key: K = default_value();
            key.visit_mut(self).map_err(|error| error.in_element(index))?;
            self.headroom
                .expect_entry::<K, V, M>(table)
                .map_err(|error| self.reader.error(error).in_element(index))?;
            let value = table.try_entry(key).map_err(|error| self.reader.error(error).in_element(index))?;
            value.visit_mut(self).map_err(|error| error.in_element(index))?;
        }
        self.leave(scope);
        self.reader.ascend();
        Ok(())
    }

    fn optional<T: Value, M: OptionalField<T>>(&mut self, value: &mut M) -> Result<(), DecodeError> {
        const UNNAMED: &MemberInfo = &MemberInfo::new("", 0);
        let (info, mutable) = self.optional.take().unwrap_or((UNNAMED, false));
        let mut set = |decoder: &mut Self| value.set_default().visit_mut(decoder);
        if mutable {
            return set(self);
        }
        if self.is_version2() {
            if self.reader.boolean()? {
                return set(self);
            }
            value.clear();
            return Ok(());
        }
        self.reader.align(4)?;
        let at = self.reader.position();
        let parameter = self.reader.parameter()?;
        let parameter = parameter.filter(|parameter| parameter.id == info.id).ok_or_else(|| {
            let found = parameter.map_or(u32::MAX, |parameter| parameter.id);
            DecodeError::at(at, DecodeProblem::OtherMember { expected: info.id, found })
        })?;
        let scope = self.reader.enter_parameter(&parameter)?;
        if parameter.length > 0 {
            set(self)?;
        } else {
            value.clear();
        }
        self.reader.leave(scope);
        Ok(())
    }

    fn structure<T: Structure>(&mut self, value: &mut T) -> Result<(), DecodeError> {
        let extensibility = T::INFO.extensibility;
        if extensibility != Extensibility::Final {
            reset(value);
        }
        self.composite(T::INFO, |decoder| {
            if extensibility == Extensibility::Mutable {
                return decoder.parameters(|decoder, id| {
                    let mut find = Find { decoder, value: &mut *value, id, found: false };
                    T::visit_members(&mut find)?;
                    Ok(find.found)
                });
            }
            let may_end = extensibility == Extensibility::Appendable;
            T::visit_members(&mut Members { decoder, value, may_end })
        })
    }

    fn union<T: Union>(&mut self, value: &mut T) -> Result<(), DecodeError> {
        let extensibility = T::INFO.extensibility;
        if extensibility != Extensibility::Final {
            reset(value);
        }
        self.composite(T::INFO, |decoder| {
            if extensibility == Extensibility::Mutable {
                return decoder.parameters(|decoder, id| {
                    let mut discriminator = value.discriminator();
                    if id == 0 {
                        discriminator.visit_mut(decoder)?;
                        value.select(discriminator);
                        return Ok(true);
                    }
                    let known = T::case_of(discriminator).is_some_and(|(case, _)| case.id == id);
                    if known {
                        value.visit_case_mut(decoder)?;
                    }
                    Ok(known)
                });
            }
            let may_end = extensibility == Extensibility::Appendable;
            if may_end && decoder.reader.remaining() == 0 {
                return Ok(());
            }
            let mut discriminator = value.discriminator();
            discriminator.visit_mut(decoder)?;
            value.select(discriminator);
            if may_end && decoder.reader.remaining() == 0 {
                return Ok(());
            }
            value.visit_case_mut(decoder)
        })
    }

    fn bulk<T: BulkElement, const N: usize>(
        &mut self,
        reference: &mut BulkRef<T, N>,
    ) -> Result<(), DecodeError> {
        self.reader.descend()?;
        let scope = self.enter_delimited_if(!T::SHAPE.is_primitive())?;
        self.reader.align(4)?;
        let at = self.reader.position();
        let count = self.sequence_length::<T>()?;
        self.check_bound(count, Some(N))?;
        let offset = self.bulk.advance::<T>(count).ok_or_else(|| {
            DecodeError::at(at, DecodeProblem::LengthTooLong { length: count, left: self.reader.remaining() })
        })?;
        *reference = BulkRef::new(offset, count as u64);
        match std::mem::replace(&mut self.body, Body::Measure) {
            Body::Measure => self.skip_elements::<T>(count)?,
            Body::Write(body) => {
                let needed = self.bulk.end();
                if needed > body.len() {
                    let problem = DecodeProblem::BodyTooSmall { needed, body: body.len() };
                    return Err(DecodeError::at(at, problem));
                }
                let elements = reference.slice_mut(body).map_err(|problem| DecodeError::at(at, problem))?;
                self.elements(elements)?;
                self.body = Body::Write(body);
            }
        }
        self.leave(scope);
        self.reader.ascend();
        Ok(())
    }
}
