//! The messages of a file in the order of their log times.
//!
//! Chunks are read in the order of their first messages, each when its first message is due. Chunks whose
//! times overlap are in memory together, and their messages are merged.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap, HashMap};
use std::ops::Range;
use std::sync::Arc;

use super::error::ReadError;
use super::index::{Block, Index};
use super::source::Source;
use crate::format::records::{Channel, MessageHead, Schema};
use crate::format::{op, parse};

/// A message of a file.
#[derive(Debug, Clone)]
pub struct Message {
    /// Its channel.
    pub channel: Arc<Channel>,
    /// The schema of its channel, if it has one.
    pub schema: Option<Arc<Schema>>,
    /// Its number among those of its publisher, modulo 2^32.
    pub sequence: u32,
    /// When it was recorded, in nanoseconds since 1970.
    pub log_time: u64,
    /// When it was published.
    pub publish_time: u64,
    records: Arc<Vec<u8>>,
    data: Range<usize>,
}

impl Message {
    /// Its data, in the encoding of its channel.
    pub fn data(&self) -> &[u8] {
        self.records.get(self.data.clone()).unwrap_or_default()
    }

    /// Its data, as memory that may be held.
    pub fn shared(&self) -> (Arc<Vec<u8>>, Range<usize>) {
        (self.records.clone(), self.data.clone())
    }
}

/// Whether a channel is read.
pub type Wants<'f> = Box<dyn Fn(&Channel) -> bool + Send + 'f>;

/// Which messages are read.
#[derive(Default)]
pub struct Filter<'f> {
    /// The first log time.
    pub from: Option<u64>,
    /// The first log time that is too late.
    pub until: Option<u64>,
    /// Whether a channel is read. All are, without it.
    pub channel: Option<Wants<'f>>,
}

impl std::fmt::Debug for Filter<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Filter({:?} to {:?})", self.from, self.until)
    }
}

struct Loaded {
    records: Arc<Vec<u8>>,
    /// The messages that are wanted, the last one first: log time, and where the content of the record lies.
    left: Vec<(u64, Range<usize>)>,
    at: u64,
}

/// The messages of a file, in the order of their log times. A part that cannot be read is an error, and the
/// next call goes on behind it.
pub struct Messages<'f> {
    source: Arc<Source>,
    filter: Filter<'f>,
    schemas: BTreeMap<u16, Arc<Schema>>,
    channels: BTreeMap<u16, Arc<Channel>>,
    definition_bytes: u64,
    wanted: HashMap<u16, bool>,
    /// The blocks that are not loaded yet, the last one first.
    blocks: Vec<Block>,
    loaded: HashMap<usize, Loaded>,
    next: BinaryHeap<Reverse<(u64, usize)>>,
    count: usize,
    memory: u64,
}

impl<'f> Messages<'f> {
    /// Begins before the first message.
    pub fn new(source: Arc<Source>, index: &Index, filter: Filter<'f>) -> Self {
        let in_time = |block: &&Block| {
            filter.until.is_none_or(|until| block.index.start_time < until)
                && filter.from.is_none_or(|from| block.index.end_time >= from)
        };
        let mut blocks: Vec<Block> = index.blocks.iter().filter(in_time).cloned().collect();
        blocks.sort_by_key(|block| Reverse((block.index.start_time, block.index.offset)));
        Self {
            source,
            filter,
            schemas: index.schemas.clone(),
            channels: index.channels.clone(),
            definition_bytes: index.definition_bytes,
            wanted: HashMap::new(),
            blocks,
            loaded: HashMap::new(),
            next: BinaryHeap::new(),
            count: 0,
            memory: 0,
        }
    }

    fn is_wanted(&mut self, channel: u16) -> bool {
        let (channels, filter) = (&self.channels, &self.filter);
        *self.wanted.entry(channel).or_insert_with(|| {
            let channel = channels.get(&channel);
            channel.is_none_or(|channel| filter.channel.as_ref().is_none_or(|wants| wants(channel)))
        })
    }

