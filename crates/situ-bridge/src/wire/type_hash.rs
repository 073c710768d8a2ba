//! Hashes of types as ROS computes them (RIHS01): the SHA-256 of a JSON text that describes the type.
//!
//! A schema of Situ has one kind of unsigned byte. ROS has two, `uint8` and `byte`, with different hashes. A
//! schema therefore has the hash in which all are `uint8`. [`Subject::has_hash`] also tries the others, for
//! types with few such members.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::fmt::Write;

use situ_schema::Schema;
use situ_schema::model::{Extensibility, Primitive, Type, TypeId};

/// What hashes begin with.
pub const PREFIX: &str = "RIHS01_";
/// The number of a member that is a message.
const NESTED: u32 = 1;
/// The numbers of `uint8` and `byte`.
const UINT8: u32 = 3;
const BYTE: u32 = 16;
/// What is added for arrays, bounded sequences and sequences.
const ARRAY: u32 = 48;
const BOUNDED: u32 = 96;
const UNBOUNDED: u32 = 144;
/// What the event of each service begins with.
const EVENT_INFO: &str = "service_msgs/msg/ServiceEventInfo";

/// For up to this many bytes, all combinations of `uint8` and `byte` are tried.
const MAX_BYTES: u32 = 6;

/// The type of a member.
#[derive(Debug, Clone, Default)]
struct Field {
    name: String,
    id: u32,
    capacity: u64,
    string_capacity: u64,
    nested: String,
}

/// The members of a message.
type Fields = Vec<Field>;

fn field(schema: &Schema, name: &str, ty: &Type) -> Option<(Field, Option<TypeId>)> {
    let (element, container, capacity) = match schema.array(ty) {
        Some((element, dimensions)) => {
            let [count] = dimensions[..] else { return None };
            (element, ARRAY, u64::from(count))
        }
        None => match schema.resolve(ty) {
            Type::Sequence { element, bound: None } => (&**element, UNBOUNDED, 0),
            Type::Sequence { element, bound: Some(bound) } => (&**element, BOUNDED, u64::from(*bound)),
            other => (other, 0, 0),
        },
    };
    let mut made = Field { name: name.to_owned(), capacity, ..Field::default() };
    let mut named = None;
    made.id = match schema.resolve(element) {
        Type::Primitive(primitive) => match primitive {
            Primitive::I8 => 2,
            Primitive::U8 => UINT8,
            Primitive::I16 => 4,
            Primitive::U16 => 5,
            Primitive::I32 => 6,
            Primitive::U32 => 7,
            Primitive::I64 => 8,
            Primitive::U64 => 9,
            Primitive::F32 => 10,
            Primitive::F64 => 11,
            Primitive::Char8 => 13,
            Primitive::WChar => 14,
            Primitive::Bool => 15,
        },
        Type::String { bound: None } => 17,
        Type::WString { bound: None } => 18,
        Type::String { bound: Some(bound) } => {
            made.string_capacity = u64::from(*bound);
            21
        }
        Type::WString { bound: Some(bound) } => {
            made.string_capacity = u64::from(*bound);
            22
        }
        Type::Named(id) => {
            made.nested = schema.name(*id).as_str().replace("::", "/");
            named = Some(*id);
            NESTED
        }
        _ => return None,
    };
    made.id += container;
    Some((made, named))
}

/// The members of a message of ROS; `None` if the type is none.
fn fields(schema: &Schema, id: TypeId) -> Option<(Fields, Vec<TypeId>)> {
    let it = schema.definition(id).kind.as_struct()?;
    if it.base.is_some() || it.extensibility != Extensibility::Final || it.region {
        return None;
    }
    let mut nested = Vec::new();
    let mut made = Vec::new();
    for member in &it.members {
        if member.optional || member.bulk {
            return None;
        }
        let (field, named) = field(schema, &member.name, &member.ty)?;
        nested.extend(named);
        made.push(field);
    }
    if made.is_empty() {
        made.push(empty_field());
    }
    Some((made, nested))
}

