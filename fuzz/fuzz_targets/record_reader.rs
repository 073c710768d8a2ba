//! Any file is an MCAP file or no file: it is read, also its attachments and metadata.
#![no_main]

use libfuzzer_sys::fuzz_target;
use situ_record::{Filter, ReadLimits, Reader};

fuzz_target!(|bytes: &[u8]| {
    let path = std::env::temp_dir().join(format!("situ-fuzz-{}.mcap", std::process::id()));
    // Half of the inputs begin as a file does, because few would find that themselves.
    let mut file = b"\x89MCAP0\r\n".to_vec();
    file.extend_from_slice(bytes);
    let file = if bytes.first().is_some_and(|byte| byte % 2 == 0) { &file } else { bytes };
    std::fs::write(&path, file).unwrap();
    let limits = ReadLimits { record: 1 << 20, memory: 4 << 20, entries: 1 << 12, definitions: 1 << 20 };
    if let Ok(reader) = Reader::open_with(&path, limits) {
        for message in reader.messages(Filter::default()).flatten() {
            assert!(message.data().len() <= 1 << 20);
        }
        reader.attachments().iter().for_each(|it| _ = reader.attachment(it));
        reader.metadata().iter().for_each(|it| _ = reader.metadata_values(it));
    }
});
