//! Records a service: its requests, replies and refusals, without being seen by it.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use situ_bus::{
    Encoding, Node, RawClient, RawServer, Root, ServiceDescription, ServiceOptions, TypeDescription,
};
use situ_record::{
    Filter, Message, PlayError, PlayOptions, Player, Reader, RecordOptions, Recorder, Selection,
    WriterOptions,
};
use situ_schema::Schema;
use situ_testkit::Scratch;

const IDL: &str =
    "module demo { @flat struct Add { long long a; long long b; }; @flat struct Sum { long long sum; }; };";
/// Time enough for a loaded machine.
const PATIENCE: Duration = Duration::from_secs(60);

fn description(name: &str) -> TypeDescription {
    let schema = Schema::from_idl(IDL).unwrap();
    let root = schema.find(name).unwrap();
    TypeDescription {
        name: name.to_owned(),
        schema: schema.canonical(root),
        schema_hash: schema.schema_hash(root),
        layout_hash: schema.layout_hash(root),
        encoding: Encoding::Flat,
        fixed_size: 0,
        user_header_size: 0,
    }
}

/// Sends a request, and has the server answer it: with the sum, or with a refusal if it is negative.
fn call(client: &RawClient, server: &RawServer, recorder: &mut Recorder, a: i64, b: i64) {
    let mut loan = client.loan(16, 8, 0).unwrap();
    loan.head_bytes().copy_from_slice(&[a.to_le_bytes(), b.to_le_bytes()].concat());
    let call = loan.send(None).unwrap();
    let begin = Instant::now();
    let request = loop {
        // The recorder reads in place, so it must read before the messages are gone.
        recorder.step(Duration::from_millis(1)).unwrap();
        match server.take().unwrap() {
            Some(request) => break request,
            None => assert!(begin.elapsed() < PATIENCE),
        }
    };
    if a + b < 0 {
        server.refuse(&request.id(), 7, "negative").unwrap();
        recorder.step(Duration::from_millis(1)).unwrap();
        assert!(client.receive_of(call, Some(PATIENCE)).is_err());
    } else {
        let mut loan = server.loan(&request.id(), 8, 8, 0).unwrap();
        loan.head_bytes().copy_from_slice(&(a + b).to_le_bytes());
        loan.send().unwrap();
        recorder.step(Duration::from_millis(1)).unwrap();
        let reply = client.receive_of(call, Some(PATIENCE)).unwrap().unwrap();
        assert_eq!(reply.sample().head_in_place(), (a + b).to_le_bytes());
    }
}

fn record(services: bool) -> (Scratch, std::path::PathBuf, u64) {
    let scratch = Scratch::created("services");
    let root = Root::at(scratch.path().join("root"), None);
    let node = Node::in_root("calculator", root.clone()).unwrap();
    let types = ServiceDescription { request: description("demo::Add"), reply: description("demo::Sum") };
    let server = RawServer::create(&node, "add", &types, &ServiceOptions::default()).unwrap();
    let client = RawClient::create(&node, "add", &types, &ServiceOptions::default()).unwrap();
    let path = scratch.path().join("calls.mcap");
    let options = RecordOptions {
        output: path.clone(),
        selection: Selection::all(),
        project: false,
        services,
        writer: WriterOptions::default(),
    };
    let recorder_node = Node::in_root("recorder", root.clone()).unwrap();
    let mut recorder = Recorder::start(&recorder_node, &root, options).unwrap();
    call(&client, &server, &mut recorder, 40, 2);
    call(&client, &server, &mut recorder, 1, -3);
    // The recorder is no server and no client.
    assert_eq!((client.servers(), server.clients()), (1, 1));
    let report = recorder.finish();
    assert_eq!(report.missing(), 0, "{report:?}");
    let messages = report.topics.iter().map(|it| it.messages).sum();
    if services {
        assert_eq!(report.topics[0].topic, "add (service)");
    }
    (scratch, path, messages)
}

#[test]
fn requests_replies_and_refusals_are_in_the_file() {
    let (_scratch, path, count) = record(true);
    assert_eq!(count, 4);
    let reader = Reader::open(&path).unwrap();
    let messages: Vec<Message> = reader.messages(Filter::default()).map(|it| it.unwrap()).collect();
    let of =
        |topic: &str| -> Vec<&Message> { messages.iter().filter(|it| it.channel.topic == topic).collect() };
    let (requests, replies, refusals) = (of("add/request"), of("add/reply"), of("add/refusal"));
    assert_eq!((requests.len(), replies.len(), refusals.len()), (2, 1, 1));
    let cdr = |numbers: &[i64]| {
        let bytes: Vec<u8> = numbers.iter().flat_map(|it| it.to_le_bytes()).collect();
        [&[0, 1, 0, 0][..], &bytes].concat()
    };
    assert_eq!((requests[0].data(), requests[1].data()), (&cdr(&[40, 2])[..], &cdr(&[1, -3])[..]));
    assert_eq!(replies[0].data(), cdr(&[42]));
    let refusal = [&[0, 1, 0, 0][..], &7_u64.to_le_bytes(), &9_u32.to_le_bytes(), b"negative\0"].concat();
    assert_eq!(refusals[0].data(), refusal);
    // A reply has the number of its call, and its client.
    assert_eq!(replies[0].sequence, requests[0].sequence);
    assert_eq!(refusals[0].sequence, requests[1].sequence);
    let metadata = &requests[0].channel.metadata;
    assert_eq!(
        (metadata["situ.service"].as_str(), &metadata["situ.client"]),
        ("add", &replies[0].channel.metadata["situ.client"])
    );
    assert_eq!(requests[0].schema.as_ref().unwrap().name, "demo/Add");
    assert!(requests[0].publish_time <= replies[0].publish_time);

    // They are no topics, so there is nothing to play.
    let scratch = Scratch::created("services");
    let node = Node::in_root("player", Root::at(scratch.path(), None)).unwrap();
    let options = PlayOptions {
        files: vec![path],
        rate: 1.0,
        from: None,
        until: None,
        repeat: false,
        selection: Selection::all(),
        remap: BTreeMap::new(),
        clock: None,
        wait: Duration::ZERO,
    };
    let Err(PlayError::Nothing(why)) = Player::new(&node, options) else { panic!("it plays") };
    assert!(why.contains("services are not played"), "{why}");
}

#[test]
fn services_are_recorded_only_if_asked_for() {
    assert_eq!(record(false).2, 0);
}
