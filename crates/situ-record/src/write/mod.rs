//! Writing MCAP files.
//!
//! ```text
//!   your thread                 threads that compress          the thread of the file
//!   messages ─▶ chunk ─────────────▶ zstd, lz4 ───────────────▶ one vectored write for each chunk
//!                    └─────────── not compressed ─────────────▶
//! ```
//!
//! ```text
//!   options    how a file is written, and why nothing can be written
//!   chunk      a chunk under construction
//!   compress   threads that compress
//!   file       the thread that owns the file
//! ```

mod chunk;
mod compress;
mod file;
mod options;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::sync::mpsc::{Sender, channel};
use std::thread::{Builder, JoinHandle};

use situ_memory::fork::Process;

pub use chunk::{HELD_FROM, Piece};
pub use file::{FileReport, Written};
pub use options::{Compression, NoCompression, WriteError, WriterOptions};

use crate::format::records::{AttachmentIndex, Channel, MessageHead, Schema};
use chunk::Chunk;
use compress::{Compressors, Encoded};
use file::{FileThread, Job, Shared};

/// How many held pieces a chunk has at most: each keeps a slot of a publisher.
const MAX_HELD: usize = 64;

/// Writes MCAP files. A program may own one: it defines channels, and adds messages.
///
/// ```
/// use situ_record::{Reader, Writer, WriterOptions};
///
/// let folder = std::env::temp_dir().join(format!("situ-record-{}", std::process::id()));
/// std::fs::create_dir_all(&folder)?;
/// let path = folder.join("numbers.mcap");
/// let mut writer = Writer::create(&path, WriterOptions::default())?;
/// let schema = writer.schema("std_msgs/msg/UInt8", "ros2msg", b"uint8 data")?;
/// let channel = writer.channel(schema, "/numbers", "cdr", Default::default())?;
/// for number in 0..3_u8 {
///     writer.message(channel, number.into(), 1_000 + u64::from(number), 1_000, &[0, 1, 0, 0, number])?;
/// }
/// let written = writer.finish();
/// assert!(written.error.is_none());
///
/// let reader = Reader::open(&path)?;
/// let last = reader.messages(Default::default()).last().unwrap()?;
/// assert_eq!((last.log_time, last.data()), (1_002, [0, 1, 0, 0, 2].as_slice()));
/// # std::fs::remove_dir_all(&folder)?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct Writer {
    options: WriterOptions,
    path: PathBuf,
    chunk: Chunk,
    schemas: Vec<Schema>,
    channels: Vec<Channel>,
    /// Whether the present file has the schema or the channel, by its number.
    has_schema: Vec<bool>,
    has_channel: Vec<bool>,
    /// The log time of the first message of the present file.
    file_start: Option<u64>,
    file_number: u64,
    /// The bytes of the records that were given to the present file, before compression.
    file_given: u64,
    shared: Arc<Shared>,
    jobs: Option<Sender<Job>>,
    compressors: Option<Compressors>,
    thread: Option<JoinHandle<Written>>,
    /// A forked child has neither of the threads, and must not write into its parent's file.
    process: Process,
}

/// The path of a file of a recording that is split: `drive.mcap` becomes `drive_0.mcap`.
pub fn numbered(path: &Path, number: u64) -> PathBuf {
    let stem = path.file_stem().unwrap_or_default().to_string_lossy();
    let name = match path.extension() {
        Some(extension) => format!("{stem}_{number}.{}", extension.to_string_lossy()),
        None => format!("{stem}_{number}"),
    };
    path.with_file_name(name)
}

impl Writer {
    /// Makes a file. If the options split it, its name gets a number: `drive_0.mcap`.
    pub fn create(path: &Path, options: WriterOptions) -> Result<Self, WriteError> {
        let is_split = options.split_bytes.is_some() || options.split_time.is_some();
        let first = if is_split { numbered(path, 0) } else { path.to_owned() };
        let shared = Arc::new(Shared::default());
        let how = (options.profile.clone(), options.compression, options.overwrite);
        let file = FileThread::open(&first, shared.clone(), how)?;
        let thread = |source| WriteError::Thread(Arc::new(source));
        let compressors = match options.compression {
            Compression::None => None,
            with => Some(Compressors::start(with, options.threads).map_err(thread)?),
        };
        let (jobs, receiver) = channel();
        let started = Builder::new().name("record".into()).spawn(move || file.run(&receiver));
        Ok(Self {
            options,
            path: path.to_owned(),
            chunk: Chunk::default(),
            schemas: Vec::new(),
            channels: Vec::new(),
            has_schema: Vec::new(),
            has_channel: Vec::new(),
            file_start: None,
            file_number: 0,
            file_given: 0,
            shared,
            jobs: Some(jobs),
            compressors,
            thread: Some(started.map_err(thread)?),
            process: Process::this(),
        })
    }

