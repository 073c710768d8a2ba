//! Records topics, reads the files, plays them, keeps flashbacks; and what is left after kills, a full disk
//! and damage.

use std::path::Path;
use std::time::{Duration, Instant};

use rustix::process::{Resource, Rlimit, setrlimit};
use situ_bus::{
    Encoding, Node, PublisherQos, RawPublisher, RawSubscriber, Reliability, Root, SubscriberQos,
    TypeDescription,
};
use situ_record::{
    Command, Compression, EditOptions, End, Filter, Flashback, FlashbackOptions, Message, PlayOptions,
    Player, ReadError, ReadLimits, Reader, RecordOptions, Recorder, Ring, Selection, Writer, WriterOptions,
    edit,
};
use situ_schema::Schema;
use situ_testkit::process::{Role, rerun, role_in_root, say};
use situ_testkit::{Random, Scratch};

const IDL: &str = "module demo { module msg {
    @flat struct Pose { unsigned long long number; double x; };
    struct Note { unsigned long long number; string text; };
    @flat struct Cloud { unsigned long number; @bulk sequence<float> points; };
}; };";

/// Time enough for a loaded machine.
const PATIENCE: Duration = Duration::from_secs(60);

fn description(name: &str, encoding: Encoding) -> TypeDescription {
    let schema = Schema::from_idl(IDL).unwrap();
    let root = schema.find(name).unwrap();
    TypeDescription {
        name: name.to_owned(),
        schema: schema.canonical(root),
        schema_hash: schema.schema_hash(root),
        layout_hash: if encoding == Encoding::Flat { schema.layout_hash(root) } else { 0 },
        encoding,
        fixed_size: 0,
        user_header_size: 0,
    }
}

fn publisher(node: &Node, topic: &str, name: &str, encoding: Encoding) -> RawPublisher {
    let qos = PublisherQos { depth: 256, ..PublisherQos::default() };
    RawPublisher::create(node, topic, &description(name, encoding), qos).unwrap()
}

fn publish(publisher: &RawPublisher, head: &[u8], body: &[u8]) {
    let mut loan = publisher.loan(head.len(), 8, body.len()).unwrap();
    loan.head_bytes().copy_from_slice(head);
    loan.body_bytes().copy_from_slice(body);
    loan.publish().unwrap();
}

/// The head of a pose, by `spec/flat.md`.
fn pose(number: u64, x: f64) -> Vec<u8> {
    [number.to_le_bytes(), x.to_le_bytes()].concat()
}

/// A note as CDR, by the rules of XCDR1.
fn note(number: u64, text: &str) -> Vec<u8> {
    let mut bytes = vec![0, 1, 0, 0];
    bytes.extend_from_slice(&number.to_le_bytes());
    bytes.extend_from_slice(&(text.len() as u32 + 1).to_le_bytes());
    bytes.extend_from_slice(text.as_bytes());
    bytes.push(0);
    bytes
}

struct Place {
    scratch: Scratch,
    root: Root,
}

impl Place {
    fn new() -> Self {
        let scratch = Scratch::created("record");
        let root = Root::at(scratch.path().join("root"), None);
        Self { scratch, root }
    }

    fn node(&self, name: &str) -> Node {
        Node::in_root(name, self.root.clone()).unwrap()
    }

    fn path(&self, name: &str) -> std::path::PathBuf {
        self.scratch.path().join(name)
    }

    fn recorder(&self, node: &Node, file: &str, writer: WriterOptions) -> Recorder {
        let options = RecordOptions {
            output: self.path(file),
            selection: Selection::all(),
            project: false,
            services: false,
            writer,
        };
        Recorder::start(node, &self.root, options).unwrap()
    }
}

fn messages(path: &Path) -> Vec<Message> {
    let reader = Reader::open(path).unwrap();
    assert_eq!((reader.end(), reader.problems().len()), (&End::Whole, 0), "{:?}", reader.problems());
    reader.messages(Filter::default()).map(|message| message.unwrap()).collect()
}

