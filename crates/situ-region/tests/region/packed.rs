//! The packed form: written, read in place, unpacked, and refused if anything in it is wrong.

use situ_region::{
    Access, BufferError, HashMap, HashSet, InvalidProblem, Maybe, Options, OrderedMap, Packed, Region,
    SortedMap, SortedSet, Stored, Text, Vector, pack, view, view_packed,
};
use situ_region::{region_plain, region_struct, region_union};

use crate::types::*;
use crate::{Aligned, vector};

/// A packed image goes to a reader, and back to a region.
pub fn held_to<T: Stored>(name: &str, made: &Region<T>) {
    let packed = made.packed();
    assert!(packed == vector(&format!("{name}.packed")), "{name}");
    assert_eq!((made.packed_size(), packed.len()), (packed.len(), packed.len()));
    let there = Aligned::of(&packed);
    view_packed::<T>(&there).unwrap();
    let taken = Region::<T>::adopt(&packed).unwrap();
    assert!(taken.canonical() == made.canonical(), "{name}");
    assert!(taken.packed() == packed, "{name}");
    assert!(Region::<T>::adopt(taken.bytes()).unwrap().packed() == packed, "{name}");
    let canonical = Aligned::of(&made.canonical());
    assert!(pack::<T>(&canonical).unwrap() == packed, "{name}");
}

#[test]
fn the_vectors_are_written_and_read() {
    held_to("character", &character().unwrap());
    held_to("kitchen", &kitchen().unwrap());
    if !cfg!(miri) {
        held_to("market", &market().unwrap());
    }
}

/// Reads a character through either kind of handle.
fn summary<'r, C: CharacterRef<'r, Of<Text> = T> + Copy, T: std::ops::Deref<Target = str>>(
    character: C,
) -> String {
    character.name().to_owned()
}

#[test]
fn values_are_read_where_they_lie() {
    let made = character().unwrap();
    let image = Aligned::of(&made.packed());
    let read = view_packed::<Character>(&image).unwrap();
    assert_eq!((&*read.name(), *read.id(), *read.speed()), ("Hero", 1, 1.5));
    assert_eq!(*read.pos(), Position { x: 1.0, y: 2.0, z: 3.0 });
    assert_eq!(read.items().get(40).unwrap().uuid, 7001);
    assert!(read.items().get(41).is_none() && read.items().contains(50));
    assert_eq!(read.items().iter().map(|(key, _)| key).collect::<Vec<_>>(), [10, 20, 30, 40, 50]);
    assert_eq!(read.equips().get(1).unwrap().attributes().as_slice(), [0.0, 1.0, 2.0]);
    assert_eq!(read.skills().as_slice(), [Skill { id: 1054, level: 3 }, Skill { id: 7, level: 1 }]);
    assert!(read.skills().get(2).is_none());
    assert_eq!(summary(read), summary(made.root()));
    let image = Aligned::of(&kitchen().unwrap().packed());
    let k = view_packed::<Kitchen>(&image).unwrap();
    assert!(k.flag().get() && k.gear().contains("bow") && !k.gear().contains("arrow"));
    assert_eq!((*k.number(), *k.three()), (-5, [1, -2, 3]));
    assert_eq!(k.words().iter().collect::<Vec<_>>(), ["a rather long word", "apple", "mango", "zebra"]);
    assert_eq!(*k.tree().get().unwrap().children().get(1).unwrap().next().get().unwrap().value(), 5);
    assert_eq!(k.nickname().get().unwrap().as_str(), "the nickname is long");
    assert_eq!(k.names().get(0).unwrap().as_str(), "short");
    assert_eq!(k.names().get(1).unwrap().as_str(), "a name of more than eleven bytes");
    assert_eq!(*k.maybe().get().unwrap(), 2.5);
    assert_eq!(k.lists().get("odd").unwrap().as_slice(), [1, 3, 5]);
    for i in -200..800 {
        assert_eq!(k.numbers().contains(i), (i + 100) % 37 == 0 && (-100..640).contains(&i), "{i}");
    }
    assert_eq!((k.numbers().len(), k.numbers().iter().len()), (20, 20));
    assert_eq!(k.bits().iter().map(|bit| bit.get()).collect::<Vec<_>>(), [true, false]);
}

