//! A sequence that is a buffer of ROS cannot be encoded. Such sequences exist if `ROS_DISTRO` named Lyrical
//! or later at build time.

mod common;

use std::ffi::c_void;
use std::mem::ManuallyDrop;
use std::ptr;

use common::structures;
use situ_layout::OpaqueBuffer;
use situ_layout::ros::SEQUENCES_HAVE_FLAGS;
use situ_layout::{Ros, RosSequence, Storage, UNBOUNDED};
use situ_wire::{EncodeProblem, Encoding, encode_into, encode_to_vec, encoded_size};

structures! {
    Frame: Final {
        0 kind: u8, 1 pixels: <Ros as Storage>::Bulk<u8, UNBOUNDED>, 2 more: <Ros as Storage>::Sequence<u8, UNBOUNDED>,
    }
}

/// A sequence of bytes in C, since Lyrical.
#[repr(C)]
struct Bytes {
    data: *mut c_void,
    size: usize,
    capacity: usize,
    is_rosidl_buffer: bool,
    owns_rosidl_buffer: bool,
}

/// Replaces an empty sequence by a buffer with an invalid address.
fn put_buffer(sequence: &mut RosSequence<u8>) {
    let data = ptr::without_provenance_mut(0xDEAD_0000);
    let buffer = Bytes { data, size: 64, capacity: 0, is_rosidl_buffer: true, owns_rosidl_buffer: false };
    assert_eq!((size_of::<Bytes>(), sequence.len()), (size_of::<RosSequence<u8>>(), 0));
    // SAFETY: a sequence of bytes is this struct in C.
    unsafe { ptr::from_mut(sequence).cast::<Bytes>().write(buffer) };
}

#[test]
fn a_buffer_is_not_encoded_as_an_empty_sequence() {
    if !SEQUENCES_HAVE_FLAGS {
        let frame: Frame = Frame::default();
        assert_eq!(encode_to_vec(&frame, Encoding::Xcdr1).unwrap().len(), 4 + 1 + 3 + 4 + 4);
        return;
    }
    for (name, put) in [
        ("pixels", (|it| put_buffer(&mut it.pixels)) as fn(&mut Frame)),
        ("more", |it| put_buffer(&mut it.more)),
    ] {
        // It has no function that frees the buffer, so it must not be dropped.
        let mut frame = ManuallyDrop::new(Frame::default());
        put(&mut frame);
        for encoding in [Encoding::Xcdr1, Encoding::Xcdr2] {
            let mut buffer = [0; 100];
            let errors = [
                encode_to_vec(&*frame, encoding).unwrap_err(),
                encoded_size(&*frame, encoding).unwrap_err(),
                encode_into(&*frame, &mut buffer, encoding).unwrap_err(),
            ];
            for error in errors {
                assert_eq!(
                    error.problem,
                    EncodeProblem::OpaqueBuffer(OpaqueBuffer { kind: "rosidl buffer", size: 64 })
                );
                assert!(error.to_string().starts_with(&format!("{name}: ")), "{error}");
            }
        }
    }
}
