//! Generates code for `.proto` files, in a build script or in a command.

use std::io::Write;
use std::path::PathBuf;
use std::{env, fs, io};

use super::codegen::generate;
use super::error::ProtoError;
use super::frontend::load;
use super::model::Model;
use crate::codegen::{GeneratedFile, Language, Options};

/// Collects `.proto` files and a search path for imports, then generates code.
#[derive(Debug, Clone, Default)]
pub struct ProtoBuild {
    files: Vec<PathBuf>,
    folders: Vec<PathBuf>,
    stem: Option<String>,
    situ_path: Option<String>,
    namespace: Option<String>,
}

impl ProtoBuild {
    /// Makes one without requests and with an empty search path.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a folder to the search path for imports.
    pub fn include(mut self, folder: impl Into<PathBuf>) -> Self {
        self.folders.push(folder.into());
        self
    }

    /// Requests a file. Code for its imports is generated, too.
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
        let read = load::load(&self.files, load::search_path(&self.files, &self.folders))?;
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

    /// Generates Rust code in a build script, and again whenever a file changes. On failure, prints what is
    /// wrong and ends the build.
    pub fn run(&self) {
        if let Err(error) = self.write() {
            // If the message cannot be written, the exit code still reports the failure.
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
