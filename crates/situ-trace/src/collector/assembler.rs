//! Assembles the packets of one writer from fragments, in order.

use situ_wire::protobuf::Fields;

use crate::shm::chunk_state::Word;
use crate::shm::format::{PATCH, PATCHES, PREFIX};

use super::summary::WriterSummary;

/// The maximum size of an assembled packet, in bytes.
pub(super) const MAX_PACKET: usize = 64 << 20;
/// A length that is not patched yet.
const UNPATCHED: [u8; 5] = [0x80, 0x80, 0x80, 0x80, 0];
/// Fields of `TracePacket` that only a collector may set.
const SEQUENCE: u32 = 10;
const DROPPED: u32 = 42;
const FIRST: u32 = 87;

/// Receives whole packets.
pub(super) trait PacketSink {
    /// Takes a packet, and the fields that the collector appends to it.
    fn put(&mut self, sequence: u32, packet: &[u8], added: &[u8]);

    /// The sequence has ended: no more packets of it come.
    fn end(&mut self, sequence: u32);
}

/// The part of an incomplete packet that has been read.
#[derive(Debug, Default)]
struct Partial {
    bytes: Vec<u8>,
    /// The offset of each fragment in `bytes`.
    starts: Vec<u32>,
}

impl Partial {
    fn append(&mut self, fragment: &[u8]) -> Result<(), ()> {
        if self.bytes.len() + fragment.len() > MAX_PACKET || self.starts.len() > MAX_PACKET / PREFIX {
            return Err(());
        }
        self.starts.push(self.bytes.len() as u32);
        self.bytes.extend_from_slice(fragment);
        Ok(())
    }

    /// Writes lengths in place of unpatched ones. Any other patch is an error.
    fn patch(&mut self, patches: &[u8]) -> Result<(), ()> {
        for patch in patches.chunks(PATCH) {
            let (number, rest) = patch.split_first_chunk::<4>().ok_or(())?;
            let (offset, length) = rest.split_first_chunk::<2>().ok_or(())?;
            let start = self.starts.get(u32::from_le_bytes(*number) as usize).ok_or(())?;
            let at = *start as usize + u16::from_le_bytes(*offset) as usize;
            let place = self.bytes.get_mut(at..at + UNPATCHED.len()).ok_or(())?;
            if place != UNPATCHED || length.len() != UNPATCHED.len() {
                return Err(());
            }
            place.copy_from_slice(length);
        }
        Ok(())
    }
}

/// Assembles the packets of one writer.
#[derive(Debug)]
pub(super) struct Assembler {
    /// The writer's number in its ring.
    pub(super) number: u32,
    pub(super) summary: WriterSummary,
    partial: Option<Partial>,
    /// The number of packets that the writer had lost when it took its last chunk.
    lost: u32,
    /// Packets were lost after the last one that was taken.
    has_lost: bool,
}

/// A copy of some words of a chunk's header.
#[derive(Clone, Copy, Debug)]
pub(super) struct ChunkHead {
    pub(super) word: Word,
    pub(super) lost: u32,
}

impl Assembler {
    pub(super) fn new(number: u32, sequence: u32, thread: u32) -> Self {
        let summary = WriterSummary { sequence, thread, ..Default::default() };
        Self { number, summary, partial: None, lost: 0, has_lost: false }
    }

    /// Begins a chunk. It continues the partial packet, or shows that the writer gave the packet up.
    pub(super) fn begin_chunk(&mut self, head: ChunkHead) {
        if head.lost != self.lost {
            (self.lost, self.has_lost) = (head.lost, true);
        }
        if !head.word.first_continues() {
            self.abandon();
        }
    }

    /// Drops the partial packet, which the writer does not continue.
    pub(super) fn abandon(&mut self) {
        if self.partial.take().is_some() {
            self.summary.unfinished += 1;
            self.has_lost = true;
        }
    }

    /// The size of the partial packet, in bytes.
    pub(super) fn partial_bytes(&self) -> usize {
        self.partial.as_ref().map_or(0, |partial| partial.bytes.len())
    }

    /// Ends the writer's sequence.
    pub(super) fn finish(&mut self, to: &mut dyn PacketSink) -> WriterSummary {
        self.abandon();
        to.end(self.summary.sequence);
        std::mem::take(&mut self.summary)
    }

