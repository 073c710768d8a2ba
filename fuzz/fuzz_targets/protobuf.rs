//! Bytes are a protobuf message or an error. prost must read the same message, and a message that can be read
//! can be written and read again.
#![no_main]

use libfuzzer_sys::fuzz_target;
use prost::Message as _;
use situ_wire::protobuf::{Growing, Table, Writer};

#[path = "../../crates/situ-wire/tests/peer/mod.rs"]
#[allow(dead_code)]
mod peer;

use peer::{COUNT, Everything, Fields};

fuzz_target!(|bytes: &[u8]| {
    let ours = Table::<Fields, COUNT>::new(bytes).and_then(|it| Everything::read(&it));
    // prost takes any field with a map's number for an entry. Both read the same value.
    if let (Ok(ours), Ok(theirs)) = (&ours, Everything::decode(bytes)) {
        assert_eq!(ours.encode_to_vec(), theirs.encode_to_vec());
    }
    if let Ok(message) = ours {
        let mut buffer = Growing::default();
        let mut writer = Writer::new(&mut buffer);
        message.write(&mut writer.message());
        writer.finish().expect("there is memory");
        let again = Everything::read(&Table::new(buffer.written()).expect("it was written by us"));
        assert_eq!(again.expect("it was written by us").encode_to_vec(), message.encode_to_vec());
    }
});
