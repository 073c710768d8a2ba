//! Guarantees of the operating system: read-only messages, permissions, locks that die with their process,
//! and the end of memory.
#![cfg(not(loom))]

mod common;

use std::ffi::CString;
use std::io;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use common::messages::{Pose, Scan, ScanBulkLengths, publish_pose, take_pose};
use common::{Scratch, numbers, publish, role};
use situ_bus::{LoanError, Node, NodeError, PublisherQos, RawPublisher, RegisterError, Root, clean, inspect};
use situ_memory::{AllocateError, MemoryError};
use situ_testkit::process::{Role, command, say};

/// The exit status of a child that found what it expected.
const FINE: i32 = 43;

#[test]
#[ignore = "played by the children of the other tests"]
fn child() {
    let Some((role, scratch)) = role() else { return };
    match role.as_str() {
        "write to a head" => write_to(&scratch, false),
        "write to a body" => write_to(&scratch, true),
        "live with a grandchild" => {
            let node = scratch.node("parent of a process");
            let _publisher = node.publisher::<Pose>("poses").create().unwrap();
            let _subscriber = node.subscriber::<Pose>("poses").create().unwrap();
            let mut grandchild = Command::new("sleep").arg("60").spawn().unwrap();
            say(&format!("grandchild {}", grandchild.id()));
            grandchild.wait().unwrap();
        }
        "register" => {
            let root = Root::at(scratch.path(), group());
            let node = Node::in_root("child", root).unwrap();
            let _publisher = node.publisher::<Pose>("poses").create().unwrap();
            let _subscriber = node.subscriber::<Pose>("poses").create().unwrap();
            say("ready");
            std::thread::sleep(Duration::MAX);
        }
        "try to register" => {
            let tried = Node::in_root("stranger", Root::at(scratch.path(), None));
            match tried {
                Err(NodeError::Root(error)) => assert!(error.to_string().contains("SITU_ROOT"), "{error}"),
                other => panic!("another user must be refused: {other:?}"),
            }
            for path in [scratch.topic("poses").join("topic"), scratch.join("nodes")] {
                assert_eq!(std::fs::File::open(path).unwrap_err().kind(), io::ErrorKind::PermissionDenied);
            }
        }
        "join the group" => {
            let node = Node::in_root("member", Root::at(scratch.path(), group())).unwrap();
            let subscriber = node.subscriber::<Pose>("poses").create().unwrap();
            let publisher = node.publisher::<Pose>("answers").create().unwrap();
            say("ready");
            while take_pose(&subscriber).is_none() {
                subscriber.wait(None);
            }
            publish_pose(&publisher, 1);
            say("answered");
            std::thread::sleep(Duration::MAX);
        }
        "run out of memory" => run_out_of_memory(&scratch),
        "register without memory" => register_without_memory(&scratch),
        other => panic!("no such role: {other}"),
    }
    std::process::exit(FINE);
}

/// The group that the environment names.
fn group() -> Option<u32> {
    std::env::var("SITU_TEST_GROUP").ok().map(|group| group.parse().unwrap())
}

/// Whether this process may become another user. Prints if not.
fn is_root(what: &str) -> bool {
    let root = rustix::process::geteuid().is_root();
    if !root {
        println!("SKIPPED: {what}: only root may become another user");
    }
    root
}

fn write_to(scratch: &Scratch, body: bool) {
    let node = scratch.node("writer");
    let subscriber = node.subscriber::<Scan>("scans").create().unwrap();
    let publisher = node.publisher::<Scan>("scans").create().unwrap();
    publisher.loan_with(ScanBulkLengths { ranges: 100 }).unwrap().publish().unwrap();
    let scan = subscriber.take().unwrap().unwrap();
    let target = if body {
        scan.bulk(|scan| &scan.ranges).as_ptr().cast::<u8>().cast_mut()
    } else {
        (&raw const scan.count).cast::<u8>().cast_mut()
    };
    say("about to write");
    // SAFETY: none. The test checks that this is not possible.
    unsafe { target.write_volatile(1) };
    say("written");
}

