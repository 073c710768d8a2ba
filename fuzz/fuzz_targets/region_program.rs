//! After any operations on a region, its content equals that of standard containers, and its images are
//! valid. The first byte chooses the value.
#![no_main]

use libfuzzer_sys::fuzz_target;

#[path = "../../crates/situ-region/tests/region/kitchen_program.rs"]
mod kitchen_program;
#[path = "../../crates/situ-region/tests/region/market_program.rs"]
mod market_program;
#[path = "../../crates/situ-region/tests/region/source.rs"]
mod source;
#[path = "../../crates/situ-region/tests/region/types.rs"]
#[allow(dead_code)]
mod types;

fuzz_target!(|bytes: &[u8]| {
    match bytes.split_first() {
        Some((which, program)) if which % 2 == 0 => kitchen_program::run(program),
        Some((_, program)) => market_program::run(program),
        None => {}
    }
});
