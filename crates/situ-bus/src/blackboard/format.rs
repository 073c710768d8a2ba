//! The bytes of a blackboard's file. The normative description is `spec/blackboard.md`.

use situ_layout::foreign::is_name;

use crate::protocol::cell::Cell;

pub(super) const MAGIC: u64 = u64::from_le_bytes(*b"SITUBBRD");
pub(super) const VERSION: u32 = 1;

/// The greatest number of keys.
pub const MAX_KEYS: usize = 1 << 16;
/// The greatest size of a key, in bytes.
pub const MAX_KEY: usize = 255;
/// The greatest size of a value, in bytes.
pub const MAX_VALUE: usize = 1 << 16;
/// The greatest size of the type's name and of the schema, in bytes.
pub(super) const MAX_TEXT: usize = 1 << 24;
/// The greatest size of a file, in bytes.
pub(super) const MAX_FILE: usize = 1 << 30;

/// The offset of the word with the number of the writer's node; 0: the writer has left.
pub(super) const WRITER_OFFSET: usize = 128;
/// The offset of the word that counts all writes. On a line of its own.
pub(super) const CHANGES_OFFSET: usize = 192;
pub(super) const TEXT_OFFSET: usize = 256;
/// Cells begin at multiples of this.
const LINE: usize = 64;

/// The beginning of the file. It is fixed when the file is created.
#[repr(C)]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Header {
    pub magic: u64,
    pub version: u32,
    pub header_size: u32,
    pub schema_hash: u64,
    pub layout_hash: u64,
    /// The size of each value in bytes.
    pub value_size: u32,
    /// The number of keys.
    pub keys: u32,
    pub name_len: u32,
    pub type_len: u32,
    pub schema_len: u32,
    /// The size of all keys, each with the byte of its length.
    pub keys_len: u32,
    pub cells_offset: u64,
}

pub(super) const HEADER_SIZE: usize = size_of::<Header>();
const _: () = assert!(HEADER_SIZE == 64);

/// Where the parts of a file lie.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Parts {
    pub text_len: usize,
    pub cells: usize,
    /// The distance of two cells.
    pub stride: usize,
    pub end: usize,
}

impl Parts {
    /// The arguments are within their limits.
    fn of(text_len: usize, keys: usize, value_size: usize) -> Self {
        let cells = (TEXT_OFFSET + text_len).next_multiple_of(LINE);
        let stride = (Cell::words(value_size) * 8).next_multiple_of(LINE);
        Self { text_len, cells, stride, end: cells + keys * stride }
    }
}

impl Header {
    /// The header for a type, whose value size and texts are within their limits, and for keys.
    pub(super) fn new(
        (schema_hash, layout_hash): (u64, u64),
        value_size: u32,
        keys: u32,
        [name_len, type_len, schema_len, keys_len]: [u32; 4],
    ) -> Self {
        let mut header = Self {
            magic: MAGIC,
            version: VERSION,
            header_size: HEADER_SIZE as u32,
            schema_hash,
            layout_hash,
            value_size,
            keys,
            name_len,
            type_len,
            schema_len,
            keys_len,
            cells_offset: 0,
        };
        header.cells_offset = header.parts().cells as u64;
        header
    }

    pub(super) fn parts(&self) -> Parts {
        let text = [self.name_len, self.type_len, self.schema_len, self.keys_len];
        let text_len = text.into_iter().map(|len| len as usize).sum();
        Parts::of(text_len, self.keys as usize, self.value_size as usize)
    }

    /// Checks the header of another process's file of `size` bytes. No part of the file was used before.
    pub(super) fn check(&self, size: u64) -> Result<Parts, String> {
        if self.magic != MAGIC {
            return Err("it does not begin as a blackboard does".to_owned());
        }
        if self.version != VERSION {
            return Err(format!("it has version {}, and this program reads version {VERSION}", self.version));
        }
        let limits = [
            ("header_size", self.header_size as usize, HEADER_SIZE, HEADER_SIZE),
            ("value_size", self.value_size as usize, 1, MAX_VALUE),
            ("keys", self.keys as usize, 1, MAX_KEYS),
            ("name_len", self.name_len as usize, 1, MAX_TEXT),
            ("type_len", self.type_len as usize, 1, MAX_TEXT),
            ("schema_len", self.schema_len as usize, 0, MAX_TEXT),
            ("keys_len", self.keys_len as usize, 2, MAX_KEYS * (MAX_KEY + 1)),
        ];
        if let Some((field, found, least, most)) =
            limits.into_iter().find(|(_, found, least, most)| !(least..=most).contains(&found))
        {
            return Err(format!("{field} is {found}, and it can be {least} to {most}"));
        }
        let parts = self.parts();
        if self.cells_offset != parts.cells as u64 {
            return Err(format!("cells_offset is {}, and it must be {}", self.cells_offset, parts.cells));
        }
        if parts.end > MAX_FILE || size < parts.end as u64 {
            return Err(format!("it has {size} bytes, and its header needs {}", parts.end));
        }
        Ok(parts)
    }

    pub(super) fn from_bytes(bytes: &[u8; HEADER_SIZE]) -> Self {
        // SAFETY: a header is plain numbers without padding, for which any bytes are valid.
        unsafe { bytes.as_ptr().cast::<Self>().read_unaligned() }
    }

    pub(super) fn to_bytes(self) -> [u8; HEADER_SIZE] {
        // SAFETY: a header has this size and no padding.
        unsafe { std::mem::transmute(self) }
    }
}

/// Whether a text can be a key.
pub(super) fn is_key(key: &str) -> bool {
    key.len() <= MAX_KEY && is_name(key, MAX_KEY)
}

