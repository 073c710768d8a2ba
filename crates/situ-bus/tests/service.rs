//! Services: requests and replies, streams, cancellations, deadlines, and clients and servers that leave.
#![cfg(not(loom))]

mod common;

use std::path::PathBuf;
use std::time::{Duration, Instant};

use common::service::{
    LONG, SERVICE, call, client, client_with, part, reply_to, server, server_with, sized, take, try_answer,
    try_call, value, value_of,
};
use common::{Scratch, numbers};
use situ_bus::{
    AnswerError, CallError, LoanError, Placement, PublishError, PublisherQos, RawClient, RawPublisher,
    RawSample, RawServer, RawSubscriber, RegisterError, ReplyError, ServiceOptions, SubscriberQos, TakeError,
    WhenFull, inspect,
};
use situ_memory::DomainId;

/// Whether a sample lies in its publisher's pool, and not in a row.
fn is_in_slot(sample: &RawSample) -> bool {
    let at = sample.head_in_place().as_ptr().addr();
    let maps = std::fs::read_to_string("/proc/self/maps").unwrap();
    let line = maps.lines().find(|line| {
        let (begin, end) = line.split(' ').next().unwrap().split_once('-').unwrap();
        let number = |text| usize::from_str_radix(text, 16).unwrap();
        (number(begin)..number(end)).contains(&at)
    });
    line.unwrap().ends_with(".data")
}

#[test]
fn requests_and_replies_of_every_size_come_without_copies() {
    for (request, reply, body) in [(8, 8, 0), (88, 88, 0), (89, 200, 0), (64, 64, 70_000), (0, 0, 64)] {
        let scratch = Scratch::new();
        let node = scratch.node("both");
        let described = sized(request, reply);
        let client = RawClient::create(&node, SERVICE, &described, &ServiceOptions::default()).unwrap();
        let server = RawServer::create(&node, SERVICE, &described, &ServiceOptions::default()).unwrap();
        for round in 0..1200u64 {
            let fill = |bytes: &mut [u8]| bytes.fill(round as u8);
            let mut loan = client.loan(request.max(8) as usize, 8, body).unwrap();
            fill(loan.head_bytes());
            fill(loan.body_bytes());
            let call = loan.send(None).unwrap();
            let asked = take(&server);
            assert_eq!((asked.id().client, asked.id().call), (client.id(), call));
            assert_eq!(asked.sample().head_in_place(), vec![round as u8; request.max(8) as usize]);
            assert!(asked.sample().body_size() == body && !asked.sample().is_copy());
            assert_eq!(is_in_slot(asked.sample()), request == 0 || request > 88 || body > 0);
            let mut loan = server.loan(&asked.id(), reply.max(8) as usize, 8, body).unwrap();
            loan.head_bytes().fill((round + 1) as u8);
            loan.body_bytes().fill((round + 2) as u8);
            loan.send().unwrap();
            let answered = client.take().unwrap().unwrap();
            assert!(answered.is_last() && answered.has_content());
            assert_eq!(answered.call(), call);
            assert_eq!(answered.sample().head_in_place(), vec![(round + 1) as u8; reply.max(8) as usize]);
            assert!(answered.sample().body_in_place().iter().all(|byte| *byte == (round + 2) as u8));
            assert!(!answered.sample().is_copy());
            assert_eq!(is_in_slot(answered.sample()), reply == 0 || reply > 88 || body > 0);
            assert!(!client.is_under_way(call) && client.take().unwrap().is_none());
            assert!(matches!(client.take_of(call), Err(ReplyError::Unknown { .. })));
        }
    }
}

