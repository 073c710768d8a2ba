//! Regions: recorded as they are and as CDR, and played.

use std::path::Path;
use std::time::{Duration, Instant};

use situ_bus::{
    Encoding, Node, PublisherQos, RawPublisher, RawSubscriber, Reliability, Root, SubscriberQos,
    TypeDescription,
};
use situ_record::{
    Command, Filter, Message, PlayOptions, Player, Reader, RecordOptions, Recorder, Selection, WriterOptions,
};
use situ_schema::Schema;
use situ_schema::dynamic::{from_cdr, from_region};
use situ_testkit::Scratch;

/// Time enough for a loaded machine.
const PATIENCE: Duration = Duration::from_secs(60);
/// A layout's hash, which nothing here computes.
const LAYOUT: u64 = 0x1234_5678_9abc_def0;

fn folder() -> &'static Path {
    Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../.."))
}

/// A type of regions, and the image of one that `spec/vectors/region_schema.py` wrote.
fn profile() -> (Schema, TypeDescription, Vec<u8>) {
    let text = std::fs::read_to_string(folder().join("tests/generated/schema/profile_before.idl")).unwrap();
    let schema = Schema::from_idl(&text).unwrap();
    let root = schema.find("game::Profile").unwrap();
    let description = TypeDescription {
        name: "game::Profile".to_owned(),
        schema: schema.canonical(root),
        schema_hash: schema.schema_hash(root),
        layout_hash: LAYOUT,
        encoding: Encoding::Region,
        fixed_size: 0,
        user_header_size: 0,
    };
    let image = folder().join("spec/vectors/region/game_profile.before.canonical.bin");
    (schema, description, std::fs::read(image).unwrap())
}

/// Records a region, and returns its message in the file.
fn record(root: &Root, path: &Path, project: bool) -> Message {
    let (_, description, image) = profile();
    let node = Node::in_root("game", root.clone()).unwrap();
    let qos = PublisherQos { reliability: Reliability::Reliable, ..PublisherQos::default() };
    let publisher = RawPublisher::create(&node, "profile", &description, qos).unwrap();
    let writer = WriterOptions::default();
    let options = RecordOptions {
        output: path.to_owned(),
        selection: Selection::all(),
        project,
        services: false,
        writer,
    };
    let mut recorder = Recorder::start(&node, root, options).unwrap();
    let mut loan = publisher.loan(0, 8, image.len()).unwrap();
    loan.body_bytes().copy_from_slice(&image);
    loan.publish().unwrap();
    let begin = Instant::now();
    while recorder.counts()[0].messages == 0 {
        recorder.step(Duration::from_millis(5)).unwrap();
        assert!(begin.elapsed() < PATIENCE, "{:?}", recorder.take_warnings());
    }
    assert_eq!(recorder.finish().missing(), 0);
    let reader = Reader::open(path).unwrap();
    let mut messages = reader.messages(Filter::default());
    messages.next().unwrap().unwrap()
}

/// Plays a file to a subscriber of the type that was recorded, and returns the message's encoding and bytes.
fn play(root: &Root, path: &Path) -> (Encoding, Vec<u8>) {
    let (_, description, _) = profile();
    let node = Node::in_root("listener", root.clone()).unwrap();
    let subscriber = RawSubscriber::create(&node, "profile", &description, SubscriberQos::default()).unwrap();
    let options = PlayOptions {
        files: vec![path.to_owned()],
        rate: 1.0,
        from: None,
        until: None,
        // It begins again until the message was taken.
        repeat: true,
        selection: Selection::all(),
        remap: Default::default(),
        clock: None,
        wait: Duration::ZERO,
    };
    let player = Player::new(&node, options).unwrap();
    let mut seen = None;
    let mut control = |_| match subscriber.take().unwrap() {
        Some(sample) => {
            seen = Some((sample.encoding(), sample.body_in_place().to_vec()));
            Command::Stop
        }
        None => Command::Go,
    };
    let played = player.play(&mut control).unwrap();
    assert_eq!(played.problems, [""; 0]);
    seen.unwrap()
}

#[test]
fn regions_are_recorded_and_played_as_they_are() {
    let scratch = Scratch::created("regions");
    let (root, path) = (Root::at(scratch.path().join("root"), None), scratch.path().join("region.mcap"));
    let (.., image) = profile();
    let message = record(&root, &path, false);
    assert_eq!((message.channel.message_encoding.as_str(), message.data()), ("situ-region", &*image));
    let metadata = &message.channel.metadata;
    assert_eq!(metadata["situ.layout_hash"], "123456789abcdef0");
    let said = ["situ.topic", "situ.type", "situ.encoding", "situ.node"].map(|key| metadata[key].as_str());
    assert_eq!(said, ["profile", "game::Profile", "region", "/game"]);
    // The numbers of rmw: reliable, volatile.
    let qos = &metadata["offered_qos_profiles"];
    assert!(qos.contains("  reliability: 1\n") && qos.contains("  durability: 2\n"), "{qos}");
    assert!(!metadata["situ.publisher"].is_empty());
    assert_eq!(message.schema.as_ref().unwrap().encoding, "ros2idl");
    assert_eq!(play(&root, &path), (Encoding::Region, image));
}

#[test]
fn regions_are_recorded_as_cdr_and_played_as_that() {
    let scratch = Scratch::created("regions");
    let (root, path) = (Root::at(scratch.path().join("root"), None), scratch.path().join("cdr.mcap"));
    let message = record(&root, &path, true);
    assert_eq!(message.channel.message_encoding, "cdr");
    // The header, the number 5, the length of the name with its last byte, the name.
    let data = message.data();
    assert_eq!((&data[..4], &data[4..12]), ([0, 1, 0, 0].as_slice(), 5_u64.to_le_bytes().as_slice()));
    assert_eq!(data[12..16], 25_u32.to_le_bytes());
    assert_eq!(&data[16..41], b"the name of this profile\0");
    // All values.
    let (schema, description, image) = profile();
    let own = schema.find(&description.name).unwrap();
    let value = from_region(&schema, own, &image).unwrap();
    assert_eq!(from_cdr(&schema, own, data).unwrap(), value);
    assert_eq!(play(&root, &path), (Encoding::Xcdr1, data.to_vec()));
}
