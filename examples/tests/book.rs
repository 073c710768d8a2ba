//! Code of the book's pages that is not a program of its own. The lines between `ANCHOR` and `ANCHOR_END` are
//! what a page shows; a test of the command compares them.

use std::error::Error;
use std::sync::Mutex;
use std::sync::mpsc::{Sender, channel};
use std::time::{Duration, Instant};

use situ::bus::{Node, Root};
use situ_examples::situ_::sensor::{Image, ImageBulkLengths, PointCloud2, PointCloud2BulkLengths};
use situ_testkit::Scratch;

const PATIENCE: Duration = Duration::from_secs(20);

type Cloud = PointCloud2;

/// The widths of the pairs that were shown.
static SHOWN: Mutex<Option<Sender<(u32, u32)>>> = Mutex::new(None);

fn show(image: &Image, cloud: &Cloud) {
    let shown = SHOWN.lock().unwrap();
    shown.as_ref().unwrap().send((image.width, cloud.width)).unwrap();
}

fn synchronize(node: &Node) -> Result<(), Box<dyn Error>> {
    // ANCHOR: synchronizer
    use situ::bus::{ApproximateTime, Stamped, Synchronizer};

    let mut pairs = Synchronizer::new(
        ApproximateTime::new(10).max_interval(Duration::from_millis(50)),
        (
            Stamped::new(node.subscriber::<Image>("images").create()?, |image| image.header.stamp),
            Stamped::new(node.subscriber::<Cloud>("clouds").create()?, |cloud| cloud.header.stamp),
        ),
    )?;
    while let Some((image, cloud)) = pairs.recv(None)? {
        show(&image, &cloud);
    }
    // ANCHOR_END: synchronizer
    Ok(())
}

#[test]
fn the_synchronizer_pairs_images_and_clouds() {
    let scratch = Scratch::new("book");
    let node = Node::in_root("book", Root::at(scratch.path(), None)).unwrap();
    let images = node.publisher::<Image>("images").create().unwrap();
    let clouds = node.publisher::<Cloud>("clouds").create().unwrap();
    let (shown, receive) = channel();
    *SHOWN.lock().unwrap() = Some(shown);
    // The loop of the book has no end: its thread ends with the process.
    std::thread::spawn(move || synchronize(&node).unwrap());
    let begin = Instant::now();
    while images.raw().subscribers() == 0 || clouds.raw().subscribers() == 0 {
        assert!(begin.elapsed() < PATIENCE);
        std::thread::sleep(Duration::from_millis(1));
    }
    // Seconds 1 and 2. The first cloud is 40 ms behind its image, the second one 60 ms.
    for (second, late) in [(1, 40_000_000), (2, 60_000_000)] {
        let mut image = images.loan_with(ImageBulkLengths { data: 3 }).unwrap();
        image.header.stamp.sec = second;
        image.width = second as u32;
        image.publish().unwrap();
        let mut cloud = clouds.loan_with(PointCloud2BulkLengths { data: 3 }).unwrap();
        (cloud.header.stamp.sec, cloud.header.stamp.nanosec) = (second, late);
        cloud.width = 10 * second as u32;
        cloud.publish().unwrap();
    }
    assert_eq!(receive.recv_timeout(PATIENCE), Ok((1, 10)));
    assert!(receive.recv_timeout(Duration::from_millis(100)).is_err(), "60 ms are too long");
}

mod events {
    // ANCHOR: trace
    use situ::trace::{category, counter, instant, slice};

    category!(PLANNER, "planner");

    fn plan(goal: f64, cloud: u64) {
        let _slice = slice!(PLANNER, "plan", flow = cloud, "goal" => goal);
        instant!(PLANNER, "replanned", "reason" => "a pedestrian");
        counter!(PLANNER, "candidates", 17);
    }
    // ANCHOR_END: trace

    #[test]
    fn events_need_no_recording() {
        plan(2.5, 7);
    }
}

#[test]
fn the_layer_is_added_to_the_crate_tracing() {
    // ANCHOR: tracing
    use tracing_subscriber::prelude::*;

    tracing_subscriber::registry().with(situ::trace::layer::layer()).init();
    tracing::warn!(goal = 2.5, "the road ends");
    // ANCHOR_END: tracing
    assert!(tracing::dispatcher::has_been_set());
}