#[test]
fn unions_and_shared_values_are_read_where_they_lie() {
    let made = market().unwrap();
    let image = Aligned::of(&made.packed());
    let (read, m) = (view_packed::<Market>(&image).unwrap(), made.root());
    assert!(read.index().iter().eq(m.index().iter()));
    assert!(read.words().iter().eq(m.words().iter()));
    assert_eq!(read.prices().get("price 22").unwrap().uuid, 22);
    assert!(read.nothing().is_empty() && read.nothing().iter().next().is_none());
    assert_eq!(read.shape().label().unwrap().as_str(), "a label of some length");
    assert!(read.shape().radius().is_none());
    assert_eq!(read.shape().discriminator(), 3);
    for (a, b) in read.shapes().iter().zip(m.shapes().iter()) {
        assert_eq!(a.discriminator(), b.discriminator());
        assert_eq!(a.radius().map(|a| *a), b.radius().map(|b| *b));
        assert_eq!(a.points().map(|a| a.as_slice().to_vec()), b.points().map(|b| b.as_slice().to_vec()));
    }
    assert!(read.texture().is_same(read.textures().get(1).unwrap()));
    assert!(!read.texture().is_same(read.textures().get(0).unwrap()));
    let wood = read.texture().get().unwrap().base();
    assert!(wood.is_same(read.textures().get(0).unwrap()));
    let taken = Region::<Market>::adopt(&image).unwrap();
    assert_eq!(taken.root().textures().get(0).unwrap().links(), 3);
}

region_plain! { pub struct Pair { x: u16, y: u16 } }
region_union! { pub union Small: SmallRef, SmallMut (u8) { 1 => half: u16, 2 => text: Text, 3 => pair: Pair } }
region_union! { pub union Large: LargeRef, LargeMut (u16) { 1 => number: u64, 2 => texts: Vector<Text> } }
region_struct! {
    pub struct Corners: CornersRef, CornersMut {
        small: Small,
        byte: Maybe<u8>,
        large: Large,
        half: Maybe<u16>,
        pair: Maybe<Pair>,
        text: Maybe<Text>,
        list: Maybe<Vector<u64>>,
        twice: Maybe<Maybe<Text>>,
        table: Maybe<HashMap<Text, Small>>,
        sparse: SortedMap<u64, u8>,
        tree: OrderedMap<Text, Vector<Large>>,
        odd: [Maybe<u16>; 3],
        last: u8,
    }
}

#[test]
fn what_is_absent_is_not_what_is_empty() {
    let mut r = Region::<Corners>::new();
    let nothing = r.packed();
    {
        let image = Aligned::of(&nothing);
        let c = view_packed::<Corners>(&image).unwrap();
        assert!(c.byte().get().is_none() && c.text().get().is_none() && c.list().get().is_none());
        assert!(c.twice().get().is_none() && c.small().half().is_none() && c.large().number().is_none());
        assert_eq!((c.large().discriminator(), c.table().get().is_none()), (0, true));
        assert_eq!(Region::<Corners>::adopt(&image).unwrap().canonical(), r.canonical());
    }
    let mut c = r.root_mut();
    c.text().fill();
    c.list().fill();
    c.twice().fill();
    c.table().fill();
    c.byte().fill();
    let image = Aligned::of(&r.packed());
    let c = view_packed::<Corners>(&image).unwrap();
    assert_eq!(c.text().get().unwrap().as_str(), "");
    assert!(c.list().get().unwrap().is_empty() && c.table().get().unwrap().is_empty());
    assert!(c.list().get().unwrap().as_slice().is_empty() && c.table().get().unwrap().get("a").is_none());
    assert!(c.twice().get().unwrap().get().is_none());
    assert_eq!(*c.byte().get().unwrap(), 0);
    let mut taken = Region::<Corners>::adopt(&image).unwrap();
    assert_eq!(taken.canonical(), r.canonical());
    taken.root_mut().twice().fill().fill().set("abc").unwrap();
    let image = Aligned::of(&taken.packed());
    let c = view_packed::<Corners>(&image).unwrap();
    assert_eq!(c.twice().get().unwrap().get().unwrap().as_str(), "abc");
    assert_eq!(Region::<Corners>::adopt(&image).unwrap().canonical(), taken.canonical());
}