    /// Defines a schema, and returns its number.
    pub fn schema(&mut self, name: &str, encoding: &str, data: &[u8]) -> Result<u16, WriteError> {
        let known = |it: &&Schema| it.name == name && it.encoding == encoding && it.data == data;
        if let Some(known) = self.schemas.iter().find(known) {
            return Ok(known.id);
        }
        check_length("a schema", data.len())?;
        let id = u16::try_from(self.schemas.len() + 1).map_err(|_| WriteError::TooMany("schemas"))?;
        let (name, encoding, data) = (name.to_owned(), encoding.to_owned(), data.to_vec());
        self.schemas.push(Schema { id, name, encoding, data });
        self.has_schema.push(false);
        Ok(id)
    }

    /// Defines a channel, and returns its number. `schema` is 0 for messages without a schema.
    pub fn channel(
        &mut self,
        schema: u16,
        topic: &str,
        message_encoding: &str,
        metadata: BTreeMap<String, String>,
    ) -> Result<u16, WriteError> {
        let id = u16::try_from(self.channels.len()).map_err(|_| WriteError::TooMany("channels"))?;
        let size: usize = metadata.iter().map(|(key, value)| key.len() + value.len() + 8).sum();
        check_length("the metadata of a channel", size)?;
        self.channels.push(Channel {
            id,
            schema_id: schema,
            topic: topic.to_owned(),
            message_encoding: message_encoding.to_owned(),
            metadata,
        });
        self.has_channel.push(false);
        Ok(id)
    }

    /// The channels so far.
    pub fn channels(&self) -> &[Channel] {
        &self.channels
    }

    /// Adds a message. Its data are copied. The times are nanoseconds since 1970.
    #[inline]
    pub fn message(
        &mut self,
        channel: u16,
        sequence: u32,
        log_time: u64,
        publish_time: u64,
        data: &[u8],
    ) -> Result<(), WriteError> {
        let head = MessageHead { channel, sequence, log_time, publish_time };
        self.announce(&head)?;
        self.chunk.add_small(&head, data);
        if self.chunk.size >= self.options.chunk_bytes { self.flush() } else { Ok(()) }
    }

    /// Adds a message whose data are these pieces. Large held pieces are written from where they lie.
    pub fn message_of(&mut self, head: MessageHead, pieces: Vec<Piece>) -> Result<(), WriteError> {
        self.announce(&head)?;
        self.chunk.add_pieces(&head, pieces);
        let is_full = self.chunk.size >= self.options.chunk_bytes || self.chunk.held() >= MAX_HELD;
        if is_full { self.flush() } else { Ok(()) }
    }

    /// Defines the channel of a message in the present file, if that is to be done.
    #[inline]
    fn announce(&mut self, head: &MessageHead) -> Result<(), WriteError> {
        self.check_process()?;
        if self.shared.has_failed.load(Ordering::Relaxed) {
            return Err(self.shared.failure().unwrap_or(WriteError::Ended));
        }
        let number = usize::from(head.channel);
        if !self.has_channel.get(number).copied().unwrap_or(true) {
            self.define(number);
        }
        self.file_start.get_or_insert(head.log_time);
        Ok(())
    }

    #[cold]
    fn define(&mut self, number: usize) {
        let channel = &self.channels[number];
        let schema = usize::from(channel.schema_id).wrapping_sub(1);
        if self.has_schema.get(schema) == Some(&false) {
            self.chunk.add_schema(&self.schemas[schema]);
            self.has_schema[schema] = true;
        }
        self.chunk.add_channel(channel);
        self.has_channel[number] = true;
    }

    /// Gives what there is to the file. It waits while too much waits for the file already.
    pub fn flush(&mut self) -> Result<(), WriteError> {
        self.check_process()?;
        if self.chunk.is_empty() {
            return Ok(());
        }
        let next = self.chunk.next();
        let chunk = std::mem::replace(&mut self.chunk, next);
        let (size, messages, end) = (chunk.size, chunk.messages, chunk.times.map(|(_, end)| end));
        self.shared.enter(size, self.options.queue_bytes);
        let job = match &self.compressors {
            Some(compressors) => Job::Compressed(compressors.submit(chunk), size, messages),
            None => Job::Plain(Encoded::plain(chunk, self.options.checksums)),
        };
        self.send(job)?;
        self.file_given += size;
        self.split_if_due(size, end)
    }