/// Takes until the recorder has this many messages.
fn record_until(recorder: &mut Recorder, count: u64) {
    let begin = Instant::now();
    while recorder.counts().iter().map(|topic| topic.messages).sum::<u64>() < count {
        recorder.step(Duration::from_millis(5)).unwrap();
        assert!(begin.elapsed() < PATIENCE);
    }
}

#[test]
fn messages_of_all_encodings_are_recorded_and_played() {
    for compression in [Compression::None, Compression::Lz4, Compression::Zstd] {
        let place = Place::new();
        let node = place.node("sensor");
        let poses = publisher(&node, "pose", "demo::msg::Pose", Encoding::Flat);
        let notes = publisher(&node, "note", "demo::msg::Note", Encoding::Xcdr1);
        let clouds = publisher(&node, "cloud", "demo::msg::Cloud", Encoding::Flat);
        let how = WriterOptions { compression, profile: "ros2".into(), ..WriterOptions::default() };
        let mut recorder = place.recorder(&place.node("recorder"), "all.mcap", how);
        let points: Vec<u8> = (0..5_000_u32).flat_map(|point| (point as f32).to_le_bytes()).collect();
        for number in 0..20_u64 {
            publish(&poses, &pose(number, 0.5), &[]);
            publish(&notes, &[], &note(number, "hello"));
            let mut head = vec![0; 24];
            head[..4].copy_from_slice(&(number as u32).to_le_bytes());
            head[16..24].copy_from_slice(&5_000_u64.to_le_bytes());
            publish(&clouds, &head, &points);
            record_until(&mut recorder, 3 * (number + 1));
        }
        let report = recorder.finish();
        assert_eq!((report.missing(), report.topics.len()), (0, 3), "{report:?}");
        check_all(&messages(&place.path("all.mcap")), &points);
        drop((poses, notes, clouds, node));
        play_all(&place, &points);
    }
}

fn of<'m>(messages: &'m [Message], topic: &str) -> Vec<&'m Message> {
    messages.iter().filter(|message| message.channel.topic == topic).collect()
}

fn check_all(messages: &[Message], points: &[u8]) {
    assert_eq!(messages.len(), 60);
    assert!(messages.is_sorted_by_key(|message| message.log_time));
    for (number, message) in of(messages, "/pose").into_iter().enumerate() {
        // As CDR: the header, then the same bytes, because a pose has no padding.
        assert_eq!(message.data(), [vec![0, 1, 0, 0], pose(number as u64, 0.5)].concat());
        assert_eq!((message.sequence, message.channel.message_encoding.as_str()), (number as u32, "cdr"));
        let schema = message.schema.as_ref().unwrap();
        assert_eq!((&*schema.name, &*schema.encoding), ("demo/msg/Pose", "ros2msg"));
        assert_eq!(schema.data, b"uint64 number\nfloat64 x\n");
        assert!(message.publish_time <= message.log_time);
    }
    for (number, message) in of(messages, "/note").into_iter().enumerate() {
        assert_eq!(message.data(), note(number as u64, "hello"));
    }
    for (number, message) in of(messages, "/cloud").into_iter().enumerate() {
        // The header, the number, the length, then the points where they lay.
        assert_eq!(message.data()[4..8], (number as u32).to_le_bytes());
        assert_eq!(message.data()[8..12], 5_000_u32.to_le_bytes());
        assert_eq!(&message.data()[12..], points);
        assert_eq!(message.schema.as_ref().unwrap().encoding, "ros2idl");
    }
}

