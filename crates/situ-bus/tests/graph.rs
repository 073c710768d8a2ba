//! The graph: nodes with namespaces, graph domains, endpoints with their user data, and waiting for changes.
#![cfg(not(loom))]

mod common;

use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use common::{Scratch, numbers, role};
use situ_bus::{
    Durability, EndpointInfo, EndpointQos, EndpointRole, Executor, Graph, GraphWatch, History, Liveliness,
    MAX_USER_DATA, Node, NodeError, NodeOptions, Placement, PublisherQos, RawClient, RawPublisher, RawServer,
    RawSubscriber, ReadySources, RegisterError, Reliability, RootError, ServiceDescription, ServiceOptions,
    SubscriberQos, WaitSet, Waitable, clean, inspect,
};
use situ_memory::HOST;
use situ_testkit::process::{Role, say};

/// Long enough for a busy machine.
const LONG: Duration = Duration::from_secs(20);
/// Long enough to see that nothing happens.
const SHORT: Duration = Duration::from_millis(30);

fn options(scratch: &Scratch, namespace: &str) -> NodeOptions {
    NodeOptions { namespace: namespace.to_owned(), root: Some(scratch.root()), ..NodeOptions::default() }
}

fn publisher(node: &Node, topic: &str) -> RawPublisher {
    RawPublisher::create(node, topic, &numbers(), PublisherQos::default()).unwrap()
}

fn subscriber(node: &Node, topic: &str) -> RawSubscriber {
    RawSubscriber::create(node, topic, &numbers(), SubscriberQos::default()).unwrap()
}

fn service() -> ServiceDescription {
    ServiceDescription { request: numbers(), reply: numbers() }
}

/// Returns whether this process may open so many files.
fn allow_files(number: u64) -> bool {
    use rustix::process::{Resource, getrlimit, setrlimit};
    let mut limit = getrlimit(Resource::Nofile);
    limit.current = limit.maximum;
    setrlimit(Resource::Nofile, limit).unwrap();
    limit.current.is_none_or(|files| files >= number)
}

/// How often this thread has slept so far.
fn sleeps() -> i64 {
    // SAFETY: all zeroes are a valid value, which the call overwrites.
    unsafe {
        let mut usage = std::mem::zeroed::<libc::rusage>();
        assert_eq!(libc::getrusage(libc::RUSAGE_THREAD, &mut usage), 0);
        usage.ru_nvcsw
    }
}

/// The nodes of a graph, by name.
fn names(graph: &Graph) -> Vec<String> {
    graph.nodes.iter().map(|node| node.info.full_name()).collect()
}

#[test]
fn nodes_of_one_process_have_names_of_their_own() {
    let scratch = Scratch::new();
    let node = |namespace: &str, name: &str| Node::with_options(name, options(&scratch, namespace)).unwrap();
    let front = node("/robot", "camera");
    assert_eq!((front.name(), front.namespace(), &*front.full_name()), ("camera", "/robot", "/robot/camera"));
    let _others = [node("/robot", "camera"), node("", "camera"), node("/", "planner")];
    assert_eq!(names(&front.graph().unwrap()), ["/camera", "/planner", "/robot/camera", "/robot/camera"]);
    let listed = inspect::node(&scratch.root(), front.id()).unwrap().unwrap();
    assert_eq!((&*listed.namespace, &*listed.full_name()), ("/robot", "/robot/camera"));
    // One of two nodes with the same name goes, and the process stays.
    drop(front);
    assert_eq!(names(&Graph::read(&scratch.root()).unwrap()), ["/camera", "/planner", "/robot/camera"]);
    for wrong in ["robot", "/robot/", "/a//b", "/a\nb"] {
        let refused = Node::with_options("n", options(&scratch, wrong));
        assert!(matches!(refused, Err(NodeError::InvalidNamespace(name)) if name == wrong));
    }
    assert!(matches!(Node::with_options("", options(&scratch, "/")), Err(NodeError::InvalidName(_))));
}

