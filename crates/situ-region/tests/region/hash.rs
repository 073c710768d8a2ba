//! Hash tables: their order, removal, keys that were chosen to collide, and what a hostile writer does to an
//! index.

use std::collections::HashMap as Model;

use situ_region::region_struct;
use situ_region::{HashMap, HashSet, Key, Region, Text, view};

use crate::{aligned, bytes};

region_struct! { struct Crowd: CrowdRef, CrowdMut { known: HashMap<u64, u32> } }
region_struct! { struct Names: NamesRef, NamesMut { names: HashMap<Text, Text>, bytes: HashSet<u8> } }

/// The inverse of the hash of an integer with seed 0, from the words of spec/region.md.
fn key_of(hash: u64) -> u64 {
    let unshift = |x: u64, by: u32| (by..64).step_by(by as usize).fold(x, |all, _| x ^ (all >> by));
    let inverse = |odd: u64| {
        (0..6).fold(odd, |found, _| found.wrapping_mul(2_u64.wrapping_sub(odd.wrapping_mul(found))))
    };
    let x = unshift(hash, 31).wrapping_mul(inverse(0x94d0_49bb_1331_11eb));
    let x = unshift(x, 27).wrapping_mul(inverse(0xbf58_476d_1ce4_e5b9));
    unshift(x, 30).wrapping_sub(0x9e37_79b9_7f4a_7c15)
}

fn mix(x: u64) -> u64 {
    let x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    x ^ (x >> 31)
}

fn u32_at(image: &[u8], at: usize) -> u32 {
    u32::from_le_bytes(image[at..at + 4].try_into().unwrap())
}

/// Computed in Python from the text of spec/region.md.
#[test]
fn the_hash_of_texts_of_all_lengths() {
    let letters = "abcdefghijklmnopqrstuvwxyz";
    for (length, hash) in [
        (0, 0xc584_133a_c916_ab3c),
        (1, 0xbe03_c542_95fb_a9bf),
        (2, 0xdc4b_6362_88ca_e328),
        (3, 0x66f9_d140_ff54_4956),
        (4, 0x87ad_c34a_5fc7_4b1a),
        (7, 0xa7cf_9a24_26a6_b7ab),
        (8, 0x2415_1eca_d2ab_18a0),
        (9, 0xcfa1_b053_eed9_3aee),
        (13, 0xb3d9_2d12_5830_a885),
        (15, 0xb768_4be3_aab6_0fb8),
        (16, 0x58fb_1e1d_6cbb_577f),
        (17, 0xf504_2f45_88ca_c498),
    ] {
        assert_eq!(<Text as Key>::hash(&letters[..length], 7), hash, "{length}");
    }
    // The exclusive or of the hashes of all lengths, each by a number of its own.
    let all = (0..27_u32).fold(0, |all, n| {
        all ^ <Text as Key>::hash(&letters[..n as usize], n).wrapping_mul(u64::from(2 * n + 1))
    });
    assert_eq!(all, 0xb661_bef4_6c0e_9f1e);
}

/// The seed of the table in a `Crowd`, and the greatest distance of a word from its home.
fn index_of(image: &[u8]) -> (u32, usize) {
    let block = 64 + u32_at(image, 64) as usize;
    let (len, cap) = (u32_at(image, 68) as usize, u32_at(image, 72) as usize);
    let (index, count) = (block + 16 * cap, cap * 5 / 3);
    let seed = u32_at(image, index);
    let mask = u32::MAX >> (cap as u32).leading_zeros();
    let mut farthest = 0;
    for slot in 0..count {
        let word = u32_at(image, index + 4 + 4 * slot);
        if word != 0 {
            let entry = (word & mask) as usize - 1;
            assert!(entry < len);
            let key = u64::from_le_bytes(image[block + 16 * entry..][..8].try_into().unwrap());
            let start = 0x9e37_79b9_7f4a_7c15_u64.wrapping_mul(u64::from(seed) + 1);
            let hash = mix(start.wrapping_add(key));
            assert_eq!(word & !mask, hash as u32 & !mask);
            let home = (((hash >> 32) * count as u64) >> 32) as usize;
            farthest = farthest.max((slot + count - home) % count);
        }
    }
    (seed, farthest)
}

