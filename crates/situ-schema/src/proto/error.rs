//! Why no code could be generated for `.proto` files.

use std::io;
use std::path::PathBuf;

use crate::source::diagnostic::SchemaError;

/// Why no code could be generated for `.proto` files.
#[derive(thiserror::Error)]
#[non_exhaustive]
pub enum ProtoError {
    /// The files have mistakes, or cannot be found.
    #[error(transparent)]
    Schema(Box<SchemaError>),
    /// The file has an unknown edition.
    #[error("{file} has an edition that is not supported; 2024, 2023, proto2 and proto3 are supported")]
    Edition {
        /// The file.
        file: String,
    },
    /// Messages of this file can be printed only with compiled types.
    #[error("{file} has an edition: its messages can be printed and parsed only with proto2 or proto3")]
    DynamicEdition {
        /// The file.
        file: String,
    },
    /// The bytes are not a set of descriptors.
    #[error(
        "the descriptors cannot be used: {reason}; make them with protoc --include_imports --descriptor_set_out"
    )]
    NoDescriptors {
        /// What is wrong.
        reason: String,
    },
    /// A descriptor names a type that is missing.
    #[error(
        "{file}: the descriptor of `{name}` is missing or broken; make it with protoc, with all files that it imports"
    )]
    Descriptor {
        /// The file.
        file: String,
        /// The name.
        name: String,
    },
    /// Two files that do not import each other would define the same name in C++.
    #[error(
        "{first} and {second} would both be `{name}` in C++, and neither header includes the other; import one file in the other, or \
         rename one, or put it into another package"
    )]
    SameName {
        /// The name in C++.
        name: String,
        /// The one definition, and its file.
        first: String,
        /// The other definition, and its file.
        second: String,
    },
    /// The input is not a request of protoc.
    #[error("this is not a request of protoc; run it as `protoc --situ_out=<folder>`: {0}")]
    Request(#[from] prost::DecodeError),
    /// protoc passed an option that the plugin does not have.
    #[error("unknown option `{option}`; the known ones are lang=cpp, lang=rust and namespace=<name>")]
    Option {
        /// What was given.
        option: String,
    },
    /// Crates for rclrs are only made of ROS packages.
    #[error("crates for rclrs are made of ROS packages, not of .proto files; use --lang rust or --lang cpp")]
    NotForRos,
    /// There is no protobuf for C.
    #[error("there is no C code for .proto files; use --lang rust or --lang cpp")]
    NotForC,
    /// There is no protobuf for Python.
    #[error(
        "there is no Python code for .proto files; use --lang rust or --lang cpp, or protobuf's own for Python"
    )]
    NotForPython,
    /// A build script has no `OUT_DIR`.
    #[error("OUT_DIR is not set: generate from a build script (build.rs), or with `situ gen`")]
    NotABuildScript,
    /// A file cannot be written.
    #[error("cannot write {path}: {source}")]
    Write {
        /// Where to.
        path: PathBuf,
        /// Why not.
        source: io::Error,
    },
}

situ_layout::debug_as_text!(ProtoError);

impl ProtoError {
    /// The error as text, with source lines and carets if it has a place.
    pub fn render(&self, color: bool) -> String {
        match self {
            Self::Schema(error) => error.render(color),
            other => format!("{other}\n"),
        }
    }
}
