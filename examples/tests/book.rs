//! Code of the book's pages that is not a program of its own. The lines between `ANCHOR` and `ANCHOR_END` are
//! what a page shows; a test of the command compares them.

use std::error::Error;
use std::sync::Mutex;
use std::sync::mpsc::{Sender, channel};
use std::time::{Duration, Instant};

use situ::bus::{Node, Root};
use situ_examples::examples::Pose;
use situ_examples::situ_::sensor::{Image, ImageBulkLengths, Imu, PointCloud2, PointCloud2BulkLengths};
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

/// Waits for images and for a timer, until the set is told to end.
fn wait_for_images(node: &Node, stop: &situ::bus::GuardCondition) -> Result<u32, Box<dyn Error>> {
    let (mut width, mut late) = (0, 0);
    // ANCHOR: wait-set
    use situ::bus::{ReadySources, Timer, WaitSet};

    let set = WaitSet::new(node);
    let images = node.subscriber::<Image>("images").create()?;
    let watchdog = Timer::one_shot(Duration::from_millis(100))?;
    let (image, silence, end) = (set.attach(&images)?, set.attach(&watchdog)?, set.attach(stop)?);
    let mut ready = ReadySources::new();
    while set.wait(&mut ready, None)? {
        if ready.contains(image) {
            while let Some(image) = images.take()? {
                width = image.width;
            }
            watchdog.reset();
        }
        if ready.contains(silence) {
            late += 1;
        }
        if ready.contains(end) {
            break;
        }
    }
    // ANCHOR_END: wait-set
    Ok(width + 1000 * late)
}

#[test]
fn the_wait_set_of_the_book_reports_images_silence_and_the_end() {
    let scratch = Scratch::new("book");
    let node = Node::in_root("book", Root::at(scratch.path(), None)).unwrap();
    let images = node.publisher::<Image>("images").create().unwrap();
    let stop = situ::bus::GuardCondition::new();
    let (theirs, begin) = (stop.clone(), Instant::now());
    let waiting = std::thread::spawn(move || wait_for_images(&node, &theirs).unwrap());
    while images.raw().subscribers() == 0 {
        assert!(begin.elapsed() < PATIENCE);
        std::thread::sleep(Duration::from_millis(1));
    }
    let mut image = images.loan_with(ImageBulkLengths { data: 3 }).unwrap();
    image.width = 7;
    image.publish().unwrap();
    std::thread::sleep(Duration::from_millis(300));
    stop.trigger();
    assert_eq!(waiting.join().unwrap(), 1007, "one image, and silence once");
}

