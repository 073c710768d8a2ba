//! Trees, unions, shared links and bases, compared with the vectors. Types and values are those of
//! `spec/vectors/region.py`.

use std::panic::{AssertUnwindSafe, catch_unwind};

use situ_region::{Region, ShareError, layout_text, view};

use crate::types::*;
use crate::{held_to, vector};

#[test]
fn the_vectors_are_written_and_read() {
    if cfg!(miri) {
        // The vector is large, so it is read once.
        let canonical = vector("market.canonical");
        assert!(Region::<Market>::adopt(&vector("market.live")).unwrap().canonical() == canonical);
        return;
    }
    held_to("market", &market().unwrap());
}

#[test]
fn the_layout_is_the_one_of_the_format() {
    assert_eq!(
        layout_text::<Shape>(),
        "region-v2 Shape\nShape 0 24 4 union\nShape.discriminator 0 4 4 int32\nShape.radius 8 4 4 1:float\n\
         Shape.label 8 16 4 2,3:string\nShape.points 8 16 4 default:vector\nShape.points[] 0 4 4 float\n"
    );
    assert_eq!(
        layout_text::<Texture>(),
        "region-v2 Texture\nTexture 0 24 4 struct\nTexture.name 0 16 4 string\nTexture.base 16 8 4 shared\n\
         Texture.base& 8 24 4 Texture\n"
    );
    assert!(layout_text::<Market>().contains(
        "Market.prices 32 16 4 ordered_map\nMarket.prices[] 0 40 8 entry\nMarket.prices[].key 0 16 4 string\n"
    ));
}

#[test]
fn ordered_containers_have_ends_and_ranges() {
    let r = market().unwrap();
    let m = r.root();
    let mut squares: Vec<u32> = (0..NUMBERS).map(|i| i * i % 1009).collect();
    squares.sort_unstable();
    let read = view::<Market>(r.bytes()).unwrap();
    assert!(read.index().iter().eq(squares.iter().copied()));
    assert!(read.index().range(..).rev().eq(squares.iter().rev().copied()));
    assert_eq!((m.index().first(), m.index().last()), (Some(0), squares.last().copied()));
    assert_eq!((m.nothing().first().is_none(), m.nothing().range(1..9).count()), (true, 0));
    let within = |low: u32, high: u32| squares.iter().copied().filter(move |i| (low..high).contains(i));
    for (low, high) in [(0, 1), (3, 3), (9, 5), (100, 700), (0, 2000), (1007, 2000), (500, 501)] {
        assert!(m.index().range(low..high).eq(within(low, high)), "{low} {high}");
        assert!(m.index().range(low..high).rev().eq(within(low, high).collect::<Vec<_>>().into_iter().rev()));
        assert!(high == 0 || m.index().range(low..=high - 1).eq(within(low, high)));
    }
    let keys: Vec<_> = m.prices().range("price 7".."price 72").map(|(key, value)| (key, value.id)).collect();
    let expected = [("price 7", 7), ("price 70", 70), ("price 71", 71)];
    assert_eq!(keys, expected[..if cfg!(miri) { 1 } else { 3 }]);
    assert_eq!(m.prices().get("price 22").unwrap().uuid, 22);
    assert!(m.prices().get("price 420").is_none());
    let mut both = m.words().range(..);
    assert_eq!((both.next(), both.next_back()), (Some("word 0 of forty"), Some("word 9 of forty")));
    assert_eq!(both.count(), WORDS as usize - 2);
}

#[test]
fn a_shared_value_lives_as_long_as_its_last_link() {
    let mut r = market().unwrap();
    assert_eq!(r.root().textures().get(0).unwrap().links(), 3);
    assert!(r.root().texture().is_same(r.root().textures().get(1).unwrap()));
    // The change is visible through all links.
    let mut m = r.root_mut();
    m.textures().get_mut(3).unwrap().get_mut().unwrap().name().set("pine").unwrap();
    assert_eq!(r.root().texture().get().unwrap().base().get().unwrap().name().as_str(), "pine");
    let canonical = r.canonical();
    assert_eq!(Region::<Market>::adopt(&canonical).unwrap().canonical(), canonical);
    let mut m = r.root_mut();
    m.textures().clear();
    assert_eq!(m.texture().as_ref().links(), 1);
    assert_eq!(m.texture().as_ref().get().unwrap().base().links(), 1);
    m.texture().clear();
    m.boxed().remove(1);
    assert_eq!(m.boxed().as_ref().get(3).unwrap().get().unwrap().uuid, 7);
    m.boxed().remove(3);
    let freed = Region::<Market>::adopt(r.bytes()).unwrap();
    assert_eq!(freed.canonical(), r.canonical());
    assert!(!r.bytes().windows(4).any(|four| four == b"pine"));
}