/// Plays the file to subscribers. They get the messages that were published.
fn play_all(place: &Place, points: &[u8]) {
    let node = place.node("listener");
    let join = |topic: &str, name: &str, encoding| {
        RawSubscriber::create(&node, topic, &description(name, encoding), SubscriberQos::default()).unwrap()
    };
    let poses = join("pose", "demo::msg::Pose", Encoding::Flat);
    let notes = join("note", "demo::msg::Note", Encoding::Xcdr1);
    let clouds = join("other", "demo::msg::Cloud", Encoding::Flat);
    let options = PlayOptions {
        files: vec![place.path("all.mcap")],
        rate: 1000.0,
        from: None,
        until: None,
        repeat: false,
        selection: Selection::all(),
        remap: [("cloud".to_owned(), "other".to_owned())].into(),
        clock: Some(100.0),
        wait: Duration::ZERO,
    };
    let player = Player::new(&place.node("player"), options).unwrap();
    let (mut seen, mut step) = ((0, 0, 0), 0);
    let mut control = |_| {
        while let Some(sample) = poses.take().unwrap() {
            assert_eq!((sample.encoding(), sample.head_in_place()), (Encoding::Flat, &*pose(seen.0, 0.5)));
            seen.0 += 1;
        }
        while let Some(sample) = notes.take().unwrap() {
            assert_eq!(sample.body_in_place(), note(seen.1, "hello"));
            seen.1 += 1;
        }
        while let Some(sample) = clouds.take().unwrap() {
            assert_eq!(sample.body_in_place(), points);
            seen.2 += 1;
        }
        step += 1;
        // A pause, one message, and on.
        match step {
            5 | 9 => Command::TogglePause,
            7 => Command::Step,
            _ => Command::Go,
        }
    };
    let played = player.play(&mut control).unwrap();
    assert_eq!((played.messages, played.problems.len()), (60, 0), "{:?}", played.problems);
    assert!(seen.0 >= 19 && seen.1 >= 19 && seen.2 >= 19, "{seen:?}");
}

#[test]
fn losses_are_counted() {
    let place = Place::new();
    let node = place.node("sensor");
    // Reliable publishers wait for reliable subscribers, and not for a recorder.
    let qos = PublisherQos { depth: 4, reliability: Reliability::Reliable, ..PublisherQos::default() };
    let few =
        RawPublisher::create(&node, "few", &description("demo::msg::Note", Encoding::Xcdr1), qos).unwrap();
    let mut recorder = place.recorder(&place.node("recorder"), "few.mcap", WriterOptions::default());
    let count = 5_000;
    for number in 0..count {
        publish(&few, &[], &note(number, ""));
    }
    let (begin, mut warnings) = (Instant::now(), Vec::new());
    while warnings.is_empty() {
        recorder.step(Duration::from_millis(5)).unwrap();
        warnings = recorder.take_warnings();
        assert!(begin.elapsed() < PATIENCE);
    }
    assert!(warnings[0].contains("they are overwritten before they can be recorded"), "{warnings:?}");
    let recorded = recorder.finish();
    let topic = &recorded.topics[0];
    assert!(topic.lost > 0, "{topic:?}");
    assert_eq!((topic.messages + topic.lost, recorded.missing()), (count, topic.lost));
    let all = messages(&place.path("few.mcap"));
    assert_eq!(all.len() as u64, topic.messages);
    assert_eq!(all.last().unwrap().sequence as u64, count - 1);
}

#[test]
fn what_a_new_topic_published_before_it_was_joined_is_counted_and_told() {
    let place = Place::new();
    let mut recorder = place.recorder(&place.node("recorder"), "late.mcap", WriterOptions::default());
    // The recorder looks for topics in `step` alone.
    let notes = publisher(&place.node("sensor"), "note", "demo::msg::Note", Encoding::Xcdr1);
    (0..3).for_each(|number| publish(&notes, &[], &note(number, "early")));
    let begin = Instant::now();
    while recorder.counts().is_empty() {
        recorder.step(Duration::from_millis(5)).unwrap();
        assert!(begin.elapsed() < PATIENCE);
    }
    publish(&notes, &[], &note(3, "recorded"));
    record_until(&mut recorder, 1);
    let mut warnings = Vec::new();
    while warnings.is_empty() {
        recorder.step(Duration::from_millis(5)).unwrap();
        warnings = recorder.take_warnings();
        assert!(begin.elapsed() < PATIENCE);
    }
    assert!(warnings[0].contains(": 3 messages are not recorded, and count as lost"), "{warnings:?}");
    let report = recorder.finish();
    let topic = &report.topics[0];
    assert_eq!((topic.messages, topic.lost, topic.missed, report.missing()), (1, 3, 3, 3));
    assert_eq!(messages(&place.path("late.mcap"))[0].sequence, 3);
}

