//! Waiting in every way: for one of very many topics, with epoll, in async code, and with looks before the
//! sleep. Also the one order of messages that all subscribers see.
#![cfg(not(loom))]

mod common;

use std::collections::HashMap;
use std::os::fd::AsFd;
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Barrier, Mutex, mpsc};
use std::task::{Context, Poll, Wake, Waker};
use std::time::{Duration, Instant};

use common::Scratch;
use common::messages::{Note, Pose, publish_pose, take_pose};
use futures_core::Stream;
use rustix::event::{Timespec, epoll};
use situ_bus::{EventFd, Messages, ReadySources, Subscriber, WaitSet, WhenFull, wait_any};

/// Longer than any step here, shorter than any time limit of the bus.
const TIMEOUT: Duration = Duration::from_secs(20);

#[test]
fn wait_any_takes_more_topics_than_the_kernel() {
    let scratch = Scratch::new();
    let node = scratch.node("n");
    let names: Vec<String> = (0..150).map(|index| format!("topic/{index}")).collect();
    let subscribers: Vec<_> =
        names.iter().map(|name| node.subscriber::<Pose>(name).create().unwrap()).collect();
    let all: Vec<_> = subscribers.iter().map(|subscriber| subscriber.raw()).collect();
    assert_eq!(wait_any(&all, Some(Duration::from_millis(5))), None);
    assert_eq!(wait_any(&[], Some(Duration::from_millis(5))), None);
    for index in [149, 0, 77] {
        let publisher = node.publisher::<Pose>(&names[index]).create().unwrap();
        std::thread::scope(|scope| {
            scope.spawn(move || {
                std::thread::sleep(Duration::from_millis(10));
                publish_pose(&publisher, 5);
            });
            assert_eq!(wait_any(&all, Some(TIMEOUT)), Some(index));
        });
        assert_eq!(take_pose(&subscribers[index]), Some(5));
    }
}

/// Whether the descriptor becomes readable within this time.
fn readable(epoll: &impl AsFd, time: Duration) -> bool {
    let time = Timespec { tv_sec: time.as_secs() as i64, tv_nsec: time.subsec_nanos().into() };
    let mut events = [epoll::Event { flags: epoll::EventFlags::empty(), data: epoll::EventData::new_u64(0) }];
    epoll::wait(epoll, &mut events, Some(&time)).unwrap() > 0
}

fn epoll_of(descriptor: &EventFd) -> impl AsFd + use<> {
    let epoll = epoll::create(epoll::CreateFlags::CLOEXEC).unwrap();
    epoll::add(&epoll, descriptor, epoll::EventData::new_u64(1), epoll::EventFlags::IN).unwrap();
    epoll
}

fn open_files() -> usize {
    std::fs::read_dir("/proc/self/fd").unwrap().count()
}

#[test]
fn a_descriptor_reports_every_message_to_epoll() {
    let scratch = Scratch::new();
    let node = scratch.node("n");
    let subscriber = node.subscriber::<Pose>("poses").create().unwrap();
    let publisher = node.publisher::<Pose>("poses").create().unwrap();
    // A message from before the descriptor was made makes it readable as well.
    publish_pose(&publisher, 0);
    let descriptor = subscriber.event_fd().unwrap();
    let epoll = epoll_of(&descriptor);
    let (go, went) = mpsc::channel();
    let publishing = std::thread::spawn(move || {
        for count in went.iter().flatten() {
            publish_pose(&publisher, count);
        }
        // It stays until the end: a publisher that leaves makes the descriptor readable, too.
        publisher
    });
    let mut expected = 0;
    for round in 0..200u64 {
        if round > 0 {
            go.send((expected..expected + round % 4 + 1).collect::<Vec<_>>()).unwrap();
        }
        let last = if round > 0 { expected + round % 4 } else { 0 };
        while expected <= last {
            assert!(readable(&epoll, TIMEOUT), "message {expected} was not reported");
            descriptor.clear();
            while let Some(count) = take_pose(&subscriber) {
                assert_eq!(count, expected);
                expected += 1;
            }
        }
    }
    drop(go);
    let _publisher = publishing.join().unwrap();
    // The watching thread may report messages that were taken meanwhile once more, and late if the machine is
    // busy. After that the descriptor is quiet.
    let mut late = 0;
    while readable(&epoll, Duration::from_millis(50)) {
        descriptor.clear();
        late += 1;
        assert!(late <= 2, "the descriptor never becomes quiet");
    }
}

#[test]
fn descriptors_are_given_back() {
    let scratch = Scratch::new();
    let node = scratch.node("n");
    let subscriber = node.subscriber::<Pose>("poses").create().unwrap();
    drop(subscriber.event_fd().unwrap());
    let start = Instant::now();
    loop {
        let before = open_files();
        (0..50).for_each(|_| drop(subscriber.event_fd().unwrap()));
        // The watching thread releases them at its next check.
        std::thread::sleep(Duration::from_millis(150));
        if open_files() <= before + 5 {
            return;
        }
        // Other tests of this process open files, too.
        assert!(start.elapsed() < TIMEOUT, "{before} files, then {}", open_files());
    }
}

