//! Sets the shared library's name for the loader, and places a link of that name beside it: before 1.0 each
//! minor version may change the interface.

use std::path::Path;

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    let part = |name: &str| std::env::var(name).unwrap_or_default();
    let soname =
        format!("libsitu.so.{}.{}", part("CARGO_PKG_VERSION_MAJOR"), part("CARGO_PKG_VERSION_MINOR"));
    println!("cargo::rustc-cdylib-link-arg=-Wl,-soname,{soname}");
    // Cargo does not know such names: a program that is linked with target/release/libsitu.so would not find
    // the library it needs. Build scripts run in target/release/build/situ-c-<hash>/out.
    if let Some(folder) = Path::new(&part("OUT_DIR")).ancestors().nth(3)
        && folder.join("build").is_dir()
    {
        link("libsitu.so", &folder.join(soname));
    }
}

/// Without the link, a program still runs if it is given the library's path, so a failure here does not fail
/// the build.
#[cfg(unix)]
fn link(library: &str, name: &Path) {
    if std::fs::read_link(name).is_ok_and(|target| target == Path::new(library)) {
        return;
    }
    let _ = std::fs::remove_file(name);
    if let Err(error) = std::os::unix::fs::symlink(library, name) {
        println!("cargo::warning=cannot make the link {}: {error}", name.display());
    }
}

#[cfg(not(unix))]
fn link(_library: &str, _name: &Path) {}
