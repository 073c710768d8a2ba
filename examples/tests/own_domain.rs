//! The domain of `own-domain/anonymous.rs` passes the conformance suite, and the book shows its code.

#[path = "../own-domain/anonymous.rs"]
mod anonymous;
#[macro_use]
#[path = "../../crates/situ-memory/tests/conformance/suite.rs"]
mod suite;

use std::sync::Arc;
use std::time::Duration;

use anonymous::{ANONYMOUS, AnonymousDomain};
use situ::bus::{Root, inspect};
use situ::prelude::*;
use situ_examples::examples::{Cloud, CloudBulkLengths, Point};
use situ_testkit::Scratch;

conformance!(anonymous_memory, || Ok(Arc::new(AnonymousDomain)));

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
    let code =
        plain(include_str!("../own-domain/anonymous.rs")) + "\n" + &plain(include_str!("own_domain.rs"));
    let blocks: Vec<&str> =
        page.split("```rust").skip(1).filter_map(|rest| rest.split("```").next()).collect();
    assert!(blocks.len() >= 4, "the page shows code");
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
