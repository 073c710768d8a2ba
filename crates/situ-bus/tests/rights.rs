//! Rights: a process that only publishes maps the places of subscribers for reading, and needs no right to
//! write them. A process that only subscribes maps the topic's rows for reading, and needs no right to write
//! them. Groups say who may do which.
//!
//! With superuser rights, a thread of the test plays another user. Otherwise the test makes the file
//! read-only for its owner, and the test with three users is skipped.
#![cfg(not(loom))]

mod common;

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::ExitStatusExt;
use std::path::PathBuf;
use std::sync::OnceLock;
use std::time::{Duration, Instant};

use common::{Scratch, numbers, publish, role, take};
use rustix::io::Errno;
use rustix::mm::{MprotectFlags, mprotect};
use rustix::process::{Gid, Uid};
use situ_bus::{
    History, MakeServiceError, MakeTopicError, Node, Observer, PublishError, PublisherQos, RawClient,
    RawPublisher, RawServer, RawSubscriber, RegisterError, Reliability, RemoveServiceError, RemoveTopicError,
    Root, ServiceDescription, ServiceOptions, ServiceRights, SubscriberQos, TopicRights, TypeDescription,
    WhenFull, clean, inspect, make_service, make_topic, remove_service, remove_topic,
};
use situ_testkit::process::{Role, say};

const TIMEOUT: Duration = Duration::from_secs(60);
const OTHER: u32 = 54_401;
const GROUP: u32 = 54_402;

/// Whether the test's process began as the superuser. The asking thread may be another user.
fn is_root() -> bool {
    static IS_ROOT: OnceLock<bool> = OnceLock::new();
    *IS_ROOT.get_or_init(|| rustix::process::geteuid().is_root())
}

/// Acts as a user other than the test's, in the group of its root. Only the superuser can; otherwise only the
/// file's permissions make the difference.
fn as_other<T: Send>(act: impl FnOnce() -> T + Send) -> T {
    if is_root() { as_user(OTHER, &[], act) } else { act() }
}

/// Acts as a user in the group of the test's root and in further groups.
fn as_user<T: Send>(user: u32, groups: &[u32], act: impl FnOnce() -> T + Send) -> T {
    std::thread::scope(|scope| {
        let thread = scope.spawn(|| {
            let (user, group) = (Uid::from_raw(user), Gid::from_raw(GROUP));
            let groups: Vec<_> = groups.iter().copied().map(Gid::from_raw).collect();
            rustix::thread::set_thread_groups(&groups).unwrap();
            rustix::thread::set_thread_res_gid(group, group, group).unwrap();
            rustix::thread::set_thread_res_uid(user, user, user).unwrap();
            act()
        });
        thread.join().unwrap()
    })
}

fn root(scratch: &Scratch) -> Root {
    Root::at(scratch.path(), is_root().then_some(GROUP))
}

fn reliable() -> (PublisherQos, SubscriberQos) {
    let publisher = PublisherQos {
        reliability: Reliability::Reliable,
        depth: 4,
        when_full: WhenFull::Block(None),
        ..PublisherQos::default()
    };
    let subscriber = SubscriberQos {
        reliability: Reliability::Reliable,
        history: History::KeepAll,
        ..SubscriberQos::default()
    };
    (publisher, subscriber)
}

/// Makes the subscribers' file of a topic read-only.
fn forbid(scratch: &Scratch) {
    let file = scratch.topic("points").join("subscribers");
    fs::set_permissions(file, fs::Permissions::from_mode(0o440)).unwrap();
}

/// The mappings of the subscribers' file in this process, and their rights.
fn mapped(scratch: &Scratch) -> Vec<(usize, String)> {
    mapped_of(scratch, "subscribers")
}

/// The mappings of a file of the topic in this process, and their rights.
fn mapped_of(scratch: &Scratch, file: &str) -> Vec<(usize, String)> {
    let maps = fs::read_to_string("/proc/self/maps").unwrap();
    let file = scratch.topic("points").join(file);
    let lines = maps.lines().filter(|line| line.ends_with(file.to_str().unwrap()));
    lines
        .map(|line| {
            let (addresses, rest) = line.split_once(' ').unwrap();
            let first = usize::from_str_radix(addresses.split_once('-').unwrap().0, 16).unwrap();
            (first, rest.split_once(' ').unwrap().0.to_owned())
        })
        .collect()
}

