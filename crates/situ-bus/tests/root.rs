//! A root directory under the control of other users: created before its user arrives, full of links,
//! exchanged while it is created, or removed.
//!
//! Threads play other users, because the kernel keeps credentials for each thread. Only the superuser's tests
//! can change users; without that right they print so and pass.
#![cfg(not(loom))]

mod common;

use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt, chown, symlink};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use common::{Scratch, numbers, publish, take};
use rustix::fs::{CWD, RenameFlags, renameat_with};
use rustix::process::{Gid, Uid};
use situ_bus::{
    Node, Observer, PublishError, PublisherQos, RawPublisher, RawSubscriber, ReceiveError, RegisterError,
    Reliability, Removed, RemovedPart, Root, RootError, SubscriberQos, TakeError, WhenFull, clean,
    clean_topics, inspect,
};

const ATTACKER: u32 = 54_301;
const VICTIM: u32 = 54_302;
const GROUP: u32 = 54_303;

/// Runs as another user, in a group of this number.
fn as_user<T: Send>(user: u32, group: u32, act: impl FnOnce() -> T + Send) -> T {
    std::thread::scope(|scope| {
        let thread = scope.spawn(|| {
            let (user, group) = (Uid::from_raw(user), Gid::from_raw(group));
            rustix::thread::set_thread_groups(&[]).unwrap();
            rustix::thread::set_thread_res_gid(group, group, group).unwrap();
            rustix::thread::set_thread_res_uid(user, user, user).unwrap();
            act()
        });
        thread.join().unwrap()
    })
}

fn is_root(what: &str) -> bool {
    let root = rustix::process::geteuid().is_root();
    if !root {
        println!("SKIPPED: {what}: only root may become another user");
    }
    root
}

/// Files of the victim with names like Situ's, and in part with beginnings like Situ's.
fn precious(directory: &Path) -> Vec<PathBuf> {
    fs::create_dir_all(directory).unwrap();
    chown(directory, Some(VICTIM), Some(VICTIM)).unwrap();
    let names = [
        "x.data",
        "y.pool",
        "topic.z",
        "w.new",
        "topic",
        "topic.new",
        "topic.1",
        "subscribers",
        "letter.node",
    ];
    let numbered = ["pool", "data", "node", "new", "ring"].map(|it| format!("0123456789abcdef.{it}"));
    names
        .into_iter()
        .map(str::to_owned)
        .chain(numbered)
        .map(|name| {
            let path = directory.join(name);
            fs::write(&path, "dear diary").unwrap();
            chown(&path, Some(VICTIM), Some(VICTIM)).unwrap();
            path
        })
        .collect()
}

fn are_there(files: &[PathBuf]) -> bool {
    files.iter().all(|path| fs::read(path).is_ok_and(|text| text == b"dear diary"))
}

/// Everything that reads or cleans a root, with its result.
fn everything(root: &Root) -> Vec<Result<(), String>> {
    fn told<T>(result: Result<T, impl std::fmt::Display>) -> Result<(), String> {
        result.map(|_| ()).map_err(|error| error.to_string())
    }
    vec![
        told(clean(root)),
        told(clean_topics(root)),
        told(inspect::topics(root)),
        told(inspect::nodes(root)),
        told(inspect::topic(root, "points")),
        told(Observer::open(root, "points")),
        told(Node::in_root("victim", root.clone())),
    ]
}

#[test]
fn a_planted_root_is_refused_with_its_owner_and_mode_and_nothing_is_deleted() {
    if !is_root("a planted root is refused") {
        return;
    }
    let (scratch, home) = (Scratch::new(), Scratch::new());
    let files = precious(home.path());
    for mode in [0o700, 0o755, 0o777] {
        as_user(ATTACKER, ATTACKER, || {
            fs::create_dir(scratch.path()).unwrap();
            for name in ["topics", "nodes", "trace"] {
                symlink(home.path(), scratch.join(name)).unwrap();
            }
            fs::set_permissions(scratch.path(), fs::Permissions::from_mode(mode)).unwrap();
        });
        for user in [VICTIM, 0] {
            for answer in as_user(user, user, || everything(&scratch.root())) {
                let error = answer.expect_err("it belongs to another user");
                let owner = format!("belongs to user {ATTACKER} ");
                assert!(error.contains(&owner) && error.contains(&format!("mode {mode:04o}")), "{error}");
            }
        }
        assert!(are_there(&files));
        fs::remove_dir_all(scratch.path()).unwrap();
    }
}

