//! Generates the demo's message types, and compiles its filter for Vulkan devices.

use std::path::Path;

use naga::back::spv;
use naga::front::wgsl;
use naga::valid::{Capabilities, ValidationFlags, Validator};
use situ_schema::{BuildScript, Loader};

const SHADER: &str = "src/demo/device/edges.wgsl";

fn main() {
    // A link, so that the published crate has the file. What it includes comes with the generator.
    BuildScript::new(Loader::new().file("schema/sensor.idl")).run();
    println!("cargo::rerun-if-changed={SHADER}");
    let source = std::fs::read_to_string(SHADER).expect("the shader is there");
    let module = wgsl::parse_str(&source).unwrap_or_else(|error| panic!("{}", error.emit_to_string(&source)));
    let info = Validator::new(ValidationFlags::all(), Capabilities::PUSH_CONSTANT)
        .validate(&module)
        .unwrap_or_else(|error| panic!("{}", error.emit_to_string(&source)));
    let options = spv::Options { lang_version: (1, 3), ..spv::Options::default() };
    let words = spv::write_vec(&module, &info, &options, None).expect("a valid module can be written");
    let bytes: Vec<u8> = words.iter().flat_map(|word| word.to_ne_bytes()).collect();
    let out = std::env::var_os("OUT_DIR").expect("cargo says where generated files go");
    std::fs::write(Path::new(&out).join("edges.spv"), bytes).expect("the folder can be written to");
}
