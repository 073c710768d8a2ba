//! Generates the Cap'n Proto types of the data sets and of the character, if the Cap'n Proto compiler is
//! installed.

fn main() {
    println!("cargo::rerun-if-changed=schema/records.capnp");
    println!("cargo::rerun-if-changed=build.rs");
    // Looks for the compiler at each build until it is installed.
    println!("cargo::rerun-if-changed=/usr/bin/capnp");
    println!("cargo::rustc-check-cfg=cfg(with_capnp)");
    println!("cargo::rerun-if-changed=../peers/region/character.capnp");
    // The character has the schema of the C++ peer.
    let made = [("schema", "records.capnp"), ("../peers/region", "character.capnp")]
        .into_iter()
        .try_for_each(|(folder, file)| {
            capnpc::CompilerCommand::new()
                .src_prefix(folder)
                .default_parent_module(vec!["systems".to_owned(), "capnp".to_owned()])
                .file(format!("{folder}/{file}"))
                .run()
        });
    match made {
        Ok(()) => println!("cargo::rustc-cfg=with_capnp"),
        Err(error) => println!("cargo::warning=without Cap'n Proto: {error}"),
    }
}
