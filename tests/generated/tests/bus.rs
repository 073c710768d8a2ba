//! Generated types on the bus: in place, serialized, and from one storage to the other.

use situ::bus::{Node, PublishValueError, RawPublisher, ReceiveError, RegisterError, Root, describe};
use situ::layout::{Flat, Heap};
use situ_generated::sensor::situ_::sensor::{Image, PointCloud2, PointCloud2BulkLengths, PointField};

/// A root directory that is removed when dropped.
struct Scratch(situ_testkit::Scratch);

impl Scratch {
    fn new() -> Self {
        Self(situ_testkit::Scratch::new("typed"))
    }

    fn node(&self) -> Node {
        Node::in_root("test", Root::at(self.0.path(), None)).unwrap()
    }
}

fn fill(cloud: &mut PointCloud2<Flat>) {
    cloud.set_header_frame("lidar");
    cloud.height = 1;
    cloud.width = 3;
    cloud.is_dense = true;
    let mut field = PointField::<Flat>::default();
    field.set_name("intensity").unwrap();
    field.offset = 12;
    cloud.push_fields(field).unwrap();
}

/// The test's own shorthand.
trait Frame {
    fn set_header_frame(&mut self, frame: &str);
}

impl Frame for PointCloud2<Flat> {
    fn set_header_frame(&mut self, frame: &str) {
        self.header.set_frame_id(frame).unwrap();
    }
}

#[test]
fn a_flat_message_is_built_and_read_where_it_lies() {
    let scratch = Scratch::new();
    let node = scratch.node();
    let publisher = node.publisher::<PointCloud2>("points").create().unwrap();
    let subscriber = node.subscriber::<PointCloud2>("points").create().unwrap();
    let mut loan = publisher.loan_with(PointCloud2BulkLengths { data: 48 }).unwrap();
    fill(&mut loan);
    for (index, byte) in loan.bulk_mut(|cloud| &cloud.data).iter_mut().enumerate() {
        *byte = index as u8;
    }
    assert_eq!(loan.publish().unwrap(), 0);
    let sample = subscriber.take().unwrap().unwrap();
    assert_eq!(&*sample.header.frame_id, "lidar");
    assert_eq!((sample.height, sample.width, sample.is_dense), (1, 3, true));
    assert_eq!(
        (&*sample.fields[0].name, sample.fields[0].offset, sample.fields[0].count),
        ("intensity", 12, 1)
    );
    assert_eq!(sample.bulk(|cloud| &cloud.data), (0..48).collect::<Vec<u8>>());
    assert!(!sample.is_copy());
    assert_eq!((&raw const *sample).cast(), sample.raw().head_in_place().as_ptr(), "it is the slot itself");
    assert!(sample.raw().body_in_place().as_ptr_range().contains(&sample.bulk(|cloud| &cloud.data).as_ptr()));
    assert!(subscriber.take().unwrap().is_none());
}

#[test]
fn storages_meet_on_one_topic() {
    let scratch = Scratch::new();
    let node = scratch.node();
    let flat = node.publisher::<PointCloud2<Flat>>("points").create().unwrap();
    let heap = node.publisher::<PointCloud2<Heap>>("points").create().unwrap();
    let to_flat = node.subscriber::<PointCloud2<Flat>>("points").create().unwrap();
    let to_heap = node.subscriber::<PointCloud2<Heap>>("points").create().unwrap();

    let mut loan = flat.loan_with(PointCloud2BulkLengths { data: 3 }).unwrap();
    fill(&mut loan);
    loan.bulk_mut(|cloud| &cloud.data).copy_from_slice(&[7, 8, 9]);
    loan.publish().unwrap();
    let converted = to_heap.take().unwrap().unwrap();
    assert!(converted.is_copy());
    assert_eq!(*converted.data, [7, 8, 9]);
    assert_eq!(converted.header.frame_id.as_str(), "lidar");

    heap.publish(&converted).unwrap();
    for sequence in 0..2 {
        let sample = to_flat.take().unwrap().unwrap();
        assert_eq!(sample.sequence(), sequence);
        assert_eq!(sample.is_copy(), sequence == 1, "the second was serialized");
        assert_eq!(sample.bulk(|cloud| &cloud.data), [7, 8, 9]);
        assert_eq!(&*sample.fields[0].name, "intensity");
    }
    let decoded = to_heap.take().unwrap().unwrap();
    assert_eq!(*decoded, *converted);
}

#[test]
fn a_value_with_bulk_data_needs_a_loan() {
    let scratch = Scratch::new();
    let node = scratch.node();
    let publisher = node.publisher::<PointCloud2>("points").create().unwrap();
    let subscriber = node.subscriber::<PointCloud2>("points").create().unwrap();
    let mut cloud = PointCloud2::<Flat>::default();
    fill(&mut cloud);
    publisher.publish(&cloud).unwrap();
    assert_eq!(*subscriber.take().unwrap().unwrap(), cloud);
    let mut loan = publisher.loan_with(PointCloud2BulkLengths { data: 5 }).unwrap();
    cloud.data = loan.data;
    loan.width = 9;
    assert!(matches!(publisher.publish(&cloud), Err(PublishValueError::BulkWithoutBody { .. })));
    drop(loan);
    assert!(subscriber.take().unwrap().is_none(), "a loan that is dropped publishes nothing");
}

#[test]
fn invalid_bytes_and_other_types_are_errors() {
    let scratch = Scratch::new();
    let node = scratch.node();
    let subscriber = node.subscriber::<PointCloud2>("points").create().unwrap();
    let raw = RawPublisher::create(&node, "points", &describe::<PointCloud2>(), Default::default()).unwrap();
    let size = size_of::<PointCloud2<Flat>>();
    let mut loan = raw.loan(size, 8, 0).unwrap();
    loan.head_bytes().fill(0xff);
    loan.publish().unwrap();
    match subscriber.take() {
        Err(error @ ReceiveError::Invalid { sequence: 0, .. }) => {
            let text = error.to_string();
            assert!(text.contains("header.frame_id") && text.contains("63"), "{text}");
        }
        other => panic!("{other:?}"),
    }
    let mut short = raw.loan(size - 8, 8, 0).unwrap();
    short.head_bytes().fill(0);
    short.publish().unwrap();
    assert!(matches!(subscriber.take(), Err(ReceiveError::Size { .. })));
    let mut nonsense = raw.loan(100, 8, 0).unwrap();
    nonsense.head_bytes().fill(0xee);
    nonsense.set_encoding(situ::bus::Encoding::Xcdr1);
    nonsense.publish().unwrap();
    assert!(matches!(subscriber.take(), Err(ReceiveError::Decode { sequence: 2, .. })));
    assert!(subscriber.take().unwrap().is_none(), "and it goes on behind them");
    match node.subscriber::<Image>("points").create() {
        Err(error @ RegisterError::TypeMismatch { .. }) => {
            let text = error.to_string();
            assert!(
                text.contains("situ::sensor::Image") && text.contains("situ::sensor::PointCloud2"),
                "{text}"
            );
        }
        other => panic!("{other:?}"),
    }
}