#[test]
fn a_reply_reaches_its_client_alone_and_in_any_order() {
    let scratch = Scratch::new();
    let node = scratch.node("clients");
    let server = server(&scratch.node("server"));
    let clients: Vec<_> = (0..8).map(|_| client(&node)).collect();
    assert_eq!((server.clients(), clients[0].servers()), (8, 1));
    let calls: Vec<Vec<u64>> = (0..clients.len() as u64)
        .map(|index| (0..5).map(|round| call(&clients[index as usize], index * 100 + round)).collect())
        .collect();
    let mut requests: Vec<_> = (0..40).map(|_| take(&server)).collect();
    assert!(server.take().unwrap().is_none());
    // Backwards, and from every second one.
    requests.reverse();
    let (odd, even): (Vec<_>, Vec<_>) = requests.into_iter().partition(|it| value_of(it) % 2 == 1);
    for request in odd.iter().chain(&even) {
        try_answer(&server, &request.id(), value_of(request) + 1).unwrap();
    }
    assert_eq!(server.answered_clients(), 8);
    for (index, client) in clients.iter().enumerate() {
        assert_eq!(client.replies().publishers(), 1);
        for round in [2, 0, 4, 1, 3] {
            assert_eq!(reply_to(client, calls[index][round]), (index * 100 + round) as u64 + 1);
        }
        assert!(client.take().unwrap().is_none());
    }
}

#[test]
fn every_server_sees_every_request_and_the_first_answer_counts() {
    let scratch = Scratch::new();
    let client = client(&scratch.node("client"));
    let servers = [server(&scratch.node("one")), server(&scratch.node("two"))];
    assert_eq!(client.servers(), 2);
    for round in 0..20 {
        let call = call(&client, round);
        let requests = servers.each_ref().map(take);
        let first = round as usize % 2;
        // Parts of one stream never mix with those of another.
        part(&servers[first], &requests[first].id(), 1).unwrap();
        part(&servers[1 - first], &requests[1 - first].id(), 100).unwrap();
        try_answer(&servers[1 - first], &requests[1 - first].id(), 101).unwrap();
        try_answer(&servers[first], &requests[first].id(), 2).unwrap();
        assert_eq!((reply_to(&client, call), reply_to(&client, call)), (1, 2));
        assert!(!client.is_under_way(call));
    }
    assert!(client.take().unwrap().is_none());
}

#[test]
fn replies_are_streamed_until_an_end_or_a_last_part() {
    let scratch = Scratch::new();
    let node = scratch.node("both");
    let (client, server) = (client(&node), server(&node));
    for with_end in [true, false] {
        let call = call(&client, 7);
        let request = take(&server);
        for value in 0..30 {
            part(&server, &request.id(), value).unwrap();
        }
        if with_end {
            server.end(&request.id()).unwrap();
        } else {
            try_answer(&server, &request.id(), 30).unwrap();
        }
        for value in 0..30 {
            let reply = client.take_of(call).unwrap().unwrap();
            assert_eq!((self::value(&reply), reply.is_last(), reply.has_content()), (value, false, true));
        }
        let last = client.take_of(call).unwrap().unwrap();
        assert!(last.is_last() && last.has_content() != with_end);
        assert!(!client.is_under_way(call));
    }
}

#[test]
fn a_client_that_takes_nothing_does_not_hold_its_server_back() {
    let scratch = Scratch::new();
    let clients = scratch.node("clients");
    let server = server_with(&scratch.node("server"), &ServiceOptions { depth: 4, ..Default::default() });
    let (slow, quick) = (client(&clients), client(&clients));
    let of_slow = call(&slow, 1);
    let stuck = take(&server);
    for value in 0..4 {
        part(&server, &stuck.id(), value).unwrap();
    }
    let start = Instant::now();
    let full = part(&server, &stuck.id(), 4);
    assert!(matches!(full, Err(AnswerError::Publish(PublishError::Full { .. }))), "{full:?}");
    let loan = server.loan(&stuck.id(), 8, 8, 0).unwrap();
    let full = loan.send_part_within(Duration::from_millis(5));
    assert!(matches!(full, Err(AnswerError::Publish(PublishError::Full { .. }))), "{full:?}");
    assert!(start.elapsed() < Duration::from_secs(2));
    // The other client is served meanwhile.
    let of_quick = call(&quick, 2);
    try_answer(&server, &take(&server).id(), 3).unwrap();
    assert_eq!(reply_to(&quick, of_quick), 3);
    // And once it takes, the stream goes on.
    std::thread::scope(|scope| {
        let (server, stuck) = (server, &stuck);
        scope.spawn(move || {
            for value in 4..200u64 {
                let mut loan = server.loan(&stuck.id(), 8, 8, 0).unwrap();
                loan.head_bytes().copy_from_slice(&value.to_le_bytes());
                loan.send_part_within(LONG).unwrap();
            }
            server.end_within(&stuck.id(), LONG).unwrap();
        });
        for value in 0..200 {
            assert_eq!(reply_to(&slow, of_slow), value);
        }
        assert!(!slow.receive_of(of_slow, Some(LONG)).unwrap().unwrap().has_content());
    });
}

