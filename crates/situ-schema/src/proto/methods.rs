//! Names of the methods of a message's fields, in any language, by the rule of
//! [`naming`](crate::codegen::naming).

use std::collections::HashMap;

use super::model::{Field, Kind, Message};
use crate::codegen::naming::Scope;

/// The methods that belong to a field.
#[derive(Debug)]
pub struct Methods {
    /// Reads it.
    pub get: String,
    /// Whether it is there.
    pub has: String,
    /// Sets it, or adds to it.
    pub set: String,
    /// Begins to set it, or to add to it, piece by piece.
    pub pieces: String,
}

/// The methods of a message's writer and reader, by the names of its fields. `in_reader` and `in_writer` are
/// further names in these. No method gets a name for which `is_reserved` is true.
pub fn methods<'a>(
    it: &'a Message,
    is_reserved: impl Fn(&str) -> bool,
    in_reader: &[&str],
    in_writer: &[&str],
) -> HashMap<&'a str, Methods> {
    let names = || it.fields.iter().map(|field| field.name.as_str());
    let mut reader = Scope::of(names(), |name| is_reserved(name) || in_reader.contains(&name));
    let mut writer = Scope::default();
    reader.take(in_reader.iter().copied());
    writer.take(in_writer.iter().copied());
    let verb = Field::verb;
    let setters: Vec<String> =
        it.fields.iter().map(|field| writer.made(format!("{}_{}", verb(field), field.name))).collect();
    let mut methods = HashMap::new();
    for (field, set) in it.fields.iter().zip(setters) {
        let name = field.name.as_str();
        let get = reader.get(name).unwrap_or(name).to_owned();
        let has = if field.is_repeated { String::new() } else { reader.made(format!("has_{name}")) };
        let pieces = match field.kind {
            Kind::String | Kind::Bytes => writer.made(format!("{}_{name}_in_pieces", verb(field))),
            _ => String::new(),
        };
        methods.insert(name, Methods { get, has, set, pieces });
    }
    methods
}
