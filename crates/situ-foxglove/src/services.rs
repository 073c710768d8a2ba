//! Services as Foxglove sees them: a name, types with their definitions, and requests as CDR or JSON.

use situ_bus::inspect::ServiceInfo;
use situ_bus::{Encoding, RawSample, ServiceDescription, TypeDescription};
use situ_layout::NoMemory;
use situ_record::FileType;
use situ_schema::dynamic::{
    ReadError, TextError, Value, WriteError, from_cdr, from_flat, from_region, from_text, to_cdr, to_flat,
};
use situ_schema::model::TypeId;
use situ_schema::{Schema, SchemaError};

use crate::channels::CDR;
use crate::inbound::{JSON, MAX_JSON};

/// The sign between the types' names of a service, and the line between their schemas.
const SEPARATORS: (&str, &str) = (" -> ", "\n---\n");

/// The type of requests or of replies.
#[derive(Debug)]
pub struct Side {
    /// As it is shown.
    pub shown: FileType,
    schema: Schema,
    root: TypeId,
}

/// A service.
#[derive(Debug)]
pub struct Service {
    /// Its number, which no other service of the server ever has.
    pub id: u32,
    /// Its name on the bus.
    pub service: String,
    /// The name that is shown: with a `/` in front, if the type is of ROS.
    pub name: String,
    /// Its type, for instance `std_srvs/srv/SetBool`.
    pub type_name: String,
    /// Its requests.
    pub request: Side,
    /// Its replies.
    pub reply: Side,
    /// With which a client joins it: the first that its servers take. They do not tell in which form they
    /// take requests.
    pub descriptions: Vec<ServiceDescription>,
    schema_hash: u64,
}