#[test]
fn a_table_keeps_the_order_of_insertion_and_its_canonical_form_that_of_the_keys() {
    let count = if cfg!(miri) { 40 } else { 1000 };
    let (mut up, mut down) = (Region::<Crowd>::new(), Region::<Crowd>::new());
    for i in 0..count {
        up.root_mut().known().insert(i, i as u32).unwrap();
        down.root_mut().known().insert(count - 1 - i, (count - 1 - i) as u32).unwrap();
    }
    assert!(up.root().known().iter().map(|(key, _)| key).eq(0..count));
    assert!(down.root().known().iter().map(|(key, _)| key).eq((0..count).rev()));
    assert!(up.canonical() == down.canonical());
    assert!(
        view::<Crowd>(bytes(&mut aligned(&down.canonical())))
            .unwrap()
            .known()
            .iter()
            .map(|(key, _)| key)
            .eq(0..count)
    );
    // The last entry takes the place of a removed one.
    assert!(down.root_mut().known().remove(count - 1));
    assert_eq!(down.root().known().iter().next().unwrap().0, 0);
    assert_eq!(down.root().known().len(), count as usize - 1);
}

#[test]
fn a_table_grows_by_its_entries_and_not_by_halves() {
    // 1000 entries of 16 bytes, a seed and 1666 words; one more takes 16 bytes and a word or two.
    let size = |count: u64| {
        let mut r = Region::<Crowd>::new();
        (0..count).for_each(|i| r.root_mut().known().insert(i, 0).unwrap());
        r.canonical().len()
    };
    assert_eq!(size(1000), 80 + (16 * 1000 + 4 + 4 * 1666_usize).next_multiple_of(16));
    for count in 890..900 {
        assert!(size(count + 1) - size(count) <= 32);
    }
}

#[test]
fn keys_that_were_chosen_to_collide_get_another_seed() {
    assert_eq!(mix(key_of(0x1234_5678_9abc_def0).wrapping_add(0x9e37_79b9_7f4a_7c15)), 0x1234_5678_9abc_def0);
    let count = if cfg!(miri) { 400 } else { 40_000 };
    let key = |i: u32| key_of((1 << 63) + u64::from(i));
    let mut r = Region::<Crowd>::new();
    for i in 0..count {
        r.root_mut().known().insert(key(i), i).unwrap();
    }
    let (_, farthest) = index_of(r.bytes());
    assert!(farthest <= 256, "{farthest}");
    assert!((0..count).all(|i| *r.root().known().get(key(i)).unwrap() == i));
    view::<Crowd>(r.bytes()).unwrap();
    // Seed 0 does not do, and the next one does.
    let canonical = r.canonical();
    view::<Crowd>(bytes(&mut aligned(&canonical))).unwrap();
    assert_eq!(index_of(&canonical).0, 1);
    for i in (0..count).step_by(2) {
        assert!(r.root_mut().known().remove(key(i)));
    }
    assert!((0..count).all(|i| r.root().known().contains(key(i)) == (i % 2 == 1)));
    view::<Crowd>(r.bytes()).unwrap();
    r.compact_in_place();
    assert_eq!(r.bytes().len(), r.canonical().len());
    view::<Crowd>(r.bytes()).unwrap();
    assert_eq!(Region::<Crowd>::adopt(r.bytes()).unwrap().canonical(), r.canonical());
}

#[test]
fn a_canonical_table_has_the_least_seed() {
    let mut r = Region::<Crowd>::new();
    (0..10).for_each(|i| r.root_mut().known().insert(i, 0).unwrap());
    let mut image = r.canonical();
    // Ten entries, a seed and 16 words. The words for seed 1, made here:
    let (index, count, mask) = (80 + 160, 16_u64, 15_u32);
    image[index..index + 4 + 4 * 16].fill(0);
    image[index] = 1;
    for i in 0..10_u64 {
        let hash = mix(0x9e37_79b9_7f4a_7c15_u64.wrapping_mul(2).wrapping_add(i));
        let mut slot = (((hash >> 32) * count) >> 32) as usize;
        while u32_at(&image, index + 4 + 4 * slot) != 0 {
            slot = (slot + 1) % 16;
        }
        let word = hash as u32 & !mask | (i as u32 + 1);
        image[index + 4 + 4 * slot..][..4].copy_from_slice(&word.to_le_bytes());
    }
    let refused = view::<Crowd>(bytes(&mut aligned(&image))).map(drop).unwrap_err().to_string();
    assert_eq!(refused, "known: seed 1 is not the canonical one (at offset 64)");
    image[6] = 1;
    view::<Crowd>(bytes(&mut aligned(&image))).unwrap();
}