#[test]
fn a_server_that_takes_nothing_holds_its_clients_back_no_longer_than_the_call() {
    let scratch = Scratch::new();
    let client = client_with(&scratch.node("client"), &ServiceOptions { depth: 4, ..Default::default() });
    let _stuck = server(&scratch.node("stuck"));
    for value in 0..4 {
        call(&client, value);
    }
    let start = Instant::now();
    let full = try_call(&client, 4, Some(Duration::from_millis(15)));
    let Err(CallError::Publish(PublishError::Full { subscriber: Some(slow), .. })) = full else {
        panic!("{full:?}")
    };
    assert_eq!((slow.name.as_str(), slow.pid), ("stuck", Some(std::process::id())));
    assert!((Duration::from_millis(15)..Duration::from_secs(2)).contains(&start.elapsed()));
}

#[test]
fn a_cancelled_call_is_over_and_its_server_learns_of_it() {
    let scratch = Scratch::new();
    let node = scratch.node("both");
    let (client, server) = (client(&node), server(&node));
    let calls = [call(&client, 1), call(&client, 2), call(&client, 3)];
    let first = take(&server);
    assert!(!first.is_cancelled());
    client.cancel(calls[0]).unwrap();
    client.cancel(calls[2]).unwrap();
    client.cancel(calls[2]).unwrap();
    server.collect().unwrap();
    assert!(first.is_cancelled());
    // The other requests were kept, in order. The third one was cancelled before it was taken.
    let (second, third) = (take(&server), take(&server));
    assert_eq!((value_of(&second), second.is_cancelled()), (2, false));
    assert_eq!((value_of(&third), third.is_cancelled()), (3, true));
    assert!(server.take().unwrap().is_none());
    for (request, value) in [(&first, 10), (&second, 20), (&third, 30)] {
        try_answer(&server, &request.id(), value).unwrap();
    }
    assert_eq!(reply_to(&client, calls[1]), 20);
    assert!(client.take().unwrap().is_none());
    assert!(matches!(client.take_of(calls[0]), Err(ReplyError::Unknown { .. })));
    // The place of a request that is gone is used again, and not cancelled.
    drop((first, third));
    let again = call(&client, 4);
    assert!(!take(&server).is_cancelled());
    client.cancel(again).unwrap();
}

