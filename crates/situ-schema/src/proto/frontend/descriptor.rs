//! The descriptors of `.proto` files, with the fields that the generators need. They include the features of
//! editions, which prost's own types lack. The numbers are those of `google/protobuf/descriptor.proto`.

use prost::Message;

/// The edition 2023; proto2 and proto3 are older.
pub const EDITION_2023: i32 = 1000;
/// The edition 2024.
pub const EDITION_2024: i32 = 1001;

/// What protoc asks of a plugin.
#[derive(Clone, PartialEq, Message)]
pub struct Request {
    #[prost(string, repeated, tag = "1")]
    pub file_to_generate: Vec<String>,
    #[prost(string, optional, tag = "2")]
    pub parameter: Option<String>,
    #[prost(message, repeated, tag = "15")]
    pub proto_file: Vec<File>,
}

/// What a plugin answers.
#[derive(Clone, PartialEq, Message)]
pub struct Response {
    #[prost(string, optional, tag = "1")]
    pub error: Option<String>,
    #[prost(uint64, optional, tag = "2")]
    pub supported_features: Option<u64>,
    #[prost(int32, optional, tag = "3")]
    pub minimum_edition: Option<i32>,
    #[prost(int32, optional, tag = "4")]
    pub maximum_edition: Option<i32>,
    #[prost(message, repeated, tag = "15")]
    pub file: Vec<Generated>,
}

/// A file that a plugin made.
#[derive(Clone, PartialEq, Message)]
pub struct Generated {
    #[prost(string, optional, tag = "1")]
    pub name: Option<String>,
    #[prost(string, optional, tag = "15")]
    pub content: Option<String>,
}

/// A set of files.
#[derive(Clone, PartialEq, Message)]
pub struct FileSet {
    #[prost(message, repeated, tag = "1")]
    pub file: Vec<File>,
}

/// A `.proto` file.
#[derive(Clone, PartialEq, Message)]
pub struct File {
    #[prost(string, tag = "1")]
    pub name: String,
    #[prost(string, tag = "2")]
    pub package: String,
    #[prost(string, repeated, tag = "3")]
    pub dependency: Vec<String>,
    #[prost(message, repeated, tag = "4")]
    pub message_type: Vec<MessageType>,
    #[prost(message, repeated, tag = "5")]
    pub enum_type: Vec<EnumType>,
    #[prost(message, repeated, tag = "7")]
    pub extension: Vec<Field>,
    #[prost(message, optional, tag = "8")]
    pub options: Option<FileOptions>,
    #[prost(message, optional, tag = "9")]
    pub source_code_info: Option<SourceCodeInfo>,
    #[prost(string, tag = "12")]
    pub syntax: String,
    #[prost(int32, tag = "14")]
    pub edition: i32,
}

#[derive(Clone, PartialEq, Message)]
pub struct MessageType {
    #[prost(string, tag = "1")]
    pub name: String,
    #[prost(message, repeated, tag = "2")]
    pub field: Vec<Field>,
    #[prost(message, repeated, tag = "3")]
    pub nested_type: Vec<MessageType>,
    #[prost(message, repeated, tag = "4")]
    pub enum_type: Vec<EnumType>,
    #[prost(message, repeated, tag = "6")]
    pub extension: Vec<Field>,
    #[prost(message, repeated, tag = "8")]
    pub oneof_decl: Vec<Oneof>,
    #[prost(message, optional, tag = "7")]
    pub options: Option<MessageOptions>,
}

#[derive(Clone, PartialEq, Message)]
pub struct Oneof {
    #[prost(string, tag = "1")]
    pub name: String,
}

#[derive(Clone, PartialEq, Message)]
pub struct Field {
    #[prost(string, tag = "1")]
    pub name: String,
    #[prost(string, tag = "2")]
    pub extendee: String,
    #[prost(int32, tag = "3")]
    pub number: i32,
    #[prost(int32, tag = "4")]
    pub label: i32,
    #[prost(int32, tag = "5")]
    pub r#type: i32,
    #[prost(string, tag = "6")]
    pub type_name: String,
    #[prost(string, optional, tag = "7")]
    pub default_value: Option<String>,
    #[prost(message, optional, tag = "8")]
    pub options: Option<FieldOptions>,
    #[prost(int32, optional, tag = "9")]
    pub oneof_index: Option<i32>,
    #[prost(string, optional, tag = "10")]
    pub json_name: Option<String>,
    #[prost(bool, tag = "17")]
    pub proto3_optional: bool,
}

#[derive(Clone, PartialEq, Message)]
pub struct EnumType {
    #[prost(string, tag = "1")]
    pub name: String,
    #[prost(message, repeated, tag = "2")]
    pub value: Vec<EnumValue>,
    #[prost(message, optional, tag = "3")]
    pub options: Option<EnumOptions>,
}

