//! `situ new`: writes a project that builds and runs with what is installed.
//!
//! The templates are a project called `my_robot`. Their texts are copied with three replacements: the name,
//! the folder of Situ's crates, and, if Situ is installed where CMake does not look, the option that names
//! it.

use std::io;
use std::path::{Path, PathBuf};
use std::{env, fs};

use serde::Serialize;
use situ_schema::codegen::{self, Options};
use situ_schema::{Format, Loader};

use super::Context;
use crate::cli::{NewArgs, ProjectLanguage};
use crate::error::CliError;

/// The name of the project in the templates.
const TEMPLATE_NAME: &str = "my_robot";
/// The folder of Situ's crates in the templates.
const TEMPLATE_CRATES: &str = "/usr/local/share/situ/crates";
/// The command in the templates that configures a project.
const CONFIGURE: &str = "cmake -S . -B build";

macro_rules! template {
    ($to:literal, $from:literal) => {
        ($to, include_str!(concat!("../../templates/", $from)))
    };
}

// The manifests have another name here, because a package leaves out folders with a `Cargo.toml`.
const COMMON: &[(&str, &str)] =
    &[template!("messages.idl", "messages.idl"), template!(".gitignore", "gitignore")];

const RUST: &[(&str, &str)] = &[
    template!("Cargo.toml", "rust/manifest.toml"),
    template!("build.rs", "rust/build.rs"),
    template!("src/bin/publisher.rs", "rust/publisher.rs"),
    template!("src/bin/subscriber.rs", "rust/subscriber.rs"),
    template!("README.md", "rust/README.md"),
];

const CPP: &[(&str, &str)] = &[
    template!("CMakeLists.txt", "cpp/CMakeLists.txt"),
    template!("publisher.cpp", "cpp/publisher.cpp"),
    template!("subscriber.cpp", "cpp/subscriber.cpp"),
    template!("README.md", "cpp/README.md"),
];

const C: &[(&str, &str)] = &[
    template!("CMakeLists.txt", "c/CMakeLists.txt"),
    template!("publisher.c", "c/publisher.c"),
    template!("subscriber.c", "c/subscriber.c"),
    template!("README.md", "c/README.md"),
];

const PYTHON: &[(&str, &str)] = &[
    template!("publisher.py", "python/publisher.py"),
    template!("subscriber.py", "python/subscriber.py"),
    template!("README.md", "python/README.md"),
];

const MIXED: &[(&str, &str)] = &[
    template!("Cargo.toml", "mixed/manifest.toml"),
    template!("build.rs", "rust/build.rs"),
    template!("publisher.rs", "rust/publisher.rs"),
    template!("CMakeLists.txt", "mixed/CMakeLists.txt"),
    template!("subscriber.cpp", "cpp/subscriber.cpp"),
    template!("README.md", "mixed/README.md"),
];

/// Why no project was written.
#[derive(Debug, thiserror::Error)]
pub enum NewError {
    /// The name cannot be that of a crate, a CMake project and a module of IDL.
    #[error(
        "`{name}` {reason}; a project's name has small letters, digits and underscores, such as `{hint}`"
    )]
    InvalidName {
        /// The name.
        name: String,
        /// What is wrong with it.
        reason: &'static str,
        /// A name that is possible.
        hint: String,
    },
    /// The folder is there already.
    #[error("{path} exists already; choose another name, or remove it first")]
    Exists {
        /// The folder.
        path: PathBuf,
    },
    /// Situ's crates are not where they were looked for.
    #[error(
        "Situ's crates are not in {looked}; name the folder of a checkout, or of an installation's share/situ, with \
         --path"
    )]
    NoCrates {
        /// The places, as text.
        looked: String,
    },
    /// A file cannot be written.
    #[error("cannot write {path}: {source}")]
    Write {
        /// The file.
        path: PathBuf,
        /// The reason.
        source: io::Error,
    },
}

impl From<NewError> for CliError {
    fn from(error: NewError) -> Self {
        match error {
            NewError::InvalidName { .. } => CliError::Usage(error.to_string()),
            NewError::NoCrates { .. } => CliError::NotFound(error.to_string()),
            NewError::Exists { .. } | NewError::Write { .. } => CliError::Failed(error.to_string()),
        }
    }
}

#[derive(Serialize)]
struct Written {
    folder: String,
    files: Vec<&'static str>,
    crates: Option<String>,
    next: Vec<String>,
}

