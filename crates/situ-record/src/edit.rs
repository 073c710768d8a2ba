//! Cuts, merges and converts files: reads messages in the order of their times, and writes those that are
//! wanted. A broken file becomes a whole one by that.

use std::collections::{BTreeMap, HashMap};
use std::iter::Peekable;
use std::path::PathBuf;

use crate::format::records::{Channel, MessageHead};
use crate::read::{Filter, Message, Messages, ReadError, Reader};
use crate::record::Selection;
use crate::write::{Piece, WriteError, Writer, WriterOptions, Written};

/// What is written.
#[derive(Debug)]
pub struct EditOptions {
    /// The new file.
    pub output: PathBuf,
    /// How it is written. Its profile is that of the first file, if it is empty here.
    pub writer: WriterOptions,
    /// The first log time, in nanoseconds since 1970.
    pub from: Option<u64>,
    /// The first log time that is too late.
    pub until: Option<u64>,
    /// The topics, by their names in the files.
    pub selection: Selection,
}

/// Why no file is written.
#[derive(Debug, thiserror::Error)]
pub enum EditError {
    /// The new file cannot be written.
    #[error(transparent)]
    Write(#[from] WriteError),
}

/// What was written.
#[derive(Debug, Default)]
pub struct Edited {
    /// The files.
    pub written: Written,
    /// Parts that could not be read.
    pub problems: Vec<String>,
    /// Whether the caller stopped it.
    pub is_stopped: bool,
}

/// How often the caller is asked.
const ASK: u64 = 256;

type Key = (String, String, String, BTreeMap<String, String>, u16);

/// The channels of the new file.
#[derive(Default)]
struct Channels {
    /// By the file and the number there.
    known: HashMap<(usize, u16), u16>,
    /// By all that is said about them, because several files may have the same.
    same: HashMap<Key, u16>,
}

impl Channels {
    fn find(&mut self, writer: &mut Writer, file: usize, message: &Message) -> Result<u16, WriteError> {
        let Channel { id, topic, message_encoding, metadata, .. } = &*message.channel;
        if let Some(known) = self.known.get(&(file, *id)) {
            return Ok(*known);
        }
        let schema = match &message.schema {
            Some(schema) => writer.schema(&schema.name, &schema.encoding, &schema.data)?,
            None => 0,
        };
        let name = message.schema.as_ref().map(|schema| schema.name.clone()).unwrap_or_default();
        let key = (topic.clone(), name, message_encoding.clone(), metadata.clone(), schema);
        let channel = match self.same.get(&key) {
            Some(same) => *same,
            None => {
                let made = writer.channel(schema, topic, message_encoding, metadata.clone())?;
                self.same.insert(key, made);
                made
            }
        };
        self.known.insert((file, *id), channel);
        Ok(channel)
    }
}

/// Writes the wanted messages of files into a new one. `progress` gets the log time of a message from time to
/// time, and says whether to go on.
pub fn edit(
    readers: &[Reader],
    options: EditOptions,
    progress: &mut dyn FnMut(u64) -> bool,
) -> Result<Edited, EditError> {
    let EditOptions { output, writer: mut how, from, until, selection } = options;
    if let (true, Some(first)) = (how.profile.is_empty(), readers.first()) {
        how.profile = first.profile().to_owned();
    }
    let mut edited = Edited::default();
    for reader in readers {
        let path = reader.path().display();
        edited.problems.extend(reader.problems().iter().map(|problem| format!("{path}: {problem}")));
    }
    let mut writer = Writer::create(&output, how)?;
    let wants = |channel: &Channel| selection.has(&channel.topic);
    let messages = |reader| -> Peekable<Messages<'_>> {
        Reader::messages(reader, Filter { from, until, channel: Some(Box::new(wants)) }).peekable()
    };
    let mut inputs: Vec<_> = readers.iter().map(messages).collect();
    let mut channels = Channels::default();
    let mut count = 0;
    while let Some((file, next)) = first(&mut inputs) {
        let message = match next {
            Ok(message) => message,
            Err(error) => {
                let path = readers[file].path().display();
                edited.problems.push(format!("{path}: {error}"));
                continue;
            }
        };
        let channel = channels.find(&mut writer, file, &message)?;
        let Message { sequence, log_time, publish_time, .. } = message;
        let head = MessageHead { channel, sequence, log_time, publish_time };
        let (memory, range) = message.shared();
        writer.message_of(head, vec![Piece::Held(memory, range)])?;
        count += 1;
        if count % ASK == 0 && !progress(log_time) {
            edited.is_stopped = true;
            break;
        }
    }
    copy_others(readers, &mut writer, &mut edited)?;
    edited.written = writer.finish();
    Ok(edited)
}

/// The next message of several files: the one with the smallest time, and its file.
fn first(inputs: &mut [Peekable<Messages<'_>>]) -> Option<(usize, Result<Message, ReadError>)> {
    let times = inputs.iter_mut().enumerate().filter_map(|(file, messages)| {
        // An error is told at once.
        let time = messages.peek()?.as_ref().map_or(0, |message| message.log_time);
        Some((time, file))
    });
    let (_, file) = times.min()?;
    Some((file, inputs[file].next()?))
}

/// Copies attachments and metadata.
fn copy_others(readers: &[Reader], writer: &mut Writer, edited: &mut Edited) -> Result<(), EditError> {
    for reader in readers {
        let path = reader.path().display();
        for index in reader.attachments() {
            match reader.attachment(index) {
                Ok(data) => {
                    let times = (index.log_time, index.create_time);
                    writer.attachment(&index.name, &index.media_type, times, data)?;
                }
                Err(error) => edited.problems.push(format!("{path}: {error}")),
            }
        }
        for index in reader.metadata() {
            match reader.metadata_values(index) {
                Ok(values) => writer.metadata(&index.name, values)?,
                Err(error) => edited.problems.push(format!("{path}: {error}")),
            }
        }
    }
    Ok(())
}