#[test]
#[ignore = "played by the children of the other tests"]
fn child() {
    let Some((role, scratch)) = role() else { return };
    let node = Node::in_root("child", root(&scratch)).unwrap();
    let (publisher_qos, subscriber_qos) = reliable();
    match role.as_str() {
        "stray" => {
            let publisher = RawPublisher::create(&node, "points", &numbers(), publisher_qos).unwrap();
            publish(&publisher, 7, 0);
            let observer = Observer::open(&root(&scratch), "points").unwrap().unwrap();
            assert_eq!(inspect::topics(&root(&scratch)).unwrap().len(), 1);
            let maps = mapped(&scratch);
            // The observer shares it.
            assert_eq!(maps.iter().map(|(_, rights)| rights.as_str()).collect::<Vec<_>>(), ["r--s"]);
            drop(observer);
            let maps = mapped(&scratch);
            let first = maps[0].0 as *mut u64;
            // SAFETY: the page is mapped, and this process only reads it.
            let allowed = unsafe { mprotect(first.cast(), 4096, MprotectFlags::READ | MprotectFlags::WRITE) };
            assert_eq!(allowed, Err(Errno::ACCESS));
            say("stores");
            // SAFETY: by the specification this is the cursor of the first place. The write ends the process.
            unsafe { first.byte_add(256).write_volatile(u64::MAX) };
            say("stored");
        }
        "stray subscriber" => {
            let subscriber = RawSubscriber::create(&node, "points", &numbers(), subscriber_qos).unwrap();
            say("ready");
            assert!(subscriber.wait(Some(TIMEOUT)));
            assert_eq!(take(&subscriber), Some((0, 7)));
            // It repairs and gives the topic more rows, and its mappings are read-only afterwards.
            let deep = SubscriberQos { history: History::KeepLast(5000), ..SubscriberQos::default() };
            drop(RawSubscriber::create(&node, "points", &numbers(), deep).unwrap());
            assert_eq!(take(&subscriber), None);
            for file in ["topic", "topic.1"] {
                let maps = mapped_of(&scratch, file);
                assert!(!maps.is_empty() && maps.iter().all(|(_, rights)| rights == "r--s"), "{maps:?}");
            }
            let first = mapped_of(&scratch, "topic")[0].0 as *mut u64;
            say("stores");
            // SAFETY: by the specification this is the first row. The write ends the process.
            unsafe { first.byte_add(4096).write_volatile(u64::MAX) };
            say("stored");
        }
        "publish" => {
            let publisher =
                RawPublisher::create(&node, "points", &numbers(), PublisherQos::default()).unwrap();
            say("ready");
            std::thread::sleep(TIMEOUT);
            drop(publisher);
        }
        "hold" => {
            let subscriber = RawSubscriber::create(&node, "points", &numbers(), subscriber_qos).unwrap();
            forbid(&scratch);
            say("ready");
            assert!(subscriber.wait(Some(TIMEOUT)));
            let _held = subscriber.take().unwrap().unwrap();
            say("holds");
            std::thread::sleep(TIMEOUT);
        }
        other => panic!("no such role: {other}"),
    }
}

#[test]
fn a_stray_write_of_a_publisher_moves_no_cursor() {
    let scratch = Scratch::new();
    let node = Node::in_root("n", root(&scratch)).unwrap();
    let subscriber = RawSubscriber::create(&node, "points", &numbers(), reliable().1).unwrap();
    assert_eq!(mapped(&scratch).len(), 1);
    assert_eq!(mapped(&scratch)[0].1, "rw-s");
    let mut child = Role::start(&scratch, "stray");
    child.wait_for("stores");
    let status = child.end(TIMEOUT);
    assert_eq!(status.signal(), Some(libc::SIGSEGV), "{status}");
    let info = inspect::topic(&root(&scratch), "points").unwrap().unwrap();
    assert_eq!(info.subscribers[0].behind, 1, "its cursor has not moved");
    assert_eq!(take(&subscriber), Some((0, 7)));
}

