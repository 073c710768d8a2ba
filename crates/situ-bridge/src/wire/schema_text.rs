//! A type of Situ as one bridge tells it another.
//!
//! ```text
//!   situ-type 1
//!   name <name>
//!   encoding <flat|xcdr1|xcdr2|region>
//!   layout <16 hexadecimal digits>
//!   size <bytes of a flat message, or 0>
//!
//!   <schema>
//! ```

use situ_bus::{Encoding, TypeDescription};
use situ_schema::Schema;

/// The longest text that is read.
pub const MAX_TEXT: usize = 1 << 20;
/// The first line.
const FIRST: &str = "situ-type 1";
/// The names of encodings.
const ENCODINGS: [(Encoding, &str); 4] = [
    (Encoding::Flat, "flat"),
    (Encoding::Xcdr1, "xcdr1"),
    (Encoding::Xcdr2, "xcdr2"),
    (Encoding::Region, "region"),
];

/// Why a text is no type.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SchemaTextError {
    /// It is too long, or no UTF-8.
    #[error("the other bridge told a type in {length} bytes; a text of at most {MAX_TEXT} was expected")]
    NotText {
        /// Its length in bytes.
        length: usize,
    },
    /// A line of its head is missing or malformed.
    #[error("the other bridge told a type whose line {line:?} is missing or malformed")]
    Line {
        /// The line.
        line: &'static str,
    },
    /// The schema cannot be read.
    #[error("the other bridge told the type {name}, whose schema cannot be read: {reason}")]
    Schema {
        /// The type.
        name: String,
        /// Why not.
        reason: String,
    },
    /// The schema does not have the hash for which it was asked.
    #[error("the other bridge told a schema of {name} whose hash is {found}, not {expected}")]
    Hash {
        /// The type.
        name: String,
        /// The hash of the schema.
        found: String,
        /// That of the topic.
        expected: String,
    },
}

/// The hash of a schema as keys have it.
pub fn hash_text(schema_hash: u64) -> String {
    format!("SITU_{schema_hash:016x}")
}

/// The text of a type.
pub fn to_text(description: &TypeDescription) -> String {
    let encoding = ENCODINGS.iter().find(|(encoding, _)| *encoding == description.encoding);
    format!(
        "{FIRST}\nname {}\nencoding {}\nlayout {:016x}\nsize {}\n\n{}",
        description.name,
        encoding.map_or("flat", |(_, name)| name),
        description.layout_hash,
        description.fixed_size,
        description.schema
    )
}

/// Reads a type. The text is that of an unknown peer. `is_expected` checks that its schema has the hash of
/// the topic.
pub fn from_bytes(
    bytes: &[u8],
    is_expected: impl Fn(&Schema, &str) -> Result<(), String>,
) -> Result<TypeDescription, SchemaTextError> {
    let text = std::str::from_utf8(bytes).ok().filter(|text| text.len() <= MAX_TEXT);
    let text = text.ok_or(SchemaTextError::NotText { length: bytes.len() })?;
    let wrong = |line| SchemaTextError::Line { line };
    let (head, schema) = text.split_once("\n\n").ok_or_else(|| wrong("(empty)"))?;
    let mut lines = head.lines();
    if lines.next() != Some(FIRST) {
        return Err(wrong(FIRST));
    }
    let mut next = |word: &'static str| {
        lines.next().and_then(|line| line.strip_prefix(word)?.strip_prefix(' ')).ok_or_else(|| wrong(word))
    };
    let name = next("name")?;
    let encoding = next("encoding")?;
    let encoding = ENCODINGS.iter().find(|(_, it)| *it == encoding).ok_or_else(|| wrong("encoding"))?.0;
    let layout_hash = u64::from_str_radix(next("layout")?, 16).map_err(|_| wrong("layout"))?;
    let fixed_size: u32 = next("size")?.parse().map_err(|_| wrong("size"))?;
    let unreadable = |reason: String| SchemaTextError::Schema { name: name.to_owned(), reason };
    let read = Schema::from_idl(schema).map_err(|error| unreadable(error.to_string()))?;
    let root = read.find(name).ok_or_else(|| unreadable("it does not define the type".to_owned()))?;
    is_expected(&read, name).map_err(|expected| SchemaTextError::Hash {
        name: name.to_owned(),
        found: hash_text(read.schema_hash(root)),
        expected,
    })?;
    // What follows from the schema is not taken from others.
    let is_flat = encoding == Encoding::Flat;
    if is_flat && (!read.is_flattable(root) || layout_hash != read.layout_hash(root)) {
        return Err(unreadable("it has another flat layout".to_owned()));
    }
    let size = read.flat_layout(root).map_or(0, |layout| layout.extent.size);
    if is_flat && fixed_size != 0 && u64::from(fixed_size) != size {
        return Err(unreadable(format!("its messages have {size} bytes, not {fixed_size}")));
    }
    Ok(TypeDescription {
        name: name.to_owned(),
        schema: read.canonical(root),
        schema_hash: read.schema_hash(root),
        layout_hash,
        encoding,
        fixed_size: if is_flat { fixed_size } else { 0 },
        user_header_size: 0,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn description() -> TypeDescription {
        let schema = Schema::from_idl("@flat struct P { int32 x; };").unwrap();
        let root = schema.find("P").unwrap();
        TypeDescription {
            name: "P".into(),
            schema: schema.canonical(root),
            schema_hash: schema.schema_hash(root),
            layout_hash: schema.layout_hash(root),
            encoding: Encoding::Flat,
            fixed_size: 4,
            user_header_size: 0,
        }
    }

    #[test]
    fn a_type_is_told_and_read() {
        let told = description();
        assert_eq!(from_bytes(to_text(&told).as_bytes(), |_, _| Ok(())), Ok(told));
    }

    #[test]
    fn other_texts_are_errors() {
        let read = |text: &str| from_bytes(text.as_bytes(), |_, _| Ok(())).unwrap_err();
        let told = to_text(&description());
        assert_eq!(read(""), SchemaTextError::Line { line: "(empty)" });
        assert_eq!(read(&told.replace("type 1", "type 2")), SchemaTextError::Line { line: FIRST });
        assert_eq!(read(&told.replace("flat\n", "cbor\n")), SchemaTextError::Line { line: "encoding" });
        assert_eq!(read(&told.replace("size 4", "size x")), SchemaTextError::Line { line: "size" });
        assert!(matches!(read(&told.replace("size 4", "size 8")), SchemaTextError::Schema { reason, .. }
            if reason == "its messages have 4 bytes, not 8"));
        assert!(matches!(read(&told.replace("name P", "name Q")), SchemaTextError::Schema { .. }));
        assert!(matches!(
            read(&told.replace("layout ", "layout 1")),
            SchemaTextError::Schema { .. } | SchemaTextError::Line { .. }
        ));
        assert!(matches!(
            from_bytes(&[0xff, b'\n', b'\n'], |_, _| Ok(())),
            Err(SchemaTextError::NotText { .. })
        ));
        let other = from_bytes(told.as_bytes(), |_, _| Err("SITU_0".into()));
        assert!(matches!(other, Err(SchemaTextError::Hash { expected, .. }) if expected == "SITU_0"));
    }
}
