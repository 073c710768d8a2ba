//! What a bridge hears from its root and from others, and what it answers: graph, tokens, types.

use std::sync::{Arc, PoisonError};
use std::thread::Builder;
use std::time::Duration;

use situ_bus::{Node, TypeDescription};
use zenoh::Wait;
use zenoh::query::{Query, Queryable};
use zenoh::sample::{Locality, Sample, SampleKind};

use crate::error::BridgeError;
use crate::heard::BRIDGES;
use crate::message_type::MessageType;
use crate::service_out::ServiceTypes;
use crate::shared::{Event, Shared};
use crate::wire::names::{WireType, bus_type_name};
use crate::wire::schema_text::{self, SchemaTextError};
use crate::wire::token::Space;
use crate::wire::type_hash::Subject;

/// What keys of types begin with.
pub const TYPES: &str = "@situ_type";

/// The type of a topic or service that another machine told.
#[derive(Debug, Clone)]
pub enum ToldType {
    /// Of a topic.
    Topic(Arc<MessageType>),
    /// Of a service.
    Service(ServiceTypes),
}

/// Reads a type that was told. It must be the one with the hash that was asked for.
pub fn read_type(wire: &WireType, bytes: &[u8]) -> Result<ToldType, SchemaTextError> {
    let read = |bytes: &[u8], is_whole: bool| -> Result<TypeDescription, SchemaTextError> {
        schema_text::from_bytes(bytes, |schema, name| {
            let root = schema.find(name).ok_or_else(|| wire.hash.clone())?;
            let is_it = match wire.space {
                _ if !is_whole => true,
                Space::Ros => {
                    bus_type_name(&wire.name).as_deref() == Some(name)
                        && Subject::Message(schema, root).has_hash(&wire.hash)
                }
                Space::Situ => {
                    name == wire.name && schema_text::hash_text(schema.schema_hash(root)) == wire.hash
                }
            };
            if is_it { Ok(()) } else { Err(wire.hash.clone()) }
        })
    };
    let make = |description: TypeDescription| {
        MessageType::new(&description).map(Arc::new).map_err(|error| SchemaTextError::Schema {
            name: description.name.clone(),
            reason: error.to_string(),
        })
    };
    let Some(at) = bytes.iter().position(|byte| *byte == 0x1e) else {
        return Ok(ToldType::Topic(make(read(bytes, true)?)?));
    };
    let (request, reply) = (make(read(&bytes[..at], false)?)?, make(read(&bytes[at + 1..], false)?)?);
    let found = request.service_wire(&reply, None);
    let has_hash = found.hash == wire.hash || request.service_subject(&reply).has_hash(&wire.hash);
    if found.space != wire.space || found.name != wire.name || !has_hash {
        let (found, expected) = (found.hash, wire.hash.clone());
        return Err(SchemaTextError::Hash { name: wire.name.clone(), found, expected });
    }
    Ok(ToldType::Service(ServiceTypes { request, reply, space: wire.space }))
}

/// Tells when the graph may have changed, until the bridge ends.
pub fn watch_graph(shared: &Arc<Shared>, node: &Node) -> Result<(), BridgeError> {
    let watch = node.watch_graph()?;
    let (events, shared) = (shared.events.clone(), Arc::downgrade(shared));
    events.send(Event::Graph).ok();
    Builder::new().name("bridge-watch".into()).spawn(move || {
        while shared.strong_count() > 0 {
            match watch.wait(Some(Duration::from_millis(500))) {
                Ok(false) => {}
                Ok(true) => {
                    if events.send(Event::Graph).is_err() {
                        return;
                    }
                }
                Err(_) => return,
            }
        }
    })?;
    Ok(())
}

/// Tells of tokens of others.
pub fn watch_tokens(shared: &Arc<Shared>) -> Result<(), BridgeError> {
    let domain = shared.domain;
    for prefix in [Space::Ros.prefix(), Space::Situ.prefix(), BRIDGES] {
        let (events, heard) = (shared.events.clone(), shared.heard.clone());
        let tell = move |sample: Sample| {
            let mut warn = |text| drop(events.send(Event::Warning(text)));
            let is_there = sample.kind() == SampleKind::Put;
            let mut heard = heard.lock().unwrap_or_else(PoisonError::into_inner);
            if heard.take(sample.key_expr().as_str(), is_there, &mut warn) {
                let _ = events.send(Event::Heard);
            }
        };
        let tokens = shared.session.liveliness().declare_subscriber(format!("{prefix}/{domain}/**"));
        let watched = tokens.history(true).callback(tell).background().wait();
        watched.map_err(BridgeError::declare("a subscriber of tokens"))?;
    }
    Ok(())
}

/// Answers questions for types.
pub fn answer_types(shared: &Arc<Shared>) -> Result<Queryable<()>, BridgeError> {
    let weak = Arc::downgrade(shared);
    let answer = move |query: Query| {
        let Some(shared) = weak.upgrade() else { return };
        let key = query.key_expr().as_str();
        let mut parts = key.rsplitn(3, '/');
        let (Some(hash), Some(name)) = (parts.next(), parts.next()) else { return };
        if let Some(text) = shared.type_text(&format!("{name}/{hash}")) {
            let _ = query.reply(query.key_expr().clone(), text).wait();
        }
    };
    let queryable = shared.session.declare_queryable(format!("{TYPES}/{}/**", shared.domain));
    let declared = queryable.callback(answer).allowed_origin(Locality::Remote).wait();
    declared.map_err(BridgeError::declare("a queryable for types"))
}
