//! Hand-written types without a flat form or a region form. They cannot receive messages of that form, and
//! joining returns an error.

mod common;

use situ_bus::{PublishValueError, RegisterError};
use situ_layout::visit::{MemberVisitor, Structure, TypeInfo, Visitor, VisitorMut};
use situ_layout::{
    AssignError, Bodies, Composite, InPlace, Message, StorageKind, ValidateError, Validation, Value,
};
use situ_region::{LoadInto, MemoryMut, Ref, RegionMessage, StoreError, StoreFrom, region_struct};

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
    const NAME: &'static str = <Pose as Message>::NAME;
    const SCHEMA: &'static str = <Pose as Message>::SCHEMA;
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
             form (node \"n\" ({node:016x}) is the other side): publish them serialized (storage `Heap`), or subscribe with a \
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

region_struct! {
    /// The region form of [`ByHand`]. It has the layout of a pose.
    struct ByHandRegion: ByHandRef, ByHandMut { count: u64, place: [f64; 6] }
}

impl RegionMessage for ByHandRegion {
    type Message = ByHand;
}

impl StoreFrom<ByHand> for ByHandRegion {
    fn store(memory: MemoryMut<'_>, at: u32, from: &ByHand, body: &[u8]) -> Result<(), StoreError> {
        Pose::store(memory, at, &from.0, body)
    }
}

impl LoadInto<ByHand> for ByHandRegion {
    fn load(from: Ref<'_, Self>, to: &mut ByHand, bodies: &mut Bodies<'_>) -> Result<(), AssignError> {
        Pose::load(from.part::<Pose>(0), &mut to.0, bodies)
    }
}

#[test]
fn a_region_form_without_a_flat_form_is_refused_with_flat_messages() {
    let scratch = Scratch::new();
    let node = scratch.node("n");
    let publisher = node.publisher::<Pose>("poses").create().unwrap();
    refused(node.region_subscriber::<ByHandRegion>("poses").create().map(drop), "poses", node.id().0);
    drop(publisher);
    let subscriber = node.region_subscriber::<ByHandRegion>("poses").create().unwrap();
    refused(node.publisher::<Pose>("poses").create().map(drop), "poses", node.id().0);
    // It reads serialized messages.
    let publisher = node.publisher::<ByHand>("poses").create().unwrap();
    publisher.publish(&ByHand(Pose { count: 3, place: [0.5; 6] })).unwrap();
    let taken = subscriber.take().unwrap().unwrap();
    assert_eq!(taken.root().to_message::<ByHand>().unwrap(), ByHand(Pose { count: 3, place: [0.5; 6] }));
}

#[test]
fn a_type_without_a_region_form_is_refused_with_regions() {
    let scratch = Scratch::new();
    let node = scratch.node("n");
    let refused = |result: Result<(), RegisterError>| {
        let error = result.expect_err("it cannot read regions");
        assert!(
            matches!(&error, RegisterError::NoRegionForm { type_name, .. } if type_name == "test::Pose"),
            "{error:?}"
        );
        assert_eq!(
            error.to_string(),
            format!(
                "topic \"poses\": regions of test::Pose cannot be taken by a subscriber whose type has no region \
                 form (node \"n\" ({:016x}) is the other side): publish them serialized (storage `Heap`), or subscribe \
                 with a generated type",
                node.id().0
            )
        );
    };
    let publisher = node.region_publisher::<Pose>("poses").create().unwrap();
    refused(node.subscriber::<ByHand>("poses").create().map(drop));
    // A generated type reads them, on the heap as well.
    let subscriber = node.subscriber::<Pose>("poses").create().unwrap();
    publisher.publish(&Pose { count: 7, place: [0.5; 6] }).unwrap();
    assert_eq!(subscriber.take().unwrap().unwrap().count, 7);
    drop((publisher, subscriber));
    let _subscriber = node.subscriber::<ByHand>("poses").create().unwrap();
    refused(node.region_publisher::<Pose>("poses").create().map(drop));
}
