//! Requests and replies of every form: in regions, serialized, and in the memory of devices.
#![cfg(not(loom))]

mod common;

use std::time::Duration;

use common::Scratch;
use common::messages::{Note, NoteMut, NoteRef, NoteRegion, Pose, Scan, ScanBulkLengths};
use situ_bus::{AnswerError, CallError, Client, LoanError, PublishError, Refusal, Regions, Server};
use situ_memory::DomainId;

/// Long enough for a busy machine.
const LONG: Duration = Duration::from_secs(20);

type Notes = Regions<NoteRegion>;

fn note(count: u64, len: usize) -> Note {
    Note { count, text: vec![count as u8; len] }
}

#[test]
fn regions_are_built_and_read_in_place() {
    let scratch = Scratch::new();
    let client = scratch.node("client").client::<Notes, Notes>("notes").create().unwrap();
    let server = scratch.node("server").server::<Notes, Notes>("notes").create().unwrap();
    for count in 0..100u64 {
        let mut request = client.loan().unwrap();
        *request.root_mut().count() = count;
        let begin = request.bytes().as_ptr();
        // More than the first memory: it grows in place.
        for _ in 0..count {
            request.root_mut().text().extend_from_slice(&[count as u8; 1000]).unwrap();
        }
        assert_eq!(request.bytes().as_ptr(), begin);
        let call = request.send_within(LONG).unwrap();

        let request = server.recv(Some(LONG)).unwrap().unwrap();
        assert_eq!((*request.root().count(), request.root().text().len()), (count, count as usize * 1000));
        assert!(!request.sample().is_copy());
        // A reply under construction outlives the next one, and one that is dropped sends nothing.
        drop(server.loan(&request).unwrap());
        let mut reply = server.loan_up_to(&request, 100_000).unwrap();
        let mut part = server.loan(&request).unwrap();
        *part.root_mut().count() = 1;
        part.send_part().unwrap();
        *reply.root_mut().count() = count + 1;
        reply.root_mut().text().extend_from_slice(&[7; 50_000]).unwrap();
        reply.send_within(LONG).unwrap();

        let mut call = call;
        let part = call.next().unwrap().unwrap();
        assert_eq!((*part.root().count(), part.is_copy()), (1, false));
        let reply = call.wait().unwrap();
        assert_eq!((*reply.root().count(), reply.root().text().len()), (count + 1, 50_000));
        assert!(!reply.is_copy());
    }
}

#[test]
fn values_are_stored_in_regions() {
    let scratch = Scratch::new();
    let node = scratch.node("both");
    let client = node.client::<Notes, Notes>("notes").create().unwrap();
    let server = node.server::<Notes, Notes>("notes").create().unwrap();
    for len in [0, 10, 300_000] {
        let call = client.call(&note(1, len)).unwrap();
        let answered = server.serve(Some(LONG), |request| {
            assert_eq!((*request.root().count(), request.root().text().len()), (1, len));
            if len == 10 { Err(Refusal { code: 2, text: "ten".into() }) } else { Ok(note(3, len + 1)) }
        });
        assert_eq!(answered.unwrap(), 1);
        if len == 10 {
            assert!(call.wait().unwrap_err().to_string().contains("ten"));
        } else {
            let reply = call.wait().unwrap();
            assert_eq!((*reply.root().count(), reply.root().text().len()), (3, len + 1));
        }
    }
    let mut client = client.with_callbacks();
    let (tell, told) = std::sync::mpsc::channel();
    let send = move |part: Result<Option<situ_bus::RegionSample<NoteRegion>>, _>| {
        let part: Result<_, situ_bus::ReceiveReplyError> = part;
        tell.send(part.unwrap().map(|part| *part.root().count())).unwrap();
    };
    client.call(&note(4, 5), Some(LONG), send).unwrap();
    let request = server.take().unwrap().unwrap();
    server.part(&request, &note(5, 0)).unwrap();
    server.end(&request).unwrap();
    while client.dispatch(Some(LONG)).unwrap() < 2 {}
    assert_eq!(told.try_iter().collect::<Vec<_>>(), [Some(5), None]);
}

/// Both directions of a call, with each side's own view of the types.
fn round<Q1, P1, Q2, P2>(
    client: &Client<Q1, P1>,
    server: &Server<Q2, P2>,
    read: impl Fn(&situ_bus::Request<Q2>) -> u64,
    opened: impl Fn(&P1::Sample) -> u64,
) where
    Q1: situ_bus::ServiceMessage<Value = Note>,
    P1: situ_bus::ServiceMessage,
    Q2: situ_bus::ServiceMessage,
    P2: situ_bus::ServiceMessage<Value = Note>,
{
    let call = client.call(&note(9, 2000)).unwrap();
    let request = server.recv(Some(LONG)).unwrap().unwrap();
    assert_eq!(read(&request), 9);
    server.reply(&request, &note(10, 3000)).unwrap();
    assert_eq!(opened(&call.wait().unwrap()), 10);
}

#[test]
fn both_sides_choose_their_form() {
    let scratch = Scratch::new();
    let node = scratch.node("both");
    let of_regions = node.client::<Notes, Notes>("notes").create().unwrap();
    let of_values = node.client::<Note, Note>("notes").create().unwrap();
    let mixed = node.client::<Notes, Note>("notes").create().unwrap();
    {
        let server = node.server::<Note, Note>("notes").create().unwrap();
        round(&of_regions, &server, |request| request.count, |reply| *reply.root().count());
        round(&of_values, &server, |request| request.count, |reply| reply.count);
        round(&mixed, &server, |request| request.count, |reply| reply.count);
    }
    let server = node.server::<Notes, Notes>("notes").create().unwrap();
    round(&of_regions, &server, |request| *request.root().count(), |reply| *reply.root().count());
    round(&of_values, &server, |request| *request.root().count(), |reply| reply.count);
    round(&mixed, &server, |request| *request.root().count(), |reply| reply.count);
}