/// Writes a project, and prints the commands that build and run it.
pub fn run(context: &Context, arguments: &NewArgs) -> Result<(), CliError> {
    let name = arguments.folder.file_name().map(|it| it.to_string_lossy().into_owned()).unwrap_or_default();
    check_name(&name)?;
    let needs_crates = matches!(arguments.lang, ProjectLanguage::Rust | ProjectLanguage::Mixed);
    let crates = if needs_crates { Some(find_crates(arguments.path.as_deref())?) } else { None };
    let prefix = prefix();
    let needs_package = !matches!(arguments.lang, ProjectLanguage::Rust | ProjectLanguage::Python);
    let is_installed = prefix.as_ref().is_some_and(|it| it.join("include/situ.h").is_file());
    let configure = match &prefix {
        // CMake looks there by itself.
        Some(prefix)
            if is_installed && ![Path::new("/usr"), Path::new("/usr/local")].contains(&prefix.as_path()) =>
        {
            format!("{CONFIGURE} -DCMAKE_PREFIX_PATH={}", prefix.display())
        }
        _ => CONFIGURE.to_owned(),
    };
    let files = files(arguments.lang);
    let fill = |text: &str| {
        let crates = crates.as_ref().map_or(TEMPLATE_CRATES.to_owned(), |it| it.display().to_string());
        text.replace(TEMPLATE_CRATES, &crates).replace(CONFIGURE, &configure).replace(TEMPLATE_NAME, &name)
    };
    write(&arguments.folder, &files, fill)?;

    let readme = files.iter().find(|(path, _)| *path == "README.md").map_or("", |(_, text)| text);
    let next = std::iter::once(format!("cd {}", arguments.folder.display())).chain(commands(&fill(readme)));
    let written = Written {
        folder: arguments.folder.display().to_string(),
        files: files.iter().map(|(path, _)| *path).collect(),
        crates: crates.map(|it| it.display().to_string()),
        next: next.collect(),
    };
    let output = &context.output;
    if output.is_json() {
        return Ok(output.record(&written)?);
    }
    output.line(format!("{} file(s) written to {}.", written.files.len(), written.folder))?;
    if let Some(crates) = &written.crates {
        output.line(format!("Cargo.toml uses Situ's crates in {crates}."))?;
    }
    if needs_package && !is_installed {
        output.line(
            "Situ's headers are not beside this command. Install them with `make install PREFIX=DIR` in Situ's \
             sources, and add -DCMAKE_PREFIX_PATH=DIR to the first cmake command.",
        )?;
    }
    if arguments.lang == ProjectLanguage::Python {
        output.line("The programs need the package `situ`: `pip install ./python` in Situ's sources.")?;
    }
    output.line("\nNext, with the last two commands each in a terminal of its own:")?;
    for command in &written.next {
        output.line(format!("  {command}"))?;
    }
    Ok(())
}

fn files(lang: ProjectLanguage) -> Vec<(&'static str, &'static str)> {
    let own = match lang {
        ProjectLanguage::Rust => RUST,
        ProjectLanguage::Cpp => CPP,
        ProjectLanguage::C => C,
        ProjectLanguage::Python => PYTHON,
        ProjectLanguage::Mixed => MIXED,
    };
    [COMMON, own].concat()
}

/// The commands of a README that build and run: its first two blocks.
fn commands(readme: &str) -> Vec<String> {
    let blocks = readme.split("```sh\n").skip(1).take(2).filter_map(|it| it.split("```").next());
    blocks.flat_map(str::lines).map(str::to_owned).collect()
}

/// Fails if a name is not one of Rust, C, C++, Python, CMake and IDL at once.
fn check_name(name: &str) -> Result<(), NewError> {
    let mut hint: String = name
        .chars()
        .map(|it| if it.is_ascii_alphanumeric() { it.to_ascii_lowercase() } else { '_' })
        .collect();
    let starts_well = |name: &str| name.starts_with(|it: char| it.is_ascii_lowercase());
    if !starts_well(&hint) {
        hint = format!("my_{}", hint.trim_start_matches('_'));
    }
    let refuse = |reason, hint| Err(NewError::InvalidName { name: name.to_owned(), reason, hint });
    let is_small = |it: char| it.is_ascii_lowercase() || it.is_ascii_digit() || it == '_';
    if !starts_well(name) || !name.chars().all(is_small) || name.ends_with('_') || name.contains("__") {
        let hint = hint.split('_').filter(|it| !it.is_empty()).collect::<Vec<_>>().join("_");
        return refuse("is not a name", if hint == "my" { TEMPLATE_NAME.to_owned() } else { hint });
    }
    if name.len() > 64 {
        return refuse("is longer than 64 letters", TEMPLATE_NAME.to_owned());
    }
    // cargo and CMake have these, and so have the programs of the project.
    let others = [
        "alloc",
        "build",
        "core",
        "deps",
        "examples",
        "incremental",
        "messages",
        "proc_macro",
        "situ",
        "std",
        "test",
        "publisher",
        "subscriber",
        "signal_hook",
    ];
    if others.contains(&name) || is_word(name) {
        return refuse("means something else in one of the languages", format!("my_{name}"));
    }
    Ok(())
}

