//! What peers on the network tell a bridge: attachments, tokens, types. What is read is written back, and
//! read again.
//!
//! The module is included by its path, because its crate would bring all of Zenoh.
#![no_main]

#[allow(dead_code)]
#[path = "../../crates/situ-bridge/src/wire/mod.rs"]
mod wire;

use libfuzzer_sys::fuzz_target;
use wire::attachment::Attachment;
use wire::token::{Token, gid_of};
use wire::type_hash::Subject;
use wire::{names, schema_text, token_qos, type_hash};

fuzz_target!(|bytes: &[u8]| {
    if let Ok(attachment) = Attachment::from_bytes(bytes) {
        assert_eq!(Attachment::from_bytes(&attachment.to_bytes()), Ok(attachment));
    }
    let checks = |schema: &situ_schema::Schema, name: &str| {
        let root = schema.find(name).ok_or("none")?;
        let _ = Subject::Message(schema, root).has_hash("RIHS01_00");
        Ok(())
    };
    if let Ok(description) = schema_text::from_bytes(bytes, checks) {
        let text = schema_text::to_text(&description);
        assert_eq!(schema_text::from_bytes(text.as_bytes(), |_, _| Ok(())), Ok(description));
    }
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    if let Ok(token) = Token::from_key(text) {
        let key = token.key();
        let again = Token::from_key(&key).expect("what was read can be written");
        assert_eq!(again.key(), key);
        let _ = gid_of(&key);
    }
    if let Ok(qos) = token_qos::from_text(text) {
        assert_eq!(token_qos::from_text(&token_qos::to_text(&qos)), Ok(qos));
    }
    if let Some(name) = names::bus_type_name(text) {
        assert_eq!(names::dds_name(&name).as_deref(), Some(text));
    }
    if let Some(digest) = type_hash::from_text(text) {
        assert_eq!(type_hash::from_text(&type_hash::to_text(&digest)), Some(digest));
    }
    let _ = (names::is_key_name(text), names::ros_topic(text), names::dds_service_name(text));
});