#[test]
fn a_root_that_others_may_write_is_refused_everywhere() {
    let scratch = Scratch::new();
    scratch.root().prepare().unwrap();
    for mode in [0o770, 0o702] {
        fs::set_permissions(scratch.path(), fs::Permissions::from_mode(mode)).unwrap();
        for answer in everything(&scratch.root()) {
            let error = answer.expect_err("other users may write to it");
            assert!(error.contains(&format!("mode {mode:04o}")), "{error}");
        }
    }
}

/// A root of the group. Its maker, the attacker, is a member.
fn planted_group_root(scratch: &Scratch) -> Root {
    let root = Root::at(scratch.path(), Some(GROUP));
    as_user(ATTACKER, GROUP, || root.prepare().map(|_| ()).unwrap());
    root
}

#[test]
fn links_in_the_root_of_a_group_lead_nowhere() {
    if !is_root("links in the root of a group lead nowhere") {
        return;
    }
    for planted in ["topics", "nodes", "trace", "topics/points"] {
        let (scratch, home) = (Scratch::new(), Scratch::new());
        let files = precious(home.path());
        let root = planted_group_root(&scratch);
        as_user(ATTACKER, GROUP, || {
            let _ = fs::remove_dir(scratch.join(planted));
            symlink(home.path(), scratch.join(planted)).unwrap();
        });
        for (user, group) in [(VICTIM, GROUP), (0, 0)] {
            let joins = as_user(user, group, || {
                everything(&root);
                let node = Node::in_root("victim", root.clone());
                node.is_ok_and(|node| {
                    RawPublisher::create(&node, "points", &numbers(), PublisherQos::default()).is_ok()
                })
            });
            assert_eq!(joins, planted == "trace", "{planted}: the bus needs no traces");
            assert!(are_there(&files), "{planted}");
            assert_eq!(
                fs::read_dir(home.path()).unwrap().count(),
                files.len(),
                "{planted}: nothing is created there"
            );
        }
    }
}

#[test]
fn a_hard_link_to_a_pool_elsewhere_is_neither_opened_nor_removed() {
    let (scratch, elsewhere) = (Scratch::new(), Scratch::new());
    let node = elsewhere.node("private");
    let _publisher = RawPublisher::create(&node, "numbers", &numbers(), PublisherQos::default()).unwrap();
    scratch.root().prepare().unwrap();
    fs::create_dir(scratch.topic("numbers")).unwrap();
    let there = fs::read_dir(elsewhere.topic("numbers")).unwrap().map(|entry| entry.unwrap().path());
    let files: Vec<PathBuf> = there.collect();
    assert!(files.len() >= 3, "{files:?}");
    for file in &files {
        fs::hard_link(file, scratch.topic("numbers").join(file.file_name().unwrap())).unwrap();
    }
    let looked = inspect::topic(&scratch.root(), "numbers").unwrap_err().to_string();
    assert!(looked.contains("hard link"), "{looked}");
    assert_eq!(clean_topics(&scratch.root()).unwrap(), Vec::<String>::new());
    let other = scratch.node("n");
    assert!(RawSubscriber::create(&other, "numbers", &numbers(), SubscriberQos::default()).is_err());
    assert!(files.iter().all(|file| fs::metadata(file).unwrap().nlink() == 2));
}

