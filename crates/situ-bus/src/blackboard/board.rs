//! A blackboard's file, mapped, and its keys.

use std::collections::HashMap;
use std::fs::File;
use std::io;
use std::os::fd::AsFd;
use std::os::unix::fs::FileExt;
use std::path::Path;

use situ_memory::fork::Process;
use situ_memory::sync::atomic::AtomicU64;
use situ_memory::{Access, Mapping, MemoryError};

use super::format::{
    CHANGES_OFFSET, HEADER_SIZE, Header, Parts, TEXT_OFFSET, WRITER_OFFSET, keys_from_bytes,
};
use crate::protocol::cell::Cell;
use crate::topic::{Encoding, TypeDescription};

/// An open blackboard.
#[derive(Debug)]
pub(super) struct Board {
    map: Mapping,
    parts: Parts,
    pub(super) name: String,
    pub(super) description: TypeDescription,
    pub(super) keys: Vec<String>,
    index: HashMap<String, usize>,
    /// The process that it belongs to. A forked child's copy is private zeroes.
    pub(super) process: Process,
}

pub(super) fn system(action: &'static str, path: &Path, source: io::Error) -> MemoryError {
    MemoryError::System { action, path: path.to_owned(), source }
}

fn malformed(path: &Path, reason: impl Into<String>) -> MemoryError {
    MemoryError::Malformed { path: path.to_owned(), reason: reason.into() }
}

impl Board {
    /// Checks and maps a file. Everything that is checked is read once, from private copies.
    pub(super) fn open(file: &File, path: &Path, access: Access) -> Result<Self, MemoryError> {
        let read = |bytes: &mut [u8], at: usize| {
            file.read_exact_at(bytes, at as u64).map_err(|error| system("read", path, error))
        };
        let size = file.metadata().map_err(|error| system("look at", path, error))?.len();
        if size < TEXT_OFFSET as u64 {
            return Err(malformed(path, "it is too short"));
        }
        let mut header = [0; HEADER_SIZE];
        read(&mut header, 0)?;
        let header = Header::from_bytes(&header);
        let parts = header.check(size).map_err(|reason| malformed(path, reason))?;
        let mut text = Vec::new();
        // The file has as many bytes, as was checked.
        let there_is_memory = text.try_reserve_exact(parts.text_len);
        there_is_memory.map_err(|error| system("find memory for the text of", path, error.into()))?;
        text.resize(parts.text_len, 0);
        read(&mut text, TEXT_OFFSET)?;
        let mut rest = &*text;
        let mut part = |len: u32| {
            let (part, behind) = rest.split_at(len as usize);
            rest = behind;
            part
        };
        let mut string = |len: u32| {
            let text = String::from_utf8(part(len).to_vec());
            text.map_err(|_| malformed(path, "its text is not UTF-8"))
        };
        let (name, type_name, schema) =
            (string(header.name_len)?, string(header.type_len)?, string(header.schema_len)?);
        let keys = keys_from_bytes(rest, header.keys as usize).map_err(|reason| malformed(path, reason))?;
        let index: HashMap<_, _> = keys.iter().cloned().zip(0..).collect();
        if index.len() != keys.len() {
            return Err(malformed(path, "it has a key twice"));
        }
        let map = Mapping::without_filling(file.as_fd(), parts.end, access)
            .map_err(|error| MemoryError::not_mapped(path, error))?;
        let description = TypeDescription {
            name: type_name,
            schema,
            schema_hash: header.schema_hash,
            layout_hash: header.layout_hash,
            encoding: Encoding::Flat,
            fixed_size: header.value_size,
            user_header_size: 0,
        };
        Ok(Self { map, parts, name, description, keys, index, process: Process::this() })
    }

    /// The position of a key.
    pub(super) fn position(&self, key: &str) -> Option<usize> {
        self.index.get(key).copied()
    }

    pub(super) fn value_size(&self) -> usize {
        self.description.fixed_size as usize
    }

    #[inline]
    fn words(&self, offset: usize, count: usize) -> &[AtomicU64] {
        debug_assert!(offset + count * 8 <= self.map.len());
        // SAFETY: `Header::check` found that the parts lie in the file, and the offsets are multiples of 8.
        // Any bits are a valid word, and sharing atomics is no data race. Readers, who map the file
        // read-only, only load them.
        unsafe { std::slice::from_raw_parts(self.map.base().add(offset).cast(), count) }
    }

    /// The number of the writer's node; 0: the writer has left.
    #[inline]
    pub(super) fn writer(&self) -> &AtomicU64 {
        &self.words(WRITER_OFFSET, 1)[0]
    }

    /// How many values were set.
    #[inline]
    pub(super) fn changes(&self) -> &AtomicU64 {
        &self.words(CHANGES_OFFSET, 1)[0]
    }

    /// The cell of a key. `None` if there are fewer keys.
    #[inline]
    pub(super) fn cell(&self, position: usize) -> Option<Cell<'_>> {
        if position >= self.keys.len() {
            return None;
        }
        let offset = self.parts.cells + position * self.parts.stride;
        Some(Cell::new(self.words(offset, Cell::words(self.value_size()))))
    }

    /// Whether the file was made shorter while it was mapped, as the guard has found.
    pub(super) fn is_damaged(&self) -> bool {
        self.map.is_damaged()
    }
}
