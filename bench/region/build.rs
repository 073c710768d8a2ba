//! Generates the Cap'n Proto types of the data sets, where its compiler is installed.

fn main() {
    println!("cargo::rerun-if-changed=schema/records.capnp");
    println!("cargo::rerun-if-changed=build.rs");
    // Where it is not there yet, it is looked for each time.
    println!("cargo::rerun-if-changed=/usr/bin/capnp");
    println!("cargo::rustc-check-cfg=cfg(with_capnp)");
    let made = capnpc::CompilerCommand::new()
        .src_prefix("schema")
        .default_parent_module(vec!["systems".to_owned(), "capnp".to_owned()])
        .file("schema/records.capnp")
        .run();
    match made {
        Ok(()) => println!("cargo::rustc-cfg=with_capnp"),
        Err(error) => println!("cargo::warning=without Cap'n Proto: {error}"),
    }
}
