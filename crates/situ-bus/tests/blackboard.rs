//! Blackboards: values of keys, their versions, the writer's death, other processes, files that are broken.
#![cfg(not(loom))]

mod common;

use std::fs::OpenOptions;
use std::mem::MaybeUninit;
use std::os::unix::fs::FileExt;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use common::messages::{Pose, Scan};
use common::watched::kills;
use common::{Scratch, numbers, role};
use situ_bus::{
    BlackboardReaderError, BlackboardWriterError, GetValueError, Node, RawBlackboardReader,
    RawBlackboardWriter, SetValueError, TypeDescription, Versioned, WriterState, blackboards, clean,
    clean_blackboards,
};
use situ_testkit::Random;
use situ_testkit::allocator::{Calls, CountingAllocator, counting};
use situ_testkit::process::{Role, say};

#[global_allocator]
static ALLOCATOR: CountingAllocator = CountingAllocator;

const TIMEOUT: Duration = Duration::from_secs(60);
/// The size of large values in bytes.
const LARGE: usize = 4096;

fn pose(count: u64) -> Pose {
    Pose { count, place: [count as f64; 6] }
}

fn large() -> TypeDescription {
    TypeDescription { fixed_size: LARGE as u32, ..numbers() }
}

/// A large value: a number, and bytes that follow from it.
fn bytes(number: u64) -> Vec<u8> {
    (0..LARGE as u64 / 8).flat_map(|at| (number.wrapping_mul(at + 1)).to_le_bytes()).collect()
}

/// The number of a large value, all bytes of which are checked.
fn number(value: &[u8]) -> u64 {
    let number = u64::from_le_bytes(value[..8].try_into().unwrap());
    assert_eq!(value, bytes(number), "a torn value");
    number
}

fn file(scratch: &Scratch, name: &str) -> PathBuf {
    scratch.join("blackboards").join(format!("{name}.board"))
}

#[test]
fn each_key_has_its_last_value_and_a_version() {
    let scratch = Scratch::new();
    let node = scratch.node("n");
    let mut writer = node.blackboard_writer::<Pose>("robot/poses", ["arm", "base"]).unwrap();
    let reader = scratch.node("other").blackboard_reader::<Pose>("robot/poses").unwrap();
    assert_eq!((reader.keys(), writer.keys()), (&["arm".into(), "base".into()][..], reader.keys()));
    assert_eq!((reader.get("arm").unwrap(), reader.changes()), (None, 0));
    assert_eq!(writer.set("arm", &pose(1)).unwrap(), 1);
    assert_eq!(writer.set("arm", &pose(2)).unwrap(), 2);
    assert_eq!(writer.set("base", &pose(3)).unwrap(), 1);
    assert_eq!(reader.get("arm").unwrap(), Some(Versioned { value: pose(2), version: 2 }));
    assert_eq!(reader.get("base").unwrap(), Some(Versioned { value: pose(3), version: 1 }));
    let (arm, base) = (reader.position("arm").unwrap(), reader.position("base").unwrap());
    assert_eq!((arm, base, reader.position("leg")), (0, 1, None));
    assert_eq!((reader.version_at(arm), reader.version_at(base), reader.version_at(2)), (2, 1, 0));
    assert_eq!(reader.changes(), 3);
    assert!(reader.changed_since(arm, 1) && !reader.changed_since(arm, 2));
    writer.set_at(arm, &pose(4)).unwrap();
    assert_eq!(reader.get_at(arm).unwrap().unwrap().value.count, 4);
    assert!(matches!(reader.get("leg"), Err(GetValueError::UnknownKey { key, .. }) if key == "leg"));
    assert!(matches!(reader.get_at(2), Err(GetValueError::UnknownKey { .. })));
    assert!(
        matches!(writer.set("leg", &pose(0)), Err(SetValueError::UnknownKey { key, .. }) if key == "leg")
    );
    assert!(matches!(writer.set_at(2, &pose(0)), Err(SetValueError::UnknownKey { .. })));
}

