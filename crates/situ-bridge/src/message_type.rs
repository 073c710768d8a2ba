//! The type of a topic or service: how its messages lie on the bus and on the network, and the way between.
//!
//! Messages of ROS are CDR on the network. If they are CDR in shared memory, too, the held sample is the
//! buffer that Zenoh sends. Large parts of flat messages are sent from where they lie. All other types travel
//! as they lie: a head of 16 bytes (the encoding, and the size of the message's head), its head, its body.

use std::sync::{Arc, OnceLock};

use bytes::Bytes;
use situ_bus::{Encoding, RawLoan, RawReplyLoan, RawRequestLoan, RawSample, TypeDescription};
use situ_record::{HELD_FROM, Part, ProjectError, Projected, Projection};
use situ_schema::Schema;
use situ_schema::dynamic::{ReadError, WriteError, from_cdr, from_region, to_cdr, to_flat};
use situ_schema::model::{Type, TypeId};
use zenoh::bytes::ZBytes;

use crate::wire::names::{WireType, dds_name, dds_service_name};
use crate::wire::schema_text::hash_text;
use crate::wire::token::Space;
use crate::wire::type_hash::Subject;

/// The size of what stands before a message that travels as it lies.
const HEAD: usize = 16;
/// The largest head of a message that is accepted.
const MAX_HEAD: u64 = 1 << 30;

/// Why a type cannot cross.
#[derive(Debug, thiserror::Error)]
pub enum TypeError {
    /// Its schema cannot be read.
    #[error("the schema of {name} cannot be read: {reason}")]
    Schema {
        /// The type.
        name: String,
        /// Why not.
        reason: String,
    },
    /// Its schema does not define it.
    #[error("the schema that the topic carries does not define {name}")]
    Missing {
        /// The type.
        name: String,
    },
    /// Its messages have a header of the program's own.
    #[error("messages of {name} carry a header of {size} bytes beside their content, which does not cross")]
    UserHeader {
        /// The type.
        name: String,
        /// The size of the header.
        size: u32,
    },
}

