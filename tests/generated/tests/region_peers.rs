//! Regions on topics between processes. Programs in C++ (`cpp/tests/bus/profile_peer.cpp`, `bazaar_peer.cpp`)
//! exchange messages with Rust, in the same version of a type and in another one. A type with every container
//! is passed between the languages.
//!
//! CMake builds the programs in `build/cpp`; if they are missing, the tests print so.

use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout, Command, Stdio};
use std::time::{Duration, Instant};

use situ::bus::{
    Node, PublisherQos, RawPublisher, RegionPublisher, RegionSample, RegionSubscriber, Reliability, Root,
    describe_region,
};
use situ::layout::Heap;
use situ::region::{Mut, Region, RegionMessage, ShareError};
use situ_generated::bazaar::game::{
    BazaarMut, BazaarRef, BazaarRegion, BladeMut, EquipMut, FlagMut, InnerMut, Item, LetterMut, ShapeMut,
    SoundMut, TextureMut, TextureRef, Tone,
};
use situ_generated::{profile::game as after, profile_before::game as before};
use situ_testkit::Scratch;

/// The time limit of a program.
const PATIENCE: Duration = Duration::from_secs(20);

/// A directory for topics, and the programs that use it.
struct Place(Scratch);

impl Place {
    /// `None` if the programs are not built.
    fn new() -> Option<Self> {
        let built = program("bazaar_peer").is_file();
        if !built {
            eprintln!(
                "SKIPPED: {} is not built (cmake -S cpp -B build/cpp && cmake --build build/cpp)",
                program("bazaar_peer").display()
            );
        }
        built.then(|| Self(Scratch::new("region-peers")))
    }

    fn node(&self) -> Node {
        Node::in_root("rust", Root::at(self.0.path(), None)).unwrap()
    }

    fn start(&self, name: &str, words: &[&str]) -> Peer {
        let mut child = Command::new(program(name))
            .arg(self.0.path())
            .args(words)
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let output = BufReader::new(child.stdout.take().unwrap());
        Peer { child, output }
    }

    /// The same. It has subscribed when this returns.
    fn ready(&self, name: &str, words: &[&str]) -> Peer {
        let mut peer = self.start(name, words);
        assert_eq!(peer.line(), "ready");
        peer
    }
}

fn program(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../build/cpp/tests/bus").join(name)
}

/// A running program. It is killed on drop.
struct Peer {
    child: Child,
    output: BufReader<ChildStdout>,
}

impl Peer {
    fn line(&mut self) -> String {
        let mut line = String::new();
        self.output.read_line(&mut line).unwrap();
        line.trim_end().to_owned()
    }

    fn end(mut self) {
        assert!(self.child.wait().unwrap().success());
    }
}

