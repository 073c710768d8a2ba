//! Clients and servers are killed at random moments, some after they were forked. Afterwards no process may
//! hang, nothing may leak, no torn request or reply may be read, and no call may get the reply to
//! another one.
//!
//! `make chaos KILLS=10000` runs the same with more kills.
#![cfg(not(loom))]

mod common;

use std::collections::VecDeque;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use common::pattern::{HEAD, bytes, check};
use common::watched::{Beats, TIMEOUT, kill_at_random, kills};
use common::{Scratch, numbers, role};
use situ_bus::{
    AnswerError, CallError, PublishError, RawClient, RawReplyLoan, RawRequest, RawServer, ReplyError,
    RequestId, ServiceDescription, ServiceOptions, clean,
};
use situ_testkit::Random;
use situ_testkit::process::{Role, say};

/// The longest time of a call. A server may drop a request, or be stopped.
const LIMIT: Duration = Duration::from_millis(300);
/// The code of refusals.
const REFUSED: u64 = 7;

/// Requests and replies that lie in slots.
const LARGE: &str = "large";
/// Those that travel in rows.
const SMALL: &str = "small";

fn described(service: &str) -> ServiceDescription {
    let mut one = numbers();
    one.fixed_size = if service == SMALL { 64 } else { 0 };
    ServiceDescription { request: one.clone(), reply: one }
}

/// A small message: a name, a count, and six words that follow from them.
fn small(name: u64, count: u64) -> Vec<u8> {
    let word = |index| name.rotate_left(7).wrapping_mul(count.wrapping_add(index) | 1);
    [name, count].into_iter().chain((0..6).map(word)).flat_map(u64::to_ne_bytes).collect()
}

/// Checks a message of either kind. Returns its name and its count.
fn checked(service: &str, sample: &situ_bus::RawSample) -> (u64, u64) {
    if service == LARGE {
        return check(sample);
    }
    let head = sample.head_in_place();
    let number = |at: usize| u64::from_ne_bytes(head[at..at + 8].try_into().unwrap());
    assert_eq!(head, small(number(0), number(8)), "a torn message");
    (number(0), number(8))
}

/// A client with calls under way. A reply has the name of its request, and the count of its part behind that
/// of the request.
struct Caller<'r> {
    client: RawClient,
    service: &'static str,
    random: &'r mut Random,
    /// The calls: their number, name and count, and the number of parts that have come.
    calls: Vec<(u64, u64, u64, u64)>,
    count: u64,
    name: u64,
}

impl<'r> Caller<'r> {
    fn new(scratch: &Scratch, service: &'static str, random: &'r mut Random) -> Self {
        let node = scratch.node("client");
        let options = ServiceOptions { max_calls: 6, depth: 8, ..ServiceOptions::default() };
        let client = RawClient::create(&node, service, &described(service), &options).unwrap();
        let name = random.number();
        Self { client, service, random, calls: Vec::new(), count: 0, name }
    }

    fn begin(&mut self) {
        self.count += 1 << 20;
        let limit = Some(LIMIT);
        let sent = if self.service == LARGE {
            let most = if self.random.below(8) == 0 { 70_000 } else { 500 };
            let body = self.random.below(most) as usize;
            let (head, body) = bytes(self.name, self.count, body);
            self.client.loan(HEAD, 8, body.len()).map_err(CallError::from).and_then(|mut loan| {
                loan.head_bytes().copy_from_slice(&head);
                loan.body_bytes().copy_from_slice(&body);
                loan.send(limit)
            })
        } else {
            self.client.loan(64, 8, 0).map_err(CallError::from).and_then(|mut loan| {
                loan.head_bytes().copy_from_slice(&small(self.name, self.count));
                loan.send(limit)
            })
        };
        match sent {
            Ok(call) => self.calls.push((call, self.name, self.count, 0)),
            Err(CallError::NoServer { .. } | CallError::TooMany { .. }) => {
                std::thread::sleep(Duration::from_millis(1));
            }
            // A server that is stopped.
            Err(CallError::Publish(PublishError::Full { .. })) => {}
            Err(error) => panic!("{error}"),
        }
    }

