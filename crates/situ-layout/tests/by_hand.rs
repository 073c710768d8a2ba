//! Message types written by hand, in the shape in which the generator writes them, and what a transport does with them.

use std::mem::{MaybeUninit, offset_of};

use situ_layout::visit::{
    Extensibility, MemberInfo, MemberVisitor, Structure, TypeInfo, Visitor, VisitorMut,
};
use situ_layout::{
    BulkCursor, BulkField, BulkRef, Flat, FlatMessage, Heap, InPlace, Message, SelfContained, Storage,
    StorageKind, UNBOUNDED, Unbounded, ValidateError, Validation, Value, assert_self_contained,
    default_value,
};

/// `@flat struct Scan { string<7> frame; boolean dense; sequence<uint16, 4> ring; @bulk sequence<float> ranges; };`
#[repr(C)]
pub struct Scan<S: Storage = Flat> {
    frame: S::String<7>,
    dense: bool,
    ring: S::Sequence<u16, 4>,
    ranges: S::Bulk<f32, UNBOUNDED>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq)]
/// How many elements the bulk members hold.
pub struct ScanBulkLengths {
    ranges: usize,
}

// SAFETY: every member is written.
unsafe impl<S: Storage> InPlace for Scan<S> {
    unsafe fn default_at(dst: *mut Self) {
        // SAFETY: dst is valid for writes of Self.
        unsafe {
            InPlace::default_at(&raw mut (*dst).frame);
            (&raw mut (*dst).dense).write(true);
            InPlace::default_at(&raw mut (*dst).ring);
            InPlace::default_at(&raw mut (*dst).ranges);
        }
    }

    unsafe fn clone_at(&self, dst: *mut Self) {
        // SAFETY: as above.
        unsafe {
            self.frame.clone_at(&raw mut (*dst).frame);
            self.dense.clone_at(&raw mut (*dst).dense);
            self.ring.clone_at(&raw mut (*dst).ring);
            self.ranges.clone_at(&raw mut (*dst).ranges);
        }
    }
}

impl<S: Storage> Value for Scan<S> {
    unsafe fn validate_at(src: *const Self, validation: &Validation) -> Result<(), ValidateError> {
        // SAFETY: every member lies within the caller's bytes.
        unsafe {
            Value::validate_at(&raw const (*src).frame, validation)
                .map_err(|error| error.in_member("frame"))?;
            Value::validate_at(&raw const (*src).dense, validation)
                .map_err(|error| error.in_member("dense"))?;
            Value::validate_at(&raw const (*src).ring, validation)
                .map_err(|error| error.in_member("ring"))?;
            Value::validate_at(&raw const (*src).ranges, validation)
                .map_err(|error| error.in_member("ranges"))
        }
    }

    fn visit<V: Visitor>(&self, visitor: &mut V) -> Result<(), V::Error> {
        visitor.structure(self)
    }

    fn visit_mut<V: VisitorMut>(&mut self, visitor: &mut V) -> Result<(), V::Error> {
        visitor.structure(self)
    }
}

impl<S: Storage> Structure for Scan<S> {
    const INFO: &'static TypeInfo = &TypeInfo {
        name: "test::Scan",
        extensibility: Extensibility::Final,
        members: &[
            MemberInfo::new("frame", 0),
            MemberInfo::new("dense", 1),
            MemberInfo::new("ring", 2),
            MemberInfo::new("ranges", 3).bulk(),
        ],
    };

    fn visit_members<V: MemberVisitor<Self>>(visitor: &mut V) -> Result<(), V::Error> {
        visitor.member(&Self::INFO.members[0], |it| &it.frame, |it| &mut it.frame)?;
        visitor.member(&Self::INFO.members[1], |it| &it.dense, |it| &mut it.dense)?;
        visitor.member(&Self::INFO.members[2], |it| &it.ring, |it| &mut it.ring)?;
        visitor.member(&Self::INFO.members[3], |it| &it.ranges, |it| &mut it.ranges)
    }
}

impl<S: Storage> Message for Scan<S> {
    const NAME: &'static str = "test::Scan";
    const SCHEMA: &'static str = "";
    const SCHEMA_HASH: u64 = 1;
    const LAYOUT_HASH: u64 = match S::KIND {
        StorageKind::Heap => 0,
        StorageKind::Flat => 2,
    };
    const STORAGE: StorageKind = S::KIND;
    type BulkLengths = ScanBulkLengths;

    fn bulk_lengths(&self) -> ScanBulkLengths {
        ScanBulkLengths { ranges: self.ranges.element_count() }
    }

    fn measure_bulk(lengths: &ScanBulkLengths, cursor: &mut BulkCursor) -> Option<()> {
        cursor.advance::<f32>(lengths.ranges).map(|_| ())
    }

