//! The domains of `own-domain` pass the conformance suite, their publishers have a strategy of their own, and
//! the book shows the code.

#[path = "../own-domain/anonymous.rs"]
mod anonymous;
#[path = "../own-domain/blocks.rs"]
mod blocks;
#[path = "../own-domain/dma_buf.rs"]
mod dma_buf;
#[macro_use]
#[path = "../../crates/situ-memory/tests/conformance/suite.rs"]
mod suite;

use std::sync::Arc;
use std::time::Duration;

use anonymous::{ANONYMOUS, AnonymousDomain};
use blocks::{BLOCK, Blocks};
use dma_buf::{DMA_BUF, DmaBufDomain, DmaBufMemory};
use situ::bus::{Root, inspect};
use situ::memory::{DomainError, PageOptions, Strategy};
use situ::prelude::*;
use situ_examples::examples::{Cloud, CloudBulkLengths, Point};
use situ_testkit::Scratch;

conformance!(anonymous_memory, || Ok(Arc::new(AnonymousDomain)));
// Without the device, these say so and pass.
conformance!(dma_buf_memory, || Ok(Arc::new(DmaBufDomain::open()?)));

/// A piece of code without indentation, blank lines and omission marks.
fn plain(code: &str) -> String {
    code.lines()
        .map(str::trim)
        .filter(|line| !line.is_empty() && *line != "// …")
        .collect::<Vec<_>>()
        .join("\n")
}

#[test]
fn the_book_shows_the_code_as_it_is() {
    let page = include_str!("../../docs/src/your-own-domain.md");
    let code = [
        include_str!("../own-domain/anonymous.rs"),
        include_str!("../own-domain/blocks.rs"),
        include_str!("../own-domain/dma_buf.rs"),
        include_str!("own_domain.rs"),
    ];
    let code = code.map(plain).join("\n");
    let blocks: Vec<&str> =
        page.split("```rust").skip(1).filter_map(|rest| rest.split("```").next()).collect();
    assert!(blocks.len() >= 8, "the page shows code");
    for block in blocks {
        for piece in block.split("// …") {
            let piece = piece.split_once('\n').map_or(piece, |(_, piece)| piece);
            assert!(code.contains(&plain(piece)), "not in the example:\n{piece}");
        }
    }
}

#[test]
fn messages_lie_in_it_and_others_get_one_copy() {
    let scratch = Scratch::new("own");
    let root = || Root::at(scratch.path(), None);
    let node = |name| Node::in_root(name, root()).unwrap().with_domain(Arc::new(AnonymousDomain));
    let publisher = node("lidar").publisher::<Cloud>("cloud").domain(ANONYMOUS).create().unwrap();
    let near: Vec<Subscriber<Cloud>> =
        (0..2).map(|_| node("near").subscriber("cloud").domain(ANONYMOUS).create().unwrap()).collect();
    let far: Vec<Subscriber<Cloud>> =
        (0..2).map(|_| node("far").subscriber("cloud").create().unwrap()).collect();

    let loan = publisher.loan_with(CloudBulkLengths { points: 1000 }).unwrap();
    let span = loan.span(|cloud| &cloud.points);
    let points = span.memory().host(span.offset(), span.size()).unwrap().expect("the CPU may touch it");
    for index in 0..1000 {
        let point = Point { x: index as f32, y: 2.0, z: -1.0 };
        // SAFETY: the span is aligned and has room for 1000 points, and the loan is ours.
        unsafe { points.cast::<Point>().add(index).write(point) };
    }
    let lies_at = (span.memory().size(), span.offset());
    loan.publish().unwrap();

    for subscriber in &near {
        let sample = subscriber.recv(Some(Duration::from_secs(20))).unwrap().unwrap();
        let span = sample.span(|cloud| &cloud.points);
        assert_eq!((span.memory().size(), span.offset()), lies_at, "where it was written");
        let points = span.memory().host(span.offset(), span.size()).unwrap().unwrap();
        // SAFETY: the sample holds 1000 points, and no process writes to them any more.
        let last = unsafe { points.cast::<Point>().add(999).read() };
        assert_eq!((last.x, last.y, last.z), (999.0, 2.0, -1.0));
    }
    for subscriber in &far {
        let sample = subscriber.recv(Some(Duration::from_secs(20))).unwrap().unwrap();
        let points = sample.bulk(|cloud| &cloud.points);
        assert_eq!(points.iter().map(|point| point.x).sum::<f32>(), 499_500.0);
    }
    let topic = inspect::topic(&root(), "cloud").unwrap().unwrap();
    let copies: Vec<_> = topic.domains.iter().map(|used| (used.domain.to_string(), used.copies)).collect();
    assert_eq!(copies, [("host".to_owned(), 1), ("kind1024:0".to_owned(), 0)]);
    drop((publisher, near, far));
}

