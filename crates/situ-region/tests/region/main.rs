//! Regions, compared with the vectors that every language writes and reads, and with standard containers.

mod allocating;
mod cabinet;
mod checking;
mod compaction;
mod debugging;
mod depth;
mod dynamic;
mod dynamic_keys;
mod editing;
mod equality;
mod everyday;
mod family;
mod handles;
mod hash;
mod hooks;
mod kitchen_program;
mod market;
mod market_program;
mod memory;
mod model;
mod moving;
mod packed;
mod sharing;
mod signature;
mod source;
mod texts;
mod types;
mod versions;
mod weak;
mod writing;

use situ_region::{Region, Stored, layout_text, view};

use types::*;

const VECTORS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../spec/vectors/region");

fn vector(name: &str) -> Vec<u8> {
    std::fs::read(format!("{VECTORS}/{name}.bin")).unwrap()
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
        taken.compact().unwrap();
        assert_eq!(taken.bytes().len(), canonical.len());
        assert_eq!(Region::<T>::adopt(taken.bytes()).unwrap().canonical(), canonical);
    }
    let mut taken = Region::<T>::adopt(&vector(&format!("{name}.live"))).unwrap();
    taken.compact_in_place();
    assert!(taken.bytes() == vector(&format!("{name}.compacted")), "{name} compacted in place");
}

/// Bytes at a multiple of 16.
fn aligned(image: &[u8]) -> Vec<u128> {
    let (chunks, _) = image.as_chunks();
    chunks.iter().map(|sixteen| u128::from_ne_bytes(*sixteen)).collect()
}

fn bytes(words: &mut [u128]) -> &mut [u8] {
    let count = size_of_val(words);
    // SAFETY: any bytes are numbers, and the reverse; the words are borrowed exclusively.
    unsafe { std::slice::from_raw_parts_mut(words.as_mut_ptr().cast(), count) }
}

/// An image of any size, at a multiple of 16.
struct Aligned(Vec<u128>, usize);

impl Aligned {
    fn of(image: &[u8]) -> Self {
        let mut words = vec![0; image.len().div_ceil(16)];
        bytes(&mut words)[..image.len()].copy_from_slice(image);
        Self(words, image.len())
    }
}

impl std::ops::Deref for Aligned {
    type Target = [u8];
    fn deref(&self) -> &[u8] {
        // SAFETY: any bytes are numbers, and the reverse; the words are borrowed.
        let all = unsafe { std::slice::from_raw_parts(self.0.as_ptr().cast(), size_of_val(&*self.0)) };
        &all[..self.1]
    }
}

impl std::ops::DerefMut for Aligned {
    fn deref_mut(&mut self) -> &mut [u8] {
        &mut bytes(&mut self.0)[..self.1]
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
    // The same values as in cpp/tests/region.
    assert_eq!(
        layout_text::<Equip>(),
        "region-v2 Equip\nEquip 0 48 8 struct\nEquip.base 0 24 8 Item\nEquip.level 24 4 4 uint32\n\
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
    assert!(
        other.starts_with("message: the image is not of Character as it is laid out here: its layout"),
        "{other}"
    );
    assert!(Region::<Kitchen>::adopt(&good[..50]).is_err());
}

#[test]
fn every_spoilt_byte_is_refused_or_harmless() {
    let r = kitchen().unwrap();
    for image in [r.canonical(), r.bytes().to_vec()] {
        // Miri is slow, so it skips most of the repetitive cases.
        let (step, flips) = if cfg!(miri) { (101, &[0xff][..]) } else { (1, &[1, 0x80, 0xff][..]) };
        for at in (0..image.len()).step_by(step) {
            for flip in flips {
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
    assert_eq!(
        error.to_string(),
        "the region is full: it may have 2048 bytes; give it a higher limit or a larger buffer"
    );
    assert!(!r.root().lists().contains("list"));
    Region::<Kitchen>::adopt(r.bytes()).unwrap();
    for i in 0..added {
        assert!(r.root_mut().words().remove(&format!("word number {i}")));
    }
    r.compact().unwrap();
    assert_eq!(r.canonical(), Region::<Kitchen>::new().canonical());
}

#[test]
fn an_optional_is_as_it_was_when_there_is_no_room() {
    let mut r = Region::<Kitchen>::with_limit(2048);
    let long = "long ".repeat(1000);
    assert!(r.root_mut().nickname().set(Some(&*long)).is_err());
    assert!(r.root().nickname().get().is_none());
    r.root_mut().nickname().set(Some("a nickname in a block")).unwrap();
    assert!(r.root_mut().nickname().set(Some(&*long)).is_err());
    assert_eq!(r.root().nickname().get().unwrap().as_str(), "a nickname in a block");
}

#[test]
fn images_are_adopted_from_anywhere_and_viewed_where_they_are_aligned() {
    let r = kitchen().unwrap();
    let mut somewhere = vec![0; r.bytes().len() + 16];
    for shift in (0..16).step_by(if cfg!(miri) { 5 } else { 1 }) {
        somewhere[shift..][..r.bytes().len()].copy_from_slice(r.bytes());
        let image = &somewhere[shift..][..r.bytes().len()];
        assert_eq!(Region::<Kitchen>::adopt(image).unwrap().canonical(), r.canonical());
        assert_eq!(view::<Kitchen>(image).is_ok(), image.as_ptr().addr().is_multiple_of(16));
    }
}

#[test]
fn spoilt_vectors_are_refused_with_the_words_of_the_format() {
    let lines = String::from_utf8(std::fs::read(format!("{VECTORS}/refused.txt")).unwrap()).unwrap();
    let mut wrong = Vec::new();
    for line in lines.lines().step_by(if cfg!(miri) { 4 } else { 1 }) {
        let mut words = line.splitn(4, ' ');
        let mut word = || words.next().unwrap();
        let (name, at, bytes, error) = (word(), word().parse::<usize>().unwrap(), word(), word());
        let mut image = vector(name);
        for (i, two) in bytes.as_bytes().chunks(2).enumerate() {
            image[at + i] = u8::from_str_radix(std::str::from_utf8(two).unwrap(), 16).unwrap();
        }
        let found = match name.split('.').next() {
            Some("market") => Region::<Market>::adopt(&image).map(drop),
            Some("kitchen") => Region::<Kitchen>::adopt(&image).map(drop),
            Some("family") => Region::<family::Family>::adopt(&image).map(drop),
            Some("cabinet") => Region::<cabinet::Cabinet>::adopt(&image).map(drop),
            _ => Region::<versions::before::Profile>::adopt(&image).map(drop),
        };
        let found = found.err().map(|found| found.to_string());
        if found.as_deref() != Some(error) {
            wrong.push(format!("{line}\n    found: {found:?}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