    /// Gives what there is to the file, and waits until it is in there, or writing has failed.
    pub fn flush_and_wait(&mut self) -> Result<(), WriteError> {
        self.flush()?;
        self.shared.wait_until_empty();
        self.shared.failure().map_or(Ok(()), Err)
    }

    fn split_if_due(&mut self, last: u64, end: Option<u64>) -> Result<(), WriteError> {
        let is_present = self.shared.file_number.load(Ordering::Acquire) == self.file_number;
        let written = if is_present { self.shared.file_bytes.load(Ordering::Relaxed) } else { 0 };
        // What is compressed is known when it is written, anything else at once.
        let given = if self.compressors.is_some() { 0 } else { self.file_given };
        let size = written.saturating_add(last).max(given);
        let is_large = self.options.split_bytes.is_some_and(|most| size >= most);
        let time = self.file_start.zip(end).map_or(0, |(start, end)| end.saturating_sub(start));
        let is_long = self.options.split_time.is_some_and(|most| u128::from(time) >= most.as_nanos());
        if !is_large && !is_long {
            return Ok(());
        }
        self.file_number += 1;
        self.send(Job::Next(numbered(&self.path, self.file_number)))?;
        self.has_schema.fill(false);
        self.has_channel.fill(false);
        (self.file_start, self.file_given) = (None, 0);
        Ok(())
    }

    fn check_process(&self) -> Result<(), WriteError> {
        if self.process.is_this() { Ok(()) } else { Err(WriteError::Forked(self.path.clone())) }
    }

    fn send(&self, job: Job) -> Result<(), WriteError> {
        let sent = self.jobs.as_ref().is_some_and(|jobs| jobs.send(job).is_ok());
        if sent { Ok(()) } else { Err(self.shared.failure().unwrap_or(WriteError::Ended)) }
    }

    /// Adds a file.
    pub fn attachment(
        &mut self,
        name: &str,
        media_type: &str,
        (log_time, create_time): (u64, u64),
        data: Vec<u8>,
    ) -> Result<(), WriteError> {
        self.check_process()?;
        let (offset, length, data_size) = (0, 0, data.len() as u64);
        let (name, media_type) = (name.to_owned(), media_type.to_owned());
        self.shared.enter(data_size, self.options.queue_bytes);
        let index = AttachmentIndex { offset, length, log_time, create_time, data_size, name, media_type };
        self.send(Job::Attachment(index, data))
    }

    /// Adds names with values.
    pub fn metadata(&mut self, name: &str, values: BTreeMap<String, String>) -> Result<(), WriteError> {
        self.check_process()?;
        self.send(Job::Metadata(name.to_owned(), values))
    }

    /// The bytes that are in files by now.
    pub fn bytes(&self) -> u64 {
        self.shared.bytes.load(Ordering::Relaxed)
    }

    /// The number of the present file.
    pub fn file_number(&self) -> u64 {
        self.file_number
    }

    /// Writes the rest and the summary, and returns what was written.
    pub fn finish(mut self) -> Written {
        let rest = self.chunk.messages;
        if let Err(error) = self.check_process() {
            return Written { error: Some(error), ..Written::default() };
        }
        let flushed = self.flush();
        self.jobs = None;
        let Some(thread) = self.thread.take() else { return Written::default() };
        let ended = Written { error: Some(WriteError::Ended), ..Written::default() };
        let mut written = thread.join().unwrap_or(ended);
        if let Err(error) = flushed {
            written.unwritten += rest;
            written.error.get_or_insert(error);
        }
        written
    }
}

impl Drop for Writer {
    /// A writer that was not finished writes the rest and the summary, too, but cannot report what failed.
    fn drop(&mut self) {
        if !self.process.is_this() {
            // The parent's threads use all of this. One of them may have held a lock at the fork.
            std::mem::forget((self.jobs.take(), self.compressors.take(), self.thread.take()));
            return;
        }
        if let Some(thread) = self.thread.take() {
            let _ = self.flush();
            self.jobs = None;
            let _ = thread.join();
        }
    }
}

fn check_length(what: &'static str, size: usize) -> Result<(), WriteError> {
    if u32::try_from(size).is_ok() { Ok(()) } else { Err(WriteError::TooLong(what)) }
}