    unsafe fn place_bulk(dst: *mut Self, lengths: &ScanBulkLengths, cursor: &mut BulkCursor) {
        // SAFETY: dst points to a valid, writable value.
        let message = unsafe { &mut *dst };
        if let Some(offset) = cursor.advance::<f32>(lengths.ranges) {
            message.ranges.place(offset, lengths.ranges);
        }
    }
}

// SAFETY: every member is asked for it below.
unsafe impl SelfContained for Scan<Flat> {}
// SAFETY: self-contained, and the layout is checked in a test.
unsafe impl FlatMessage for Scan<Flat> {}

const _: () = {
    assert_self_contained::<<Flat as Storage>::String<7>>();
    assert_self_contained::<<Flat as Storage>::Sequence<u16, 4>>();
    assert_self_contained::<<Flat as Storage>::Bulk<f32, UNBOUNDED>>();
};

impl<S: Storage> Clone for Scan<S> {
    fn clone(&self) -> Self {
        let mut copy = MaybeUninit::uninit();
        // SAFETY: clone_at initializes the copy.
        unsafe {
            self.clone_at(copy.as_mut_ptr());
            copy.assume_init()
        }
    }
}

impl<S: Storage> Default for Scan<S> {
    fn default() -> Self {
        default_value()
    }
}

impl<S: Storage> PartialEq for Scan<S> {
    fn eq(&self, other: &Self) -> bool {
        self.frame == other.frame
            && self.dense == other.dense
            && self.ring == other.ring
            && self.ranges == other.ranges
    }
}

impl<S: Storage> std::fmt::Debug for Scan<S> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Scan")
            .field("frame", &self.frame)
            .field("dense", &self.dense)
            .field("ring", &self.ring)
            .field("ranges", &self.ranges)
            .finish()
    }
}

#[test]
fn the_layout_is_that_of_c() {
    // {u32 len; char[8]} {u8} pad 3 {u32 len; u16[4]} pad 4 {u64 offset; u64 len}
    assert_eq!(offset_of!(Scan, frame), 0);
    assert_eq!(offset_of!(Scan, dense), 12);
    assert_eq!(offset_of!(Scan, ring), 16);
    assert_eq!(offset_of!(Scan, ranges), 32);
    assert_eq!(size_of::<Scan>(), 48);
    assert_eq!(align_of::<Scan>(), 8);
}

#[test]
fn a_flat_message_is_built_read_and_validated_in_place() {
    let lengths = ScanBulkLengths { ranges: 5 };
    assert_eq!(Scan::<Flat>::body_size(&lengths), Some(20));
    let mut head = MaybeUninit::<Scan>::uninit();
    let mut body = [0u64; 8];
    // SAFETY: the bytes of eight u64.
    let body = unsafe { std::slice::from_raw_parts_mut(body.as_mut_ptr().cast::<u8>(), 20) };
    // SAFETY: the head is writable, the body's size was computed above.
    let scan = unsafe {
        Message::init_at(head.as_mut_ptr(), &lengths);
        head.assume_init_mut()
    };
    assert!(scan.dense);
    scan.frame.try_assign("lidar").unwrap();
    scan.ring.try_extend_from_slice(&[1, 2, 3]).unwrap();
    scan.ranges.slice_mut(body).unwrap()[4] = 1.5;
    assert_eq!(scan.ranges.slice(body).unwrap(), [0.0, 0.0, 0.0, 0.0, 1.5]);
    assert_eq!(scan.bulk_lengths(), lengths);
    // SAFETY: a valid message.
    assert_eq!(unsafe { Scan::<Flat>::validate(scan, 20) }, Ok(()));
    // SAFETY: a valid message, but a body that is too small.
    let error = unsafe { Scan::<Flat>::validate(scan, 19) }.unwrap_err();
    assert_eq!(error.to_string(), "ranges: bulk data at 0, 20 bytes, lies outside the body of 19 bytes");
    assert_eq!(
        format!("{scan:?}"),
        "Scan { frame: \"lidar\", dense: true, ring: [1, 2, 3], ranges: BulkRef { offset: 0, len: 5 } }"
    );
}

#[test]
fn hostile_bytes_are_named() {
    let mut words = [0u64; 6];
    let at = words.as_mut_ptr().cast::<u8>();
    let validate = |offset: usize, byte: u8| {
        // SAFETY: the words are as many initialized bytes as a Scan has, and aligned for it; the offset lies within.
        unsafe {
            at.add(offset).write(byte);
            let result = Scan::<Flat>::validate(at.cast(), 0);
            at.add(offset).write(0);
            result.map_err(|error| error.to_string())
        }
    };
    assert_eq!(validate(4, 0), Ok(()));
    assert_eq!(validate(0, 8).unwrap_err(), "frame: length 8 exceeds its bound 7");
    assert_eq!(validate(4, b'x').unwrap_err(), "frame: the terminating zero after 0 characters is missing");
    assert_eq!(validate(12, 2).unwrap_err(), "dense: 2 is not a boolean; only 0 and 1 are");
    assert_eq!(validate(17, 1).unwrap_err(), "ring: length 256 exceeds its bound 4");
    assert_eq!(
        validate(40, 1).unwrap_err(),
        "ranges: bulk data at 0, 4 bytes, lies outside the body of 0 bytes"
    );
}