#[test]
fn losses_that_the_end_finds_are_counted_and_told() {
    let place = Place::new();
    let sensor = place.node("sensor");
    let few = PublisherQos { depth: 4, ..PublisherQos::default() };
    let few =
        RawPublisher::create(&sensor, "few", &description("demo::msg::Note", Encoding::Xcdr1), few).unwrap();
    let recorder = place.recorder(&place.node("recorder"), "end.mcap", WriterOptions::default());
    (0..5_000).for_each(|number| publish(&few, &[], &note(number, "")));
    let late = publisher(&sensor, "late", "demo::msg::Note", Encoding::Xcdr1);
    (0..3).for_each(|number| publish(&late, &[], &note(number, "")));
    let report = recorder.finish();
    let [few, late] = report.topics.as_slice() else { panic!("{:?}", report.topics) };
    assert!(few.lost > 0 && few.messages + few.lost == 5_000, "{few:?}");
    assert_eq!((late.messages, late.lost, late.missed), (0, 3, 3));
    let told = |topic: &str| report.warnings.iter().filter(|it| it.contains(&format!("{topic:?}"))).count();
    assert_eq!((told("few"), told("late")), (1, 1), "{:?}", report.warnings);
}

#[test]
fn each_publisher_has_a_channel_with_its_own_numbers() {
    let place = Place::new();
    let nodes = ["left", "right"].map(|name| place.node(name));
    let notes = [0, 1].map(|side| publisher(&nodes[side], "note", "demo::msg::Note", Encoding::Xcdr1));
    let mut recorder = place.recorder(&place.node("recorder"), "two.mcap", WriterOptions::default());
    for number in 0..6 {
        publish(&notes[number as usize % 2], &[], &note(number, ""));
    }
    record_until(&mut recorder, 6);
    assert_eq!(recorder.finish().missing(), 0);
    let all = messages(&place.path("two.mcap"));
    for (node, first) in [("/left", 0_u64), ("/right", 1)] {
        let of_node: Vec<_> = all.iter().filter(|it| it.channel.metadata["situ.node"] == node).collect();
        assert!(of_node.iter().all(|message| message.channel.id == of_node[0].channel.id));
        let numbers: Vec<u32> = of_node.iter().map(|message| message.sequence).collect();
        assert_eq!((numbers.as_slice(), of_node[2].data()), ([0, 1, 2].as_slice(), &*note(first + 4, "")));
    }
}

/// A file with messages of 100 bytes on two channels, a millisecond apart.
fn written(path: &Path, options: WriterOptions, count: u64) {
    let mut writer = Writer::create(path, options).unwrap();
    let schema = writer.schema("demo/msg/Bytes", "ros2msg", b"uint8[96] data").unwrap();
    let channels = [("/a", 1), ("/b", 2)]
        .map(|(topic, _)| writer.channel(schema, topic, "cdr", Default::default()).unwrap());
    for number in 0..count {
        let time = 1_000_000_000 + number * 1_000_000;
        let channel = channels[number as usize % 2];
        writer.message(channel, number as u32, time, time, &[number as u8; 100]).unwrap();
    }
    writer.attachment("note.txt", "text/plain", (7, 8), b"attached".to_vec()).unwrap();
    writer.metadata("situ", [("driver".to_owned(), "ada".to_owned())].into()).unwrap();
    let written = writer.finish();
    assert!(written.error.is_none() && written.unwritten == 0, "{written:?}");
}

