//! The code for Perfetto's messages is in `situ-trace`, so its users do not need the generator. This test
//! checks that the generator still writes the same code. `SITU_BLESS=1` writes it again.

use std::path::Path;

#[test]
fn the_code_for_traces_is_up_to_date() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../crates/situ-trace/src/generated/trace.rs");
    let generated = include_str!(concat!(env!("OUT_DIR"), "/trace.rs"));
    if std::env::var_os("SITU_BLESS").is_some() {
        std::fs::write(&path, generated).unwrap();
    }
    let there = std::fs::read_to_string(&path).unwrap();
    assert!(there == generated, "run SITU_BLESS=1 cargo test -p situ-generated --test trace");
}
