//! The model of `.proto` files that the generators read, made from descriptors.

use std::collections::{BTreeMap, BTreeSet};

use prost_types::field_descriptor_proto::{Label, Type};

use super::error::ProtoError;
use super::frontend::descriptor::{self, EDITION_2023, EDITION_2024, EnumType, Features, MessageType};
use super::frontend::rules::defaults;

/// A scalar type.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scalar {
    Int32,
    Int64,
    Uint32,
    Uint64,
    Sint32,
    Sint64,
    Fixed32,
    Fixed64,
    Sfixed32,
    Sfixed64,
    Float,
    Double,
    Bool,
}

/// The type of a field; messages and enums by their full name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Kind {
    Scalar(Scalar),
    String,
    Bytes,
    Enum(String),
    Message(String),
}

impl Kind {
    /// The wire type of a single value that is not a group.
    fn wire(&self) -> &'static str {
        match self {
            Self::Scalar(Scalar::Fixed32 | Scalar::Sfixed32 | Scalar::Float) => "Fixed32",
            Self::Scalar(Scalar::Fixed64 | Scalar::Sfixed64 | Scalar::Double) => "Fixed64",
            Self::Scalar(_) | Self::Enum(_) => "Varint",
            _ => "Bytes",
        }
    }
}

#[derive(Debug)]
pub struct Field {
    pub name: String,
    pub number: u32,
    pub kind: Kind,
    /// Whether it is a message with an end tag instead of a length.
    pub is_group: bool,
    pub is_repeated: bool,
    pub is_packed: bool,
    /// The index of the oneof, unless it is the synthetic one of a proto3 optional field.
    pub oneof: Option<usize>,
    /// The default, as written in the descriptor.
    pub default: Option<String>,
}

impl Field {
    /// The wire type of a single value.
    pub fn wire(&self) -> &'static str {
        if self.is_group { "GroupStart" } else { self.kind.wire() }
    }

    /// The verb of the methods that write it.
    pub fn verb(&self) -> &'static str {
        if self.is_repeated && !self.is_packed { "add" } else { "set" }
    }

    /// Whether its values are numbers, which can be packed.
    pub fn is_numeric(&self) -> bool {
        matches!(self.kind, Kind::Scalar(_) | Kind::Enum(_))
    }
}

#[derive(Debug)]
pub struct Message {
    /// With a leading dot.
    pub full_name: String,
    /// The names of the enclosing messages, and its own.
    pub path: Vec<String>,
    pub fields: Vec<Field>,
    pub is_map_entry: bool,
    /// The full name of the message that this extends. Such an extension is represented as a message with one
    /// field.
    pub extends: Option<String>,
}

#[derive(Debug)]
pub struct Enum {
    pub full_name: String,
    pub path: Vec<String>,
    pub values: Vec<(String, i32)>,
    /// Whether it is closed: other numbers are then unknown fields.
    pub is_closed: bool,
}

#[derive(Debug)]
pub struct File {
    pub name: String,
    pub imports: Vec<String>,
    /// The namespace around everything, and the package.
    pub package: Vec<String>,
    /// The number of parts of `package` that are the namespace around everything.
    pub around: usize,
    pub messages: Vec<Message>,
    pub enums: Vec<Enum>,
}

/// For each slot, the range of slots of its oneof; `(0, 0)` if it is in none.
pub fn oneofs(slots: &[&Field]) -> Vec<(usize, usize)> {
    let place = |field: &&Field| {
        let Some(oneof) = field.oneof else { return (0, 0) };
        let begin = slots.iter().position(|it| it.oneof == Some(oneof)).unwrap_or(0);
        (begin, begin + slots.iter().filter(|it| it.oneof == Some(oneof)).count())
    };
    slots.iter().map(place).collect()
}

/// Facts about a message or an enum for its users.
#[derive(Debug, Clone)]
pub struct Place {
    pub is_map_entry: bool,
    pub is_closed: bool,
    /// The numbers of an enum, in declaration order.
    pub numbers: Vec<i32>,
}

#[derive(Debug)]
pub struct Model {
    pub files: Vec<File>,
    pub places: BTreeMap<String, Place>,
}

impl Message {
    /// The fields in the order of their places in a reader's table: members of a oneof stand side by side.
    pub fn slots(&self) -> Vec<&Field> {
        let mut slots: Vec<&Field> = self.fields.iter().collect();
        slots.sort_by_key(|field| field.oneof.map_or(0, |oneof| oneof + 1));
        slots
    }
}