#[test]
fn files_are_split_cut_merged_and_converted() {
    let place = Place::new();
    let split = WriterOptions {
        chunk_bytes: 2_000,
        split_time: Some(Duration::from_millis(250)),
        ..WriterOptions::default()
    };
    written(&place.path("day.mcap"), split, 1_000);
    let parts: Vec<Reader> =
        (0..4).map(|part| Reader::open(place.path(&format!("day_{part}.mcap"))).unwrap()).collect();
    assert_eq!(parts.iter().map(|part| part.statistics().messages).sum::<u64>(), 1_000);
    assert!(parts.iter().all(|part| part.channels().len() == 2 && part.schemas().len() == 1));
    let options = |output: &str, from, until, selection| EditOptions {
        output: place.path(output),
        writer: WriterOptions { compression: Compression::Zstd, threads: 2, ..WriterOptions::default() },
        from,
        until,
        selection,
    };
    let merged = edit(&parts, options("all.mcap", None, None, Selection::all()), &mut |_| true).unwrap();
    assert_eq!((merged.problems.len(), merged.written.files[0].statistics.messages), (0, 1_000));
    let all = messages(&place.path("all.mcap"));
    assert!(all.iter().enumerate().all(|(number, it)| it.data() == [number as u8; 100]));
    // From 100 ms to 200 ms, one of the topics.
    let reader = [Reader::open(place.path("all.mcap")).unwrap()];
    let times = (Some(1_100_000_000), Some(1_200_000_000));
    let only = Selection::of(|topic| topic == "/b");
    edit(&reader, options("part.mcap", times.0, times.1, only), &mut |_| true).unwrap();
    let part = messages(&place.path("part.mcap"));
    assert_eq!((part.len(), part[0].sequence, part[49].sequence), (50, 101, 199));
    let reader = Reader::open(place.path("part.mcap")).unwrap();
    assert_eq!(reader.attachment(&reader.attachments()[0]).unwrap(), b"attached");
    assert_eq!(reader.metadata_values(&reader.metadata()[0]).unwrap()["driver"], "ada");
}

#[test]
fn merged_messages_are_in_the_order_of_their_times() {
    let place = Place::new();
    // In the first file, the times go back from chunk to chunk, and within one.
    let files = [("a.mcap", [50, 10, 40, 20_u64]), ("b.mcap", [15, 45, 5, 40])];
    for (name, times) in files {
        let options = WriterOptions { chunk_bytes: 1, ..WriterOptions::default() };
        let mut writer = Writer::create(&place.path(name), options).unwrap();
        let channel = writer.channel(0, &format!("/{name}"), "cdr", Default::default()).unwrap();
        for time in times {
            writer.message(channel, 0, time, 0, &[time as u8]).unwrap();
        }
        assert!(writer.finish().error.is_none());
    }
    let readers = files.map(|(name, _)| Reader::open(place.path(name)).unwrap());
    let options = EditOptions {
        output: place.path("all.mcap"),
        writer: WriterOptions::default(),
        from: None,
        until: None,
        selection: Selection::all(),
    };
    edit(&readers, options, &mut |_| true).unwrap();
    let reader = Reader::open(place.path("all.mcap")).unwrap();
    let merged = reader.messages(Filter::default()).map(|message| message.unwrap());
    let merged: Vec<(u64, u8)> = merged.map(|message| (message.log_time, message.data()[0])).collect();
    assert_eq!(merged, [5, 10, 15, 20, 40, 40, 45, 50].map(|time| (time, time as u8)));
}

/// Reads all of a file. Damage is an error, never a panic.
fn read_all(path: &Path) -> (u64, bool) {
    let Ok(reader) = Reader::open(path) else { return (0, false) };
    let messages = reader.messages(Filter::default()).filter(|message| message.is_ok()).count();
    reader.attachments().iter().for_each(|it| _ = reader.attachment(it));
    reader.metadata().iter().for_each(|it| _ = reader.metadata_values(it));
    (messages as u64, *reader.end() == End::Whole)
}

#[test]
fn cut_files_are_read_up_to_their_end() {
    for compression in [Compression::None, Compression::Lz4, Compression::Zstd] {
        let place = Place::new();
        let path = place.path("whole.mcap");
        written(&path, WriterOptions { chunk_bytes: 1_500, compression, ..WriterOptions::default() }, 40);
        let whole = std::fs::read(&path).unwrap();
        let cut = place.path("cut.mcap");
        let mut before = 0;
        for length in 0..whole.len() {
            std::fs::write(&cut, &whole[..length]).unwrap();
            let (messages, is_whole) = read_all(&cut);
            assert!(!is_whole && messages >= before, "{length}: {messages} after {before}");
            before = messages;
        }
        assert_eq!(before, 40);
    }
}

