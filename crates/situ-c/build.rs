//! Names the shared library for the loader: before 1.0 each minor version may change the interface.

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    println!(
        "cargo::rustc-cdylib-link-arg=-Wl,-soname,libsitu.so.{}.{}",
        std::env::var("CARGO_PKG_VERSION_MAJOR").unwrap_or_default(),
        std::env::var("CARGO_PKG_VERSION_MINOR").unwrap_or_default()
    );
}
