//! Conversions between storages: how often they allocate, and when memory changes owner.
#![cfg(situ_ros)]

#[path = "common/counting.rs"]
mod counting;
mod fill;

use std::alloc::{GlobalAlloc, Layout};
use std::mem::ManuallyDrop;

use counting::counting;
use situ::layout::ros::{CAllocator, clip, lend};
use situ::layout::{AssignFrom, Heap, Ros, RosSequence, RosString, TakeFrom, convert, convert_owned};
use situ_generated::ros::geometry_msgs::msg::{Point, Pose, PoseArray};
use situ_generated::ros::sensor_msgs::msg::{Image, JointState};
use situ_generated::ros::std_msgs::msg::Float64MultiArray;
use situ_generated::ros::test_msgs::msg::{BoundedSequences, Strings, UnboundedSequences, WStrings};

situ::layout::use_c_allocator!();

fn image() -> Image<Heap> {
    let mut image = Image::<Heap>::default();
    image.header.frame_id = "camera_left_optical".into();
    image.encoding = "a made-up encoding".into();
    image.data = (0..1 << 20).map(|at: u32| at as u8).collect();
    image
}

#[test]
fn allocations_are_counted() {
    assert_eq!(counting(|| drop(vec![1_u8])).1, 1);
    assert_eq!(counting(|| drop(RosString::<9>::default())).1, 1);
}

#[test]
fn an_image_is_copied_with_one_allocation_for_each_part() {
    let heap = image();
    let (ros, allocations) = counting(|| convert::<Image<Ros>, _>(&heap).unwrap());
    assert_eq!(allocations, 3);
    assert_eq!((&*ros.header.frame_id, &*ros.encoding), ("camera_left_optical", "a made-up encoding"));
    assert_eq!(ros.data.memory_capacity(), 1 << 20);
    let (back, allocations) = counting(|| convert::<Image<Heap>, _>(&ros).unwrap());
    assert_eq!(allocations, 3);
    assert_eq!(back, heap);
    // If the target has room, no allocation is made.
    let mut ros = ros;
    let (assigned, allocations) = counting(|| ros.assign_from(&heap));
    assert_eq!((assigned, allocations), (Ok(()), 0));
}

#[test]
fn an_image_that_is_given_away_keeps_its_memory() {
    let heap = image();
    let (expected, pixels) = (heap.clone(), heap.data.as_ptr());
    let (ros, allocations) = counting(|| convert_owned::<Image<Ros>, _>(heap).unwrap());
    assert_eq!(ros.data.as_ptr(), pixels);
    assert!(allocations <= 2, "{allocations}: the two strings grow by the NUL, no more");
    let (back, allocations) = counting(|| convert_owned::<Image<Heap>, _>(ros).unwrap());
    assert_eq!((back.data.as_ptr(), allocations), (pixels, 0));
    assert_eq!(back, expected);
}

#[test]
fn a_hundred_names_are_a_hundred_allocations() {
    let mut heap = JointState::<Heap>::default();
    heap.header.frame_id = "base".into();
    heap.name = (0..100).map(|at| format!("a_joint_with_a_long_name_{at}")).collect();
    heap.position = vec![0.5; 100];
    let (ros, allocations) = counting(|| convert::<JointState<Ros>, _>(&heap).unwrap());
    assert_eq!(allocations, 100 + 3, "names; their sequence, positions, frame id");
    let ((), allocations) = counting(|| {
        let names = ros.name.iter().map(|name| -> &str { name });
        assert!(names.eq(heap.name.iter().map(String::as_str)));
    });
    assert_eq!(allocations, 0, "names are read where they lie");
    let (back, allocations) = counting(|| convert::<JointState<Heap>, _>(&ros).unwrap());
    assert_eq!(allocations, 100 + 3);
    assert_eq!(back, heap);
    let names: Vec<*const u8> = ros.name.iter().map(|name| name.as_ptr()).collect();
    let (back, allocations) = counting(|| convert_owned::<JointState<Heap>, _>(ros).unwrap());
    assert_eq!(allocations, 1, "the vector of names; the names themselves stay where they are");
    assert!(back.name.iter().zip(names).all(|(name, at)| name.as_ptr() == at));
    assert_eq!(back, heap);
    let name: RosString = String::from("a_joint_with_a_long_name").into();
    assert_eq!(
        (&*name, name.memory_capacity()),
        ("a_joint_with_a_long_name", 25),
        "room for the NUL, no more"
    );
}

#[test]
fn a_message_is_lent_with_one_allocation() {
    let mut heap = JointState::<Heap>::default();
    heap.header.frame_id = "base".into();
    heap.name = (0..100).map(|at| format!("a_joint_with_a_long_name_{at}")).collect();
    heap.position = vec![0.5; 100];
    let expected: JointState<Ros> = convert(&heap).unwrap();
    let (lent, allocations) = counting(|| lend(&heap).unwrap());
    assert_eq!(allocations, 1, "a hundred names, their sequence, and the frame id");
    assert_eq!(*lent, expected);
    assert_eq!(lent.position.as_ptr(), heap.position.as_ptr());
    assert_eq!((lent.effort.len(), lent.effort.memory_capacity()), (0, 0));
    for name in &lent.name {
        assert_eq!(name.memory_capacity(), name.len() + 1);
        // SAFETY: the capacity counts one byte more than the text has.
        assert_eq!(unsafe { *name.as_ptr().add(name.len()) }, 0);
    }
    // It is freed with its block, and no part of it twice. A copy of it belongs to another message.
    let copy = JointState::clone(&lent);
    let ((), allocations) = counting(|| drop(lent));
    assert_eq!((allocations, &copy), (0, &expected));
    // A message without text and without sequences of structs stays in place.
    let transform = Float64MultiArray::<Heap> { data: vec![1.5; 9], ..Float64MultiArray::default() };
    let (lent, allocations) = counting(|| lend(&transform).unwrap());
    assert_eq!((lent.data.as_ptr(), allocations), (transform.data.as_ptr(), 0));
}

