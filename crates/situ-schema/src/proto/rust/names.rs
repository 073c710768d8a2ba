//! Rust names of everything in `.proto` files, by the rule of [`naming`](crate::codegen::naming).
//!
//! All files of a call become one file. It has a module for each package, and in it one for each message with
//! nested types.

use std::collections::{HashMap, HashSet};

use crate::codegen::naming::Scope;
use crate::codegen::rust::words::{has_no_raw_form, is_taken, raw};
use crate::proto::methods::{self, Methods};
use crate::proto::model::{Message, Model};

/// The suffixes of a message's types.
const TYPES: [&str; 3] = ["Writer", "Reader", "Layout"];
/// Names in every reader, besides its fields.
const IN_READER: [&str; 4] = ["as_bytes", "new", "try_from", "unknown_fields"];
/// Names of variables in generated functions: no enum may have such a name, because a pattern with that name
/// would refer to the enum.
const VARIABLES: [&str; 12] = [
    "bytes", "entry", "it", "key", "message", "nested", "number", "packed", "slot", "value", "values", "wire",
];

/// The names of all files.
#[derive(Debug, Default)]
pub struct Names<'a> {
    /// By full name: the module, and the name in it. The name of a message is the stem of its types' names.
    types: HashMap<&'a str, (Vec<String>, String)>,
    enumerators: HashMap<&'a str, Scope<'a>>,
}

/// A module whose content is being named.
#[derive(Debug, Default)]
struct Module<'a> {
    enums: Vec<(&'a str, &'a str)>,
    /// Modules of packages.
    modules: HashSet<String>,
    scope: Scope<'a>,
}

impl<'a> Names<'a> {
    /// Names everything.
    pub fn new(model: &'a Model) -> Self {
        let mut names = Self::default();
        // Modules by path: the package, then the enclosing messages.
        let mut modules: HashMap<Vec<String>, Module> = HashMap::new();
        for file in &model.files {
            let package = package(&file.package);
            for depth in 0..package.len() {
                let module = modules.entry(package[..depth].to_vec()).or_default();
                module.modules.insert(package[depth].clone());
            }
            for it in file.enums.iter().filter(|it| it.path.len() == 1) {
                let module = modules.entry(package.clone()).or_default();
                module.enums.push((&it.path[0], &it.full_name));
            }
        }
        for (path, module) in &mut modules {
            names.declare(path, module);
        }
        // The modules of messages, by package and path of the message.
        let mut inner: HashMap<(&[String], &[String]), Vec<String>> = HashMap::new();
        let longest = model.files.iter().flat_map(|it| &it.messages).map(|it| it.path.len()).max();
        for depth in 1..=longest.unwrap_or(0) {
            // Messages, then their modules, then extensions.
            for kind in 0..3 {
                for file in &model.files {
                    let all = file.messages.iter().filter(|it| it.path.len() == depth);
                    for it in all.filter(|it| it.extends.is_some() == (kind == 2)) {
                        let (own, outer) = it.path.split_last().unwrap_or((&it.full_name, &[]));
                        let key = (file.package.as_slice(), outer);
                        let around = inner.get(&key).cloned().unwrap_or_else(|| package(&file.package));
                        let module = modules.entry(around.clone()).or_default();
                        if kind != 1 {
                            let stem = module.scope.stem(own.clone(), &TYPES);
                            names.types.insert(&it.full_name, (around, stem));
                            continue;
                        }
                        let enums = file
                            .enums
                            .iter()
                            .filter(|each| each.path.split_last().is_some_and(|(_, outer)| outer == it.path));
                        let enums: Vec<_> = enums
                            .filter_map(|each| Some((each.path.last()?.as_str(), each.full_name.as_str())))
                            .collect();
                        let is_outer = |path: &[String]| path.len() > depth && path.starts_with(&it.path);
                        if !file.messages.iter().any(|it| is_outer(&it.path)) && enums.is_empty() {
                            continue;
                        }
                        let path = [around, vec![module.scope.made(free(&snake(own)))]].concat();
                        let mut within = Module { enums, ..Module::default() };
                        names.declare(&path, &mut within);
                        modules.insert(path.clone(), within);
                        inner.insert((&file.package, &it.path), path);
                    }
                }
            }
        }
        for it in model.files.iter().flat_map(|it| &it.enums) {
            let values = it.values.iter().map(|(name, _)| name.as_str());
            let scope = Scope::of(values, |name| has_no_raw_form(name) || name == "default");
            names.enumerators.insert(&it.full_name, scope);
        }
        names
    }

    /// Names the enums of a module.
    fn declare(&mut self, path: &[String], module: &mut Module<'a>) {
        let is_reserved =
            |name: &str| is_taken(name) || VARIABLES.contains(&name) || module.modules.contains(name);
        module.scope = Scope::of(module.enums.iter().map(|(name, _)| *name), is_reserved);
        module.scope.take(module.modules.iter().cloned());
        for (name, full_name) in &module.enums {
            let called = module.scope.get(name).unwrap_or(name).to_owned();
            self.types.insert(full_name, (path.to_vec(), called));
        }
    }

    /// The module in which a message or an enum stands.
    pub fn module(&self, full_name: &str) -> &[String] {
        self.types.get(full_name).map_or(&[], |(module, _)| module)
    }

    /// A message's type, or an enum, in its module.
    pub fn simple(&self, full_name: &str, end: &str) -> String {
        self.types.get(full_name).map_or_else(String::new, |(_, name)| raw(&format!("{name}{end}")))
    }

    /// A value of an enum.
    pub fn enumerator(&self, full_name: &str, value: &str) -> String {
        raw(self.enumerators.get(full_name).and_then(|it| it.get(value)).unwrap_or(value))
    }

    /// The methods of a message's writer and reader, by the names of its fields.
    pub fn methods<'m>(&self, it: &'m Message) -> HashMap<&'m str, Methods> {
        let mut methods = methods::methods(it, has_no_raw_form, &IN_READER, &[]);
        methods.values_mut().for_each(|it| it.get = raw(&it.get));
        methods
    }
}

/// The modules of a package.
fn package(parts: &[String]) -> Vec<String> {
    parts.iter().map(|it| free(it)).collect()
}

/// A name with trailing underscores if it is a keyword without a raw form, or a primitive type.
fn free(name: &str) -> String {
    let mut name = name.to_owned();
    while is_taken(&name) {
        name.push('_');
    }
    name
}

/// `TourPlace` becomes `tour_place`.
fn snake(name: &str) -> String {
    let mut snake = String::new();
    let mut before = '_';
    for letter in name.chars() {
        if letter.is_ascii_uppercase() && before != '_' && !before.is_ascii_uppercase() {
            snake.push('_');
        }
        snake.push(letter.to_ascii_lowercase());
        before = letter;
    }
    snake
}
