//! The C sequences of the release that `ROS_DISTRO` names: without flags up to Kilted, with two flags from
//! Lyrical on.
//!
//! The structs below follow the bindings that rclrs 0.8 generated from both releases' headers (see
//! `spec/ros.md`). No package with the headers of Lyrical could be installed here.

#[allow(dead_code)]
mod messages;

use std::ffi::c_void;
use std::mem::offset_of;

use situ_layout::ros::SEQUENCES_HAVE_FLAGS;
use situ_layout::{Heap, Ros, RosSequence, RosString, RosWString, convert, convert_owned};

use messages::msg::{Blob, Part};

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
    heap.data.extend_from_slice(&[1, 2, 3]);
    heap.tags.push(Default::default());
    heap.parts.push(Part { x: 4.0, kind: 0 });
    let ros: Blob<Ros> = convert(&heap).unwrap();
    assert_eq!((&*ros.data, ros.tags.len(), ros.parts[0].x), (&[1, 2, 3][..], 1, 4.0));
    assert!(!ros.data.is_rosidl_buffer() && ros.data.try_as_slice().unwrap().len() == 3);
    assert_eq!(convert_owned::<Blob<Heap>, _>(ros).unwrap(), heap);
}

#[cfg(situ_ros_buffers)]
mod buffers {
    use std::cell::Cell;
    use std::ffi::c_char;
    use std::mem::ManuallyDrop;
    use std::ptr;

    use std::process::Command;

    use situ_layout::OpaqueBuffer;
    use situ_layout::assign::AssignProblem;
    use situ_layout::ros::{checked_type_support, clip, idiomatic, idiomatic_clipped, lend};
    use situ_layout::{AssignFrom, Bodies, BulkError, BulkField, Flat, TakeFrom};
    use situ_region::Region;

    use super::messages::msg::{Film, FilmRegion, Frame};
    use super::*;

    /// The address of a buffer that does not exist. No code may read it.
    const BUFFER: usize = 0xDEAD_0000;
    thread_local! {
        /// The number of buffers that the test has released.
        static GONE: Cell<usize> = const { Cell::new(0) };
    }