#[test]
fn a_process_that_writes_to_a_sample_dies() {
    for role in ["write to a head", "write to a body"] {
        let scratch = Scratch::new();
        let mut child = Role::start(&scratch, role);
        child.wait_for("about to write");
        let status = child.end(Duration::from_secs(20));
        assert_eq!(status.signal(), Some(libc::SIGSEGV), "{role:?}: {status}");
    }
}

/// Everything below a directory, itself included.
fn walk(path: &Path) -> Vec<PathBuf> {
    let below = std::fs::read_dir(path).into_iter().flatten().flatten();
    std::iter::once(path.to_owned()).chain(below.flat_map(|entry| walk(&entry.path()))).collect()
}

/// Starts a child with the given mask of permission bits and waits until it registered.
fn register(scratch: &Scratch, mask: u32, group: Option<u32>) -> Role {
    let mut command = command(scratch, "register");
    if let Some(group) = group {
        command.env("SITU_TEST_GROUP", group.to_string());
    }
    // SAFETY: `umask` may be called after `fork`.
    unsafe {
        command.pre_exec(move || {
            libc::umask(mask as libc::mode_t);
            Ok(())
        })
    };
    let mut child = Role::of(command);
    child.wait_for("ready");
    child
}

#[test]
fn files_are_open_to_the_user_alone_or_to_the_group() {
    let group = rustix::process::getegid().as_raw();
    for (mask, group, directories, files) in [
        (0o000, None, 0o700, 0o600),
        (0o022, None, 0o700, 0o600),
        (0o000, Some(group), 0o1770, 0o660),
        (0o077, Some(group), 0o1770, 0o660),
    ] {
        let scratch = Scratch::new();
        let child = register(&scratch, mask, group);
        let found = walk(scratch.path());
        assert!(
            found.len() >= 8,
            "root, nodes, a node, topics, a topic's directory, topic, pool, data: {found:?}"
        );
        for path in found {
            let metadata = path.symlink_metadata().unwrap();
            let inner = path.parent().is_some_and(|parent| parent.ends_with("topics"));
            let right = match (metadata.is_dir(), inner) {
                (true, false) => directories,
                // Not sticky: any member repairs it.
                (true, true) => directories & 0o770,
                // Only its publisher's user may write a message.
                (false, _) if is_of_pool(&path) => files & !0o020,
                (false, _) => files,
            };
            assert_eq!(metadata.permissions().mode() & 0o7777, right, "{path:?} with umask {mask:o}");
            assert!(group.is_none_or(|group| metadata.gid() == group), "{path:?}");
        }
        child.kill();
    }
}

/// Whether a path is that of a pool's control file or of its memory.
fn is_of_pool(path: &Path) -> bool {
    path.extension().is_some_and(|extension| extension == "pool" || extension == "data")
}

/// A command that runs as another user.
fn as_user(command: &mut Command, user: u32, group: u32) {
    // SAFETY: the calls may be made after `fork`.
    unsafe {
        command.pre_exec(move || {
            let done = libc::setgroups(0, std::ptr::null()) == 0
                && libc::setgid(group) == 0
                && libc::setuid(user) == 0;
            if done { Ok(()) } else { Err(io::Error::last_os_error()) }
        })
    };
}

/// A copy of the test's program that any user may run.
fn public_program(scratch: &Scratch) -> PathBuf {
    let path = scratch.with_extension("program");
    std::fs::copy(std::env::current_exe().unwrap(), &path).unwrap();
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).unwrap();
    path
}

const NOBODY: u32 = 65534;
const SOME_GROUP: u32 = 54321;

/// A role that another user runs.
fn foreign_role(scratch: &Scratch, role: &str, group: u32) -> Role {
    let own = command(scratch, role);
    let program = public_program(scratch);
    let mut foreign = Command::new(&program);
    foreign
        .args(own.get_args())
        .envs(own.get_envs().filter_map(|(key, value)| Some((key, value?))))
        .env("SITU_TEST_GROUP", group.to_string())
        .current_dir("/")
        .stdin(std::process::Stdio::null())
        .stdout(std::process::Stdio::piped());
    as_user(&mut foreign, NOBODY, group);
    // A child of another test may have been forked while the copy was open for writing. It holds the copy
    // until it executes.
    let begin = std::time::Instant::now();
    let role = loop {
        match Role::try_of(&mut foreign) {
            Err(error)
                if error.kind() == std::io::ErrorKind::ExecutableFileBusy
                    && begin.elapsed() < Duration::from_secs(10) =>
            {
                std::thread::sleep(Duration::from_millis(1));
            }
            role => break role.unwrap(),
        }
    };
    let _ = std::fs::remove_file(program);
    role
}