impl Drop for Peer {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// As the programs in C++ print it.
fn hash(bytes: &[u8]) -> String {
    let fold = |hash: u64, byte: &u8| (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3);
    format!("{:016x}", bytes.iter().fold(0xcbf2_9ce4_8422_2325, fold))
}

fn publisher<T: RegionMessage>(node: &Node, topic: &str) -> RegionPublisher<T> {
    node.region_publisher::<T>(topic).reliable().create().unwrap()
}

fn subscriber<T: RegionMessage>(node: &Node, topic: &str) -> RegionSubscriber<T> {
    node.region_subscriber::<T>(topic).reliable().create().unwrap()
}

fn take<T: RegionMessage>(subscriber: &RegionSubscriber<T>) -> RegionSample<T> {
    subscriber.recv(Some(PATIENCE)).unwrap().expect("a message comes")
}

/// An image of `spec/vectors`.
fn vector(name: &str) -> Vec<u8> {
    std::fs::read(format!("{}/../../spec/vectors/region/{name}.bin", env!("CARGO_MANIFEST_DIR"))).unwrap()
}

/// Publishes an image unchanged.
fn publish_image<T: RegionMessage>(node: &Node, topic: &str, image: &[u8]) -> RawPublisher {
    let qos = PublisherQos { reliability: Reliability::Reliable, ..PublisherQos::default() };
    let publisher = RawPublisher::create(node, topic, &describe_region::<T>(), qos).unwrap();
    let begin = Instant::now();
    while publisher.subscribers() == 0 {
        assert!(begin.elapsed() < PATIENCE, "nobody subscribes to {topic}");
        std::thread::sleep(Duration::from_millis(1));
    }
    let mut loan = publisher.loan(0, 1, image.len()).unwrap();
    loan.body_bytes().copy_from_slice(image);
    loan.publish().unwrap();
    publisher
}

const BEFORE: &str = "5 the name of this profile, score 900";

/// A profile of the older version, as a reader of the newer version sees it.
const DEFAULTS: &str = ", level 3, 0 tags, by \"\"";

#[test]
fn an_older_program_in_cpp_edits_newer_regions() {
    use after::{ProfileRef as _, RecordRef as _};
    let Some(place) = Place::new() else { return };
    let node = place.node();
    let edited = subscriber::<after::ProfileRegion>(&node, "edited");
    let mut cpp = place.ready("profile_before_peer", &["edit", "profiles", "edited"]);
    let _publisher =
        publish_image::<after::ProfileRegion>(&node, "profiles", &vector("game_profile.after.live"));
    assert_eq!(cpp.line(), format!("in place: {BEFORE}"));
    let mut expected =
        Region::<before::ProfileRegion>::adopt(&vector("game_profile.before.canonical")).unwrap();
    *before::ProfileMut::id(&mut expected.root_mut()) = 105;
    assert_eq!(cpp.line(), format!("made {}", hash(&expected.canonical())));
    assert_eq!(cpp.line(), "1 lent");
    // Members that it does not know are lost.
    let sample = take(&edited);
    assert!(sample.is_copy());
    assert_eq!((*sample.root().id(), *sample.root().level(), sample.root().tags().len()), (105, 3, 0));
    let best = sample.root().best().get().unwrap();
    assert_eq!((*best.score(), &*best.by()), (900, ""));
    cpp.end();
}

#[test]
fn a_newer_program_in_cpp_edits_older_regions() {
    use before::ProfileRef as _;
    let Some(place) = Place::new() else { return };
    let node = place.node();
    let edited = subscriber::<before::ProfileRegion>(&node, "edited");
    let mut cpp = place.ready("profile_peer", &["edit", "profiles", "edited"]);
    let older = vector("game_profile.before.live");
    let _publisher = publish_image::<before::ProfileRegion>(&node, "profiles", &older);
    assert_eq!(cpp.line(), format!("copy: {BEFORE}{DEFAULTS}"));
    let mut expected = Region::<after::ProfileRegion>::adopt(&older).unwrap();
    *after::ProfileMut::id(&mut expected.root_mut()) = 105;
    assert_eq!(cpp.line(), format!("made {}", hash(&expected.canonical())));
    assert_eq!(cpp.line(), "1 lent");
    let sample = take(&edited);
    assert!(!sample.is_copy());
    assert_eq!((*sample.root().id(), &*sample.root().name()), (105, "the name of this profile"));
    cpp.end();
}

#[test]
fn versions_in_cpp_understand_each_other() {
    let Some(place) = Place::new() else { return };
    let newer = hash(&vector("game_profile.after.canonical"));
    let older = hash(&vector("game_profile.before.canonical"));
    let mut taker = place.ready("profile_before_peer", &["take", "down"]);
    let mut builder = place.start("profile_peer", &["build", "down"]);
    assert_eq!(builder.line(), format!("built {newer}"));
    assert_eq!(taker.line(), format!("in place: {BEFORE}"));
    assert_eq!(taker.line(), format!("took {older}"), "a copy has what is known");
    taker.end();
    builder.end();

    let mut taker = place.ready("profile_peer", &["take", "up"]);
    let mut builder = place.start("profile_before_peer", &["build", "up"]);
    assert_eq!(builder.line(), format!("built {older}"));
    assert_eq!(taker.line(), format!("copy: {BEFORE}{DEFAULTS}"));
    let expected = Region::<after::ProfileRegion>::adopt(&vector("game_profile.before.live")).unwrap();
    assert_eq!(taker.line(), format!("took {}", hash(&expected.canonical())));
    taker.end();
    builder.end();

    // Its third member differs.
    let mut other = place.ready("profile_other_peer", &["take", "other"]);
    let builder = place.start("profile_peer", &["build", "other"]);
    let refusal = other.line();
    assert!(
        refusal.starts_with("error: ") && refusal.contains("member 3, here height, differs"),
        "{refusal}"
    );
    builder.end();
}

/// On the heap a version cannot take part beside another one. But a message of the other version may remain.
#[test]
fn messages_on_the_heap_are_made_of_older_regions() {
    use after::ProfileMut as _;
    let Some(place) = Place::new() else { return };
    let node = place.node();
    let keeper = node.region_publisher::<after::ProfileRegion>("profiles").reliable().transient_local();
    let keeper = keeper.create().unwrap();
    let older = node.region_publisher::<before::ProfileRegion>("profiles").reliable().transient_local();
    let older = older.create().unwrap();
    let mut loan = older.loan().unwrap();
    before::ProfileMut::name(&mut loan.root_mut()).set("an older one").unwrap();
    loan.publish().unwrap();
    let mut loan = keeper.loan().unwrap();
    *loan.root_mut().level() = 9;
    loan.publish().unwrap();
    drop(older);
    let mut cpp = place.start("profile_peer", &["heap", "profiles"]);
    let rust = node.subscriber::<after::Profile<Heap>>("profiles").reliable().transient_local();
    let rust = rust.create().unwrap();
    let first = rust.recv(Some(PATIENCE)).unwrap().unwrap();
    assert_eq!((first.name.as_str(), first.level), ("an older one", 3));
    assert_eq!(cpp.line(), "heap: 0 an older one, score -, level 3, 0 tags");
    cpp.end();
}

/// The same as `edit` in `cpp/tests/bus/bazaar_peer.cpp`.
fn edit(mut b: Mut<'_, BazaarRegion>) {
    assert!(b.index().remove(4));
    for i in 2000..3000 {
        b.index().insert(i).unwrap();
    }
    assert!(b.words().remove("word 7 of forty"));
    b.words().insert("a word that is new").unwrap();
    assert!(b.prices().remove("price 3"));
    b.prices().get_mut("price 42").unwrap().uuid = 4242;
    for i in 0..300 {
        b.prices()
            .insert(&format!("new price {i}"), Item { id: i, number: 1, uuid: 2, timestamp: 3 })
            .unwrap();
    }
    b.shape().select(1);
    *b.shape().radius().unwrap() = 8.5;
    b.shapes().get_mut(0).unwrap().select(2);
    b.shapes().get_mut(0).unwrap().label().unwrap().set("was a radius before").unwrap();
    assert!(b.shapes().remove(3));
    b.sound().select(Tone::LOUD);
    *b.sound().level().unwrap() = 12;
    assert!(b.letter().items().unwrap().remove("a sword of steel"));
    let shield = Item { id: 1, number: 2, uuid: 3, timestamp: 4 };
    b.letter().items().unwrap().insert("a shield of wood", shield).unwrap();
    b.flag().select(false);
    *b.flag().number().unwrap() = 9;
    assert!(b.by_number().remove(1));
    b.maybe().clear();
    let mut far = b.far();
    let mut far = far.get_mut().unwrap();
    far.select(2);
    far.label().unwrap().set("far away and long").unwrap();
    b.texture()
        .get_mut()
        .unwrap()
        .grain()
        .get_mut()
        .unwrap()
        .text()
        .set("the grain that both have, sanded")
        .unwrap();
    b.textures().push_default().unwrap().name().set("a third one").unwrap();
    let linked: Result<(), ShareError> = b.share(
        |b| Some(b.textures().get(0)?.grain()),
        |mut b, grain| b.textures().get_mut(2).unwrap().grain().link(grain),
    );
    linked.unwrap();
    b.blade().base().attributes().push(7.0_f32).unwrap();
    *b.blade().edge() += 1;
}

/// The vector, edited.
fn edited() -> Vec<u8> {
    let mut region = Region::<BazaarRegion>::adopt(&vector("bazaar.live")).unwrap();
    edit(region.root_mut());
    region.canonical()
}

#[test]
fn cpp_goes_on_with_what_rust_built() {
    let Some(place) = Place::new() else { return };
    let node = place.node();
    let after = subscriber::<BazaarRegion>(&node, "edited");
    let cpp = place.ready("bazaar_peer", &["edit", "built", "edited"]);
    let _publisher = publish_image::<BazaarRegion>(&node, "built", &vector("bazaar.live"));
    let sample = take(&after);
    assert!(!sample.is_copy());
    assert_eq!(sample.root().texture().get().unwrap().grain().links(), 3);
    assert_eq!(sample.to_region().unwrap().canonical(), edited());
    cpp.end();
}

#[test]
fn rust_goes_on_with_what_cpp_built() {
    let Some(place) = Place::new() else { return };
    let node = place.node();
    let built = subscriber::<BazaarRegion>(&node, "built");
    let onward = publisher::<BazaarRegion>(&node, "edited");
    let mut taker = place.ready("bazaar_peer", &["take", "edited"]);
    let builder = place.start("bazaar_peer", &["build", "built"]);
    let sample = take(&built);
    assert_eq!(sample.to_region().unwrap().canonical(), vector("bazaar.canonical"));
    let mut loan = onward.edit(&sample).unwrap();
    edit(loan.root_mut());
    assert_eq!(loan.canonical(), edited());
    loan.publish().unwrap();
    assert_eq!(taker.line(), format!("took {}", hash(&edited())));
    taker.end();
    builder.end();
}
