//! Generates source files for a schema, in any language.
//!
//! ```text
//!   naming        one rule for names in generated code, for all languages
//!   writer        collects lines with their indentation, for all languages
//!   cpp           C++ code
//!   rust          Rust code
//!   python        Python code
//!   build_script  code generation from a build script
//! ```

pub(crate) mod build_script;
mod c;
pub(crate) mod cpp;
pub(crate) mod naming;
mod python;
pub(crate) mod rust;
mod writer;

use std::path::PathBuf;

use crate::Schema;
use crate::model::Interface;

/// A language that code can be generated for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Language {
    /// Rust: one file with nested modules.
    Rust,
    /// C++20: headers.
    Cpp,
    /// C11: headers with the flat types. See [`c_obstacle`].
    C,
    /// A Rust crate for each package of ROS, for rclrs.
    Rclrs,
    /// Python 3.9: a package for each module, with stubs for type checkers.
    Python,
    /// Sources for the crate ros-env, which holds the messages that rclrs itself uses. See
    /// [`ros_env_obstacle`].
    RosEnv,
}

/// What to generate and how.
#[derive(Debug, Clone)]
pub struct Options {
    /// The language.
    pub language: Language,
    /// Rust: the path under which the generated code finds Situ, `::situ` by default.
    pub situ_path: String,
    /// Whether to generate included types too, or only those in files that were requested by name.
    pub included: bool,
    /// The name of the single output file without its extension, where the language writes a single one:
    /// `messages`.
    pub file_stem: String,
    /// Crates for rclrs: how their `Cargo.toml` names the crate `situ-layout`, a version by default.
    pub layout_dependency: String,
    /// As `layout_dependency`, for the crate `situ-region`.
    pub region_dependency: String,
    /// Crates for rclrs: the packages that crates are made of, all if empty. Dependencies on other packages
    /// then have the version `*`.
    pub only: Vec<String>,
    /// C++: folders that the headers' own folders are relative to, usually the search path: the header of
    /// `<root>/robot/arm.idl` is `robot/arm.hpp`.
    pub roots: Vec<PathBuf>,
    /// C++ and Python: a namespace around everything, such as `a::b`. Its names are also the folders of the
    /// headers, and of Python's packages. Empty for none.
    pub namespace: String,
}

impl Options {
    /// The defaults for a language.
    pub fn new(language: Language) -> Self {
        Self {
            language,
            situ_path: "::situ".into(),
            included: true,
            file_stem: "messages".into(),
            layout_dependency: concat!("\"", env!("CARGO_PKG_VERSION"), "\"").into(),
            region_dependency: concat!("\"", env!("CARGO_PKG_VERSION"), "\"").into(),
            only: Vec::new(),
            roots: Vec::new(),
            namespace: String::new(),
        }
    }
}

/// A file that a generator made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GeneratedFile {
    /// Its path, relative to the output folder.
    pub path: PathBuf,
    /// Its text.
    pub text: String,
}

/// Generates code for the types of `schema`. The same schema and options always give the same bytes.
pub fn generate(schema: &Schema, options: &Options) -> Vec<GeneratedFile> {
    match options.language {
        Language::Rust => rust::generate(schema, options),
        Language::Cpp => cpp::generate(schema, options),
        Language::C => c::generate(schema, options),
        Language::Rclrs => rust::rclrs::generate(schema, options),
        Language::Python => python::generate(schema, options),
        Language::RosEnv => rust::ros_env::generate(schema),
    }
}

/// Whether a file of Python code has types. Packages around others have none.
pub fn is_python_module(text: &str) -> bool {
    text.starts_with(python::HEADER)
}

/// The types in an earlier file of Python code that a new one would not have; `None` if the earlier file is
/// not generated.
pub fn lost_python_types(old: &str, new: &str) -> Option<Vec<String>> {
    python::lost_types(old, new)
}

/// The methods of Python for the operations of an interface, with the positions of their services.
pub fn python_operations(interface: &Interface) -> Vec<(String, usize)> {
    python::operations(interface)
}

/// The enumerators of Python for the names of an enum or a bitmask.
pub fn python_enumerators(names: &[&str]) -> Vec<String> {
    python::enumerators(names)
}

/// Why code for [`Language::C`] cannot be generated: no requested struct is flat. `None` if it can.
pub fn c_obstacle(schema: &Schema) -> Option<String> {
    c::obstacle(schema)
}

/// The requested types that code for [`Language::C`] leaves out, as sentences that say why.
pub fn c_omissions(schema: &Schema) -> Vec<String> {
    c::omissions(schema)
}

/// Why code for [`Language::RosEnv`] cannot be generated: the schema has actions, or types that ROS messages
/// do not have. `None` if it can.
pub fn ros_env_obstacle(schema: &Schema) -> Option<String> {
    rust::ros_env::obstacle(schema)
}