#[test]
fn wrong_indices_are_refused() {
    let mut r = Region::<Crowd>::new();
    (0..10).for_each(|i| r.root_mut().known().insert(i, 0).unwrap());
    let canonical = r.canonical();
    let (entries, index) = (80, 80 + 160);
    assert_eq!(canonical.len(), index + 4 + 4 * 16 + 12);
    let spoilt = |at: usize, number: u32, form: u8| {
        let mut image = canonical.clone();
        image[at..at + 4].copy_from_slice(&number.to_le_bytes());
        image[6] = form;
        view::<Crowd>(bytes(&mut aligned(&image)))
            .map_or_else(|error| error.to_string(), |_| "accepted".to_owned())
    };
    let wrong = "known: entry 1 is not the one that its key finds (at offset 64)";
    assert_eq!(spoilt(entries, 0, 1), "accepted");
    assert_eq!(spoilt(entries + 16, 0, 1), wrong);
    let not_sorted = "known: key 1 is not greater than the key before it (at offset 64)";
    assert_eq!(spoilt(entries + 16, 0, 0), not_sorted);
    for at in (index + 4..index + 4 + 4 * 16).step_by(4) {
        for form in [0, 1] {
            if u32_at(&canonical, at) == 0 {
                let counted = "known: length 10, but 11 words of the index are in use (at offset 64)";
                // A word of entry 0 may also stand where another entry is looked for.
                assert!([counted.to_owned(), spoilt(at, u32::MAX, form)].contains(&spoilt(at, 1, form)));
                assert_ne!(spoilt(at, 1, form), "accepted");
            } else {
                assert_ne!(spoilt(at, 0, form), "accepted");
                assert_ne!(spoilt(at, u32::MAX, form), "accepted");
            }
            assert_ne!(spoilt(index, 1, form), "accepted");
        }
    }
}

#[test]
fn a_key_that_a_small_table_has_twice_is_refused() {
    let mut r = Region::<Names>::new();
    for i in 0..5 {
        r.root_mut().bytes().insert(i).unwrap();
    }
    let mut image = r.canonical();
    image[6] = 1;
    view::<Names>(bytes(&mut aligned(&image))).unwrap();
    let block = 80 + u32_at(&image, 80) as usize;
    image[block + 3] = 1;
    let refused = view::<Names>(bytes(&mut aligned(&image))).map(drop).unwrap_err().to_string();
    assert_eq!(refused, "bytes: entry 3 is not the one that its key finds (at offset 80)");
}

#[test]
fn a_table_of_text_is_like_a_standard_one() {
    let (mut r, mut model) = (Region::<Names>::new(), Model::<String, String>::new());
    let mut random = 1_u64;
    for step in 0..if cfg!(miri) { 150 } else { 20_000 } {
        random = mix(random + step);
        let key = format!("a key of some length {}", random % 97);
        if random >> 63 == 0 {
            r.root_mut().names().insert(&key, &*step.to_string()).unwrap();
            model.insert(key, step.to_string());
        } else {
            assert_eq!(r.root_mut().names().remove(&key), model.remove(&key).is_some());
        }
        if step % 1000 == 149 {
            view::<Names>(r.bytes()).unwrap();
            let root = r.root();
            let all: Model<String, String> =
                root.names().iter().map(|(key, value)| (key.to_owned(), value.as_str().to_owned())).collect();
            assert!(all == model);
            assert!(all.keys().all(|key| root.names().get(key).is_some()));
            r.compact_in_place();
            view::<Names>(r.bytes()).unwrap();
            assert!(
                view::<Names>(bytes(&mut aligned(&r.canonical())))
                    .unwrap()
                    .names()
                    .iter()
                    .is_sorted_by_key(|(key, _)| key)
            );
        }
    }
}