#[test]
fn a_stray_write_of_a_subscriber_changes_no_row() {
    let scratch = Scratch::new();
    let node = Node::in_root("n", root(&scratch)).unwrap();
    let publisher = RawPublisher::create(&node, "points", &numbers(), reliable().0).unwrap();
    let mut child = Role::start(&scratch, "stray subscriber");
    child.wait_for("ready");
    publish(&publisher, 7, 0);
    child.wait_for("stores");
    let status = child.end(TIMEOUT);
    assert_eq!(status.signal(), Some(libc::SIGSEGV), "{status}");
    assert_eq!(publish(&publisher, 8, 0), 1);
}

/// The publisher, the subscriber and the administrator are three users. The kernel keeps each to its role.
#[test]
fn groups_say_who_may_publish_and_who_may_subscribe() {
    if !is_root() {
        eprintln!("skipped: only the superuser can act as three users");
        return;
    }
    const PUBLISHERS: u32 = 54_403;
    const SUBSCRIBERS: u32 = 54_404;
    let scratch = &Scratch::new();
    let rights = TopicRights { publishers: PUBLISHERS, subscribers: SUBSCRIBERS };
    let refused = make_topic(&scratch.root(), "points", &numbers(), 100, rights);
    assert!(matches!(refused, Err(MakeTopicError::NoGroup { .. })), "{refused:?}");
    fs::remove_dir_all(scratch.path()).unwrap();
    make_topic(&root(scratch), "points", &numbers(), 100, rights).unwrap();
    let again = make_topic(&root(scratch), "points", &numbers(), 100, rights);
    assert!(matches!(again, Err(MakeTopicError::Exists { .. })), "{again:?}");
    let (publisher_qos, subscriber_qos) = reliable();
    // The subscriber comes first: it makes nothing.
    let (mine, qos) = (root(scratch), subscriber_qos.clone());
    let (subscriber, reader) = as_user(54_412, &[SUBSCRIBERS], move || {
        let node = Node::in_root("subscriber", mine).unwrap();
        let publisher = RawPublisher::create(&node, "points", &numbers(), PublisherQos::default());
        let Err(RegisterError::Memory(error)) = publisher else { panic!("{publisher:?}") };
        assert!(error.to_string().contains("points/topic: Permission denied"), "{error}");
        (RawSubscriber::create(&node, "points", &numbers(), qos).unwrap(), node)
    });
    let (mine, qos) = (root(scratch), publisher_qos.clone());
    let (publisher, writer) = as_user(54_411, &[PUBLISHERS], move || {
        let node = Node::in_root("publisher", mine).unwrap();
        let subscriber = RawSubscriber::create(&node, "points", &numbers(), SubscriberQos::default());
        let Err(RegisterError::Memory(error)) = subscriber else { panic!("{subscriber:?}") };
        assert!(error.to_string().contains("points/subscribers: Permission denied"), "{error}");
        let publisher = RawPublisher::create(&node, "points", &numbers(), qos).unwrap();
        publish(&publisher, 1, 100);
        (publisher, node)
    });
    // The kernel's answer to programs that do without Situ.
    let topic = scratch.topic("points");
    let pool = fs::read_dir(&topic).unwrap().map(|it| it.unwrap().path());
    let pool: Vec<_> = pool.filter(|it| it.extension().is_some()).collect();
    assert_eq!(pool.len(), 2, "{pool:?}");
    let writes = |path: &PathBuf| fs::OpenOptions::new().write(true).open(path).is_ok();
    let (files, pools) = ([topic.join("topic"), topic.join("subscribers")], &pool);
    let (of_subscriber, of_publisher) = (&files, &files);
    as_user(54_412, &[SUBSCRIBERS], move || {
        assert_eq!(of_subscriber.each_ref().map(writes), [false, true]);
        assert!(pools.iter().all(|pool| !writes(pool) && fs::read(pool).is_ok()));
        assert!(fs::File::create(of_subscriber[0].with_file_name("x")).is_err());
    });
    as_user(54_411, &[PUBLISHERS], move || assert_eq!(of_publisher.each_ref().map(writes), [true, false]));
    // Sleeping subscribers are woken, and publishers that wait for room.
    let both = std::thread::scope(|scope| {
        let publishes = scope.spawn(move || {
            as_user(54_411, &[PUBLISHERS], move || {
                (2..200).for_each(|value| _ = publish(&publisher, value, 100));
                publisher
            })
        });
        let subscriber = as_user(54_412, &[SUBSCRIBERS], move || {
            for value in 1..200 {
                assert!(subscriber.wait(Some(TIMEOUT)));
                assert_eq!(take(&subscriber).map(|taken| taken.1), Some(value));
            }
            subscriber
        });
        (publishes.join().unwrap(), subscriber)
    });
    let in_use = remove_topic(&root(scratch), "points");
    assert!(matches!(in_use, Err(RemoveTopicError::InUse { .. })), "{in_use:?}");
    as_user(54_411, &[PUBLISHERS], move || drop(both.0));
    as_user(54_412, &[SUBSCRIBERS], move || drop(both.1));
    as_user(54_411, &[PUBLISHERS], move || drop(writer));
    as_user(54_412, &[SUBSCRIBERS], move || drop(reader));
    // It stands, with its type.
    assert!(topic.join("topic").exists());
    let mine = root(scratch);
    as_user(54_411, &[PUBLISHERS], move || {
        let node = Node::in_root("publisher", mine).unwrap();
        let other = TypeDescription { schema_hash: 1, ..numbers() };
        let refused = RawPublisher::create(&node, "points", &other, PublisherQos::default());
        assert!(matches!(refused, Err(RegisterError::TypeMismatch { .. })), "{refused:?}");
    });
    assert!(remove_topic(&root(scratch), "points").unwrap());
    assert!(!remove_topic(&root(scratch), "points").unwrap());
    assert!(!topic.exists());
}

