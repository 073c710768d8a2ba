//! Types that are written by hand and have no flat form: they meet no flat messages, and learn so when they
//! join.

mod common;

use situ_bus::{PublishValueError, RegisterError};
use situ_layout::{Message, StorageKind, structure};

use common::Scratch;
use common::messages::{Pose, publish_pose};

/// [`Pose`], serialized only: what a program writes that implements the traits itself.
#[derive(Clone, Copy, Debug, PartialEq)]
#[repr(C)]
struct ByHand {
    count: u64,
    place: [f64; 6],
}

structure! {
    ByHand: Final "test::Pose";
    0 "count" count: copy;
    1 "place" place: (array copy);
}

impl Message for ByHand {
    const NAME: &'static str = Pose::NAME;
    const SCHEMA: &'static str = Pose::SCHEMA;
    const SCHEMA_HASH: u64 = Pose::SCHEMA_HASH;
    const LAYOUT_HASH: u64 = 0;
    const STORAGE: StorageKind = StorageKind::Heap;
    type BulkLengths = ();
}

/// The refusal, and what it says.
fn refused(result: Result<(), RegisterError>, topic: &str, node: u64) {
    let error = result.expect_err("it cannot read what is published");
    assert!(
        matches!(&error, RegisterError::NoFlatForm { type_name, .. } if type_name == "test::Pose"),
        "{error:?}"
    );
    assert_eq!(
        error.to_string(),
        format!(
            "topic {topic:?}: flat messages of test::Pose do not go together with a subscriber whose type has no flat \
             form (node {node:016x} is the other side): publish them serialized (storage `Heap`), or subscribe with a \
             generated type"
        )
    );
}

#[test]
fn a_subscriber_without_a_flat_form_is_refused_where_flat_messages_are_published() {
    let scratch = Scratch::new();
    let node = scratch.node("n");
    let publisher = node.publisher::<Pose>("poses").create().unwrap();
    refused(node.subscriber::<ByHand>("poses").create().map(drop), "poses", node.id().0);
    // The topic goes on, for those who can read it.
    let subscriber = node.subscriber::<Pose>("poses").create().unwrap();
    publish_pose(&publisher, 7);
    assert_eq!(subscriber.take().unwrap().unwrap().count, 7);
}

#[test]
fn a_publisher_of_flat_messages_is_refused_where_a_subscriber_has_no_flat_form() {
    let scratch = Scratch::new();
    let node = scratch.node("n");
    let subscriber = node.subscriber::<ByHand>("poses").create().unwrap();
    refused(node.publisher::<Pose>("poses").create().map(drop), "poses", node.id().0);
    // What is serialized it reads.
    let publisher = node.publisher::<ByHand>("poses").create().unwrap();
    let sent: Result<u64, PublishValueError> = publisher.publish(&ByHand { count: 3, place: [0.5; 6] });
    sent.unwrap();
    assert_eq!(*subscriber.take().unwrap().unwrap(), ByHand { count: 3, place: [0.5; 6] });
}
