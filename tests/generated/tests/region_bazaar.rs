//! Trees, unions, shared links, bases and structs that can be appended to, in the region forms of generated
//! types. They are compared with the vectors of `spec/vectors/region_schema.py`, converted from and to the
//! heap, and read by their schemas alone.

use situ::layout::{AssignProblem, Heap, Message};
use situ::region::{Mut, Region, RegionMessage, ShareError, view};
use situ_generated::bazaar::game::{
    Bazaar, BazaarMut, BazaarRef, BazaarRegion, BladeMut, BladeRef, Choice, ChoiceMut, EquipMut, EquipRef,
    Flag, FlagMut, Inner, InnerMut, InnerRef, Item, Letter, LetterMut, Mesh, MeshMut, MeshRef, MeshRegion,
    PatchMut, PatchRef, Position, Shape, ShapeMut, ShapeRef, Sound, SoundMut, SoundRef, TextureMut,
    TextureRef, Tone,
};
use situ_generated::profile::game as after;
use situ_generated::profile::game::{ProfileMut as _, ProfileRef as _, RecordMut as _, RecordRef as _};
use situ_generated::profile_before::game as before;
use situ_generated::profile_other::game as other;
use situ_schema::{Loader, Schema, dynamic};

fn vector(name: &str) -> Vec<u8> {
    let path = format!("{}/../../spec/vectors/region/{name}.bin", env!("CARGO_MANIFEST_DIR"));
    std::fs::read(path).unwrap()
}

fn schema(file: &str) -> Schema {
    Loader::new().file(format!("{}/schema/{file}.idl", env!("CARGO_MANIFEST_DIR"))).load().unwrap()
}

fn item(i: u32) -> Item {
    Item { id: i, number: i, uuid: i.into(), timestamp: i.into() }
}

/// The values under `BAZAAR_VALUE` in `spec/vectors/region_schema.py`.
fn bazaar() -> Region<BazaarRegion> {
    let mut r = Region::<BazaarRegion>::new();
    let mut b = r.root_mut();
    for i in 0..505 {
        b.index().insert(i * i % 1009).unwrap();
    }
    for i in 0..40 {
        b.words().insert(&format!("word {} of forty", i * 7 % 40)).unwrap();
    }
    for i in 0..100 {
        b.prices().insert(&format!("price {i}"), item(i)).unwrap();
    }
    b.shape().select(3);
    b.shape().label().unwrap().set("a label of some length").unwrap();
    for selected in [1, 2, -4, 0] {
        b.shapes().push_default().unwrap().select(selected);
    }
    *b.shapes().get_mut(0).unwrap().radius().unwrap() = 2.5;
    b.shapes().get_mut(1).unwrap().label().unwrap().set("short").unwrap();
    b.shapes().get_mut(2).unwrap().points().unwrap().set(&[1.0, 2.0, 3.0]).unwrap();
    b.choices().get_mut(0).unwrap().select(u64::MAX);
    let mut choices = b.choices();
    let mut choice = choices.get_mut(0).unwrap();
    let mut inner = choice.inner().unwrap();
    inner.text().set("boxed in").unwrap();
    inner.numbers().push(5_i16).unwrap();
    b.choices().get_mut(1).unwrap().select(7);
    b.sound().select(Tone::SHRILL);
    *b.sound().r#where().unwrap() = Position { x: 1.0, y: 2.0, z: 3.0 };
    let mut loud = Sound::default();
    loud.set_level(11);
    b.sounds().push(loud).unwrap();
    b.sounds().push_default().unwrap().select(Tone::QUIET);
    b.letter().select(b'b');
    b.letter()
        .items()
        .unwrap()
        .insert("a sword of steel", Item { id: 9, number: 8, uuid: 7, timestamp: 6 })
        .unwrap();
    b.flag().select(true);
    b.flag().text().unwrap().set("flagged with a long text").unwrap();
    let mut by_number = b.by_number();
    let mut three = by_number.entry(3).unwrap();
    three.select(2);
    three.label().unwrap().set("three").unwrap();
    *by_number.entry(1).unwrap().radius().unwrap() = 0.5;
    let mut maybe = b.maybe();
    let mut maybe = maybe.fill();
    maybe.select(2);
    maybe.label().unwrap().set("perhaps it is long").unwrap();
    *b.far().fill().unwrap().radius().unwrap() = 4.0;
    let mut texture = b.texture();
    let mut texture = texture.fill().unwrap();
    texture.name().set("oak with long grain").unwrap();
    let mut grain = texture.grain();
    let mut grain = grain.fill().unwrap();
    grain.text().set("the grain that both have").unwrap();
    grain.numbers().set(&[3_i16, 1]).unwrap();
    for name in ["wood", "bare"] {
        b.textures().push_default().unwrap().name().set(name).unwrap();
    }
    b.share(
        |b| Some(b.texture().get()?.grain()),
        |mut b, grain| b.textures().get_mut(0).unwrap().grain().link(grain),
    )
    .unwrap();
    let mut blade = b.blade();
    *blade.base().base() = Item { id: 1, number: 2, uuid: 3, timestamp: 4 };
    *blade.base().level() = 5;
    blade.base().attributes().push(6.0_f32).unwrap();
    *blade.edge() = 7;
    r
}