/// The client, the server and the administrator are three users. The kernel keeps each to its role.
#[test]
fn groups_say_who_may_call_a_service_and_who_may_answer() {
    if !is_root() {
        eprintln!("skipped: only the superuser can act as three users");
        return;
    }
    const CALLERS: u32 = 54_405;
    const SERVERS: u32 = 54_406;
    let scratch = &Scratch::new();
    let rights = ServiceRights { callers: CALLERS, servers: SERVERS };
    let described = &ServiceDescription { request: numbers(), reply: numbers() };
    let make = |root: &Root, name: &str| make_service(root, name, described, 100, rights);
    let refused = make(&scratch.root(), "add");
    assert!(matches!(refused, Err(MakeServiceError::NoGroup { .. })), "{refused:?}");
    fs::remove_dir_all(scratch.path()).unwrap();
    let reserved = make(&root(scratch), "situ:request/add");
    assert!(matches!(reserved, Err(MakeServiceError::Register(RegisterError::ReservedName { .. }))));
    make(&root(scratch), "add").unwrap();
    let again = make(&root(scratch), "add");
    assert!(matches!(again, Err(MakeServiceError::Exists { service }) if service == "add"));

    let options = &ServiceOptions::default();
    let client = |node: &Node| RawClient::create(node, "add", described, options);
    let server = |node: &Node| RawServer::create(node, "add", described, options);
    let is_denied = |refused: Option<RegisterError>, file: &str| match refused {
        Some(RegisterError::Memory(error)) => {
            let error = error.to_string();
            assert!(
                error.contains("add/") && error.contains(&format!("{file}: Permission denied")),
                "{error}"
            );
        }
        other => panic!("{other:?}"),
    };
    // A member of the root's group alone.
    as_user(54_413, &[], || {
        let node = Node::in_root("stranger", root(scratch)).unwrap();
        is_denied(client(&node).err(), "topic");
        is_denied(server(&node).err(), "subscribers");
    });
    let (ready, is_ready) = std::sync::mpsc::channel();
    std::thread::scope(|scope| {
        let serving = scope.spawn(|| {
            as_user(54_412, &[SERVERS], move || {
                let node = Node::in_root("server", root(scratch)).unwrap();
                is_denied(client(&node).err(), "topic");
                let server = server(&node).unwrap();
                ready.send(()).unwrap();
                assert!(server.wait(Some(TIMEOUT)));
                let request = server.take().unwrap().unwrap();
                let mut loan = server.loan(&request.id(), 8, 8, 0).unwrap();
                loan.head_bytes().copy_from_slice(request.sample().head_in_place());
                loan.send().unwrap();
                // The client takes the reply before the server leaves.
                assert!(server.wait(Some(TIMEOUT)));
                assert!(server.take().unwrap().is_some());
            });
        });
        is_ready.recv().unwrap();
        let in_use = remove_service(&root(scratch), "add");
        assert!(matches!(in_use, Err(RemoveServiceError::InUse { .. })), "{in_use:?}");
        as_user(54_411, &[CALLERS], || {
            let node = Node::in_root("client", root(scratch)).unwrap();
            is_denied(server(&node).err(), "subscribers");
            let client = client(&node).unwrap();
            let send = |value: u64| {
                let mut loan = client.loan(8, 8, 0).unwrap();
                loan.head_bytes().copy_from_slice(&value.to_ne_bytes());
                loan.send(None).unwrap()
            };
            let call = send(7);
            let reply = client.receive_of(call, Some(TIMEOUT)).unwrap().expect("a reply");
            assert_eq!(reply.sample().head_in_place(), 7u64.to_ne_bytes());
            drop(reply);
            send(8);
            serving.join().unwrap();
        });
    });
    // It stands, with its types.
    as_user(54_411, &[CALLERS], || {
        let node = Node::in_root("client", root(scratch)).unwrap();
        let other = TypeDescription { schema_hash: 1, ..numbers() };
        let other = ServiceDescription { reply: other, request: numbers() };
        let refused = RawClient::create(&node, "add", &other, options);
        assert!(matches!(refused, Err(RegisterError::TypeMismatch { .. })), "{refused:?}");
        drop(client(&node).unwrap());
    });
    assert!(remove_service(&root(scratch), "add").unwrap());
    assert!(!remove_service(&root(scratch), "add").unwrap());
    // Then it is open to all.
    as_user(54_413, &[], || {
        let node = Node::in_root("stranger", root(scratch)).unwrap();
        drop((client(&node).unwrap(), server(&node).unwrap()));
    });
}

