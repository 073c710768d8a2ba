//! `.proto` files: writers and readers for their messages, in Rust and C++, without protoc or as its plugin.
//!
//! ```no_run
//! use situ_schema::proto::ProtoBuild;
//!
//! // In build.rs, with `situ-schema` (feature `proto`) among the build dependencies.
//! ProtoBuild::new().include("proto").file("proto/tour.proto").run();
//! ```

mod cpp;
mod cpp_names;
mod cpp_reader;
mod cpp_types;
mod cpp_writer;
mod descriptor;
mod edition;
mod load;
mod methods;
mod model;
mod rules;
mod rust;
mod rust_names;

use std::io::Write;
use std::path::{Path, PathBuf};
use std::{env, fs, io};

use prost::Message as _;

use crate::diagnostic::SchemaError;
use crate::generate::{GeneratedFile, Language, Options};
use descriptor::{Generated, Request, Response};
use model::Model;

/// Why no code could be generated for `.proto` files.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ProtoError {
    /// The files are not right, or cannot be found.
    #[error(transparent)]
    Schema(Box<SchemaError>),
    /// The file is of an edition that is not known.
    #[error("{file} is of an edition that is not supported; 2024, 2023, proto2 and proto3 are")]
    Edition {
        /// The file.
        file: String,
    },
    /// A descriptor names what is not there.
    #[error(
        "{file}: the descriptor of `{name}` is missing or broken; make it by protoc, with all files that it imports"
    )]
    Descriptor {
        /// The file.
        file: String,
        /// What it names.
        name: String,
    },
    /// Two files that do not import each other would define the same in C++.
    #[error(
        "{first} and {second} would both be `{name}` in C++, and their headers do not know each other; import one file in the other, or \
         rename one, or put it into another package"
    )]
    SameName {
        /// What both would be.
        name: String,
        /// The one, and its file.
        first: String,
        /// The other one, and its file.
        second: String,
    },
    /// protoc sent something else than a request.
    #[error("this is no request of protoc; run it as `protoc --situ_out=<folder>`: {0}")]
    Request(#[from] prost::DecodeError),
    /// protoc's option is not one of the plugin's.
    #[error("unknown option `{option}`; there are lang=cpp, lang=rust and namespace=<name>")]
    Option {
        /// What was given.
        option: String,
    },
    /// Crates for rclrs are made of the messages of ROS.
    #[error("crates for rclrs are made of ROS packages, not of .proto files; use --lang rust or --lang cpp")]
    NotForRos,
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

impl ProtoError {
    /// The error as text; with source lines and carets, where it has a place.
    pub fn render(&self, color: bool) -> String {
        match self {
            Self::Schema(error) => error.render(color),
            other => format!("{other}\n"),
        }
    }
}

/// Collects `.proto` files and where to look for what they import, then generates.
#[derive(Debug, Clone, Default)]
pub struct ProtoBuild {
    files: Vec<PathBuf>,
    folders: Vec<PathBuf>,
    stem: Option<String>,
    situ_path: Option<String>,
    namespace: Option<String>,
}

impl ProtoBuild {
    /// Asks for nothing, with an empty search path.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a folder in which imports are looked for.
    pub fn include(mut self, folder: impl Into<PathBuf>) -> Self {
        self.folders.push(folder.into());
        self
    }

    /// Asks for a file. What it imports is generated too.
    pub fn file(mut self, path: impl Into<PathBuf>) -> Self {
        self.files.push(path.into());
        self
    }

    /// Rust: the name of the file without `.rs`; `messages` by default.
    pub fn file_stem(mut self, stem: impl Into<String>) -> Self {
        self.stem = Some(stem.into());
        self
    }

    /// Rust: the path under which the generated code finds the crate `situ`; `::situ` by default.
    pub fn situ_path(mut self, path: impl Into<String>) -> Self {
        self.situ_path = Some(path.into());
        self
    }

    /// A namespace or module around everything.
    pub fn namespace(mut self, name: impl Into<String>) -> Self {
        self.namespace = Some(name.into());
        self
    }

    /// Reads the files and generates: the code, and the files that were read.
    pub fn generate(&self, language: Language) -> Result<(Vec<GeneratedFile>, Vec<PathBuf>), ProtoError> {
        // A file is known by its path from a folder of the search path; the current one and its own folder are the last.
        let mut folders = self.folders.clone();
        for file in &self.files {
            let own = file.parent().filter(|it| !it.as_os_str().is_empty()).unwrap_or(Path::new("."));
            if !folders.iter().any(|folder| file.starts_with(folder)) {
                folders.push(own.to_owned());
            }
        }
        let read = load::load(&self.files, folders)?;
        let mut options = Options::new(language);
        if let Some(stem) = &self.stem {
            options.file_stem = stem.clone();
        }
        if let Some(path) = &self.situ_path {
            options.situ_path = path.clone();
        }
        let namespace = self.namespace.as_deref().unwrap_or("");
        let model = Model::new(&read.files, namespace)?;
        Ok((generate(&model, &|_| true, &options)?, read.paths))
    }

    /// Generates Rust code in a build script, and again whenever a file changes. On failure, says what is wrong and ends the
    /// build.
    pub fn run(&self) {
        if let Err(error) = self.write() {
            // If nobody listens, the exit code tells.
            let _ = write!(io::stderr(), "{}", error.render(false));
            std::process::exit(1);
        }
    }

    fn write(&self) -> Result<(), ProtoError> {
        let folder = PathBuf::from(env::var_os("OUT_DIR").ok_or(ProtoError::NotABuildScript)?);
        let (generated, read) = self.generate(Language::Rust)?;
        for path in read {
            let _ = writeln!(io::stdout(), "cargo::rerun-if-changed={}", path.display());
        }
        for file in generated {
            let path = folder.join(&file.path);
            if !fs::read_to_string(&path).is_ok_and(|old| old == file.text) {
                fs::write(&path, &file.text).map_err(|source| ProtoError::Write { path, source })?;
            }
        }
        Ok(())
    }
}

fn generate(
    model: &Model,
    wanted: &dyn Fn(&str) -> bool,
    options: &Options,
) -> Result<Vec<GeneratedFile>, ProtoError> {
    Ok(match options.language {
        Language::Rclrs | Language::RosEnv => return Err(ProtoError::NotForRos),
        Language::Rust => vec![rust::generate(model, options)],
        Language::Cpp => {
            let names = cpp_names::Names::new(model)?;
            let files = model.files.iter().filter(|file| wanted(&file.name));
            files.map(|file| cpp::generate(&names, file)).collect()
        }
    })
}

/// protoc's names for what a plugin knows: `optional` in proto3, and editions.
const PROTO3_OPTIONAL: u64 = 1;
const SUPPORTS_EDITIONS: u64 = 2;
/// In protoc's words.
const EDITION_PROTO2: i32 = 998;

/// Answers a request of protoc (a `CodeGeneratorRequest`) by a `CodeGeneratorResponse`, both encoded. Options:
/// `lang=cpp` (the default) or `lang=rust`, and `namespace=<name>` around everything.
pub fn answer_protoc(request: &[u8]) -> Vec<u8> {
    let mut response = Response {
        supported_features: Some(PROTO3_OPTIONAL | SUPPORTS_EDITIONS),
        minimum_edition: Some(EDITION_PROTO2),
        maximum_edition: Some(descriptor::EDITION_2024),
        ..Response::default()
    };
    match plugin(request) {
        Ok(files) => {
            response.file = files
                .into_iter()
                .map(|file| Generated {
                    name: Some(file.path.to_string_lossy().into_owned()),
                    content: Some(file.text),
                })
                .collect();
        }
        Err(error) => response.error = Some(error.render(false)),
    }
    response.encode_to_vec()
}

fn plugin(request: &[u8]) -> Result<Vec<GeneratedFile>, ProtoError> {
    let request = Request::decode(request)?;
    let (mut language, mut namespace) = (Language::Cpp, "");
    let parameter = request.parameter.as_deref().unwrap_or("");
    for option in parameter.split(',').map(str::trim).filter(|it| !it.is_empty()) {
        match option.split_once('=') {
            Some(("lang", "cpp")) => language = Language::Cpp,
            Some(("lang", "rust")) => language = Language::Rust,
            Some(("namespace", name)) => namespace = name,
            _ => return Err(ProtoError::Option { option: option.to_owned() }),
        }
    }
    let wanted = |name: &str| request.file_to_generate.iter().any(|it| it == name);
    let model = Model::new(&request.proto_file, namespace)?;
    generate(&model, &wanted, &Options::new(language))
}

#[cfg(test)]
mod tests {
    use super::descriptor::{Field, File, MessageOptions, MessageType};
    use super::*;

    /// What a plugin says to a file with one message and an extension.
    fn answer(language: &str, field: Field, extension: Field, is_map_entry: bool) -> Response {
        let options = Some(MessageOptions { map_entry: is_map_entry, ..Default::default() });
        let message = MessageType { name: "M".into(), field: vec![field], options, ..Default::default() };
        let file = File {
            name: "m.proto".into(),
            message_type: vec![message],
            extension: vec![extension],
            syntax: "proto2".into(),
            ..Default::default()
        };
        let request = Request {
            file_to_generate: vec!["m.proto".into()],
            parameter: Some(format!("lang={language}")),
            proto_file: vec![file],
        };
        Response::decode(answer_protoc(&request.encode_to_vec()).as_slice()).expect("it is a response")
    }

    #[test]
    fn descriptors_that_no_protoc_makes_are_refused() {
        let field = |name: &str, kind, type_name: &str, extendee: &str| Field {
            name: name.into(),
            number: 1,
            label: 1,
            r#type: kind,
            type_name: type_name.into(),
            extendee: extendee.into(),
            ..Default::default()
        };
        let (plain, message, group) = (5, 11, 10);
        for language in ["cpp", "rust"] {
            let good =
                answer(language, field("a", message, ".M", ""), field("größe_ä", group, ".M", ".M"), false);
            assert_eq!(good.error, None);
            for (own, extension, is_map_entry) in [
                (field("a", message, ".Nobody", ""), field("b", plain, "", ".M"), false),
                (field("a", message, "", ""), field("b", plain, "", ".M"), false),
                (field("a", plain, "", ""), field("b", plain, "", ".Nobody"), false),
                (field("a", plain, "", ""), field("b", plain, "", ".M"), true),
            ] {
                let error = answer(language, own, extension, is_map_entry).error.expect("it is refused");
                assert!(error.contains("m.proto: the descriptor of"), "{error}");
            }
        }
    }
}
