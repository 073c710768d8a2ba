//! Services: the deaths of clients and servers.
#![cfg(not(loom))]

mod common;

use std::os::fd::AsFd;
use std::time::{Duration, Instant};

use common::service::{LONG, call, client, part, reply_to, server, take, try_call};
use common::{Scratch, role};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use situ_bus::{AnswerError, CallError, Interrupter, PublishError, ReadySources, ReplyError, Wait, WaitSet};
use situ_testkit::process::{Role, say};

#[test]
#[ignore = "played by the children of the other tests"]
fn child() {
    let Some((role, scratch)) = role() else { return };
    let node = scratch.node("child");
    match role.as_str() {
        "serve nothing" => {
            let server = server(&node);
            say("ready");
            let _taken = take(&server);
            say("taken");
            std::thread::sleep(Duration::MAX);
        }
        "stream" => {
            let server = server(&node);
            say("ready");
            let request = take(&server);
            part(&server, &request.id(), 1).unwrap();
            std::thread::sleep(Duration::MAX);
        }
        "call" => {
            let client = client(&node);
            call(&client, 1);
            say("called");
            while !client.wait(Some(LONG)) {}
            std::thread::sleep(Duration::MAX);
        }
        other => panic!("no such role: {other}"),
    }
}

/// How much too late a sleep of 3 ms ends, which a busy machine adds to every time.
fn lateness() -> Duration {
    let start = Instant::now();
    std::thread::sleep(Duration::from_millis(3));
    start.elapsed() - Duration::from_millis(3)
}

fn median(mut times: Vec<Duration>) -> Duration {
    times.sort();
    times[times.len() / 2]
}

const DEATHS: usize = 15;

/// A client that sleeps, and one that polls, learn within 10 ms that the server was killed.
#[test]
fn a_killed_server_is_an_error_within_10_ms() {
    for (role, polls) in [("serve nothing", false), ("serve nothing", true), ("stream", false)] {
        let (mut times, mut late) = (Vec::new(), Vec::new());
        for _ in 0..DEATHS {
            let scratch = Scratch::new();
            let client = client(&scratch.node("client"));
            let mut child = Role::start(&scratch, role);
            child.wait_for("ready");
            let call = call(&client, 1);
            if role == "stream" {
                assert_eq!(reply_to(&client, call), 1);
            } else {
                child.wait_for("taken");
            }
            assert!(client.receive_of(call, Some(Duration::from_millis(7))).unwrap().is_none());
            child.kill();
            let start = Instant::now();
            let result = match polls {
                false => client.receive_of(call, Some(LONG)),
                true => loop {
                    match client.take_of(call) {
                        Ok(None) => assert!(start.elapsed() < LONG),
                        other => break other,
                    }
                },
            };
            assert!(matches!(result, Err(ReplyError::ServerGone { .. })), "{result:?}");
            times.push(start.elapsed());
            assert!(matches!(try_call(&client, 2, None), Err(CallError::NoServer { .. })));
            late.push(lateness());
        }
        let (time, late) = (median(times), median(late));
        println!(
            "{role} (polls: {polls}): ServerGone after {time:.1?} (median of {DEATHS}), sleeps are {late:.1?} late"
        );
        assert!(time < Duration::from_millis(10) + 10 * late, "{time:?}");
    }
}

#[test]
fn a_killed_client_is_an_error_within_10_ms() {
    let mut times = Vec::new();
    for _ in 0..DEATHS {
        let scratch = Scratch::new();
        let server = server(&scratch.node("server"));
        let mut child = Role::start(&scratch, "call");
        child.wait_for("called");
        let request = take(&server);
        part(&server, &request.id(), 1).unwrap();
        std::thread::sleep(Duration::from_millis(7));
        assert!(!request.is_cancelled());
        child.kill();
        let start = Instant::now();
        let error = loop {
            match part(&server, &request.id(), 2) {
                Ok(()) | Err(AnswerError::Publish(PublishError::Full { .. })) => {
                    assert!(start.elapsed() < LONG);
                    std::thread::sleep(Duration::from_micros(300));
                }
                Err(error) => break error,
            }
        };
        assert!(matches!(error, AnswerError::ClientGone { .. }), "{error}");
        times.push(start.elapsed());
        assert!(request.is_cancelled());
        assert_eq!(server.answered_clients(), 0);
    }
    let (time, late) = (median(times), lateness());
    println!("ClientGone after {time:.1?} (median of {DEATHS}), a sleep is {late:.1?} late");
    assert!(time < Duration::from_millis(10) + 10 * late, "{time:?}");
}

/// Also if it has not answered them yet, and if they end in order.
#[test]
fn open_requests_of_clients_that_were_not_answered_are_cancelled_with_them() {
    let scratch = Scratch::new();
    let server = server(&scratch.node("server"));
    let mut child = Role::start(&scratch, "call");
    child.wait_for("called");
    let leaving = client(&scratch.node("client"));
    call(&leaving, 2);
    let requests = [take(&server), take(&server)];
    std::thread::sleep(Duration::from_millis(20));
    server.collect().unwrap();
    assert!(requests.iter().all(|request| !request.is_cancelled()));
    child.kill();
    drop(leaving);
    let start = Instant::now();
    while !requests.iter().all(|request| request.is_cancelled()) {
        assert!(start.elapsed() < LONG);
        std::thread::sleep(Duration::from_millis(5));
        server.collect().unwrap();
    }
    assert_eq!(server.answered_clients(), 0);
    // Only the topic of requests is left, and no other one is created while the requests exist.
    let topics = scratch.join("topics");
    assert_eq!(std::fs::read_dir(&topics).unwrap().count(), 1);
    let changed = || std::fs::metadata(&topics).unwrap().modified().unwrap();
    let before = changed();
    for _ in 0..10 {
        std::thread::sleep(Duration::from_millis(10));
        server.collect().unwrap();
    }
    assert_eq!(changed(), before);
}