impl Model {
    pub fn new(descriptors: &[descriptor::File], namespace: &str) -> Result<Self, ProtoError> {
        let around: Vec<String> =
            namespace.split(['.', ':']).filter(|it| !it.is_empty()).map(str::to_owned).collect();
        let mut files = Vec::new();
        let message_sets = message_sets(descriptors);
        for descriptor in descriptors {
            let is_edition = descriptor.syntax == "editions";
            if is_edition && !(EDITION_2023..=EDITION_2024).contains(&descriptor.edition) {
                return Err(ProtoError::Edition { file: descriptor.name.clone() });
            }
            let own = descriptor.options.as_ref().and_then(|it| it.features);
            let features = Features::within(own, defaults(descriptor));
            let mut package = around.clone();
            package.extend(descriptor.package.split('.').filter(|it| !it.is_empty()).map(str::to_owned));
            let mut file = File {
                name: descriptor.name.clone(),
                imports: descriptor.dependency.clone(),
                package,
                around: around.len(),
                messages: Vec::new(),
                enums: Vec::new(),
            };
            let scope = scope_of(descriptor);
            for message in &descriptor.message_type {
                file.message(message, &scope, &[], features);
            }
            for each in &descriptor.enum_type {
                file.enumeration(each, &scope, &[], features);
            }
            file.extensions(&descriptor.extension, &scope, &[], features);
            file.messages.retain(|it| it.extends.as_ref().is_none_or(|it| !message_sets.contains(it)));
            files.push(file);
        }
        let mut places = BTreeMap::new();
        for file in &files {
            for it in file.messages.iter().filter(|it| it.extends.is_none()) {
                let place = Place { is_map_entry: it.is_map_entry, is_closed: false, numbers: Vec::new() };
                places.insert(it.full_name.clone(), place);
            }
            for it in &file.enums {
                let place = Place {
                    is_map_entry: false,
                    is_closed: it.is_closed,
                    numbers: it.values.iter().map(|(_, number)| *number).collect(),
                };
                places.insert(it.full_name.clone(), place);
            }
        }
        let model = Self { files, places };
        model.check()?;
        Ok(model)
    }

    /// Refuses descriptors that protoc never makes, because the generators rely on what they refer to.
    fn check(&self) -> Result<(), ProtoError> {
        for file in &self.files {
            for it in &file.messages {
                let named = it.fields.iter().filter_map(|field| match &field.kind {
                    Kind::Enum(name) | Kind::Message(name) => Some(name),
                    _ => None,
                });
                let unknown = named.chain(&it.extends).find(|name| !self.places.contains_key(*name));
                let is_broken_entry = it.is_map_entry && it.fields.len() != 2;
                let is_nameless = it.path.iter().any(String::is_empty);
                if let Some(name) = unknown.or((is_broken_entry || is_nameless).then_some(&it.full_name)) {
                    return Err(ProtoError::Descriptor { file: file.name.clone(), name: name.clone() });
                }
            }
        }
        Ok(())
    }

    /// The files that a file imports, directly or through others.
    pub fn imported(&self, file: &File) -> Vec<&File> {
        let mut names: Vec<&str> = file.imports.iter().map(String::as_str).collect();
        let mut next = 0;
        let mut imported = Vec::new();
        while let Some(name) = names.get(next).copied() {
            next += 1;
            let Some(it) = self.files.iter().find(|it| it.name == name) else { continue };
            imported.push(it);
            for more in &it.imports {
                if !names.contains(&more.as_str()) {
                    names.push(more);
                }
            }
        }
        imported
    }

    /// The numbers of a field's enum, if it is a closed one.
    pub fn closed_numbers(&self, field: &Field) -> Option<&[i32]> {
        let Kind::Enum(name) = &field.kind else { return None };
        let place = &self.places[name];
        place.is_closed.then_some(&place.numbers)
    }

    /// The message that is the entry of a map, if the field is a map.
    pub fn map_entry(&self, field: &Field) -> Option<&Message> {
        let Kind::Message(name) = &field.kind else { return None };
        if !self.places[name].is_map_entry {
            return None;
        }
        self.files.iter().flat_map(|file| &file.messages).find(|it| it.full_name == *name)
    }
}

/// The full names of messages whose extensions are encoded as elements of a message set
/// (`message_set_wire_format`).
fn message_sets(descriptors: &[descriptor::File]) -> BTreeSet<String> {
    fn search(messages: &[MessageType], scope: &str, found: &mut BTreeSet<String>) {
        for it in messages {
            let name = format!("{scope}.{}", it.name);
            search(&it.nested_type, &name, found);
            if it.options.as_ref().is_some_and(|it| it.message_set_wire_format) {
                found.insert(name);
            }
        }
    }
    let mut found = BTreeSet::new();
    for file in descriptors {
        search(&file.message_type, &scope_of(file), &mut found);
    }
    found
}

/// The package with a leading dot, or an empty string.
fn scope_of(file: &descriptor::File) -> String {
    if file.package.is_empty() { String::new() } else { format!(".{}", file.package) }
}

