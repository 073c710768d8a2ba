//! What the generators need to know of `.proto` files, out of their descriptors.

use std::collections::BTreeMap;

use prost_types::field_descriptor_proto::{Label, Type};

use super::ProtoError;
use super::descriptor::{self, EDITION_2023, EnumType, Features, MessageType};
use super::load::range;
use crate::diagnostic::{Diagnostic, MAX_DIAGNOSTICS, SchemaError};
use crate::source::{Sources, Span};

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
    /// How a single one is stored.
    pub fn wire(&self) -> &'static str {
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
    pub is_repeated: bool,
    pub is_packed: bool,
    /// The index of the oneof, if it is a real one.
    pub oneof: Option<usize>,
    /// As it stands in the descriptor.
    pub default: Option<String>,
}

#[derive(Debug)]
pub struct Message {
    /// With a dot in front.
    pub full_name: String,
    /// Those of the messages that it lies in, and its own.
    pub path: Vec<String>,
    pub fields: Vec<Field>,
    pub is_map_entry: bool,
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

/// Where a message or enum is.
#[derive(Debug, Clone)]
pub struct Place {
    pub package: Vec<String>,
    pub path: Vec<String>,
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

/// What `proto2` and `proto3` stand for, in the words of editions.
const PROTO2: Features = Features { enum_type: 2, repeated_field_encoding: 2, message_encoding: 1 };
const PROTO3: Features = Features { enum_type: 1, repeated_field_encoding: 1, message_encoding: 1 };

impl Message {
    /// The fields in the order of their places in a reader's table: members of a oneof stand side by side.
    pub fn slots(&self) -> Vec<&Field> {
        let mut slots: Vec<&Field> = self.fields.iter().collect();
        slots.sort_by_key(|field| field.oneof.map_or(0, |oneof| oneof + 1));
        slots
    }
}

impl Model {
    /// `sources` has the texts of files, as far as they are known.
    pub fn new(
        descriptors: &[descriptor::File],
        namespace: &str,
        sources: &Sources,
    ) -> Result<Self, ProtoError> {
        let around: Vec<String> =
            namespace.split(['.', ':']).filter(|it| !it.is_empty()).map(str::to_owned).collect();
        let mut files = Vec::new();
        let mut diagnostics = Vec::new();
        for descriptor in descriptors {
            let features = match descriptor.syntax.as_str() {
                "proto3" => PROTO3,
                "editions" if descriptor.edition == EDITION_2023 => PROTO3,
                "editions" => return Err(ProtoError::Edition { file: descriptor.name.clone() }),
                _ => PROTO2,
            };
            let own = descriptor.options.as_ref().and_then(|it| it.features);
            let features = Features::within(own, features);
            let mut package = around.clone();
            package.extend(descriptor.package.split('.').filter(|it| !it.is_empty()).map(str::to_owned));
            let mut file = File {
                name: descriptor.name.clone(),
                imports: descriptor.dependency.clone(),
                package,
                messages: Vec::new(),
                enums: Vec::new(),
            };
            let scope = if descriptor.package.is_empty() {
                String::new()
            } else {
                format!(".{}", descriptor.package)
            };
            let mut groups = Vec::new();
            for (index, message) in (0..).zip(&descriptor.message_type) {
                file.message(message, &scope, &[], features, &mut vec![4, index], &mut groups);
            }
            for each in &descriptor.enum_type {
                file.enumeration(each, &scope, &[], features);
            }
            diagnostics.extend(groups.iter().map(|group| refuse(group, descriptor, sources)));
            files.push(file);
        }
        if !diagnostics.is_empty() {
            diagnostics.truncate(MAX_DIAGNOSTICS);
            return Err(ProtoError::Schema(Box::new(SchemaError::new(diagnostics, sources))));
        }
        let mut places = BTreeMap::new();
        for file in &files {
            for it in &file.messages {
                let place = Place {
                    package: file.package.clone(),
                    path: it.path.clone(),
                    is_map_entry: it.is_map_entry,
                    is_closed: false,
                    numbers: Vec::new(),
                };
                places.insert(it.full_name.clone(), place);
            }
            for it in &file.enums {
                let place = Place {
                    package: file.package.clone(),
                    path: it.path.clone(),
                    is_map_entry: false,
                    is_closed: it.is_closed,
                    numbers: it.values.iter().map(|(_, number)| *number).collect(),
                };
                places.insert(it.full_name.clone(), place);
            }
        }
        Ok(Self { files, places })
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

/// A field that is a group: its name, how it came to be one, and its path in the descriptor.
struct Group {
    field: String,
    is_delimited: bool,
    path: Vec<i32>,
}

/// Says that a field is a group, and where it stands.
fn refuse(group: &Group, file: &descriptor::File, sources: &Sources) -> Diagnostic {
    let message = format!("{} is a group, which Situ does not write", group.field);
    let (label, help) = if group.is_delimited {
        ("delimited by tags", "set features.message_encoding = LENGTH_PREFIXED, which changes the bytes")
    } else {
        ("a group", "make it a field with a message's type, which changes the bytes")
    };
    // Where its name stands is told apart.
    let name = [group.path.as_slice(), &[1]].concat();
    let places = || file.source_code_info.iter().flat_map(|it| &it.location);
    let place = places().find(|it| it.path == name).or_else(|| places().find(|it| it.path == group.path));
    let source = sources.iter().find(|(_, it)| it.path.to_str() == Some(&file.name));
    let diagnostic = match (place, source) {
        (Some(place), Some((id, source))) if range(&source.text, &place.span).is_some() => {
            let (start, end) = range(&source.text, &place.span).unwrap_or_default();
            Diagnostic::new(message, Span::new(id, start as u32, end as u32), label)
        }
        (Some(descriptor::Location { span, .. }), _) if span.len() > 1 => {
            Diagnostic::general(format!("{}:{}:{}: {message}", file.name, span[0] + 1, span[1] + 1))
        }
        _ => Diagnostic::general(format!("{}: {message}", file.name)),
    };
    diagnostic.help(help)
}

impl File {
    fn message(
        &mut self,
        it: &MessageType,
        scope: &str,
        outer: &[String],
        around: Features,
        at: &mut Vec<i32>,
        groups: &mut Vec<Group>,
    ) {
        let features = Features::within(it.options.as_ref().and_then(|it| it.features), around);
        let full_name = format!("{scope}.{}", it.name);
        let path = [outer, std::slice::from_ref(&it.name)].concat();
        let is_map_entry = it.options.as_ref().is_some_and(|options| options.map_entry);
        let mut fields = Vec::new();
        for (index, each) in (0..).zip(&it.field) {
            // Maps and their entries always have lengths.
            let is_map = |nested: &MessageType| {
                nested.options.as_ref().is_some_and(|it| it.map_entry)
                    && each.type_name == format!("{full_name}.{}", nested.name)
            };
            let has_length = is_map_entry || it.nested_type.iter().any(is_map);
            match field(each, features, has_length) {
                Ok(field) => fields.push(field),
                Err(is_delimited) => groups.push(Group {
                    field: format!("{}.{}", &full_name[1..], each.name),
                    is_delimited,
                    path: [at.as_slice(), &[2, index]].concat(),
                }),
            }
        }
        self.messages.push(Message {
            full_name: full_name.clone(),
            path: path.clone(),
            fields,
            is_map_entry,
        });
        for (index, nested) in (0..).zip(&it.nested_type) {
            at.extend([3, index]);
            self.message(nested, &full_name, &path, features, at, groups);
            at.truncate(at.len() - 2);
        }
        for nested in &it.enum_type {
            self.enumeration(nested, &full_name, &path, features);
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

/// A field; if it is a group, whether an edition's feature made it one.
fn field(it: &descriptor::Field, around: Features, has_length: bool) -> Result<Field, bool> {
    let features = Features::within(it.options.as_ref().and_then(|it| it.features), around);
    let kind = match Type::try_from(it.r#type).unwrap_or(Type::Group) {
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
        Type::Message if features.message_encoding == 2 && !has_length => return Err(true),
        Type::Message => Kind::Message(it.type_name.clone()),
        Type::Group => return Err(false),
    };
    let is_repeated = it.label == Label::Repeated as i32;
    let asked = it.options.as_ref().and_then(|options| options.packed);
    let is_packed = asked.unwrap_or(features.repeated_field_encoding == 1);
    Ok(Field {
        name: it.name.clone(),
        number: it.number as u32,
        is_packed: is_repeated && kind.wire() != "Bytes" && is_packed,
        kind,
        is_repeated,
        oneof: it.oneof_index.filter(|_| !it.proto3_optional).map(|index| index as usize),
        default: it.default_value.clone(),
    })
}
