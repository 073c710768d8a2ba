//! The types of a service, and how the topic of its requests carries both.

use super::header::HEADER_SIZE;
use crate::topic::{SCHEMA_SEPARATOR, TypeDescription};

/// The types of a service's requests and replies.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ServiceDescription {
    /// The type of requests.
    pub request: TypeDescription,
    /// The type of replies.
    pub reply: TypeDescription,
}

impl ServiceDescription {
    /// The description with which clients and servers join the topic of requests. It names both types, so
    /// that participants that differ in either do not meet.
    pub(crate) fn of_requests(&self) -> TypeDescription {
        let Self { request, reply } = self;
        TypeDescription {
            name: format!("{} -> {}", request.name, reply.name),
            schema: format!("{}\n{SCHEMA_SEPARATOR}\n{}", request.schema, reply.schema),
            schema_hash: request.schema_hash.wrapping_mul(31).wrapping_add(reply.schema_hash),
            user_header_size: HEADER_SIZE,
            ..request.clone()
        }
    }

    /// The description with which a client and its servers join the topic of its replies.
    pub(super) fn of_replies(&self) -> TypeDescription {
        TypeDescription { user_header_size: HEADER_SIZE, ..self.reply.clone() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::topic::{Encoding, SchemaFlags};

    #[test]
    fn the_topic_of_requests_carries_both_types() {
        let one = |name: &str, schema: &str, schema_hash| TypeDescription {
            name: name.to_owned(),
            schema: schema.to_owned(),
            schema_hash,
            layout_hash: schema_hash + 1,
            encoding: Encoding::Flat,
            fixed_size: 8,
            user_header_size: 0,
        };
        let bulk = "struct B {\n  @bulk(TRUE) sequence<octet> x;\n};";
        let both = ServiceDescription { request: one("A", "struct A {\n};", 5), reply: one("B", bulk, 7) };
        let requests = both.of_requests();
        assert_eq!((requests.name.as_str(), requests.schema_hash, requests.layout_hash), ("A -> B", 162, 6));
        assert_eq!(requests.schema, format!("struct A {{\n}};\n---\n{bulk}"));
        assert!(!SchemaFlags::read(&requests.schema).has_bulk, "only replies are bulk");
        assert_eq!((both.of_replies().user_header_size, both.of_replies().schema_hash), (24, 7));
    }
}
