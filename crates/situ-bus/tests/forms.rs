//! Hand-written types without a flat form. They cannot receive flat messages, and joining returns an error.

mod common;

use situ_bus::{PublishValueError, RegisterError};
use situ_layout::visit::{MemberVisitor, Structure, TypeInfo, Visitor, VisitorMut};
use situ_layout::{Composite, InPlace, Message, StorageKind, ValidateError, Validation, Value};

use common::Scratch;
use common::messages::{Pose, publish_pose};

/// [`Pose`], only serialized, as in a program that implements the traits itself.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
#[repr(transparent)]
struct ByHand(Pose);

// SAFETY: it is a pose, which writes itself.
unsafe impl InPlace for ByHand {
    type Class = Composite;

    unsafe fn default_at(dst: *mut Self) {
        // SAFETY: the caller's promise.
        unsafe { Pose::default_at(dst.cast()) }
    }

    unsafe fn clone_at(&self, dst: *mut Self) {
        // SAFETY: the caller's promise.
        unsafe { dst.write(*self) }
    }
}

impl Value for ByHand {
    unsafe fn validate_at(src: *const Self, validation: &Validation) -> Result<(), ValidateError> {
        // SAFETY: the caller's promise.
        unsafe { Pose::validate_at(src.cast(), validation) }
    }

    fn visit<V: Visitor>(&self, visitor: &mut V) -> Result<(), V::Error> {
        visitor.structure(self)
    }

    fn visit_mut<V: VisitorMut>(&mut self, visitor: &mut V) -> Result<(), V::Error> {
        visitor.structure(self)
    }
}

impl Structure for ByHand {
    const INFO: &'static TypeInfo = Pose::INFO;

    fn visit_members<V: MemberVisitor<Self>>(visitor: &mut V) -> Result<(), V::Error> {
        visitor.member(&Self::INFO.members[0], |it| &it.0.count, |it| &mut it.0.count)?;
        visitor.member(&Self::INFO.members[1], |it| &it.0.place, |it| &mut it.0.place)
    }
}

impl Message for ByHand {
    const NAME: &'static str = Pose::NAME;
    const SCHEMA: &'static str = Pose::SCHEMA;
    const SCHEMA_HASH: u64 = Pose::SCHEMA_HASH;
    const LAYOUT_HASH: u64 = 0;
    const STORAGE: StorageKind = StorageKind::Heap;
    type BulkLengths = ();
}

/// The refusal and its text.
fn refused(result: Result<(), RegisterError>, topic: &str, node: u64) {
    let error = result.expect_err("it cannot read flat messages");
    assert!(
        matches!(&error, RegisterError::NoFlatForm { type_name, .. } if type_name == "test::Pose"),
        "{error:?}"
    );
    assert_eq!(
        error.to_string(),
        format!(
            "topic {topic:?}: flat messages of test::Pose cannot be taken by a subscriber whose type has no flat \
             form (node {node:016x} is the other side): publish them serialized (storage `Heap`), or subscribe with a \
             generated type"
        )
    );
}

#[test]
fn a_subscriber_without_a_flat_form_is_refused_with_a_publisher_of_flat_messages() {
    let scratch = Scratch::new();
    let node = scratch.node("n");
    let publisher = node.publisher::<Pose>("poses").create().unwrap();
    refused(node.subscriber::<ByHand>("poses").create().map(drop), "poses", node.id().0);
    // The topic continues for participants that can read it.
    let subscriber = node.subscriber::<Pose>("poses").create().unwrap();
    publish_pose(&publisher, 7);
    assert_eq!(subscriber.take().unwrap().unwrap().count, 7);
}

#[test]
fn a_publisher_of_flat_messages_is_refused_with_a_subscriber_without_a_flat_form() {
    let scratch = Scratch::new();
    let node = scratch.node("n");
    let subscriber = node.subscriber::<ByHand>("poses").create().unwrap();
    refused(node.publisher::<Pose>("poses").create().map(drop), "poses", node.id().0);
    // It reads serialized messages.
    let publisher = node.publisher::<ByHand>("poses").create().unwrap();
    let sent: Result<u64, PublishValueError> = publisher.publish(&ByHand(Pose { count: 3, place: [0.5; 6] }));
    sent.unwrap();
    assert_eq!(*subscriber.take().unwrap().unwrap(), ByHand(Pose { count: 3, place: [0.5; 6] }));
}
