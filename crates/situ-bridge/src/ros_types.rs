//! Types of ROS that no program here uses, for topics and services of nodes of rmw_zenoh, which tell the name
//! and the hash of a type, and not the type.
//!
//! The definition is one of the common ones in `ros_types.idl`, or a file of the ROS installation that
//! `AMENT_PREFIX_PATH` names. It is used if it has the hash that the other node tells.

use std::sync::{Arc, OnceLock};

use situ_bus::{Encoding, TypeDescription};
use situ_schema::{Loader, Schema};

use crate::discovery::ToldType;
use crate::message_type::MessageType;
use crate::service_out::ServiceTypes;
use crate::wire::names::{WireType, bus_type_name};
use crate::wire::token::Space;

/// The common definitions.
const COMMON: &str = include_str!("ros_types.idl");

fn common() -> Option<&'static Schema> {
    static SCHEMA: OnceLock<Option<Schema>> = OnceLock::new();
    SCHEMA.get_or_init(|| Schema::from_idl(COMMON).ok()).as_ref()
}

/// Finds the definition of a type by its name and its hash.
pub fn find(wire: &WireType) -> Option<ToldType> {
    if wire.space != Space::Ros {
        return None;
    }
    let name = bus_type_name(&wire.name)?;
    let parts: Vec<&str> = name.split("::").collect();
    let is_name = |part: &&str| part.bytes().all(|it| it.is_ascii_alphanumeric() || it == b'_');
    // The name becomes the name of a file.
    if parts.len() != 3 || !parts.iter().all(is_name) {
        return None;
    }
    let from_common = common().and_then(|schema| of_schema(schema, &name, wire));
    from_common.or_else(|| {
        let installed = Loader::new().ament_prefix_path().ros_interface(parts.join("/")).load().ok()?;
        of_schema(&installed, &name, wire)
    })
}

fn of_schema(schema: &Schema, name: &str, wire: &WireType) -> Option<ToldType> {
    let of = |name: &str| {
        let root = schema.find(name)?;
        let description = TypeDescription {
            name: name.to_owned(),
            schema: schema.canonical(root),
            schema_hash: schema.schema_hash(root),
            layout_hash: 0,
            encoding: Encoding::Xcdr1,
            fixed_size: 0,
            user_header_size: 0,
        };
        MessageType::new(&description).ok().map(Arc::new)
    };
    if let Some(message) = of(name) {
        return message.subject().has_hash(&wire.hash).then_some(ToldType::Topic(message));
    }
    let (request, reply) = (of(&format!("{name}_Request"))?, of(&format!("{name}_Response"))?);
    let has_hash = request.service_subject(&reply).has_hash(&wire.hash);
    has_hash.then_some(ToldType::Service(ServiceTypes { request, reply, space: Space::Ros }))
}

#[cfg(test)]
mod tests {
    use std::path::{Path, PathBuf};

    use crate::wire::names::dds_name;

    use super::*;

    fn wire(name: &str, hash: &str) -> WireType {
        WireType { space: Space::Ros, name: name.into(), hash: hash.into() }
    }

    #[test]
    fn types_are_found_by_name_and_hash() {
        let hash = "RIHS01_df668c740482bbd48fb39d76a70dfd4bd59db1288021743503259e948f6b1a18";
        let string = wire("std_msgs::msg::dds_::String_", hash);
        let Some(ToldType::Topic(found)) = find(&string) else { panic!("no type") };
        assert_eq!((found.name(), found.wire(None)), ("std_msgs::msg::String", string.clone()));
        let other = hash.replace("df66", "df67");
        for (name, hash) in [
            (string.name.as_str(), other.as_str()),
            ("std_msgs::msg::dds_::Nothing_", hash),
            ("std_msgs::msg::dds_::../../String_", hash),
            ("a/b::msg::dds_::String_", hash),
        ] {
            assert!(find(&wire(name, hash)).is_none(), "{name}");
        }
        assert!(find(&WireType { space: Space::Situ, ..string }).is_none());
    }

    /// The hash of a type as a ROS installation states it.
    fn stated(share: &Path, name: &str) -> Option<String> {
        let text = std::fs::read_to_string(share.join(format!("{}.json", name.replace("::", "/")))).ok()?;
        // The first hash is that of the type, and those of other types follow.
        let at = text.find(&format!("\"{}\"", name.replace("::", "/")))?;
        let hash = &text[at..][text[at..].find("RIHS01_")?..];
        hash.get(..71).map(str::to_owned)
    }

    #[test]
    fn the_common_types_have_the_hashes_of_ros() {
        let schema = common().expect("the definitions can be read");
        let python = std::env::var("SITU_TEST_PYTHON").map(PathBuf::from).unwrap_or_default();
        let share = python.parent().map(|it| it.join("../share")).unwrap_or_default();
        if !share.join("std_msgs/msg/String.json").exists() {
            println!("skipped: SITU_TEST_PYTHON is in no environment with ROS");
            return;
        }
        let mut compared = 0;
        for (id, _) in schema.definitions() {
            let name = schema.name(id).to_string();
            let name = name.strip_suffix("_Request").unwrap_or(&name);
            if name.ends_with("_Response") {
                continue;
            }
            let Some(hash) = stated(&share, name) else { continue };
            let dds = dds_name(name).unwrap();
            assert!(find(&wire(&dds, &hash)).is_some(), "{name} has not the hash {hash}");
            compared += 1;
        }
        assert!(compared > 60, "{compared} types");
    }
}