#[test]
fn a_chunk_without_a_size_is_read_up_to_its_end() {
    let place = Place::new();
    let path = place.path("open.mcap");
    written(&path, WriterOptions { chunk_bytes: 1_500, ..WriterOptions::default() }, 40);
    let first = Reader::open(&path).unwrap().blocks()[0].index.offset as usize;
    let mut bytes = std::fs::read(&path).unwrap();
    // Some writers state the largest number until a chunk is whole. What follows the kind is the length.
    bytes[first + 1..first + 9].fill(0xff);
    bytes.truncate(bytes.len() - 8);
    std::fs::write(&path, bytes).unwrap();
    let (messages, is_whole) = read_all(&path);
    // A chunk of 1500 bytes has ten or eleven messages of 131, and the definitions.
    assert!((10..=11).contains(&messages) && !is_whole, "{messages}");
}

#[test]
fn schemas_and_channels_have_a_limit_in_bytes() {
    let place = Place::new();
    let path = place.path("definitions.mcap");
    written(&path, WriterOptions { chunk_bytes: 1_500, ..WriterOptions::default() }, 40);
    let open = |definitions| Reader::open_with(&path, ReadLimits { definitions, ..ReadLimits::default() });
    // By the summary, and without it.
    for _ in 0..2 {
        let reader = open(100_000).unwrap();
        let schemas: usize = reader.schemas().values().map(|schema| schema.data.len()).sum();
        assert!(schemas > 0);
        let refused = open(schemas as u64).map(|_| ());
        assert!(
            matches!(refused, Err(ReadError::Definitions { limit }) if limit == schemas as u64),
            "{refused:?}"
        );
        let whole = std::fs::read(&path).unwrap();
        std::fs::write(&path, &whole[..whole.len() - 8]).unwrap();
    }
}

#[test]
fn damaged_files_are_errors() {
    let place = Place::new();
    let mut random = Random::seeded("damage");
    for compression in [Compression::None, Compression::Lz4, Compression::Zstd] {
        let path = place.path("whole.mcap");
        let options = WriterOptions {
            chunk_bytes: 1_500,
            compression,
            checksums: true,
            overwrite: true,
            ..Default::default()
        };
        written(&path, options, 40);
        let whole = std::fs::read(&path).unwrap();
        for _ in 0..300 {
            let mut damaged = whole.clone();
            for _ in 0..1 + random.below(8) {
                let at = random.below(damaged.len() as u64) as usize;
                damaged[at] = if random.below(2) == 0 { 0xff } else { random.below(256) as u8 };
            }
            let damaged_path = place.path("damaged.mcap");
            std::fs::write(&damaged_path, &damaged).unwrap();
            assert!(read_all(&damaged_path).0 <= 80);
        }
    }
}

#[test]
fn a_write_that_fails_leaves_a_file_that_is_read() {
    if let Some((_, scratch)) = role_in_root() {
        // A limit of the file's size, as a full disk: the signal that would end the process is ignored.
        let path = scratch.path().join("full.mcap");
        let options = WriterOptions { chunk_bytes: 4_000, ..WriterOptions::default() };
        let mut writer = Writer::create(&path, options).unwrap();
        let channel = writer.channel(0, "/a", "cdr", Default::default()).unwrap();
        let mut accepted = 0;
        for number in 0..100_000_u32 {
            match writer.message(channel, number, number.into(), 0, &[1; 100]) {
                Ok(()) => accepted += 1,
                Err(_) => break,
            }
        }
        let written = writer.finish();
        let error = written.error.expect("the file cannot hold all").to_string();
        assert!(error.contains("what was written before can be read"), "{error}");
        let kept = written.files[0].statistics.messages;
        assert_eq!(kept + written.unwritten, accepted);
        assert!(kept > 0);
        assert_eq!(read_all(&path).0, kept);
        return;
    }
    rerun_with_a_limit("a_write_that_fails_leaves_a_file_that_is_read", "200");
}

/// Runs a test in a process whose files have a limit of their size, in blocks of 512 bytes. To reach it is an
/// error there, and no signal.
fn rerun_with_a_limit(test: &str, blocks: &str) {
    let scratch = Scratch::created("full");
    let child = rerun(test, "full");
    let mut shell = std::process::Command::new("sh");
    shell.args(["-c", &format!("trap '' XFSZ; ulimit -f {blocks}; exec \"$0\" \"$@\"")]);
    shell.arg(child.get_program());
    shell.args(child.get_args()).env("SITU_TEST_ROOT", scratch.path());
    for (key, value) in child.get_envs() {
        shell.env(key, value.unwrap_or_default());
    }
    let output = shell.output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}

