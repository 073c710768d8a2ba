//! Regions: held to the vectors that every language writes and reads, and to standard containers.

use std::collections::{BTreeMap, BTreeSet};

use situ_layout::region::{
    Bool, FlatMap, FlatSet, Full, HashMap, HashSet, Maybe, Region, Stored, Text, Unique, Vector, layout_text,
    view,
};
use situ_layout::{region_plain, region_struct};

region_plain! { struct Skill { id: u32, level: u32 } }
region_plain! { struct Item { id: u32, number: u32, uuid: u64, timestamp: u64 } }
region_plain! { struct Position { x: f32, y: f32, z: f32 } }
region_struct! {
    struct Equip: EquipRef, EquipMut { base: Item, level: u32, attributes: Vector<f32> }
}
region_struct! {
    struct Character: CharacterRef, CharacterMut {
        id: u64,
        name: Text,
        level: u32,
        healthpoint: f32,
        manapoint: f32,
        speed: f32,
        pos: Position,
        items: FlatMap<u64, Item>,
        path: Vector<Position>,
        attributes: Vector<f32>,
        equips: Vector<Equip>,
        skills: Vector<Skill>,
    }
}
region_struct! {
    struct Node: NodeRef, NodeMut { value: i32, children: Vector<Node>, next: Unique<Node> }
}
region_struct! {
    struct Kitchen: KitchenRef, KitchenMut {
        flag: Bool,
        number: i64,
        colour: u8,
        three: [i16; 3],
        names: [Text; 2],
        maybe: Maybe<f64>,
        nickname: Maybe<Text>,
        tree: Unique<Node>,
        words: FlatSet<Text>,
        lists: FlatMap<Text, Vector<u16>>,
        numbers: HashSet<i32>,
        gear: HashMap<Text, Equip>,
        bits: Vector<Bool>,
    }
}

/// The values that the vectors hold.
fn character() -> Result<Region<Character>, Full> {
    let mut r = Region::<Character>::new();
    let mut c = r.root_mut();
    *c.id() = 1;
    c.name().set("Hero")?;
    *c.level() = 60;
    *c.healthpoint() = 100.5;
    *c.manapoint() = 50.25;
    *c.speed() = 1.5;
    *c.pos() = Position { x: 1.0, y: 2.0, z: 3.0 };
    for i in 0..5_u32 {
        let (uuid, timestamp) = (u64::from(7000 + i), u64::from(90 + i));
        c.items().insert(u64::from(50 - i * 10), Item { id: i, number: i + 1, uuid, timestamp })?;
    }
    for i in [0.0, 1.0, 2.0, 3.0] {
        c.path().push(Position { x: i, y: i * 2.0, z: i * 3.0 })?;
    }
    c.attributes().set(&[0.0_f32, 0.5, 1.0][..])?;
    for i in 0..2_u32 {
        let mut equips = c.equips();
        let mut equip = equips.push_default()?;
        *equip.base() = Item { id: i, number: 1, uuid: u64::from(i) + 100, timestamp: u64::from(i) + 200 };
        *equip.level() = i + 5;
        equip.attributes().set(&[0.0_f32, 1.0, 2.0][..])?;
    }
    c.skills().push(Skill { id: 1054, level: 3 })?;
    c.skills().push(Skill { id: 7, level: 1 })?;
    Ok(r)
}

fn kitchen() -> Result<Region<Kitchen>, Full> {
    let mut r = Region::<Kitchen>::new();
    let mut k = r.root_mut();
    k.flag().set(true)?;
    *k.number() = -5;
    *k.colour() = 2;
    *k.three() = [1, -2, 3];
    k.names().get_mut(0).unwrap().set("short")?;
    k.names().get_mut(1).unwrap().set("a name of more than eleven bytes")?;
    k.maybe().set(Some(2.5))?;
    k.nickname().set(Some("the nickname is long"))?;
    let mut tree = k.tree();
    let mut root = tree.fill()?;
    *root.value() = 1;
    let mut children = root.children();
    let mut first = children.push_default()?;
    *first.value() = 2;
    *first.children().push_default()?.value() = 3;
    let mut second = children.push_default()?;
    *second.value() = 4;
    *second.next().fill()?.value() = 5;
    for word in ["zebra", "apple", "a rather long word", "mango"] {
        assert!(k.words().insert(word)?);
    }
    k.lists().insert("odd", &[1_u16, 3, 5][..])?;
    k.lists().insert("even", &[2_u16, 4][..])?;
    for i in 0..20 {
        assert!(k.numbers().insert(i * 37 - 100)?);
    }
    for name in ["sword", "a shield that is heavy", "bow"] {
        k.gear().entry(name)?.attributes().push(1.5_f32)?;
    }
    k.bits().push(true)?;
    k.bits().push(false)?;
    Ok(r)
}