/// The member of messages that have none.
fn empty_field() -> Field {
    Field { name: "structure_needs_at_least_one_member".into(), id: UINT8, ..Field::default() }
}

fn type_name(schema: &Schema, id: TypeId) -> String {
    schema.name(id).as_str().replace("::", "/")
}

/// Adds a message, and those that it uses.
fn collect(schema: &Schema, root: TypeId, to: &mut BTreeMap<String, Fields>) -> Option<()> {
    let mut open = vec![root];
    while let Some(id) = open.pop() {
        if let Entry::Vacant(place) = to.entry(type_name(schema, id)) {
            let (made, nested) = fields(schema, id)?;
            place.insert(made);
            open.extend(nested);
        }
    }
    Some(())
}

fn nested(name: &str, of: &str, container: u32, capacity: u64) -> Field {
    Field { name: name.into(), id: NESTED + container, capacity, nested: of.into(), ..Field::default() }
}

/// A text as JSON, in ASCII.
fn put_text(text: &str, to: &mut String) {
    to.push('"');
    for unit in text.encode_utf16() {
        match char::from_u32(u32::from(unit)) {
            Some(letter @ ('"' | '\\')) => to.extend(['\\', letter]),
            Some(letter @ ' '..='~') => to.push(letter),
            _ => {
                let _ = write!(to, "\\u{unit:04x}");
            }
        }
    }
    to.push('"');
}

/// Which of the unsigned bytes are `byte`, by their numbers in the order of the text.
struct Bytes {
    mask: u32,
    seen: u32,
}

fn put_message(name: &str, fields: &Fields, bytes: &mut Bytes, to: &mut String) {
    to.push_str("{\"type_name\": ");
    put_text(name, to);
    to.push_str(", \"fields\": [");
    for (index, field) in fields.iter().enumerate() {
        to.push_str(if index == 0 { "{\"name\": " } else { ", {\"name\": " });
        put_text(&field.name, to);
        let mut id = field.id;
        // Those of the event of a service are known.
        if id % ARRAY == UINT8 && name != EVENT_INFO {
            let is_byte = bytes.seen < 32 && bytes.mask >> bytes.seen & 1 == 1;
            id += if is_byte { BYTE - UINT8 } else { 0 };
            bytes.seen += 1;
        }
        let _ = write!(
            to,
            ", \"type\": {{\"type_id\": {id}, \"capacity\": {}, \"string_capacity\": {}, \
             \"nested_type_name\": ",
            field.capacity, field.string_capacity
        );
        put_text(&field.nested, to);
        to.push_str("}}");
    }
    to.push_str("]}");
}

/// The hash, and how many unsigned bytes there are.
fn hash(root: &str, messages: &BTreeMap<String, Fields>, mask: u32) -> Option<(String, u32)> {
    let mut bytes = Bytes { mask, seen: 0 };
    let mut text = "{\"type_description\": ".to_owned();
    put_message(root, messages.get(root)?, &mut bytes, &mut text);
    text.push_str(", \"referenced_type_descriptions\": [");
    for (index, (name, fields)) in messages.iter().filter(|(name, _)| *name != root).enumerate() {
        text.push_str(if index == 0 { "" } else { ", " });
        put_message(name, fields, &mut bytes, &mut text);
    }
    text.push_str("]}");
    let digest = hmac_sha256::Hash::hash(text.as_bytes());
    Some((to_text(&digest), bytes.seen))
}

/// A hash as text.
pub fn to_text(digest: &[u8; 32]) -> String {
    digest.iter().fold(PREFIX.to_owned(), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    })
}