#[test]
fn poses_are_copied_as_one_block() {
    let poses = (0..10_000)
        .map(|at| Pose { position: Point { x: f64::from(at), y: 0.5, z: -1.0 }, ..Pose::default() });
    let heap = PoseArray::<Heap> { poses: poses.collect(), ..PoseArray::default() };
    let (ros, allocations) = counting(|| convert::<PoseArray<Ros>, _>(&heap).unwrap());
    assert_eq!(allocations, 2, "poses, and the frame id, which C wants a NUL of");
    assert_eq!(*ros.poses, *heap.poses);
    let address = ros.poses.as_ptr();
    let (back, allocations) = counting(|| convert_owned::<PoseArray<Heap>, _>(ros).unwrap());
    assert_eq!((back.poses.as_ptr(), allocations), (address, 0));
    assert_eq!(back, heap);
}

#[test]
fn looking_takes_no_memory() {
    let ros = convert::<Image<Ros>, _>(&image()).unwrap();
    let ((text, first), allocations) = counting(|| {
        let (text, pixels): (&str, &[u8]) = (&ros.encoding, &ros.data);
        (text.len(), pixels[0])
    });
    assert_eq!((text, first, allocations), (18, 0, 0));
}

#[test]
fn all_kinds_of_members_survive_both_conversions() {
    macro_rules! round_trips {
        ($($message:ident)*) => {$(for seed in 0..20 {
            let mut heap = $message::<Heap>::default();
            fill::fill(&mut heap, seed);
            let ros: $message<Ros> = convert(&heap).unwrap();
            assert_eq!(convert::<$message<Heap>, _>(&ros).unwrap(), heap);
            let mut over = $message::<Ros>::default();
            fill::fill(&mut over, seed + 50);
            over.take_from(&mut heap.clone()).unwrap();
            assert_eq!(over, ros);
            over.assign_from(&heap).unwrap();
            assert_eq!(over, ros);
            assert_eq!(convert_owned::<$message<Heap>, _>(over).unwrap(), heap);
        })*};
    }
    round_trips!(BoundedSequences UnboundedSequences WStrings);
}

#[test]
fn what_is_too_long_for_a_bound_is_refused() {
    let mut heap = BoundedSequences::<Heap>::default();
    heap.bool_values.try_assign(&[true; 3]).unwrap();
    let ros: BoundedSequences<Ros> = convert_owned(heap).unwrap();
    assert_eq!(*ros.bool_values, [true; 3]);
    assert_eq!(RosSequence::<u8, 2>::try_from_vec(vec![0; 3]).unwrap_err().bound, 2);
    let long = RosSequence::<u8>::from(vec![0; 3]);
    assert_eq!(long.try_with_bound::<2>().unwrap_err().size, 3);
    assert_eq!(RosString::<2>::try_from_string("abc".into()).unwrap_err().bound, 2);
}

#[test]
fn the_c_allocator_keeps_alignment_and_contents() {
    // SAFETY: it is the global allocator of this program.
    let allocator = unsafe { CAllocator::new() };
    for align in [1, 8, 16, 64, 4096] {
        let layout = Layout::from_size_align(100, align).unwrap();
        // SAFETY: the layout's size is not zero, and is always that of the memory.
        unsafe {
            let memory = allocator.alloc_zeroed(layout);
            assert_eq!(std::slice::from_raw_parts(memory, 100), [0; 100]);
            memory.write_bytes(7, 100);
            let grown = allocator.realloc(memory, layout, 10_000);
            assert!(grown.addr().is_multiple_of(align));
            assert_eq!(std::slice::from_raw_parts(grown, 100), [7; 100]);
            allocator.dealloc(grown, Layout::from_size_align(10_000, align).unwrap());
        }
    }
}

#[test]
fn what_c_made_too_long_is_clipped() {
    let mut long = Strings::<Ros>::default();
    let text = ManuallyDrop::new(RosString::<{ usize::MAX }>::from("ä".repeat(20).as_str()));
    // SAFETY: strings of all bounds are the same struct. The old one is dropped, and the new one is not
    // dropped here.
    unsafe { *(&raw mut long.bounded_string_value).cast::<RosString>() = std::ptr::read(&*text) };
    assert_eq!(convert::<Strings<Heap>, _>(&long).unwrap_err().path.to_string(), "bounded_string_value");
    clip(&mut long);
    assert_eq!(*convert::<Strings<Heap>, _>(&long).unwrap().bounded_string_value, "ä".repeat(11));
    // Replacing bytes that are not UTF-8 makes text longer, but not beyond the bound. SAFETY: the first of 22
    // bytes.
    unsafe { long.bounded_string_value.as_ptr().cast_mut().write(0xff) };
    let heap: Strings<Heap> = convert(&long).unwrap();
    assert!(heap.bounded_string_value.starts_with("\u{fffd}\u{fffd}ä"));
    assert_eq!(convert_owned::<Strings<Heap>, _>(long).unwrap(), heap);
}
