//! A file as a source of records: reads ranges of bytes and chunks, within limits.

use std::fs::File;
use std::io::{self, Read};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use super::error::{ReadError, ReadLimits};
use crate::format::records::ChunkIndex;
use crate::format::{RECORD_HEAD, op, parse};

/// An open file.
#[derive(Debug)]
pub struct Source {
    file: File,
    path: PathBuf,
    /// Its size when it was opened. What is appended later is not read.
    pub size: u64,
    /// How much it may ask for.
    pub limits: ReadLimits,
}

/// Allocates, or says that there is no memory.
fn reserve(bytes: &mut Vec<u8>, size: u64, at: u64) -> Result<(), ReadError> {
    let none = ReadError::NoMemory { at, size };
    match usize::try_from(size) {
        Ok(size) if bytes.try_reserve_exact(size).is_ok() => Ok(()),
        _ => Err(none),
    }
}

impl Source {
    /// Opens a file.
    pub fn open(path: &Path, limits: ReadLimits) -> Result<Self, ReadError> {
        let fail = |source| ReadError::Io { path: path.to_owned(), source };
        let file = File::open(path).map_err(fail)?;
        let metadata = file.metadata().map_err(fail)?;
        if !metadata.is_file() {
            return Err(fail(io::Error::other("it is not a regular file")));
        }
        Ok(Self { file, path: path.to_owned(), size: metadata.len(), limits })
    }

    /// The bytes of a range. Those that are behind the file's end are left out.
    pub fn bytes(&self, at: u64, size: u64) -> Result<Vec<u8>, ReadError> {
        let size = size.min(self.size.saturating_sub(at));
        if size > self.limits.record {
            return Err(ReadError::TooLarge { at, size, limit: self.limits.record });
        }
        let mut bytes = Vec::new();
        reserve(&mut bytes, size, at)?;
        bytes.resize(size as usize, 0);
        let mut filled = 0;
        while filled < bytes.len() {
            match self.file.read_at(&mut bytes[filled..], at + filled as u64) {
                Ok(0) => bytes.truncate(filled),
                Ok(read) => filled += read,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(source) => return Err(ReadError::Io { path: self.path.clone(), source }),
            }
        }
        Ok(bytes)
    }

    /// The head of the record at a place: its kind, the length of its content. `None` if the file ends
    /// before.
    pub fn record_head(&self, at: u64) -> Result<Option<(u8, u64)>, ReadError> {
        let bytes = self.bytes(at, RECORD_HEAD as u64)?;
        Ok(<&[u8; RECORD_HEAD]>::try_from(bytes.as_slice()).ok().map(parse::record_head))
    }

    /// The content of the record at a place, whose content has this length.
    pub fn content(&self, at: u64, length: u64) -> Result<Vec<u8>, ReadError> {
        self.bytes(at.saturating_add(RECORD_HEAD as u64), length)
    }

    /// The records of a chunk. `is_cut` says that the file ends within it: then it gives those that are
    /// there.
    pub fn chunk(&self, at: u64, is_cut: bool) -> Result<Vec<u8>, ReadError> {
        let Some((op::CHUNK, length)) = self.record_head(at)? else {
            let source = parse::Malformed::TooShort { what: "a chunk", needed: RECORD_HEAD as u64, left: 0 };
            return Err(ReadError::Malformed { at, source });
        };
        let mut content = self.content(at, length)?;
        let malformed = |source| ReadError::Malformed { at, source };
        let mut fields = parse::Fields(&content);
        let (index, crc) = parse::chunk_head(&mut fields).map_err(malformed)?;
        let rest = fields.0.len();
        let limit = self.limits.record;
        // The crate `mcap` states the largest sizes until a chunk is complete.
        let stated = if is_cut { index.uncompressed_size.min(limit) } else { index.uncompressed_size };
        if stated > limit {
            return Err(ReadError::TooLarge { at, size: stated, limit });
        }
        let size = usize::try_from(index.compressed_size).unwrap_or(usize::MAX);
        if size > rest && !is_cut {
            let what = "the records of a chunk";
            let source = parse::Malformed::TooShort { what, needed: index.compressed_size, left: rest };
            return Err(malformed(source));
        }
        let head = content.len() - rest;
        let size = size.min(rest);
        let index = ChunkIndex { uncompressed_size: stated, ..index };
        let records = match index.compression.as_str() {
            "" => {
                content.truncate(head + size);
                content.drain(..head);
                content
            }
            _ => decompress(&index, at, content.get(head..head + size).unwrap_or_default(), is_cut)?,
        };
        if crc != 0 && !is_cut {
            let found = crc32fast::hash(&records);
            if found != crc {
                return Err(ReadError::Checksum { what: "chunk", at, found, said: crc });
            }
        }
        Ok(records)
    }
}

/// Decompresses as many bytes as the chunk states. It allocates as they come, so that a false size costs
/// nothing.
fn decompress(index: &ChunkIndex, at: u64, bytes: &[u8], is_cut: bool) -> Result<Vec<u8>, ReadError> {
    let damaged = |reason: String| ReadError::Damaged { at, reason };
    let mut records = Vec::new();
    // One byte more shows that the size is false.
    let most = index.uncompressed_size.saturating_add(1);
    let read = match index.compression.as_str() {
        "zstd" => match zstd::stream::read::Decoder::with_buffer(bytes) {
            Ok(decoder) => read_some(decoder.take(most), &mut records, at)?,
            Err(error) => Err(error),
        },
        "lz4" => read_some(lz4_flex::frame::FrameDecoder::new(bytes).take(most), &mut records, at)?,
        other => return Err(ReadError::Compression { at, name: other.to_owned() }),
    };
    match read {
        Err(error) if !is_cut => return Err(damaged(error.to_string())),
        _ => {}
    }
    let found = records.len() as u64;
    if found > index.uncompressed_size || found < index.uncompressed_size && !is_cut {
        let said = index.uncompressed_size;
        return Err(damaged(format!("it has another size than the {said} bytes that it states")));
    }
    Ok(records)
}

/// Reads to the end. The outer error is about memory, the inner one about the bytes.
fn read_some(mut from: impl Read, to: &mut Vec<u8>, at: u64) -> Result<io::Result<()>, ReadError> {
    let mut block = vec![0; 64 << 10];
    loop {
        match from.read(&mut block) {
            Ok(0) => return Ok(Ok(())),
            Ok(read) => {
                // Twice as much each time, as a vector does, but with an error instead of an abort.
                if to.capacity() - to.len() < read {
                    let more = to.len().max(read) as u64;
                    reserve(to, more, at)?;
                }
                to.extend_from_slice(&block[..read]);
            }
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Ok(Err(error)),
        }
    }
}