#[tokio::test]
async fn messages_are_received_in_async_code() {
    let scratch = Scratch::new();
    let node = scratch.node("n");
    let mut messages = node.subscriber::<Pose>("poses").create().unwrap().into_stream().unwrap();
    let publisher = node.publisher::<Pose>("poses").create().unwrap();
    // Dropping a future loses no message.
    for _ in 0..3 {
        assert!(tokio::time::timeout(Duration::from_millis(5), messages.receive()).await.is_err());
    }
    publish_pose(&publisher, 1);
    let received = tokio::time::timeout(TIMEOUT, messages.receive()).await.unwrap().unwrap();
    assert_eq!((received.count, received.sequence()), (1, 0));
    let publishing = std::thread::spawn(move || {
        for count in 2..200 {
            publish_pose(&publisher, count);
            std::thread::sleep(Duration::from_micros(count * 5));
        }
    });
    let mut last = 1;
    while last < 199 {
        let received = tokio::time::timeout(TIMEOUT, messages.receive()).await.expect("it is woken").unwrap();
        assert!(received.count > last);
        last = received.count;
    }
    publishing.join().unwrap();
    assert_eq!(messages.subscriber().raw().taken() + messages.subscriber().raw().lost(), 199);
}

#[tokio::test]
async fn a_stream_of_many_topics() {
    let scratch = Scratch::new();
    let node = scratch.node("n");
    let tasks: Vec<_> = (0..20)
        .map(|topic| {
            let name = format!("notes/{topic}");
            // The other topics may take long: none is polled before all of them exist.
            let publisher =
                node.publisher::<Note>(&name).reliable().when_full(WhenFull::Block(None)).depth(4);
            let publisher = publisher.create().unwrap();
            let mut stream =
                node.subscriber::<Note>(&name).reliable().create().unwrap().into_stream().unwrap();
            std::thread::spawn(move || {
                for count in 0..20u64 {
                    let note = Note { count, text: vec![topic as u8; count as usize] };
                    publisher.publish(&note).unwrap();
                }
            });
            async move {
                for count in 0..20 {
                    let next = std::future::poll_fn(|context| Pin::new(&mut stream).poll_next(context));
                    let note = tokio::time::timeout(TIMEOUT, next).await.unwrap().unwrap().unwrap();
                    assert_eq!((note.count, note.text.len()), (count, count as usize));
                    assert!(note.is_copy() && note.text.iter().all(|byte| *byte == topic as u8));
                }
            }
        })
        .collect();
    let local = tokio::task::LocalSet::new();
    let handles: Vec<_> = tasks.into_iter().map(|task| local.spawn_local(task)).collect();
    local.await;
    for handle in handles {
        handle.await.unwrap();
    }
}

/// An executor that polls in the waking thread, the watching one, within `wake`.
struct Inline {
    messages: Mutex<Messages<Pose>>,
    received: mpsc::Sender<u64>,
}

impl Inline {
    fn poll(self: Arc<Self>) {
        let waker = Waker::from(self.clone());
        let mut context = Context::from_waker(&waker);
        while let Poll::Ready(Some(pose)) = {
            let mut messages = self.messages.lock().unwrap();
            Pin::new(&mut *messages).poll_next(&mut context)
        } {
            self.received.send(pose.unwrap().count).unwrap();
        }
    }
}

impl Wake for Inline {
    fn wake(self: Arc<Self>) {
        self.poll();
    }
}

#[test]
fn a_waker_may_poll_at_once() {
    let scratch = Scratch::new();
    let node = scratch.node("n");
    let messages = node.subscriber::<Pose>("poses").create().unwrap().into_stream().unwrap();
    let publisher = node.publisher::<Pose>("poses").create().unwrap();
    let (sender, received) = mpsc::channel();
    Arc::new(Inline { messages: Mutex::new(messages), received: sender }).poll();
    for count in 0..50 {
        publish_pose(&publisher, count);
        assert_eq!(received.recv_timeout(TIMEOUT), Ok(count));
    }
}

const PARTIES: usize = 8;
const EACH: u64 = 300;