#[test]
fn a_process_has_a_thousand_nodes() {
    // A node has some five files open.
    let nodes = if allow_files(6_200) { 1000 } else { 100 };
    let scratch = Scratch::new();
    let start = Instant::now();
    let made: Vec<Node> = (0..nodes).map(|number| scratch.node(&format!("n{number:03}"))).collect();
    let publishers: Vec<_> = made.iter().map(|node| publisher(node, "shared")).collect();
    let joined = start.elapsed();
    let graph = made[0].graph().unwrap();
    println!(
        "{nodes} nodes joined within {joined:?}; their graph was read within {:?}",
        start.elapsed() - joined
    );
    let expected: Vec<String> = (0..nodes).map(|number| format!("/n{number:03}")).collect();
    assert_eq!(names(&graph), expected);
    let topics = graph.topics();
    assert_eq!((topics.len(), topics[0].publishers.len()), (1, nodes));
    let ids: BTreeSet<_> = publishers.iter().map(RawPublisher::id).collect();
    assert_eq!(topics[0].publishers.iter().map(|(_, it)| it.id).collect::<BTreeSet<_>>(), ids);
    drop(publishers);
    drop(made);
    assert_eq!(Graph::read(&scratch.root()).unwrap(), Graph::default());
}

#[test]
fn graph_domains_do_not_meet() {
    let scratch = Scratch::new();
    let in_domain = |number| {
        let options = NodeOptions { graph_domain: Some(number), ..options(&scratch, "/") };
        Node::with_options(&format!("n{number}"), options).unwrap()
    };
    let (zero, seven, eight) = (in_domain(0), in_domain(7), in_domain(8));
    assert_eq!(zero.root(), &scratch.root());
    assert_eq!((seven.root().graph_domain(), seven.root().base()), (7, scratch.path()));
    let publisher = publisher(&seven, "numbers");
    let (near, far) = (subscriber(&seven, "numbers"), subscriber(&eight, "numbers"));
    common::publish(&publisher, 5, 0);
    assert_eq!((common::take(&near), common::take(&far)), (Some((0, 5)), None));
    assert_eq!((publisher.subscribers(), far.publishers()), (1, 0));
    for (node, endpoints) in [(&zero, 0), (&seven, 2), (&eight, 1)] {
        let graph = node.graph().unwrap();
        assert_eq!((names(&graph), graph.endpoints().count()), (vec![node.full_name()], endpoints));
    }
    assert!(inspect::topics(&scratch.root()).unwrap().is_empty());
    assert_eq!(inspect::topics(seven.root()).unwrap().len(), 1);
    let wrong = NodeOptions { graph_domain: Some(u32::MAX), ..options(&scratch, "/") };
    assert!(matches!(
        Node::with_options("n", wrong),
        Err(NodeError::Root(RootError::InvalidDomain(number))) if number == "4294967295"
    ));
}

/// The only endpoint of a role.
fn only(graph: &Graph, role: EndpointRole) -> EndpointInfo {
    let found: Vec<_> = graph.endpoints().filter(|(_, endpoint)| endpoint.role == role).collect();
    assert_eq!(found.len(), 1, "{role:?}");
    found[0].1.clone()
}

