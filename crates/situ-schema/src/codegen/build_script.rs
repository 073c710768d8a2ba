//! Code generation from a build script.

use std::io::Write;
use std::path::PathBuf;
use std::{env, fs, io};

use crate::codegen::{Language, Options, generate};
use crate::{Loader, SchemaError};

/// Why a build script could not generate code.
#[derive(thiserror::Error)]
#[non_exhaustive]
pub enum BuildError {
    /// There is an error in the schema.
    #[error("{0}")]
    Schema(#[from] Box<SchemaError>),
    /// The program does not run as a build script of cargo.
    #[error("OUT_DIR is not set: generate from a build script (build.rs), or with `situ gen`")]
    NotABuildScript,
    /// The file cannot be written.
    #[error("cannot write {path}: {source}")]
    Write {
        /// Where to.
        path: PathBuf,
        /// Why not.
        source: io::Error,
    },
}

situ_layout::debug_as_text!(BuildError);

/// Generates Rust code from `build.rs`, and again whenever one of the schema files changes.
///
/// In `build.rs`, with `situ-schema` among the build dependencies:
///
/// ```no_run
/// use situ_schema::{BuildScript, Loader};
///
/// BuildScript::new(Loader::new().include("schema").file("schema/robot.idl")).run();
/// ```
///
/// In the crate, with `situ` among the dependencies:
///
/// ```text
/// mod messages {
///     include!(concat!(env!("OUT_DIR"), "/messages.rs"));
/// }
/// ```
#[derive(Debug, Clone)]
pub struct BuildScript {
    loader: Loader,
    options: Options,
}

impl BuildScript {
    /// Generates code for what the loader loads.
    pub fn new(loader: Loader) -> Self {
        Self { loader, options: Options::new(Language::Rust) }
    }

    /// The name of the file without `.rs`; `messages` by default.
    pub fn file_stem(mut self, stem: impl Into<String>) -> Self {
        self.options.file_stem = stem.into();
        self
    }

    /// The path under which the generated code finds the crate `situ`; `::situ` by default.
    pub fn situ_path(mut self, path: impl Into<String>) -> Self {
        self.options.situ_path = path.into();
        self
    }

    /// Generates. On failure, prints what is wrong with the schema and ends the build.
    pub fn run(self) {
        let Err(error) = self.generate() else { return };
        let text = match &error {
            BuildError::Schema(error) => error.render(false),
            other => other.to_string(),
        };
        // If the message cannot be written, the exit code still reports the failure.
        let _ = writeln!(io::stderr(), "{text}");
        std::process::exit(1);
    }

    /// Generates, and returns the path of the file.
    pub fn generate(self) -> Result<PathBuf, BuildError> {
        let folder = PathBuf::from(env::var_os("OUT_DIR").ok_or(BuildError::NotABuildScript)?);
        let schema = self.loader.load()?;
        let mut cargo = String::new();
        for (_, source) in schema.sources().iter() {
            // Built-in files are not in the file system.
            if source.path.is_file() {
                cargo.push_str(&format!("cargo::rerun-if-changed={}\n", source.path.display()));
            }
        }
        let _ = io::stdout().write_all(cargo.as_bytes());
        let mut path = folder.clone();
        for file in generate(&schema, &self.options) {
            path = folder.join(&file.path);
            let unchanged = fs::read_to_string(&path).is_ok_and(|old| old == file.text);
            if !unchanged {
                fs::write(&path, &file.text)
                    .map_err(|source| BuildError::Write { path: path.clone(), source })?;
            }
        }
        Ok(path)
    }
}
