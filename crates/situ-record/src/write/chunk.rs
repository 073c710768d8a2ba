//! A chunk under construction: small messages in one buffer, large ones by reference.
//!
//! ```text
//!   small   | record head, 64 B | record head, 64 B | record head |            | record head | ...
//!                                                          cut ────^ 6 MB of a held sample
//! ```
//!
//! The file gets the pieces in this order by one vectored write, so the bytes of a held sample go from shared
//! memory to the file without a copy in this process.

use std::fmt;
use std::io::IoSlice;
use std::ops::Range;
use std::sync::Arc;

use crate::format::records::{Channel, ChunkIndex, MessageHead, Schema};
use crate::format::{MESSAGE_HEAD, RECORD_HEAD};

/// From this size on a part of a message is written from where it lies. Below it, a copy costs less than an
/// entry of the vectored write, and the sample is free at once.
pub const HELD_FROM: usize = 4 << 10;

/// A part of a message's data.
#[derive(Clone)]
pub enum Piece {
    /// Bytes of its own.
    Bytes(Vec<u8>),
    /// A part of memory that is held until it is written.
    Held(Arc<dyn AsRef<[u8]> + Send + Sync>, Range<usize>),
}

impl Piece {
    /// The bytes. Empty if a held memory is smaller than its range says.
    pub fn bytes(&self) -> &[u8] {
        match self {
            Self::Bytes(bytes) => bytes,
            Self::Held(memory, range) => (**memory).as_ref().get(range.clone()).unwrap_or_default(),
        }
    }
}

impl fmt::Debug for Piece {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Piece({} bytes)", self.bytes().len())
    }
}

/// The messages of one channel in a chunk: their log times and offsets.
#[derive(Debug, Default)]
pub struct Entries {
    /// The channel.
    pub channel: u16,
    /// Log times and offsets.
    pub entries: Vec<(u64, u64)>,
}

/// Records that are written together.
#[derive(Debug, Default)]
pub struct Chunk {
    small: Vec<u8>,
    /// Where in `small` a piece comes in between.
    cuts: Vec<(usize, Piece)>,
    /// The bytes of all records.
    pub size: u64,
    /// The number of messages.
    pub messages: u64,
    /// The log times of the first and the last message.
    pub times: Option<(u64, u64)>,
    /// The messages of each channel.
    pub entries: Vec<Entries>,
    /// For each channel's number, one more than its place in `entries`; 0 if it has none.
    places: Vec<u32>,
    /// The schemas and channels that the chunk defines.
    pub schemas: Vec<Schema>,
    /// See [`schemas`](Self::schemas).
    pub channels: Vec<Channel>,
}

impl Chunk {
    /// Whether nothing is in it.
    pub fn is_empty(&self) -> bool {
        self.size == 0
    }

    /// Defines a schema.
    pub fn add_schema(&mut self, schema: &Schema) {
        let before = self.small.len();
        schema.put(&mut self.small);
        self.size += (self.small.len() - before) as u64;
        self.schemas.push(schema.clone());
    }

    /// Defines a channel.
    pub fn add_channel(&mut self, channel: &Channel) {
        let before = self.small.len();
        channel.put(&mut self.small);
        self.size += (self.small.len() - before) as u64;
        self.channels.push(channel.clone());
    }

    #[inline]
    fn begin_message(&mut self, head: &MessageHead, size: usize) {
        let place = usize::from(head.channel);
        if self.places.len() <= place {
            self.places.resize(place + 1, 0);
        }
        if self.places[place] == 0 {
            self.entries.push(Entries { channel: head.channel, entries: Vec::new() });
            self.places[place] = self.entries.len() as u32;
        }
        self.entries[self.places[place] as usize - 1].entries.push((head.log_time, self.size));
        head.put(&mut self.small, size);
        self.size += (RECORD_HEAD + MESSAGE_HEAD) as u64 + size as u64;
        self.messages += 1;
        let (first, last) = self.times.unwrap_or((head.log_time, head.log_time));
        self.times = Some((first.min(head.log_time), last.max(head.log_time)));
    }