#[test]
fn every_participant_reads_what_endpoints_say_about_themselves() {
    let scratch = Scratch::new();
    let of_node = NodeOptions { user_data: b"enclave=/".to_vec(), ..options(&scratch, "/robot") };
    let node = Node::with_options("planner", of_node).unwrap();
    let longest: Vec<u8> = (0..256).map(|byte| byte as u8).collect();
    let offered = PublisherQos {
        reliability: Reliability::Reliable,
        durability: Durability::TransientLocal,
        depth: 5,
        deadline: Some(Duration::from_millis(20)),
        lifespan: Some(Duration::from_secs(3)),
        liveliness: Liveliness::ManualByTopic,
        lease: Some(Duration::from_secs(100)),
        user_data: longest.clone(),
        ..PublisherQos::default()
    };
    let publisher = RawPublisher::create(&node, "numbers", &numbers(), offered).unwrap();
    let requested =
        SubscriberQos { history: History::KeepLast(3), user_data: b"rihs01".to_vec(), ..Default::default() };
    let subscriber = RawSubscriber::create(&node, "numbers", &numbers(), requested).unwrap();
    let of_service = ServiceOptions { depth: 9, user_data: vec![0, 1, 0], ..ServiceOptions::default() };
    let client = RawClient::create(&node, "add", &service(), &of_service).unwrap();
    let server = RawServer::create(&node, "add", &service(), &ServiceOptions::default()).unwrap();

    let graph = Graph::read(&scratch.root()).unwrap();
    assert_eq!(
        (names(&graph), &*graph.nodes[0].info.user_data),
        (vec!["/robot/planner".to_owned()], &b"enclave=/"[..])
    );
    assert_eq!(graph.endpoints().count(), 4, "topics of services are not listed");
    let expected = EndpointInfo {
        id: publisher.id(),
        role: EndpointRole::Publisher,
        name: "numbers".to_owned(),
        type_name: "test::Numbers".to_owned(),
        schema_hash: 0x1234,
        layout_hash: 0x5678,
        encoding: situ_bus::Encoding::Flat,
        domain: HOST,
        qos: EndpointQos {
            reliability: Reliability::Reliable,
            durability: Durability::TransientLocal,
            history: History::KeepLast(5),
            deadline: Some(Duration::from_millis(20)),
            lifespan: Some(Duration::from_secs(3)),
            liveliness: Liveliness::ManualByTopic,
            lease: Some(Duration::from_secs(100)),
        },
        user_data: longest,
    };
    assert_eq!(only(&graph, EndpointRole::Publisher), expected);
    let qos = EndpointQos {
        reliability: Reliability::BestEffort,
        durability: Durability::Volatile,
        history: History::KeepLast(3),
        deadline: None,
        lifespan: None,
        liveliness: Liveliness::Automatic,
        lease: None,
    };
    let (id, role) = (subscriber.id(), EndpointRole::Subscriber);
    let of_subscriber = EndpointInfo { id, role, qos, user_data: b"rihs01".to_vec(), ..expected.clone() };
    assert_eq!(only(&graph, EndpointRole::Subscriber), of_subscriber);
    let of_client = only(&graph, EndpointRole::Client);
    let types = "test::Numbers -> test::Numbers";
    assert_eq!((of_client.id, &*of_client.name, &*of_client.type_name), (client.id(), "add", types));
    assert_eq!((of_client.qos.history, &*of_client.user_data), (History::KeepLast(9), &[0, 1, 0][..]));
    let of_server = only(&graph, EndpointRole::Server);
    assert_eq!((of_server.id, of_server.qos.history), (server.id(), History::KeepAll));
    assert!(of_server.user_data.is_empty());

    let (topics, services) = (graph.topics(), graph.services());
    assert_eq!(
        (topics.len(), topics[0].name, &*topics[0].type_names),
        (1, "numbers", &["test::Numbers"][..])
    );
    assert_eq!(
        (topics[0].publishers[0].1.id, topics[0].subscribers[0].1.id),
        (publisher.id(), subscriber.id())
    );
    assert_eq!((services.len(), services[0].clients[0].1.id), (1, client.id()));
    assert_eq!(
        (services[0].servers[0].0.full_name(), services[0].type_names.len()),
        ("/robot/planner".into(), 1)
    );

    drop((subscriber, client));
    let later = node.graph().unwrap();
    let changes = later.changes_since(&graph);
    let left: Vec<_> = changes.endpoints_left.iter().map(|it| it.role).collect();
    assert_eq!(left, [EndpointRole::Subscriber, EndpointRole::Client]);
    assert!(changes.nodes_left.is_empty() && changes.endpoints_joined.is_empty() && !changes.is_empty());
    assert!(later.changes_since(&later).is_empty());
    let back = graph.changes_since(&Graph::default());
    assert_eq!((back.nodes_joined.len(), back.endpoints_joined.len()), (1, 4));
}

#[test]
fn user_data_have_a_limit() {
    let scratch = Scratch::new();
    let user_data = vec![0; MAX_USER_DATA + 1];
    let with_data = NodeOptions { user_data: user_data.clone(), ..options(&scratch, "/") };
    assert!(matches!(Node::with_options("n", with_data), Err(NodeError::UserDataTooLong { bytes: 257 })));
    let node = scratch.node("n");
    let is_refused = |result: Result<(), RegisterError>| {
        matches!(result, Err(RegisterError::UserDataTooLong { bytes: 257, .. }))
    };
    let offered = PublisherQos { user_data: user_data.clone(), ..Default::default() };
    assert!(is_refused(RawPublisher::create(&node, "t", &numbers(), offered).map(drop)));
    let requested = SubscriberQos { user_data: user_data.clone(), ..Default::default() };
    assert!(is_refused(RawSubscriber::create(&node, "t", &numbers(), requested).map(drop)));
    let options = ServiceOptions { user_data, ..Default::default() };
    assert!(is_refused(RawClient::create(&node, "s", &service(), &options).map(drop)));
    assert!(is_refused(RawServer::create(&node, "s", &service(), &options).map(drop)));
    assert_eq!(node.graph().unwrap().endpoints().count(), 0);
    assert!(inspect::topics(&scratch.root()).unwrap().is_empty(), "none has joined");
}