/// Whether a module of this name would get another name in Rust or C++, or is not possible in IDL.
fn is_word(name: &str) -> bool {
    let text = format!("module {name} {{ @flat struct Pose {{ double x; }}; }};");
    let Ok(schema) = Loader::new().sealed().text("messages.idl", &text, Format::Idl).load() else {
        return true;
    };
    let code = |language| {
        codegen::generate(&schema, &Options::new(language)).into_iter().map(|it| it.text).collect::<String>()
    };
    !code(codegen::Language::Rust).contains(&format!("pub mod {name} {{"))
        || !code(codegen::Language::Cpp).contains(&format!("namespace {name} {{"))
        || !codegen::generate(&schema, &Options::new(codegen::Language::Python))
            .iter()
            .any(|it| it.path == Path::new(name).join("__init__.py"))
}

/// The folder in which this program is installed: `PREFIX` of `PREFIX/bin/situ`.
fn prefix() -> Option<PathBuf> {
    let program = env::current_exe().ok()?.canonicalize().ok()?;
    Some(program.parent()?.parent()?.to_owned())
}

/// The folder of Situ's crates: that of the command line, that of the installation, or that of the sources
/// from which this program was built.
fn find_crates(named: Option<&Path>) -> Result<PathBuf, NewError> {
    let built_from = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let folders: Vec<PathBuf> = match named {
        Some(folder) => vec![folder.to_owned()],
        None => prefix().into_iter().map(|it| it.join("share/situ")).chain([built_from]).collect(),
    };
    let crates = folders.iter().flat_map(|it| [it.join("crates"), it.clone()]);
    let is_there =
        |it: &PathBuf| it.join("situ/Cargo.toml").is_file() && it.join("situ-schema/Cargo.toml").is_file();
    crates.into_iter().find(is_there).and_then(|it| it.canonicalize().ok()).ok_or_else(|| {
        NewError::NoCrates {
            looked: folders.iter().map(|it| it.display().to_string()).collect::<Vec<_>>().join(" or "),
        }
    })
}

/// Writes the files of a project into a folder that is not there yet.
fn write(folder: &Path, files: &[(&str, &str)], fill: impl Fn(&str) -> String) -> Result<(), NewError> {
    let fail = |path: &Path, source| NewError::Write { path: path.to_owned(), source };
    if let Some(around) = folder.parent().filter(|it| !it.as_os_str().is_empty()) {
        fs::create_dir_all(around).map_err(|e| fail(around, e))?;
    }
    match fs::create_dir(folder) {
        Err(e) if e.kind() == io::ErrorKind::AlreadyExists => {
            return Err(NewError::Exists { path: folder.to_owned() });
        }
        other => other.map_err(|e| fail(folder, e))?,
    }
    for (path, text) in files {
        let path = folder.join(path);
        let within = path.parent().unwrap_or(folder);
        fs::create_dir_all(within).map_err(|e| fail(within, e))?;
        fs::write(&path, fill(text)).map_err(|e| fail(&path, e))?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use clap::ValueEnum;

    use super::*;

    #[test]
    fn names_are_those_of_all_languages() {
        for name in ["my_robot", "arm2", "a"] {
            assert!(check_name(name).is_ok(), "{name}");
        }
        let hint = |name: &str| match check_name(name) {
            Err(NewError::InvalidName { hint, .. }) => hint,
            other => panic!("{name}: {other:?}"),
        };
        assert_eq!(hint("my-robot"), "my_robot");
        assert_eq!(hint("My Robot"), "my_robot");
        assert_eq!(hint("2wheels"), "my_2wheels");
        assert_eq!((hint(""), hint("..")), ("my_robot".into(), "my_robot".into()));
        assert_eq!(
            (hint("crate"), hint("namespace"), hint("struct")),
            ("my_crate".into(), "my_namespace".into(), "my_struct".into())
        );
        assert_eq!((hint("self"), hint("situ")), ("my_self".into(), "my_situ".into()));
    }

    #[test]
    fn no_file_of_the_template_keeps_its_name() {
        for lang in ProjectLanguage::value_variants() {
            let files = files(*lang);
            for needed in ["messages.idl", "README.md", ".gitignore"] {
                assert!(files.iter().any(|(path, _)| *path == needed), "{needed}");
            }
            let readme = files.iter().find(|(path, _)| *path == "README.md").unwrap().1;
            let commands = commands(readme);
            let ends: Vec<&str> =
                commands.iter().rev().take(2).map(|it| it.rsplit([' ', '/']).next().unwrap()).collect();
            let ends: Vec<&str> = ends.iter().map(|it| it.trim_end_matches(".py")).collect();
            assert_eq!(ends, ["publisher", "subscriber"]);
        }
    }
}
