//! Whatever a producer does to its ring, the collector takes whole packets from it, and comes to an end.
#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    situ_trace::collect_any(bytes);
});