#[test]
fn records_are_used_again() {
    let scratch = Scratch::new();
    let node = scratch.node("n");
    let file = scratch.path().join(format!("nodes/{}.node", node.id()));
    let mut sizes = BTreeSet::new();
    for round in 0..50 {
        let kept = publisher(&node, "kept");
        let _gone = subscriber(&node, &format!("topic{round:02}"));
        sizes.insert(std::fs::metadata(&file).unwrap().len());
        assert_eq!(only(&node.graph().unwrap(), EndpointRole::Publisher).id, kept.id());
    }
    assert_eq!(sizes.len(), 1, "the file does not grow");
    // 300 endpoints: more than one read takes, and some are gone in between.
    let mut many: Vec<_> = (0..300).map(|index| publisher(&node, &format!("t{index:03}"))).collect();
    let mut index = 0;
    many.retain(|_| {
        index += 1;
        index % 3 != 0
    });
    let graph = node.graph().unwrap();
    let found: Vec<&str> = graph.endpoints().map(|(_, endpoint)| &*endpoint.name).collect();
    let expected: Vec<String> = (0..300).filter(|i| i % 3 != 2).map(|i| format!("t{i:03}")).collect();
    assert_eq!(found, expected);
}

#[test]
fn a_watch_tells_of_every_kind_of_change() {
    let scratch = Scratch::new();
    let watcher = scratch.node("watcher");
    let watch = watcher.watch_graph().unwrap();
    assert!(!watch.is_polling(), "this machine has no inotify instance left");
    // The changes that the kernel reports later than it makes them.
    let settle = || while watch.wait(Some(SHORT)).unwrap() {};
    settle();
    assert!(!watch.take().unwrap());
    let told = |what: &str| {
        assert!(watch.wait(Some(LONG)).unwrap(), "{what}");
        settle();
    };
    let node = scratch.node("n");
    told("a node");
    let publisher = publisher(&node, "numbers");
    told("a publisher");
    let subscriber = subscriber(&node, "numbers");
    told("a subscriber");
    let server = RawServer::create(&node, "add", &service(), &ServiceOptions::default()).unwrap();
    told("a server");
    let client = RawClient::create(&node, "add", &service(), &ServiceOptions::default()).unwrap();
    told("a client");
    common::publish(&publisher, 1, 0);
    common::take(&subscriber).unwrap();
    inspect::topics(&scratch.root()).unwrap();
    watcher.graph().unwrap();
    clean(&scratch.root()).unwrap();
    assert!(!watch.wait(Some(SHORT)).unwrap(), "messages and readers change nothing");
    drop(publisher);
    told("a publisher is gone");
    drop(subscriber);
    told("a subscriber is gone");
    drop((client, server));
    told("a client and a server are gone");
    drop(node);
    told("a node is gone");
    assert_eq!(names(&watcher.graph().unwrap()), ["/watcher"]);
    assert!(matches!(watch.wait(Some(Duration::ZERO)), Ok(false)));
}

#[test]
fn a_watch_sleeps_until_something_changes() {
    let scratch = Scratch::new();
    let node = scratch.node("n");
    let watch = node.watch_graph().unwrap();
    assert!(!watch.is_polling(), "this machine has no inotify instance left");
    while watch.wait(Some(SHORT)).unwrap() {}
    let before = sleeps();
    assert!(!watch.wait(Some(Duration::from_millis(300))).unwrap());
    let slept = sleeps() - before;
    assert!((1..=2).contains(&slept), "it slept {slept} times in 300 ms without a change");
    // When the watching thread saw something; 0: nothing since the last change began.
    let (seen_ns, is_over) = (AtomicU64::new(0), AtomicBool::new(false));
    let mut delays = Vec::new();
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while !is_over.load(Ordering::SeqCst) {
                if watch.wait(Some(SHORT)).unwrap() {
                    seen_ns.store(situ_bus::now_ns(), Ordering::SeqCst);
                }
            }
        });
        let other = scratch.node("changes");
        let mut kept = Vec::new();
        for _ in 0..200 {
            // The reports of the change before.
            std::thread::sleep(Duration::from_millis(2));
            seen_ns.store(0, Ordering::SeqCst);
            // The kernel reports a change while it is made, so the time includes the call.
            let begun_ns = situ_bus::now_ns();
            kept.push(publisher(&other, "numbers"));
            while seen_ns.load(Ordering::SeqCst) == 0 {
                assert!(situ_bus::now_ns() - begun_ns < LONG.as_nanos() as u64, "a change was not told");
                std::thread::yield_now();
            }
            let seen_ns = seen_ns.load(Ordering::SeqCst);
            delays.push(Duration::from_nanos(seen_ns.saturating_sub(begun_ns)));
        }
        is_over.store(true, Ordering::SeqCst);
    });
    delays.sort();
    let at = |share: usize| delays[(delays.len() - 1) * share / 100];
    println!(
        "{} publishers were created and seen within {:?} (p50), {:?} (p99)",
        delays.len(),
        at(50),
        at(99)
    );
}

