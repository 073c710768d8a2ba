//! The generated messages that the tests of this crate use.

use situ_bus::{Publisher, Subscriber};

pub use test::*;

/// Where the messages find Situ.
mod situ {
    pub use situ_layout as layout;
    pub use situ_region as region;
}

include!("../messages/messages.rs");

/// Publishes a pose in place.
pub fn publish_pose(publisher: &Publisher<Pose>, count: u64) {
    let mut pose = publisher.loan().unwrap();
    pose.count = count;
    pose.place = [count as f64; 6];
    pose.publish().unwrap();
}

/// Takes a pose and checks it.
pub fn take_pose(subscriber: &Subscriber<Pose>) -> Option<u64> {
    let pose = subscriber.take().unwrap()?;
    assert_eq!(pose.place, [pose.count as f64; 6]);
    Some(pose.count)
}
