//! Clients and servers as sources of wait sets and executors.
#![cfg(not(loom))]

mod common;

use std::time::{Duration, Instant};

use common::{Scratch, numbers};
use situ_bus::{
    AttachError, Executor, RawClient, RawReply, RawServer, ReadySources, ReplyError, RequestId,
    ServiceDescription, ServiceOptions, WaitSet, Waitable,
};

/// Long enough for a busy machine.
const LONG: Duration = Duration::from_secs(20);

fn both(scratch: &Scratch) -> (situ_bus::Node, RawClient, RawServer) {
    let node = scratch.node("both");
    let described = ServiceDescription { request: numbers(), reply: numbers() };
    let options = ServiceOptions::default();
    let client = RawClient::create(&node, "add", &described, &options).unwrap();
    let server = RawServer::create(&node, "add", &described, &options).unwrap();
    (node, client, server)
}

fn call(client: &RawClient, value: u64, limit: Option<Duration>) -> u64 {
    let mut loan = client.loan(8, 8, 0).unwrap();
    loan.head_bytes().copy_from_slice(&value.to_le_bytes());
    loan.send(limit).unwrap()
}

fn answer(server: &RawServer, request: &RequestId, value: u64) {
    let mut loan = server.loan(request, 8, 8, 0).unwrap();
    loan.head_bytes().copy_from_slice(&value.to_le_bytes());
    loan.send().unwrap();
}

fn value(reply: &RawReply) -> u64 {
    u64::from_le_bytes(reply.sample().head_in_place().try_into().unwrap())
}

/// Takes until a client has a reply or an error, each time its set reports it.
fn wait_and_take(set: &WaitSet, client: &RawClient) -> Result<RawReply, ReplyError> {
    let mut ready = ReadySources::new();
    loop {
        assert!(set.wait(&mut ready, Some(LONG)).unwrap(), "a client with a call under way is checked");
        if let Some(reply) = client.take().transpose() {
            return reply;
        }
    }
}

#[test]
fn a_wait_set_reports_requests_replies_kept_messages_deadlines_and_gone_servers() {
    for polled in [false, true] {
        let scratch = Scratch::new();
        let (node, client, server) = both(&scratch);
        let set = WaitSet::new(&node);
        let (asks, answers) = (set.attach(&server).unwrap(), set.attach(&client).unwrap());
        assert!(matches!(set.attach(&client), Err(AttachError::Attached { .. })));
        if polled {
            set.fd().unwrap();
        }
        let mut ready = ReadySources::new();
        assert!(!set.wait(&mut ready, Some(Duration::from_millis(5))).unwrap());
        let (first, second) = (call(&client, 1, None), call(&client, 2, None));
        while !ready.contains(asks) {
            assert!(set.wait(&mut ready, Some(LONG)).unwrap());
        }
        // Requests that the server keeps: the topic has none any more.
        server.collect().unwrap();
        for number in [1, 2] {
            while !ready.contains(asks) {
                assert!(set.wait(&mut ready, Some(LONG)).unwrap());
            }
            let request = server.take().unwrap().unwrap();
            answer(&server, &request.id(), number * 10);
            set.wait(&mut ready, Some(Duration::ZERO)).unwrap();
        }
        // The client keeps the first reply while it looks for the second one.
        let reply = client.receive_of(second, Some(LONG)).unwrap().unwrap();
        assert_eq!(value(&reply), 20);
        while !ready.contains(answers) {
            assert!(set.wait(&mut ready, Some(LONG)).unwrap());
        }
        assert_eq!(wait_and_take(&set, &client).unwrap().call(), first);
        // Without a call under way, the client checks nothing, and the server its clients ten times a second.
        let start = Instant::now();
        let mut checks = 0;
        while start.elapsed() < Duration::from_millis(300) {
            checks += u32::from(set.wait(&mut ready, Some(Duration::from_millis(100))).unwrap());
            assert!(server.take().unwrap().is_none() && client.take().unwrap().is_none());
        }
        assert!((1..=10).contains(&checks), "{checks}");
        let late = call(&client, 3, Some(Duration::from_millis(10)));
        let error = wait_and_take(&set, &client).unwrap_err();
        assert!(matches!(error, ReplyError::Deadline { call, .. } if call == late), "{error}");
        let orphan = call(&client, 4, None);
        drop(server);
        let error = wait_and_take(&set, &client).unwrap_err();
        assert!(matches!(error, ReplyError::ServerGone { call, .. } if call == orphan), "{error}");
        drop(set);
        WaitSet::new(&node).attach(&client).unwrap();
    }
}

#[test]
fn an_executor_runs_callbacks_for_clients_and_servers() {
    let scratch = Scratch::new();
    let (node, client, server) = both(&scratch);
    let executor = Executor::new(&node).unwrap();
    let asks = server.source();
    let echo = move |_| {
        // Requests are kept here, and the callback runs again for each.
        server.collect().unwrap();
        if let Some(request) = server.take().unwrap() {
            answer(&server, &request.id(), request.id().call);
        }
    };
    executor.add(asks, echo).unwrap();
    let calls = [call(&client, 1, None), call(&client, 2, None), call(&client, 3, None)];
    let late = call(&client, 4, Some(Duration::ZERO));
    let (source, stopper) = (client.source(), executor.stopper());
    let (sent, ended) = std::sync::mpsc::channel();
    let take = move |_| {
        match client.take() {
            Ok(None) => return,
            Ok(Some(reply)) => sent.send((reply.call(), Some(value(&reply)))).unwrap(),
            Err(error) => sent.send((error.call().unwrap(), None)).unwrap(),
        }
        if calls.iter().chain([&late]).all(|call| !client.is_under_way(*call)) {
            stopper.stop();
        }
    };
    executor.add(source, take).unwrap();
    executor.spin().unwrap();
    let mut results: Vec<_> = ended.try_iter().collect();
    results.sort_unstable();
    let mut expected: Vec<_> = calls.iter().map(|call| (*call, Some(*call))).collect();
    expected.push((late, None));
    expected.sort_unstable();
    assert_eq!(results, expected);
}