#[test]
fn other_users_are_refused() {
    if !is_root("other users are refused") {
        return;
    }
    let scratch = Scratch::new();
    let node = scratch.node("owner");
    let _publisher = node.publisher::<Pose>("poses").create().unwrap();
    let status = foreign_role(&scratch, "try to register", NOBODY).end(Duration::from_secs(20));
    assert_eq!(status.code(), Some(FINE), "{status}");
}

#[test]
fn members_of_the_group_take_part() {
    if !is_root("members of the group take part") {
        return;
    }
    let scratch = Scratch::new();
    let node = Node::in_root("owner", Root::at(scratch.path(), Some(SOME_GROUP))).unwrap();
    let publisher = node.publisher::<Pose>("poses").create().unwrap();
    let answers = node.subscriber::<Pose>("answers").create().unwrap();
    let mut child = foreign_role(&scratch, "join the group", SOME_GROUP);
    child.wait_for("ready");
    publish_pose(&publisher, 7);
    child.wait_for("answered");
    assert_eq!(take_pose(&answers), Some(1));
    // The member dies. Its files belong to another user, and are still cleaned up.
    child.kill();
    assert_eq!(clean(node.root()).unwrap().nodes, ["member"]);
    drop((publisher, answers, node));
    assert_eq!(scratch.files(), Vec::<PathBuf>::new());
}

#[test]
fn a_lock_does_not_live_on_in_programs_that_were_started() {
    let scratch = Scratch::new();
    let mut child = Role::start(&scratch, "live with a grandchild");
    let grandchild = child.number("grandchild");
    let root = scratch.root();
    let [node] = &inspect::nodes(&root).unwrap()[..] else { panic!("one node") };
    assert!(node.alive && node.name == "parent of a process" && node.pid == child.child.id());
    child.kill();
    let dead = inspect::node(&root, node.id).unwrap().unwrap();
    assert!(!dead.alive, "the grandchild does not keep the lock");
    let topic = inspect::topic(&root, "poses").unwrap().unwrap();
    assert!(topic.publishers.iter().all(|publisher| publisher.node == node.id && !publisher.alive));
    assert!(topic.subscribers.iter().all(|subscriber| subscriber.node == node.id && !subscriber.alive));
    assert_eq!((topic.publishers.len(), topic.subscribers.len()), (1, 1));
    // The next node cleans up.
    drop(scratch.node("next"));
    assert_eq!(scratch.files(), Vec::<PathBuf>::new());
    assert_eq!(inspect::topics(&root).unwrap().len(), 0);
    // SAFETY: the process is our grandchild and was not waited for, so no other process has its number.
    assert_eq!(unsafe { libc::kill(grandchild as libc::pid_t, libc::SIGKILL) }, 0);
}

/// A role on a file system of its own, of this size. `None` if that is not permitted.
fn on_small_file_system(scratch: &Scratch, role: &str, size: usize) -> Option<Role> {
    std::fs::create_dir_all(scratch.path()).unwrap();
    let text = |text: String| CString::new(text).unwrap();
    let target = text(scratch.to_str().unwrap().to_owned());
    let options = text(format!("size={size},mode=700"));
    let user = rustix::process::getuid().as_raw();
    let map = text(format!("0 {user} 1"));
    let is_root = rustix::process::geteuid().is_root();
    let mut command = command(scratch, role);
    let enter = move || {
        let check = |result: libc::c_int| {
            if result < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
        };
        let nothing = std::ptr::null();
        // SAFETY: the strings are valid, and all of these calls may be made after `fork`.
        unsafe {
            if !is_root {
                check(libc::unshare(libc::CLONE_NEWUSER))?;
                let file = libc::open(c"/proc/self/uid_map".as_ptr(), libc::O_WRONLY);
                check(file)?;
                check(libc::write(file, map.as_ptr().cast(), map.count_bytes()) as libc::c_int)?;
                libc::close(file);
            }
            check(libc::unshare(libc::CLONE_NEWNS))?;
            let (root, kind) = (c"/".as_ptr(), c"tmpfs".as_ptr());
            check(libc::mount(nothing, root, nothing, libc::MS_REC | libc::MS_PRIVATE, nothing.cast()))?;
            check(libc::mount(kind, target.as_ptr(), kind, 0, options.as_ptr().cast()))
        }
    };
    // SAFETY: see above.
    unsafe { command.pre_exec(enter) };
    match Role::try_of(&mut command) {
        Ok(role) => Some(role),
        Err(error) => {
            println!("SKIPPED: {role:?}: no file system can be mounted here: {error}");
            None
        }
    }
}