#[test]
fn simulated_time_of_the_book() -> Result<(), Box<dyn Error>> {
    let scratch = Scratch::new("book");
    let node = Node::in_root("book", Root::at(scratch.path(), None))?;
    let executor = situ::bus::Executor::new(&node)?;
    let (tell, told) = channel();
    // ANCHOR: simulated-time
    use situ::bus::{SimulatedClock, Timer};

    let clock = SimulatedClock::new(Duration::ZERO);
    let control = Timer::periodic_by(&clock.clock(), Duration::from_millis(10))?;
    executor.timer(&control, move |call| tell.send((call.scheduled, call.missed)))?;
    // Each message of a simulator or a recording carries its time.
    clock.set(Duration::from_millis(35));
    // ANCHOR_END: simulated-time
    assert_eq!(executor.spin_some()?, 1);
    assert_eq!(told.try_recv()?, (Duration::from_millis(10), 2));
    Ok(())
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

mod services {
    use std::error::Error;
    use std::time::Duration;

    use situ::bus::{Client, Node, OperationError, Refusal, Root, Server};
    use situ_examples::examples::{
        Calculator_add, Calculator_add_In, Calculator_add_Out, Calculator_divide,
        Calculator_divide_Exception, Calculator_divide_In, Calculator_divide_Out, Cloud, CloudBulkLengths,
        DivisionByZero, Pose,
    };
    use situ_testkit::Scratch;

    fn add(node: &Node) -> Result<f64, Box<dyn Error>> {
        // ANCHOR: service_typed
        let server = node.server_of::<Calculator_add>("calculator/add").create()?;
        let client = node.client_of::<Calculator_add>("calculator/add").create()?;

        let call = client.call(&Calculator_add_In { a: 40.0, b: 2.0 })?;
        server.serve(Some(Duration::from_secs(10)), |request| {
            Ok(Calculator_add_Out { return_: request.a + request.b })
        })?;
        let sum = call.wait()?.return_;
        // ANCHOR_END: service_typed
        Ok(sum)
    }

    #[test]
    fn an_operation_of_an_interface_is_called() {
        let scratch = Scratch::new("interface");
        let node = Node::in_root("interface", Root::at(scratch.path(), None)).unwrap();
        assert_eq!(add(&node).unwrap(), 42.0);
    }

    fn divide(node: &Node, a: i64, b: i64) -> Result<String, Box<dyn Error>> {
        let server = node.server_of::<Calculator_divide>("calculator/divide").create()?;
        let client = node.client_of::<Calculator_divide>("calculator/divide").create()?;
        // ANCHOR: service_raises
        let call = client.call(&Calculator_divide_In { a, b })?;
        server.serve_outcome(Some(Duration::from_secs(10)), |request| match request.b {
            0 => Err(DivisionByZero { numerator: request.a }.into()),
            b => Ok(Calculator_divide_Out { return_: request.a / b }),
        })?;
        let shown = match call.outcome() {
            Ok(given) => given.return_.to_string(),
            Err(OperationError::Raised(Calculator_divide_Exception::DivisionByZero(raised))) => {
                format!("{} / 0", raised.numerator)
            }
            // No reply came, or the server refused.
            Err(other) => return Err(other.into()),
        };
        // ANCHOR_END: service_raises
        Ok(shown)
    }

    #[test]
    fn an_operation_raises_an_exception() {
        let scratch = Scratch::new("raises");
        let node = Node::in_root("raises", Root::at(scratch.path(), None)).unwrap();
        assert_eq!(divide(&node, 17, 5).unwrap(), "3");
        assert_eq!(divide(&node, 17, 0).unwrap(), "17 / 0");
    }

    fn serve(node: &Node) -> Result<(), Box<dyn Error>> {
        // ANCHOR: service_server
        let server = node.server::<Pose, Cloud>("map/around").create()?;
        while let Some(request) = server.recv(Some(Duration::from_secs(10)))? {
            if !request.x.is_finite() {
                server.refuse(&request, &Refusal { code: 1, text: "where is that?".into() })?;
                continue;
            }
            let mut reply = server.loan_with(&request, CloudBulkLengths { points: 1000 })?;
            reply.bulk_mut(|cloud| &cloud.points)[0].x = request.x as f32;
            reply.send()?;
        }
        // ANCHOR_END: service_server
        Ok(())
    }

    fn ask(node: &Node) -> Result<f32, Box<dyn Error>> {
        // ANCHOR: service_client
        let client = node.client::<Pose, Cloud>("map/around").create()?;
        client.wait_for_server(Some(Duration::from_secs(10)));

        let mut request = client.loan()?;
        request.x = 2.5;
        let call = request.send_within(Duration::from_secs(1))?;
        // ... other work, other calls ...
        let cloud = call.wait()?;
        let first = cloud.bulk(|cloud| &cloud.points)[0];
        // ANCHOR_END: service_client
        Ok(first.x)
    }

    #[test]
    fn a_client_asks_for_the_points_around_a_place() {
        let scratch = Scratch::new("services");
        let node = Node::in_root("services", Root::at(scratch.path(), None)).unwrap();
        let of_server = node.clone();
        // The server ends with the process.
        std::thread::spawn(move || serve(&of_server).unwrap());
        assert_eq!(ask(&node).unwrap(), 2.5);
        let client = node.client::<Pose, Cloud>("map/around").create().unwrap();
        let error = client.call(&Pose { x: f64::NAN, ..Pose::default() }).unwrap().wait().unwrap_err();
        assert!(error.to_string().ends_with("(1): where is that?"), "{error}");
    }

    fn stream(server: &Server<Pose, Pose>, client: &Client<Pose, Pose>) -> Result<f64, Box<dyn Error>> {
        let drive = Pose { x: 3.0, ..Pose::default() };
        let mut last = 0.0;
        // ANCHOR: service_stream
        let mut call = client.call(&drive)?;

        // The server, elsewhere:
        if let Some(request) = server.take()? {
            for step in 0..3 {
                server.collect()?;
                if request.is_cancelled() {
                    break;
                }
                let mut part = server.loan(&request)?;
                part.x = f64::from(step + 1);
                part.send_part_within(Duration::from_secs(1))?;
            }
            server.end(&request)?;
        }

        while let Some(part) = call.next()? {
            last = part.x;
        }
        // ANCHOR_END: service_stream
        Ok(last)
    }

    #[test]
    fn a_reply_comes_in_parts() {
        let scratch = Scratch::new("stream");
        let node = Node::in_root("stream", Root::at(scratch.path(), None)).unwrap();
        let server = node.server("drive").create().unwrap();
        let client = node.client("drive").create().unwrap();
        assert_eq!(stream(&server, &client).unwrap(), 3.0);
    }

    async fn both(client: Client<Pose, Pose>) -> Result<(f64, f64), Box<dyn Error>> {
        // ANCHOR: service_async
        let client = client.into_async()?;
        let there = client.call(&Pose { x: 1.0, ..Pose::default() });
        let back = client.call_within(&Pose { x: -1.0, ..Pose::default() }, Duration::from_secs(1));
        let (there, back) = (there.await?, back.await?);
        // ANCHOR_END: service_async
        Ok((there.x, back.x))
    }

    fn answer(server: &Server<Pose, Pose>) -> Result<usize, Box<dyn Error>> {
        // ANCHOR: service_callback
        let answered = server.serve(Some(Duration::from_secs(10)), |request| {
            Ok(Pose { x: request.x * 2.0, ..Pose::default() })
        })?;
        // ANCHOR_END: service_callback
        Ok(answered)
    }

    #[tokio::test]
    async fn calls_are_awaited() {
        let scratch = Scratch::new("await");
        let node = Node::in_root("await", Root::at(scratch.path(), None)).unwrap();
        let server = node.server("double").create().unwrap();
        let client = node.client("double").create().unwrap();
        std::thread::spawn(move || while answer(&server).unwrap() > 0 {});
        assert_eq!(both(client).await.unwrap(), (2.0, -2.0));
    }
}

/// Publishes a batch of images, and returns the loans that had no room.
fn publish_all(publisher: &situ::bus::Publisher<Image>) -> Result<usize, Box<dyn Error>> {
    // ANCHOR: publish-all
    let mut loans = Vec::new();
    for width in 1..=8 {
        let mut image = publisher.loan_with(ImageBulkLengths { data: 3 })?;
        image.width = width;
        loans.push(image);
    }
    if let Err(error) = publisher.publish_all(&mut loans) {
        println!("{} images were not published: {error}", loans.len());
    }
    // ANCHOR_END: publish-all
    Ok(loans.len())
}

/// The widths of all images that are there.
fn take_many(subscriber: &situ::bus::Subscriber<Image>) -> Result<Vec<u32>, Box<dyn Error>> {
    let mut widths = Vec::new();
    // ANCHOR: take-many
    let mut images = Vec::with_capacity(16);
    while subscriber.take_many(16, &mut images)? > 0 {
        for image in images.drain(..) {
            widths.push(image.width);
        }
    }
    // ANCHOR_END: take-many
    Ok(widths)
}

#[test]
fn batches_of_the_book_go_through() {
    let scratch = Scratch::new("book");
    let node = Node::in_root("book", Root::at(scratch.path(), None)).unwrap();
    let publisher = node.publisher::<Image>("images").depth(64).create().unwrap();
    let subscriber = node.subscriber::<Image>("images").create().unwrap();
    for _ in 0..3 {
        assert_eq!(publish_all(&publisher).unwrap(), 0);
    }
    let widths = (0..3).flat_map(|_| 1..=8).collect::<Vec<u32>>();
    assert_eq!(take_many(&subscriber).unwrap(), widths);
}

/// The writer of the book: it stays until it is dropped.
fn write_limits(node: &Node) -> Result<situ::bus::BlackboardWriter<Pose>, Box<dyn Error>> {
    // ANCHOR: blackboard-writer
    let mut poses = node.blackboard_writer::<Pose>("robot/poses", ["arm", "base"])?;
    poses.set("arm", &Pose { x: 0.5, y: 0.0, heading: 1.5 })?;
    poses.set("arm", &Pose { x: 0.6, y: 0.0, heading: 1.5 })?;
    // ANCHOR_END: blackboard-writer
    Ok(poses)
}

fn read_limits(node: &Node) -> Result<(f64, bool), Box<dyn Error>> {
    let mut found = 0.0;
    // ANCHOR: blackboard-reader
    let poses = node.blackboard_reader::<Pose>("robot/poses")?;
    if let Some(arm) = poses.get("arm")? {
        println!("version {}: x is {}", arm.version, arm.value.x);
        found = arm.value.x;
    }
    let base_is_known = poses.get("base")?.is_some();
    // ANCHOR_END: blackboard-reader
    Ok((found, base_is_known))
}

#[test]
fn the_blackboard_of_the_book_is_read() {
    let scratch = Scratch::new("book");
    let node = Node::in_root("book", Root::at(scratch.path(), None)).unwrap();
    let _writer = write_limits(&node).unwrap();
    assert_eq!(read_limits(&node).unwrap(), (0.6, false));
}

/// A writer may be hostile: its bytes are checked as a message.
#[test]
fn a_value_that_is_not_valid_is_an_error() {
    use situ::bus::{GetValueError, RawBlackboardWriter, describe};

    let scratch = Scratch::new("book");
    let node = Node::in_root("book", Root::at(scratch.path(), None)).unwrap();
    let imu = describe::<Imu>();
    let mut writer = RawBlackboardWriter::create(&node, "imus", &imu, ["front"]).unwrap();
    let reader = node.blackboard_reader::<Imu>("imus").unwrap();
    writer.set("front", &vec![0; imu.fixed_size as usize]).unwrap();
    assert_eq!(reader.get("front").unwrap().unwrap().version, 1);
    writer.set("front", &vec![0xff; imu.fixed_size as usize]).unwrap();
    assert!(matches!(reader.get("front"), Err(GetValueError::Invalid { .. })));
}
