//! Threads and processes begin, fork, stay silent and end: no finished packet is lost, and no thread blocks a
//! chunk for others.
#![cfg(not(loom))]

mod common;

use std::sync::{Arc, Barrier};
use std::time::{Duration, Instant};

use common::{Scratch, TIMEOUT, role, write};
use situ_testkit::process::{Role, say};
use situ_trace::{Collector, CollectorOptions, Lost, Policy, Producer, StartError, request_stop, running};

#[test]
fn silent_threads_keep_no_chunks() {
    let scratch = Scratch::new();
    let collector = scratch.collect(|options| {
        (options.ring_bytes, options.chunk_bytes) = (16 << 10, 1024);
        options.policy = Policy::Stall { at_most: TIMEOUT };
    });
    let producer = scratch.producer("many threads");
    // Ten times as many threads as chunks. Each writes once, stays silent, and writes again.
    let barrier = Arc::new(Barrier::new(160));
    std::thread::scope(|scope| {
        for number in 0..160 {
            let (mut writer, barrier) = (producer.writer(), barrier.clone());
            scope.spawn(move || {
                assert!(write(&mut writer, number, 20, 1));
                barrier.wait();
                assert!(write(&mut writer, number + 1000, 20, 1));
                assert_eq!(writer.lost(), Lost::default());
                barrier.wait();
            });
        }
    });
    let summary = collector.stop().unwrap();
    assert_eq!((summary.packets, summary.lost()), (320, Lost::default()));
    let trace = scratch.trace();
    for packets in trace.sequences().values() {
        let [first, second] = packets[..] else { panic!("{packets:?}") };
        assert_eq!(second.test.unwrap().0, first.test.unwrap().0 + 1000);
    }
}

#[test]
fn writers_beyond_the_last_place_are_counted_and_others_come_after_them() {
    let scratch = Scratch::new();
    let collector = scratch.collect(|options| options.period = Duration::from_millis(1));
    let producer = scratch.producer("many threads");
    let mut writers: Vec<_> = (0..1030).map(|_| producer.writer()).collect();
    for (number, writer) in writers.iter_mut().enumerate() {
        assert!(write(writer, number as u64, 10, 0));
    }
    let lost: u64 = writers.iter().map(|writer| writer.lost().packets).sum();
    assert_eq!(lost, 6, "there are 1024 places");
    writers.truncate(1025);
    drop(writers.drain(..500));
    // Entries become free when the collector has read the counts of writers that left.
    let start = Instant::now();
    let mut late = producer.writer();
    while late.finished() == 0 {
        assert!(write(&mut late, 5000, 10, 0) && start.elapsed() < TIMEOUT);
        std::thread::sleep(Duration::from_millis(1));
    }
    let expected = lost + late.lost().packets;
    drop((writers, late));
    let summary = collector.stop().unwrap();
    assert_eq!(summary.producers[0].unregistered_writers.packets, expected);
    assert_eq!(summary.packets, 1025);
    assert_eq!(summary.producers[0].malformed, 0);
}

fn play_fork(scratch: &Scratch) {
    let producer = Producer::connect(&scratch.root(), "parent", |_| {}).unwrap();
    assert!(producer.wait_for_session(TIMEOUT));
    let mut writer = producer.writer();
    assert!(write(&mut writer, 0, 10, 1));
    // A packet is open while the process forks.
    let mut packet = writer.packet().unwrap();
    packet.message().uint64(8, 1);
    // SAFETY: the child makes only calls that any program may make. The other threads of this process hold no
    // lock that the child needs.
    let child = unsafe { libc::fork() };
    assert!(child >= 0);
    if child == 0 {
        packet.message().bytes(900, &[0xff; 100]);
        drop(packet);
        assert!(producer.is_inherited() && !producer.is_enabled());
        assert!(writer.packet().is_none() && writer.state_epoch() == 0);
        let own = Producer::connect(&scratch.root(), "child", |_| {}).unwrap();
        assert!(own.wait_for_session(TIMEOUT));
        let mut writer = own.writer();
        (0..100).for_each(|number| assert!(write(&mut writer, 1000 + number, 10, 1)));
        drop((producer, writer, own));
        // The child outlives its parent. The parent must be found dead nevertheless.
        std::thread::sleep(Duration::from_secs(3));
        // SAFETY: no state of this process is needed any more.
        unsafe { libc::_exit(0) };
    }
    // The child's bytes do not reach the parent's packet.
    std::thread::sleep(Duration::from_millis(50));
    drop(packet);
    (1..100).for_each(|number| assert!(write(&mut writer, number, 10, 1)));
    say("written");
    // SAFETY: as above; destructors must not run, as if it were killed.
    unsafe { libc::_exit(0) };
}

