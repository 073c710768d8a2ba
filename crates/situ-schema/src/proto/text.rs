//! Protobuf's text format: prints and parses messages of types that `.proto` files define, without compiled
//! types.
//!
//! The types, their extensions and the text format are those of the crate `prost-reflect`. This file limits
//! how deep a text may nest, because that parser calls itself for each level.

use std::path::PathBuf;

use prost_reflect::prost_types::FileDescriptorSet;
use prost_reflect::text_format::FormatOptions;
use prost_reflect::{DescriptorPool, DynamicMessage, MessageDescriptor};

use prost::Message as _;

use super::error::ProtoError;
use super::frontend::load;

/// The maximum number of messages around a message; also that of protobuf's own parsers.
const MAX_NESTING: usize = 100;
/// The number of known types that an error names.
const MAX_NAMED: usize = 20;

/// Why a message cannot be printed or parsed.
#[derive(thiserror::Error)]
#[non_exhaustive]
pub enum TextError {
    /// The files define no such message.
    #[error("there is no message `{name}`; there are: {known}")]
    UnknownType {
        /// Its name.
        name: String,
        /// Names of messages that the files define.
        known: String,
    },
    /// The bytes are not a message.
    #[error("the bytes are not a message of the type {type_name}: {source}")]
    Bytes {
        /// The type.
        type_name: String,
        /// What is wrong.
        source: prost::DecodeError,
    },
    /// The text is not a message.
    #[error("the text is not a message of the type {type_name}: {reason}")]
    Text {
        /// The type.
        type_name: String,
        /// What is wrong.
        reason: String,
    },
    /// Messages lie in messages too often.
    #[error("line {line}: messages are nested more than {max} times", max = MAX_NESTING)]
    TooDeep {
        /// The line of the text, from 1.
        line: usize,
    },
}

situ_layout::debug_as_text!(TextError);

/// The types of `.proto` files, for the text format.
#[derive(Debug)]
pub struct TextFormat {
    types: DescriptorPool,
}

impl TextFormat {
    /// Reads files, and their imports from these folders.
    pub fn load(files: &[PathBuf], folders: &[PathBuf]) -> Result<Self, ProtoError> {
        Ok(Self { types: load::load_types(files, load::search_path(files, folders))? })
    }

    /// Reads an encoded `FileDescriptorSet`, which protoc writes with `--include_imports`.
    pub fn from_descriptors(bytes: &[u8]) -> Result<Self, ProtoError> {
        // Files of editions are refused for the reason of `load_types`.
        let files = FileDescriptorSet::decode(bytes)
            .map_err(|source| ProtoError::NoDescriptors { reason: source.to_string() })?;
        if let Some(file) = files.file.iter().find(|file| file.syntax() == "editions") {
            return Err(ProtoError::DynamicEdition { file: file.name().to_owned() });
        }
        // Decoded from the bytes: extensions of options are unknown fields, which the structs of prost drop.
        let types = DescriptorPool::decode(bytes)
            .map_err(|source| ProtoError::NoDescriptors { reason: source.to_string() })?;
        Ok(Self { types })
    }

    /// Prints an encoded message. Fields that its type does not have are printed by number.
    pub fn print(&self, type_name: &str, bytes: &[u8]) -> Result<String, TextError> {
        let message = DynamicMessage::decode(self.find(type_name)?, bytes)
            .map_err(|source| TextError::Bytes { type_name: type_name.to_owned(), source })?;
        let options = FormatOptions::new().pretty(true).skip_unknown_fields(false);
        let mut text = message.to_text_format_with_options(&options);
        if !text.is_empty() && !text.ends_with('\n') {
            text.push('\n');
        }
        Ok(text)
    }

    /// Encodes a message from its text.
    pub fn parse(&self, type_name: &str, text: &str) -> Result<Vec<u8>, TextError> {
        let found = self.find(type_name)?;
        limit_nesting(text)?;
        let message = DynamicMessage::parse_text_format(found, text).map_err(|error| TextError::Text {
            type_name: type_name.to_owned(),
            reason: error.to_string(),
        })?;
        Ok(message.encode_to_vec())
    }

