//! The thread that owns the file: writes chunks in their order, and in the end the summary.
//!
//! If the process dies, the file ends within a chunk or its indexes, and all chunks before are whole. If a
//! write fails (a full disk), the thread cuts the file behind the last whole chunk, and ends it properly if
//! there is room for that.

use std::collections::BTreeMap;
use std::fs::{File, OpenOptions};
use std::io::{self, IoSlice, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::Receiver;
use std::sync::{Arc, Condvar, Mutex, PoisonError};

use super::chunk::Chunk;
use super::compress::Encoded;
use super::options::{Compression, WriteError};
use crate::LIBRARY;
use crate::format::records::{self, AttachmentIndex, Channel, ChunkIndex, MetadataIndex, Schema, Statistics};
use crate::format::{MAGIC, op};

/// What the thread has to do.
pub enum Job {
    /// Begins the next file.
    Next(PathBuf),
    /// Writes a chunk.
    Plain(Encoded),
    /// Writes a chunk of this many bytes and messages as soon as it is compressed.
    Compressed(Receiver<io::Result<Encoded>>, u64, u64),
    /// Writes an attachment.
    Attachment(AttachmentIndex, Vec<u8>),
    /// Writes metadata.
    Metadata(String, BTreeMap<String, String>),
}

/// What the thread and the writer share.
#[derive(Debug, Default)]
pub struct Shared {
    /// Bytes that wait for the file.
    queued: Mutex<u64>,
    room: Condvar,
    /// Bytes of the present file.
    pub file_bytes: AtomicU64,
    /// The number of the present file. It is stored after the size of a new file, so that a size that is read
    /// after it is not that of an earlier file.
    pub file_number: AtomicU64,
    /// Bytes of all files.
    pub bytes: AtomicU64,
    /// Whether writing failed.
    pub has_failed: AtomicBool,
    /// Why.
    pub error: Mutex<Option<WriteError>>,
}

impl Shared {
    /// Waits until `bytes` more may wait for the file.
    pub fn enter(&self, bytes: u64, limit: u64) {
        let mut queued = self.queued.lock().unwrap_or_else(PoisonError::into_inner);
        while *queued > 0 && queued.saturating_add(bytes) > limit {
            queued = self.room.wait(queued).unwrap_or_else(PoisonError::into_inner);
        }
        *queued += bytes;
    }

    /// Waits until nothing waits for the file.
    pub fn wait_until_empty(&self) {
        let mut queued = self.queued.lock().unwrap_or_else(PoisonError::into_inner);
        while *queued > 0 {
            queued = self.room.wait(queued).unwrap_or_else(PoisonError::into_inner);
        }
    }

    fn leave(&self, bytes: u64) {
        let mut queued = self.queued.lock().unwrap_or_else(PoisonError::into_inner);
        *queued = queued.saturating_sub(bytes);
        self.room.notify_all();
    }

    /// Returns the error of the thread, if it had one.
    pub fn failure(&self) -> Option<WriteError> {
        self.error.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn fail(&self, error: WriteError) {
        self.error.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(error);
        self.has_failed.store(true, Ordering::Release);
    }
}

/// One written file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileReport {
    /// Its path.
    pub path: PathBuf,
    /// Its size.
    pub bytes: u64,
    /// What is in it.
    pub statistics: Statistics,
    /// Whether it ends with a summary. Without one it can be read, too, but is scanned first.
    pub complete: bool,
}

/// What was written.
#[derive(Debug, Default)]
pub struct Written {
    /// The files, in their order.
    pub files: Vec<FileReport>,
    /// Messages that are not in any file, because writing failed: those that a [`Writer`](crate::Writer) had
    /// accepted, and in the report of a recorder also those that came after.
    pub unwritten: u64,
    /// Why writing failed, if it did.
    pub error: Option<WriteError>,
}

struct Output {
    file: File,
    path: PathBuf,
    /// The bytes that are whole.
    size: u64,
    statistics: Statistics,
    schemas: BTreeMap<u16, Schema>,
    channels: BTreeMap<u16, Channel>,
    chunks: Vec<ChunkIndex>,
    attachments: Vec<AttachmentIndex>,
    metadata: Vec<MetadataIndex>,
}

/// Opens a file for writing.
pub fn create(path: &Path, overwrite: bool) -> Result<File, WriteError> {
    let mut options = OpenOptions::new();
    options.write(true);
    if overwrite {
        options.create(true).truncate(true)
    } else {
        options.create_new(true)
    };
    options.open(path).map_err(|source| match source.kind() {
        io::ErrorKind::AlreadyExists => WriteError::Exists(path.to_owned()),
        _ => WriteError::Create { path: path.to_owned(), source: Arc::new(source) },
    })
}

/// Writes all slices. If memory of another process is gone, the kernel cannot read it (`EFAULT`): then the
/// slices are copied here first, where the guard of mappings gives zeroes.
fn write_all(file: &mut File, mut slices: &mut [IoSlice<'_>]) -> io::Result<()> {
    IoSlice::advance_slices(&mut slices, 0);
    while !slices.is_empty() {
        match file.write_vectored(slices) {
            Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
            Ok(written) => IoSlice::advance_slices(&mut slices, written),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) if error.raw_os_error() == Some(rustix::io::Errno::FAULT.raw_os_error()) => {
                let copies: Vec<Vec<u8>> = slices.iter().map(|slice| slice.to_vec()).collect();
                copies.iter().try_for_each(|copy| file.write_all(copy))?;
                return Ok(());
            }
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

impl Output {
    fn new(path: PathBuf, file: File, profile: &str) -> Result<Self, WriteError> {
        let mut output = Self {
            file,
            path,
            size: 0,
            statistics: Statistics::default(),
            schemas: BTreeMap::new(),
            channels: BTreeMap::new(),
            chunks: Vec::new(),
            attachments: Vec::new(),
            metadata: Vec::new(),
        };
        let mut begin = MAGIC.to_vec();
        records::put_header(&mut begin, profile, LIBRARY);
        output.append(&mut [IoSlice::new(&begin)])?;
        Ok(output)
    }

    /// Appends bytes. If that fails, cuts off what was written of them.
    fn append(&mut self, slices: &mut [IoSlice<'_>]) -> Result<(), WriteError> {
        let length: u64 = slices.iter().map(|slice| slice.len() as u64).sum();
        match write_all(&mut self.file, slices) {
            Ok(()) => {
                self.size += length;
                Ok(())
            }
            Err(source) => {
                // Without the cut the file still can be read up to here.
                let _ = self.file.set_len(self.size);
                let _ = io::Seek::seek(&mut self.file, io::SeekFrom::Start(self.size));
                Err(WriteError::Write {
                    path: self.path.clone(),
                    written: self.size,
                    source: Arc::new(source),
                })
            }
        }
    }

    fn chunk(&mut self, encoded: &Encoded, compression: Compression) -> Result<(), WriteError> {
        let chunk = &encoded.chunk;
        let mut index = chunk.index();
        index.offset = self.size;
        if let Some(compressed) = &encoded.compressed {
            index.compression = compression.name().to_owned();
            index.compressed_size = compressed.len() as u64;
        }
        let mut head = Vec::new();
        records::put_chunk_head(&mut head, &index, encoded.crc);
        index.length = head.len() as u64 + index.compressed_size;
        let mut behind = Vec::new();
        for entries in &chunk.entries {
            let at = index.offset + index.length + behind.len() as u64;
            index.message_indexes.insert(entries.channel, at);
            records::put_message_index(&mut behind, entries.channel, &entries.entries);
        }
        index.message_index_length = behind.len() as u64;
        let mut slices = vec![IoSlice::new(&head)];
        match &encoded.compressed {
            Some(compressed) => slices.push(IoSlice::new(compressed)),
            None => slices.extend(chunk.slices()),
        }
        slices.push(IoSlice::new(&behind));
        self.append(&mut slices)?;
        self.note(chunk, index);
        Ok(())
    }

    /// Adds a chunk that is written to what the summary will say.
    fn note(&mut self, chunk: &Chunk, index: ChunkIndex) {
        for schema in &chunk.schemas {
            self.schemas.insert(schema.id, schema.clone());
        }
        for channel in &chunk.channels {
            self.channels.insert(channel.id, channel.clone());
        }
        let statistics = &mut self.statistics;
        if let Some((first, last)) = chunk.times {
            let is_first = statistics.messages == 0;
            statistics.start_time = if is_first { first } else { statistics.start_time.min(first) };
            statistics.end_time = statistics.end_time.max(last);
        }
        statistics.messages += chunk.messages;
        for entries in &chunk.entries {
            *statistics.channel_messages.entry(entries.channel).or_default() += entries.entries.len() as u64;
        }
        self.chunks.push(index);
    }

    fn attachment(&mut self, mut index: AttachmentIndex, data: &[u8]) -> Result<(), WriteError> {
        let mut record = Vec::new();
        records::put_attachment(&mut record, &index, data);
        (index.offset, index.length, index.data_size) = (self.size, record.len() as u64, data.len() as u64);
        self.append(&mut [IoSlice::new(&record)])?;
        self.attachments.push(index);
        Ok(())
    }

    fn add_metadata(&mut self, name: String, values: &BTreeMap<String, String>) -> Result<(), WriteError> {
        let mut record = Vec::new();
        records::put_metadata(&mut record, &name, values);
        let index = MetadataIndex { offset: self.size, length: record.len() as u64, name };
        self.append(&mut [IoSlice::new(&record)])?;
        self.metadata.push(index);
        Ok(())
    }

    fn finish(&mut self) -> Result<(), WriteError> {
        self.statistics.schemas = self.schemas.len() as u16;
        self.statistics.channels = self.channels.len() as u32;
        self.statistics.attachments = self.attachments.len() as u32;
        self.statistics.metadata = self.metadata.len() as u32;
        self.statistics.chunks = self.chunks.len() as u32;
        let mut end = Vec::new();
        records::put_data_end(&mut end);
        let start = self.size + end.len() as u64;
        let mut summary = Vec::new();
        let mut groups = Vec::new();
        let mut group = |summary: &mut Vec<u8>, kind, fill: &dyn Fn(&mut Vec<u8>)| {
            let before = summary.len();
            fill(summary);
            if summary.len() > before {
                groups.push((kind, start + before as u64, (summary.len() - before) as u64));
            }
        };
        group(&mut summary, op::SCHEMA, &|out| self.schemas.values().for_each(|it| it.put(out)));
        group(&mut summary, op::CHANNEL, &|out| self.channels.values().for_each(|it| it.put(out)));
        group(&mut summary, op::STATISTICS, &|out| self.statistics.put(out));
        group(&mut summary, op::CHUNK_INDEX, &|out| self.chunks.iter().for_each(|it| it.put(out)));
        group(&mut summary, op::ATTACHMENT_INDEX, &|out| self.attachments.iter().for_each(|it| it.put(out)));
        group(&mut summary, op::METADATA_INDEX, &|out| self.metadata.iter().for_each(|it| it.put(out)));
        let offsets = start + summary.len() as u64;
        for (kind, start, length) in groups {
            records::put_summary_offset(&mut summary, kind, start, length);
        }
        let mut footer = Vec::new();
        records::put_footer(&mut footer, &summary, start, offsets);
        self.append(&mut [IoSlice::new(&end), IoSlice::new(&summary), IoSlice::new(&footer)])
    }

    fn report(self, complete: bool) -> FileReport {
        FileReport { path: self.path, bytes: self.size, statistics: self.statistics, complete }
    }
}

/// The thread.
pub struct FileThread {
    output: Option<Output>,
    shared: Arc<Shared>,
    profile: String,
    compression: Compression,
    overwrite: bool,
    written: Written,
}

impl FileThread {
    /// Makes the first file.
    pub fn open(
        path: &Path,
        shared: Arc<Shared>,
        (profile, compression, overwrite): (String, Compression, bool),
    ) -> Result<Self, WriteError> {
        let output = Output::new(path.to_owned(), create(path, overwrite)?, &profile)?;
        let written = Written::default();
        Ok(Self { output: Some(output), shared, profile, compression, overwrite, written })
    }

    /// Does all jobs, until the writer is gone.
    pub fn run(mut self, jobs: &Receiver<Job>) -> Written {
        while let Ok(job) = jobs.recv() {
            let (queued, result) = self.step(job);
            // The failure comes first: a writer that waits for an empty queue looks for it then.
            if let Err(error) = result {
                self.shared.fail(error);
            }
            self.shared.leave(queued);
            let size = self.output.as_ref().map_or(0, |output| output.size);
            self.shared.file_bytes.store(size, Ordering::Relaxed);
            self.shared.file_number.store(self.written.files.len() as u64, Ordering::Release);
            let earlier: u64 = self.written.files.iter().map(|file| file.bytes).sum();
            self.shared.bytes.store(earlier + size, Ordering::Relaxed);
        }
        if let Err(error) = self.end_file() {
            self.shared.fail(error);
        }
        self.written.error = self.shared.failure();
        self.written
    }

    fn end_file(&mut self) -> Result<(), WriteError> {
        let Some(mut output) = self.output.take() else { return Ok(()) };
        let finished = output.finish();
        self.written.files.push(output.report(finished.is_ok()));
        finished
    }

    /// Does a job. Returns how many bytes do not wait any more, too.
    fn step(&mut self, job: Job) -> (u64, Result<(), WriteError>) {
        let has_failed = self.shared.has_failed.load(Ordering::Relaxed);
        match job {
            Job::Next(path) => (0, self.next_file(path)),
            Job::Plain(encoded) => (encoded.queued, self.chunk(&encoded, has_failed)),
            Job::Compressed(encoded, queued, messages) => {
                let error = match encoded.recv() {
                    Ok(Ok(encoded)) => return (queued, self.chunk(&encoded, has_failed)),
                    Ok(Err(source)) => {
                        let (path, written) = self.place();
                        WriteError::Write { path, written, source: Arc::new(source) }
                    }
                    Err(_) => WriteError::Ended,
                };
                self.written.unwritten += messages;
                (queued, Err(error))
            }
            Job::Attachment(index, data) => {
                let written = match &mut self.output {
                    Some(output) if !has_failed => output.attachment(index, &data),
                    _ => Ok(()),
                };
                (data.len() as u64, written)
            }
            Job::Metadata(name, values) => match &mut self.output {
                Some(output) if !has_failed => (0, output.add_metadata(name, &values)),
                _ => (0, Ok(())),
            },
        }
    }

    fn next_file(&mut self, path: PathBuf) -> Result<(), WriteError> {
        self.end_file()?;
        let file = create(&path, self.overwrite)?;
        self.output = Some(Output::new(path, file, &self.profile)?);
        Ok(())
    }

    fn place(&self) -> (PathBuf, u64) {
        self.output.as_ref().map_or_else(Default::default, |output| (output.path.clone(), output.size))
    }

    /// Writes a chunk. After a failure nothing more is written, because the file would have a gap that no
    /// reader sees.
    fn chunk(&mut self, encoded: &Encoded, has_failed: bool) -> Result<(), WriteError> {
        let result = match &mut self.output {
            Some(output) if !has_failed => output.chunk(encoded, self.compression),
            _ => {
                self.written.unwritten += encoded.chunk.messages;
                Ok(())
            }
        };
        if result.is_err() {
            self.written.unwritten += encoded.chunk.messages;
        }
        result
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc::channel;

    use situ_testkit::Scratch;

    use super::*;

    #[test]
    fn messages_of_a_chunk_that_is_not_compressed_are_counted() {
        let scratch = Scratch::created("not-compressed");
        let how = (String::new(), Compression::Zstd, false);
        let shared = Arc::new(Shared::default());
        let file = FileThread::open(&scratch.path().join("file.mcap"), shared.clone(), how).unwrap();
        let (jobs, receiver) = channel();
        let (failed, ended) = (channel(), channel());
        failed.0.send(Err(io::ErrorKind::OutOfMemory.into())).unwrap();
        drop(ended.0);
        shared.enter(30, 100);
        shared.enter(20, 100);
        jobs.send(Job::Compressed(failed.1, 30, 3)).unwrap();
        jobs.send(Job::Compressed(ended.1, 20, 2)).unwrap();
        drop(jobs);
        let written = file.run(&receiver);
        assert_eq!(written.unwritten, 5);
        assert!(matches!(written.error, Some(WriteError::Write { .. })), "{written:?}");
        shared.wait_until_empty();
    }
}