#[test]
fn setting_and_getting_allocate_nothing() {
    let scratch = Scratch::new();
    let node = scratch.node("n");
    let mut writer = node.blackboard_writer::<Pose>("poses", ["arm"]).unwrap();
    let reader = node.blackboard_reader::<Pose>("poses").unwrap();
    let ((), calls) = counting(|| {
        for count in 1..1000 {
            writer.set("arm", &pose(count)).unwrap();
            assert_eq!(reader.get("arm").unwrap().map(|it| it.value), Some(pose(count)));
        }
    });
    assert_eq!(calls, Calls::NONE);
}

#[test]
fn a_blackboard_has_one_writer_and_ends_with_it() {
    let scratch = Scratch::new();
    let node = scratch.node("n");
    assert_eq!(blackboards(&scratch.root()).unwrap(), Vec::<String>::new());
    let missing = node.blackboard_reader::<Pose>("poses").unwrap_err();
    assert!(matches!(missing, BlackboardReaderError::Missing { .. }));
    let mut writer = node.blackboard_writer::<Pose>("poses", ["arm"]).unwrap();
    let second = scratch.node("m").blackboard_writer::<Pose>("poses", ["arm"]).unwrap_err();
    assert!(matches!(second, BlackboardWriterError::Written { .. }), "{second}");
    assert_eq!(blackboards(&scratch.root()).unwrap(), ["poses"]);
    let reader = node.blackboard_reader::<Pose>("poses").unwrap();
    assert_eq!(reader.writer(), WriterState::Alive(node.id()));
    writer.set("arm", &pose(1)).unwrap();
    assert_eq!(clean_blackboards(&scratch.root()).unwrap(), Vec::<String>::new());
    drop(writer);
    assert_eq!(reader.writer(), WriterState::Left);
    assert_eq!(reader.get("arm").unwrap().unwrap().value, pose(1));
    assert_eq!(blackboards(&scratch.root()).unwrap(), Vec::<String>::new());
    // The next one begins anew.
    let _writer = node.blackboard_writer::<Pose>("poses", ["leg"]).unwrap();
    assert_eq!(node.blackboard_reader::<Pose>("poses").unwrap().get("leg").unwrap(), None);
    assert_eq!(reader.writer(), WriterState::Left);
}

#[test]
fn other_types_keys_and_names_are_refused() {
    let scratch = Scratch::new();
    let node = scratch.node("n");
    let make = |description: &TypeDescription, keys: &[&str]| {
        RawBlackboardWriter::create(&node, "x", description, keys.iter().copied()).map(|_| ()).unwrap_err()
    };
    for size in [0, 65_537] {
        let error = make(&TypeDescription { fixed_size: size, ..numbers() }, &["a"]);
        assert!(matches!(error, BlackboardWriterError::Type { .. }), "{error}");
    }
    let error = node.blackboard_writer::<Scan>("x", ["a"]).unwrap_err();
    assert!(matches!(error, BlackboardWriterError::Type { size: 0, .. }), "bulk: {error}");
    for keys in [&["a", "b", "a"][..], &[""], &["a\n"], &[&*"x".repeat(256)]] {
        let error = make(&large(), keys);
        assert!(matches!(error, BlackboardWriterError::Key { .. }), "{error}");
    }
    assert!(matches!(make(&large(), &[]), BlackboardWriterError::Size { keys: 0, .. }));
    let many: Vec<String> = (0..65_537).map(|number| number.to_string()).collect();
    let error = RawBlackboardWriter::create(&node, "x", &numbers_of(8), many).unwrap_err();
    assert!(matches!(error, BlackboardWriterError::Size { .. }), "{error}");
    let many: Vec<String> = (0..65_536).map(|number| number.to_string()).collect();
    let error = RawBlackboardWriter::create(&node, "x", &numbers_of(65_536), many).unwrap_err();
    assert!(matches!(error, BlackboardWriterError::Size { .. }), "{error}");
    for name in ["", "situ:x", &"x".repeat(231), &"ü".repeat(42)] {
        let error = RawBlackboardWriter::create(&node, name, &large(), ["a"]).unwrap_err();
        assert!(matches!(error, BlackboardWriterError::InvalidName(_)), "{name}");
    }
    assert!(!file(&scratch, "x").exists());
    let mut writer = RawBlackboardWriter::create(&node, "x", &large(), ["a"]).unwrap();
    assert!(matches!(writer.set("a", &[0; 8]), Err(SetValueError::Size { size: 8, expected: LARGE, .. })));
    let error = node.blackboard_reader::<Pose>("x").unwrap_err();
    assert!(error.to_string().contains("the first difference is"), "{error}");
    let reader = RawBlackboardReader::open(&scratch.root(), "x", None).unwrap();
    let mut short = [MaybeUninit::uninit(); 8];
    assert!(matches!(reader.get_at(0, &mut short), Err(GetValueError::Size { size: 8, .. })));
    assert_eq!(reader.description(), &large());
}