/// Also if it has answered no client, and another thread works on the request.
#[test]
fn a_server_that_waits_cancels_open_requests_of_dead_clients() {
    let scratch = Scratch::new();
    let server = server(&scratch.node("server"));
    let mut child = Role::start(&scratch, "call");
    child.wait_for("called");
    let request = take(&server);
    let interrupter = Interrupter::new();
    std::thread::scope(|scope| {
        let working = scope.spawn(|| {
            std::thread::sleep(Duration::from_millis(20));
            child.kill();
            let start = Instant::now();
            while !request.is_cancelled() && start.elapsed() < LONG {
                std::thread::sleep(Duration::from_millis(5));
            }
            interrupter.interrupt();
            request.is_cancelled()
        });
        assert!(server.wait_with(Wait::limit(None).until(&interrupter)).is_err());
        assert!(working.join().unwrap());
    });
}

/// Only this server publishes its replies: another one of its node does not go on with the stream.
#[test]
fn a_stream_ends_with_its_server_although_another_one_of_its_node_remains() {
    let scratch = Scratch::new();
    let client = client(&scratch.node("client"));
    let node = scratch.node("servers");
    let (first, _second) = (server(&node), server(&node));
    let call = call(&client, 1);
    let request = take(&first);
    part(&first, &request.id(), 7).unwrap();
    assert_eq!(reply_to(&client, call), 7);
    assert!(client.receive_of(call, Some(Duration::from_millis(20))).unwrap().is_none());
    drop((request, first));
    let gone = client.receive_of(call, Some(LONG));
    assert!(matches!(gone, Err(ReplyError::ServerGone { .. })), "{gone:?}");
}

/// A client that never waits for room learns of it, too: a dead server needs no room.
#[test]
fn a_full_server_that_was_killed_is_no_server() {
    let scratch = Scratch::new();
    let client = client(&scratch.node("client"));
    let mut child = Role::start(&scratch, "serve nothing");
    child.wait_for("ready");
    let send = || {
        let loan = client.loan(8, 8, 0).unwrap();
        loan.send_now(None).map(|call| client.cancel(call))
    };
    let full = loop {
        if let Err(error) = send() {
            break error;
        }
    };
    assert!(matches!(full, CallError::Publish(PublishError::Full { .. })), "{full}");
    child.kill();
    let start = Instant::now();
    while !matches!(send(), Err(CallError::NoServer { .. })) {
        assert!(start.elapsed() < LONG);
        std::thread::sleep(Duration::from_millis(1));
    }
}

/// A wait set reports the server although no request comes, until the open request is cancelled.
#[test]
fn a_server_in_a_wait_set_checks_the_clients_of_open_requests() {
    for by_descriptor in [false, true] {
        let scratch = Scratch::new();
        let node = scratch.node("server");
        let server = server(&node);
        let mut child = Role::start(&scratch, "call");
        child.wait_for("called");
        let fd = by_descriptor.then(|| server.event_fd().unwrap());
        let (set, mut ready) = (WaitSet::new(&node), ReadySources::new());
        if fd.is_none() {
            set.attach(&server).unwrap();
        }
        let request = take(&server);
        // So many takes that they stop reading the clock.
        for _ in 0..1000 {
            assert!(server.take().unwrap().is_none());
        }
        child.kill();
        let start = Instant::now();
        while !request.is_cancelled() {
            assert!(start.elapsed() < LONG);
            match &fd {
                None => assert!(set.wait(&mut ready, Some(LONG)).unwrap()),
                Some(fd) => {
                    let limit = Timespec { tv_sec: 20, tv_nsec: 0 };
                    let mut polled = [PollFd::from_borrowed_fd(fd.as_fd(), PollFlags::IN)];
                    assert_eq!(poll(&mut polled, Some(&limit)).unwrap(), 1);
                    fd.clear();
                }
            }
            while server.take().unwrap().is_some() {}
        }
    }
}

/// A server that only waits leaves the topics of dead clients, and open requests of theirs are cancelled.
#[test]
fn a_server_that_waits_forgets_dead_clients() {
    let scratch = Scratch::new();
    let server = server(&scratch.node("server"));
    let mut child = Role::start(&scratch, "call");
    child.wait_for("called");
    let request = take(&server);
    part(&server, &request.id(), 1).unwrap();
    child.kill();
    let start = Instant::now();
    while server.answered_clients() > 0 {
        assert!(start.elapsed() < LONG);
        server.wait(Some(Duration::from_millis(20)));
    }
    assert!(request.is_cancelled());
    assert_eq!(std::fs::read_dir(scratch.join("topics")).unwrap().count(), 1);
}
