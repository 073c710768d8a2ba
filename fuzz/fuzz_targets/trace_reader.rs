//! Any file is a trace or parts of one: it is read, summed up and drawn.
#![no_main]

use libfuzzer_sys::fuzz_target;

#[path = "../../crates/situ-cli/src/trace/picture.rs"]
#[allow(dead_code)]
mod picture;
#[path = "../../crates/situ-cli/src/trace/svg.rs"]
#[allow(dead_code)]
mod svg;
#[path = "../../crates/situ-trace/tests/common/readable.rs"]
mod readable;

#[path = "../../crates/situ-cli/src/output/units.rs"]
#[allow(dead_code)]
mod units;

mod output {
    //! What the picture needs of the command.
    pub(crate) use crate::units;
}

use picture::TimeRange;

fuzz_target!(|bytes: &[u8]| {
    let trace = readable::check(bytes);
    let svg = picture::draw(&trace, TimeRange::new(&trace, None, None));
    assert!(svg.starts_with("<svg") && svg.ends_with("</svg>\n"));
});