fn vector(name: &str) -> Vec<u8> {
    std::fs::read(format!("{}/../../spec/vectors/region/{name}.bin", env!("CARGO_MANIFEST_DIR"))).unwrap()
}

fn held_to<T: Stored>(name: &str, made: &Region<T>) {
    let canonical = vector(&format!("{name}.canonical"));
    assert!(made.canonical() == canonical, "{name}");
    for form in ["canonical", "live"] {
        let mut taken = Region::<T>::adopt(&vector(&format!("{name}.{form}"))).unwrap();
        assert!(taken.canonical() == canonical, "{name} {form}");
        assert!(
            !taken.bytes().windows(4).any(|four| four == [0xa5; 4]),
            "the rubbish between the blocks is gone"
        );
        taken.compact();
        assert_eq!(taken.bytes().len(), canonical.len());
        assert_eq!(Region::<T>::adopt(taken.bytes()).unwrap().canonical(), canonical);
    }
}

#[test]
fn the_vectors_are_written_and_read() {
    held_to("character", &character().unwrap());
    held_to("kitchen", &kitchen().unwrap());
}

#[test]
fn values_are_read_where_they_lie() {
    let r = character().unwrap();
    let read = view::<Character>(r.bytes()).unwrap();
    assert_eq!(&*read.name(), "Hero");
    assert_eq!(read.items().get(40).unwrap().uuid, 7001);
    assert_eq!(read.items().iter().map(|(key, _)| key).collect::<Vec<_>>(), [10, 20, 30, 40, 50]);
    assert_eq!(read.equips().get(1).unwrap().attributes().as_slice(), [0.0, 1.0, 2.0]);
    assert_eq!(read.skills().as_slice()[0], Skill { id: 1054, level: 3 });
    assert!(read.skills().get(2).is_none());
    let k = kitchen().unwrap();
    let k = k.root();
    assert!(k.flag().get() && k.gear().contains("bow") && !k.gear().contains("arrow"));
    assert_eq!(k.words().iter().collect::<Vec<_>>(), ["a rather long word", "apple", "mango", "zebra"]);
    assert_eq!(k.tree().get().unwrap().children().get(1).unwrap().next().get().unwrap().value().abs(), 5);
    assert_eq!(k.nickname().get().unwrap().as_str(), "the nickname is long");
    assert_eq!(k.names().get(0).unwrap().as_str(), "short");
}

#[test]
fn the_layout_is_the_one_of_the_format() {
    // As in cpp/tests/region.
    assert_eq!(
        layout_text::<Equip>(),
        "region-v1 Equip\nEquip 0 48 8 struct\nEquip.base 0 24 8 Item\nEquip.level 24 4 4 uint32\n\
         Equip.attributes 28 16 4 vector\nEquip.attributes[] 0 4 4 float\nItem 0 24 8 struct\nItem.id 0 4 4 uint32\n\
         Item.number 4 4 4 uint32\nItem.uuid 8 8 8 uint64\nItem.timestamp 16 8 8 uint64\n"
    );
}

