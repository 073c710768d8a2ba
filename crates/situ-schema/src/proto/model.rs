//! What the generators need to know of `.proto` files, out of their descriptors.

use std::collections::BTreeMap;

use prost_types::field_descriptor_proto::{Label, Type};
use prost_types::{DescriptorProto, EnumDescriptorProto, FieldDescriptorProto, FileDescriptorProto};

use super::ProtoError;

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

impl Model {
    pub fn new(descriptors: &[FileDescriptorProto], namespace: &str) -> Result<Self, ProtoError> {
        let around: Vec<String> =
            namespace.split(['.', ':']).filter(|it| !it.is_empty()).map(str::to_owned).collect();
        let mut files = Vec::new();
        for descriptor in descriptors {
            if descriptor.syntax() == "editions" {
                return Err(ProtoError::Edition { file: descriptor.name().to_owned() });
            }
            let mut package = around.clone();
            package.extend(descriptor.package().split('.').filter(|it| !it.is_empty()).map(str::to_owned));
            let mut file = File {
                name: descriptor.name().to_owned(),
                imports: descriptor.dependency.clone(),
                package,
                messages: Vec::new(),
                enums: Vec::new(),
            };
            let scope = if descriptor.package().is_empty() {
                String::new()
            } else {
                format!(".{}", descriptor.package())
            };
            let is_proto3 = descriptor.syntax() == "proto3";
            for message in &descriptor.message_type {
                file.message(message, &scope, &[], is_proto3)?;
            }
            for each in &descriptor.enum_type {
                file.enumeration(each, &scope, &[], is_proto3);
            }
            files.push(file);
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

    /// The message that is the entry of a map, if the field is a map.
    pub fn map_entry(&self, field: &Field) -> Option<&Message> {
        let Kind::Message(name) = &field.kind else { return None };
        if !self.places[name].is_map_entry {
            return None;
        }
        self.files.iter().flat_map(|file| &file.messages).find(|it| it.full_name == *name)
    }
}

impl File {
    fn message(
        &mut self,
        it: &DescriptorProto,
        scope: &str,
        outer: &[String],
        is_proto3: bool,
    ) -> Result<(), ProtoError> {
        let full_name = format!("{scope}.{}", it.name());
        let path = [outer, &[it.name().to_owned()]].concat();
        let fields = it.field.iter().map(|field| self::field(field, &full_name, is_proto3));
        let message = Message {
            full_name: full_name.clone(),
            path: path.clone(),
            fields: fields.collect::<Result<_, _>>()?,
            is_map_entry: it.options.as_ref().is_some_and(|options| options.map_entry()),
        };
        self.messages.push(message);
        for nested in &it.nested_type {
            self.message(nested, &full_name, &path, is_proto3)?;
        }
        for nested in &it.enum_type {
            self.enumeration(nested, &full_name, &path, is_proto3);
        }
        Ok(())
    }

    fn enumeration(&mut self, it: &EnumDescriptorProto, scope: &str, outer: &[String], is_proto3: bool) {
        self.enums.push(Enum {
            full_name: format!("{scope}.{}", it.name()),
            path: [outer, &[it.name().to_owned()]].concat(),
            values: it.value.iter().map(|value| (value.name().to_owned(), value.number())).collect(),
            is_closed: !is_proto3,
        });
    }
}

fn field(it: &FieldDescriptorProto, message: &str, is_proto3: bool) -> Result<Field, ProtoError> {
    let kind = match it.r#type() {
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
        Type::Enum => Kind::Enum(it.type_name().to_owned()),
        Type::Message => Kind::Message(it.type_name().to_owned()),
        Type::Group => {
            return Err(ProtoError::Group { field: format!("{}.{}", &message[1..], it.name()) });
        }
    };
    let is_repeated = it.label() == Label::Repeated;
    let asked = it.options.as_ref().and_then(|options| options.packed);
    Ok(Field {
        name: it.name().to_owned(),
        number: it.number() as u32,
        is_packed: is_repeated && kind.wire() != "Bytes" && asked.unwrap_or(is_proto3),
        kind,
        is_repeated,
        oneof: it.oneof_index.filter(|_| !it.proto3_optional()).map(|index| index as usize),
        default: it.default_value.clone(),
    })
}
