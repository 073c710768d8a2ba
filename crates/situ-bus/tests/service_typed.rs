//! Services of generated types: loans, values, streams, callbacks, async code and file descriptors.
#![cfg(not(loom))]

mod common;

use std::future::Future;
use std::os::fd::AsFd;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc;
use std::task::Poll;
use std::time::{Duration, Instant};

use common::messages::{Letter, Note, Pose, Scan, ScanBulkLengths};
use common::{Scratch, role};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use situ_bus::{
    AsyncCallError, Client, INVALID_REQUEST, Node, RawClient, ReceiveReplyError, ReceiveRequestError,
    Refusal, ReplyError, Server, ServiceOptions, describe_service,
};
use situ_testkit::process::{Role, say};

/// Long enough for a busy machine.
const LONG: Duration = Duration::from_secs(20);

type Poses = Client<Pose, Pose>;

fn poses(scratch: &Scratch) -> (Poses, Server<Pose, Pose>) {
    let client = scratch.node("client").client("poses").create().unwrap();
    (client, scratch.node("server").server("poses").create().unwrap())
}

fn pose(count: u64) -> Pose {
    Pose { count, place: [count as f64; 6] }
}

#[test]
fn requests_and_replies_are_built_and_read_in_place() {
    let scratch = Scratch::new();
    let node = scratch.node("both");
    let client = node.client::<Pose, Scan>("scan").create().unwrap();
    let server = node.server::<Pose, Scan>("scan").depth(16).create().unwrap();
    for count in 0..300 {
        let mut request = client.loan().unwrap();
        (request.count, request.place[5]) = (count, 0.5);
        let call = request.send().unwrap();
        let request = server.recv(Some(LONG)).unwrap().unwrap();
        assert_eq!((request.count, request.place[5], request.sample().is_copy()), (count, 0.5, false));
        let mut reply = server.loan_with(&request, ScanBulkLengths { ranges: 5000 }).unwrap();
        reply.count = count + 1;
        reply.bulk_mut(|scan| &scan.ranges)[4999] = count as f32;
        reply.send().unwrap();
        let reply = call.wait().unwrap();
        assert_eq!((reply.count, reply.bulk(|scan| &scan.ranges)[4999]), (count + 1, count as f32));
        assert!(!reply.is_copy());
    }
}

#[test]
fn values_on_the_heap_travel_too() {
    let scratch = Scratch::new();
    let node = scratch.node("both");
    let client = node.client::<Note, Note>("notes").create().unwrap();
    let server = node.server::<Note, Note>("notes").create().unwrap();
    for len in [0, 10, 100_000] {
        let note = Note { count: 1, text: vec![7; len] };
        let call = client.call(&note).unwrap();
        let request = server.take().unwrap().unwrap();
        assert_eq!(*request, note);
        server.reply(&request, &Note { count: 2, text: vec![8; len] }).unwrap();
        let reply = call.wait().unwrap();
        assert_eq!((reply.count, &reply.text), (2, &vec![8; len]));
    }
}

#[test]
fn a_stream_of_parts_ends_with_none() {
    let scratch = Scratch::new();
    let (client, server) = poses(&scratch);
    for ends_with_part in [false, true] {
        let mut call = client.call_within(&pose(3), LONG).unwrap();
        assert!(matches!(call.poll(), Ok(Poll::Pending)));
        let request = server.take().unwrap().unwrap();
        assert!(request.deadline_ns().is_some());
        for count in 0..3 {
            server.part(&request, &pose(count)).unwrap();
        }
        if ends_with_part {
            server.loan(&request).unwrap().send().unwrap();
        } else {
            server.end(&request).unwrap();
        }
        for count in 0..3 {
            assert_eq!(call.next().unwrap().unwrap().count, count);
        }
        if ends_with_part {
            assert_eq!(call.next().unwrap().unwrap().count, 0);
        }
        assert!(call.next().unwrap().is_none() && call.next().unwrap().is_none());
        assert!(matches!(call.poll(), Ok(Poll::Ready(None))));
    }
    let call = client.call(&pose(1)).unwrap();
    server.end(&server.take().unwrap().unwrap()).unwrap();
    assert!(matches!(call.wait(), Err(ReceiveReplyError::Empty { .. })));
}