/// The bytes of a hash.
pub fn from_text(text: &str) -> Option<[u8; 32]> {
    let digits = text.strip_prefix(PREFIX).filter(|digits| digits.len() == 64 && digits.is_ascii())?;
    let mut digest = [0; 32];
    for (index, byte) in digest.iter_mut().enumerate() {
        *byte = u8::from_str_radix(digits.get(index * 2..index * 2 + 2)?, 16).ok()?;
    }
    Some(digest)
}

/// The types of which a hash is.
#[derive(Debug, Clone, Copy)]
pub enum Subject<'s> {
    /// A message.
    Message(&'s Schema, TypeId),
    /// A service, by its requests and replies.
    Service((&'s Schema, TypeId), (&'s Schema, TypeId)),
}

impl Subject<'_> {
    fn messages(&self) -> Option<(String, BTreeMap<String, Fields>)> {
        let mut messages = BTreeMap::new();
        match *self {
            Self::Message(schema, root) => {
                super::names::dds_name(schema.name(root).as_str())?;
                collect(schema, root, &mut messages)?;
                Some((type_name(schema, root), messages))
            }
            Self::Service(request, reply) => {
                let (request_name, reply_name) =
                    (type_name(request.0, request.1), type_name(reply.0, reply.1));
                let name = request_name.strip_suffix("_Request")?.to_owned();
                super::names::dds_name(&name.replace('/', "::"))?;
                collect(request.0, request.1, &mut messages)?;
                collect(reply.0, reply.1, &mut messages)?;
                add_event(&name, (&request_name, &reply_name), &mut messages);
                let event = format!("{name}_Event");
                let service = vec![
                    nested("request_message", &request_name, 0, 0),
                    nested("response_message", &reply_name, 0, 0),
                    nested("event_message", &event, 0, 0),
                ];
                messages.insert(name.clone(), service);
                Some((name, messages))
            }
        }
    }

    /// The hash. `None` if ROS cannot have such a type.
    pub fn hash(&self) -> Option<String> {
        let (root, messages) = self.messages()?;
        Some(hash(&root, &messages, 0)?.0)
    }

    /// Whether ROS may have this hash for the type.
    pub fn has_hash(&self, text: &str) -> bool {
        let Some((root, messages)) = self.messages() else { return false };
        let Some((first, bytes)) = hash(&root, &messages, 0) else { return false };
        let is_equal = |mask| hash(&root, &messages, mask).is_some_and(|(hash, _)| hash == text);
        first == text || (bytes <= MAX_BYTES && (1..1 << bytes).any(is_equal))
    }
}

/// Adds what services have for introspection.
fn add_event(service: &str, (request, reply): (&str, &str), to: &mut BTreeMap<String, Fields>) {
    const TIME: &str = "builtin_interfaces/msg/Time";
    let plain = |name: &str, id, capacity| Field { name: name.into(), id, capacity, ..Field::default() };
    to.insert(
        format!("{service}_Event"),
        vec![
            nested("info", EVENT_INFO, 0, 0),
            nested("request", request, BOUNDED, 1),
            nested("response", reply, BOUNDED, 1),
        ],
    );
    to.insert(
        EVENT_INFO.into(),
        vec![
            plain("event_type", UINT8, 0),
            nested("stamp", TIME, 0, 0),
            plain("client_gid", UINT8 + ARRAY, 16),
            plain("sequence_number", 8, 0),
        ],
    );
    to.insert(TIME.into(), vec![plain("sec", 6, 0), plain("nanosec", 7, 0)]);
}

#[cfg(test)]
mod tests {
    use situ_schema::{Format, Loader};

    use super::*;

    fn load(files: &[(&str, &str)]) -> Schema {
        let loader = files.iter().fold(Loader::new(), |loader, (path, text)| {
            let format = if path.ends_with("srv") { Format::Srv } else { Format::Msg };
            loader.text(*path, *text, format)
        });
        loader.sealed().load().unwrap()
    }

    fn hash_of(files: &[(&str, &str)], name: &str) -> Option<String> {
        let schema = load(files);
        Subject::Message(&schema, schema.find(name).unwrap()).hash()
    }

