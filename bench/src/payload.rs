//! The content of a message: a sequence number, a time, and bytes that follow from the number.

use std::mem::MaybeUninit;

use crate::failure::Failure;

/// Bytes of the header: the sequence number and the time. A message's size includes them.
pub const HEADER: usize = 16;

/// The touched part of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Touch {
    /// The header alone.
    Header,
    /// The header. The reader also reads the first and the last byte behind it.
    Ends,
    /// Every byte is written and read.
    All,
}

/// What a receiver has read from a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Found {
    /// The sequence number.
    pub sequence: u64,
    /// The time.
    pub time: u64,
    /// The size, header included.
    pub size: usize,
    /// The first and the last byte behind the header, if they were read.
    pub ends: (u8, u8),
}

/// Writes the bytes behind the header.
#[inline]
pub fn fill(data: &mut [u8], sequence: u64, touch: Touch) {
    if touch == Touch::All {
        data.fill(sequence as u8);
    }
}

/// Writes the bytes behind the header for the first time.
#[inline]
pub fn fill_fresh(data: &mut [MaybeUninit<u8>], sequence: u64) {
    data.fill(MaybeUninit::new(sequence as u8));
}

/// Writes a message that is a block of bytes.
#[inline]
pub fn write(bytes: &mut [u8], sequence: u64, time: u64, touch: Touch) {
    let (header, data) = bytes.split_at_mut(HEADER);
    header[..8].copy_from_slice(&sequence.to_le_bytes());
    header[8..].copy_from_slice(&time.to_le_bytes());
    fill(data, sequence, touch);
}

/// Reads a message that is a block of bytes.
#[inline]
pub fn read(system: &'static str, bytes: &[u8], touch: Touch) -> Result<Found, Failure> {
    let word = |at: usize| bytes[at..at + 8].try_into().map_or(0, u64::from_le_bytes);
    find(system, word(0), word(8), &bytes[HEADER..], touch)
}

/// Reads a message whose header is known. Checks its bytes if all are to be touched.
#[inline]
pub fn find(
    system: &'static str,
    sequence: u64,
    time: u64,
    data: &[u8],
    touch: Touch,
) -> Result<Found, Failure> {
    let mut ends = (0, 0);
    if touch == Touch::All {
        let (words, rest) = data.as_chunks::<8>();
        let expected = u64::from_ne_bytes([sequence as u8; 8]);
        let wrong = words.iter().fold(0, |wrong, word| wrong | (u64::from_ne_bytes(*word) ^ expected));
        if wrong != 0 || rest.iter().any(|&byte| byte != sequence as u8) {
            return Err(Failure::Wrong { system, expected: sequence, got: u64::MAX });
        }
    }
    if touch == Touch::Ends
        && let (Some(first), Some(last)) = (data.first(), data.last())
    {
        ends = (*first, *last);
    }
    Ok(Found { sequence, time, size: HEADER + data.len(), ends })
}

#[cfg(test)]
mod tests {
    use super::{Found, Touch, read, write};

    #[test]
    fn full_messages_are_checked() {
        let mut bytes = [0; 61];
        write(&mut bytes, 0x1234, 9, Touch::All);
        assert_eq!(bytes[16..], [0x34; 45]);
        let found = Found { sequence: 0x1234, time: 9, size: 61, ends: (0x34, 0x34) };
        assert_eq!(read("x", &bytes, Touch::Ends).expect("intact"), found);
        bytes[60] = 0;
        assert!(read("x", &bytes, Touch::All).is_err());
        assert_eq!(read("x", &bytes, Touch::Ends).expect("not looked at").ends, (0x34, 0));
        write(&mut bytes, 0x1234, 9, Touch::All);
        bytes[20] = 0;
        assert!(read("x", &bytes, Touch::All).is_err());
    }

    #[test]
    fn headers_leave_the_rest_alone() {
        let mut bytes = [7; 64];
        write(&mut bytes, 1, 2, Touch::Header);
        assert_eq!(bytes[16..], [7; 48]);
        assert_eq!(read("x", &bytes, Touch::Header).expect("intact").sequence, 1);
    }
}
