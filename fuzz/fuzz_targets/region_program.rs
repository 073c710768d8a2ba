//! Whatever is done with a region, standard containers say what it holds then, and its images are good.
#![no_main]

use libfuzzer_sys::fuzz_target;

#[path = "../../crates/situ-layout/tests/region/program.rs"]
mod program;
#[path = "../../crates/situ-layout/tests/region/types.rs"]
#[allow(dead_code)]
mod types;

fuzz_target!(|bytes: &[u8]| program::run(bytes));