    /// Returns whether a call was answered.
    fn receive(&mut self) -> bool {
        let start = Instant::now();
        if !self.client.wait(Some(Duration::from_millis(20))) {
            return false;
        }
        assert!(start.elapsed() < Duration::from_secs(10), "it waited for {:?}", start.elapsed());
        match self.client.take() {
            Ok(None) => false,
            Ok(Some(reply)) => {
                let index = self.calls.iter().position(|call| call.0 == reply.call()).expect("its own call");
                let (_, name, count, parts) = &mut self.calls[index];
                if reply.has_content() {
                    assert_eq!(
                        checked(self.service, reply.sample()),
                        (*name, *count + *parts),
                        "its own reply"
                    );
                    *parts += 1;
                }
                if reply.is_last() {
                    self.calls.swap_remove(index);
                }
                true
            }
            Err(error) => {
                let is_expected = match &error {
                    ReplyError::ServerGone { .. } | ReplyError::Deadline { .. } => true,
                    ReplyError::Refused { code, text, .. } => *code == REFUSED && text == "no",
                    _ => false,
                };
                assert!(is_expected, "{error}");
                let call = error.call().unwrap();
                self.calls.retain(|known| known.0 != call);
                false
            }
        }
    }

    /// Returns whether a call was answered.
    fn step(&mut self) -> bool {
        if self.calls.len() < 5 && self.random.below(3) > 0 {
            self.begin();
        }
        if self.random.below(40) == 0
            && let Some((call, ..)) = self.calls.pop()
        {
            match self.client.cancel(call) {
                Ok(()) | Err(CallError::Publish(PublishError::Full { .. })) => {}
                Err(error) => panic!("{error}"),
            }
        }
        self.receive()
    }
}

/// A server with open requests, which it answers in any order.
struct Answerer<'r> {
    server: RawServer,
    service: &'static str,
    random: &'r mut Random,
    open: VecDeque<RawRequest>,
}

impl<'r> Answerer<'r> {
    fn new(scratch: &Scratch, service: &'static str, random: &'r mut Random) -> Self {
        let node = scratch.node("server");
        let options = ServiceOptions { depth: 8, ..ServiceOptions::default() };
        let server = RawServer::create(&node, service, &described(service), &options).unwrap();
        Self { server, service, random, open: VecDeque::new() }
    }

    fn lend(&mut self, id: &RequestId, name: u64, count: u64) -> Result<RawReplyLoan<'_>, AnswerError> {
        if self.service == SMALL {
            let mut loan = self.server.loan(id, 64, 8, 0)?;
            loan.head_bytes().copy_from_slice(&small(name, count));
            return Ok(loan);
        }
        let (head, body) = bytes(name, count, self.random.below(2000) as usize);
        let mut loan = self.server.loan(id, HEAD, 8, body.len())?;
        loan.head_bytes().copy_from_slice(&head);
        loan.body_bytes().copy_from_slice(&body);
        Ok(loan)
    }

    fn answer(&mut self, request: &RawRequest) -> Result<(), AnswerError> {
        let (name, count) = checked(self.service, request.sample());
        let id = request.id();
        match self.random.below(8) {
            0 => return self.server.refuse(&id, REFUSED, "no"),
            1 => {
                for part in 0..3 {
                    self.lend(&id, name, count + part)?.send_part_within(Duration::from_millis(2))?;
                }
                return self.server.end(&id);
            }
            2 => self.lend(&id, name, count)?.send_part()?,
            // Another server may answer.
            3 => return Ok(()),
            _ => return self.lend(&id, name, count)?.send(),
        }
        self.lend(&id, name, count + 1)?.send()
    }

    /// Returns whether it answered a request.
    fn step(&mut self) -> bool {
        self.server.wait(Some(Duration::from_millis(20)));
        if let Some(request) = self.server.take().unwrap() {
            self.open.push_back(request);
        }
        if self.open.len() < 4 && self.random.below(3) > 0 {
            return false;
        }
        let index = self.random.below(self.open.len().max(1) as u64) as usize;
        let Some(request) = self.open.remove(index) else { return false };
        match self.answer(&request) {
            Ok(()) => true,
            // Killed, or stopped.
            Err(AnswerError::ClientGone { .. } | AnswerError::Publish(PublishError::Full { .. })) => false,
            Err(error) => panic!("{error}"),
        }
    }
}

