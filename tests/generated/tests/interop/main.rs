//! CDR against independent implementations, both directions: rclpy with the middleware's type supports, and
//! Cyclone DDS.
//!
//! They write messages of every type with extreme and random values. Situ reads them with generated types in
//! every storage, and without compiled types. It compares the values and writes them again, which gives the
//! same bytes. The other side reads the messages that Situ wrote. See "Checked against" in `spec/cdr.md`.

mod cases;
mod compare;

use std::collections::HashMap;

use cases::{Case, Peer, cases_in, root};
use situ::layout::{Flat, Heap, Message, Ros};
use situ::wire::{decode, encode_to_vec, encoded_size};
use situ_schema::{Loader, Schema, dynamic};

include!(concat!(env!("OUT_DIR"), "/kinds_types.rs"));
include!(concat!(env!("OUT_DIR"), "/ros_vectors_types.rs"));
include!(concat!(env!("OUT_DIR"), "/ros_types.rs"));

/// Reads a case with one generated type, compares it, and writes it again.
type RoundTrip = fn(&Case) -> Vec<u8>;

/// The generated types for every name of a type.
type Generated = HashMap<&'static str, Vec<RoundTrip>>;

macro_rules! generated {
    ($($name:literal: $($type:ty,)+;)*) => {
        HashMap::from([$(($name, vec![$(round_trip::<$type> as RoundTrip),+])),*])
    };
}

fn round_trip<T: Message>(case: &Case) -> Vec<u8> {
    let mut message = T::default();
    if case.is_default() {
        case.check_bytes(&encode_to_vec(&message, case.encoding).unwrap());
    }
    let fails = |error| -> () { panic!("{}: {error}\n{}", case.title, cases::hex(&case.cdr)) };
    decode(&mut message, &case.cdr).unwrap_or_else(fails);
    case.check_value(&compare::of_generated(&message));
    // The former content of the message makes no difference.
    let once = message.clone();
    decode(&mut message, &case.cdr).unwrap_or_else(fails);
    case.check_value(&compare::of_generated(&message));
    let bytes = encode_to_vec(&once, case.encoding).unwrap();
    assert_eq!(encoded_size(&once, case.encoding).unwrap(), bytes.len(), "{}", case.title);
    bytes
}

fn load(loader: Loader) -> Schema {
    loader.load().unwrap_or_else(|error| panic!("{}", error.render(false)))
}

/// Reads a case without compiled types, compares it, and writes it again.
fn dynamic_round_trip(schema: &Schema, case: &Case) -> Vec<u8> {
    let id = schema.find(&case.type_name).unwrap_or_else(|| panic!("{} is unknown", case.type_name));
    let value = dynamic::from_cdr(schema, id, &case.cdr)
        .unwrap_or_else(|error| panic!("{}: {error}\n{}", case.title, cases::hex(&case.cdr)));
    case.check_value(&compare::of_dynamic(&value));
    dynamic::to_cdr(schema, id, &value, case.encoding).unwrap()
}

/// Reads a case in every way, and checks the written bytes. Returns them.
fn check(schema: &Schema, generated: &Generated, case: &Case) -> Vec<u8> {
    let bytes = dynamic_round_trip(schema, case);
    case.check_bytes(&bytes);
    let types = generated.get(case.type_name.as_str());
    for round_trip in types.unwrap_or_else(|| panic!("{} is not generated", case.type_name)) {
        assert_eq!(cases::hex(&round_trip(case)), cases::hex(&bytes), "{}", case.title);
    }
    bytes
}

fn exchange(peer: &Peer, schema: &Schema, generated: &Generated) {
    let theirs = peer.write();
    let ours: Vec<String> =
        theirs.iter().map(|case| case.with_bytes(&check(schema, generated, case))).collect();
    assert!(!ours.is_empty(), "the peer wrote nothing");
    peer.check(&ours);
}

#[test]
fn ros_messages() {
    let generated: Generated = ros_types!(generated);
    let Some(peer) = Peer::new("ros.py") else { return };
    if generated.is_empty() {
        return eprintln!("SKIPPED: no ROS interfaces: run scripts/fetch-ros-interfaces.sh");
    }
    let folder = std::env::var_os("SITU_ROS_INTERFACES").map_or_else(|| root().join("build/ros"), Into::into);
    let mut loader = Loader::new().include(folder).service_events(true);
    for package in ["std_msgs", "geometry_msgs", "sensor_msgs", "nav_msgs", "test_msgs", "action_msgs"] {
        loader = loader.ros_package(package);
    }
    exchange(&peer, &load(loader), &generated);
}

#[test]
fn cyclone_messages() {
    let Some(peer) = Peer::new("cyclone.py") else { return };
    let schema = load(Loader::new().file(root().join("spec/vectors/cdr/cyclone/kinds.idl")));
    exchange(&peer, &schema, &kinds_types!(generated));
}

/// Messages that they wrote once, kept in `spec/vectors`: these are read and written wherever the tests run.
#[test]
fn kept_messages() {
    let vectors = root().join("spec/vectors/cdr");
    let ros = load(Loader::new().file(vectors.join("ros/messages.idl")));
    let ros_types: Generated = ros_vectors_types!(generated);
    let cyclone = load(Loader::new().file(vectors.join("cyclone/kinds.idl")));
    let cyclone_types: Generated = kinds_types!(generated);
    let mut count = 0;
    for (schema, generated, folder) in [(&ros, &ros_types, "ros"), (&cyclone, &cyclone_types, "cyclone")] {
        for case in cases_in(&vectors.join(folder)) {
            check(schema, generated, &case);
            count += 1;
        }
    }
    for case in cases_in(&vectors.join("ros/padded")) {
        assert_ne!(check(&ros, &ros_types, &case), case.cdr, "{}: no padding differs", case.title);
        count += 1;
    }
    assert!(count > 60, "only {count} messages were found");
}