#[test]
fn errors_name_path_offset_and_reason() {
    let good = kitchen().unwrap().canonical();
    let spoilt = |at: usize, value: u8| {
        let mut bad = good.clone();
        bad[at] = value;
        Region::<Kitchen>::adopt(&bad).map(drop).unwrap_err().to_string()
    };
    assert_eq!(spoilt(0, b'X'), "message: no region: the bytes do not begin with SRGN (at offset 0)");
    assert_eq!(spoilt(64, 2), "flag: 2 is not a boolean; only 0 and 1 are (at offset 64)");
    assert_eq!(
        spoilt(65, 1),
        "message: the byte at offset 65 belongs to nothing and is not zero (at offset 65)"
    );
    // flag, number, colour, three: 64 to 88; names[1] from 104 on.
    assert_eq!(spoilt(108, 0xff), "names[1]: length 255 exceeds the capacity 32 (at offset 104)");
    let other = Region::<Character>::adopt(&good).map(drop).unwrap_err().to_string();
    assert!(other.starts_with("message: the layout hash"), "{other}");
    assert!(Region::<Kitchen>::adopt(&good[..50]).is_err());
}

#[test]
fn every_spoilt_byte_is_refused_or_harmless() {
    let r = kitchen().unwrap();
    for image in [r.canonical(), r.bytes().to_vec()] {
        // Miri is slow, and the rest is the same again.
        let step = if cfg!(miri) { 37 } else { 1 };
        for at in (0..image.len()).step_by(step) {
            for flip in [1, 0x80, 0xff] {
                let mut bad = image.clone();
                bad[at] ^= flip;
                let Ok(mut taken) = Region::<Kitchen>::adopt(&bad) else { continue };
                let canonical = taken.canonical();
                assert_eq!(Region::<Kitchen>::adopt(&canonical).unwrap().canonical(), canonical, "{at}");
                if image[6] == 0 && at != 6 {
                    assert_eq!(canonical, bad, "a canonical image is the only one of its value: {at}");
                }
                taken.root_mut().words().insert("another word of some length").unwrap();
                taken.root_mut().gear().clear();
                Region::<Kitchen>::adopt(taken.bytes()).unwrap();
            }
        }
    }
}

#[test]
fn a_full_region_says_so_and_stays_good() {
    let mut r = Region::<Kitchen>::with_limit(2048);
    let mut added = 0;
    while r.root_mut().words().insert(&format!("word number {added}")).is_ok() {
        added += 1;
    }
    assert!(added > 10);
    let error = r.root_mut().lists().insert("list", &[1_u16; 5000][..]).unwrap_err();
    assert_eq!(error.to_string(), "the region is full: it may have 2048 bytes; give it a higher limit");
    assert!(!r.root().lists().contains("list"));
    Region::<Kitchen>::adopt(r.bytes()).unwrap();
    for i in 0..added {
        assert!(r.root_mut().words().remove(&format!("word number {i}")));
    }
    r.compact();
    assert_eq!(r.canonical(), Region::<Kitchen>::new().canonical());
}

#[test]
fn images_are_adopted_from_anywhere_and_viewed_where_they_are_aligned() {
    let r = kitchen().unwrap();
    let mut somewhere = vec![0; r.bytes().len() + 16];
    for shift in 0..16 {
        somewhere[shift..][..r.bytes().len()].copy_from_slice(r.bytes());
        let image = &somewhere[shift..][..r.bytes().len()];
        assert_eq!(Region::<Kitchen>::adopt(image).unwrap().canonical(), r.canonical());
        assert_eq!(view::<Kitchen>(image).is_ok(), image.as_ptr().addr().is_multiple_of(16));
    }
}

#[test]
fn depth_is_bounded() {
    fn chain(mut node: situ_layout::region::Mut<'_, Node>, depth: usize) {
        if depth != 0 {
            chain(node.next().fill().unwrap(), depth - 1);
        }
    }
    let mut r = Region::<Node>::new();
    chain(r.root_mut(), 64);
    assert!(Region::<Node>::adopt(r.bytes()).is_ok());
    let mut r = Region::<Node>::new();
    chain(r.root_mut(), 65);
    let error = Region::<Node>::adopt(r.bytes()).map(drop).unwrap_err().to_string();
    assert!(error.contains("more than 64 links"), "{error}");
}

/// A small generator, so that the programs are the same everywhere.
struct Random(u64);

