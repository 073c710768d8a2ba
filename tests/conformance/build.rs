//! Passes the folder of the generated code to the compiler.

fn main() {
    let generated = concat!(env!("CARGO_MANIFEST_DIR"), "/../../build/conformance/generated/rust");
    println!("cargo::rustc-env=SITU_GENERATED={generated}");
    println!("cargo::rerun-if-changed={generated}");
}