#[test]
fn a_member_of_the_group_gains_nothing_by_exchanging_new_files() {
    if !is_root("a member of the group gains nothing by exchanging new files") {
        return;
    }
    let (scratch, home) = (Scratch::new(), Scratch::new());
    let root = planted_group_root(&scratch);
    // The superuser's file and directory, and the attacker's links to them.
    fs::create_dir(home.path()).unwrap();
    let (file, directory) = (home.join("secret"), home.join("secrets"));
    fs::write(&file, "dear diary").unwrap();
    fs::set_permissions(&file, fs::Permissions::from_mode(0o600)).unwrap();
    fs::create_dir(&directory).unwrap();
    fs::set_permissions(&directory, fs::Permissions::from_mode(0o700)).unwrap();
    let (over, exchanged) = (AtomicBool::new(false), AtomicUsize::new(0));
    let topic = scratch.topic("points");
    std::thread::scope(|scope| {
        scope.spawn(|| {
            as_user(ATTACKER, GROUP, || {
                // In the same directory: moving a directory elsewhere needs the right to write to it.
                let mine = scratch.join("topics/mine");
                while !over.load(Ordering::Relaxed) {
                    let _ = fs::remove_file(&mine).or_else(|_| fs::remove_dir(&mine));
                    let turn = exchanged.fetch_add(1, Ordering::Relaxed);
                    let _ = symlink(if turn % 2 == 0 { &file } else { &directory }, &mine);
                    // Until it exists.
                    while renameat_with(CWD, &mine, CWD, &topic, RenameFlags::EXCHANGE).is_err()
                        && !over.load(Ordering::Relaxed)
                    {}
                }
            });
        });
        let opened = root.open().unwrap().unwrap();
        let (start, mut turns) = (Instant::now(), 0);
        while (turns < 20_000 || exchanged.load(Ordering::Relaxed) < 5000)
            && start.elapsed() < Duration::from_secs(5)
        {
            turns += 1;
            let _ = opened.make(&opened.topic("points"));
            let _ = fs::remove_dir(&topic).or_else(|_| fs::remove_file(&topic));
        }
        over.store(true, Ordering::Relaxed);
    });
    assert!(exchanged.load(Ordering::Relaxed) > 1);
    for (path, mode) in [(&file, 0o600), (&directory, 0o700)] {
        let metadata = fs::metadata(path).unwrap();
        assert_eq!((metadata.uid(), metadata.gid(), metadata.mode() & 0o7777), (0, 0, mode), "{path:?}");
    }
}

#[test]
fn members_of_a_group_cannot_replace_but_can_clean_up_files_of_others() {
    if !is_root("members of a group cannot replace but can clean up files of others") {
        return;
    }
    let scratch = Scratch::new();
    let root = Root::at(scratch.path(), Some(GROUP));
    let (one, other) = (ATTACKER, VICTIM);
    let file = scratch.join("nodes/00000000000000aa.node");
    let lives = as_user(one, GROUP, || {
        let node = Node::in_root("one", root.clone()).unwrap();
        RawPublisher::create(&node, "points", &numbers(), PublisherQos::default()).unwrap()
    });
    as_user(other, GROUP, || {
        for path in ["nodes", "topics", "topics/points"] {
            assert!(fs::rename(scratch.join(path), scratch.join("stolen")).is_err(), "{path}");
        }
        for file in fs::read_dir(scratch.join("nodes")).unwrap() {
            assert!(fs::remove_file(file.unwrap().path()).is_err());
        }
    });
    drop(lives);
    // A dead node.
    as_user(one, GROUP, || {
        fs::write(&file, "situ-node 1\nname dead\npid 1\nborn 0\n").unwrap();
        fs::set_permissions(&file, fs::Permissions::from_mode(0o660)).unwrap();
    });
    chown(&file, None, Some(GROUP)).unwrap();
    // The user owns the topic's directory, and all its files remain, as after a kill.
    let left = scratch.topic("left");
    as_user(one, GROUP, || {
        let opened = root.open().unwrap().unwrap();
        opened.make(&opened.topic("left")).unwrap();
        fs::write(left.join("topic"), "SITUTOPI").unwrap();
        fs::write(left.join("subscribers"), "SITUSUBS").unwrap();
        fs::write(left.join("00000000000000cc.pool"), "SITUPOOL").unwrap();
        fs::write(left.join("00000000000000cc.data"), "").unwrap();
    });
    as_user(other, GROUP, || {
        assert_eq!(clean(&root).unwrap().nodes, ["dead"]);
        assert!(inspect::nodes(&root).unwrap().is_empty(), "it is not found again");
        assert_eq!(fs::read_dir(&left).unwrap().count(), 0, "its memory is free");
        let node = Node::in_root("other", root.clone()).unwrap();
        let begun = RawPublisher::create(&node, "left", &numbers(), PublisherQos::default());
        begun.map(|_| ()).unwrap();
    });
    assert_eq!(fs::read(&file).unwrap(), b"", "emptied, because it could not be removed");
    as_user(one, GROUP, || clean(&root).map(|_| ()).unwrap());
}

