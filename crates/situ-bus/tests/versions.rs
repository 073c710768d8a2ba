//! Programs with different versions of a format do not meet: the one that joins gets an error that names both
//! versions, and the present participants go on.
#![cfg(not(loom))]

mod common;

use std::fs::OpenOptions;
use std::os::unix::fs::FileExt;
use std::path::Path;

use common::{Scratch, numbers, publish, take};
use situ_bus::inspect;
use situ_bus::{
    RawClient, RawPublisher, RawServer, RawSubscriber, RegisterError, ServiceDescription, ServiceOptions,
};
use situ_memory::MemoryError;

/// Where a topic's header has the versions of the formats, and their sizes (`spec/topic.md`, *Header*).
const OF_TOPICS: (u64, usize) = (8, 4);
const OF_POOLS: (u64, usize) = (100, 2);
const OF_SERVICES: (u64, usize) = (102, 2);

/// Makes a topic one that a program with another version of a format has created.
fn write(topic: &Path, (offset, size): (u64, usize), version: u32) {
    let file = OpenOptions::new().write(true).open(topic.join("topic")).unwrap();
    file.write_all_at(&version.to_le_bytes()[..size], offset).unwrap();
}

/// The format and both versions of an error of one that joined.
fn versions<T: std::fmt::Debug>(joined: Result<T, RegisterError>) -> (&'static str, u32, u32) {
    let error = joined.unwrap_err();
    let text = error.to_string();
    let RegisterError::Memory(MemoryError::OtherVersion { format, found, ours, .. }) = error else {
        panic!("{error}")
    };
    let both = format!("has version {found} of the format of {format}, and this program uses version {ours}");
    assert!(text.contains(&both) && text.contains("situ clean"), "{text}");
    (format, found, ours)
}

#[test]
fn a_participant_of_another_version_gets_one_error_when_it_joins() {
    let scratch = Scratch::new();
    let node = scratch.node("n");
    let publisher = || RawPublisher::create(&node, "numbers", &numbers(), Default::default());
    let subscriber = || RawSubscriber::create(&node, "numbers", &numbers(), Default::default());
    let (present, reader) = (publisher().unwrap(), subscriber().unwrap());
    let path = scratch.topic("numbers");
    for (of, format, ours) in [(OF_TOPICS, "topics", 12), (OF_POOLS, "pools", 6)] {
        for found in [ours - 1, ours + 1] {
            write(&path, of, found);
            assert_eq!(versions(publisher()), (format, found, ours));
            assert_eq!(versions(subscriber()), (format, found, ours));
            let looked = inspect::topic(&scratch.root(), "numbers").unwrap_err().to_string();
            assert!(looked.contains("was written by another version of Situ"), "{looked}");
        }
        write(&path, of, ours);
    }
    // The present participants have not noticed.
    publish(&present, 7, 0);
    assert_eq!(take(&reader), Some((0, 7)));
    drop((publisher().unwrap(), subscriber().unwrap()));
    assert_eq!(present.subscribers(), 1);
}

#[test]
fn clients_and_servers_of_different_versions_do_not_meet() {
    let scratch = Scratch::new();
    let node = scratch.node("n");
    let description = ServiceDescription { request: numbers(), reply: numbers() };
    let client = || RawClient::create(&node, "square", &description, &ServiceOptions::default());
    let server = || RawServer::create(&node, "square", &description, &ServiceOptions::default());
    let present = server().unwrap();
    let path = scratch.topic("situ%3Arequest%2Fsquare");
    for (of, format, ours) in [(OF_SERVICES, "services", 1), (OF_POOLS, "pools", 6)] {
        write(&path, of, ours + 1);
        assert_eq!(versions(client()), (format, ours + 1, ours));
        assert_eq!(versions(server()), (format, ours + 1, ours));
        write(&path, of, ours);
    }
    let client = client().unwrap();
    assert_eq!((client.servers(), present.clients()), (1, 1));
}