#[test]
fn all_that_a_full_disk_leaves_out_is_counted() {
    if let Some((_, scratch)) = role_in_root() {
        let root = Root::at(scratch.path().join("root"), None);
        let node = Node::in_root("sensor", root.clone()).unwrap();
        let notes = publisher(&node, "note", "demo::msg::Note", Encoding::Xcdr1);
        let output = scratch.path().join("full.mcap");
        let writer = WriterOptions { chunk_bytes: 64 << 10, ..WriterOptions::default() };
        let selection = Selection::all();
        let options =
            RecordOptions { output: output.clone(), selection, project: false, services: false, writer };
        let mut recorder = Recorder::start(&node, &root, options).unwrap();
        let (text, mut published) = ("x".repeat(3_000), 0);
        let mut publish_one = || {
            publish(&notes, &[], &note(published, &text));
            published += 1;
        };
        let begin = Instant::now();
        for number in 0.. {
            if recorder.step(Duration::ZERO).is_err() {
                break;
            }
            publish_one();
            if number == 600 {
                // By now the topic has all the memory that it needs. The file gets 4 MiB.
                let limit = Rlimit { current: Some(4 << 20), maximum: None };
                setrlimit(Resource::Fsize, limit).unwrap();
            }
            assert!(begin.elapsed() < PATIENCE);
        }
        // No subscriber takes these.
        (0..5).for_each(|_| publish_one());
        let report = recorder.finish();
        let (kept, topic) = (report.written.files[0].statistics.messages, &report.topics[0]);
        assert!(report.written.error.is_some() && report.written.unwritten > 5 && kept > 0);
        assert_eq!((kept + report.missing(), topic.lost, topic.unreadable), (published, 0, 0));
        assert_eq!(read_all(&output).0, kept);
        return;
    }
    rerun_with_a_limit("all_that_a_full_disk_leaves_out_is_counted", "unlimited");
}

#[test]
fn a_flashback_outlives_its_process() {
    let place = Place::new();
    let node = place.node("sensor");
    let notes = publisher(&node, "note", "demo::msg::Note", Encoding::Xcdr1);
    let options = FlashbackOptions {
        name: "test".into(),
        selection: Selection::all(),
        keep: PATIENCE,
        memory: 64 << 20,
    };
    let mut flashback = Flashback::start(&place.node("flashback"), &place.root, options).unwrap();
    for number in 0..10 {
        publish(&notes, &[], &note(number, "kept"));
    }
    let begin = Instant::now();
    while flashback.recorder().counts().first().is_none_or(|topic| topic.messages < 10) {
        flashback.step(Duration::from_millis(5)).unwrap();
        assert!(begin.elapsed() < PATIENCE);
    }
    let ring = Ring::of(&place.root, "test").unwrap();
    let dump = |file: &str| ring.dump(&place.path(file), Duration::MAX, WriterOptions::default()).unwrap();
    flashback.finish();
    drop((notes, node));
    assert_eq!(dump("one.mcap").written.files[0].statistics.messages, 10);
    assert_eq!(messages(&place.path("one.mcap"))[9].data(), note(9, "kept"));
    ring.remove().unwrap();
    assert!(ring.dump(&place.path("two.mcap"), PATIENCE, WriterOptions::default()).is_err());
    assert!(Ring::of(&place.root, "../x").is_err());
}

