//! What the messages of a measurement hold: a sequence number, a time, and bytes made from the number.

use crate::failure::Failure;

/// Bytes of the header: the sequence number and a time.
pub const HEADER: usize = 16;

/// How much of a message is touched.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Touch {
    /// The header alone.
    Header,
    /// Every byte is written and read.
    All,
}

/// Writes a message.
#[inline]
pub fn write(bytes: &mut [u8], sequence: u64, time: u64, touch: Touch) {
    bytes[..8].copy_from_slice(&sequence.to_le_bytes());
    bytes[8..16].copy_from_slice(&time.to_le_bytes());
    if touch == Touch::All {
        bytes[HEADER..].fill(sequence as u8);
    }
}

/// Reads a message and returns its sequence number and time.
#[inline]
pub fn read(system: &'static str, bytes: &[u8], touch: Touch) -> Result<(u64, u64), Failure> {
    let word = |at: usize| bytes[at..at + 8].try_into().map_or(0, u64::from_le_bytes);
    let (sequence, time) = (word(0), word(8));
    if touch == Touch::All {
        let (words, rest) = bytes[HEADER..].as_chunks::<8>();
        let expected = u64::from_ne_bytes([sequence as u8; 8]);
        let wrong = words.iter().fold(0, |wrong, word| wrong | (u64::from_ne_bytes(*word) ^ expected));
        if wrong != 0 || rest.iter().any(|&byte| byte != sequence as u8) {
            return Err(Failure::Wrong { system, expected: sequence, got: u64::MAX });
        }
    }
    Ok((sequence, time))
}

#[cfg(test)]
mod tests {
    use super::{Touch, read, write};

    #[test]
    fn full_messages_are_checked() {
        let mut bytes = [0; 61];
        write(&mut bytes, 0x1234, 9, Touch::All);
        assert_eq!(bytes[16..], [0x34; 45]);
        assert_eq!(read("x", &bytes, Touch::All).expect("intact"), (0x1234, 9));
        bytes[60] = 0;
        assert!(read("x", &bytes, Touch::All).is_err());
        assert!(read("x", &bytes, Touch::Header).is_ok());
        write(&mut bytes, 0x1234, 9, Touch::All);
        bytes[20] = 0;
        assert!(read("x", &bytes, Touch::All).is_err());
    }
}
