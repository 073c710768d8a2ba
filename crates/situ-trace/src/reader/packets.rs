//! Cuts a trace file into packets.

/// The tag of `Trace.packet`.
const PACKET: u32 = 1;

/// The packets of a file, in order. If the file ends within a packet (the recorder was killed), the iteration
/// ends before that packet.
#[derive(Debug)]
pub(super) struct PacketReader<'a> {
    rest: &'a [u8],
    /// The number of bytes at the end that are an incomplete packet.
    pub(super) unread: u64,
}

impl<'a> PacketReader<'a> {
    pub(super) fn new(bytes: &'a [u8]) -> Self {
        Self { rest: bytes, unread: 0 }
    }

    fn varint(&mut self) -> Option<u64> {
        let mut value = 0;
        for (index, byte) in self.rest.iter().take(10).enumerate() {
            value |= u64::from(byte & 0x7f) << (7 * index);
            if *byte < 0x80 {
                self.rest = &self.rest[index + 1..];
                return Some(value);
            }
        }
        None
    }

    fn bytes(&mut self, length: u64) -> Option<&'a [u8]> {
        let (taken, rest) = self.rest.split_at_checked(usize::try_from(length).ok()?)?;
        self.rest = rest;
        Some(taken)
    }

    /// Returns the next field. The inner value is `None` if it is not a packet.
    fn field(&mut self) -> Option<Option<&'a [u8]>> {
        let tag = self.varint()?;
        match tag & 7 {
            0 => self.varint().map(|_| None),
            1 => self.bytes(8).map(|_| None),
            2 => {
                let length = self.varint()?;
                self.bytes(length).map(|bytes| (tag >> 3 == u64::from(PACKET)).then_some(bytes))
            }
            5 => self.bytes(4).map(|_| None),
            _ => None,
        }
    }
}

impl<'a> Iterator for PacketReader<'a> {
    type Item = &'a [u8];

    fn next(&mut self) -> Option<&'a [u8]> {
        while !self.rest.is_empty() {
            let before = self.rest;
            match self.field() {
                Some(Some(packet)) => return Some(packet),
                Some(None) => {}
                None => {
                    self.unread = before.len() as u64;
                    self.rest = &[];
                }
            }
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::PacketReader;

    fn read(bytes: &[u8]) -> (Vec<&[u8]>, u64) {
        let mut packets = PacketReader::new(bytes);
        let read = packets.by_ref().collect();
        (read, packets.unread)
    }

    #[test]
    fn packets_come_until_the_file_ends_in_the_middle() {
        assert_eq!(read(b"\x0a\x02ab\x0a\x00\x0a\x01c"), (vec![&b"ab"[..], b"", b"c"], 0));
        assert_eq!(read(b"\x0a\x02ab\x0a\x09c"), (vec![&b"ab"[..]], 3));
        assert_eq!(read(b""), (vec![], 0));
        assert_eq!(read(b"\xff\xff"), (vec![], 2));
    }

    #[test]
    fn fields_that_are_not_packets_are_skipped() {
        assert_eq!(read(b"\x10\x96\x01\x0a\x01x\x1d1234\x21abcdefgh\x12\x01y"), (vec![&b"x"[..]], 0));
    }
}
