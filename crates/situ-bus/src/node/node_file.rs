//! The bytes of a node's file: a text about the node, and behind it a record for each of its endpoints.
//!
//! The normative description is `spec/topic.md`, *Nodes*.
//!
//! Only the node writes its file, with the `write` calls of the kernel. A full file system is then an error
//! and not a signal, and the kernel reports each change to processes that watch the directory. Other
//! processes may read a record while it is written, so each record has a checksum of its own.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::sync::{Mutex, PoisonError};

/// The text lies in the first page, with zeroes behind it.
pub(crate) const TEXT_SIZE: usize = 4096;
/// The room of a record.
pub(crate) const RECORD_SIZE: usize = 1024;
/// The greatest number of records in a file.
pub(crate) const MAX_RECORDS: usize = 16_384;
/// The largest user data of an endpoint or a node, in bytes.
pub const MAX_USER_DATA: usize = 256;

/// The records of a node's own file.
#[derive(Debug, Default)]
pub(crate) struct Records {
    slots: Mutex<Slots>,
}

#[derive(Debug, Default)]
struct Slots {
    /// The number of slots that were ever used.
    used: usize,
    free: Vec<usize>,
}

fn offset_of(slot: usize) -> u64 {
    (TEXT_SIZE + slot * RECORD_SIZE) as u64
}

impl Records {
    /// Writes a record to a free slot, and returns the slot's number. `None` if none is free.
    pub(crate) fn add(&self, file: &File, record: &[u8]) -> io::Result<Option<usize>> {
        debug_assert!(record.len() <= RECORD_SIZE);
        let mut slots = self.slots.lock().unwrap_or_else(PoisonError::into_inner);
        let slot = slots.free.last().copied().unwrap_or(slots.used);
        if slot == MAX_RECORDS {
            return Ok(None);
        }
        file.write_all_at(record, offset_of(slot))?;
        if slots.free.pop().is_none() {
            slots.used += 1;
        }
        Ok(Some(slot))
    }

    /// Clears a slot: a record that begins with a zero is free.
    pub(crate) fn clear(&self, file: &File, slot: usize) {
        let mut slots = self.slots.lock().unwrap_or_else(PoisonError::into_inner);
        // The slot has memory, so this does not fail.
        if file.write_all_at(&[0; 8], offset_of(slot)).is_ok() {
            slots.free.push(slot);
        }
    }
}

/// The records of another node's file, read one after the other into one buffer.
#[derive(Debug)]
pub(crate) struct RecordReader {
    buffer: Vec<u8>,
}

/// How many records one `read` call takes.
const RECORDS_AT_ONCE: usize = 64;
/// How often a record that is being written is read again.
const MAX_READS: usize = 16;

/// What a record turned out to be.
pub(crate) enum Reading<T> {
    /// A record.
    Valid(T),
    /// A free slot, or bytes that no node of this version writes.
    Nothing,
    /// Its checksum is wrong: it may be half written.
    Torn,
}

impl RecordReader {
    pub(crate) fn new() -> Self {
        Self { buffer: vec![0; TEXT_SIZE + RECORDS_AT_ONCE * RECORD_SIZE] }
    }

    /// Reads the file: its text first, then calls `visit` with each record. One call of the kernel reads a
    /// file with few records.
    pub(crate) fn read<T>(
        &mut self,
        file: &File,
        accept: impl FnOnce(&[u8]) -> bool,
        decode: impl Fn(&[u8]) -> Reading<T>,
        mut visit: impl FnMut(T),
    ) -> io::Result<()> {
        let read = read_up_to(file, &mut self.buffer, 0)?;
        let (text, mut records) = self.buffer[..read].split_at(read.min(TEXT_SIZE));
        if !accept(text_of(text)) {
            return Ok(());
        }
        let mut slot = 0;
        loop {
            for bytes in records.chunks(RECORD_SIZE) {
                match decode(bytes) {
                    Reading::Valid(record) => visit(record),
                    Reading::Nothing => {}
                    Reading::Torn => {
                        if let Some(record) = read_again(file, slot, &decode) {
                            visit(record);
                        }
                    }
                }
                slot += 1;
            }
            // Less than there was room for: the file ends here.
            if records.len() < RECORDS_AT_ONCE * RECORD_SIZE || slot >= MAX_RECORDS {
                return Ok(());
            }
            let read = read_up_to(file, &mut self.buffer[TEXT_SIZE..], offset_of(slot))?;
            records = &self.buffer[TEXT_SIZE..TEXT_SIZE + read];
        }
    }
}

/// Reads a record that was half written. Its writer is done with it after a microsecond, unless it died.
fn read_again<T>(file: &File, slot: usize, decode: impl Fn(&[u8]) -> Reading<T>) -> Option<T> {
    let mut record = [0; RECORD_SIZE];
    for _ in 0..MAX_READS {
        let read = read_up_to(file, &mut record, offset_of(slot)).ok()?;
        match decode(&record[..read]) {
            Reading::Valid(record) => return Some(record),
            Reading::Nothing => return None,
            Reading::Torn => std::thread::yield_now(),
        }
    }
    None
}

fn read_up_to(file: &File, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
    loop {
        match file.read_at(buffer, offset) {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            result => return result,
        }
    }
}

/// The text at the beginning of a file: up to the first zero.
pub(crate) fn text_of(bytes: &[u8]) -> &[u8] {
    let bytes = &bytes[..bytes.len().min(TEXT_SIZE)];
    bytes.split(|byte| *byte == 0).next().unwrap_or_default()
}