impl File {
    fn message(&mut self, it: &MessageType, scope: &str, outer: &[String], around: Features) {
        let features = Features::within(it.options.as_ref().and_then(|it| it.features), around);
        let full_name = format!("{scope}.{}", it.name);
        let path = [outer, std::slice::from_ref(&it.name)].concat();
        let is_map_entry = it.options.as_ref().is_some_and(|options| options.map_entry);
        let fields = it.field.iter().map(|each| {
            // Maps and their entries always have lengths.
            let is_map = |nested: &MessageType| {
                nested.options.as_ref().is_some_and(|it| it.map_entry)
                    && each.type_name == format!("{full_name}.{}", nested.name)
            };
            field(each, features, is_map_entry || it.nested_type.iter().any(is_map))
        });
        let fields = fields.collect();
        self.messages.push(Message {
            full_name: full_name.clone(),
            path: path.clone(),
            fields,
            is_map_entry,
            extends: None,
        });
        for nested in &it.nested_type {
            self.message(nested, &full_name, &path, features);
        }
        for nested in &it.enum_type {
            self.enumeration(nested, &full_name, &path, features);
        }
        self.extensions(&it.extension, &full_name, &path, features);
    }

    /// Adds each extension as a message with one field.
    fn extensions(&mut self, all: &[descriptor::Field], scope: &str, outer: &[String], around: Features) {
        for it in all {
            let own = format!("{}Extension", camel(&it.name));
            self.messages.push(Message {
                full_name: format!("{scope}.{}", it.name),
                path: [outer, &[own]].concat(),
                fields: vec![field(it, around, false)],
                is_map_entry: false,
                extends: Some(it.extendee.clone()),
            });
        }
    }

    fn enumeration(&mut self, it: &EnumType, scope: &str, outer: &[String], around: Features) {
        let features = Features::within(it.options.as_ref().and_then(|it| it.features), around);
        self.enums.push(Enum {
            full_name: format!("{scope}.{}", it.name),
            path: [outer, std::slice::from_ref(&it.name)].concat(),
            values: it.value.iter().map(|value| (value.name.clone(), value.number)).collect(),
            is_closed: features.enum_type == 2,
        });
    }
}

/// `tour_place` becomes `TourPlace`.
fn camel(name: &str) -> String {
    let words = name.split('_').filter(|it| !it.is_empty());
    let capital = |word: &str| {
        let mut letters = word.chars();
        letters.next().map(|first| first.to_ascii_uppercase()).into_iter().chain(letters).collect::<String>()
    };
    words.map(capital).collect()
}

/// Makes a field. `has_length`: it is not a group, whatever an edition's features say.
fn field(it: &descriptor::Field, around: Features, has_length: bool) -> Field {
    let features = Features::within(it.options.as_ref().and_then(|it| it.features), around);
    let kind_of = Type::try_from(it.r#type).unwrap_or(Type::Message);
    let kind = match kind_of {
        Type::Double => Kind::Scalar(Scalar::Double),
        Type::Float => Kind::Scalar(Scalar::Float),
        Type::Int64 => Kind::Scalar(Scalar::Int64),
        Type::Uint64 => Kind::Scalar(Scalar::Uint64),
        Type::Int32 => Kind::Scalar(Scalar::Int32),
        Type::Fixed64 => Kind::Scalar(Scalar::Fixed64),
        Type::Fixed32 => Kind::Scalar(Scalar::Fixed32),
        Type::Bool => Kind::Scalar(Scalar::Bool),
        Type::Uint32 => Kind::Scalar(Scalar::Uint32),
        Type::Sfixed32 => Kind::Scalar(Scalar::Sfixed32),
        Type::Sfixed64 => Kind::Scalar(Scalar::Sfixed64),
        Type::Sint32 => Kind::Scalar(Scalar::Sint32),
        Type::Sint64 => Kind::Scalar(Scalar::Sint64),
        Type::String => Kind::String,
        Type::Bytes => Kind::Bytes,
        Type::Enum => Kind::Enum(it.type_name.clone()),
        Type::Message | Type::Group => Kind::Message(it.type_name.clone()),
    };
    let is_delimited = features.message_encoding == 2 && !has_length;
    let is_group = kind_of == Type::Group || kind_of == Type::Message && is_delimited;
    let is_repeated = it.label == Label::Repeated as i32;
    let asked = it.options.as_ref().and_then(|options| options.packed);
    let is_packed = asked.unwrap_or(features.repeated_field_encoding == 1);
    Field {
        name: it.name.clone(),
        number: it.number as u32,
        is_packed: is_repeated && kind.wire() != "Bytes" && is_packed,
        kind,
        is_group,
        is_repeated,
        oneof: it.oneof_index.filter(|_| !it.proto3_optional).map(|index| index as usize),
        default: it.default_value.clone(),
    }
}
