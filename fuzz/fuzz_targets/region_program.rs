//! Whatever is done with a region, standard containers say what it holds then, and its images are good. The first byte chooses
//! the value.
#![no_main]

use libfuzzer_sys::fuzz_target;

#[path = "../../crates/situ-layout/tests/region/kitchen_program.rs"]
mod kitchen_program;
#[path = "../../crates/situ-layout/tests/region/market_program.rs"]
mod market_program;
#[path = "../../crates/situ-layout/tests/region/source.rs"]
mod source;
#[path = "../../crates/situ-layout/tests/region/types.rs"]
#[allow(dead_code)]
mod types;

fuzz_target!(|bytes: &[u8]| {
    match bytes.split_first() {
        Some((which, program)) if which % 2 == 0 => kitchen_program::run(program),
        Some((_, program)) => market_program::run(program),
        None => {}
    }
});
