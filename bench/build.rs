//! Generates the messages that the benchmark sends through Situ, and those of the table `protobuf` for Situ
//! and buffa.

use std::error::Error;
use std::path::Path;
use std::{env, fs};

use situ_schema::codegen::Language;
use situ_schema::proto::ProtoBuild;
use situ_schema::{BuildScript, Loader};

fn main() -> Result<(), Box<dyn Error>> {
    BuildScript::new(Loader::new().file("messages.idl")).run();

    let proto = || ProtoBuild::new().include("peers/protobuf").file("peers/protobuf/message.proto");
    proto().file_stem("protobuf").run();
    // The C++ peers, which are built later, include these headers.
    let (headers, _) = proto().generate(Language::Cpp)?;
    fs::create_dir_all("build/generated")?;
    for header in headers {
        fs::write(Path::new("build/generated").join(header.path), header.text)?;
    }
    let descriptors = Path::new(&env::var("OUT_DIR")?).join("message.binpb");
    let set = protox::compile(["message.proto"], ["peers/protobuf"])?;
    fs::write(&descriptors, prost::Message::encode_to_vec(&set))?;
    buffa_build::Config::new()
        .descriptor_set(&descriptors)
        .files(&["message.proto"])
        .generate_views(false)
        .compile()
}