/// A value with something in each corner.
fn corners() -> Region<Corners> {
    let mut r = Region::<Corners>::new();
    let mut c = r.root_mut();
    c.small().select(2);
    c.small().text().unwrap().set("ab").unwrap();
    c.byte().fill().set(7).unwrap();
    c.large().select(2);
    for length in [0, 1, 2, 3, 4, 5, 11, 12, 127, 128, 129, 300] {
        c.large().texts().unwrap().push(&*"x".repeat(length)).unwrap();
    }
    c.half().fill().set(8).unwrap();
    c.pair().fill().set(Pair { x: 1, y: 2 }).unwrap();
    c.text().fill().set("é").unwrap();
    c.list().fill().push(9_u64).unwrap();
    let mut table = c.table();
    let mut table = table.fill();
    for i in 0..9 {
        table.entry(&format!("{i}")).unwrap().select(i % 4);
    }
    for i in 0..5 {
        c.sparse().insert(i * 1_000_000_007, i as u8).unwrap();
        c.tree().entry(&"k".repeat(i as usize)).unwrap().push_default().unwrap().select(i as u16 % 3);
    }
    c.odd().get_mut(1).unwrap().fill().set(5).unwrap();
    c.last().set(0xff).unwrap();
    r
}

#[test]
fn all_kinds_come_back() {
    let r = corners();
    let image = Aligned::of(&r.packed());
    let taken = Region::<Corners>::adopt(&image).unwrap();
    assert_eq!(taken.canonical(), r.canonical());
    assert_eq!(taken.packed(), *image);
    let c = view_packed::<Corners>(&image).unwrap();
    let lengths: Vec<usize> = c.large().texts().unwrap().iter().map(|text| text.len()).collect();
    assert_eq!(lengths, [0, 1, 2, 3, 4, 5, 11, 12, 127, 128, 129, 300]);
    assert_eq!((c.small().text().unwrap().as_str(), c.text().get().unwrap().as_str()), ("ab", "é"));
    assert_eq!((*c.pair().get().unwrap(), *c.last()), (Pair { x: 1, y: 2 }, 0xff));
    let odd: Vec<_> = c.odd().iter().map(|odd| odd.get().map(|odd| *odd)).collect();
    assert_eq!(odd, [None, Some(5), None]);
    assert!(
        c.sparse()
            .iter()
            .rev()
            .map(|(key, value)| (key / 1_000_000_007, *value))
            .eq((0..5).rev().map(|i| (i, i as u8)))
    );
    let table = c.table().get().unwrap();
    assert!((0..9).all(|i| table.get(&format!("{i}")).unwrap().discriminator() == i % 4));
    assert!(table.get("9").is_none() && table.get("").is_none());
}

