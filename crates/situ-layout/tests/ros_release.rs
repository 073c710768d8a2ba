//! The C sequences of the release that `ROS_DISTRO` names: without flags up to Kilted, with two of them from Lyrical on.
//!
//! The structs below are written from the bindings that rclrs 0.8 has made of both releases' headers (see `spec/ros.md`): the
//! headers of Lyrical are in no package that could be installed here.

use std::ffi::c_void;
use std::mem::offset_of;

use situ_layout::ros::SEQUENCES_HAVE_FLAGS;
use situ_layout::{
    Heap, Ros, RosSequence, RosString, RosWString, Storage, UNBOUNDED, convert, convert_owned, structure,
};

/// `struct Blob { uint8 kind; sequence<uint8> data; string name; sequence<string> tags; sequence<Part> parts; double end; };`
#[repr(C)]
struct Blob<S: Storage> {
    kind: u8,
    data: S::Sequence<u8, UNBOUNDED>,
    name: S::String<UNBOUNDED>,
    tags: S::Sequence<S::String<UNBOUNDED>, UNBOUNDED>,
    parts: S::Sequence<Part, UNBOUNDED>,
    end: f64,
}

/// `struct Part { int32 x; };`
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq)]
struct Part {
    x: i32,
}

structure! {
    Part: Final "test::Part";
    0 "x" x: copy;
}

structure! {
    Blob<S: Storage>: Final "test::Blob";
    0 "kind" kind: copy;
    1 "data" data: (list copy);
    2 "name" name: text;
    3 "tags" tags: (list text);
    4 "parts" parts: (list copy);
    5 "end" end: copy;
}

/// A sequence of messages, and every sequence up to Kilted.
#[repr(C)]
struct Three {
    data: *mut c_void,
    size: usize,
    capacity: usize,
}

/// A sequence of primitives or strings from Lyrical on.
#[repr(C)]
struct Five {
    data: *mut c_void,
    size: usize,
    capacity: usize,
    is_rosidl_buffer: bool,
    owns_rosidl_buffer: bool,
}

#[test]
fn sequences_are_those_of_the_release() {
    let of_primitives = if SEQUENCES_HAVE_FLAGS { size_of::<Five>() } else { size_of::<Three>() };
    assert_eq!(of_primitives, if SEQUENCES_HAVE_FLAGS { 32 } else { 24 });
    assert_eq!(size_of::<RosSequence<u8>>(), of_primitives);
    assert_eq!(size_of::<RosSequence<bool, 3>>(), of_primitives);
    assert_eq!(size_of::<RosSequence<f64>>(), of_primitives);
    assert_eq!(size_of::<RosSequence<RosString>>(), of_primitives);
    assert_eq!(size_of::<RosSequence<RosWString<9>, 2>>(), of_primitives);
    assert_eq!(size_of::<RosSequence<Part>>(), 24);
    assert_eq!(size_of::<RosSequence<Blob<Ros>>>(), 24);
    assert_eq!((size_of::<RosString>(), size_of::<RosWString>()), (24, 24));
    let tags = 8 + of_primitives + 24;
    assert_eq!(offset_of!(Blob<Ros>, data), 8);
    assert_eq!(offset_of!(Blob<Ros>, tags), tags);
    assert_eq!(offset_of!(Blob<Ros>, parts), tags + of_primitives);
    assert_eq!(offset_of!(Blob<Ros>, end), tags + of_primitives + 24);
}

#[test]
fn the_release_is_the_one_that_was_named() {
    let release = option_env!("ROS_DISTRO").unwrap_or_default();
    let expected = match release {
        "lyrical" | "rolling" => true,
        "" | "humble" | "iron" | "jazzy" | "kilted" | "noetic" => false,
        _ => return,
    };
    assert_eq!(SEQUENCES_HAVE_FLAGS, expected, "{release}");
}

#[test]
fn messages_convert_as_ever() {
    let mut heap: Blob<Heap> = Blob::default();
    heap.data.try_extend_from_slice(&[1, 2, 3]).unwrap();
    heap.tags.try_push(Default::default()).unwrap();
    heap.parts.try_push(Part { x: 4 }).unwrap();
    let ros: Blob<Ros> = convert(&heap).unwrap();
    assert_eq!((&*ros.data, ros.tags.len(), ros.parts[0].x), (&[1, 2, 3][..], 1, 4));
    assert!(!ros.data.is_rosidl_buffer() && ros.data.try_as_slice().unwrap().len() == 3);
    assert_eq!(convert_owned::<Blob<Heap>, _>(ros).unwrap(), heap);
}

#[cfg(situ_ros_buffers)]
mod buffers {
    use std::ffi::c_char;
    use std::mem::ManuallyDrop;
    use std::ptr;
    use std::sync::atomic::{AtomicUsize, Ordering};

    use situ_layout::assign::AssignProblem;
    use situ_layout::ros::{RosidlBuffer, checked_type_support, idiomatic};

    use super::*;

    /// The address of a buffer that nobody may read: it does not exist.
    const BUFFER: usize = 0xDEAD_0000;
    /// How many buffers were let go.
    static GONE: AtomicUsize = AtomicUsize::new(0);