fn numbers_of(size: u32) -> TypeDescription {
    TypeDescription { fixed_size: size, ..numbers() }
}

#[test]
fn many_readers_see_whole_values_in_order() {
    let scratch = Scratch::new();
    let node = scratch.node("n");
    let mut writer = RawBlackboardWriter::create(&node, "x", &large(), ["a"]).unwrap();
    writer.set("a", &bytes(1)).unwrap();
    let reader = RawBlackboardReader::open(&scratch.root(), "x", None).unwrap();
    let done = AtomicBool::new(false);
    std::thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                let mut last = 1;
                while !done.load(Ordering::Relaxed) {
                    match reader.get("a") {
                        Ok(found) => {
                            let (value, version) = found.unwrap();
                            assert_eq!(number(&value), version);
                            assert!(version >= last, "{version} after {last}");
                            last = version;
                        }
                        // The writer writes all the time, and this machine may be busy.
                        Err(error) => assert!(matches!(error, GetValueError::Overrun { .. }), "{error}"),
                    }
                }
            });
        }
        for value in 2..5000 {
            assert_eq!(writer.set("a", &bytes(value)).unwrap(), value);
        }
        done.store(true, Ordering::Relaxed);
    });
}

/// Writes until it is killed. Each value tells its version.
fn write_until_killed(node: &Node) {
    let mut writer = RawBlackboardWriter::create(node, "x", &large(), ["a", "b"]).unwrap();
    let reader = RawBlackboardReader::open(node.root(), "x", None).unwrap();
    let mut next = [0, 1].map(|position| reader.version_at(position) + 1);
    say("ready");
    loop {
        for (position, next) in next.iter_mut().enumerate() {
            assert_eq!(writer.set_at(position, &bytes(*next)).unwrap(), *next);
            *next += 1;
        }
    }
}

#[test]
#[ignore = "started by other tests"]
fn child() {
    let Some((role, scratch)) = role() else { return };
    assert_eq!(role, "writer");
    write_until_killed(&scratch.node("writer"));
}

/// Writers are killed at any moment. The reader always gets a whole value, and the next writer goes on.
#[test]
fn a_killed_writer_leaves_whole_values_and_the_next_one_goes_on() {
    let scratch = Scratch::new();
    let mut random = Random(7);
    let (mut reader, mut last) = (None, [0; 2]);
    for _ in 0..kills(30) {
        let mut writer = Role::start(&scratch, "writer");
        writer.wait_for("ready");
        let reader = reader
            .get_or_insert_with(|| RawBlackboardReader::open(&scratch.root(), "x", Some(&large())).unwrap());
        let until = Instant::now() + Duration::from_micros(random.below(3000));
        while Instant::now() < until {
            std::hint::spin_loop();
        }
        assert!(matches!(reader.writer(), WriterState::Alive(_)));
        writer.kill();
        assert!(matches!(reader.writer(), WriterState::Dead(_)));
        for (key, last) in ["a", "b"].into_iter().zip(&mut last) {
            if let Some((value, version)) = reader.get(key).unwrap() {
                assert_eq!(number(&value), version);
                assert!(version >= *last, "{version} after {last}");
                *last = version;
            }
        }
    }
    assert!(last[0] > 0);
    // A node that cleans the root keeps the values. A call that asks for their removal removes them.
    clean(&scratch.root()).unwrap();
    assert_eq!(blackboards(&scratch.root()).unwrap(), ["x"]);
    std::fs::write(scratch.join("blackboards/0000000000000001.new"), [0; 100]).unwrap();
    assert_eq!(clean_blackboards(&scratch.root()).unwrap(), ["x"]);
    assert_eq!(std::fs::read_dir(scratch.join("blackboards")).unwrap().count(), 0);
    let reader = reader.unwrap();
    assert_eq!(reader.writer(), WriterState::Left);
    assert_eq!(reader.get("a").unwrap().map(|(value, _)| number(&value)), Some(last[0]));
}