/// The keys as the file has them: each behind a byte with its length. They are [keys](is_key).
pub(super) fn keys_to_bytes(keys: &[String]) -> Vec<u8> {
    let mut bytes = Vec::new();
    for key in keys {
        bytes.push(key.len() as u8);
        bytes.extend_from_slice(key.as_bytes());
    }
    bytes
}

/// Reads `count` keys. An error says what is wrong.
pub(super) fn keys_from_bytes(mut bytes: &[u8], count: usize) -> Result<Vec<String>, &'static str> {
    let mut keys = Vec::new();
    while let Some((len, rest)) = bytes.split_first() {
        if keys.len() == count {
            return Err("it has more keys than its header says");
        }
        let (key, rest) = rest.split_at_checked(usize::from(*len)).ok_or("its last key is too short")?;
        let key = std::str::from_utf8(key).map_err(|_| "a key is not UTF-8")?;
        if !is_key(key) {
            return Err("a key is empty or has control characters");
        }
        keys.push(key.to_owned());
        bytes = rest;
    }
    if keys.len() == count { Ok(keys) } else { Err("it has fewer keys than its header says") }
}

#[cfg(test)]
mod tests {
    use std::mem::offset_of;

    use super::*;

    const PAGE: &str = include_str!("../../../../spec/blackboard.md");

    /// Returns the rows of the table below a heading of the page: offset, size, name.
    fn table(heading: &str) -> Vec<(usize, usize, String)> {
        let section = PAGE.split(&format!("### {heading}\n")).nth(1).expect("the section is there");
        let section = section.split("\n#").next().unwrap();
        section
            .lines()
            .filter_map(|line| {
                let mut cells = line.strip_prefix("| ")?.split('|').map(str::trim);
                let (offset, size) = (cells.next()?.parse().ok()?, cells.next()?.parse().ok()?);
                Some((offset, size, cells.next()?.trim_matches('`').to_owned()))
            })
            .collect()
    }

    #[test]
    fn the_specification_names_every_field_where_it_is() {
        macro_rules! field {
            ($name:ident, $size:expr) => {
                (offset_of!(Header, $name), $size, stringify!($name).to_owned())
            };
        }
        let header = vec![
            field!(magic, 8),
            field!(version, 4),
            field!(header_size, 4),
            field!(schema_hash, 8),
            field!(layout_hash, 8),
            field!(value_size, 4),
            field!(keys, 4),
            field!(name_len, 4),
            field!(type_len, 4),
            field!(schema_len, 4),
            field!(keys_len, 4),
            field!(cells_offset, 8),
        ];
        assert_eq!(table("Header"), header);
        let words = vec![(WRITER_OFFSET, 8, "writer".to_owned()), (CHANGES_OFFSET, 8, "changes".to_owned())];
        assert_eq!(table("Words"), words);
    }

    #[test]
    fn the_specification_states_the_limits() {
        let of = |what: &str| {
            let row = PAGE.lines().find_map(|line| line.strip_prefix(&format!("| {what} | ")));
            row.unwrap().trim_end_matches(" |").replace(',', "").parse::<usize>().unwrap()
        };
        assert_eq!(of("keys"), MAX_KEYS);
        assert_eq!(of("bytes of a key"), MAX_KEY);
        assert_eq!(of("bytes of a value"), MAX_VALUE);
        assert_eq!(of("bytes of the schema"), MAX_TEXT);
        assert_eq!(of("bytes of the file"), MAX_FILE);
    }

    fn header() -> Header {
        Header::new((7, 8), 12, 3, [5, 4, 10, 9])
    }

    #[test]
    fn parts_lie_behind_each_other() {
        // 256 + 28 bytes of text, then lines. A cell of 12 bytes has 2 + 2 * 2 words, which is 48 bytes.
        let parts = Parts { text_len: 28, cells: 320, stride: 64, end: 320 + 3 * 64 };
        assert_eq!(header().parts(), parts);
        assert_eq!(header().check(512), Ok(parts));
        assert_eq!(Header::from_bytes(&header().to_bytes()), header());
        assert_eq!(Parts::of(0, 2, 65_536), Parts { text_len: 0, cells: 256, stride: 131_136, end: 262_528 });
    }

    #[test]
    fn other_headers_are_refused() {
        assert_eq!(header().check(511), Err("it has 511 bytes, and its header needs 512".to_owned()));
        for wrong in [
            Header { magic: 1, ..header() },
            Header { version: 2, ..header() },
            Header { header_size: 72, ..header() },
            Header { value_size: 0, ..header() },
            Header { value_size: 65_537, ..header() },
            Header { keys: 0, ..header() },
            Header { keys: u32::MAX, ..header() },
            Header { name_len: 0, ..header() },
            Header { schema_len: u32::MAX, ..header() },
            Header { keys_len: u32::MAX, ..header() },
            Header { cells_offset: 256, ..header() },
            Header { keys: 65_536, value_size: 65_536, ..header() },
        ] {
            assert!(wrong.check(u64::MAX).is_err(), "{wrong:?}");
        }
    }

    #[test]
    fn keys_are_read_as_they_are_written() {
        let keys = ["a".to_owned(), "größe".to_owned(), "x".repeat(255)];
        let bytes = keys_to_bytes(&keys);
        assert_eq!(bytes[..4], [1, b'a', 7, b'g']);
        assert_eq!(keys_from_bytes(&bytes, 3), Ok(keys.to_vec()));
        assert!(keys_from_bytes(&bytes, 2).is_err());
        assert!(keys_from_bytes(&bytes[..bytes.len() - 1], 3).is_err());
        assert!(keys_from_bytes(&[0], 1).is_err() && keys_from_bytes(&[1, 0xff], 1).is_err());
        assert!(keys_from_bytes(&[1, 0x1b], 1).is_err());
    }
}