#[test]
fn links_make_no_cycles_and_stay_in_their_region() {
    let mut r = market().unwrap();
    let before = r.canonical();
    let mut m = r.root_mut();
    // Wood's base would be oak, and oak's base is wood.
    let cycle = m.share(
        |m| Some(m.texture()),
        |mut m, oak| m.textures().get_mut(0).unwrap().get_mut().unwrap().base().link(oak),
    );
    assert_eq!(cycle, Err(ShareError::Cycle));
    let itself = m.share(
        |m| m.textures().get(0),
        |mut m, wood| m.textures().get_mut(0).unwrap().get_mut().unwrap().base().link(wood),
    );
    assert_eq!(itself, Err(ShareError::Cycle));
    let mut other = market().unwrap();
    let elsewhere = m.share(|m| Some(m.texture()), |_, oak| other.root_mut().texture().link(oak));
    assert_eq!(elsewhere, Err(ShareError::OtherRegion));
    assert_eq!(r.canonical(), before);
    assert_eq!(other.canonical(), before);
    // A value that loses its last link while it is shared stays until it has another one.
    let mut m = r.root_mut();
    m.share(
        |m| Some(m.texture()),
        |mut m, oak| {
            m.texture().clear();
            m.textures().get_mut(1).unwrap().clear();
            m.textures().get_mut(2).unwrap().link(oak)
        },
    )
    .unwrap();
    assert_eq!(r.root().textures().get(2).unwrap().get().unwrap().name().as_str(), "oak with long grain");
    assert_eq!(Region::<Market>::adopt(r.bytes()).unwrap().canonical(), r.canonical());
}

#[test]
fn a_panic_while_a_value_is_shared_leaves_no_link() {
    let mut r = market().unwrap();
    let before = r.canonical();
    let panicked = catch_unwind(AssertUnwindSafe(|| {
        let mut m = r.root_mut();
        m.share(|m| m.textures().get(0), |_, _| -> Result<(), ShareError> { panic!("while it is held") })
    }));
    assert!(panicked.is_err());
    assert_eq!(r.root().textures().get(0).unwrap().links(), 3);
    assert_eq!(Region::<Market>::adopt(r.bytes()).unwrap().canonical(), before);
    // A value whose other links were cleared meanwhile is released.
    let panicked = catch_unwind(AssertUnwindSafe(|| {
        let mut m = r.root_mut();
        m.share(
            |m| m.textures().get(0),
            |mut m, _| -> Result<(), ShareError> {
                m.textures().clear();
                m.texture().clear();
                panic!("while it is held")
            },
        )
    }));
    assert!(panicked.is_err());
    r.trim();
    let taken = Region::<Market>::adopt(r.bytes()).unwrap();
    assert_eq!((taken.bytes().len(), taken.free_bytes()), (r.bytes().len(), r.free_bytes()));
}

#[test]
fn a_union_holds_what_its_discriminator_selects() {
    let mut r = Region::<Market>::new();
    let mut m = r.root_mut();
    assert_eq!(m.choices().as_ref().get(0).unwrap().discriminator(), 0);
    assert!(m.choices().as_ref().get(0).unwrap().flag().is_none());
    assert!(m.flagged().as_ref().number().is_some_and(|number| *number == 0));
    m.shape().select(2);
    m.shape().label().unwrap().set("a text that needs a block").unwrap();
    // Another label of the same member keeps the member, and so does the same label.
    for label in [3, 3] {
        m.shape().select(label);
        assert_eq!(m.shape().as_ref().discriminator(), label);
        assert_eq!(m.shape().label().unwrap().as_ref().as_str(), "a text that needs a block");
    }
    // If no member is selected, another discriminator that selects none keeps this state.
    let mut choices = m.choices();
    let mut none = choices.get_mut(0).unwrap();
    none.select(99);
    assert_eq!(none.as_ref().discriminator(), 99);
    assert!(none.as_ref().flag().is_none());
    none.select(0);
    m.shape().select(1);
    *m.shape().radius().unwrap() = 1.0;
    assert!(m.shape().label().is_none());
    assert!(!r.bytes().windows(6).any(|six| six == b"a text"), "what was held is gone");
    assert_eq!(Region::<Market>::adopt(r.bytes()).unwrap().canonical(), r.canonical());
}

#[test]
fn every_spoilt_byte_is_refused_or_harmless() {
    for (name, form) in [("market", 0), ("market", 1)] {
        // A smaller image and a few of its bytes if the test is interpreted.
        let image = if cfg!(miri) {
            let made = market().unwrap();
            [made.canonical(), made.bytes().to_vec()][form].clone()
        } else {
            vector(&format!("{name}.{}", ["canonical", "live"][form]))
        };
        let (step, flips) = if cfg!(miri) { (997, &[0xff][..]) } else { (11, &[1, 0x80, 0xff][..]) };
        for at in (0..image.len()).step_by(step) {
            for flip in flips {
                let mut bad = image.clone();
                bad[at] ^= flip;
                let Ok(mut taken) = Region::<Market>::adopt(&bad) else { continue };
                let canonical = taken.canonical();
                if form == 0 && at != 6 {
                    assert_eq!(canonical, bad, "a canonical image is the only one of its value: {at}");
                }
                assert_eq!(Region::<Market>::adopt(&canonical).unwrap().canonical(), canonical, "{at}");
                let mut m = taken.root_mut();
                for i in (0..1009).step_by(7) {
                    m.index().remove(i);
                    m.prices().remove(&format!("price {}", i % 100));
                }
                m.words().insert("another word").unwrap();
                m.textures().clear();
                Region::<Market>::adopt(taken.bytes()).unwrap();
            }
        }
    }
}
