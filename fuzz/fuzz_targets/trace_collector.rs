//! For any content of a producer's ring, the collector takes whole packets from it, and ends.
#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    situ_trace::collect_any(bytes);
});