#[test]
fn a_heap_message_has_the_same_members() {
    let mut scan = Scan::<Heap>::default();
    scan.frame.try_assign("lidar").unwrap();
    assert_eq!(scan.frame.try_assign("much too long").unwrap_err().size, 13);
    scan.ranges.try_assign(&[1.0; 100]).unwrap();
    assert_eq!(scan.bulk_lengths().ranges, 100);
    assert_eq!(scan.clone(), scan);
    assert_eq!((Scan::<Heap>::LAYOUT_HASH, Scan::<Flat>::LAYOUT_HASH), (0, 2));
    // SAFETY: a valid value.
    let error = unsafe { Scan::<Heap>::validate(&raw const scan, 0) }.unwrap_err();
    assert_eq!(
        error.to_string(),
        "frame: a type with heap storage has no bytes to validate; use its flat form"
    );
}

/// `struct Tree { int32 weight; sequence<Tree> branches; };`: recursion through an unbounded sequence.
#[repr(C)]
pub struct Tree<S: Unbounded = Heap> {
    weight: i32,
    branches: S::UnboundedSequence<Tree<S>>,
}

// SAFETY: every member is written.
unsafe impl<S: Unbounded> InPlace for Tree<S> {
    unsafe fn default_at(dst: *mut Self) {
        // SAFETY: dst is valid for writes of Self.
        unsafe {
            InPlace::default_at(&raw mut (*dst).weight);
            InPlace::default_at(&raw mut (*dst).branches);
        }
    }

    unsafe fn clone_at(&self, dst: *mut Self) {
        // SAFETY: as above.
        unsafe {
            self.weight.clone_at(&raw mut (*dst).weight);
            self.branches.clone_at(&raw mut (*dst).branches);
        }
    }
}

impl<S: Unbounded> Value for Tree<S> {
    unsafe fn validate_at(_: *const Self, _: &Validation) -> Result<(), ValidateError> {
        Err(situ_layout::ValidateProblem::NotFlat.into())
    }

    fn visit<V: Visitor>(&self, visitor: &mut V) -> Result<(), V::Error> {
        visitor.structure(self)
    }

    fn visit_mut<V: VisitorMut>(&mut self, visitor: &mut V) -> Result<(), V::Error> {
        visitor.structure(self)
    }
}

impl<S: Unbounded> Structure for Tree<S> {
    const INFO: &'static TypeInfo = &TypeInfo {
        name: "test::Tree",
        extensibility: Extensibility::Final,
        members: &[MemberInfo::new("weight", 0), MemberInfo::new("branches", 1)],
    };

    fn visit_members<V: MemberVisitor<Self>>(visitor: &mut V) -> Result<(), V::Error> {
        visitor.member(&Self::INFO.members[0], |it| &it.weight, |it| &mut it.weight)?;
        visitor.member(&Self::INFO.members[1], |it| &it.branches, |it| &mut it.branches)
    }
}

impl<S: Unbounded> Clone for Tree<S> {
    fn clone(&self) -> Self {
        Self { weight: self.weight, branches: self.branches.clone() }
    }
}

impl<S: Unbounded> PartialEq for Tree<S> {
    fn eq(&self, other: &Self) -> bool {
        self.weight == other.weight && self.branches == other.branches
    }
}

impl<S: Unbounded> std::fmt::Debug for Tree<S> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Tree").field("weight", &self.weight).field("branches", &self.branches).finish()
    }
}

#[test]
fn types_may_recurse_through_unbounded_sequences() {
    let leaf = Tree::<Heap> { weight: 2, branches: Vec::new() };
    let tree: Tree = Tree { weight: 1, branches: vec![leaf.clone(), leaf] };
    assert_eq!(tree.clone(), tree);
    assert_eq!(tree.branches[1].weight, 2);
}

#[test]
fn references_to_bulk_data_are_checked_against_the_body() {
    let words = [0u64; 4];
    // SAFETY: the bytes of four u64.
    let body = unsafe { std::slice::from_raw_parts(words.as_ptr().cast::<u8>(), 32) };
    assert!(BulkRef::<u32>::new(0, 8).slice(body).is_ok());
    assert!(BulkRef::<u32>::new(4, 8).slice(body).is_err());
    assert!(BulkRef::<u32>::new(2, 1).slice(body).is_err());
    assert!(BulkRef::<u32>::new(u64::MAX, 1).slice(body).is_err());
    assert!(BulkRef::<u32>::new(0, u64::MAX).slice(body).is_err());
    assert_eq!(BulkRef::<u32, 3>::new(0, 8).slice(body).unwrap().len(), 3);
}