    /// The hashes are those that ROS 2 Kilted installs with the packages.
    #[test]
    fn hashes_of_messages_are_those_of_ros() {
        let string = [("std_msgs/msg/String.msg", "string data\n")];
        assert_eq!(
            hash_of(&string, "std_msgs::msg::String").as_deref(),
            Some("RIHS01_df668c740482bbd48fb39d76a70dfd4bd59db1288021743503259e948f6b1a18")
        );
        let header = [
            ("std_msgs/msg/Header.msg", "builtin_interfaces/Time stamp\nstring frame_id\n"),
            ("builtin_interfaces/msg/Time.msg", "int32 sec\nuint32 nanosec\n"),
        ];
        assert_eq!(
            hash_of(&header, "std_msgs::msg::Header").as_deref(),
            Some("RIHS01_f49fb3ae2cf070f793645ff749683ac6b06203e41c891e17701b1cb597ce6a01")
        );
        assert_eq!(hash_of(&[("a/msg/B.msg", "int32 x\n")], "a::msg::B").unwrap().len(), 71);
    }

    #[test]
    fn bytes_may_be_of_either_kind() {
        let schema = load(&[("a/msg/B.msg", "uint8 x\nuint8[] y\n")]);
        let root = schema.find("a::msg::B").unwrap();
        let (name, messages) = Subject::Message(&schema, root).messages().unwrap();
        let texts: Vec<_> = (0..4).map(|mask| hash(&name, &messages, mask).unwrap().0).collect();
        assert!(texts.iter().all(|text| Subject::Message(&schema, root).has_hash(text)));
        assert!(texts[0] != texts[1] && texts[1] != texts[2] && texts[2] != texts[3]);
        assert!(!Subject::Message(&schema, root).has_hash("RIHS01_00"));
    }

    /// A service with a `byte`, a `char` and a `uint8` on both sides. The hash is the one that ROS 2 Kilted
    /// installs with the package.
    #[test]
    fn a_service_with_bytes_of_both_kinds_has_its_hash() {
        let part = "bool bool_value\nbyte byte_value\nchar char_value\nfloat32 float32_value\nfloat64 float64_value\n\
            int8 int8_value\nuint8 uint8_value\nint16 int16_value\nuint16 uint16_value\nint32 int32_value\n\
            uint32 uint32_value\nint64 int64_value\nuint64 uint64_value\nstring string_value\n";
        let schema = load(&[("test_msgs/srv/BasicTypes.srv", &format!("{part}---\n{part}"))]);
        let of = |name| (&schema, schema.find(name).unwrap());
        let (request, reply) =
            (of("test_msgs::srv::BasicTypes_Request"), of("test_msgs::srv::BasicTypes_Response"));
        let subject = Subject::Service(request, reply);
        assert!(subject.has_hash("RIHS01_da348697437c103cc9a9322ac1bdbdcf8eb11a85de22f7f2492ca1df416e1a5f"));
        assert!(!subject.has_hash("RIHS01_da348697437c103cc9a9322ac1bdbdcf8eb11a85de22f7f2492ca1df416e1a50"));
    }

    #[test]
    fn other_types_have_none() {
        let schema = Schema::from_idl(
            "module a { module msg { enum E { X }; struct S { E e; }; }; }; struct T { long x; };",
        )
        .unwrap();
        assert_eq!(Subject::Message(&schema, schema.find("a::msg::S").unwrap()).hash(), None);
        assert_eq!(Subject::Message(&schema, schema.find("T").unwrap()).hash(), None);
    }

    #[test]
    fn texts_are_read_back() {
        let digest = [0xab; 32];
        assert_eq!(from_text(&to_text(&digest)), Some(digest));
        assert_eq!(from_text("RIHS01_xx"), None);
        assert_eq!(from_text(&format!("RIHS01_{}", "é".repeat(32))), None);
    }
}