#[test]
#[ignore = "played by the children of the other tests"]
fn child() {
    let Some((role, scratch)) = role() else { return };
    if matches!(role.as_str(), "waits" | "serves") {
        return hold_a_call(&scratch, &role);
    }
    let index = std::env::var("SITU_TEST_INDEX").unwrap().parse().unwrap();
    let beats = Beats::open(scratch.with_extension("beats"));
    let beat = || _ = beats.of(index).fetch_add(1, Ordering::Relaxed);
    // Includes the time, because process numbers are reused.
    let mut random = Random(situ_bus::now_ns() ^ u64::from(std::process::id()) << 40 ^ index as u64);
    let (what, service) = role.split_once(' ').unwrap();
    let service = if service == LARGE { LARGE } else { SMALL };
    match what {
        "call" => {
            let mut caller = Caller::new(&scratch, service, &mut random);
            loop {
                caller.step();
                beat();
            }
        }
        "serve" => {
            let mut answerer = Answerer::new(&scratch, service, &mut random);
            loop {
                answerer.step();
                beat();
            }
        }
        "fork" => {
            // SAFETY: ended children leave nothing that has to be waited for.
            unsafe { libc::signal(libc::SIGCHLD, libc::SIG_IGN) };
            if random.below(2) == 0 {
                let mut caller = Caller::new(&scratch, service, &mut random);
                loop {
                    (0..10).for_each(|_| _ = caller.step());
                    beat();
                    leave_a_child();
                }
            }
            let mut answerer = Answerer::new(&scratch, service, &mut random);
            loop {
                (0..10).for_each(|_| _ = answerer.step());
                beat();
                leave_a_child();
            }
        }
        "come" => loop {
            if random.below(2) == 0 {
                let mut caller = Caller::new(&scratch, service, &mut random);
                (0..10).for_each(|_| _ = caller.step());
            } else {
                let mut answerer = Answerer::new(&scratch, service, &mut random);
                (0..10).for_each(|_| _ = answerer.step());
            }
            beat();
        },
        other => panic!("no such role: {other}"),
    }
}

/// For the tests of recovery: takes a request, or sends one, and does no more until it is killed.
fn hold_a_call(scratch: &Scratch, role: &str) {
    let (node, options) = (scratch.node(role), ServiceOptions::default());
    if role == "waits" {
        let client = RawClient::create(&node, SMALL, &described(SMALL), &options).unwrap();
        assert!(client.wait_for_server(Some(TIMEOUT)));
        let mut loan = client.loan(64, 8, 0).unwrap();
        loan.head_bytes().copy_from_slice(&small(1, 1));
        loan.send(None).unwrap();
        say("holds");
        std::thread::sleep(TIMEOUT);
        return;
    }
    let server = RawServer::create(&node, SMALL, &described(SMALL), &options).unwrap();
    say("serves");
    assert!(server.wait(Some(TIMEOUT)));
    let _request = server.take().unwrap().unwrap();
    say("holds");
    std::thread::sleep(TIMEOUT);
}

/// Forks a child that has all that this process has, and that outlives it for a while if it is killed soon.
fn leave_a_child() {
    // SAFETY: the child only sleeps and ends.
    unsafe {
        if libc::fork() == 0 {
            libc::usleep(30_000);
            libc::_exit(0);
        }
    }
}

const ROLES: [&str; 10] = [
    "call large",
    "call small",
    "serve large",
    "serve small",
    "call large",
    "call small",
    "come large",
    "come small",
    "fork large",
    "fork small",
];

#[test]
fn clients_and_servers_are_killed_at_random() {
    let kills = kills(150);
    let mut random = Random::seeded("clients and servers");
    let scratch = Scratch::new();
    let start = Instant::now();
    let pause = |random: &mut Random| match random.below(4) {
        0 => 0,
        1 => random.below(2000),
        _ => random.below(40_000),
    };
    // A client and a server that are not killed: calls are answered all the time.
    let silence_ns = AtomicU64::new(0);
    let call = |seen: &AtomicU64, stop: &AtomicBool| {
        let mut random = Random(1);
        let mut caller = Caller::new(&scratch, LARGE, &mut random);
        let mut answered = Instant::now();
        while !stop.load(Ordering::Relaxed) {
            if caller.step() {
                seen.fetch_add(1, Ordering::Relaxed);
                silence_ns.fetch_max(answered.elapsed().as_nanos() as u64, Ordering::Relaxed);
                answered = Instant::now();
            }
        }
    };
    let serve = |service| {
        let scratch = &scratch;
        move |seen: &AtomicU64, stop: &AtomicBool| {
            let mut random = Random(2);
            let mut answerer = Answerer::new(scratch, service, &mut random);
            while !stop.load(Ordering::Relaxed) {
                seen.fetch_add(u64::from(answerer.step()), Ordering::Relaxed);
            }
        }
    };
    let (large, small) = (serve(LARGE), serve(SMALL));
    let outcome =
        kill_at_random(&scratch, &mut random, &ROLES, [&call, &large, &small], (kills, pause), || {});
    println!(
        "{kills} kills in {:.1?}: the witnesses got {} replies, and gave {} and {}; no reply came for at most {:.1?}; \
         at most {} KiB of memory",
        start.elapsed(),
        outcome.seen[0],
        outcome.seen[1],
        outcome.seen[2],
        Duration::from_nanos(silence_ns.into_inner()),
        outcome.most_memory >> 10
    );
    assert!(outcome.most_memory < 96 << 20, "memory leaks: {} bytes", outcome.most_memory);
    clean(&scratch.root()).unwrap();
    assert_eq!(scratch.files(), Vec::<PathBuf>::new(), "files leak");
    assert_eq!(std::fs::read_dir(scratch.join("topics")).unwrap().count(), 0, "directories leak");
}