    /// Reads fragments from `bytes`, a copy of the chunk: from fragment `from`, at offset `at`, up to the
    /// count in the word. Returns the offset behind them, and the number of malformed parts. A packet that
    /// the next chunk continues stays partial.
    pub(super) fn read(
        &mut self,
        bytes: &[u8],
        word: Word,
        from: u32,
        mut at: usize,
        to: &mut dyn PacketSink,
    ) -> (usize, u64) {
        let mut malformed = 0;
        // In a chunk that continues a packet, all bytes up to the first fragment of bytes belong to that
        // packet.
        let mut goes_on = word.first_continues() && from == 0;
        // A packet that began in this chunk. A packet from an earlier chunk is in `partial`.
        let mut alone: Option<&[u8]> = None;
        for _ in from..word.count() {
            let Some((fragment, is_patch, behind)) = fragment(bytes, at) else {
                // The next fragment cannot be found.
                self.abandon();
                return (bytes.len(), malformed + 1);
            };
            at = behind;
            let result = if is_patch {
                // A packet within one chunk has no patches.
                match &mut self.partial {
                    Some(partial) if alone.is_none() => partial.patch(fragment),
                    // Patches for a packet with a lost beginning.
                    None if goes_on || self.has_lost => Ok(()),
                    _ => Err(()),
                }
            } else if goes_on {
                goes_on = false;
                match &mut self.partial {
                    Some(partial) => partial.append(fragment),
                    None => Ok(()),
                }
            } else {
                malformed += self.put(alone.replace(fragment), to);
                Ok(())
            };
            if result.is_err() {
                malformed += 1;
                self.abandon();
            }
        }
        if !word.last_continues() {
            // The chunk continues a packet but has no bytes of it: the writer gave the packet up, or has not
            // written the bytes yet.
            if !goes_on {
                malformed += self.put(alone, to);
            } else if word.state() == Some(crate::shm::chunk_state::State::Complete) {
                self.abandon();
            }
        } else if let Some(fragment) = alone {
            malformed += self.put_partial(to);
            let mut partial = Partial::default();
            malformed += u64::from(partial.append(fragment).is_err());
            self.partial = Some(partial);
        }
        (at, malformed)
    }

    /// Passes the partial packet on, then `alone`: both are complete. Returns the number of malformed
    /// packets.
    fn put(&mut self, alone: Option<&[u8]>, to: &mut dyn PacketSink) -> u64 {
        let malformed = self.put_partial(to);
        malformed + alone.map_or(0, |packet| self.give(packet, to))
    }

    fn put_partial(&mut self, to: &mut dyn PacketSink) -> u64 {
        self.partial.take().map_or(0, |partial| self.give(&partial.bytes, to))
    }

    fn give(&mut self, packet: &[u8], to: &mut dyn PacketSink) -> u64 {
        if !is_well_formed(packet) {
            self.has_lost = true;
            return 1;
        }
        let mut added = [0u8; 16];
        let mut len = field(&mut added, 0, SEQUENCE, self.summary.sequence);
        if std::mem::take(&mut self.has_lost) {
            len = field(&mut added, len, DROPPED, 1);
        }
        if self.summary.packets == 0 {
            len = field(&mut added, len, FIRST, 1);
        }
        self.summary.packets += 1;
        to.put(self.summary.sequence, packet, &added[..len]);
        0
    }
}

/// Returns the fragment at an offset, whether it holds patches, and the offset of the next fragment.
fn fragment(bytes: &[u8], at: usize) -> Option<(&[u8], bool, usize)> {
    let (prefix, rest) = bytes.get(at..)?.split_first_chunk::<PREFIX>()?;
    let prefix = u16::from_le_bytes(*prefix);
    let len = (prefix & !PATCHES) as usize;
    Some((rest.get(..len)?, prefix & PATCHES != 0, at + PREFIX + len))
}

/// Returns whether a packet consists of whole fields, and has no field that only a collector may set.
fn is_well_formed(packet: &[u8]) -> bool {
    Fields::new(packet)
        .all(|field| field.is_ok_and(|field| !matches!(field.number, SEQUENCE | DROPPED | FIRST)))
}

/// Writes a varint field, and returns the offset behind it.
fn field(bytes: &mut [u8; 16], at: usize, number: u32, value: u32) -> usize {
    let at = varint(bytes, at, (number << 3).into());
    varint(bytes, at, value.into())
}