#[test]
fn values_are_printed_and_compared_by_member() {
    let mut r = bazaar();
    let live = Region::<BazaarRegion>::adopt(&vector("bazaar.live")).unwrap();
    assert!(r == live && live.root().shapes() == r.root_mut().shapes());
    let text = format!("{r:?}");
    for part in [
        "shape: Shape { discriminator: 3, label: \"a label of some length\" }",
        "sound: Sound { discriminator: SHRILL, where: Position { x: 1.0, y: 2.0, z: 3.0 } }",
        "letter: Letter { discriminator: b'b', items: {\"a sword of steel\": Item { id: 9, number: 8, ",
        "flag: Flag { discriminator: true, text: \"flagged with a long text\" }",
        "grain: Some(Inner { text: \"the grain that both have\", numbers: [3, 1] })",
        "far: Some(Shape { discriminator: 1, radius: 4.0 })",
    ] {
        assert!(text.contains(part), "{part} in {text}");
    }
    r.root_mut().sound().select(Tone::QUIET);
    assert!(r != live);
}

#[test]
fn the_bytes_are_those_of_the_vectors() {
    let canonical = vector("bazaar.canonical");
    assert_eq!(bazaar().canonical(), canonical);
    let live = Region::<BazaarRegion>::adopt(&vector("bazaar.live")).unwrap();
    assert_eq!(live.canonical(), canonical);
    assert_eq!(live.packed(), vector("bazaar.packed"));
    let unpacked = Region::<BazaarRegion>::adopt(&vector("bazaar.packed")).unwrap();
    assert_eq!(unpacked.canonical(), canonical);
    let b = live.root();
    assert!(b.index().iter().is_sorted() && b.index().len() == b.index().iter().count());
    assert_eq!((b.prices().get("price 42").unwrap().uuid, b.nothing().len()), (42, 0));
    assert_eq!((b.shape().discriminator(), b.sound().discriminator()), (3, Tone::SHRILL));
    assert_eq!(b.sound().r#where().unwrap().y, 2.0);
    assert_eq!((b.maybe().get().unwrap().discriminator(), *b.blade().edge()), (2, 7));
    assert_eq!(b.blade().base().attributes().as_slice(), [6.0]);
    let grain = b.texture().get().unwrap().grain();
    assert!(grain.is_same(b.textures().get(0).unwrap().grain()));
    assert_eq!((grain.links(), grain.get().unwrap().numbers().as_slice()), (2, &[3, 1][..]));
}

#[test]
fn new_unions_begin_as_the_schema_says() {
    let r = Region::<BazaarRegion>::new();
    let (b, heap) = (r.root(), Bazaar::<Heap>::default());
    assert_eq!((b.shape().discriminator(), heap.shape.discriminator()), (1, 1));
    assert_eq!((b.sound().discriminator(), heap.sound.discriminator()), (Tone::LOUD, Tone::LOUD));
    assert_eq!((*b.shape().radius().unwrap(), *b.sound().level().unwrap()), (0.0, 0));
    assert!(b.shape().label().is_none());
    assert_eq!(r.root().to_message::<Bazaar>().unwrap(), heap);
    assert_eq!(Region::<BazaarRegion>::adopt(&r.canonical()).unwrap().canonical(), r.canonical());
}

/// Values behind shared links lie in place on the heap. They return as one value for each link.
#[test]
fn regions_become_heap_messages_and_come_back() {
    let mut r = bazaar();
    let message: Bazaar = r.root().to_message().unwrap();
    assert_eq!(message.words.len(), 40);
    assert_eq!(message.shape.label().unwrap(), "a label of some length");
    assert_eq!(message.choices[0].inner().unwrap().numbers.as_slice(), [5]);
    assert_eq!(message.choices[1].discriminator(), 7);
    assert_eq!(message.sound.r#where().unwrap().z, 3.0);
    assert_eq!(message.letter.items().unwrap()["a sword of steel"].number, 8);
    assert_eq!(message.flag.text().unwrap(), "flagged with a long text");
    assert_eq!(message.textures[0].grain, message.texture.as_ref().unwrap().grain);
    assert_eq!(message.far.as_ref().unwrap().radius(), Some(&4.0));
    let back = Region::<BazaarRegion>::of(&message, &[]).unwrap();
    assert_eq!(back.root().textures().get(0).unwrap().grain().links(), 1);
    assert_eq!(back.root().to_message::<Bazaar>().unwrap(), message);

    // A message may be stored over one with shared values. These remain with their other owners.
    let mut other = message.clone();
    other.texture.as_mut().unwrap().grain.as_mut().unwrap().text = "only one has it".into();
    other.textures.clear();
    r.root_mut().store(&other, &[]).unwrap();
    assert_eq!(r.canonical(), Region::<BazaarRegion>::of(&other, &[]).unwrap().canonical());
    assert_eq!(Region::<BazaarRegion>::adopt(r.bytes()).unwrap().canonical(), r.canonical());
    r.root_mut().store(&Bazaar::<Heap>::default(), &[]).unwrap();
    assert_eq!(r.canonical(), Region::<BazaarRegion>::new().canonical());
}

#[test]
fn every_kind_of_discriminator_selects() {
    let mut message = Bazaar::<Heap> { shape: Shape::default(), ..Default::default() };
    message.shape.select(9);
    message.shape.points_mut().unwrap().push(1.5);
    message.choices[1] = Choice::default();
    message.letter = Letter::default();
    message.letter.words_mut().unwrap().push("a word that needs a block".into());
    message.flag = Flag::default();
    message.flag.select(true);
    message.sounds.push(Sound::default());
    message.sounds[0].select(Tone(77));
    let r = Region::<BazaarRegion>::of(&message, &[]).unwrap();
    assert_eq!(r.root().shape().points().unwrap().as_slice(), [1.5]);
    assert_eq!(r.root().sounds().get(0).unwrap().discriminator(), Tone(77));
    assert!(r.root().sounds().get(0).unwrap().level().is_none());
    assert_eq!(r.root().to_message::<Bazaar>().unwrap(), message);
}

/// A mesh with two patches that share one, and so on.
fn weave(mut mesh: Mut<'_, MeshRegion>, levels: u32) {
    mesh.name().set("a name that is longer than eleven bytes").unwrap();
    if levels == 0 {
        return;
    }
    mesh.patches().push_default().unwrap();
    mesh.patches().push_default().unwrap();
    weave(mesh.patches().get_mut(0).unwrap().mesh().fill().unwrap(), levels - 1);
    let linked: Result<(), ShareError> = mesh.share(
        |mesh| Some(mesh.patches().get(0)?.mesh()),
        |mut mesh, inner| mesh.patches().get_mut(1).unwrap().mesh().link(inner),
    );
    linked.unwrap();
}

/// Few links make many paths: two in each of thirty levels would be a thousand million values.
#[test]
fn values_behind_many_links_do_not_fill_the_memory() {
    let mut r = Region::<MeshRegion>::new();
    weave(r.root_mut(), 3);
    let small: Mesh = r.root().to_message().unwrap();
    assert_eq!(small.patches[1].mesh.as_ref().unwrap().patches.len(), 2);
    let mut r = Region::<MeshRegion>::new();
    weave(r.root_mut(), 30);
    assert!(r.canonical().len() < 8192);
    let error = r.root().to_message::<Mesh>().unwrap_err();
    assert!(matches!(error.problem, AssignProblem::TooManyCopies { .. }), "{error}");
    assert!(error.path.to_string().starts_with("patches[0].mesh.patches[0]"), "{error}");
    let schema = schema("bazaar");
    assert!(dynamic::from_region(&schema, schema.find("game::Mesh").unwrap(), r.bytes()).is_err());
}

#[test]
fn regions_are_read_by_their_schema() {
    let schema = schema("bazaar");
    let id = schema.find("game::Bazaar").unwrap();
    let r = bazaar();
    let message: Bazaar = r.root().to_message().unwrap();
    let cdr = situ::wire::encode_to_vec(&message, situ::wire::Encoding::Xcdr1).unwrap();
    let expected = dynamic::from_cdr(&schema, id, &cdr).unwrap();
    for image in [r.bytes(), &r.canonical(), &vector("bazaar.live")] {
        assert_eq!(dynamic::from_region(&schema, id, image).unwrap(), expected);
    }
    let image = r.canonical();
    for at in (0..image.len()).step_by(7) {
        let mut bytes = image.clone();
        bytes[at] ^= 0x41;
        let _ = dynamic::from_region(&schema, id, &bytes);
    }
}

#[test]
fn spoilt_images_are_refused_or_harmless() {
    let image = vector("bazaar.canonical");
    for at in (0..image.len()).step_by(13) {
        let mut bad = image.clone();
        bad[at] ^= 0x81;
        if let Ok(mut taken) = Region::<BazaarRegion>::adopt(&bad) {
            let _ = taken.root().to_message::<Bazaar>();
            taken.root_mut().store(&Bazaar::<Heap>::default(), &[]).unwrap();
        }
    }
}

fn old_profile() -> Region<before::ProfileRegion> {
    use before::{ProfileMut as _, RecordMut as _};
    let mut r = Region::<before::ProfileRegion>::new();
    let mut p = r.root_mut();
    *p.id() = 5;
    p.name().set("the name of this profile").unwrap();
    let mut best = p.best();
    let mut best = best.fill().unwrap();
    *best.score() = 900;
    *best.when() = 1_700_000_000;
    r
}

fn profile() -> Region<after::ProfileRegion> {
    let mut r = Region::<after::ProfileRegion>::adopt(old_profile().bytes()).unwrap();
    let mut p = r.root_mut();
    p.best().get_mut().unwrap().by().set("somebody with a long name").unwrap();
    *p.level() = 7;
    p.tags().insert("with a longer name").unwrap();
    p.tags().insert("quick").unwrap();
    let mut rival = p.rival();
    let mut rival = rival.fill().unwrap();
    *rival.score() = 901;
    *rival.when() = 1_700_000_001;
    rival.by().set("me").unwrap();
    r
}

#[test]
fn versions_have_the_bytes_of_the_vectors() {
    assert_eq!(old_profile().canonical(), vector("game_profile.before.canonical"));
    assert_eq!(profile().canonical(), vector("game_profile.after.canonical"));
    let adopted = Region::<after::ProfileRegion>::adopt(&vector("game_profile.after.live")).unwrap();
    assert_eq!(adopted.canonical(), profile().canonical());
    let adopted = Region::<before::ProfileRegion>::adopt(&vector("game_profile.before.live")).unwrap();
    assert_eq!(adopted.canonical(), old_profile().canonical());
    assert_eq!(profile().packed(), vector("game_profile.after.packed"));
    assert_eq!(old_profile().packed(), vector("game_profile.before.packed"));
    for name in ["after", "before"] {
        let packed = vector(&format!("game_profile.{name}.packed"));
        let live = vector(&format!("game_profile.{name}.live"));
        let unpacked = Region::<after::ProfileRegion>::adopt(&packed).unwrap();
        assert_eq!(unpacked.canonical(), Region::<after::ProfileRegion>::adopt(&live).unwrap().canonical());
        let unpacked = Region::<before::ProfileRegion>::adopt(&packed).unwrap();
        assert_eq!(unpacked.canonical(), Region::<before::ProfileRegion>::adopt(&live).unwrap().canonical());
    }
}

#[test]
fn an_older_image_gets_the_defaults_of_new_members() {
    let new = Region::<after::ProfileRegion>::adopt(old_profile().bytes()).unwrap();
    let p = new.root();
    assert_eq!((*p.level(), p.tags().len(), p.rival().links()), (3, 0, 0));
    assert_eq!(p.best().get().unwrap().by().as_str(), "");
    assert_eq!(*p.best().get().unwrap().score(), 900);
    assert_eq!(Region::<after::ProfileRegion>::adopt(new.bytes()).unwrap().canonical(), new.canonical());
    let error = view::<after::ProfileRegion>(old_profile().bytes()).err().unwrap().to_string();
    assert!(error.contains("2 members of game::Record, this program 3"), "{error}");
}

#[test]
fn a_newer_image_shows_what_is_known_of_it() {
    let new = profile();
    let seen = before::ProfileRef::name(view::<before::ProfileRegion>(new.bytes()).unwrap());
    assert_eq!(seen.as_str(), "the name of this profile");
    let old = Region::<before::ProfileRegion>::adopt(new.bytes()).unwrap();
    assert_eq!(old.canonical(), old_profile().canonical());
}

#[test]
fn what_is_no_version_is_refused_by_name() {
    for image in [profile().canonical(), old_profile().canonical()] {
        let error = Region::<other::ProfileRegion>::adopt(&image).err().unwrap().to_string();
        assert!(
            error.contains("the image has another game::Profile: member 3, here height, differs"),
            "{error}"
        );
    }
}

/// The message is the same on the heap. Its region has no schema hash, because that changes with each member.
#[test]
fn versions_are_messages_too() {
    let message: after::Profile = profile().root().to_message().unwrap();
    assert_eq!((message.level, message.best.as_ref().unwrap().by.as_str()), (7, "somebody with a long name"));
    assert_eq!(Region::<after::ProfileRegion>::of(&message, &[]).unwrap().canonical(), profile().canonical());
    assert_eq!(profile().bytes()[8..16], [0; 8]);
    assert_ne!(after::Profile::<Heap>::SCHEMA_HASH, before::Profile::<Heap>::SCHEMA_HASH);
    // A message reads the image of an older version, as a copy.
    let mut read = <after::ProfileRegion as RegionMessage>::Message::default();
    read.read_region(&mut [], old_profile().bytes().into()).unwrap();
    assert_eq!((read.id, read.level, read.tags.len()), (5, 3, 0));
}

#[test]
fn versions_are_read_by_either_schema() {
    let (old, new) = (schema("profile_before"), schema("profile"));
    let by = |schema: &Schema, image: &[u8]| {
        dynamic::from_region(schema, schema.find("game::Profile").unwrap(), image)
            .unwrap()
            .to_yaml(&Default::default())
    };
    let known = "id: 5\nname: 'the name of this profile'\nbest:\n  score: 900\n  when: 1700000000\n";
    assert_eq!(by(&old, profile().bytes()), known);
    assert_eq!(by(&old, old_profile().bytes()), known);
    let newer = by(&new, &profile().canonical());
    assert!(newer.starts_with(&format!("{known}  by: 'somebody with a long name'\nlevel: 7\n")), "{newer}");
    let padded = by(&new, old_profile().bytes());
    assert!(padded.starts_with(&format!("{known}  by: ''\nlevel: 3\n")), "{padded}");
}

#[test]
fn inner_values_are_reached_by_their_names() {
    let r = bazaar();
    let inner = r.root().texture().get().unwrap().grain().get().unwrap().to_message::<Inner>().unwrap();
    assert_eq!(inner.text, "the grain that both have");
}