#[test]
fn a_flashback_keeps_to_its_memory_and_forgets_the_oldest() {
    const MIB: u64 = 1 << 20;
    let place = Place::new();
    let node = place.node("sensor");
    let notes = publisher(&node, "note", "demo::msg::Note", Encoding::Xcdr1);
    let options = FlashbackOptions {
        name: "small".into(),
        selection: Selection::all(),
        keep: Duration::from_secs(3600),
        memory: 8 * MIB,
    };
    let mut flashback = Flashback::start(&place.node("flashback"), &place.root, options).unwrap();
    let (text, begin) = ("x".repeat(256 << 10), Instant::now());
    for number in 0..120 {
        publish(&notes, &[], &note(number, &text));
        while flashback.recorder().counts().first().is_none_or(|topic| topic.messages <= number) {
            flashback.step(Duration::from_millis(5)).unwrap();
            assert!(begin.elapsed() < PATIENCE);
        }
        let bytes = flashback.ring().bytes();
        // A chunk may come after the last trim.
        assert!(bytes <= 9 * MIB, "{bytes}");
    }
    let ring = flashback.ring().clone();
    flashback.finish();
    ring.dump(&place.path("small.mcap"), Duration::MAX, WriterOptions::default()).unwrap();
    let kept = messages(&place.path("small.mcap"));
    // The last ones, without a gap, and more than half of what there is memory for.
    let numbers: Vec<u64> = kept.iter().map(|message| u64::from(message.sequence)).collect();
    assert!((numbers[0]..120).eq(numbers.iter().copied()), "{numbers:?}");
    assert!(numbers.len() >= 16 && numbers[0] > 80, "{numbers:?}");
    ring.remove().unwrap();
}

/// The time between two lines of the child that records, at least.
const SAY: Duration = Duration::from_millis(100);

/// Child: records its own messages, and says from time to time how many it has published.
#[test]
#[ignore = "a role that another test starts"]
fn child() {
    let Some((_, scratch)) = role_in_root() else { return };
    let root = Root::at(scratch.path().join("root"), None);
    let node = Node::in_root("child", root.clone()).unwrap();
    let notes = publisher(&node, "note", "demo::msg::Note", Encoding::Xcdr1);
    let options = RecordOptions {
        output: scratch.path().join("killed.mcap"),
        selection: Selection::all(),
        project: false,
        services: false,
        writer: WriterOptions { chunk_bytes: 8 << 10, ..WriterOptions::default() },
    };
    let mut recorder = Recorder::start(&node, &root, options).unwrap();
    let (text, mut said) = ("x".repeat(500), Instant::now());
    for number in 0_u64.. {
        publish(&notes, &[], &note(number, &text));
        recorder.step(Duration::ZERO).unwrap();
        if number % 20 == 0 {
            // About a chunk each millisecond: kills meet all moments of a write, and files stay small.
            std::thread::sleep(Duration::from_millis(1));
        }
        if said.elapsed() >= SAY {
            say(&format!("published {}", number + 1));
            said = Instant::now();
        }
    }
}

#[test]
fn what_was_written_survives_kills() {
    let kills = std::env::var("SITU_CHAOS_KILLS").ok().and_then(|kills| kills.parse().ok());
    // One in fifty of the kills that are asked for, because each starts a process that records.
    let kills = kills.map_or(5_u64, |kills: u64| (kills / 50).clamp(5, 200));
    let mut random = Random::seeded("kills");
    for _ in 0..kills {
        let scratch = Scratch::created("kills");
        let mut child = Role::start(scratch.path(), "record");
        // How many were published, as the child said it, at least 100 ms after the line before. Between the
        // eleventh last line and the kill is more than a second, in which the child has run eleven times.
        let said: Vec<u64> = (0..11).map(|_| child.number("published")).collect();
        std::thread::sleep(Duration::from_millis(random.below(200)));
        let path = scratch.path().join("killed.mcap");
        let before = std::fs::metadata(&path).unwrap().len();
        child.kill();
        let reader = Reader::open(&path).unwrap();
        assert!(reader.problems().is_empty(), "{:?}", reader.problems());
        assert_ne!(*reader.end(), End::Whole);
        let read: Vec<Message> = reader.messages(Filter::default()).map(|message| message.unwrap()).collect();
        assert!(read.len() as u64 >= said[0], "{} of {}", read.len(), said[0]);
        // All that was in the file is there, in order and without a gap. With its part of the indexes, a
        // message has less than 600 bytes.
        assert!(read.len() as u64 + 2 >= before / 600, "{} of {before} bytes", read.len());
        for (number, message) in read.iter().enumerate() {
            assert_eq!(message.data()[4..12], (number as u64).to_le_bytes());
        }
    }
}
