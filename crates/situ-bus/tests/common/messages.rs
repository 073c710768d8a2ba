//! Messages as the generator writes them: one of a fixed size, one with a bulk member, one on the heap.

use situ_bus::{Publisher, Subscriber};
use situ_layout::region::Vector;
use situ_layout::{
    Flat, Heap, Storage, UNBOUNDED, Unbounded, message, region_conversion, region_type, structure,
};

/// `struct Pose { uint64 count; double place[6]; };`
#[derive(Clone, Copy, Debug, PartialEq)]
#[repr(C)]
pub struct Pose {
    pub count: u64,
    pub place: [f64; 6],
}

structure! {
    Pose: Final "test::Pose";
    0 "count" count: copy;
    1 "place" place: (array copy);
}

message! {
    Pose {
        name: "test::Pose",
        schema: "module test { struct Pose { uint64 count; double place[6]; }; };",
        schema_hash: 11,
        layout_hash: 12,
        layout: { size: 56, align: 8; count: 0, place: 8 },
    }
}

/// `@flat struct Scan { uint64 count; string<15> frame; @bulk sequence<float> ranges; };`
#[repr(C)]
pub struct Scan<S: Storage = Flat> {
    pub count: u64,
    pub frame: S::String<15>,
    pub ranges: S::Bulk<f32, UNBOUNDED>,
}

structure! {
    Scan<S: Storage>: Final "test::Scan";
    0 "count" count: copy;
    1 "frame" frame: text;
    2 "ranges" ranges: bulk [bulk];
}

/// How many elements the bulk members hold.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct ScanBulkLengths {
    pub ranges: usize,
}

message! {
    Scan<S: Storage> {
        name: "test::Scan",
        schema: "module test { struct Scan { uint64 count; string<15> frame; @bulk(TRUE) sequence<float> ranges; }; };",
        schema_hash: 21,
        layout_hash: 22,
        // u64, {u32 len; char[16]} pad 4, {u64 offset; u64 len}
        layout: { size: 48, align: 8; count: 0, frame: 8, ranges: 32 },
        bulk: ScanBulkLengths { ranges: leaf(f32, UNBOUNDED) },
    }
}

/// `struct Note { uint64 count; sequence<octet> text; };`
#[repr(C)]
pub struct Note<S: Unbounded = Heap> {
    pub count: u64,
    pub text: S::UnboundedSequence<u8>,
}

structure! {
    Note<S: Unbounded>: Final "test::Note";
    0 "count" count: copy;
    1 "text" text: (list copy);
}

message! {
    Note<S: Unbounded> {
        name: "test::Note",
        schema: "module test { struct Note { uint64 count; sequence<octet> text; }; };",
        schema_hash: 31,
        layout_hash: 0,
    }
}

/// [`Note`] in a region.
pub enum NoteRegion {}

region_type! {
    final NoteRegion: NoteRef, NoteMut, "test::Note" 0x1f, Note<Heap>;
    "count" count: u64;
    "text" text: Vector<u8>;
}

region_conversion! {
    NoteRegion, Note<S: Unbounded>;
    "count" count count: u64, copy;
    "text" text text: Vector<u8>, (list copy);
}

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
