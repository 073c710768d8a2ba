//! The bytes beside each message, as rmw_zenoh has them, with the origin of a message behind them.
//!
//! ```text
//!   0   i64   number of the message, counted by its publisher from 1
//!   8   i64   when it was published, in nanoseconds since 1970
//!   16  u8    16, the length of what follows
//!   17        the GID of its publisher
//!   33        "SITU", then u64: the origin. Only bridges of Situ write it.
//!   45  u8    of a reply: 1 if other parts follow, 2 if it is the end and has no content
//! ```
//!
//! All numbers are little-endian. rmw_zenoh reads the first 33 bytes and ignores what follows. The origin is
//! the number of the root in which the message was published. A bridge does not publish a message into the
//! root that it came from.

/// The size of the part that rmw_zenoh reads.
const ROS_SIZE: usize = 33;
/// What announces an origin.
const MARK: &[u8; 4] = b"SITU";
/// The size with an origin.
pub const SIZE: usize = ROS_SIZE + MARK.len() + 8;
/// The largest attachment that is read.
const MAX_SIZE: usize = 1024;

/// The GID of a publisher or client.
pub type Gid = [u8; 16];

/// What a reply is to its request.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum ReplyPart {
    /// The only one, or the last part.
    #[default]
    Last,
    /// A part that others follow.
    More,
    /// The end of the parts, without content.
    End,
}

/// What is said beside a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Attachment {
    /// The number of the message among those of its publisher or client, from 1.
    pub sequence: i64,
    /// When it was published, in nanoseconds since 1970.
    pub time_ns: i64,
    /// Its publisher or client.
    pub gid: Gid,
    /// The root in which it was published, if a bridge of Situ sent it.
    pub origin: Option<u64>,
    /// Of a reply, whether others follow. Written with an origin alone.
    pub part: ReplyPart,
}

/// Why bytes are no attachment.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum AttachmentError {
    /// There are none.
    #[error("the message has no attachment; rmw_zenoh and bridges of Situ send one with each message")]
    Missing,
    /// Its size is not that of an attachment.
    #[error("an attachment has 33 to 1024 bytes, this one has {size}")]
    Size {
        /// Its size in bytes.
        size: usize,
    },
    /// The GID has another length.
    #[error("the attachment states a GID of {length} bytes in place of 16; an early rmw_zenoh writes others")]
    GidLength {
        /// The length that it states.
        length: u8,
    },
}

fn array<const N: usize>(bytes: &[u8], at: usize) -> [u8; N] {
    let mut array = [0; N];
    if let Some(bytes) = bytes.get(at..at + N) {
        array.copy_from_slice(bytes);
    }
    array
}

impl Attachment {
    /// The bytes, with the origin if there is one.
    pub fn to_bytes(self) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(SIZE);
        bytes.extend_from_slice(&self.sequence.to_le_bytes());
        bytes.extend_from_slice(&self.time_ns.to_le_bytes());
        bytes.push(self.gid.len() as u8);
        bytes.extend_from_slice(&self.gid);
        if let Some(origin) = self.origin {
            bytes.extend_from_slice(MARK);
            bytes.extend_from_slice(&origin.to_le_bytes());
            match self.part {
                ReplyPart::Last => {}
                ReplyPart::More => bytes.push(1),
                ReplyPart::End => bytes.push(2),
            }
        }
        bytes
    }

    /// Reads an attachment. The bytes are those of an unknown peer.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, AttachmentError> {
        if !(ROS_SIZE..=MAX_SIZE).contains(&bytes.len()) {
            return Err(AttachmentError::Size { size: bytes.len() });
        }
        if bytes[16] != 16 {
            return Err(AttachmentError::GidLength { length: bytes[16] });
        }
        let has_origin = bytes.len() >= SIZE && bytes[ROS_SIZE..].starts_with(MARK);
        Ok(Self {
            sequence: i64::from_le_bytes(array(bytes, 0)),
            time_ns: i64::from_le_bytes(array(bytes, 8)),
            gid: array(bytes, 17),
            origin: has_origin.then(|| u64::from_le_bytes(array(bytes, ROS_SIZE + MARK.len()))),
            part: match bytes.get(SIZE).filter(|_| has_origin) {
                Some(1) => ReplyPart::More,
                Some(2) => ReplyPart::End,
                _ => ReplyPart::Last,
            },
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const GID: Gid = [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16];

    #[test]
    fn the_bytes_are_those_of_rmw_zenoh() {
        let attachment =
            Attachment { sequence: 7, time_ns: 0x0102_0304, gid: GID, origin: None, part: ReplyPart::Last };
        let mut expected = vec![7, 0, 0, 0, 0, 0, 0, 0, 4, 3, 2, 1, 0, 0, 0, 0, 16];
        expected.extend_from_slice(&GID);
        assert_eq!(attachment.to_bytes(), expected);
        assert_eq!(Attachment::from_bytes(&expected), Ok(attachment));
        // What another program appends is ignored.
        expected.extend_from_slice(b"other things");
        assert_eq!(Attachment::from_bytes(&expected), Ok(attachment));
    }

    #[test]
    fn an_origin_follows() {
        let attachment =
            Attachment { sequence: -1, time_ns: 1, gid: GID, origin: Some(0x1122), part: ReplyPart::Last };
        let bytes = attachment.to_bytes();
        assert_eq!(
            (bytes.len(), &bytes[33..]),
            (45, [b'S', b'I', b'T', b'U', 0x22, 0x11, 0, 0, 0, 0, 0, 0].as_slice())
        );
        assert_eq!(Attachment::from_bytes(&bytes), Ok(attachment));
        let cut = Attachment::from_bytes(&bytes[..44]).unwrap();
        assert_eq!(cut.origin, None);
        for (number, part) in [(1, ReplyPart::More), (2, ReplyPart::End)] {
            let attachment = Attachment { part, ..attachment };
            let bytes = attachment.to_bytes();
            assert_eq!((bytes.len(), bytes[45]), (46, number));
            assert_eq!(Attachment::from_bytes(&bytes), Ok(attachment));
        }
        let unknown = [&bytes[..], &[3]].concat();
        assert_eq!(Attachment::from_bytes(&unknown), Ok(attachment));
    }

    #[test]
    fn other_bytes_are_errors() {
        for size in [0, 32, 1025] {
            assert_eq!(Attachment::from_bytes(&vec![16; size]), Err(AttachmentError::Size { size }));
        }
        let mut bytes = [0; 33];
        bytes[16] = 24;
        assert_eq!(Attachment::from_bytes(&bytes), Err(AttachmentError::GidLength { length: 24 }));
    }
}