#[test]
fn another_writer_replaces_what_a_dead_one_left() {
    let scratch = Scratch::new();
    let mut dead = Role::start(&scratch, "writer");
    dead.wait_for("ready");
    let old = RawBlackboardReader::open(&scratch.root(), "x", None).unwrap();
    let begin = Instant::now();
    while old.version_at(1) == 0 {
        assert!(begin.elapsed() < TIMEOUT);
        std::thread::sleep(Duration::from_millis(1));
    }
    dead.kill();
    let node = scratch.node("n");
    let _writer = RawBlackboardWriter::create(&node, "x", &large(), ["b"]).unwrap();
    assert_eq!(old.writer(), WriterState::Left);
    assert!(old.get("a").unwrap().is_some());
    let new = RawBlackboardReader::open(&scratch.root(), "x", None).unwrap();
    assert_eq!((new.keys(), new.get("b").unwrap()), (&["b".to_owned()][..], None));
}

#[test]
fn broken_files_are_errors() {
    let scratch = Scratch::new();
    let node = scratch.node("n");
    let path = file(&scratch, "x");
    let mut writer = RawBlackboardWriter::create(&node, "x", &numbers_of(64), ["a", "b", "c"]).unwrap();
    writer.set("b", &[5; 64]).unwrap();
    let good = std::fs::read(&path).unwrap();
    let mut random = Random(3);
    for round in 0..1000 {
        let mut bad = good.clone();
        for _ in 0..1 + random.below(3) {
            // The header, the words, the text and the first cell.
            let at = random.below(600.min(bad.len() as u64)) as usize;
            bad[at] = if random.below(2) == 0 { random.number() as u8 } else { 0xff };
        }
        if random.below(4) == 0 {
            bad.truncate(random.below(good.len() as u64) as usize);
        }
        std::fs::write(scratch.join("blackboards/y.board"), &bad).unwrap();
        let Ok(reader) = RawBlackboardReader::open(&scratch.root(), "y", None) else { continue };
        for key in reader.keys() {
            let found = reader.get(key);
            assert!(matches!(found, Ok(_) | Err(GetValueError::Overrun { .. })), "round {round}: {found:?}");
        }
    }
    // The words of a cell that no writer leaves: the cells begin at the next line behind the text.
    let text = [1, "test::Numbers".len(), numbers().schema.len(), 6].iter().sum::<usize>();
    let cell = (256 + text).next_multiple_of(64);
    let open = OpenOptions::new().write(true).open(&path).unwrap();
    let reader = RawBlackboardReader::open(&scratch.root(), "x", None).unwrap();
    for (begun, done) in [(0_u64, u64::MAX), (u64::MAX, 1), (9, 7)] {
        open.write_all_at(&begun.to_le_bytes(), cell as u64).unwrap();
        open.write_all_at(&done.to_le_bytes(), cell as u64 + 8).unwrap();
        let found = reader.get("a");
        assert_eq!(found.is_ok(), begun.wrapping_sub(done) < 2, "{begun} {done}: {found:?}");
    }
    assert_eq!(reader.get("b").unwrap(), Some((vec![5; 64], 1)));
    // A file of something else is not replaced.
    std::fs::write(scratch.join("blackboards/z.board"), "a diary, and nothing else").unwrap();
    let error = RawBlackboardWriter::create(&node, "z", &large(), ["a"]).unwrap_err();
    assert!(error.to_string().contains("it is no blackboard"), "{error}");
}