#[test]
fn each_call_has_a_deadline_of_its_own() {
    let scratch = Scratch::new();
    let node = scratch.node("both");
    let (client, server) = (client(&node), server(&node));
    let start = Instant::now();
    let patient = call(&client, 1);
    let late = try_call(&client, 2, Some(Duration::from_millis(30))).unwrap();
    let taken = [take(&server), take(&server)];
    assert!(taken[0].deadline_ns().is_none() && taken[1].deadline_ns().is_some());
    let Err(ReplyError::Deadline { call, waited, .. }) = client.receive_of(late, None) else { panic!() };
    assert_eq!(call, late);
    assert!(waited >= Duration::from_millis(30) && start.elapsed() < Duration::from_secs(2));
    assert!(taken[1].is_cancelled() && !taken[0].is_cancelled());
    try_answer(&server, &taken[1].id(), 2).unwrap();
    try_answer(&server, &taken[0].id(), 1).unwrap();
    assert_eq!(reply_to(&client, patient), 1);
    // A request whose time is over is not handed out.
    let late = try_call(&client, 3, Some(Duration::from_millis(1))).unwrap();
    std::thread::sleep(Duration::from_millis(3));
    assert!(server.take().unwrap().is_none());
    assert_eq!(server.expired(), 1);
    assert!(client.wait(Some(LONG)));
    assert!(matches!(client.take(), Err(ReplyError::Deadline { call, .. }) if call == late));
    // A client that only polls learns of it, too.
    let late = try_call(&client, 4, Some(Duration::from_millis(10))).unwrap();
    let start = Instant::now();
    let error = loop {
        match client.take() {
            Ok(None) => assert!(start.elapsed() < LONG),
            other => break other,
        }
    };
    assert!(matches!(error, Err(ReplyError::Deadline { call, .. }) if call == late), "{error:?}");
}

/// A client that waits sleeps, also when the deadlines of other calls are over.
#[test]
fn a_client_that_waits_sleeps() {
    let scratch = Scratch::new();
    let node = scratch.node("both");
    let (client, server) = (client(&node), server(&node));
    let patient = call(&client, 1);
    let limit = Duration::from_millis(300);
    let answered = try_call(&client, 2, Some(limit)).unwrap();
    let _late = try_call(&client, 3, Some(limit)).unwrap();
    let requests = [take(&server), take(&server), take(&server)];
    try_answer(&server, &requests[1].id(), 2).unwrap();
    assert_eq!(reply_to(&client, answered), 2);
    std::thread::sleep(limit);
    let before = sleeps();
    assert!(client.receive_of(patient, Some(Duration::from_millis(200))).unwrap().is_none());
    let slept = sleeps() - before;
    // Every 3 ms.
    assert!((10..150).contains(&slept), "{slept} sleeps in 200 ms");
}

/// The number of times that this thread has given up its core to wait.
fn sleeps() -> u64 {
    let status = std::fs::read_to_string("/proc/thread-self/status").unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("voluntary_ctxt_switches:")).unwrap();
    line.trim().parse().unwrap()
}

#[test]
fn a_call_without_a_server_fails_or_waits_by_choice() {
    let scratch = Scratch::new();
    let client = client(&scratch.node("client"));
    assert!(matches!(try_call(&client, 1, None), Err(CallError::NoServer { .. })));
    assert!(!client.wait_for_server(Some(Duration::from_millis(5))));
    std::thread::scope(|scope| {
        let scratch = &scratch;
        scope.spawn(move || {
            std::thread::sleep(Duration::from_millis(20));
            let server = server(&scratch.node("server"));
            try_answer(&server, &take(&server).id(), 5).unwrap();
        });
        assert!(client.wait_for_server(Some(LONG)));
        assert_eq!(reply_to(&client, call(&client, 1)), 5);
    });
}

#[test]
fn a_refusal_is_an_error_with_a_number_and_a_text() {
    let scratch = Scratch::new();
    let node = scratch.node("both");
    let (client, server) = (client(&node), server(&node));
    let call = call(&client, 1);
    let request = take(&server);
    part(&server, &request.id(), 9).unwrap();
    server.refuse(&request.id(), 42, "not \x1b[2J today").unwrap();
    assert_eq!(reply_to(&client, call), 9);
    let Err(error) = client.take_of(call) else { panic!() };
    assert_eq!(
        error.to_string(),
        format!("service \"add\" refused call {call} (42): not \\u{{1b}}[2J today")
    );
    assert!(matches!(error, ReplyError::Refused { code: 42, .. }));
    assert!(!client.is_under_way(call));
}