/// Why a message does not cross.
#[derive(Debug, thiserror::Error)]
pub enum MessageError {
    /// A local message is malformed.
    #[error(transparent)]
    Project(#[from] ProjectError),
    /// It cannot be read.
    #[error("the message cannot be read: {0}")]
    Read(#[from] ReadError),
    /// It cannot be written in the form that the topic has.
    #[error("the message cannot be written: {0}")]
    Write(#[from] WriteError),
    /// It is shorter than its header.
    #[error("a message of {size} bytes is shorter than the header of its encoding")]
    Short {
        /// Its size.
        size: usize,
    },
    /// Its encoding is none that the topic can have.
    #[error("the message states the encoding {number}, which its topic does not have")]
    Encoding {
        /// The number.
        number: u32,
    },
    /// Its head would be larger than all of it.
    #[error("a message of {size} bytes states a head of {head} bytes")]
    HeadSize {
        /// Its size.
        size: usize,
        /// The size of its head as it states it.
        head: u64,
    },
}

/// A type.
#[derive(Debug)]
pub struct MessageType {
    description: TypeDescription,
    schema: Schema,
    root: TypeId,
    projection: Projection,
    /// The hash that ROS has for it, once it was asked for.
    ros_hash: OnceLock<Option<String>>,
}

/// One of the two parts of a held sample.
struct Held {
    sample: Arc<RawSample>,
    part: Part,
}

impl AsRef<[u8]> for Held {
    fn as_ref(&self) -> &[u8] {
        match self.part {
            Part::Head => self.sample.head_in_place(),
            Part::Body => self.sample.body_in_place(),
        }
    }
}

fn held(sample: &Arc<RawSample>, part: Part) -> Bytes {
    Bytes::from_owner(Held { sample: sample.clone(), part })
}

/// A message that has arrived, in the form in which it is published.
#[derive(Debug)]
pub enum Arrived<'m> {
    /// As it came, from a byte on.
    AsIs(&'m ZBytes, Encoding),
    /// As it came, behind its head: the size of the head.
    Parts(&'m ZBytes, Encoding, usize),
    /// Converted to a flat message.
    Flat(Vec<u8>, Vec<u8>),
}

impl MessageType {
    /// The type of a description.
    pub fn new(description: &TypeDescription) -> Result<Self, TypeError> {
        let name = || description.name.clone();
        if description.user_header_size != 0 {
            return Err(TypeError::UserHeader { name: name(), size: description.user_header_size });
        }
        let schema = Schema::from_idl(&description.schema);
        let schema = schema.map_err(|error| TypeError::Schema { name: name(), reason: error.to_string() })?;
        let root = schema.find(&description.name).ok_or_else(|| TypeError::Missing { name: name() })?;
        let projection = Projection::new(&schema, root);
        Ok(Self { description: description.clone(), schema, root, projection, ros_hash: OnceLock::new() })
    }

    /// The same; the hash of the schema, and the form that follows from the type, are worked out.
    pub fn of_schema(description: &TypeDescription) -> Result<Self, TypeError> {
        let mut made = Self::new(description)?;
        let (schema, root) = (&made.schema, made.root);
        let is_flat = description.encoding == Encoding::Flat && schema.is_flattable(root);
        let encoding = match description.encoding {
            Encoding::Flat if !is_flat => Encoding::Xcdr1,
            encoding => encoding,
        };
        let layout_hash = if is_flat { schema.layout_hash(root) } else { description.layout_hash };
        made.description = TypeDescription {
            schema: schema.canonical(root),
            schema_hash: schema.schema_hash(root),
            layout_hash,
            encoding,
            ..made.description
        };
        Ok(made)
    }

    /// The type's name on the bus.
    pub fn name(&self) -> &str {
        &self.description.name
    }

    /// The hash of its schema.
    pub fn schema_hash(&self) -> u64 {
        self.description.schema_hash
    }

    /// Its description as it was given.
    pub fn description(&self) -> &TypeDescription {
        &self.description
    }

    /// What a hash of ROS is of.
    pub fn subject(&self) -> Subject<'_> {
        Subject::Message(&self.schema, self.root)
    }

    /// What a hash of a service of ROS is of.
    pub fn service_subject<'s>(&'s self, reply: &'s Self) -> Subject<'s> {
        Subject::Service((&self.schema, self.root), (&reply.schema, reply.root))
    }

    /// How the type is named on the network. `told` is the hash that its endpoint states, if it is one of
    /// ROS.
    pub fn wire(&self, told: Option<String>) -> WireType {
        let ros = dds_name(self.name()).and_then(|name| {
            let own = || self.ros_hash.get_or_init(|| self.subject().hash()).clone();
            Some(WireType { space: Space::Ros, name, hash: told.or_else(own)? })
        });
        ros.unwrap_or_else(|| WireType {
            space: Space::Situ,
            name: self.name().to_owned(),
            hash: hash_text(self.schema_hash()),
        })
    }

    /// How a service with these types is named on the network.
    pub fn service_wire(&self, reply: &Self, told: Option<String>) -> WireType {
        let ros = dds_service_name(self.name()).and_then(|name| {
            let hash = told.or_else(|| self.service_subject(reply).hash())?;
            Some(WireType { space: Space::Ros, name, hash })
        });
        let both = self.schema_hash().wrapping_mul(31).wrapping_add(reply.schema_hash());
        ros.unwrap_or_else(|| WireType {
            space: Space::Situ,
            name: self.name().to_owned(),
            hash: hash_text(both),
        })
    }

    /// With which a subscriber takes messages in any form.
    pub fn any(&self) -> TypeDescription {
        TypeDescription { encoding: Encoding::Region, layout_hash: 0, ..self.description.clone() }
    }

    /// With which messages from the network are published. `on_topic` is the encoding that others publish, if
    /// there are others.
    pub fn published(&self, space: Space, on_topic: Option<Encoding>) -> TypeDescription {
        if space == Space::Situ {
            return self.description.clone();
        }
        // As `rmw_situ` publishes them: messages of fixed size lie as they are, all others are CDR.
        let plain = self.schema.is_plain(&Type::Named(self.root));
        let flat = plain || (on_topic == Some(Encoding::Flat) && self.schema.is_flattable(self.root));
        let size = self.schema.flat_layout(self.root).filter(|_| plain);
        TypeDescription {
            encoding: if flat { Encoding::Flat } else { Encoding::Xcdr1 },
            layout_hash: if flat { self.schema.layout_hash(self.root) } else { 0 },
            fixed_size: size.and_then(|it| u32::try_from(it.extent.size).ok()).unwrap_or_default(),
            ..self.description.clone()
        }
    }

    /// A message of the bus as it travels.
    pub fn to_wire(&self, space: Space, sample: RawSample) -> Result<ZBytes, MessageError> {
        if space == Space::Situ {
            return Ok(as_it_lies(sample));
        }
        Ok(match sample.encoding() {
            Encoding::Xcdr1 => held(&Arc::new(sample), Part::Body).into(),
            Encoding::Xcdr2 => {
                // The bytes that are checked must be those that are read: a publisher may still change these.
                let body = sample.body().try_to_vec().map_err(ReadError::from)?;
                let value = from_cdr(&self.schema, self.root, &body)?;
                self.cdr(&value)?.into()
            }
            Encoding::Region => {
                let body = sample.body().try_to_vec().map_err(ReadError::from)?;
                let value = from_region(&self.schema, self.root, &body)?;
                self.cdr(&value)?.into()
            }
            Encoding::Flat => self.flat_to_wire(sample)?,
        })
    }

    fn cdr(&self, value: &situ_schema::dynamic::Value) -> Result<Vec<u8>, MessageError> {
        Ok(to_cdr(&self.schema, self.root, value, situ_wire::Encoding::Xcdr1)?)
    }

    fn flat_to_wire(&self, sample: RawSample) -> Result<ZBytes, MessageError> {
        let mut projected = Projected::default();
        let parts = (sample.head_in_place(), sample.body_in_place());
        self.projection.project((&self.schema, self.root), parts, HELD_FROM, &mut projected)?;
        if projected.cuts.is_empty() {
            return Ok(projected.bytes.into());
        }
        let (sample, bytes) = (Arc::new(sample), Bytes::from(projected.bytes));
        let mut writer = ZBytes::writer();
        let mut from = 0;
        for (at, part, range) in projected.cuts {
            writer.append(bytes.slice(from..at).into());
            writer.append(held(&sample, part).slice(range).into());
            from = at;
        }
        writer.append(bytes.slice(from..).into());
        Ok(writer.finish())
    }

    /// A message of the network as it is published. `encoding` is that of the publisher.
    pub fn arrived<'m>(
        &self,
        space: Space,
        payload: &'m ZBytes,
        encoding: Encoding,
    ) -> Result<Arrived<'m>, MessageError> {
        let mut start = [0; HEAD];
        let size = peek(payload, &mut start);
        if space == Space::Situ {
            if size < HEAD {
                return Err(MessageError::Short { size: payload.len() });
            }
            let word =
                |at: usize| u32::from_le_bytes([start[at], start[at + 1], start[at + 2], start[at + 3]]);
            let stated = Encoding::from_number(word(0)).filter(|it| self.may_have(*it));
            let stated = stated.ok_or(MessageError::Encoding { number: word(0) })?;
            let head = u64::from(word(8)) | u64::from(word(12)) << 32;
            let is_inside = head <= MAX_HEAD && head <= (payload.len() - HEAD) as u64;
            if !is_inside {
                return Err(MessageError::HeadSize { size: payload.len(), head });
            }
            return Ok(Arrived::Parts(payload, stated, head as usize));
        }
        if size < 4 {
            return Err(MessageError::Short { size });
        }
        if encoding == Encoding::Flat {
            let value = from_cdr(&self.schema, self.root, &payload.to_bytes())?;
            let flat = to_flat(&self.schema, self.root, &value)?;
            return Ok(Arrived::Flat(flat.head, flat.body));
        }
        // The second byte of the encapsulation tells the version: 0 to 5 are those of the first.
        let encoding = if start[1] <= 5 { Encoding::Xcdr1 } else { Encoding::Xcdr2 };
        Ok(Arrived::AsIs(payload, encoding))
    }

    /// Whether messages that travel as they lie may have an encoding. Flat messages and regions need the
    /// layout that was told with the type.
    fn may_have(&self, encoding: Encoding) -> bool {
        match encoding {
            Encoding::Flat => self.schema.is_flattable(self.root),
            Encoding::Region => self.description.encoding == Encoding::Region,
            Encoding::Xcdr1 | Encoding::Xcdr2 => true,
        }
    }
}

/// A message of the bus with its encoding before it.
fn as_it_lies(sample: RawSample) -> ZBytes {
    let sample = Arc::new(sample);
    let mut head = [0; HEAD];
    head[..4].copy_from_slice(&(sample.encoding() as u32).to_le_bytes());
    head[8..].copy_from_slice(&(sample.head_in_place().len() as u64).to_le_bytes());
    let mut writer = ZBytes::writer();
    writer.append(head.into());
    for part in [Part::Head, Part::Body] {
        let bytes = held(&sample, part);
        if !bytes.is_empty() {
            writer.append(bytes.into());
        }
    }
    writer.finish()
}

/// Copies the first bytes of a payload. Returns how many there are.
fn peek(payload: &ZBytes, to: &mut [u8]) -> usize {
    let mut size = 0;
    for slice in payload.slices() {
        let part = slice.len().min(to.len() - size);
        to[size..size + part].copy_from_slice(&slice[..part]);
        size += part;
    }
    size
}

/// Copies a payload from a byte on.
fn copy(payload: &ZBytes, mut from: usize, to: &mut [u8]) {
    let mut at = 0;
    for slice in payload.slices() {
        let skipped = from.min(slice.len());
        from -= skipped;
        let slice = &slice[skipped..];
        let part = slice.len().min(to.len() - at);
        to[at..at + part].copy_from_slice(&slice[..part]);
        at += part;
    }
}

/// A message, request or reply under construction in shared memory.
pub trait InLoan {
    /// The bytes of its head.
    fn head(&mut self) -> &mut [u8];
    /// The bytes of its body.
    fn body(&mut self) -> &mut [u8];
    /// States how its bytes are encoded.
    fn encode_as(&mut self, encoding: Encoding);
}

macro_rules! in_loan {
    ($($loan:ident),*) => {$(
        impl InLoan for $loan<'_> {
            fn head(&mut self) -> &mut [u8] {
                self.head_bytes()
            }

            fn body(&mut self) -> &mut [u8] {
                self.body_bytes()
            }

            fn encode_as(&mut self, encoding: Encoding) {
                self.set_encoding(encoding);
            }
        }
    )*};
}