#[tokio::test]
async fn calls_with_regions_are_awaited() {
    let scratch = Scratch::new();
    let client = scratch.node("client").client::<Notes, Notes>("notes").create().unwrap();
    let server = scratch.node("server").server::<Notes, Notes>("notes").create().unwrap();
    let (client, mut requests) = (client.into_async().unwrap(), server.into_stream().unwrap());
    let (first, second) = (client.call(&note(1, 5)), client.clone().call_within(&note(2, 70_000), LONG));
    for _ in 0..2 {
        let request = requests.receive().await.unwrap();
        let reply = note(*request.root().count() * 10, request.root().text().len());
        requests.server().reply(&request, &reply).unwrap();
    }
    let (first, second) = (first.await.unwrap(), second.await.unwrap());
    assert_eq!((*first.root().count(), first.root().text().len()), (10, 5));
    assert_eq!((*second.root().count(), second.root().text().len()), (20, 70_000));
}

#[test]
fn loans_in_regions_fail_as_others_do() {
    let scratch = Scratch::new();
    let node = scratch.node("both");
    let client = node.client::<Notes, Notes>("notes").depth(1).create().unwrap();
    assert!(matches!(client.loan().unwrap().send(), Err(CallError::NoServer { .. })));
    let server = node.server::<Notes, Notes>("notes").depth(1).create().unwrap();
    let first = client.loan().unwrap().send().unwrap();
    let full = client.loan().unwrap().send_within(Duration::from_millis(1)).map(|_| ());
    assert!(matches!(full, Err(CallError::Publish(PublishError::Full { .. }))), "{full:?}");
    let request = server.take().unwrap().unwrap();
    server.loan(&request).unwrap().send_part().unwrap();
    let full = server.loan(&request).unwrap().send_part_within(Duration::from_millis(1));
    assert!(matches!(full, Err(AnswerError::Publish(PublishError::Full { .. }))), "{full:?}");
    // A loan outlives the end of its client.
    let mut late = server.loan(&request).unwrap();
    drop(first);
    drop(client);
    late.root_mut().text().extend_from_slice(&[1; 100_000]).unwrap();
    // Nothing takes it, which is no error of the publisher.
    let _ = late.send();
}

#[test]
fn typed_requests_and_replies_may_lie_on_a_device() {
    let device: DomainId = "emulated:0".parse().unwrap();
    let scratch = Scratch::new();
    let node = scratch.node("both");
    let stream = node.domain(device).unwrap().stream().unwrap();
    let client = node.client::<Pose, Scan>("scan").requests_in(device).replies_in(device).create().unwrap();
    let server = node.server::<Pose, Scan>("scan").requests_in(device).replies_in(device).create().unwrap();
    for count in 0..20 {
        // A message without bulk members lies there as a whole.
        let mut request = client.loan().unwrap();
        let span = request.span_of_message().unwrap();
        assert_eq!((span.memory().domain(), span.len()), (device, 1));
        let call = request.send_on(stream.as_ref(), Some(LONG)).unwrap();
        let request = server.recv(Some(LONG)).unwrap().unwrap();
        assert_eq!(request.sample().span_of_message().memory().domain(), device);

        let mut reply = server.loan_with(&request, ScanBulkLengths { ranges: 5000 }).unwrap();
        reply.count = count;
        assert!(matches!(reply.span_of_message(), Err(LoanError::Size { .. })));
        let span = reply.span(|scan| &scan.ranges);
        assert_eq!((span.memory().domain(), span.len()), (device, 5000));
        if count % 2 == 0 {
            reply.send_part_on(stream.as_ref()).unwrap();
            server.end(&request).unwrap();
        } else {
            reply.send_on(stream.as_ref()).unwrap();
        }
        let reply = call.wait().unwrap();
        assert_eq!((reply.count, reply.domain()), (count, device));
        let span = reply.span(|scan| &scan.ranges);
        assert_eq!((span.memory().domain(), span.len()), (device, 5000));
        reply.synchronize(LONG).unwrap();
    }
}

#[test]
fn a_reply_of_a_device_is_copied_to_a_client_on_the_host() {
    let device: DomainId = "emulated:0".parse().unwrap();
    let scratch = Scratch::new();
    let node = scratch.node("both");
    let stream = node.domain(device).unwrap().stream().unwrap();
    let client = node.client::<Pose, Scan>("scan").create().unwrap();
    let server = node.server::<Pose, Scan>("scan").replies_in(device).create().unwrap();
    let ranges: Vec<f32> = (0..1000).map(|range| range as f32).collect();
    let bytes: Vec<u8> = ranges.iter().flat_map(|range| range.to_le_bytes()).collect();
    let call = client.call(&Pose::default()).unwrap();
    let request = server.recv(Some(LONG)).unwrap().unwrap();
    let mut reply = server.loan_with(&request, ScanBulkLengths { ranges: 1000 }).unwrap();
    reply.count = 4;
    let span = reply.span(|scan| &scan.ranges);
    // SAFETY: the bytes are not changed until the stream has passed the copy, which the reply waits for.
    unsafe { stream.copy_from_host(bytes.as_ptr(), span.memory(), span.offset(), bytes.len() as u64) }
        .unwrap();
    reply.send_on(stream.as_ref()).unwrap();
    let reply = call.wait().unwrap();
    assert_eq!((reply.count, reply.bulk(|scan| &scan.ranges)), (4, &ranges[..]));
}