/// Checks until a participant has found it, which takes a second.
fn until<T>(mut look: impl FnMut() -> Option<T>) -> T {
    let start = Instant::now();
    loop {
        if let Some(found) = look() {
            return found;
        }
        assert!(start.elapsed() < Duration::from_secs(30), "no participant notices");
        std::thread::sleep(Duration::from_millis(20));
    }
}

#[test]
fn a_typed_subscriber_learns_that_its_topic_was_removed() {
    let scratch = Scratch::new();
    let subscriber = scratch.node("n").subscriber::<common::messages::Pose>("poses").create().unwrap();
    fs::remove_dir_all(scratch.topic("poses")).unwrap();
    // Not a wait that ends again and again without a message.
    let received = subscriber.recv(Some(Duration::from_secs(30)));
    assert!(matches!(received, Err(ReceiveError::Take(TakeError::Removed { .. }))), "{received:?}");
}

/// Removes something while one participant publishes, one waits and one is blocked. Checks the errors that
/// they, and a new participant, get.
fn remove_under_all(node: &Node, what: &Path) -> [Removed; 3] {
    let publisher = RawPublisher::create(node, "points", &numbers(), PublisherQos::default()).unwrap();
    let waits = RawSubscriber::create(node, "points", &numbers(), SubscriberQos::default()).unwrap();
    let qos = PublisherQos {
        reliability: Reliability::Reliable,
        depth: 1,
        when_full: WhenFull::Block(None),
        ..Default::default()
    };
    let blocked = RawPublisher::create(node, "blocked", &numbers(), qos).unwrap();
    let slow = RawSubscriber::create(
        node,
        "blocked",
        &numbers(),
        SubscriberQos { reliability: Reliability::Reliable, ..Default::default() },
    )
    .unwrap();
    publish(&blocked, 1, 0);
    if what.is_dir() {
        fs::remove_dir_all(what).unwrap()
    } else {
        fs::remove_file(what).unwrap()
    }
    // The wait ends, because the take returns an error.
    assert!(waits.wait(Some(Duration::from_secs(30))));
    let Err(TakeError::Removed { removed: taken, .. }) = waits.take() else {
        panic!("the take returns no error")
    };
    let published = until(|| match publisher.loan(8, 8, 0).unwrap().publish() {
        Err(PublishError::Removed { removed, .. }) => Some(removed),
        _ => None,
    });
    let waited = match blocked.loan(8, 8, 0).unwrap().publish() {
        Err(PublishError::Removed { removed, .. }) => removed,
        other => panic!("{other:?}"),
    };
    drop(slow);
    [taken, published, waited]
}