#[test]
fn a_watch_tells_of_killed_processes() {
    let scratch = Scratch::new();
    let watch = GraphWatch::new(&scratch.root()).unwrap();
    for _ in 0..10 {
        let mut child = Role::start(scratch.path(), "node");
        child.wait_for("ready");
        let before = Graph::read(&scratch.root()).unwrap();
        assert_eq!((names(&before), before.endpoints().count()), (vec!["/killed/child".to_owned()], 2));
        while watch.wait(Some(SHORT)).unwrap() {}
        child.signal(rustix::process::Signal::KILL);
        assert!(watch.wait(Some(LONG)).unwrap());
        // The first change after the kill is the death itself: the graph does not have the node any more.
        let changes = Graph::read(&scratch.root()).unwrap().changes_since(&before);
        assert_eq!((changes.nodes_left.len(), changes.endpoints_left.len()), (1, 2));
        child.kill();
        clean(&scratch.root()).unwrap();
    }
}

#[test]
fn a_watch_outlives_the_directory_of_nodes() {
    let scratch = Scratch::new();
    let watch = GraphWatch::new(&scratch.root()).unwrap();
    let _lost = scratch.node("lost");
    std::fs::remove_dir_all(scratch.path().join("nodes")).unwrap();
    assert!(watch.wait(Some(LONG)).unwrap());
    while watch.wait(Some(Duration::from_millis(300))).unwrap() {}
    assert!(!scratch.path().join("nodes").exists(), "a watch creates nothing");
    let _node = scratch.node("n");
    assert!(watch.wait(Some(LONG)).unwrap());
    while watch.wait(Some(Duration::from_millis(300))).unwrap() {}
    let _second = scratch.node("m");
    assert!(watch.wait(Some(LONG)).unwrap(), "the new directory is watched");
    std::fs::remove_dir_all(scratch.path()).unwrap();
    let start = Instant::now();
    while watch.wait(Some(SHORT)).is_ok() {
        assert!(start.elapsed() < LONG, "the removal of the root is an error");
    }
}

#[test]
fn a_watch_is_a_source_of_wait_sets_and_executors_and_has_a_descriptor() {
    let scratch = Scratch::new();
    let node = scratch.node("watcher");
    let watch = Arc::new(node.watch_graph().unwrap());
    let set = WaitSet::new(&node);
    let id = set.attach(&*watch).unwrap();
    let mut ready = ReadySources::new();
    while set.wait(&mut ready, Some(SHORT)).unwrap() {
        watch.take().unwrap();
    }
    let first = scratch.node("first");
    assert!(set.wait(&mut ready, Some(LONG)).unwrap() && ready.contains(id));
    assert!(set.wait(&mut ready, Some(LONG)).unwrap(), "it is ready until the change is taken");
    assert!(watch.take().unwrap());
    drop(set);

    let executor = Executor::new(&node).unwrap();
    let calls = Arc::new(AtomicU64::new(0));
    let (watched, counted) = (watch.clone(), calls.clone());
    executor
        .add(watch.source(), move |_| {
            if watched.take().unwrap() {
                counted.fetch_add(1, Ordering::Relaxed);
            }
        })
        .unwrap();
    while executor.spin_once(Some(SHORT)).unwrap() {}
    let before = calls.load(Ordering::Relaxed);
    drop(first);
    while calls.load(Ordering::Relaxed) == before {
        assert!(executor.spin_once(Some(LONG)).unwrap());
    }
}