/// Writes a varint, and returns the offset behind it.
pub(super) fn varint(bytes: &mut [u8], mut at: usize, mut value: u64) -> usize {
    while value >= 0x80 {
        bytes[at] = value as u8 | 0x80;
        (at, value) = (at + 1, value >> 7);
    }
    bytes[at] = value as u8;
    at + 1
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::shm::chunk_state::State;
    use crate::shm::format::CHUNK_HEADER;

    #[derive(Default)]
    struct Kept(Vec<Vec<u8>>);

    impl PacketSink for Kept {
        fn put(&mut self, _: u32, packet: &[u8], _: &[u8]) {
            self.0.push(packet.to_vec());
        }

        fn end(&mut self, _: u32) {}
    }

    /// A chunk with these fragments. The flag marks fragments of patches.
    fn chunk(fragments: &[(&[u8], bool)]) -> Vec<u8> {
        let mut bytes = vec![0; CHUNK_HEADER];
        for (fragment, is_patch) in fragments {
            let prefix = fragment.len() as u16 | if *is_patch { PATCHES } else { 0 };
            bytes.extend(prefix.to_le_bytes());
            bytes.extend_from_slice(fragment);
        }
        bytes
    }

    fn read(assembler: &mut Assembler, word: Word, bytes: &[u8], to: &mut Kept) -> u64 {
        assembler.begin_chunk(ChunkHead { word, lost: 0 });
        assembler.read(bytes, word, 0, CHUNK_HEADER, to).1
    }

    const DONE: Word = Word::taken(0, false).with(State::Complete);
    const GOES_ON: Word = Word::taken(0, true).with(State::Complete);

    /// Field 1 with a length of five bytes at offset 1 of the first fragment.
    const BEGUN: &[u8] = &[0x0a, 0x80, 0x80, 0x80, 0x80, 0, 0x10];
    const PATCHED: [u8; 11] = [0, 0, 0, 0, 1, 0, 0x82, 0x80, 0x80, 0x80, 0];

    #[test]
    fn a_packet_across_chunks_is_assembled_and_patched() {
        let (mut assembler, mut kept) = (Assembler::new(1, 2, 0), Kept::default());
        let first = chunk(&[(&[0x18, 1], false), (BEGUN, false)]);
        assert_eq!(read(&mut assembler, DONE.plus(2).continued(), &first, &mut kept), 0);
        assert_eq!(kept.0, [[0x18, 1]]);
        // A chunk of patches alone, then a chunk with bytes of the packet and the next packet.
        assert_eq!(
            read(&mut assembler, GOES_ON.plus(1).continued(), &chunk(&[(&PATCHED, true)]), &mut kept),
            0
        );
        let last = chunk(&[(&[5], false), (&[0x18, 2], false)]);
        assert_eq!(read(&mut assembler, GOES_ON.plus(2), &last, &mut kept), 0);
        assert_eq!(kept.0[1..], [vec![0x0a, 0x82, 0x80, 0x80, 0x80, 0, 0x10, 5], vec![0x18, 2]]);
        assert_eq!(assembler.summary.packets, 3);
    }

    #[test]
    fn an_abandoned_packet_is_dropped() {
        for next in [DONE, GOES_ON] {
            let (mut assembler, mut kept) = (Assembler::new(1, 2, 0), Kept::default());
            let begun = chunk(&[(&[0x18, 1, 0x18], false)]);
            read(&mut assembler, DONE.plus(1).continued(), &begun, &mut kept);
            // The next chunk does not continue the packet, or has no bytes of it.
            read(&mut assembler, next, &chunk(&[]), &mut kept);
            assert_eq!((kept.0.len(), assembler.summary.unfinished, assembler.partial_bytes()), (0, 1, 0));
        }
    }

    #[test]
    fn patches_go_where_a_length_is_missing_and_nowhere_else() {
        for wrong in [[9, 0, 0, 0, 1, 0], [0, 0, 0, 0, 2, 0], [0, 0, 0, 0, 0xff, 0xff], [0xff; 6]] {
            let (mut assembler, mut kept) = (Assembler::new(1, 2, 0), Kept::default());
            read(&mut assembler, DONE.plus(1).continued(), &chunk(&[(BEGUN, false)]), &mut kept);
            let patch = [&wrong[..], &[0x82, 0x80, 0x80, 0x80, 0]].concat();
            let last = chunk(&[(&[5], false), (&patch, true), (&[0x18, 2], false)]);
            assert_eq!(read(&mut assembler, GOES_ON.plus(3), &last, &mut kept), 1);
            assert_eq!(kept.0, [[0x18, 2]], "the packet is dropped, the next is not");
        }
    }

    #[test]
    fn random_bytes_are_read_to_their_end() {
        let mut seed = 7u64;
        let mut random = move || {
            seed = seed.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(0x1405_7b7e_f767_814f);
            (seed >> 33) as u32
        };
        let (mut assembler, mut kept) = (Assembler::new(1, 2, 0), Kept::default());
        for _ in 0..20_000 {
            let mut bytes: Vec<u8> =
                (0..CHUNK_HEADER + random() as usize % 300).map(|_| random() as u8).collect();
            // Make most lengths possible ones.
            for byte in bytes.iter_mut().skip(CHUNK_HEADER + 1).step_by(2) {
                *byte = if random() % 8 == 0 { 0x80 } else { 0 };
            }
            let word =
                Word(random()).with([State::Busy, State::Idle, State::Complete][random() as usize % 3]);
            assembler.begin_chunk(ChunkHead { word, lost: random() % 2 });
            let (mut from, mut at) = (0, CHUNK_HEADER);
            for _ in 0..3 {
                at = assembler.read(&bytes, word, from, at, &mut kept).0;
                assert!(at <= bytes.len());
                from = word.count().min(from + random() % 100);
            }
            assert!(kept.0.iter().all(|packet| is_well_formed(packet)));
            kept.0.clear();
        }
    }
}