/// Whatever byte of a packed image is changed: it is refused, or it is the only image of another value.
pub fn spoil<T: Stored>(r: &Region<T>) {
    let good = r.packed();
    let (step, flips) = if cfg!(miri) { (97, &[0xff][..]) } else { (1, &[1, 2, 0x80, 0xff][..]) };
    let mut image = Aligned::of(&good);
    let mut refused = 0;
    for at in (0..good.len()).step_by(step) {
        for flip in flips {
            image[at] ^= flip;
            match Region::<T>::adopt(&image) {
                Ok(taken) => {
                    assert!(taken.packed() == *image, "{at} {flip}");
                    assert!(view_packed::<T>(&image).is_ok());
                    assert_eq!(Region::<T>::adopt(taken.bytes()).unwrap().packed(), *image);
                }
                Err(_) => {
                    refused += 1;
                    assert!(view_packed::<T>(&image).is_err());
                }
            }
            image[at] ^= flip;
        }
    }
    assert!(refused > good.len() / step / 3, "{refused}");
    for short in (0..good.len()).step_by(step) {
        assert!(Region::<T>::adopt(&good[..short]).is_err());
    }
}

#[test]
fn every_spoilt_byte_is_refused_or_another_value() {
    spoil(&kitchen().unwrap());
    spoil(&corners());
    spoil(&character().unwrap());
}

#[test]
fn errors_name_path_offset_and_reason() {
    let good = kitchen().unwrap().packed();
    let spoilt = |at: usize, bytes: &[u8]| {
        let mut bad = good.clone();
        bad[at..at + bytes.len()].copy_from_slice(bytes);
        Region::<Kitchen>::adopt(&bad).map(drop).unwrap_err().to_string()
    };
    assert_eq!(
        view_packed::<Kitchen>(&Aligned::of(&kitchen().unwrap().canonical()))
            .map(drop)
            .unwrap_err()
            .to_string(),
        "message: the image has form 0, and is not a packed one (form 2) (at offset 6)"
    );
    assert!(view::<Kitchen>(&Aligned::of(&good)).is_err());
    assert_eq!(
        spoilt(16, &[0; 8]).split(';').next().unwrap().split(" is ").next().unwrap(),
        "message: the image"
    );
    let (size, there) = (u32::from_le_bytes(good[24..28].try_into().unwrap()), good.len());
    assert_eq!(size as usize, there);
    assert_eq!(
        spoilt(24, &(size + 1).to_le_bytes()),
        format!("message: the header says {} bytes, but there are {there} (at offset 24)", size + 1)
    );
    // number: 32 to 40, three: 40 to 46, then the members without alignment: flag, colour, names.
    assert_eq!(spoilt(46, &[2]), "flag: 2 is not a boolean; only 0 and 1 are (at offset 46)");
    let link = u32::from_le_bytes(good[48..52].try_into().unwrap());
    assert_eq!(
        spoilt(48, &(link + 1).to_le_bytes()),
        format!("names[0]: offset {} is not the canonical one, {} (at offset 48)", 49 + link, 48 + link)
    );
    let block = 48 + link as usize;
    assert_eq!(
        spoilt(block, &[3]),
        format!("names[0]: the length at offset {block} is not a good one (at offset {block})")
    );
    assert_eq!(
        spoilt(block, &[0xff, 0x00]),
        format!("names[0]: the length at offset {block} is not a good one (at offset {block})")
    );
    assert_eq!(
        spoilt(block, &[0xff, 0xff, 0xff, 0xff, 0x07]),
        format!(
            "names[0]: offset {} outside the image of {there} bytes (at offset 48)",
            0x7fff_ffff_u64 + block as u64 + 5
        )
    );
    assert_eq!(spoilt(block + 1, &[0xff]), "names[0]: the text is not UTF-8 from byte 0 on (at offset 48)");
    let mut longer = good.clone();
    longer.push(0);
    longer[24..28].copy_from_slice(&(size + 1).to_le_bytes());
    let refused = Region::<Kitchen>::adopt(&longer).map(drop).unwrap_err();
    assert_eq!(refused.problem, InvalidProblem::LeftOver { size: size + 1, end: size });
    // What follows an image is not a part of it.
    longer[24..28].copy_from_slice(&size.to_le_bytes());
    assert_eq!(Region::<Kitchen>::adopt(&longer).unwrap().packed(), good);
}

