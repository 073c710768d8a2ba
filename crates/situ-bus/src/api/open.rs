//! Makes typed samples from untyped ones: reads flat messages in place, and decodes or converts all others.

use situ_layout::{BulkCursor, Message, StorageKind, boxed};
use situ_wire::DecodeError;

use super::typed::{Decoded, ReceiveError, Sample};
use crate::port::sample::{CopyCounter, RawSample};
use crate::port::subscriber::RawSubscriber;
use crate::topic::Encoding;
use crate::trust::Private;

impl<T: Message> Sample<T> {
    /// Makes a typed sample from an untyped one, which `subscriber` took.
    #[inline(always)]
    pub(crate) fn open(subscriber: &RawSubscriber, raw: RawSample) -> Result<Self, ReceiveError> {
        match (raw.encoding(), T::STORAGE) {
            (Encoding::Flat, StorageKind::Flat) => Self::view(subscriber, raw),
            (Encoding::Xcdr1 | Encoding::Xcdr2, _) => Self::decode(subscriber, raw),
            (Encoding::Flat, StorageKind::Heap | StorageKind::Ros) => Self::convert(subscriber, raw),
            (Encoding::Region, _) => Self::convert_region(subscriber, raw),
        }
    }

    /// Reads a region into a type with another storage.
    fn convert_region(subscriber: &RawSubscriber, raw: RawSample) -> Result<Self, ReceiveError> {
        let mut value = boxed::<T>();
        match value.read_region(&mut [], raw.body()) {
            Ok(()) => {
                CopyCounter::of_process().count(raw.body().len());
                Ok(Self { raw, decoded: Some(Box::new(Decoded { value, body: Private::default() })) })
            }
            Err(source) => Err(ReceiveError::Region {
                topic: subscriber.topic().to_owned(),
                sequence: raw.sequence(),
                type_name: T::NAME,
                source,
            }),
        }
    }

    /// Returns a sample that reads a flat message in place.
    #[inline(always)]
    fn view(subscriber: &RawSubscriber, raw: RawSample) -> Result<Self, ReceiveError> {
        if raw.head().len() != size_of::<T>() {
            return Err(ReceiveError::Size {
                topic: subscriber.topic().to_owned(),
                sequence: raw.sequence(),
                type_name: T::NAME,
                found: raw.head().len(),
                expected: size_of::<T>(),
            });
        }
        // SAFETY: the head has the type's size and is aligned to 64, the maximum that a loan allows. Its
        // bytes are those of a memory file and therefore initialized.
        match unsafe { T::validate(raw.head_in_place().as_ptr().cast::<T>(), raw.body_size()) } {
            Ok(()) => Ok(Self { raw, decoded: None }),
            Err(source) => Err(ReceiveError::Invalid {
                topic: subscriber.topic().to_owned(),
                sequence: raw.sequence(),
                type_name: T::NAME,
                source,
            }),
        }
    }

    /// Reads a flat message into a type with heap storage.
    fn convert(subscriber: &RawSubscriber, raw: RawSample) -> Result<Self, ReceiveError> {
        let mut value = boxed::<T>();
        match value.read_flat(&mut [], raw.head(), raw.body()) {
            Ok(()) => {
                CopyCounter::of_process().count(raw.head().len() + raw.body().len());
                Ok(Self { raw, decoded: Some(Box::new(Decoded { value, body: Private::default() })) })
            }
            Err(source) => Err(ReceiveError::Convert {
                topic: subscriber.topic().to_owned(),
                sequence: raw.sequence(),
                type_name: T::NAME,
                source,
            }),
        }
    }

    /// Decodes a serialized message into memory of this process.
    fn decode(subscriber: &RawSubscriber, raw: RawSample) -> Result<Self, ReceiveError> {
        let failed = |source| ReceiveError::Decode {
            topic: subscriber.topic().to_owned(),
            sequence: raw.sequence(),
            type_name: T::NAME,
            source,
        };
        let mut value = boxed::<T>();
        let mut body = Private::default();
        if T::STORAGE == StorageKind::Flat && size_of::<T::BulkLengths>() != 0 {
            let lengths = situ_wire::bulk_lengths::<T>(raw.body()).map_err(failed)?;
            // The lengths come from elements that are all present, so their size does not overflow.
            body = Private::new(T::body_size(&lengths).unwrap_or_default())
                .map_err(|error| failed(DecodeError::at(0, error)))?;
            // SAFETY: the value is valid and only this function reaches it, and a body of its lengths exists.
            unsafe { T::place_bulk(&raw mut *value, &lengths, &mut BulkCursor::default()) };
        }
        situ_wire::decode_with_body(&mut *value, body.bytes_mut(), raw.body()).map_err(failed)?;
        CopyCounter::of_process().count(raw.body().len());
        Ok(Self { raw, decoded: Some(Box::new(Decoded { value, body })) })
    }
}