#[derive(Clone, PartialEq, Message)]
pub struct EnumValue {
    #[prost(string, tag = "1")]
    pub name: String,
    #[prost(int32, tag = "2")]
    pub number: i32,
}

#[derive(Clone, PartialEq, Message)]
pub struct FileOptions {
    #[prost(message, optional, tag = "50")]
    pub features: Option<Features>,
}

#[derive(Clone, PartialEq, Message)]
pub struct MessageOptions {
    #[prost(bool, tag = "1")]
    pub message_set_wire_format: bool,
    #[prost(bool, tag = "7")]
    pub map_entry: bool,
    #[prost(message, optional, tag = "12")]
    pub features: Option<Features>,
    /// The options of a file that is not resolved yet.
    #[prost(message, repeated, tag = "999")]
    pub uninterpreted: Vec<Uninterpreted>,
}

/// An option as it stands in a file.
#[derive(Clone, PartialEq, Message)]
pub struct Uninterpreted {
    #[prost(message, repeated, tag = "2")]
    pub name: Vec<NamePart>,
    #[prost(string, tag = "3")]
    pub identifier: String,
}

#[derive(Clone, PartialEq, Message)]
pub struct NamePart {
    #[prost(string, tag = "1")]
    pub text: String,
}

#[derive(Clone, PartialEq, Message)]
pub struct FieldOptions {
    #[prost(bool, optional, tag = "2")]
    pub packed: Option<bool>,
    #[prost(message, optional, tag = "21")]
    pub features: Option<Features>,
}

#[derive(Clone, PartialEq, Message)]
pub struct EnumOptions {
    #[prost(message, optional, tag = "7")]
    pub features: Option<Features>,
}

/// The features of an edition that change bytes or are checked here. 0 means: as in the enclosing scope.
#[derive(Clone, Copy, PartialEq, Eq, Message)]
pub struct Features {
    /// 1: open, 2: closed.
    #[prost(int32, tag = "2")]
    pub enum_type: i32,
    /// 1: packed, 2: expanded.
    #[prost(int32, tag = "3")]
    pub repeated_field_encoding: i32,
    /// 1: length-prefixed, 2: delimited, which is a group.
    #[prost(int32, tag = "5")]
    pub message_encoding: i32,
    /// 1: names in JSON must differ, 2: they may be equal.
    #[prost(int32, tag = "6")]
    pub json_format: i32,
    /// 1: that of the edition 2024, 2: none.
    #[prost(int32, tag = "7")]
    pub enforce_naming_style: i32,
    /// 1: all are exported, 2: those outside of messages, 3: none, 4: none, and those in messages may not be.
    #[prost(int32, tag = "8")]
    pub default_symbol_visibility: i32,
}

impl Features {
    /// The features of `proto2`.
    pub const PROTO2: Self = Self {
        enum_type: 2,
        repeated_field_encoding: 2,
        message_encoding: 1,
        json_format: 2,
        enforce_naming_style: 2,
        default_symbol_visibility: 1,
    };

    /// The features of `proto3`.
    pub const PROTO3: Self =
        Self { enum_type: 1, repeated_field_encoding: 1, json_format: 1, ..Self::PROTO2 };

    /// The default features of an edition.
    pub fn of_edition(edition: i32) -> Self {
        if edition < EDITION_2024 {
            return Self::PROTO3;
        }
        Self { enforce_naming_style: 1, default_symbol_visibility: 2, ..Self::PROTO3 }
    }

    /// Own features where they are set, otherwise those of the enclosing scope.
    pub fn within(own: Option<Self>, around: Self) -> Self {
        let own = own.unwrap_or_default();
        let choose = |own, around| if own == 0 { around } else { own };
        Self {
            enum_type: choose(own.enum_type, around.enum_type),
            repeated_field_encoding: choose(own.repeated_field_encoding, around.repeated_field_encoding),
            message_encoding: choose(own.message_encoding, around.message_encoding),
            json_format: choose(own.json_format, around.json_format),
            enforce_naming_style: choose(own.enforce_naming_style, around.enforce_naming_style),
            default_symbol_visibility: choose(
                own.default_symbol_visibility,
                around.default_symbol_visibility,
            ),
        }
    }
}

#[derive(Clone, PartialEq, Message)]
pub struct SourceCodeInfo {
    #[prost(message, repeated, tag = "1")]
    pub location: Vec<Location>,
}

/// Where something stands in a file.
#[derive(Clone, PartialEq, Message)]
pub struct Location {
    /// The numbers of fields and indices that lead from the file to it.
    #[prost(int32, repeated, tag = "1")]
    pub path: Vec<i32>,
    /// Line and column of its start, the line of its end if that differs, and the column of its end; all from
    /// 0.
    #[prost(int32, repeated, tag = "2")]
    pub span: Vec<i32>,
}