/// Two servers answer each call, so a client that has not begun to take has no room for all replies.
#[test]
fn a_server_that_answers_by_itself_waits_a_little_for_room() {
    let is_complete = (0..5).any(|_| {
        let scratch = Scratch::new();
        let (client, server) = poses(&scratch);
        let second: Server<Pose, Pose> = scratch.node("second").server("poses").create().unwrap();
        let calls: Vec<_> = (0..64).map(|count| client.call(&pose(count)).unwrap().detach()).collect();
        let (is_full, mut left) = (AtomicBool::new(false), calls.len());
        std::thread::scope(|scope| {
            let is_full = &is_full;
            let serving = scope.spawn(move || {
                while left > 0 {
                    let served = server.serve(Some(LONG), |request| {
                        let other = second.take().unwrap().unwrap();
                        is_full.fetch_or(second.reply(&other, &pose(0)).is_err(), Ordering::SeqCst);
                        Ok(pose(request.count))
                    });
                    left -= served.unwrap();
                }
                (server, second)
            });
            while !is_full.load(Ordering::SeqCst) && !serving.is_finished() {
                std::hint::spin_loop();
            }
            let limit = Some(Duration::from_secs(1));
            let has_reply = |call: &u64| client.raw().receive_of(*call, limit).unwrap().is_some();
            calls.iter().all(has_reply)
        })
    });
    assert!(is_complete, "a client that took its replies did not get all of them");
}

#[test]
fn dropping_a_call_cancels_it() {
    let scratch = Scratch::new();
    let (client, server) = poses(&scratch);
    let call = client.call(&pose(1)).unwrap();
    let request = server.take().unwrap().unwrap();
    drop(call);
    server.collect().unwrap();
    assert!(request.is_cancelled());
    let number = client.call(&pose(2)).unwrap().detach();
    let request = server.take().unwrap().unwrap();
    server.collect().unwrap();
    assert!(!request.is_cancelled());
    server.reply(&request, &pose(3)).unwrap();
    assert!(client.raw().take_of(number).unwrap().is_some());
}

#[test]
fn a_server_answers_with_a_callback() {
    let scratch = Scratch::new();
    let (client, server) = poses(&scratch);
    let calls: Vec<_> = (0..5).map(|count| client.call(&pose(count)).unwrap()).collect();
    let answer = |request: &situ_bus::Request<Pose>| match request.count {
        3 => Err(Refusal { code: 5, text: "not three".to_owned() }),
        count => Ok(pose(count * 10)),
    };
    assert_eq!(server.serve(Some(LONG), answer).unwrap(), 5);
    assert_eq!(server.serve(Some(Duration::from_millis(1)), answer).unwrap(), 0);
    for (count, call) in calls.into_iter().enumerate() {
        match call.wait() {
            Ok(reply) => assert_eq!(reply.count, count as u64 * 10),
            Err(ReceiveReplyError::Reply(ReplyError::Refused { code: 5, text, .. })) => {
                assert_eq!((count, text.as_str()), (3, "not three"));
            }
            Err(error) => panic!("{error}"),
        }
    }
}

#[test]
fn a_client_receives_replies_by_callbacks() {
    let scratch = Scratch::new();
    let (client, server) = poses(&scratch);
    let mut client = client.with_callbacks();
    let (tell, told) = mpsc::channel();
    for count in 0..4 {
        let tell = tell.clone();
        let limit = (count == 3).then_some(Duration::from_millis(20));
        let receive = move |result: Result<Option<_>, ReceiveReplyError>| {
            let what = match result {
                Ok(Some(reply)) => {
                    let reply: situ_bus::Sample<Pose> = reply;
                    format!("{count}: {}", reply.count)
                }
                Ok(None) => format!("{count}: over"),
                Err(ReceiveReplyError::Reply(ReplyError::Deadline { .. })) => format!("{count}: late"),
                Err(error) => panic!("{error}"),
            };
            tell.send(what).unwrap();
        };
        client.call(&pose(count), limit, receive).unwrap();
    }
    // The fourth call may be over before the server looks: its limit is short.
    let requests: Vec<_> = (0..3).map(|_| server.take().unwrap().unwrap()).collect();
    let _fourth = server.take().unwrap();
    server.reply(&requests[1], &pose(11)).unwrap();
    server.part(&requests[0], &pose(20)).unwrap();
    server.part(&requests[0], &pose(21)).unwrap();
    server.end(&requests[0]).unwrap();
    let mut seen = Vec::new();
    let start = Instant::now();
    while seen.len() < 6 {
        assert!(start.elapsed() < LONG, "{seen:?}");
        client.dispatch(Some(Duration::from_millis(50))).unwrap();
        seen.extend(told.try_iter());
    }
    assert_eq!(seen, ["1: 11", "1: over", "0: 20", "0: 21", "0: over", "3: late"]);
    let waits = client.raw().is_under_way(requests[2].id().call);
    client.cancel(requests[2].id().call);
    server.collect().unwrap();
    assert!(waits && requests[2].is_cancelled());
}