    /// As `rosidl_runtime_c__uint8__Sequence__fini`: destroys only what the sequence owns.
    unsafe extern "C" fn fini(sequence: *mut c_void) {
        // SAFETY: the caller hands over a sequence.
        let sequence = unsafe { &mut *sequence.cast::<Five>() };
        assert!(sequence.is_rosidl_buffer && sequence.data as usize == BUFFER);
        GONE.set(GONE.get() + usize::from(sequence.owns_rosidl_buffer));
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

    /// Registers the function, as the type supports of generated crates do.
    fn register() {
        let members =
            Members { namespace: ptr::null(), name: ptr::null(), count: 0, size: size_of::<Blob<Ros>>() };
        let identifier = c"rosidl_typesupport_introspection_c".as_ptr();
        let support = TypeSupport { identifier, data: (&raw const members).cast(), find: Some(find) };
        // SAFETY: the type support is built as ROS's are, and the function finalizes sequences.
        unsafe { checked_type_support::<Blob<Ros>>((&raw const support).cast(), "test/msg/Blob", fini) };
    }

    /// Replaces the elements by a buffer of 1000 bytes, as the middleware does when a subscription takes
    /// buffers.
    fn put_buffer<const N: usize>(sequence: &mut RosSequence<u8, N>) {
        let owned = Five {
            data: ptr::without_provenance_mut(BUFFER),
            size: 1000,
            capacity: 0,
            is_rosidl_buffer: true,
            owns_rosidl_buffer: true,
        };
        assert!(sequence.is_empty(), "nothing that it owned is lost");
        // SAFETY: a sequence of bytes is this struct in C.
        unsafe { ptr::from_mut(sequence).cast::<Five>().write(owned) };
    }

    /// A message with a buffer.
    fn received() -> Blob<Ros> {
        let mut blob = Blob::<Ros>::default();
        put_buffer(&mut blob.data);
        blob
    }

    const THE_BUFFER: OpaqueBuffer = OpaqueBuffer { kind: "rosidl buffer", size: 1000 };

    /// Three frames. The second has a buffer in one of its sequences.
    fn film(put: impl FnOnce(&mut Frame<Ros>)) -> Film<Ros> {
        let mut film = Film::<Ros>::default();
        for at in 1..=3 {
            let frame = film.frames.try_push_default().unwrap();
            frame.more.try_assign(&[at; 9]).unwrap();
        }
        put(&mut film.frames[1]);
        film
    }

    #[test]
    fn no_conversion_takes_a_buffer_for_an_empty_sequence() {
        let in_bulk = || film(|frame| put_buffer(&mut frame.pixels));
        let in_sequence = || film(|frame| put_buffer(&mut frame.few));
        for (film, again, name) in
            [(in_bulk(), in_bulk(), "frames[1].pixels"), (in_sequence(), in_sequence(), "frames[1].few")]
        {
            let said = format!("{name}: {THE_BUFFER}");
            let problem = AssignProblem::OpaqueBuffer(THE_BUFFER);
            let mut heap: Film<Heap> = Film::default();
            let mut ros = Film::<Ros>::default();
            let mut errors = vec![heap.assign_from(&film).unwrap_err(), ros.assign_from(&film).unwrap_err()];
            let mut flat = Frame::<Flat>::default();
            let mut body = [0; 4096];
            let frame = &film.frames[1];
            let alone = flat.assign_parts(frame, &mut Bodies::new(&[], &mut body)).unwrap_err();
            errors.push(alone.in_element(1).in_member("frames"));
            errors.push(heap.take_from(&mut { again }).unwrap_err());
            errors.push(lend(&film).unwrap_err());
            for error in errors {
                assert_eq!((&error.problem, error.to_string()), (&problem, said.clone()));
            }
            let Err(error) = Region::<FilmRegion>::of(&film, &[]) else { panic!("{name} was stored") };
            assert_eq!(error.to_string(), said);
        }
        // Reads the elements directly, like code that knows the storage.
        let mut film = in_bulk();
        let pixels = &mut film.frames[1].pixels;
        assert_eq!(BulkField::elements(pixels, &[]), Err(BulkError::OpaqueBuffer(THE_BUFFER)));
        assert_eq!(BulkField::elements_mut(pixels, &mut []), Err(BulkError::OpaqueBuffer(THE_BUFFER)));
        // Written elements replace a buffer.
        let mut heap: Frame<Heap> = Frame::default();
        heap.pixels.try_assign(&[5, 6]).unwrap();
        film.frames[1].assign_from(&heap).unwrap();
        assert_eq!(*film.frames[1].pixels, [5, 6]);
    }

    #[test]
    fn cutting_to_the_bound_leaves_buffers_alone() {
        let mut film = film(|frame| put_buffer(&mut frame.few));
        clip(&mut film);
        assert!(film.frames[1].few.is_rosidl_buffer());
        assert_eq!(
            convert::<Film<Heap>, _>(&film).unwrap_err().to_string(),
            format!("frames[1].few: {THE_BUFFER}")
        );
    }

    /// Set in the child program. Its standard error contains the warning to a subscription.
    const IN_CHILD: &str = "SITU_TEST_ROSIDL_BUFFER";

    #[test]
    fn a_subscription_gets_the_rest_and_is_told() {
        if std::env::var_os(IN_CHILD).is_none() {
            let program = std::env::current_exe().unwrap();
            let mut child = Command::new(program);
            let name = "buffers::a_subscription_gets_the_rest_and_is_told";
            let output = child.args([name, "--exact", "--nocapture"]).env(IN_CHILD, "1").output().unwrap();
            let said = String::from_utf8_lossy(&output.stderr);
            assert!(output.status.success(), "{said}");
            let lines: Vec<&str> = said.lines().filter(|line| line.starts_with("situ: ")).collect();
            assert_eq!(lines.len(), 2, "once for each type: {said}");
            assert!(
                lines[0].contains(&format!(
                    "test::msg::Blob came without some of its elements. data: {THE_BUFFER}"
                )),
                "{said}"
            );
            assert!(
                lines[1].contains(&format!(
                    "test::msg::Film came without some of its elements. frames[1].pixels: {THE_BUFFER}"
                )),
                "{said}"
            );
            return;
        }
        register();
        for gone in [1, 2] {
            let mut blob = received();
            blob.kind = 7;
            blob.name.try_assign("whole").unwrap();
            let blob: Blob<Heap> = idiomatic(blob);
            assert_eq!((blob.kind, &*blob.name, blob.data.len()), (7, "whole", 0));
            assert_eq!(GONE.get(), gone);
        }
        let film = film(|frame| {
            put_buffer(&mut frame.pixels);
            put_buffer(&mut frame.few);
        });
        let film: Film<Heap> = idiomatic_clipped(film);
        assert_eq!(GONE.get(), 4);
        let lengths = film.frames.iter().map(|it| (it.pixels.len(), it.few.len(), it.more.len()));
        assert_eq!(lengths.collect::<Vec<_>>(), [(0, 0, 9); 3]);
        assert_eq!(*film.frames[1].more, [2; 9]);
    }

    #[test]
    fn a_buffer_is_neither_read_nor_freed() {
        register();
        let gone = || GONE.get();
        let mut blob = received();
        assert!(blob.data.is_rosidl_buffer());
        assert_eq!(blob.data.try_as_slice(), Err(OpaqueBuffer { kind: "rosidl buffer", size: 1000 }));
        assert!(
            blob.data.is_empty() && blob.data.iter().next().is_none() && blob.data.as_mut_slice().is_empty()
        );
        assert!(format!("{:?}", blob.data).contains(&THE_BUFFER.to_string()));
        assert_eq!(blob.data, blob.data);
        let copy = blob.clone();
        assert!(!copy.data.is_rosidl_buffer() && copy.data.is_empty(), "a copy has none of it");
        assert_ne!(blob.data, copy.data);

        let error = convert::<Blob<Heap>, _>(&blob).unwrap_err();
        assert_eq!(
            error.problem,
            AssignProblem::OpaqueBuffer(OpaqueBuffer { kind: "rosidl buffer", size: 1000 })
        );
        assert!(error.to_string().starts_with("data: "), "{error}");
        assert_eq!(gone(), 0);

        // By value, the buffer is kept between C structs and is released once.
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

        // Written elements replace it.
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

        // A buffer that another owner lends is not destroyed.
        let blob = received();
        // SAFETY: as above.
        unsafe { (*(&raw const blob.data).cast_mut().cast::<Five>()).owns_rosidl_buffer = false };
        drop(blob);
        assert_eq!(gone(), 5);
    }
}