    /// As `rosidl_runtime_c__uint8__Sequence__fini`: only what is owned is destroyed.
    unsafe extern "C" fn fini(sequence: *mut c_void) {
        // SAFETY: the caller hands over a sequence.
        let sequence = unsafe { &mut *sequence.cast::<Five>() };
        assert!(sequence.is_rosidl_buffer && sequence.data as usize == BUFFER);
        GONE.fetch_add(usize::from(sequence.owns_rosidl_buffer), Ordering::Relaxed);
        sequence.data = ptr::null_mut();
    }

    #[repr(C)]
    struct TypeSupport {
        identifier: *const c_char,
        data: *const c_void,
        find: Option<unsafe extern "C" fn(*const Self, *const c_char) -> *const Self>,
    }

    #[repr(C)]
    struct Members {
        namespace: *const c_char,
        name: *const c_char,
        count: u32,
        size: usize,
    }

    unsafe extern "C" fn find(asked: *const TypeSupport, _: *const c_char) -> *const TypeSupport {
        asked
    }

    /// Makes the function known, as the type supports of generated crates do.
    fn register() {
        let members =
            Members { namespace: ptr::null(), name: ptr::null(), count: 0, size: size_of::<Blob<Ros>>() };
        let identifier = c"rosidl_typesupport_introspection_c".as_ptr();
        let support = TypeSupport { identifier, data: (&raw const members).cast(), find: Some(find) };
        // SAFETY: the type support is built as ROS's are, and the function finalizes sequences.
        unsafe { checked_type_support::<Blob<Ros>>((&raw const support).cast(), "test/msg/Blob", fini) };
    }

    /// A message as the middleware leaves it when a subscription takes buffers.
    fn received() -> Blob<Ros> {
        let mut blob: Blob<Ros> = Blob::default();
        let owned = Five {
            data: ptr::without_provenance_mut(BUFFER),
            size: 1000,
            capacity: 0,
            is_rosidl_buffer: true,
            owns_rosidl_buffer: true,
        };
        // SAFETY: a sequence of bytes is this struct in C.
        unsafe { (&raw mut blob.data).cast::<Five>().write(owned) };
        blob
    }

    #[test]
    fn a_buffer_is_neither_read_nor_freed() {
        register();
        let gone = || GONE.load(Ordering::Relaxed);
        let mut blob = received();
        assert!(blob.data.is_rosidl_buffer());
        assert_eq!(blob.data.try_as_slice(), Err(RosidlBuffer { size: 1000 }));
        assert!(
            blob.data.is_empty() && blob.data.iter().next().is_none() && blob.data.as_mut_slice().is_empty()
        );
        assert!(format!("{:?}", blob.data).contains("RosidlBuffer"));
        assert_eq!(blob.data, blob.data);
        let copy = blob.clone();
        assert!(!copy.data.is_rosidl_buffer() && copy.data.is_empty(), "a copy has none of it");
        assert_ne!(blob.data, copy.data);

        let error = convert::<Blob<Heap>, _>(&blob).unwrap_err();
        assert_eq!(error.problem, AssignProblem::RosidlBuffer(RosidlBuffer { size: 1000 }));
        assert!(error.to_string().starts_with("data: "), "{error}");
        assert_eq!(gone(), 0);

        // By value it stays what it is among C structs, and is let go once.
        let moved: Blob<Ros> = convert_owned(blob).unwrap();
        assert!(moved.data.is_rosidl_buffer());
        let at = ManuallyDrop::new(moved);
        // SAFETY: as above.
        let as_c = unsafe { &*(&raw const at.data).cast::<Five>() };
        assert_eq!(
            (as_c.data as usize, as_c.size, as_c.owns_rosidl_buffer),
            (BUFFER, 1000, true),
            "publishable"
        );
        let moved = ManuallyDrop::into_inner(at);
        drop(moved);
        assert_eq!(gone(), 1);

        // What is written takes its place.
        let mut blob = received();
        blob.data.try_push(7).unwrap();
        assert_eq!((&*blob.data, gone()), (&[7][..], 2));
        let mut blob = received();
        blob.data.try_assign(&[1, 2]).unwrap();
        assert_eq!((&*blob.data, gone()), (&[1, 2][..], 3));
        let mut blob = received();
        assert_eq!((blob.data.pop(), gone()), (None, 4));
        drop(blob);
        assert_eq!(received().data.clone().into_vec(), []);
        assert_eq!(gone(), 5);

        // One that is lent by somebody else is not destroyed.
        let blob = received();
        // SAFETY: as above.
        unsafe { (*(&raw const blob.data).cast_mut().cast::<Five>()).owns_rosidl_buffer = false };
        drop(blob);
        assert_eq!(gone(), 5);

        let refused = std::panic::catch_unwind(|| idiomatic::<Blob<Ros>, Blob<Heap>>(received()));
        let said = *refused.unwrap_err().downcast::<String>().unwrap();
        assert!(said.contains("data: the elements are in a rosidl buffer (1000 bytes)"), "{said}");
        assert_eq!(gone(), 6);
    }
}