/// A publisher is killed. A subscriber that may not mark it sees that it is gone, and a later publisher
/// repairs.
#[test]
fn a_subscriber_sees_the_death_of_a_publisher_that_it_may_not_mark() {
    let scratch = &Scratch::new();
    let node = Node::in_root("n", root(scratch)).unwrap();
    let mut child = Role::start(scratch, "publish");
    child.wait_for("ready");
    let topic = scratch.topic("points").join("topic");
    fs::set_permissions(&topic, fs::Permissions::from_mode(0o440)).unwrap();
    let subscriber = as_other(move || {
        let other = Node::in_root("other", root(scratch)).unwrap();
        let subscriber =
            RawSubscriber::create(&other, "points", &numbers(), SubscriberQos::default()).unwrap();
        assert_eq!(subscriber.publishers(), 1);
        subscriber
    });
    child.kill();
    let start = Instant::now();
    let subscriber = as_other(move || {
        while subscriber.publishers() > 0 {
            assert!(start.elapsed() < TIMEOUT);
            assert!(!subscriber.wait(Some(Duration::from_millis(10))));
            assert!(subscriber.take().unwrap().is_none());
        }
        subscriber
    });
    fs::set_permissions(&topic, fs::Permissions::from_mode(0o660)).unwrap();
    let publisher = RawPublisher::create(&node, "points", &numbers(), PublisherQos::default()).unwrap();
    publish(&publisher, 5, 0);
    let subscriber = as_other(move || {
        assert_eq!(subscriber.publishers(), 1, "the dead one's entry is free");
        assert!(subscriber.wait(Some(TIMEOUT)));
        assert_eq!(take(&subscriber).map(|taken| taken.1), Some(5));
        subscriber
    });
    drop((subscriber, publisher));
}