#[test]
#[ignore = "played by the children of the other tests"]
fn child() {
    let Some((role, scratch)) = role() else { return };
    match role.as_str() {
        "fork" => play_fork(&scratch),
        "clone" => {
            let producer = Producer::connect(&scratch.root(), "clone", |_| {}).unwrap();
            assert!(producer.wait_for_session(TIMEOUT));
            assert!(write(&mut producer.writer(), 7, 10, 1));
            // A bare system call runs no handlers: the child holds the lock of its parent's ring. SAFETY: the
            // child only waits to be killed.
            let child = unsafe { libc::syscall(libc::SYS_clone, libc::SIGCHLD, 0, 0, 0, 0) };
            if child != 0 {
                say(&format!("child {child}"));
            }
            loop {
                // SAFETY: it only waits.
                unsafe { libc::pause() };
            }
        }
        "exit" => {
            let producer = Producer::connect(&scratch.root(), "exit", |_| {}).unwrap();
            assert!(producer.wait_for_session(TIMEOUT));
            let mut writer = producer.writer();
            assert!(write(&mut writer, 7, 10, 1));
            std::process::exit(0);
        }
        other => panic!("no such role: {other}"),
    }
}

#[test]
fn a_producer_is_dead_though_a_cloned_child_has_its_lock() {
    let scratch = Scratch::new();
    let collector = scratch.collect(|_| {});
    let mut producer = Role::start(&scratch, "clone");
    let child = producer.number("child") as i32;
    producer.kill();
    let start = Instant::now();
    while collector.producers() > 0 && start.elapsed() < TIMEOUT {
        std::thread::sleep(Duration::from_millis(5));
    }
    let seen = collector.producers();
    // SAFETY: it is the child's number, which is not reused: no process waits for the child before it is
    // killed.
    assert_eq!(unsafe { libc::kill(child, libc::SIGKILL) }, 0, "the child lived until now");
    assert_eq!(seen, 0);
    let summary = collector.stop().unwrap();
    assert_eq!((summary.producers[0].name.as_str(), summary.packets), ("clone", 1));
}

#[test]
fn a_forked_child_writes_nothing_of_its_parents() {
    let scratch = Scratch::new();
    let collector = scratch.collect(|_| {});
    let mut parent = Role::start(&scratch, "fork");
    parent.wait_for("written");
    assert!(parent.end(TIMEOUT).success());
    let start = Instant::now();
    while scratch.packets_so_far() < 201 {
        assert!(start.elapsed() < TIMEOUT);
        std::thread::sleep(Duration::from_millis(10));
    }
    let summary = collector.stop().unwrap();
    let mut all: Vec<Vec<u64>> = scratch
        .trace()
        .sequences()
        .into_values()
        .map(|packets| packets.iter().map(|packet| packet.test.unwrap().0).collect())
        .collect();
    all.sort();
    assert_eq!(all, [(0..100).collect::<Vec<_>>(), (1000..1100).collect()]);
    let parent = summary.producers.iter().find(|producer| producer.name == "parent").unwrap();
    // It is found dead although its child lives. One packet has only a timestamp: the packet that was open.
    assert_eq!((parent.writers[0].packets, parent.malformed, parent.ended), (101, 0, true));
}

#[test]
fn a_process_that_exits_loses_nothing() {
    let scratch = Scratch::new();
    let collector = scratch.collect(|_| {});
    assert!(Role::start(&scratch, "exit").end(TIMEOUT).success());
    collector.stop().unwrap();
    assert_eq!(scratch.trace().numbers(), [7]);
}

#[test]
fn there_is_one_session_at_a_time_and_any_process_may_end_it() {
    let scratch = Scratch::new();
    assert!(running(&scratch.root()).is_none() && !request_stop(&scratch.root()));
    let collector = scratch.collect(|options| options.categories = "all".to_owned());
    assert_eq!(running(&scratch.root()).as_ref(), Some(collector.session()));
    let second = Collector::start(&scratch.root(), CollectorOptions::to_file(scratch.join("second")));
    let me = std::process::id();
    assert!(matches!(second, Err(StartError::Busy { pid }) if pid == me), "{second:?}");
    assert!(!collector.wait(Some(Duration::from_millis(30))));
    assert!(request_stop(&scratch.root()));
    assert!(collector.wait(Some(TIMEOUT)));
    collector.stop().unwrap();
    assert!(running(&scratch.root()).is_none() && !request_stop(&scratch.root()));
    let again = scratch.collect(|_| {});
    assert!(!again.wait(Some(Duration::from_millis(30))), "the old request does not end the new session");
}