in_loan!(RawLoan, RawRequestLoan, RawReplyLoan);

impl Arrived<'_> {
    /// The sizes of the head and the body of the message that is published.
    pub fn sizes(&self) -> (usize, usize) {
        match self {
            Self::AsIs(payload, _) => (0, payload.len()),
            Self::Parts(payload, _, head) => (*head, payload.len() - HEAD - head),
            Self::Flat(head, body) => (head.len(), body.len()),
        }
    }

    /// Writes it into a loan with these sizes.
    pub fn fill(&self, loan: &mut impl InLoan) {
        match self {
            Self::AsIs(payload, encoding) => {
                loan.encode_as(*encoding);
                copy(payload, 0, loan.body());
            }
            Self::Parts(payload, encoding, head) => {
                loan.encode_as(*encoding);
                copy(payload, HEAD, loan.head());
                copy(payload, HEAD + head, loan.body());
            }
            Self::Flat(head, body) => {
                loan.encode_as(Encoding::Flat);
                loan.head().copy_from_slice(head);
                loan.body().copy_from_slice(body);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pieces(parts: &[&[u8]]) -> ZBytes {
        let mut writer = ZBytes::writer();
        parts.iter().for_each(|part| writer.append(part.to_vec().into()));
        writer.finish()
    }

    #[test]
    fn payloads_in_pieces_are_copied() {
        let payload = pieces(&[b"ab", b"cde", b"f", b"ghij"]);
        for from in 0..10 {
            let mut to = vec![0; 10 - from];
            copy(&payload, from, &mut to);
            assert_eq!(to, &b"abcdefghij"[from..]);
        }
        let mut start = [0; 4];
        assert_eq!((peek(&payload, &mut start), &start), (4, b"abcd"));
        assert_eq!(peek(&pieces(&[b"a"]), &mut start), 1);
    }

    fn message_type(idl: &str, name: &str) -> MessageType {
        let schema = Schema::from_idl(idl).unwrap();
        let root = schema.find(name).unwrap();
        MessageType::new(&TypeDescription {
            name: name.into(),
            schema: schema.canonical(root),
            schema_hash: schema.schema_hash(root),
            layout_hash: 0,
            encoding: Encoding::Xcdr1,
            fixed_size: 0,
            user_header_size: 0,
        })
        .unwrap()
    }

    #[test]
    fn hostile_payloads_are_errors() {
        let plain = message_type("@flat struct P { int32 x; };", "P");
        let mut bytes = vec![0; 20];
        bytes[0] = 1;
        let arrive = |bytes: &[u8]| {
            let payload = pieces(&[bytes]);
            plain
                .arrived(Space::Situ, &payload, Encoding::Flat)
                .map(|it| it.sizes())
                .map_err(|error| error.to_string())
        };
        assert_eq!(arrive(&bytes), Ok((0, 4)));
        bytes[8] = 4;
        assert_eq!(arrive(&bytes), Ok((4, 0)));
        bytes[8] = 5;
        assert_eq!(arrive(&bytes), Err("a message of 20 bytes states a head of 5 bytes".into()));
        bytes[15] = 0xff;
        assert!(arrive(&bytes).is_err());
        bytes[0] = 9;
        assert_eq!(
            arrive(&bytes),
            Err("the message states the encoding 9, which its topic does not have".into())
        );
        bytes[0] = 4;
        assert!(arrive(&bytes).unwrap_err().contains("encoding 4"), "a region of a type that has none");
        assert!(arrive(&[1, 0, 0]).unwrap_err().contains("shorter"));
        // CDR of ROS: too short, and cut within a number.
        let ros = message_type("module a { module msg { struct B { int32 x; }; }; };", "a::msg::B");
        let cut = pieces(&[&[0, 1, 0]]);
        assert!(matches!(
            ros.arrived(Space::Ros, &cut, Encoding::Xcdr1),
            Err(MessageError::Short { size: 3 })
        ));
        let cut = pieces(&[&[0, 1, 0, 0, 1, 2]]);
        assert!(matches!(ros.arrived(Space::Ros, &cut, Encoding::Flat), Err(MessageError::Read(_))));
    }

    #[test]
    fn names_on_the_network_follow_from_the_type() {
        let ros = message_type(
            "module std_msgs { module msg { struct String { string data; }; }; };",
            "std_msgs::msg::String",
        );
        let wire = ros.wire(None);
        assert_eq!(wire.name, "std_msgs::msg::dds_::String_");
        assert_eq!(wire.hash, "RIHS01_df668c740482bbd48fb39d76a70dfd4bd59db1288021743503259e948f6b1a18");
        assert_eq!(ros.wire(Some("RIHS01_x".into())).hash, "RIHS01_x");
        let other = message_type("@flat struct P { int32 x; };", "P").wire(None);
        assert_eq!((other.space, other.name.as_str()), (Space::Situ, "P"));
        // A type with a name of ROS that ROS cannot have.
        let odd = message_type("module a { module msg { enum E { X }; struct S { E e; }; }; };", "a::msg::S");
        assert_eq!(odd.wire(None).space, Space::Situ);
    }
}
