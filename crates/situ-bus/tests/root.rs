//! The root directory in the hands of others: planted before its user came, full of links, exchanged while it is made, removed.
//!
//! Other users are played by threads: the kernel keeps credentials for each thread. Only the superuser's tests can become
//! somebody else; without that they say so and pass.
#![cfg(not(loom))]

mod common;

use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt, chown, symlink};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use common::{Scratch, numbers};
use rustix::fs::{CWD, RenameFlags, renameat_with};
use rustix::process::{Gid, Uid};
use situ_bus::{
    Node, Observer, PublisherQos, RawPublisher, RawSubscriber, Root, SubscriberQos, clean, clean_topics,
    inspect,
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

/// Files of the victim that look like Situ's by their names, and in part by their beginnings.
fn precious(directory: &Path) -> Vec<PathBuf> {
    fs::create_dir_all(directory).unwrap();
    chown(directory, Some(VICTIM), Some(VICTIM)).unwrap();
    let names = ["x.data", "y.pool", "topic.z", "w.new", "topic", "topic.new", "topic.1", "letter.node"];
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

/// Everything that looks at a root, or cleans it. What each answered.
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
    let files = precious(&home.0);
    for mode in [0o700, 0o755, 0o777] {
        as_user(ATTACKER, ATTACKER, || {
            fs::create_dir(&scratch.0).unwrap();
            for name in ["topics", "nodes", "trace"] {
                symlink(&home.0, scratch.0.join(name)).unwrap();
            }
            fs::set_permissions(&scratch.0, fs::Permissions::from_mode(mode)).unwrap();
        });
        for user in [VICTIM, 0] {
            for answer in as_user(user, user, || everything(&scratch.root())) {
                let error = answer.expect_err("it belongs to somebody else");
                let owner = format!("belongs to user {ATTACKER} ");
                assert!(error.contains(&owner) && error.contains(&format!("mode {mode:04o}")), "{error}");
            }
        }
        assert!(are_there(&files));
        fs::remove_dir_all(&scratch.0).unwrap();
    }
}

#[test]
fn a_root_that_others_may_write_is_refused_everywhere() {
    let scratch = Scratch::new();
    scratch.root().prepare().unwrap();
    for mode in [0o770, 0o702] {
        fs::set_permissions(&scratch.0, fs::Permissions::from_mode(mode)).unwrap();
        for answer in everything(&scratch.root()) {
            let error = answer.expect_err("others may write to it");
            assert!(error.contains(&format!("mode {mode:04o}")), "{error}");
        }
    }
}

/// A root of the group that the attacker, a member, has made.
fn planted_group_root(scratch: &Scratch) -> Root {
    let root = Root::at(&scratch.0, Some(GROUP));
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
        let files = precious(&home.0);
        let root = planted_group_root(&scratch);
        as_user(ATTACKER, GROUP, || {
            let _ = fs::remove_dir(scratch.0.join(planted));
            symlink(&home.0, scratch.0.join(planted)).unwrap();
        });
        for (user, group) in [(VICTIM, GROUP), (0, 0)] {
            let joins = as_user(user, group, || {
                everything(&root);
                let node = Node::in_root("victim", root.clone());
                node.is_ok_and(|node| {
                    RawPublisher::create(&node, "points", &numbers(), PublisherQos::default()).is_ok()
                })
            });
            assert_eq!(joins, planted == "trace", "{planted}: the bus does without traces");
            assert!(are_there(&files), "{planted}");
            assert_eq!(
                fs::read_dir(&home.0).unwrap().count(),
                files.len(),
                "{planted}: nothing is made there"
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
fn a_member_of_the_group_gets_nothing_by_exchanging_what_is_made() {
    if !is_root("a member of the group gets nothing by exchanging what is made") {
        return;
    }
    let (scratch, home) = (Scratch::new(), Scratch::new());
    let root = planted_group_root(&scratch);
    // The superuser's file and directory, and the attacker's links to them.
    fs::create_dir(&home.0).unwrap();
    let (file, directory) = (home.0.join("secret"), home.0.join("secrets"));
    fs::write(&file, "dear diary").unwrap();
    fs::set_permissions(&file, fs::Permissions::from_mode(0o600)).unwrap();
    fs::create_dir(&directory).unwrap();
    fs::set_permissions(&directory, fs::Permissions::from_mode(0o700)).unwrap();
    let (over, exchanged) = (AtomicBool::new(false), AtomicUsize::new(0));
    let topic = scratch.topic("points");
    std::thread::scope(|scope| {
        scope.spawn(|| {
            as_user(ATTACKER, GROUP, || {
                // In the same directory: moving a directory elsewhere takes the right to write to it.
                let mine = scratch.0.join("topics/mine");
                while !over.load(Ordering::Relaxed) {
                    let _ = fs::remove_file(&mine).or_else(|_| fs::remove_dir(&mine));
                    let turn = exchanged.fetch_add(1, Ordering::Relaxed);
                    let _ = symlink(if turn % 2 == 0 { &file } else { &directory }, &mine);
                    // Until it is there.
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
fn members_of_a_group_cannot_replace_but_clean_up_what_others_left() {
    if !is_root("members of a group cannot replace but clean up what others left") {
        return;
    }
    let scratch = Scratch::new();
    let root = Root::at(&scratch.0, Some(GROUP));
    let (one, other) = (ATTACKER, VICTIM);
    let file = scratch.0.join("nodes/00000000000000aa.node");
    let lives = as_user(one, GROUP, || {
        let node = Node::in_root("one", root.clone()).unwrap();
        RawPublisher::create(&node, "points", &numbers(), PublisherQos::default()).unwrap()
    });
    as_user(other, GROUP, || {
        for path in ["nodes", "topics", "topics/points"] {
            assert!(fs::rename(scratch.0.join(path), scratch.0.join("stolen")).is_err(), "{path}");
        }
        for file in fs::read_dir(scratch.0.join("nodes")).unwrap() {
            assert!(fs::remove_file(file.unwrap().path()).is_err());
        }
    });
    drop(lives);
    // A node that is dead.
    as_user(one, GROUP, || {
        fs::write(&file, "situ-node 1\nname dead\npid 1\nborn 0\n").unwrap();
        fs::set_permissions(&file, fs::Permissions::from_mode(0o660)).unwrap();
    });
    chown(&file, None, Some(GROUP)).unwrap();
    // The directory of the topic is one's, and all its files are left: as if one had been killed.
    let left = scratch.topic("left");
    as_user(one, GROUP, || {
        let opened = root.open().unwrap().unwrap();
        opened.make(&opened.topic("left")).unwrap();
        fs::write(left.join("topic"), "SITUTOPI").unwrap();
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
