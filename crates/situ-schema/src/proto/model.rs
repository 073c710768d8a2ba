//! What the generators need to know of `.proto` files, out of their descriptors.

use std::collections::{BTreeMap, BTreeSet};

use prost_types::field_descriptor_proto::{Label, Type};

use super::ProtoError;
use super::descriptor::{self, EDITION_2023, EDITION_2024, EnumType, Features, MessageType};
use super::rules::defaults;

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
    /// How a single one is stored, if it is no group.
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
    /// Of a message's type, with a tag at its end instead of a length in front.
    pub is_group: bool,
    pub is_repeated: bool,
    pub is_packed: bool,
    /// The index of the oneof, if it is a real one.
    pub oneof: Option<usize>,
    /// As it stands in the descriptor.
    pub default: Option<String>,
}

impl Field {
    /// How a single one is stored.
    pub fn wire(&self) -> &'static str {
        if self.is_group { "GroupStart" } else { self.kind.wire() }
    }

    /// What the names of methods that write it begin with.
    pub fn verb(&self) -> &'static str {
        if self.is_repeated && !self.is_packed { "add" } else { "set" }
    }

    /// Whether it is a field of numbers, which can be packed.
    pub fn is_numeric(&self) -> bool {
        matches!(self.kind, Kind::Scalar(_) | Kind::Enum(_))
    }
}

#[derive(Debug)]
pub struct Message {
    /// With a dot in front.
    pub full_name: String,
    /// Those of the messages that it lies in, and its own.
    pub path: Vec<String>,
    pub fields: Vec<Field>,
    pub is_map_entry: bool,
    /// The full name of the message that this extends. Such a message has one field, and is none of its own.
    pub extends: Option<String>,
}

#[derive(Debug)]
pub struct Enum {
    pub full_name: String,
    pub path: Vec<String>,
    pub values: Vec<(String, i32)>,
    /// Numbers that it does not have are unknown fields.
    pub is_closed: bool,
}

#[derive(Debug)]
pub struct File {
    pub name: String,
    pub imports: Vec<String>,
    /// The namespace around everything, and the package.
    pub package: Vec<String>,
    /// How many of these are the namespace around everything.
    pub around: usize,
    pub messages: Vec<Message>,
    pub enums: Vec<Enum>,
}

/// For each slot the first slot of its oneof, and the one behind the last; twice zero if it is in none.
pub fn oneofs(slots: &[&Field]) -> Vec<(usize, usize)> {
    let place = |field: &&Field| {
        let Some(oneof) = field.oneof else { return (0, 0) };
        let begin = slots.iter().position(|it| it.oneof == Some(oneof)).unwrap_or(0);
        (begin, begin + slots.iter().filter(|it| it.oneof == Some(oneof)).count())
    };
    slots.iter().map(place).collect()
}

/// What those that use a message or an enum need to know of it.
#[derive(Debug, Clone)]
pub struct Place {
    pub is_map_entry: bool,
    pub is_closed: bool,
    /// For an enum, its numbers, the first in front.
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

    /// Descriptors that no protoc makes are refused: generators look types up without asking.
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

    /// What a file imports, directly or through others.
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

/// The full names of messages whose extensions are elements of a set, in a form of its own
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

/// The package with a dot in front, if there is one.
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

    /// Each extension as a message of one field. Their names are those of nothing else in their scope, whatever other
    /// files have in it.
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

/// A field. `has_length`: it is no group, whatever an edition says.
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