#[test]
fn requests_and_replies_that_are_not_valid_are_refused() {
    let scratch = Scratch::new();
    let node = scratch.node("both");
    let server = node.server::<Letter, Letter>("letters").create().unwrap();
    let described = describe_service::<Letter, Letter>();
    let client = RawClient::create(&node, "letters", &described, &ServiceOptions::default()).unwrap();
    let mut loan = client.loan(size_of::<Letter>(), 8, 0).unwrap();
    loan.head_bytes().fill(0xff);
    let call = loan.send(None).unwrap();
    assert!(matches!(server.take(), Err(ReceiveRequestError::Receive(_))));
    let refused = client.receive_of(call, Some(LONG));
    assert!(matches!(refused, Err(ReplyError::Refused { code: INVALID_REQUEST, .. })), "{refused:?}");
}

fn serve(node: Node, requests: u64) -> std::thread::JoinHandle<()> {
    let server = node.server::<Pose, Pose>("poses").create().unwrap();
    std::thread::spawn(move || {
        let mut answered = 0;
        while answered < requests {
            let answer = |request: &situ_bus::Request<Pose>| Ok(pose(request.count + 1));
            answered += server.serve(Some(LONG), answer).unwrap() as u64;
        }
    })
}

#[tokio::test(flavor = "multi_thread", worker_threads = 3)]
async fn calls_are_awaited() {
    let scratch = Scratch::new();
    let server = serve(scratch.node("server"), 501);
    let client = scratch.node("client").client::<Pose, Pose>("poses").create().unwrap().into_async().unwrap();
    assert_eq!(client.call(&pose(1)).await.unwrap().count, 2);
    // Many at once, on several threads.
    let tasks: Vec<_> = (0..5)
        .map(|task| {
            let client = client.clone();
            tokio::spawn(async move {
                for round in 0..20u64 {
                    let count = task * 1000 + round * 10;
                    let calls: Vec<_> = (0..5).map(|add| client.call(&pose(count + add))).collect();
                    for (add, call) in calls.into_iter().enumerate() {
                        assert_eq!(call.await.unwrap().count, count + add as u64 + 1);
                    }
                }
            })
        })
        .collect();
    for task in tasks {
        tokio::time::timeout(LONG, task).await.expect("no call hangs").unwrap();
    }
    server.join().unwrap();
    let error = client.call(&pose(1)).await.unwrap_err();
    assert!(matches!(error, AsyncCallError::Call(_)), "{error}");
}

#[tokio::test]
async fn requests_are_a_stream_and_replies_too() {
    let scratch = Scratch::new();
    let (client, server) = poses(&scratch);
    let (client, mut requests) = (client.into_async().unwrap(), server.into_stream().unwrap());
    let mut call = client.call_in_place(None, |pose| pose.count = 3).unwrap();
    let request = tokio::time::timeout(LONG, requests.receive()).await.unwrap().unwrap();
    for count in 0..request.count {
        let (part, sent) = tokio::join!(tokio::time::timeout(LONG, call.receive()), async {
            tokio::time::sleep(Duration::from_millis(2)).await;
            requests.server().part(&request, &pose(count))
        });
        sent.unwrap();
        assert_eq!(part.unwrap().unwrap().unwrap().count, count);
    }
    requests.server().end(&request).unwrap();
    assert!(tokio::time::timeout(LONG, call.receive()).await.unwrap().is_none());
    // A call that is dropped.
    drop(client.stream(&pose(1), None).unwrap());
    let request = tokio::time::timeout(LONG, requests.receive()).await.unwrap().unwrap();
    requests.server().collect().unwrap();
    assert!(request.is_cancelled());
}

#[test]
#[ignore = "played by the children of the other tests"]
fn child() {
    let Some((role, scratch)) = role() else { return };
    assert_eq!(role, "serve nothing");
    let server = scratch.node("child").server::<Pose, Pose>("poses").create().unwrap();
    say("ready");
    let _request = server.recv(None);
    say("taken");
    std::thread::sleep(Duration::MAX);
}

