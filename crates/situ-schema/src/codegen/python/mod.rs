//! Python code for a schema: a package for each module, with classes of messages and their types for
//! checkers.
//!
//! The classes need the package `situ`, which reads the schema's text and binds each class to its type. A
//! stub file (`.pyi`) beside each source file tells type checkers and editors what members there are.
//!
//! ```text
//!   modules   what lies in which module
//!   names     what modules, classes and members are called
//!   text      docstrings and literals
//!   source    what runs: classes, constants, services
//!   stub      what type checkers read
//!   shared    what both have
//!   interface interfaces with their clients, and exceptions
//!   types     types of members, as they are read and as they may be written
//! ```

mod interface;
mod modules;
mod names;
mod shared;
mod source;
mod stub;
mod text;
mod types;

use std::collections::{BTreeMap, BTreeSet};

pub(super) use self::modules::HEADER;
use self::names::Names;
use super::{GeneratedFile, Options};
use crate::Schema;
use crate::model::Interface;

/// Generates Python code.
pub(super) fn generate(schema: &Schema, options: &Options) -> Vec<GeneratedFile> {
    let modules = modules::modules(schema, options);
    let names = Names::new(schema, options, &modules);
    let mut files = BTreeMap::new();
    for (scope, module) in &modules {
        let folder = names.folder(scope);
        // Folders in between are packages without content.
        for outer in folder.ancestors().skip(1).filter(|it| it.components().next().is_some()) {
            let text = "# A package of code that Situ generated.\n".to_owned();
            files.entry(outer.join("__init__.py")).or_insert(text);
        }
        let path = names.file(scope);
        files.insert(path.with_extension("pyi"), stub::write(&names, scope, module));
        files.insert(path, source::write(&names, scope, module));
    }
    files.into_iter().map(|(path, text)| GeneratedFile { path, text }).collect()
}

/// The methods for the operations of an interface, with the positions of their services.
pub(super) fn operations(interface: &Interface) -> Vec<(String, usize)> {
    let scope = names::operations(interface);
    let methods = interface.operations.iter();
    methods.map(|(name, at)| (scope.get(name).unwrap_or(name).to_owned(), *at)).collect()
}

/// The enumerators for the names of an enum or a bitmask.
pub(super) fn enumerators(names: &[&str]) -> Vec<String> {
    let scope = names::enumerators(names.iter().copied());
    names.iter().map(|name| scope.get(name).unwrap_or(name).to_owned()).collect()
}

/// The types that an earlier file has and a new one would not have. `None` if Situ did not write the earlier
/// one.
pub(super) fn lost_types(old: &str, new: &str) -> Option<Vec<String>> {
    let types = |text: &str| -> Option<BTreeSet<String>> {
        Some(text.lines().next()?.strip_prefix(HEADER)?.split_whitespace().map(str::to_owned).collect())
    };
    let (old, new) = (types(old)?, types(new).unwrap_or_default());
    Some(old.difference(&new).cloned().collect())
}