/// Why a service cannot be called.
#[derive(Debug, thiserror::Error)]
pub enum ServiceError {
    /// Its topic does not carry two types.
    #[error("it does not say its types")]
    Untyped,
    /// A schema is malformed.
    #[error("the schema that the service carries cannot be read: {0}")]
    Schema(#[from] Box<SchemaError>),
    /// A schema does not define its type.
    #[error("the schema that the service carries does not define {0}")]
    Missing(String),
}

/// Why a request is not sent, or a reply not given.
#[derive(Debug, thiserror::Error)]
pub enum ContentError {
    /// It has another encoding.
    #[error("requests encoded as {0:?} are not sent; cdr and json are")]
    Encoding(String),
    /// It is malformed.
    #[error("it is malformed: {0}")]
    Read(#[from] ReadError),
    /// It is malformed.
    #[error("it is malformed: {0}")]
    Text(#[from] TextError),
    /// It is no text, or too much of it.
    #[error("it is not a text of at most {MAX_JSON} bytes")]
    NotText,
    /// It has no form in the encoding.
    #[error("it cannot be encoded: {0}")]
    Write(#[from] WriteError),
    /// It has no form in JSON.
    #[error("it cannot be written as JSON: {0}")]
    Json(#[from] serde_json::Error),
    /// There is no memory for it.
    #[error(transparent)]
    Memory(#[from] NoMemory),
}

/// A request as it is published.
pub struct Encoded {
    /// The head; empty if it is serialized.
    pub head: Vec<u8>,
    /// The alignment of the head.
    pub align: usize,
    /// The body.
    pub body: Vec<u8>,
}

impl Side {
    fn new(name: &str, text: &str) -> Result<Self, ServiceError> {
        let schema = Schema::from_idl(text)?;
        let root = schema.find(name).ok_or_else(|| ServiceError::Missing(name.to_owned()))?;
        Ok(Self { shown: FileType::of_service(&schema, root), schema, root })
    }

    fn description(&self, is_flat: bool) -> TypeDescription {
        let (schema, root) = (&self.schema, self.root);
        let is_flat = is_flat && schema.is_flattable(root);
        let fixed = schema.flat_layout(root).and_then(|it| it.extent.size.try_into().ok());
        TypeDescription {
            name: schema.name(root).to_string(),
            schema: schema.canonical(root),
            schema_hash: schema.schema_hash(root),
            layout_hash: if is_flat { schema.layout_hash(root) } else { 0 },
            encoding: if is_flat { Encoding::Flat } else { Encoding::Xcdr1 },
            fixed_size: fixed.unwrap_or_default(),
            user_header_size: 0,
        }
    }
}

impl Service {
    /// The service that a topic of requests describes.
    pub fn of(id: u32, info: &ServiceInfo) -> Result<Self, ServiceError> {
        let joined = &info.requests.description;
        let names = joined.name.split_once(SEPARATORS.0).ok_or(ServiceError::Untyped)?;
        let schemas = joined.schema.split_once(SEPARATORS.1).ok_or(ServiceError::Untyped)?;
        let (request, reply) = (Side::new(names.0, schemas.0)?, Side::new(names.1, schemas.1)?);
        // Replies are read by their schema, in any layout.
        let any = TypeDescription {
            encoding: Encoding::Region,
            layout_hash: 0,
            ..reply.description(reply.schema.is_flat(reply.root))
        };
        // That of a client, if there is one; otherwise it is flat.
        let is_flat = joined.encoding == Encoding::Flat;
        let mut requests = vec![request.description(is_flat), request.description(!is_flat)];
        requests.dedup_by_key(|it| it.encoding);
        let descriptions =
            requests.into_iter().map(|request| ServiceDescription { request, reply: any.clone() });
        let descriptions = descriptions.collect();
        let type_name = names.0.strip_suffix("_Request").unwrap_or(names.0).replace("::", "/");
        let slash = if names.0.contains("::srv::") && !info.name.starts_with('/') { "/" } else { "" };
        Ok(Self {
            id,
            service: info.name.clone(),
            name: format!("{slash}{}", info.name),
            type_name,
            request,
            reply,
            descriptions,
            schema_hash: joined.schema_hash,
        })
    }

    /// Whether it is this service with these types.
    pub fn is(&self, info: &ServiceInfo) -> bool {
        self.service == info.name && self.schema_hash == info.requests.description.schema_hash
    }

    /// Reads a request of a client, which may be anything.
    pub fn request(&self, encoding: &str, content: &[u8]) -> Result<Value, ContentError> {
        let (schema, root) = (&self.request.schema, self.request.root);
        match encoding {
            CDR => Ok(from_cdr(schema, root, content)?),
            JSON => {
                let text = std::str::from_utf8(content).ok().filter(|text| text.len() <= MAX_JSON);
                Ok(from_text(schema, root, text.ok_or(ContentError::NotText)?)?)
            }
            other => Err(ContentError::Encoding(other.chars().take(100).collect())),
        }
    }

    /// A request as it is published.
    pub fn encode(&self, request: &Value, encoding: Encoding) -> Result<Encoded, ContentError> {
        let (schema, root) = (&self.request.schema, self.request.root);
        if encoding == Encoding::Flat {
            let align = schema.flat_layout(root).map_or(1, |it| it.extent.align as usize);
            let flat = to_flat(schema, root, request)?;
            return Ok(Encoded { head: flat.head, align, body: flat.body });
        }
        let body = to_cdr(schema, root, request, situ_wire::Encoding::Xcdr1)?;
        Ok(Encoded { head: Vec::new(), align: 1, body })
    }

    /// Reads a private copy of a reply, because the bytes that are checked must be those that are read.
    pub fn reply(&self, sample: &RawSample) -> Result<Value, ContentError> {
        let (schema, root) = (&self.reply.schema, self.reply.root);
        let body = sample.body().try_to_vec()?;
        Ok(match sample.encoding() {
            Encoding::Flat => from_flat(schema, root, &sample.head().try_to_vec()?, &body)?,
            Encoding::Xcdr1 | Encoding::Xcdr2 => from_cdr(schema, root, &body)?,
            Encoding::Region => from_region(schema, root, &body)?,
        })
    }

    /// A reply in the encoding of its request.
    pub fn encode_reply(&self, encoding: &str, reply: &Value) -> Result<Vec<u8>, ContentError> {
        match encoding {
            JSON => Ok(serde_json::to_vec(reply)?),
            _ => Ok(to_cdr(&self.reply.schema, self.reply.root, reply, situ_wire::Encoding::Xcdr1)?),
        }
    }
}