#[test]
fn a_broken_control_file_is_replaced_as_its_error_says() {
    let scratch = Scratch::new();
    let root = scratch.root();
    drop(scratch.collect(|_| {}));
    let path = root.path().join("trace/control");
    let whole = std::fs::read(&path).unwrap();
    // A new file is renamed over the old one: processes that have the old one mapped keep it.
    let put = |bytes: &[u8]| {
        let new = root.path().join("new");
        std::fs::write(&new, bytes).unwrap();
        std::fs::rename(&new, &path).unwrap();
    };
    let node = situ_bus::Node::in_root("alive", root.clone()).unwrap();
    let mut garbled = whole.clone();
    garbled[0] ^= 1;
    for broken in [&[][..], &whole[..100], &[0; 4096], &garbled] {
        put(broken);
        let error = Producer::connect(&root, "p", |_| {}).unwrap_err().to_string();
        assert!(error.contains("situ clean"), "{error}");
        situ_trace::clean(&root).unwrap();
        assert!(!path.exists(), "{} bytes", broken.len());
    }
    // The file of another version, which may be in use.
    let mut newer = whole.clone();
    newer[8] ^= 0x80;
    put(&newer);
    situ_trace::clean(&root).unwrap();
    assert!(path.exists());
    drop(node);
    situ_trace::clean(&root).unwrap();
    assert!(!path.exists());
    // Not removed: a larger file, which is not Situ's, and a file with a second name.
    put(&[1; 8192]);
    let error = Producer::connect(&root, "p", |_| {}).unwrap_err().to_string();
    assert!(error.contains("by hand") && !error.contains("situ clean"), "{error}");
    situ_trace::clean(&root).unwrap();
    put(&garbled);
    std::fs::hard_link(&path, scratch.root().path().join("elsewhere")).unwrap();
    situ_trace::clean(&root).unwrap();
    assert!(path.exists());
    std::fs::remove_file(&path).unwrap();
    drop(scratch.collect(|_| {}));
}

#[test]
fn unused_files_are_removed_and_producers_find_the_next_ones() {
    let scratch = Scratch::new();
    let root = scratch.root();
    let producer = Producer::connect(&root, "patient", |_| {}).unwrap();
    // A program with a node uses the file, and so does a collector.
    let node = situ_bus::Node::in_root("alive", root.clone()).unwrap();
    situ_trace::clean(&root).unwrap();
    assert_eq!(scratch.left(), ["control"]);
    drop(node);
    let collector = scratch.collect(|_| {});
    situ_trace::clean(&root).unwrap();
    assert!(producer.wait_for_session(TIMEOUT) && running(&root).is_some());
    collector.stop().unwrap();
    assert!(producer.wait_for_end(TIMEOUT));
    situ_trace::clean(&root).unwrap();
    assert!(scratch.left().is_empty());
    // A producer that sleeps on the removed file finds the next one.
    let collector = scratch.collect(|_| {});
    assert!(producer.wait_for_session(TIMEOUT));
    assert!(write(&mut producer.writer(), 0, 10, 1));
    assert_eq!(collector.stop().unwrap().packets, 1);
}

#[test]
fn a_stall_has_an_end() {
    let scratch = Scratch::new();
    let collector = scratch.collect(|options| {
        (options.ring_bytes, options.chunk_bytes) = (1024, 256);
        options.policy = Policy::Stall { at_most: Duration::from_millis(1) };
        options.period = Duration::from_millis(1);
    });
    let producer = scratch.producer("stalled");
    // Four chunks, all in open packets: a fifth writer gets none.
    let mut writers: Vec<_> = (0..5).map(|_| producer.writer()).collect();
    let (last, others) = writers.split_last_mut().unwrap();
    let open: Vec<_> = others.iter_mut().map(|writer| writer.packet().unwrap()).collect();
    assert!(write(last, 0, 10, 0));
    assert_eq!(last.lost().packets, 1);
    drop(open);
    // The collector reclaims the chunks after some time.
    let (mut number, start) = (0, Instant::now());
    while last.finished() == 0 {
        number += 1;
        assert!(write(last, number, 10, 0) && start.elapsed() < TIMEOUT);
    }
    let lost = last.lost();
    assert_eq!(lost.packets, number);
    let summary = collector.stop().unwrap();
    assert_eq!(scratch.trace().numbers(), [number]);
    assert_eq!((summary.lost(), summary.packets), (lost, 5));
}
