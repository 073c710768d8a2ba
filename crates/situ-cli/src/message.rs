//! Reads and writes the messages of a topic by the schema that the topic carries.

use std::borrow::Cow;

use situ::bus::{Encoding, RawSample, TypeDescription};
use situ_schema::dynamic::{self, PrintOptions, ReadError, TextError, Value, WriteError};
use situ_schema::model::TypeId;
use situ_schema::{Schema, SchemaError};
use situ_wire::Encoding as Version;

/// The reason that the schema of a topic is unusable.
#[derive(Debug, thiserror::Error)]
pub enum ReaderError {
    /// It is not a schema.
    #[error("the schema that the topic carries cannot be read: {0}")]
    Schema(#[from] Box<SchemaError>),
    /// It does not contain the topic's type.
    #[error("the schema that the topic carries does not define {type_name}")]
    Missing {
        /// The type.
        type_name: String,
    },
}

/// Reads the messages of one topic.
#[derive(Debug)]
pub struct MessageReader {
    schema: Schema,
    root: TypeId,
}

impl MessageReader {
    /// Creates a reader from the canonical schema of a topic and its type.
    pub fn new(schema: &str, type_name: &str) -> Result<Self, ReaderError> {
        let schema = Schema::from_idl(schema)?;
        let root =
            schema.find(type_name).ok_or_else(|| ReaderError::Missing { type_name: type_name.to_owned() })?;
        Ok(Self { schema, root })
    }

    /// The names of the members of the topic's type.
    pub fn members(&self) -> Vec<&str> {
        let mut members = Vec::new();
        let mut current = Some(self.root);
        while let Some(it) = current.and_then(|id| self.schema.definition(id).kind.as_struct()) {
            members.splice(0..0, it.members.iter().map(|member| member.name.as_str()));
            current = it.base;
        }
        members
    }

    /// Prints a message of the topic as YAML, with the units of its members.
    pub fn print(&self, message: &Value, options: &PrintOptions) -> String {
        message.to_yaml_with_units(options, &self.schema, self.root)
    }

    /// Reads a message in any layout.
    pub fn read(&self, sample: &RawSample) -> Result<Value, ReadError> {
        // The bytes that are checked must be the bytes that are read. This therefore makes private copies.
        let (head, body) = (sample.head().try_to_vec()?, sample.body().try_to_vec()?);
        self.read_bytes(sample.encoding(), &head, &body)
    }

    /// Reads a private copy of a message.
    pub fn read_bytes(&self, encoding: Encoding, head: &[u8], body: &[u8]) -> Result<Value, ReadError> {
        match encoding {
            Encoding::Flat => dynamic::from_flat(&self.schema, self.root, head, body),
            Encoding::Xcdr1 | Encoding::Xcdr2 => dynamic::from_cdr(&self.schema, self.root, body),
            Encoding::Region => dynamic::from_region(&self.schema, self.root, body),
        }
    }

    /// Reads a message that is written as YAML or JSON.
    pub fn parse(&self, text: &str) -> Result<Value, TextError> {
        dynamic::from_text(&self.schema, self.root, text)
    }

    /// Encodes a message.
    pub fn encode(&self, message: &Value, encoding: Encoding) -> Result<Encoded, WriteError> {
        encode(&self.schema, self.root, message, encoding)
    }

    /// Whether the default storage of the type is Flat.
    pub fn is_flat(&self) -> bool {
        self.schema.is_flat(self.root)
    }

    /// The type as a participant registers it, with flat messages or with serialized ones.
    pub fn description(&self, flat: bool) -> TypeDescription {
        describe(&self.schema, self.root, flat)
    }
}

/// A type as a participant registers it, with flat messages if it has a flat form, or with serialized ones.
pub fn describe(schema: &Schema, root: TypeId, flat: bool) -> TypeDescription {
    let flat = flat && schema.is_flattable(root);
    TypeDescription {
        name: schema.name(root).to_string(),
        schema: schema.canonical(root),
        schema_hash: schema.schema_hash(root),
        layout_hash: if flat { schema.layout_hash(root) } else { 0 },
        encoding: if flat { Encoding::Flat } else { Encoding::Xcdr1 },
        fixed_size: schema
            .flat_layout(root)
            .and_then(|it| it.extent.size.try_into().ok())
            .unwrap_or_default(),
        user_header_size: 0,
    }
}

/// A message as the bytes that are published.
#[derive(Clone, Debug)]
pub struct Encoded {
    /// The head; empty if it is serialized.
    pub head: Vec<u8>,
    /// The alignment of the head.
    pub align: usize,
    /// The body.
    pub body: Vec<u8>,
}

/// Encodes a message in the topic's encoding.
pub fn encode(
    schema: &Schema,
    root: TypeId,
    value: &Value,
    encoding: Encoding,
) -> Result<Encoded, WriteError> {
    let serialized = |version| {
        let body = dynamic::to_cdr(schema, root, value, version)?;
        Ok(Encoded { head: Vec::new(), align: 1, body })
    };
    match encoding {
        Encoding::Flat => {
            let message = dynamic::to_flat(schema, root, value)?;
            let align = schema.flat_layout(root).map_or(1, |l| l.extent.align as usize);
            Ok(Encoded { head: message.head, align, body: message.body })
        }
        // Subscribers of regions convert a serialized message to a region themselves.
        Encoding::Xcdr1 | Encoding::Region => serialized(Version::Xcdr1),
        Encoding::Xcdr2 => serialized(Version::Xcdr2),
    }
}

/// Returns the value at a path such as `header.stamp`, `points[3].x` or `grid[1][2]`.
pub fn field<'a>(message: &'a Value, path: &str) -> Option<Cow<'a, Value>> {
    let (names, rest) = path.split_once('[').map_or((path, None), |(n, r)| (n, Some(r)));
    let value = if names.is_empty() { message } else { message.find(names)? };
    let Some(rest) = rest else { return Some(Cow::Borrowed(value)) };
    let (index, behind) = rest.split_once(']')?;
    let index: usize = index.parse().ok()?;
    match value {
        Value::Numbers(numbers) if behind.is_empty() => numbers.get(index).map(Cow::Owned),
        Value::List(items) => {
            let item = items.get(index)?;
            match behind.strip_prefix('.') {
                Some(names) => field(item, names),
                None if behind.is_empty() => Some(Cow::Borrowed(item)),
                None => field(item, behind).filter(|_| behind.starts_with('[')),
            }
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_lead_into_structs_and_lists() {
        let idl = "module t { struct P { string name; }; struct M { sequence<octet> raw; sequence<P> poses; P one; sequence<P> grid[2]; }; };";
        let schema = Schema::from_idl(idl).unwrap();
        let root = schema.find("t::M").unwrap();
        let text = "{raw: [8, 9], poses: [{name: a}, {name: b}], one: {name: c}, grid: [[], [{name: d}]]}";
        let message = dynamic::from_text(&schema, root, text).unwrap();
        let at = |path: &str| field(&message, path).map(Cow::into_owned);
        let name = |text: &str| Some(Value::Text(text.into()));
        assert_eq!(at("raw[1]"), Some(Value::Unsigned(9)));
        assert_eq!(at("poses[1].name"), name("b"));
        assert_eq!(at("one.name"), name("c"));
        assert_eq!(at("grid[1][0].name"), name("d"));
        for wrong in ["raw[2]", "raw[-1]", "raw[0", "raw[0].x", "nothing", "one.x", "poses[0]name", "one[0]"]
        {
            assert_eq!(at(wrong), None, "{wrong}");
        }
    }
}
