//! A thread that reads ahead, and encodes messages as their topics need them.

use std::collections::HashMap;
use std::io;
use std::ops::Range;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::thread::{Builder, JoinHandle};
use std::time::Duration;

use situ_bus::Encoding;
use situ_schema::dynamic::{from_cdr, to_flat};

use crate::read::{Filter, Message, ReadError, Reader};
use crate::types::topic_type::FileTopic;

/// How many messages are read ahead.
const AHEAD: usize = 128;

/// The bytes of a message that is about to be published.
pub enum Bytes {
    /// A part of a chunk.
    Shared(Arc<Vec<u8>>, Range<usize>),
    /// A head and a body.
    Flat(Vec<u8>, Vec<u8>),
}

/// A message that is about to be published.
pub struct Ready {
    /// Its topic, as the player counts them.
    pub topic: usize,
    /// Its log time.
    pub time: u64,
    /// Its encoding.
    pub encoding: Encoding,
    /// Its bytes.
    pub bytes: Bytes,
}

/// What comes from the thread.
pub enum Next {
    /// A message.
    Ready(Ready),
    /// A part that cannot be read, or a message that cannot be encoded.
    Problem(String),
}

/// The topics of a file: by the number of the channel, the number of the topic and what it was.
pub type Topics = HashMap<u16, (usize, Arc<FileTopic>)>;

/// The thread.
#[derive(Debug)]
pub struct Source {
    next: Option<Receiver<Next>>,
    thread: Option<JoinHandle<()>>,
}

fn encode(topic: &FileTopic, number: usize, message: &Message) -> Result<Ready, String> {
    let time = message.log_time;
    let shared = || {
        let (memory, range) = message.shared();
        Bytes::Shared(memory, range)
    };
    let fail = |reason: String| format!("a message of {:?} cannot be published: {reason}", topic.topic);
    let published = topic.description.encoding;
    let (encoding, bytes) = match (topic.in_file, published) {
        (Encoding::Region, _) => (Encoding::Region, shared()),
        (_, Encoding::Flat) => {
            let value = from_cdr(&topic.schema, topic.root, message.data());
            let value = value.map_err(|error| fail(error.to_string()))?;
            let flat = to_flat(&topic.schema, topic.root, &value).map_err(|error| fail(error.to_string()))?;
            (Encoding::Flat, Bytes::Flat(flat.head, flat.body))
        }
        // The second byte of the encapsulation tells the version: 0 to 5 are those of the first.
        _ => match message.data() {
            [_, 0..=5, _, _, ..] => (Encoding::Xcdr1, shared()),
            [_, _, _, _, ..] => (Encoding::Xcdr2, shared()),
            _ => return Err(fail("it is shorter than the header of CDR".to_owned())),
        },
    };
    Ok(Ready { topic: number, time, encoding, bytes })
}

impl Source {
    /// Begins to read at a log time.
    pub fn start(
        paths: Vec<PathBuf>,
        topics: Arc<Vec<Topics>>,
        (from, until): (Option<u64>, Option<u64>),
    ) -> io::Result<Self> {
        let (sender, next) = sync_channel(AHEAD);
        let thread = Builder::new().name("play".into());
        let thread = thread.spawn(move || read(&paths, &topics, (from, until), &sender))?;
        Ok(Self { next: Some(next), thread: Some(thread) })
    }

    /// The next message. `None` at the end; an error if there is none yet.
    pub fn next(&self, timeout: Duration) -> Result<Option<Next>, RecvTimeoutError> {
        let Some(next) = &self.next else { return Ok(None) };
        match next.recv_timeout(timeout) {
            Ok(next) => Ok(Some(next)),
            Err(RecvTimeoutError::Disconnected) => Ok(None),
            Err(RecvTimeoutError::Timeout) => Err(RecvTimeoutError::Timeout),
        }
    }
}

impl Drop for Source {
    fn drop(&mut self) {
        self.next = None;
        self.thread.take().map(JoinHandle::join);
    }
}

/// Reads one file after the other: those of a split recording follow each other.
fn read(paths: &[PathBuf], files: &[Topics], times: (Option<u64>, Option<u64>), to: &SyncSender<Next>) {
    for (path, topics) in paths.iter().zip(files) {
        let open: Result<Reader, ReadError> = Reader::open(path);
        let reader = match open {
            Ok(reader) => reader,
            Err(error) => {
                if to.send(Next::Problem(error.to_string())).is_err() {
                    return;
                }
                continue;
            }
        };
        let wants = |channel: &crate::format::records::Channel| topics.contains_key(&channel.id);
        let filter = Filter { from: times.0, until: times.1, channel: Some(Box::new(wants)) };
        for message in reader.messages(filter) {
            let next = match message {
                Err(error) => Next::Problem(format!("{}: {error}", path.display())),
                Ok(message) => {
                    let Some((number, topic)) = topics.get(&message.channel.id) else { continue };
                    encode(topic, *number, &message).map_or_else(Next::Problem, Next::Ready)
                }
            };
            if to.send(next).is_err() {
                return;
            }
        }
    }
}
