//! The user headers of requests and replies, which relate them to each other.

/// The size of both in bytes.
pub const HEADER_SIZE: u32 = 24;

/// What a message on the topic of requests is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u32)]
pub enum RequestKind {
    /// A request.
    Call = 1,
    /// The client needs no reply to an earlier request any more.
    Cancel = 2,
}

/// The user header of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RequestHeader {
    /// The number of the call, unique for its client.
    pub call: u64,
    /// When the client stops waiting, by `CLOCK_MONOTONIC`; 0: never.
    pub deadline_ns: u64,
    /// What the message is.
    pub kind: RequestKind,
}

/// What a message on the topic of replies is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u32)]
pub enum ReplyKind {
    /// The reply, or the last part of one: the call is over.
    Reply = 1,
    /// A part of a reply that is streamed.
    Part = 2,
    /// The end of a reply that is streamed, without content: the call is over.
    End = 3,
    /// The server refuses the request: the call is over. The head is a text.
    Refusal = 4,
}

/// The user header of a reply.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ReplyHeader {
    /// The number of the call.
    pub call: u64,
    /// The server's number for a refusal.
    pub code: u64,
    /// What the message is.
    pub kind: ReplyKind,
}

fn write(into: &mut [u8], numbers: [u64; 2], kind: u32) {
    if let Some((bytes, [])) = into.split_first_chunk_mut::<{ HEADER_SIZE as usize }>() {
        bytes[..8].copy_from_slice(&numbers[0].to_le_bytes());
        bytes[8..16].copy_from_slice(&numbers[1].to_le_bytes());
        bytes[16..20].copy_from_slice(&kind.to_le_bytes());
        bytes[20..].fill(0);
    }
}

/// Reads each number once.
fn read(from: &[u8]) -> Option<([u64; 2], u32)> {
    let (bytes, []) = from.split_first_chunk::<{ HEADER_SIZE as usize }>()? else { return None };
    let number = |at: usize| u64::from_le_bytes(std::array::from_fn(|index| bytes[at + index]));
    // The last four bytes are reserved.
    Some(([number(0), number(8)], number(16) as u32))
}

impl RequestHeader {
    /// Writes it into the user header of a loan.
    #[inline]
    pub fn write(self, into: &mut [u8]) {
        write(into, [self.call, self.deadline_ns], self.kind as u32);
    }

    /// Reads it from the user header of a sample. `None` if it is malformed.
    #[inline]
    pub fn read(from: &[u8]) -> Option<Self> {
        let ([call, deadline_ns], kind) = read(from)?;
        let kind = [RequestKind::Call, RequestKind::Cancel].into_iter().find(|it| *it as u32 == kind)?;
        Some(Self { call, deadline_ns, kind })
    }
}

impl ReplyHeader {
    /// Writes it into the user header of a loan.
    #[inline]
    pub fn write(self, into: &mut [u8]) {
        write(into, [self.call, self.code], self.kind as u32);
    }

    /// Reads it from the user header of a sample. `None` if it is malformed.
    #[inline]
    pub fn read(from: &[u8]) -> Option<Self> {
        let ([call, code], kind) = read(from)?;
        let kinds = [ReplyKind::Reply, ReplyKind::Part, ReplyKind::End, ReplyKind::Refusal];
        let kind = kinds.into_iter().find(|it| *it as u32 == kind)?;
        Some(Self { call, code, kind })
    }
}

impl ReplyKind {
    /// Whether no reply follows this one.
    pub fn is_last(self) -> bool {
        self != Self::Part
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_specification_names_every_field_where_it_is() {
        let page = include_str!("../../../../spec/service.md");
        let rows = |heading: &str| {
            let section =
                page.split(&format!("### {heading}\n")).nth(1).unwrap().split("\n#").next().unwrap();
            let rows = section.lines().filter(|line| line.starts_with("| ") && line.contains('`'));
            rows.map(|line| line.split('|').nth(3).unwrap().trim().to_owned()).collect::<Vec<_>>()
        };
        assert_eq!(rows("Request"), ["`call`", "`deadline_ns`", "`kind`"]);
        assert_eq!(rows("Reply"), ["`call`", "`code`", "`kind`"]);
        for (offset, size, name) in
            [(0, 8, "`call`"), (8, 8, "`deadline_ns`"), (8, 8, "`code`"), (16, 4, "`kind`")]
        {
            assert!(page.contains(&format!("| {offset} | {size} | {name} |")), "{name}");
        }
    }

    #[test]
    fn headers_have_the_specified_bytes() {
        let mut bytes = [0xff; 24];
        let request = RequestHeader { call: 0x0102, deadline_ns: 0x0a0b, kind: RequestKind::Cancel };
        request.write(&mut bytes);
        let expected = [2, 1, 0, 0, 0, 0, 0, 0, 0x0b, 0x0a, 0, 0, 0, 0, 0, 0, 2, 0, 0, 0, 0, 0, 0, 0];
        assert_eq!((bytes, RequestHeader::read(&bytes)), (expected, Some(request)));
        let reply = ReplyHeader { call: 7, code: 9, kind: ReplyKind::Refusal };
        reply.write(&mut bytes);
        assert_eq!((bytes[0], bytes[8], bytes[16], ReplyHeader::read(&bytes)), (7, 9, 4, Some(reply)));
        bytes[16] = 5;
        assert_eq!((RequestHeader::read(&bytes), ReplyHeader::read(&bytes)), (None, None));
        assert_eq!((RequestHeader::read(&bytes[..20]), ReplyHeader::read(&[0; 32])), (None, None));
    }
}