    fn find(&self, name: &str) -> Result<MessageDescriptor, TextError> {
        self.types.get_message_by_name(name.trim_start_matches('.')).ok_or_else(|| {
            let own = self.types.all_messages().filter(|it| !it.is_map_entry());
            let own = own.filter(|it| !it.full_name().starts_with("google.protobuf."));
            let known: Vec<String> = own.map(|it| it.full_name().to_owned()).take(MAX_NAMED).collect();
            TextError::UnknownType { name: name.to_owned(), known: known.join(", ") }
        })
    }
}

/// Counts brackets outside of strings and comments.
fn limit_nesting(text: &str) -> Result<(), TextError> {
    let (mut depth, mut line) = (0usize, 1);
    let mut quote = None;
    let mut bytes = text.bytes();
    while let Some(byte) = bytes.next() {
        line += usize::from(byte == b'\n');
        match (quote, byte) {
            (Some(_), b'\\') => {
                bytes.next();
            }
            // A string does not go beyond its line.
            (Some(_), b'\n') => quote = None,
            (Some(end), byte) if byte == end => quote = None,
            (Some(_), _) => {}
            (None, b'"' | b'\'') => quote = Some(byte),
            (None, b'#') => {
                line += usize::from(bytes.by_ref().any(|byte| byte == b'\n'));
            }
            (None, b'{' | b'<' | b'[') => {
                depth += 1;
                if depth > MAX_NESTING {
                    return Err(TextError::TooDeep { line });
                }
            }
            (None, b'}' | b'>' | b']') => depth = depth.saturating_sub(1),
            _ => {}
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kitchen() -> TextFormat {
        let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../spec/vectors/protobuf");
        TextFormat::load(&[folder.join("kitchen.proto")], &[]).unwrap()
    }

    #[test]
    fn a_message_is_printed_and_parsed() {
        let kitchen = kitchen();
        // int32 1 = -1, string 14 = "a\"b", child 16 { bool 13 = true }, unknown field 500 = 7.
        let bytes = [
            &[0x08, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x01][..],
            &[0x72, 3, b'a', b'"', b'b', 0x82, 0x01, 2, 0x68, 1, 0xa0, 0x1f, 7],
        ];
        let text = kitchen.print("situ.kitchen.Kitchen", &bytes.concat()).unwrap();
        assert_eq!(text, "int32: -1\nstring: \"a\\\"b\"\nchild {\n  bool: true\n}\n500: 7\n");
        let known = text.replace("500: 7\n", "");
        let parsed = kitchen.parse(".situ.kitchen.Kitchen", &known).unwrap();
        assert_eq!(parsed, bytes.concat()[..21]);
        assert_eq!(kitchen.print("situ.kitchen.Kitchen", &[]).unwrap(), "");
    }

    #[test]
    fn errors_say_what_is_wrong() {
        let kitchen = kitchen();
        let wrong = TextFormat::from_descriptors(&[0x0a, 5, 1]).unwrap_err();
        assert!(matches!(wrong, ProtoError::NoDescriptors { .. }), "{wrong}");
        let error = kitchen.print("Kitchen", &[]).unwrap_err().to_string();
        assert!(error.contains("situ.kitchen.Kitchen"), "{error}");
        assert!(matches!(kitchen.print("situ.kitchen.Kitchen", &[0x08]), Err(TextError::Bytes { .. })));
        let parse = |text: &str| kitchen.parse("situ.kitchen.Kitchen", text);
        assert!(matches!(parse("fork: 1"), Err(TextError::Text { .. })));
        let deep = |levels: usize| format!("{}{}", "child {".repeat(levels), "}".repeat(levels));
        assert!(parse(&deep(MAX_NESTING)).is_ok());
        assert!(matches!(parse(&format!("\n{}", deep(100_000))), Err(TextError::TooDeep { line: 2 })));
        // Brackets in strings and comments do not count.
        let brackets = "{".repeat(200);
        assert!(parse(&format!("string: \"\\\"{brackets}\" # {brackets}\nint32: 1")).is_ok());
    }
}