impl Random {
    fn next(&mut self, below: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 11) % below
    }

    fn text(&mut self) -> String {
        let which = self.next(32) as u8;
        String::from_utf8(vec![b'a' + which % 26; which as usize + 1]).unwrap()
    }
}

#[derive(Default)]
struct Model {
    name: String,
    words: BTreeSet<String>,
    lists: BTreeMap<String, Vec<u16>>,
    numbers: BTreeSet<i32>,
    gear: BTreeMap<String, Vec<f32>>,
}

fn same(r: &Region<Kitchen>, m: &Model) {
    let k = r.root();
    assert_eq!(k.names().get(0).unwrap().as_str(), m.name);
    assert!(k.words().iter().eq(m.words.iter().map(String::as_str)));
    assert!(k.lists().iter().map(|(k, v)| (k, v.as_slice())).eq(m.lists.iter().map(|(k, v)| (&**k, &**v))));
    assert!(k.numbers().iter().collect::<BTreeSet<_>>() == m.numbers);
    assert!(m.numbers.iter().all(|number| k.numbers().contains(*number)));
    let gear = k.gear().iter().map(|(k, v)| (k.to_owned(), v.attributes().as_slice().to_vec()));
    assert_eq!(gear.collect::<BTreeMap<_, _>>(), m.gear);
    for image in [r.bytes(), &r.canonical()] {
        assert_eq!(Region::<Kitchen>::adopt(image).unwrap().canonical(), r.canonical());
    }
}

#[test]
fn random_programs_do_what_standard_containers_do() {
    let (programs, steps) = if cfg!(miri) { (1, 150) } else { (30, 3000) };
    for seed in 1..=programs {
        let mut random = Random(u64::wrapping_mul(seed, 0x9e37_79b9_7f4a_7c15));
        // Every other region is often full.
        let limit = if seed % 2 == 0 { 1500 + seed as u32 * 64 } else { 1 << 20 };
        let mut r = Region::<Kitchen>::with_limit(limit);
        let mut m = Model::default();
        for step in 0..steps {
            let text = random.text();
            let mut k = r.root_mut();
            match random.next(14) {
                0 => {
                    if k.names().get_mut(0).unwrap().set(&*text).is_ok() {
                        m.name = text;
                    }
                }
                1 if m.name.len() < 300 => {
                    if k.names().get_mut(0).unwrap().push_str(&text).is_ok() {
                        m.name += &text;
                    }
                }
                2 | 3 => {
                    if let Ok(new) = k.words().insert(&text) {
                        assert_eq!(m.words.insert(text), new);
                    }
                }
                4 => assert_eq!(k.words().remove(&text), m.words.remove(&text)),
                5 | 6 => {
                    let value = random.next(1000) as u16;
                    if let Ok(mut list) = k.lists().entry(&text) {
                        let model = m.lists.entry(text).or_default();
                        if list.insert(model.len() / 2, value).is_ok() {
                            model.insert(model.len() / 2, value);
                        }
                    }
                }
                7 => assert_eq!(k.lists().remove(&text), m.lists.remove(&text).is_some()),
                8 | 9 => {
                    let number = random.next(200) as i32 * 7919 - 1_000_000;
                    if let Ok(new) = k.numbers().insert(number) {
                        assert_eq!(m.numbers.insert(number), new);
                    }
                }
                10 => {
                    let number = random.next(200) as i32 * 7919 - 1_000_000;
                    assert_eq!(k.numbers().remove(number), m.numbers.remove(&number));
                }
                11 => {
                    if let Ok(mut equip) = k.gear().entry(&text) {
                        let model = m.gear.entry(text).or_default();
                        if equip.attributes().push(0.5_f32).is_ok() {
                            model.push(0.5);
                        }
                    }
                }
                12 => assert_eq!(k.gear().remove(&text), m.gear.remove(&text).is_some()),
                _ => {
                    if random.next(10) == 0 {
                        r.compact();
                    }
                }
            }
            if step % 101 == 0 {
                same(&r, &m);
            }
        }
        same(&r, &m);
    }
}
