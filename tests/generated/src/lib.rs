//! The generator's output for the schemas in `build.rs`. The first test is that it builds without warnings.

/// `spec/vectors/kitchen.idl`: every kind of member.
pub mod kitchen {
    include!(concat!(env!("OUT_DIR"), "/kitchen.rs"));
}

/// `schema/situ/sensor.idl`: the messages that ship with Situ.
pub mod sensor {
    include!(concat!(env!("OUT_DIR"), "/messages.rs"));
}

/// `schema/edges.idl`: names, defaults and sizes at the edge.
pub mod edges {
    include!(concat!(env!("OUT_DIR"), "/edges.rs"));
}

/// `schema/recursion.idl`: types that contain themselves through several containers.
pub mod recursion {
    include!(concat!(env!("OUT_DIR"), "/recursion.rs"));
}

/// `schema/services`: a service of ROS, and an interface.
pub mod services {
    include!(concat!(env!("OUT_DIR"), "/services.rs"));
}

/// `schema/region.idl`: what lies in regions.
pub mod region {
    include!(concat!(env!("OUT_DIR"), "/region.rs"));
}

/// `schema/bazaar.idl`: trees, unions, shared links and bases in regions.
pub mod bazaar {
    include!(concat!(env!("OUT_DIR"), "/bazaar.rs"));
}

/// `schema/family.idl`: weak links in regions.
pub mod family {
    include!(concat!(env!("OUT_DIR"), "/family.rs"));
}

/// `schema/profile.idl`: what can be appended to.
pub mod profile {
    include!(concat!(env!("OUT_DIR"), "/profile.rs"));
}

/// `schema/profile_before.idl`: the same before members were appended.
pub mod profile_before {
    include!(concat!(env!("OUT_DIR"), "/profile_before.rs"));
}

/// `schema/profile_other.idl`: what no version of the same is.
pub mod profile_other {
    include!(concat!(env!("OUT_DIR"), "/profile_other.rs"));
}

/// ROS 2's packages; empty if they were not fetched.
#[cfg(feature = "ros")]
pub mod ros {
    include!(concat!(env!("OUT_DIR"), "/ros.rs"));
}

/// `spec/vectors/cdr/cyclone/kinds.idl`: every kind of member that Cyclone DDS's Python binding knows.
pub mod kinds {
    include!(concat!(env!("OUT_DIR"), "/kinds.rs"));
}

/// `spec/vectors/cdr/ros/messages.idl`: the messages of ROS 2 that are kept as vectors.
pub mod ros_vectors {
    include!(concat!(env!("OUT_DIR"), "/ros_vectors.rs"));
}

/// `spec/vectors/protobuf/kitchen.proto` and `schema/legacy.proto`: writers and readers of protobuf.
pub mod protobuf {
    include!(concat!(env!("OUT_DIR"), "/protobuf.rs"));
}