#[tokio::test]
async fn awaited_calls_end_with_their_deadline_and_with_their_server() {
    let scratch = Scratch::new();
    let mut child = Role::start(&scratch, "serve nothing");
    child.wait_for("ready");
    let client = scratch.node("client").client::<Pose, Pose>("poses").create().unwrap().into_async().unwrap();
    let start = Instant::now();
    let late = client.call_within(&pose(1), Duration::from_millis(20)).await.unwrap_err();
    let is_late =
        matches!(late, AsyncCallError::Reply(ReceiveReplyError::Reply(ReplyError::Deadline { .. })));
    assert!(is_late, "{late}");
    assert!((Duration::from_millis(20)..LONG).contains(&start.elapsed()));
    let mut call = std::pin::pin!(client.call(&pose(2)));
    child.wait_for("taken");
    assert!(tokio::time::timeout(Duration::from_millis(10), &mut call).await.is_err());
    child.kill();
    let start = Instant::now();
    let gone = tokio::time::timeout(LONG, call).await.expect("it is woken").unwrap_err();
    println!("ServerGone after {:.1?} in async code", start.elapsed());
    let is_gone =
        matches!(gone, AsyncCallError::Reply(ReceiveReplyError::Reply(ReplyError::ServerGone { .. })));
    assert!(is_gone, "{gone}");
    assert!(start.elapsed() < Duration::from_millis(100));
    fn is_send(_: impl Future + Send) {}
    is_send(client.call(&pose(3)));
}

/// A task that waits is woken every few milliseconds, and not all the time.
#[tokio::test]
async fn a_task_that_waits_sleeps() {
    let scratch = Scratch::new();
    let (client, server) = poses(&scratch);
    let client = client.into_async().unwrap();
    let mut patient = std::pin::pin!(client.call(&pose(1)));
    let quick = client.call_within(&pose(2), Duration::from_millis(5));
    let requests = [server.take().unwrap().unwrap(), server.take().unwrap().unwrap()];
    server.reply(&requests[1], &pose(3)).unwrap();
    assert_eq!(quick.await.unwrap().count, 3);
    let mut polls = 0;
    let counted = std::future::poll_fn(|context| {
        polls += 1;
        patient.as_mut().poll(context)
    });
    assert!(tokio::time::timeout(Duration::from_millis(200), counted).await.is_err());
    assert!((10..300).contains(&polls), "{polls} polls in 200 ms");
    server.reply(&requests[0], &pose(2)).unwrap();
    assert_eq!(patient.await.unwrap().count, 2);
}

#[test]
fn a_descriptor_is_readable_for_replies_deadlines_and_deaths() {
    let scratch = Scratch::new();
    let (client, server) = poses(&scratch);
    let fd = client.raw().event_fd().unwrap();
    let of_server = server.raw().event_fd().unwrap();
    let is_readable = |fd: &situ_bus::EventFd, time: Duration| {
        let timeout = Timespec { tv_sec: time.as_secs() as i64, tv_nsec: time.subsec_nanos().into() };
        poll(&mut [PollFd::from_borrowed_fd(fd.as_fd(), PollFlags::IN)], Some(&timeout)).unwrap() == 1
    };
    assert!(!is_readable(&fd, Duration::from_millis(10)));
    let call = client.call(&pose(1)).unwrap();
    assert!(is_readable(&of_server, LONG));
    server.reply(&server.take().unwrap().unwrap(), &pose(2)).unwrap();
    assert!(is_readable(&fd, LONG));
    assert_eq!(call.wait().unwrap().count, 2);
    // Without a reply: as often as it is needed until the deadline, and until the server's end.
    let take = || {
        let start = Instant::now();
        loop {
            assert!(start.elapsed() < LONG && is_readable(&fd, LONG));
            fd.clear();
            match client.raw().take() {
                Ok(None) => {}
                other => break other,
            }
        }
    };
    client.call_within(&pose(1), Duration::from_millis(30)).unwrap().detach();
    assert!(matches!(take(), Err(ReplyError::Deadline { .. })));
    client.call(&pose(1)).unwrap().detach();
    drop(server);
    assert!(matches!(take(), Err(ReplyError::ServerGone { .. })));
    std::thread::sleep(Duration::from_millis(10));
    fd.clear();
    assert!(!is_readable(&fd, Duration::from_millis(20)), "no call is under way");
}