/// Where a message's points lie in the domain's memory.
fn place_of(cloud: &Sample<Cloud>) -> (u64, u64) {
    let span = cloud.span(|cloud| &cloud.points);
    (span.offset(), span.size())
}

#[test]
fn messages_lie_in_blocks_and_in_fixed_slots() {
    let scratch = Scratch::new("own");
    let root = || Root::at(scratch.path(), None);
    let node = |name| Node::in_root(name, root()).unwrap().with_domain(Arc::new(AnonymousDomain));
    let publisher = node("lidar")
        .publisher::<Cloud>("cloud")
        .domain(ANONYMOUS)
        .capacity(64 * BLOCK)
        .strategy(Blocks::strategy())
        .create()
        .unwrap();
    publisher.reserve(4, 1 << 20).unwrap();
    let slots = node("radar")
        .publisher::<Cloud>("cloud")
        .domain(ANONYMOUS)
        .strategy(Strategy::FixedSlots { slots: 16, size: 1 << 20 })
        .pages(PageOptions { huge: true, node: Some(0) })
        .create()
        .unwrap();
    println!("huge pages: {}, node 0: {}", slots.raw().pages().huge, slots.raw().pages().node);
    let subscriber = node("near").subscriber::<Cloud>("cloud").domain(ANONYMOUS).create().unwrap();
    for publisher in [&publisher, &slots] {
        let mut held = Vec::new();
        for points in [1000, 10, 20_000] {
            publisher.loan_with(CloudBulkLengths { points }).unwrap().publish().unwrap();
            held.push(subscriber.recv(Some(Duration::from_secs(20))).unwrap().unwrap());
        }
        let mut places: Vec<_> = held.iter().map(place_of).collect();
        places.sort_unstable();
        assert!(places.windows(2).all(|pair| pair[0].0 + pair[0].1 <= pair[1].0), "{places:?}");
        assert!(std::ptr::eq(publisher, &slots) || places.iter().all(|place| place.0 % BLOCK == 0));
    }
    // There is no larger slot.
    assert!(slots.loan_with(CloudBulkLengths { points: 100_000 }).is_err());
    slots.trim();
    slots.reserve(1, 1 << 20).unwrap();
}

#[test]
fn a_machine_without_dma_bufs_says_so() {
    let domain = match DmaBufDomain::open() {
        Ok(domain) => domain,
        Err(DomainError::Absent { domain, reason }) => {
            assert_eq!(domain, DMA_BUF);
            return eprintln!("skipped: {reason}");
        }
        Err(error) => panic!("{error}"),
    };
    let scratch = Scratch::new("own");
    let root = || Root::at(scratch.path(), None);
    let node = |name| Node::in_root(name, root()).unwrap().with_domain(Arc::new(domain.clone()));
    let publisher = node("camera")
        .publisher::<Cloud>("cloud")
        .domain(DMA_BUF)
        .strategy(Strategy::FixedSlots { slots: 12, size: 1 << 20 })
        .create()
        .unwrap();
    let subscriber = node("display").subscriber::<Cloud>("cloud").domain(DMA_BUF).create().unwrap();
    publisher.loan_with(CloudBulkLengths { points: 1000 }).unwrap().publish().unwrap();
    let cloud = subscriber.recv(Some(Duration::from_secs(20))).unwrap().unwrap();
    let span = cloud.span(|cloud| &cloud.points);
    let memory = span.memory().as_any().downcast_ref::<DmaBufMemory>().unwrap();
    // What the driver of a device imports.
    let descriptor = memory.dma_buf();
    assert!(descriptor.metadata().is_ok() && span.size() == 12_000);
}