fn run_out_of_memory(scratch: &Scratch) {
    let node = scratch.node("poor");
    let subscriber =
        situ_bus::RawSubscriber::create(&node, "numbers", &numbers(), Default::default()).unwrap();
    let qos = PublisherQos { depth: 4, ..Default::default() };
    let publisher = RawPublisher::create(&node, "numbers", &numbers(), qos).unwrap();
    let mut held = Vec::new();
    // 2 MiB are there, and some are used already.
    let refused = loop {
        match publisher.loan(8, 8, 100_000) {
            Ok(mut loan) => {
                loan.body_bytes().fill(held.len() as u8);
                loan.publish().unwrap();
                held.extend(subscriber.take().unwrap());
            }
            Err(error) => break error,
        }
        assert!(held.len() < 100);
    };
    let text = refused.to_string();
    let no_space = match refused {
        LoanError::Memory(AllocateError::Memory(MemoryError::System { source, .. })) => source.raw_os_error(),
        _ => None,
    };
    assert_eq!(no_space, Some(libc::ENOSPC), "{text}");
    assert!(text.contains("shared memory is full"), "{text}");
    assert!(held.len() > 10, "{}", held.len());
    // Existing messages are unchanged, and released memory is used again.
    for (index, sample) in held.iter().enumerate() {
        assert!(sample.body_in_place().iter().all(|byte| *byte == index as u8));
    }
    held.clear();
    for value in 0..100 {
        publish(&publisher, value, 50_000);
        assert_eq!(common::take(&subscriber), Some((subscriber.taken() - 1, value)));
    }
}

fn register_without_memory(scratch: &Scratch) {
    let node = scratch.node("poor");
    let before = walk(scratch.path()).len();
    let mut refused = 0;
    // Less and less memory is left, so that registration fails at every step.
    let hog = scratch.join("hog");
    let size = rustix::fs::statvfs(scratch.path()).unwrap();
    let free = size.f_bavail * size.f_frsize;
    for left in (0..free).rev().step_by(4096) {
        let file = std::fs::File::create(&hog).unwrap();
        if rustix::fs::fallocate(&file, rustix::fs::FallocateFlags::empty(), 0, free - left).is_err() {
            continue;
        }
        match RawPublisher::create(&node, "numbers", &numbers(), Default::default()) {
            Ok(publisher) => {
                let loan =
                    publisher.loan(8, 8, 64).and_then(|loan| loan.publish().map_err(|_| unreachable!()));
                refused += u32::from(loan.is_err());
            }
            Err(RegisterError::Memory(MemoryError::System { source, .. })) => {
                assert_eq!(source.raw_os_error(), Some(libc::ENOSPC), "{source}");
                refused += 1;
            }
            Err(other) => panic!("{other}"),
        }
        drop(file);
        std::fs::remove_file(&hog).unwrap();
        assert_eq!(
            walk(scratch.path()).len(),
            before,
            "a refused registration leaves no file: {:?}",
            walk(scratch.path())
        );
    }
    // The files of a topic and of a pool, page by page.
    assert!(refused > 4, "{refused}");
}

#[test]
fn full_memory_is_an_error_and_no_process_dies() {
    for (role, size) in [("run out of memory", 2 << 20), ("register without memory", 512 << 10)] {
        let scratch = Scratch::new();
        let start = Instant::now();
        let Some(child) = on_small_file_system(&scratch, role, size) else { return };
        let status = child.end(Duration::from_secs(30));
        assert_eq!(status.code(), Some(FINE), "{role:?} after {:?}: {status}", start.elapsed());
    }
}