#[test]
fn a_hash_table_is_searched_by_its_buckets() {
    let count = if cfg!(miri) { 60 } else { 20_000 };
    let mut r = Region::<HashMap<Text, u32>>::new();
    for i in 0..count {
        r.root_mut().insert(&format!("key {}", i * 7919 % count), i * 7919 % count).unwrap();
    }
    let image = Aligned::of(&r.packed());
    let map = view_packed::<HashMap<Text, u32>>(&image).unwrap();
    assert_eq!(map.len(), count as usize);
    for i in 0..count {
        assert_eq!(map.get(&format!("key {i}")).map(|value| *value), Some(i));
        assert!(map.get(&format!("no key {i}")).is_none());
    }
    let taken = Region::<HashMap<Text, u32>>::adopt(&image).unwrap();
    assert!(taken.canonical() == r.canonical() && taken.packed() == *image);
    // The order of insertion does not matter.
    let mut other = Region::<HashMap<Text, u32>>::new();
    for i in (0..count).rev() {
        other.root_mut().insert(&format!("key {i}"), i).unwrap();
    }
    assert!(other.packed() == *image);
    // Eight keys need no buckets, nine do.
    for (count, bytes) in [(8, 32 + 4 + 1 + 3 + 8 * 4), (9, 32 + 4 + 1 + 3 + 3 * 4 + 9 * 4)] {
        let mut r = Region::<HashSet<i32>>::new();
        (0..count).for_each(|i| assert!(r.root_mut().insert(i).unwrap()));
        assert_eq!(r.packed().len(), bytes);
        let image = Aligned::of(&r.packed());
        let set = view_packed::<HashSet<i32>>(&image).unwrap();
        assert!((-5..20).all(|i| set.contains(i) == (0..count).contains(&i)));
        spoil(&r);
    }
}

#[test]
fn keys_that_do_not_ascend_are_refused() {
    let mut r = Region::<SortedSet<u32>>::new();
    (1..4).for_each(|i| assert!(r.root_mut().insert(i).unwrap()));
    let mut image = r.packed();
    assert_eq!(image[40..52], [1, 0, 0, 0, 2, 0, 0, 0, 3, 0, 0, 0]);
    for second in [0, 1, 3, 4] {
        image[44] = second;
        let refused = Region::<SortedSet<u32>>::adopt(&image).map(drop).unwrap_err();
        let index = if second < 2 { 1 } else { 2 };
        assert_eq!(refused.problem, InvalidProblem::NotSorted { index });
    }
}

#[test]
fn a_buffer_that_is_too_small_is_refused() {
    let r = kitchen().unwrap();
    let packed = r.packed();
    let mut buffer = vec![0xa5; packed.len() + 40];
    let size = r.packed_into(&mut buffer).unwrap();
    assert_eq!(buffer[..size], packed);
    assert!(buffer[size..].iter().all(|byte| *byte == 0xa5));
    for short in [0, 10, 32, packed.len() - 1] {
        let refused = r.packed_into(&mut buffer[..short]).unwrap_err();
        assert_eq!(refused, BufferError::TooSmall { found: short, least: packed.len() });
    }
}

#[test]
fn the_limit_of_an_adopted_region_is_at_least_its_size() {
    let packed = kitchen().unwrap().packed();
    let options = Options { limit: 100, ..Options::default() };
    let mut taken = Region::<Kitchen>::adopt_with(&packed, options).unwrap();
    assert_eq!(taken.packed(), packed);
    assert!(taken.root_mut().bits().set(&[true; 100_000]).is_err());
    let mut taken = Region::<Kitchen>::adopt(&packed).unwrap();
    taken.root_mut().bits().set(&[true; 100_000]).unwrap();
}

/// The form of the accessors is that of the handle.
#[allow(dead_code)]
fn is_packed<'r>(character: Packed<'r, Character>) -> <Packed<'r, Character> as Access<'r>>::Of<Text> {
    character.name()
}
