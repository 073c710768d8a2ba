//! C++ names of everything in `.proto` files, by the rule of [`naming`](crate::codegen::naming).
//!
//! Each file has a header of its own, which may be generated without others. The names in it therefore depend
//! only on the file and its imports.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use crate::codegen::cpp::words;
use crate::codegen::naming::Scope;
use crate::proto::error::ProtoError;
use crate::proto::methods::{self, Methods};
use crate::proto::model::{Enum, File, Message, Model};

/// The suffixes of a message's classes.
const CLASSES: [&str; 3] = ["Writer", "Reader", "Layout"];
/// Names in every reader, besides its fields.
const IN_READER: [&str; 4] = ["as_bytes", "error", "table_", "unknown_fields"];
/// The namespace of Situ's headers, which packages may use as well, and the name that the headers declare in
/// it.
const SITU: &str = "situ";
const IN_SITU: &str = "protobuf";

/// The names of all files.
#[derive(Debug)]
pub struct Names<'a> {
    /// The model whose elements are named.
    pub model: &'a Model,
    /// By full name: the namespace, with a trailing `::` if it is not the global one, and the name in it. The
    /// name of a message is the stem of its classes' names.
    types: HashMap<&'a str, (String, String)>,
    enumerators: HashMap<&'a str, Scope<'a>>,
}

impl<'a> Names<'a> {
    /// Names everything. Fails if two headers would define the same name, and neither includes the other, so
    /// that neither can avoid it.
    pub fn new(model: &'a Model) -> Result<Self, ProtoError> {
        let mut names = Self { model, types: HashMap::new(), enumerators: HashMap::new() };
        // What each file defines: the qualified names, and the full names in the schema.
        let mut defined: HashMap<&str, Vec<(String, &str)>> = HashMap::new();
        for file in &model.files {
            let imported = model.imported(file);
            let taken = imported.iter().filter_map(|it| defined.get(it.name.as_str())).flatten();
            let taken = taken.map(|(name, _)| name.as_str());
            let own = names.file(file, taken, &imported);
            defined.insert(&file.name, own);
        }
        let mut all: BTreeMap<&str, (&str, &str)> = BTreeMap::new();
        for file in &model.files {
            for (name, full_name) in defined.get(file.name.as_str()).into_iter().flatten() {
                if let Some((other, other_file)) = all.insert(name, (full_name, &file.name)) {
                    return Err(ProtoError::SameName {
                        name: name.clone(),
                        first: format!("{} ({other_file})", &other[1..]),
                        second: format!("{} ({})", &full_name[1..], file.name),
                    });
                }
            }
        }
        Ok(names)
    }

    /// Names what a file defines, and returns it.
    fn file<'f>(
        &mut self,
        file: &'a File,
        taken: impl Iterator<Item = &'f str>,
        imported: &[&File],
    ) -> Vec<(String, &'a str)> {
        let namespace = namespace(file);
        let inside = |name: &str| -> Option<String> {
            let rest = name.strip_prefix(namespace.as_str())?;
            Some(rest.split_once("::").map_or(rest, |(first, _)| first).to_owned())
        };
        // Other types in the namespace, and namespaces in it.
        let mut others: BTreeSet<String> = taken.filter_map(inside).collect();
        others.extend(imported.iter().filter_map(|it| inside(&self::namespace(it))));
        let is_reserved =
            |name: &str| self::is_reserved(&namespace, name) || namespace.is_empty() && name == SITU;
        let is_taken = |name: &str| is_reserved(name) || others.contains(name);

        let is_outer = |it: &&Enum| it.path.len() == 1;
        let outer = || file.enums.iter().filter(is_outer);
        let mut scope = Scope::of(outer().map(|it| it.path[0].as_str()), is_taken);
        scope.take(others.iter().cloned());
        let mut own = Vec::new();
        let mut add = |full_name: &'a str, name: String| {
            self.types.insert(full_name, (namespace.clone(), name));
        };
        for it in outer() {
            let name = scope.get(&it.path[0]).unwrap_or_default().to_owned();
            own.push((format!("{namespace}{name}"), it.full_name.as_str()));
            add(&it.full_name, name);
        }
        // Among names of nested types, the shorter paths come first, and extensions last.
        let mut nested: Vec<(usize, &'a [String], Result<&'a Message, &'a Enum>)> = Vec::new();
        let messages = file.messages.iter().map(|it| {
            (if it.extends.is_some() { usize::MAX } else { it.path.len() }, it.path.as_slice(), Ok(it))
        });
        nested.extend(messages);
        let enums = file.enums.iter().filter(|it| !is_outer(it));
        nested.extend(enums.map(|it| (it.path.len(), it.path.as_slice(), Err(it))));
        nested.sort_by_key(|(depth, ..)| *depth);
        for (_, path, it) in nested {
            let mut wanted = path.join("_");
            match it {
                Ok(message) => {
                    let stem = scope.stem(wanted, &CLASSES);
                    let classes = CLASSES.iter().map(|end| format!("{namespace}{stem}{end}"));
                    own.extend(classes.map(|it| (it, message.full_name.as_str())));
                    add(&message.full_name, stem);
                }
                Err(each) => {
                    while is_reserved(&wanted) {
                        wanted.push('_');
                    }
                    let name = scope.made(wanted);
                    own.push((format!("{namespace}{name}"), &each.full_name));
                    add(&each.full_name, name);
                }
            }
        }
        for it in &file.enums {
            let values = it.values.iter().map(|(name, _)| name.as_str());
            self.enumerators.insert(&it.full_name, Scope::of(values, words::is_reserved));
        }
        own
    }

    /// A message's class, or an enum, in its namespace.
    pub fn simple(&self, full_name: &str, end: &str) -> String {
        self.types.get(full_name).map_or_else(String::new, |(_, name)| format!("{name}{end}"))
    }

    /// A message's class, or an enum, from anywhere.
    pub fn qualified(&self, full_name: &str, end: &str) -> String {
        self.types.get(full_name).map_or_else(String::new, |(scope, name)| format!("::{scope}{name}{end}"))
    }

    /// A value of an enum.
    pub fn enumerator<'s>(&'s self, full_name: &str, value: &'s str) -> &'s str {
        self.enumerators.get(full_name).and_then(|it| it.get(value)).unwrap_or(value)
    }

    /// The methods of a message's writer and reader, by the names of its fields.
    pub fn methods<'m>(&self, it: &'m Message) -> HashMap<&'m str, Methods> {
        let (writer, reader) = (self.simple(&it.full_name, "Writer"), self.simple(&it.full_name, "Reader"));
        let in_reader: Vec<&str> = IN_READER.into_iter().chain([reader.as_str()]).collect();
        methods::methods(it, words::is_reserved, &in_reader, &[&writer])
    }
}

/// The namespace of a file, with a trailing `::` if it is not the global one.
pub fn namespace(file: &File) -> String {
    let mut namespace = String::new();
    for (depth, part) in file.package.iter().enumerate() {
        let mut part = part.clone();
        // The namespace that the caller asked for keeps its name.
        while depth >= file.around && is_reserved(&namespace, &part) {
            part.push('_');
        }
        namespace = format!("{namespace}{part}::");
    }
    namespace
}

/// Whether nothing in a namespace may have this name.
fn is_reserved(namespace: &str, name: &str) -> bool {
    words::is_reserved(name)
        || namespace.is_empty() && words::is_global(name)
        || namespace.strip_suffix("::") == Some(SITU) && name == IN_SITU
}
