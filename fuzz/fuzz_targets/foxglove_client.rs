//! What a client of the server for Foxglove sends: messages in JSON, types that it defines, and contents.
//!
//! An input is a message, a zero, and the content that the client publishes on each channel of the message.
//! The module is included by its path, because its crate does not show it to others.
#![no_main]

#[allow(dead_code)]
#[path = "../../crates/situ-foxglove/src/protocol.rs"]
mod protocol;

use libfuzzer_sys::fuzz_target;
use protocol::{ClientChannel, ClientMessage, client_data};
use situ_record::read_type;
use situ_schema::dynamic::{from_cdr, from_text, to_cdr, to_flat};
use situ_wire::Encoding::Xcdr1;

/// Reads a content as the server does, before it publishes it.
fn publish(channel: &ClientChannel, content: &[u8]) -> Option<()> {
    let (text, language) = (channel.schema.as_ref()?, channel.schema_encoding.as_ref()?);
    let (schema, root) = read_type(language, &channel.schema_name, text.as_bytes()).ok()?;
    let value = match channel.encoding.as_str() {
        "json" => from_text(&schema, root, std::str::from_utf8(content).ok()?).ok()?,
        _ => from_cdr(&schema, root, content).ok()?,
    };
    if schema.is_flattable(root) {
        let _ = to_flat(&schema, root, &value);
    }
    let cdr = to_cdr(&schema, root, &value, Xcdr1).ok()?;
    from_cdr(&schema, root, &cdr).expect("what was written can be read");
    Some(())
}

fuzz_target!(|bytes: &[u8]| {
    if let Some((id, content)) = client_data(bytes) {
        assert_eq!([&[1], &id.to_le_bytes()[..], content].concat(), bytes);
    }
    let at = bytes.iter().position(|it| *it == 0).unwrap_or(bytes.len());
    let (message, content) = (&bytes[..at], bytes.get(at + 1..).unwrap_or_default());
    if let Ok(ClientMessage::Advertise { channels }) = serde_json::from_slice(message) {
        for channel in channels.iter().take(4) {
            publish(channel, content);
        }
    }
});