#[test]
fn a_removed_root_is_noticed_by_all_its_participants() {
    let scratch = Scratch::new();
    let other = scratch.node("other");
    for removed in remove_under_all(&scratch.node("n"), scratch.path()) {
        assert_eq!((removed.part, removed.path.as_path()), (RemovedPart::Root, scratch.path()));
    }
    let refused = RawPublisher::create(&other, "points", &numbers(), PublisherQos::default());
    assert!(matches!(refused, Err(RegisterError::Root(RootError::Removed { .. }))), "{refused:?}");
    assert!(!scratch.exists(), "no old participant creates it again");
    // Others begin anew in a root of the same name, without interference by the old ones.
    let node = scratch.node("new");
    let refused = RawPublisher::create(&other, "points", &numbers(), PublisherQos::default());
    assert!(matches!(refused, Err(RegisterError::Root(RootError::Removed { .. }))), "{refused:?}");
    RawPublisher::create(&node, "points", &numbers(), PublisherQos::default()).unwrap();
}

#[test]
fn a_removed_directory_of_topics_is_noticed_and_created_again_for_new_members() {
    let scratch = Scratch::new();
    let node = scratch.node("n");
    let topics = scratch.join("topics");
    for removed in remove_under_all(&node, &topics) {
        assert_eq!(removed.part, RemovedPart::Topic);
        assert!(removed.path.starts_with(&topics), "{removed}");
    }
    let publisher = RawPublisher::create(&node, "points", &numbers(), PublisherQos::default()).unwrap();
    publish(&publisher, 1, 0);
}

#[test]
fn a_removed_file_of_a_topic_is_noticed_and_the_topic_created_again_for_new_members() {
    for name in ["topic", "subscribers"] {
        let scratch = Scratch::new();
        let node = scratch.node("n");
        let publisher = RawPublisher::create(&node, "points", &numbers(), PublisherQos::default()).unwrap();
        let subscriber =
            RawSubscriber::create(&node, "points", &numbers(), SubscriberQos::default()).unwrap();
        let file = scratch.topic("points").join(name);
        fs::remove_file(&file).unwrap();
        assert!(inspect::topic(&scratch.root(), "points").unwrap().is_none());
        let error = until(|| match publisher.loan(8, 8, 0).unwrap().publish() {
            Err(PublishError::Removed { removed, .. }) => Some(removed),
            _ => None,
        });
        assert_eq!((error.part, error.path), (RemovedPart::Topic, file));
        let late = RawSubscriber::create(&node, "points", &numbers(), SubscriberQos::default()).unwrap();
        let new = RawPublisher::create(&node, "points", &numbers(), PublisherQos::default()).unwrap();
        publish(&new, 1, 0);
        assert_eq!(take(&late), Some((0, 1)), "new members meet");
        drop((subscriber, publisher));
        publish(&new, 2, 0);
        assert_eq!(take(&late), Some((1, 2)), "the old members remove no new file");
        drop((late, new));
        assert!(!scratch.topic("points").exists());
    }
}

#[test]
fn a_removed_node_file_is_an_error() {
    let scratch = Scratch::new();
    let node = scratch.node("n");
    let file = scratch.join("nodes").join(format!("{}.node", node.id()));
    for removed in remove_under_all(&node, &file) {
        assert_eq!((removed.part, &removed.path), (RemovedPart::Node, &file));
    }
}

#[test]
fn in_a_removed_root_no_node_counts_as_dead() {
    let scratch = Scratch::new();
    let (one, other) = (scratch.node("one"), scratch.node("other"));
    let publisher = RawPublisher::create(&one, "points", &numbers(), PublisherQos::default()).unwrap();
    let subscriber = RawSubscriber::create(&other, "points", &numbers(), SubscriberQos::default()).unwrap();
    // So that it has the pool mapped.
    publish(&publisher, 6, 0);
    assert_eq!(take(&subscriber), Some((0, 6)));
    fs::remove_dir_all(scratch.path()).unwrap();
    // The subscriber repairs once a second, and finds the publisher's file gone.
    let start = Instant::now();
    while start.elapsed() < Duration::from_millis(1500) {
        subscriber.wait(Some(Duration::from_millis(100)));
    }
    assert!(matches!(subscriber.take(), Err(TakeError::Removed { .. })));
    publish(&publisher, 7, 0);
    assert_eq!(
        take(&subscriber),
        Some((1, 7)),
        "the published message is still taken, before the removal is an error"
    );
}