/// Prints the median and the longest of some times.
fn print_times(what: &str, mut times: Vec<Duration>) {
    times.sort();
    let (median, longest) = (times[times.len() / 2], times[times.len() - 1]);
    println!("{what}: {median:?} (p50), {longest:?} (max) of {} kills", times.len());
}

/// Kills for a measurement of recovery.
fn measured_kills() -> u64 {
    (kills(150) / 10).clamp(10, 300)
}

/// A server is killed while it has a request: the client is told, and its next call is answered by a server
/// that is created then.
#[test]
fn the_client_of_a_killed_server_goes_on() {
    let scratch = Scratch::new();
    let (node, options) = (scratch.node("client"), ServiceOptions::default());
    let client = RawClient::create(&node, SMALL, &described(SMALL), &options).unwrap();
    let call = |count| {
        let mut loan = client.loan(64, 8, 0).unwrap();
        loan.head_bytes().copy_from_slice(&small(1, count));
        loan.send(None).unwrap()
    };
    let (mut told, mut answered) = (Vec::new(), Vec::new());
    for count in 0..measured_kills() {
        let mut child = Role::start(&scratch, "serves");
        child.wait_for("serves");
        let under_way = call(count);
        child.wait_for("holds");
        child.signal(rustix::process::Signal::KILL);
        let start = Instant::now();
        let gone = client.receive_of(under_way, Some(TIMEOUT));
        told.push(start.elapsed());
        assert!(matches!(gone, Err(ReplyError::ServerGone { call, .. }) if call == under_way), "{gone:?}");

        let server = RawServer::create(&scratch.node("next"), SMALL, &described(SMALL), &options).unwrap();
        assert!(client.wait_for_server(Some(TIMEOUT)));
        let again = call(count);
        assert!(server.wait(Some(TIMEOUT)));
        let request = server.take().unwrap().unwrap();
        assert_eq!(checked(SMALL, request.sample()), (1, count));
        let mut loan = server.loan(&request.id(), 64, 8, 0).unwrap();
        loan.head_bytes().copy_from_slice(&small(2, count));
        loan.send().unwrap();
        let reply = client.receive_of(again, Some(TIMEOUT)).unwrap().expect("a reply");
        assert_eq!(checked(SMALL, reply.sample()), (2, count));
        answered.push(start.elapsed());
        drop((reply, request, server));
        child.kill();
    }
    print_times("from the kill of a server until its client was told", told);
    print_times("until a server that was created then had answered", answered);
}

/// A client is killed while a server has its request.
#[test]
fn the_server_of_a_killed_client_is_told() {
    let scratch = Scratch::new();
    let server =
        RawServer::create(&scratch.node("server"), SMALL, &described(SMALL), &ServiceOptions::default())
            .unwrap();
    let mut told = Vec::new();
    for _ in 0..measured_kills() {
        let mut child = Role::start(&scratch, "waits");
        child.wait_for("holds");
        assert!(server.wait(Some(TIMEOUT)));
        let request = server.take().unwrap().unwrap();
        assert!(!request.is_cancelled());
        child.signal(rustix::process::Signal::KILL);
        let start = Instant::now();
        while !request.is_cancelled() {
            assert!(start.elapsed() < TIMEOUT, "the server is not told");
            server.wait(Some(Duration::from_millis(1)));
            server.collect().unwrap();
        }
        told.push(start.elapsed());
        let answered = server.loan(&request.id(), 64, 8, 0).map(drop);
        assert!(matches!(answered, Err(AnswerError::ClientGone { .. })), "{answered:?}");
        child.kill();
    }
    print_times("from the kill of a client until its server was told", told);
}