#[test]
fn a_process_that_may_only_read_the_places_publishes_and_does_not_subscribe() {
    let scratch = &Scratch::new();
    let node = Node::in_root("n", root(scratch)).unwrap();
    let (publisher_qos, subscriber_qos) = reliable();
    let subscriber = RawSubscriber::create(&node, "points", &numbers(), subscriber_qos.clone()).unwrap();
    forbid(scratch);
    let subscriber = as_other(move || {
        let other = Node::in_root("other", root(scratch)).unwrap();
        let publisher = RawPublisher::create(&other, "points", &numbers(), publisher_qos).unwrap();
        for value in 0..20 {
            publish(&publisher, value, 100);
            assert_eq!(take(&subscriber), Some((value, value)));
        }
        assert_eq!(publisher.subscribers(), 1);
        let refused = RawSubscriber::create(&other, "points", &numbers(), subscriber_qos.clone());
        let Err(RegisterError::Memory(error)) = refused else { panic!("{refused:?}") };
        let error = error.to_string();
        assert!(error.contains("points/subscribers") && error.contains("ermission denied"), "{error}");
        // The topic grows, too: the further ring belongs to a publisher.
        let deep = PublisherQos { depth: 5000, ..reliable().0 };
        let deep = RawPublisher::create(&other, "points", &numbers(), deep).unwrap();
        publish(&deep, 30, 0);
        publish(&publisher, 31, 0);
        subscriber
    });
    assert_eq!([take(&subscriber), take(&subscriber)], [Some((20, 30)), Some((21, 31))]);
    drop(subscriber);
    assert!(!scratch.topic("points").exists(), "the last member removes the topic");
}

#[test]
fn a_publisher_goes_on_past_dead_subscribers_whose_places_it_may_not_write() {
    let scratch = &Scratch::new();
    let node = Node::in_root("n", root(scratch)).unwrap();
    let (publisher_qos, subscriber_qos) = reliable();
    let mut child = Role::start(scratch, "hold");
    child.wait_for("ready");
    let (other, publisher) = as_other(move || {
        let other = Node::in_root("other", root(scratch)).unwrap();
        let publisher = RawPublisher::create(&other, "points", &numbers(), publisher_qos).unwrap();
        publish(&publisher, 0, 100);
        (other, publisher)
    });
    child.wait_for("holds");
    child.kill();
    let (publisher, late, strict) = as_other(move || {
        // It would wait for ever at the fifth message, and keep the held slot.
        let start = Instant::now();
        for value in 1..50 {
            publish(&publisher, value, 100);
        }
        assert!(start.elapsed() < Duration::from_secs(10), "{:?}", start.elapsed());
        assert_eq!(publisher.subscribers(), 0);
        let held = || inspect::topic(&root(scratch), "points").unwrap().unwrap().publishers[0].held_slots;
        assert_eq!(held(), 0, "the dead subscriber's slots are free");
        // A new publisher passes the place over as well.
        let late = RawPublisher::create(&other, "points", &numbers(), reliable().0).unwrap();
        assert_eq!(late.subscribers(), 0);
        (0..10).for_each(|value| _ = publish(&late, value, 0));
        let info = inspect::topic(&root(scratch), "points").unwrap().unwrap();
        assert_eq!(
            info.subscribers.iter().map(|it| it.alive).collect::<Vec<_>>(),
            [false],
            "the place stays taken"
        );
        let strict = PublisherQos { when_full: WhenFull::Fail, ..reliable().0 };
        let strict = RawPublisher::create(&other, "points", &numbers(), strict).unwrap();
        (publisher, late, strict)
    });
    // A subscriber that may write repairs, and gets the same place.
    if !is_root() {
        let file = scratch.topic("points").join("subscribers");
        fs::set_permissions(file, fs::Permissions::from_mode(0o600)).unwrap();
    }
    let next = RawSubscriber::create(&node, "points", &numbers(), subscriber_qos).unwrap();
    let info = inspect::topic(&root(scratch), "points").unwrap().unwrap();
    assert_eq!(info.subscribers.iter().map(|it| it.alive).collect::<Vec<_>>(), [true]);
    forbid(scratch);
    let publishers = as_other(move || {
        assert_eq!((publisher.subscribers(), late.subscribers()), (1, 1), "they wait for it");
        (0..4).for_each(|value| _ = publish(&publisher, value, 0));
        let mut loan = strict.loan(8, 8, 0).unwrap();
        loan.head_bytes().fill(0);
        assert!(matches!(loan.publish(), Err(PublishError::Full { .. })));
        (publisher, late, strict)
    });
    assert_eq!(take(&next).map(|taken| taken.1), Some(0));
    drop((next, publishers, node));
    clean(&root(scratch)).unwrap();
    assert_eq!(scratch.files(), Vec::<PathBuf>::new());
}
