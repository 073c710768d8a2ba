//! Blackboards of generated types.

use std::marker::PhantomData;
use std::mem::MaybeUninit;
use std::ops::Deref;

use situ_layout::FlatMessage;

use super::errors::{BlackboardReaderError, BlackboardWriterError, GetValueError, SetValueError};
use super::reader::RawBlackboardReader;
use super::writer::RawBlackboardWriter;
use crate::api::typed::describe;
use crate::node::handle::Node;
use crate::topic::{Encoding, TypeDescription};

/// The description of a flat type, also of one whose schema does not declare it flat.
fn described<T: FlatMessage>() -> TypeDescription {
    TypeDescription { encoding: Encoding::Flat, ..describe::<T>() }
}

impl Node {
    /// Creates a blackboard with these keys, and its writer: see [`BlackboardWriter`].
    pub fn blackboard_writer<T: FlatMessage>(
        &self,
        name: &str,
        keys: impl IntoIterator<Item = impl Into<String>>,
    ) -> Result<BlackboardWriter<T>, BlackboardWriterError> {
        const { assert!(align_of::<T>() <= align_of::<Line>()) };
        let raw = RawBlackboardWriter::create(self, name, &described::<T>(), keys)?;
        let lines = size_of::<T>().div_ceil(size_of::<Line>());
        Ok(BlackboardWriter { raw, flat: vec![Line([0; 64]); lines], value: PhantomData })
    }

    /// Opens a blackboard whose values are of type `T`.
    pub fn blackboard_reader<T: FlatMessage>(
        &self,
        name: &str,
    ) -> Result<BlackboardReader<T>, BlackboardReaderError> {
        let raw = RawBlackboardReader::open_in(&self.inner.root, name, Some(&described::<T>()))?;
        Ok(BlackboardReader { raw, value: PhantomData })
    }
}

/// Memory with the largest alignment of flat types.
#[derive(Debug, Clone, Copy)]
#[repr(C, align(64))]
struct Line([u8; 64]);

/// The writer of a blackboard: it has one, and its keys are fixed when it is created.
///
/// A value is a copy, and readers never block the writer. Dropping the writer removes the blackboard's name;
/// readers that have it open keep the last values. If the writer's process is killed, the values stay, and
/// the next writer with the same type and keys continues the blackboard.
#[derive(Debug)]
pub struct BlackboardWriter<T: FlatMessage> {
    raw: RawBlackboardWriter,
    /// The flat form of the value that is set: its gaps are zeroes.
    flat: Vec<Line>,
    value: PhantomData<fn(&T)>,
}

impl<T: FlatMessage> BlackboardWriter<T> {
    /// Replaces the value of a key, and returns its new version. Nothing is allocated.
    pub fn set(&mut self, key: &str, value: &T) -> Result<u64, SetValueError> {
        match self.raw.position(key) {
            Some(position) => self.set_at(position, value),
            None => self.raw.set(key, &[]),
        }
    }

    /// The same for the key at a [position](RawBlackboardWriter::position): without a search.
    pub fn set_at(&mut self, position: usize, value: &T) -> Result<u64, SetValueError> {
        // SAFETY: the lines have the size of a `T` at least, and the largest alignment.
        if let Err(error) = unsafe { value.write_flat(&[], self.flat.as_mut_ptr().cast(), &mut []) } {
            let key = self.raw.keys().get(position).cloned().unwrap_or_else(|| position.to_string());
            let (name, reason) = (self.raw.name().to_owned(), error.to_string());
            return Err(SetValueError::Value { name, key, reason });
        }
        // SAFETY: these bytes lie in the lines. They began as zeroes, and values are written into them by
        // members, so each byte is initialized.
        let bytes = unsafe { std::slice::from_raw_parts(self.flat.as_ptr().cast(), size_of::<T>()) };
        self.raw.set_at(position, bytes)
    }
}

impl<T: FlatMessage> Deref for BlackboardWriter<T> {
    type Target = RawBlackboardWriter;

    fn deref(&self) -> &RawBlackboardWriter {
        &self.raw
    }
}

/// A value that was read, with its version: how often the key was set.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Versioned<T> {
    /// The value.
    pub value: T,
    /// Its version, from 1 on.
    pub version: u64,
}

/// A reader of a blackboard. All threads may use it at once.
#[derive(Debug)]
pub struct BlackboardReader<T: FlatMessage> {
    raw: RawBlackboardReader,
    value: PhantomData<fn() -> T>,
}

impl<T: FlatMessage> BlackboardReader<T> {
    /// A copy of the last value of a key; `None` if it was never set. Nothing is allocated.
    pub fn get(&self, key: &str) -> Result<Option<Versioned<T>>, GetValueError> {
        match self.raw.position(key) {
            Some(position) => self.get_at(position),
            None => Err(self.raw.unknown(key)),
        }
    }

    /// The same for the key at a [position](RawBlackboardReader::position): without a search.
    pub fn get_at(&self, position: usize) -> Result<Option<Versioned<T>>, GetValueError> {
        let mut copy = MaybeUninit::<T>::uninit();
        // SAFETY: any bytes may be written to memory that is not initialized.
        let bytes = unsafe { std::slice::from_raw_parts_mut(copy.as_mut_ptr().cast(), size_of::<T>()) };
        let Some(version) = self.raw.get_at(position, bytes)? else { return Ok(None) };
        // SAFETY: all bytes of the private copy were written, and it is aligned.
        match unsafe { T::validate(copy.as_ptr(), 0) } {
            // SAFETY: the bytes are a valid `T`, which is self-contained, as was just found.
            Ok(()) => Ok(Some(Versioned { value: unsafe { copy.assume_init() }, version })),
            Err(source) => {
                let key = self.raw.keys()[position].clone();
                Err(GetValueError::Invalid { name: self.raw.name().to_owned(), key, source })
            }
        }
    }
}

impl<T: FlatMessage> Deref for BlackboardReader<T> {
    type Target = RawBlackboardReader;

    fn deref(&self) -> &RawBlackboardReader {
        &self.raw
    }
}