#[test]
fn a_client_has_a_limited_number_of_calls_and_of_replies_that_wait() {
    let scratch = Scratch::new();
    let node = scratch.node("both");
    let client = client_with(&node, &ServiceOptions { max_calls: 2, max_held: 4, ..Default::default() });
    let server = server(&node);
    let (first, second) = (call(&client, 1), call(&client, 2));
    assert!(matches!(try_call(&client, 3, None), Err(CallError::TooMany { most: 2, .. })));
    let (of_first, _of_second) = (take(&server), take(&server));
    for value in 0..6 {
        part(&server, &of_first.id(), value).unwrap();
    }
    // A wait for the second call gets an error, and does not last for ever behind the first.
    let held = client.receive_of(second, Some(LONG));
    assert!(matches!(held, Err(ReplyError::Take(TakeError::Held { held: 4, .. }))), "{held:?}");
    for value in 0..6 {
        assert_eq!(reply_to(&client, first), value);
    }
    client.cancel(first).unwrap();
    client.cancel(second).unwrap();
    call(&client, 4);
}

#[test]
fn names_and_types_are_checked_and_lists_of_topics_leave_services_out() {
    let scratch = Scratch::new();
    let node = scratch.node("node");
    let (client, server) = (client(&node), server(&node));
    let id = call(&client, 1);
    try_answer(&server, &take(&server).id(), 1).unwrap();
    assert_eq!(reply_to(&client, id), 1);
    for name in ["situ:request/add", "situ:reply/1", "situ:"] {
        let refused = RawPublisher::create(&node, name, &numbers(), PublisherQos::default());
        assert!(matches!(refused, Err(RegisterError::ReservedName { .. })));
        let refused = RawSubscriber::create(&node, name, &numbers(), SubscriberQos::default());
        let text = refused.unwrap_err().to_string();
        assert!(text.contains("names that begin with \"situ:\" are Situ's own"), "{text}");
        let refused = RawClient::create(&node, name, &sized(8, 8), &ServiceOptions::default());
        assert!(matches!(refused, Err(RegisterError::ReservedName { .. })));
    }
    let mut other = sized(8, 8);
    other.reply.name = "test::Other".to_owned();
    let refused = RawServer::create(&node, SERVICE, &other, &ServiceOptions::default()).unwrap_err();
    let RegisterError::TypeMismatch { ours, theirs, .. } = refused else { panic!("{refused}") };
    assert_eq!(ours, "test::Request -> test::Other");
    assert_eq!(theirs, "test::Request -> test::Reply");
    assert!(inspect::topics(&scratch.root()).unwrap().is_empty());
    let services = inspect::services(&scratch.root()).unwrap();
    assert_eq!(services.len(), 1);
    let (name, requests) = (&services[0].name, &services[0].requests);
    assert_eq!((name.as_str(), requests.publishers.len(), requests.subscribers.len()), (SERVICE, 1, 1));
    // A service and a topic may have the same name.
    let _topic = RawPublisher::create(&node, SERVICE, &numbers(), PublisherQos::default()).unwrap();
    assert_eq!(inspect::topics(&scratch.root()).unwrap().len(), 1);
}

#[test]
fn everything_is_gone_when_clients_and_servers_are() {
    let scratch = Scratch::new();
    for client_first in [true, false] {
        let (of_client, of_server) = (scratch.node("client"), scratch.node("server"));
        let (client, server) = (client(&of_client), server(&of_server));
        let id = call(&client, 1);
        try_answer(&server, &take(&server).id(), 1).unwrap();
        assert_eq!(reply_to(&client, id), 1);
        if client_first {
            drop(client);
            drop(server);
        } else {
            drop(server);
            drop(client);
        }
        drop((of_client, of_server));
        assert_eq!(scratch.files(), Vec::<PathBuf>::new());
        assert_eq!(std::fs::read_dir(scratch.join("topics")).unwrap().count(), 0);
    }
}