#[test]
fn graphs_read_while_endpoints_come_and_go_are_whole() {
    let scratch = Scratch::new();
    let mut child = Role::start(scratch.path(), "changes");
    child.wait_for("ready");
    let start = Instant::now();
    let mut seen = BTreeSet::new();
    while seen.len() < 20 && start.elapsed() < LONG {
        for (_, endpoint) in Graph::read(&scratch.root()).unwrap().endpoints() {
            // The user data repeat the name, so that a mixture of two records is found out.
            assert_eq!(endpoint.user_data, endpoint.name.repeat(12).into_bytes());
            assert_eq!(endpoint.type_name, endpoint.name.repeat(20));
            seen.insert(endpoint.id);
        }
    }
    assert!(seen.len() >= 20);
}

/// A file of a node of this process, locked, with bytes behind its text.
fn hostile_file(scratch: &Scratch, number: u64, name: &[u8], records: &[u8]) -> std::fs::File {
    let template = scratch.node("template");
    let directory = scratch.path().join("nodes");
    let mut page = std::fs::read(directory.join(format!("{}.node", template.id()))).unwrap();
    page.truncate(4096);
    let at = page.windows(8).position(|window| window == b"template").unwrap();
    page.splice(at..at + 8, name.iter().copied());
    page.resize(4096, 0);
    let path = directory.join(format!("{number:016x}.node"));
    std::fs::write(&path, [&page, records].concat()).unwrap();
    let file = std::fs::File::options().read(true).write(true).open(&path).unwrap();
    file.try_lock().unwrap();
    file
}

#[test]
fn files_of_others_do_no_harm() {
    let scratch = Scratch::new();
    let node = scratch.node("good");
    let _publisher = publisher(&node, "numbers");
    let mut noise = situ_testkit::Random::seeded("graph");
    let random: Vec<u8> = (0..300 * 1024).map(|_| noise.number() as u8).collect();
    let hostile = [
        hostile_file(&scratch, 1, b"noise", &random),
        hostile_file(&scratch, 2, b"control\x1b[2J", &[]),
        hostile_file(&scratch, 3, b"\xff\xfe", &[]),
        hostile_file(&scratch, 4, b"nowhere\nnamespace //", &[]),
        hostile_file(&scratch, 5, b"huge", &[]),
        hostile_file(&scratch, 6, b"empty", &[]),
    ];
    // A terabyte without memory: only as much is read as a node may have.
    hostile[4].set_len(1 << 40).unwrap();
    hostile[5].set_len(0).unwrap();
    std::os::unix::fs::symlink("/dev/zero", scratch.path().join("nodes/0000000000000007.node")).unwrap();
    std::fs::create_dir(scratch.path().join("nodes/0000000000000008.node")).unwrap();
    std::fs::write(scratch.path().join("nodes/9.node"), "situ-node 2\nname nine\n").unwrap();
    let graph = Graph::read(&scratch.root()).unwrap();
    assert_eq!(names(&graph), ["/good", "/huge", "/noise"]);
    assert_eq!(graph.endpoints().count(), 1);
    // The node's own file is made shorter while the node lives: what is left of it counts.
    let own = scratch.path().join(format!("nodes/{}.node", node.id()));
    std::fs::File::options().write(true).open(own).unwrap().set_len(4096 + 50).unwrap();
    let graph = Graph::read(&scratch.root()).unwrap();
    assert_eq!(
        (names(&graph), graph.endpoints().count()),
        (vec!["/good".into(), "/huge".into(), "/noise".into()], 0)
    );
    drop(subscriber(&node, "numbers"));
}

#[test]
#[ignore = "a role that other tests start"]
fn child() {
    let Some((role, scratch)) = role() else { return };
    match &*role {
        "node" => {
            let node = Node::with_options("child", options(&scratch, "/killed")).unwrap();
            let _both = (publisher(&node, "numbers"), subscriber(&node, "numbers"));
            say("ready");
            loop {
                std::thread::park();
            }
        }
        "changes" => {
            let node = scratch.node("n");
            say("ready");
            let mut endpoints = std::collections::VecDeque::new();
            for count in 0_u64.. {
                // Names of several lengths come into the same slot one after the other.
                let name = "x".repeat(1 + (count % 20) as usize);
                let description =
                    situ_bus::TypeDescription { name: name.repeat(20), schema_hash: 1, ..numbers() };
                let qos = PublisherQos { user_data: name.repeat(12).into_bytes(), ..Default::default() };
                endpoints.push_back(
                    RawPublisher::create_in(&node, &name, &description, qos, &Placement::default()).unwrap(),
                );
                if endpoints.len() > 3 {
                    endpoints.pop_front();
                }
            }
        }
        other => panic!("{other}"),
    }
}