/// Eight publishers and eight subscribers, each on a thread of its own. Returns the messages that each
/// subscriber saw, as number and content.
fn all_to_all(reliable: bool) -> Vec<Vec<(u64, u64)>> {
    let scratch = Scratch::new();
    let (ready, done) = (Barrier::new(2 * PARTIES), AtomicBool::new(false));
    std::thread::scope(|scope| {
        let subscribers: Vec<_> = (0..PARTIES)
            .map(|_| {
                let (scratch, ready, done) = (&scratch, &ready, &done);
                scope.spawn(move || {
                    let node = scratch.node("s");
                    let subscriber = node.subscriber::<Pose>("poses");
                    let subscriber = if reliable { subscriber.reliable() } else { subscriber };
                    let subscriber = subscriber.create().unwrap();
                    ready.wait();
                    let mut seen = Vec::new();
                    loop {
                        // First checks for the end, then takes the rest.
                        let over = done.load(Ordering::SeqCst);
                        while let Some(pose) = subscriber.take().unwrap() {
                            seen.push((pose.sequence(), pose.count));
                        }
                        if over {
                            return seen;
                        }
                        subscriber.wait(Some(Duration::from_millis(10)));
                    }
                })
            })
            .collect();
        let publishers: Vec<_> = (0..PARTIES as u64)
            .map(|name| {
                let (scratch, ready) = (&scratch, &ready);
                scope.spawn(move || {
                    let node = scratch.node("p");
                    // A slow machine shares its cores among sixteen threads: none gives up before its turn
                    // comes.
                    let publisher =
                        node.publisher::<Pose>("poses").depth(16).when_full(WhenFull::Block(None));
                    let publisher = if reliable { publisher.reliable() } else { publisher };
                    let publisher = publisher.create().unwrap();
                    ready.wait();
                    (0..EACH).for_each(|count| publish_pose(&publisher, name << 32 | count));
                    publisher
                })
            })
            .collect();
        // They stay until everything is taken.
        let publishers: Vec<_> = publishers.into_iter().map(|thread| thread.join()).collect();
        // Also if one of them failed, because the subscribers would otherwise never end.
        done.store(true, Ordering::SeqCst);
        let publishers: Vec<_> = publishers.into_iter().map(Result::unwrap).collect();
        let seen = subscribers.into_iter().map(|thread| thread.join().unwrap()).collect();
        drop(publishers);
        seen
    })
}

#[test]
fn all_see_one_order() {
    let seen = all_to_all(true);
    assert_eq!(seen[0].len() as u64, PARTIES as u64 * EACH);
    assert!(seen[0].iter().enumerate().all(|(index, (number, _))| index as u64 == *number), "no hole");
    for name in 0..PARTIES as u64 {
        let counts: Vec<_> =
            seen[0].iter().map(|(_, count)| *count).filter(|count| count >> 32 == name).collect();
        assert_eq!(counts, (0..EACH).map(|count| name << 32 | count).collect::<Vec<_>>(), "its own order");
    }
    assert!(seen.iter().all(|other| *other == seen[0]), "the same for all");
}

#[test]
fn all_see_one_order_even_if_they_miss_some() {
    let seen = all_to_all(false);
    let mut order = HashMap::new();
    for seen in seen {
        assert!(seen.windows(2).all(|pair| pair[0].0 < pair[1].0));
        for (number, count) in seen {
            assert_eq!(*order.entry(number).or_insert(count), count, "message {number}");
        }
    }
    assert!(order.len() > PARTIES);
}

#[test]
fn a_set_that_looks_before_it_sleeps_misses_nothing() {
    let scratch = Scratch::new();
    let node = scratch.node("n");
    // All waits count as short, so both sides look after the first few.
    let set_of = |subscriber: &Subscriber<Pose>| {
        let set = WaitSet::new(&node);
        set.set_spin(Duration::from_secs(3600));
        set.attach(subscriber).unwrap();
        set
    };
    let wait = |set: &WaitSet, time| set.wait(&mut ReadySources::new(), Some(time)).unwrap();
    let requests = node.subscriber::<Pose>("requests").create().unwrap();
    let answers = node.subscriber::<Pose>("answers").create().unwrap();
    let requesting = node.publisher::<Pose>("requests").create().unwrap();
    let answering = node.publisher::<Pose>("answers").create().unwrap();
    let (on_requests, on_answers) = (set_of(&requests), set_of(&answers));
    let answerer = std::thread::spawn(move || {
        for count in 0..500 {
            assert!(wait(&on_requests, 3 * TIMEOUT));
            assert_eq!(take_pose(&requests), Some(count));
            publish_pose(&answering, count);
        }
        answering
    });
    for count in 0..500 {
        publish_pose(&requesting, count);
        assert!(wait(&on_answers, 3 * TIMEOUT));
        assert_eq!(take_pose(&answers), Some(count));
    }
    let answering = answerer.join().unwrap();
    // The limit of a wait holds, whether it looks or sleeps.
    (0..10).for_each(|_| assert!(!wait(&on_answers, Duration::from_millis(20))));
    on_answers.set_spin(Duration::ZERO);
    publish_pose(&answering, 7);
    assert!(wait(&on_answers, 3 * TIMEOUT));
}