#[test]
fn a_client_that_left_is_an_error_and_is_forgotten() {
    let scratch = Scratch::new();
    let server = server(&scratch.node("server"));
    let node = scratch.node("client");
    let gone = client(&node);
    call(&gone, 1);
    call(&gone, 2);
    let (first, second) = (take(&server), take(&server));
    try_answer(&server, &first.id(), 1).unwrap();
    assert_eq!(server.answered_clients(), 1);
    let id = gone.id();
    drop(gone);
    let error = try_answer(&server, &second.id(), 2);
    assert!(matches!(error, Err(AnswerError::ClientGone { client, .. }) if client == id), "{error:?}");
    assert!(second.is_cancelled());
    assert_eq!(server.answered_clients(), 0);
    // One that was never answered.
    let gone = client(&node);
    call(&gone, 3);
    let third = take(&server);
    drop(gone);
    let error = server.loan(&third.id(), 8, 8, 0).err();
    assert!(matches!(error, Some(AnswerError::ClientGone { .. })), "{error:?}");
    drop(node);
    let left: Vec<_> = std::fs::read_dir(scratch.join("topics")).unwrap().map(Result::unwrap).collect();
    assert_eq!(left.len(), 1, "only the topic of requests: {left:?}");
}

#[test]
fn a_call_whose_servers_have_left_is_over() {
    let scratch = Scratch::new();
    let client = client(&scratch.node("client"));
    let node = scratch.node("servers");
    let (first, second) = (server(&node), server(&scratch.node("second")));
    let (stays, streams) = (call(&client, 1), call(&client, 2));
    for request in [take(&first), take(&first)] {
        if value_of(&request) == 2 {
            part(&first, &request.id(), 1).unwrap();
        }
    }
    drop((first, node));
    // The stream's own server has left.
    assert_eq!(reply_to(&client, streams), 1);
    let error = client.receive_of(streams, Some(LONG));
    assert!(matches!(error, Err(ReplyError::ServerGone { call, .. }) if call == streams), "{error:?}");
    // Another server may still answer the other call.
    assert!(client.receive_of(stays, Some(Duration::from_millis(30))).unwrap().is_none());
    // A server that comes later has not got the request.
    let later = server(&scratch.node("later"));
    drop(second);
    let error = client.receive_of(stays, Some(LONG));
    assert!(matches!(error, Err(ReplyError::ServerGone { call, .. }) if call == stays), "{error:?}");
    assert!(later.take().unwrap().is_none());
    // A reply that was sent before the end counts.
    let last = call(&client, 3);
    try_answer(&later, &take(&later).id(), 4).unwrap();
    drop(later);
    std::thread::sleep(Duration::from_millis(10));
    assert_eq!(reply_to(&client, last), 4);
}

#[test]
fn replies_may_lie_on_a_device() {
    let device: DomainId = "emulated:0".parse().unwrap();
    let at = |domain| Placement { domain, ..Placement::default() };
    let scratch = Scratch::new();
    let node = scratch.node("both");
    let described = sized(0, 0);
    let on_device = ServiceOptions { replies: at(device), ..Default::default() };
    for options in [ServiceOptions::default(), on_device.clone()] {
        let client = RawClient::create(&node, SERVICE, &described, &options).unwrap();
        let server = RawServer::create(&node, SERVICE, &described, &on_device).unwrap();
        let call = call(&client, 4096);
        let request = take(&server);
        let stream = node.domain(device).unwrap().stream().unwrap();
        for _ in 0..2 {
            let loan = server.loan(&request.id(), 8, 8, value_of(&request) as usize).unwrap();
            assert_eq!(loan.span().memory().domain(), device);
            let (span, bytes) = (loan.span(), [7; 4096]);
            // SAFETY: the bytes live until the stream, which copies in order, was synchronized.
            unsafe { stream.copy_from_host(bytes.as_ptr(), span.memory(), span.offset(), 4096) }.unwrap();
            stream.synchronize(LONG).unwrap();
            loan.send_part_on(stream.as_ref()).unwrap();
        }
        server.refuse(&request.id(), 1, "enough").unwrap();
        for _ in 0..2 {
            let reply = client.receive_of(call, Some(LONG)).unwrap().unwrap();
            assert_eq!((reply.sample().body_size(), reply.sample().domain()), (4096, options.replies.domain));
        }
        let end = client.receive_of(call, Some(LONG));
        assert!(matches!(&end, Err(ReplyError::Refused { text, .. }) if text == "enough"), "{end:?}");
    }
}