    /// Reads a block, and sorts its messages.
    fn load(&mut self, block: &Block) -> Result<(), ReadError> {
        let at = block.index.offset;
        let records = match block.is_chunk {
            true => self.source.chunk(at, block.is_cut)?,
            false => self.source.bytes(at, block.index.length)?,
        };
        let mut left = Vec::new();
        let mut rest = records.as_slice();
        let mut defined = self.schemas.len() + self.channels.len();
        let begin = records.len();
        while let Some((kind, content)) = parse::next_record(&mut rest) {
            let malformed = |source| ReadError::Malformed { at, source };
            let end = begin - rest.len();
            match kind {
                op::MESSAGE => {
                    let (head, _) = parse::message(content).map_err(malformed)?;
                    let is_in_time = self.filter.from.is_none_or(|from| head.log_time >= from)
                        && self.filter.until.is_none_or(|until| head.log_time < until);
                    if is_in_time && self.is_wanted(head.channel) {
                        left.push((head.log_time, end - content.len()..end));
                    }
                }
                op::SCHEMA => {
                    let schema = parse::schema(content).map_err(malformed)?;
                    self.schemas.entry(schema.id).or_insert_with(|| Arc::new(schema));
                }
                op::CHANNEL => {
                    let channel = parse::channel(content).map_err(malformed)?;
                    self.channels.entry(channel.id).or_insert_with(|| Arc::new(channel));
                }
                _ => {}
            }
            if self.schemas.len() + self.channels.len() > defined {
                defined = self.schemas.len() + self.channels.len();
                self.definition_bytes += content.len() as u64;
                let limit = self.source.limits.definitions;
                if self.definition_bytes > limit {
                    self.blocks.clear();
                    return Err(ReadError::Definitions { limit });
                }
            }
        }
        // Messages of the same time stay in the order of the file.
        left.sort_by_key(|(time, _)| *time);
        left.reverse();
        let Some((first, _)) = left.last() else { return Ok(()) };
        let number = self.count;
        self.count += 1;
        self.next.push(Reverse((*first, number)));
        self.memory += records.len() as u64;
        self.loaded.insert(number, Loaded { records: Arc::new(records), left, at });
        Ok(())
    }

    fn take(&mut self) -> Option<Result<Message, ReadError>> {
        let Reverse((_, number)) = self.next.pop()?;
        let loaded = self.loaded.get_mut(&number)?;
        let (_, content) = loaded.left.pop()?;
        let (records, at) = (loaded.records.clone(), loaded.at);
        if let Some((time, _)) = loaded.left.last() {
            self.next.push(Reverse((*time, number)));
        } else {
            self.memory = self.memory.saturating_sub(records.len() as u64);
            self.loaded.remove(&number);
        }
        let malformed = |source| ReadError::Malformed { at, source };
        let bytes = records.get(content.clone()).unwrap_or_default();
        let (head, data) = match parse::message(bytes) {
            Ok((head, data)) => (head, content.end - data.len()..content.end),
            Err(error) => return Some(Err(malformed(error))),
        };
        let MessageHead { channel, sequence, log_time, publish_time } = head;
        let Some(channel) = self.channels.get(&channel).cloned() else {
            return Some(Err(ReadError::NoChannel { at, channel }));
        };
        let schema = self.schemas.get(&channel.schema_id).cloned();
        Some(Ok(Message { channel, schema, sequence, log_time, publish_time, records, data }))
    }
}

impl Iterator for Messages<'_> {
    type Item = Result<Message, ReadError>;

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            let due = self.next.peek().map(|Reverse((time, _))| *time);
            let is_due = |block: &Block| due.is_none_or(|due| block.index.start_time <= due);
            let Some(block) = self.blocks.pop_if(|block| is_due(block)) else { return self.take() };
            let size = block.index.uncompressed_size.max(block.index.length);
            let limit = self.source.limits.memory;
            if self.memory > 0 && self.memory.saturating_add(size) > limit {
                self.blocks.clear();
                return Some(Err(ReadError::Overlap { limit }));
            }
            if let Err(error) = self.load(&block) {
                return Some(Err(error));
            }
        }
    }
}
