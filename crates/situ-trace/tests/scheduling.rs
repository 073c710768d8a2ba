//! The kernel's scheduling events in a trace, decoded by another implementation of protobuf. Where this user
//! may not record them, the test says so, and checks the error.
#![cfg(not(loom))]

mod common;

use std::path::Path;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use common::Scratch;
use prost::Message;
use situ_trace::{Collector, CollectorOptions, Sink, StartError, now_ns};

#[derive(Clone, PartialEq, Message)]
struct Trace {
    #[prost(message, repeated, tag = "1")]
    packet: Vec<Packet>,
}

#[derive(Clone, PartialEq, Message)]
struct Packet {
    #[prost(message, optional, tag = "1")]
    ftrace_events: Option<Bundle>,
}

#[derive(Clone, PartialEq, Message)]
struct Bundle {
    #[prost(uint32, optional, tag = "1")]
    cpu: Option<u32>,
    #[prost(message, repeated, tag = "2")]
    event: Vec<Event>,
}

#[derive(Clone, PartialEq, Message)]
struct Event {
    #[prost(uint64, optional, tag = "1")]
    timestamp: Option<u64>,
    #[prost(uint32, optional, tag = "2")]
    pid: Option<u32>,
    #[prost(message, optional, tag = "4")]
    switch: Option<Switch>,
    #[prost(message, optional, tag = "20")]
    waking: Option<Waking>,
}

#[derive(Clone, PartialEq, Message)]
struct Switch {
    #[prost(string, optional, tag = "1")]
    prev_comm: Option<String>,
    #[prost(int32, optional, tag = "2")]
    prev_pid: Option<i32>,
    #[prost(int32, optional, tag = "3")]
    prev_prio: Option<i32>,
    #[prost(int64, optional, tag = "4")]
    prev_state: Option<i64>,
    #[prost(string, optional, tag = "5")]
    next_comm: Option<String>,
    #[prost(int32, optional, tag = "6")]
    next_pid: Option<i32>,
    #[prost(int32, optional, tag = "7")]
    next_prio: Option<i32>,
}

#[derive(Clone, PartialEq, Message)]
struct Waking {
    #[prost(string, optional, tag = "1")]
    comm: Option<String>,
    #[prost(int32, optional, tag = "2")]
    pid: Option<i32>,
}

/// One test after the other, because one looks for what remains of its process.
static TURN: Mutex<()> = Mutex::new(());

/// Begins a session with scheduling events, if this user may.
fn begin(scratch: &Scratch, sink: Sink) -> Option<Collector> {
    let options = CollectorOptions { scheduling: true, ..CollectorOptions::new(sink) };
    match Collector::start(&scratch.root(), options) {
        Ok(collector) => Some(collector),
        Err(error) => {
            assert!(matches!(error, StartError::Scheduling { .. }), "{error}");
            assert!(error.to_string().starts_with("cannot record the kernel's scheduling: /sys/"), "{error}");
            assert!(situ_trace::running(&scratch.root()).is_none(), "no session remains");
            drop(scratch.collect(|_| {}));
            eprintln!("skipped: {error}");
            None
        }
    }
}

/// Sleeps some times in a thread with this name. Returns the thread's number.
fn naps(name: &str, count: u32) -> i32 {
    let work = move || {
        (0..count).for_each(|_| std::thread::sleep(Duration::from_millis(2)));
        rustix::thread::gettid().as_raw_nonzero().get()
    };
    std::thread::Builder::new().name(name.to_owned()).spawn(work).unwrap().join().unwrap()
}

#[test]
fn a_trace_says_which_thread_ran_where() {
    let _turn = TURN.lock().unwrap_or_else(PoisonError::into_inner);
    let scratch = Scratch::new();
    // The instance of a collector that was killed: no process has this number.
    let left = Path::new("/sys/kernel/tracing/instances/situ-99999999-1");
    let is_left = std::fs::create_dir(left).is_ok();
    let before = now_ns();
    let Some(collector) = begin(&scratch, Sink::File(scratch.file())) else { return };
    assert!(!is_left || !left.exists(), "what a dead collector left is removed");
    let thread = naps("takes-a-nap", 20);
    let summary = collector.stop().unwrap();
    let after = now_ns();
    let bytes = std::fs::read(scratch.file()).unwrap();
    let read = situ_trace::reader::ReadTrace::read(&bytes);
    assert_eq!((read.troubles.malformed, read.slices.len()), (0, 0), "the reader passes over them");
    let trace = Trace::decode(&*bytes).unwrap();
    let bundles: Vec<Bundle> = trace.packet.into_iter().filter_map(|packet| packet.ftrace_events).collect();
    let (mut naps, mut wakes, mut all) = (0, 0, 0);
    let mut times = std::collections::HashMap::new();
    for bundle in bundles {
        for event in bundle.event {
            all += 1;
            let at = event.timestamp.unwrap();
            assert!((before..=after).contains(&at), "{at} in {before}..={after}");
            let last = times.insert(bundle.cpu.unwrap(), at);
            assert!(last.is_none_or(|last| last <= at), "time runs backwards");
            assert!(event.switch.is_some() != event.waking.is_some());
            if let Some(switch) = event.switch.filter(|switch| switch.prev_pid == Some(thread)) {
                assert_eq!(switch.prev_comm.as_deref(), Some("takes-a-nap"));
                assert_eq!(event.pid, Some(thread as u32));
                assert!(switch.next_comm.is_some_and(|name| !name.is_empty()) && switch.next_pid.is_some());
                // 1: it sleeps; 0: another thread has its processor; the end has others.
                naps += u32::from(switch.prev_state == Some(1));
            }
            if let Some(waking) = event.waking.filter(|waking| waking.pid == Some(thread)) {
                assert_eq!(waking.comm.as_deref(), Some("takes-a-nap"));
                wakes += 1;
            }
        }
    }
    assert_eq!((summary.scheduling_events, summary.scheduling_lost), (all, 0));
    assert!((20..40).contains(&naps) && wakes >= 20, "{naps} naps, woken {wakes} times");
    // Nothing remains in the kernel.
    for place in ["/sys/kernel/tracing/instances", "/sys/kernel/debug/tracing/instances"] {
        let Ok(entries) = Path::new(place).read_dir() else { continue };
        let own = format!("situ-{}-", std::process::id());
        assert!(!entries.flatten().any(|entry| entry.file_name().to_string_lossy().starts_with(&own)));
    }
}

#[test]
fn a_ring_keeps_the_newest_scheduling_events() {
    let _turn = TURN.lock().unwrap_or_else(PoisonError::into_inner);
    let scratch = Scratch::new();
    let sink = Sink::Ring { path: scratch.file(), bytes: 64 << 10 };
    let Some(collector) = begin(&scratch, sink) else { return };
    naps("first", 3);
    naps("second", 1500);
    let summary = collector.stop().unwrap();
    let trace = Trace::decode(&*std::fs::read(scratch.file()).unwrap()).unwrap();
    let bundles = trace.packet.into_iter().filter_map(|packet| packet.ftrace_events);
    let threads: Vec<String> =
        bundles.flat_map(|it| it.event).filter_map(|event| event.switch?.prev_comm).collect();
    assert!(summary.evicted > 0 && summary.bytes < 128 << 10);
    assert!(threads.iter().any(|name| name == "second") && !threads.iter().any(|name| name == "first"));
}