#[test]
fn in_a_forked_child_everything_is_an_error() {
    let scratch = Scratch::new();
    let node = scratch.node("parent");
    let (client, server) = (client(&node), server(&node));
    let of_client = call(&client, 1);
    let request = take(&server);
    // SAFETY: the child only uses what is inherited, and ends at once.
    let child = unsafe { libc::fork() };
    if child == 0 {
        let inert = client.is_inherited()
            && server.is_inherited()
            && matches!(try_call(&client, 2, None), Err(CallError::Loan(LoanError::Forked { .. })))
            && matches!(client.take(), Err(ReplyError::Take(TakeError::Forked { .. })))
            && matches!(client.receive_of(of_client, None), Err(ReplyError::Take(TakeError::Forked { .. })))
            && matches!(server.take(), Err(situ_bus::RequestError::Take(TakeError::Forked { .. })))
            && matches!(
                try_answer(&server, &request.id(), 2),
                Err(AnswerError::Loan(LoanError::Forked { .. }))
            );
        drop((client, server, request, node));
        // SAFETY: ends the child without the handlers of its parent.
        unsafe { libc::_exit(if inert { 0 } else { 1 }) };
    }
    let mut status = 0;
    // SAFETY: waits for the child of this test.
    assert_eq!(unsafe { libc::waitpid(child, &raw mut status, 0) }, child);
    assert_eq!(status, 0);
    try_answer(&server, &request.id(), 5).unwrap();
    assert_eq!(reply_to(&client, of_client), 5);
}

#[test]
fn a_server_that_is_dropped_has_gone_although_its_requests_exist() {
    let scratch = Scratch::new();
    let node = scratch.node("both");
    let (client, server) = (client(&node), server(&node));
    let calls = [call(&client, 1), call(&client, 2)];
    let held = take(&server);
    drop(server);
    assert_eq!((client.servers(), client.wait_for_server(Some(Duration::ZERO))), (0, false));
    for call in calls {
        let error = client.receive_of(call, Some(LONG)).unwrap_err();
        assert!(matches!(error, ReplyError::ServerGone { .. }), "{error}");
    }
    assert_eq!(value_of(&held), 1);
}

#[test]
fn a_loan_that_could_not_be_sent_comes_back_and_can_be_detached() {
    let scratch = Scratch::new();
    let node = scratch.node("both");
    let client = client(&node);
    let mut loan = client.loan(8, 8, 0).unwrap();
    loan.head_bytes().copy_from_slice(&7u64.to_le_bytes());
    let (error, loan) = loan.send_with(None, WhenFull::Fail, None).unwrap_err();
    assert!(matches!(*error, CallError::NoServer { .. }), "{error}");
    let server = server_with(&node, &ServiceOptions { depth: 1, ..ServiceOptions::default() });
    // SAFETY: it was detached from a loan of this client.
    let loan = unsafe { client.attach(loan.detach()) };
    let sent = loan.send_with(None, WhenFull::Fail, None).unwrap();
    let request = take(&server);
    assert_eq!(value_of(&request), 7);
    let lend = |value: u64| {
        let mut loan = server.loan(&request.id(), 8, 8, 0).unwrap();
        loan.head_bytes().copy_from_slice(&value.to_le_bytes());
        // SAFETY: it was detached from a loan of this server.
        unsafe { server.attach(loan.detach()) }
    };
    lend(1).send_with(false, WhenFull::Fail, None).unwrap();
    let (error, part) = lend(2).send_with(true, WhenFull::Fail, None).unwrap_err();
    assert!(matches!(*error, AnswerError::Publish(PublishError::Full { .. })), "{error}");
    assert_eq!(reply_to(&client, sent), 1);
    part.send().unwrap();
    assert_eq!(reply_to(&client, sent), 2);
    assert!(!client.is_under_way(sent));
}