    /// Adds a message, and copies its data.
    #[inline]
    pub fn add_small(&mut self, head: &MessageHead, data: &[u8]) {
        self.begin_message(head, data.len());
        self.small.extend_from_slice(data);
    }

    /// Adds a message whose data are these pieces. Small pieces are copied.
    pub fn add_pieces(&mut self, head: &MessageHead, pieces: Vec<Piece>) {
        let size = pieces.iter().map(|piece| piece.bytes().len()).sum();
        self.begin_message(head, size);
        for piece in pieces {
            if piece.bytes().len() < HELD_FROM {
                self.small.extend_from_slice(piece.bytes());
            } else {
                self.cuts.push((self.small.len(), piece));
            }
        }
    }

    /// The number of pieces that are held.
    pub fn held(&self) -> usize {
        self.cuts.len()
    }

    /// All bytes, in their order.
    pub fn parts(&self) -> impl Iterator<Item = &[u8]> {
        let mut from = 0;
        let cut = self.cuts.iter().flat_map(move |(at, piece)| {
            let small = self.small.get(std::mem::replace(&mut from, *at)..*at).unwrap_or_default();
            [small, piece.bytes()]
        });
        let last = self.cuts.last().map_or(0, |(at, _)| *at);
        cut.chain(self.small.get(last..)).filter(|part| !part.is_empty())
    }

    /// All bytes, for a vectored write.
    pub fn slices(&self) -> impl Iterator<Item = IoSlice<'_>> {
        self.parts().map(IoSlice::new)
    }

    /// Its index, as far as it is known before it lies in a file.
    pub fn index(&self) -> ChunkIndex {
        let (start_time, end_time) = self.times.unwrap_or_default();
        ChunkIndex {
            start_time,
            end_time,
            compressed_size: self.size,
            uncompressed_size: self.size,
            ..ChunkIndex::default()
        }
    }

    /// Drops the bytes of the records, and what is held for them. What is known about them stays.
    pub fn drop_records(&mut self) {
        (self.small, self.cuts) = (Vec::new(), Vec::new());
    }

    /// An empty chunk. It has the memory that this one needed, so that it does not grow step by step.
    pub fn next(&self) -> Self {
        Self { small: Vec::with_capacity(self.small.len().min(64 << 20)), ..Self::default() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pieces_stand_where_they_were_added() {
        let mut chunk = Chunk::default();
        let head = MessageHead { channel: 3, sequence: 7, log_time: 20, publish_time: 10 };
        chunk.add_small(&head, b"abc");
        let large: Arc<dyn AsRef<[u8]> + Send + Sync> = Arc::new(vec![9u8; 10_000]);
        let pieces = vec![Piece::Bytes(vec![1, 2]), Piece::Held(large.clone(), 1..9_001)];
        chunk.add_pieces(&MessageHead { log_time: 15, ..head }, pieces);
        chunk.add_small(&MessageHead { channel: 1, ..head }, b"z");
        let bytes: Vec<u8> = chunk.parts().flatten().copied().collect();
        assert_eq!(bytes.len() as u64, chunk.size);
        assert_eq!((chunk.size, chunk.held(), chunk.messages), (31 + 3 + 31 + 2 + 9_000 + 31 + 1, 1, 3));
        assert_eq!(&bytes[31..34], b"abc");
        assert_eq!(&bytes[65..67], [1, 2]);
        assert!(bytes[67..9_067].iter().all(|byte| *byte == 9));
        assert_eq!(bytes.last(), Some(&b'z'));
        assert_eq!(chunk.times, Some((15, 20)));
        assert_eq!(chunk.entries[0].entries, [(20, 0), (15, 34)]);
        assert_eq!((chunk.entries[1].channel, &*chunk.entries[1].entries), (1, [(20, 9_067)].as_slice()));
    }
}
