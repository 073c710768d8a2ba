//! The faults that a check finds in text, booleans and unused bytes, at every length and every place.

use situ_region::region_struct;
use situ_region::{Bool, Maybe, Region, SortedMap, SortedSet, Text, Vector};

region_struct! { struct Note: NoteRef, NoteMut { text: Text, number: u64 } }

/// The place of a note's text in its canonical image, and the end of the text's block.
fn place(len: usize) -> (usize, usize) {
    if len <= 11 { (64, 75) } else { (96, 96 + len.next_multiple_of(16)) }
}

/// Images of a text, with their forms.
fn images(text: &str) -> [(u8, Vec<u8>); 2] {
    let mut r = Region::<Note>::new();
    r.root_mut().text().set(text).unwrap();
    let canonical = r.canonical();
    let mut live = canonical.clone();
    live[6] = 1;
    [(0, canonical), (1, live)]
}

/// Every length, or a few if the tests are interpreted.
fn lengths(end: usize) -> Vec<usize> {
    (0..end).filter(|length| !cfg!(miri) || [1, 11, 12, 17].contains(length)).collect()
}

fn error_of(image: &[u8]) -> Option<String> {
    Region::<Note>::adopt(image).err().map(|error| error.to_string())
}

#[test]
fn an_invalid_byte_of_text_is_found_at_every_place() {
    for len in lengths(71).into_iter().skip_while(|len| *len == 0) {
        let (begin, end) = place(len);
        for (form, image) in images(&"a".repeat(len)) {
            assert_eq!(error_of(&image), None);
            for at in 0..len {
                let mut spoilt = image.clone();
                spoilt[begin + at] = 0x80;
                let wanted = format!("text: the text is not UTF-8 from byte {at} on (at offset 64)");
                assert_eq!(error_of(&spoilt), Some(wanted), "{len} {form}");
            }
            // The bytes after the text are not text. In a canonical image they are zero.
            for at in begin + len..end {
                for value in [0x01, 0x80] {
                    let mut spoilt = image.clone();
                    spoilt[at] = value;
                    let wanted = format!(
                        "text: the byte at offset {at} belongs to nothing and is not zero (at offset {at})"
                    );
                    assert_eq!(error_of(&spoilt), (form == 0).then_some(wanted), "{len} {form} {at}");
                }
            }
        }
    }
}

#[test]
fn letters_of_several_bytes_are_valid_at_every_place() {
    for letter in ["ü", "€", "𝄞"] {
        for before in lengths(40) {
            for behind in [0, 1, 7, 20].into_iter().step_by(if cfg!(miri) { 3 } else { 1 }) {
                let text = ["a".repeat(before), letter.to_owned(), "b".repeat(behind)].concat();
                for (form, image) in images(&text) {
                    let r = Region::<Note>::adopt(&image).unwrap();
                    assert_eq!(r.root().text().as_str(), text);
                    // Without its last byte it is not UTF-8.
                    let (begin, _) = place(text.len());
                    let mut spoilt = image.clone();
                    spoilt[begin + before + letter.len() - 1] = b'x';
                    let wanted = format!("text: the text is not UTF-8 from byte {before} on (at offset 64)");
                    assert_eq!(error_of(&spoilt), Some(wanted), "{form}");
                }
            }
        }
    }
}

#[test]
fn blocks_may_not_share_a_granule_anywhere_in_the_bitmap() {
    region_struct! { struct Two: TwoRef, TwoMut { first: Text, second: Text } }
    // The first text has the length at which the second begins in another word of the bitmap, or at its end.
    for len in (16..=4096).step_by(if cfg!(miri) { 1008 } else { 16 }) {
        let mut r = Region::<Two>::new();
        r.root_mut().first().set("a".repeat(len).as_str()).unwrap();
        r.root_mut().second().set("b".repeat(20).as_str()).unwrap();
        let mut image = r.bytes().to_vec();
        assert!(Region::<Two>::adopt(&image).is_ok());
        // Moves the second link one granule up, into the last granule of the first text.
        let link = u32::from_le_bytes([image[80], image[81], image[82], image[83]]) - 16;
        image[80..84].copy_from_slice(&link.to_le_bytes());
        let wanted =
            format!("second: the block at offset {} is part of another one (at offset 80)", 80 + link);
        assert_eq!(Region::<Two>::adopt(&image).err().map(|error| error.to_string()), Some(wanted));
    }
}

#[test]
fn a_block_may_not_begin_in_a_granule_of_another_one() {
    region_struct! { struct Bytes: BytesRef, BytesMut { first: Vector<u8>, second: Vector<u8> } }
    // Includes small images: their bitmap lies elsewhere than that of large ones.
    for granules in [1_u32, 57, 58, 59, 122, 300, 3000] {
        let mut r = Region::<Bytes>::new();
        r.root_mut().first().set(&vec![1_u8; granules as usize * 16][..]).unwrap();
        r.root_mut().second().set(&[2_u8; 5][..]).unwrap();
        // Header and root take six granules, the first block the next ones; the second block follows.
        let mut image = r.bytes().to_vec();
        assert_eq!(image.len() as u32, (6 + granules + 1) * 16);
        let step = if cfg!(miri) { 61 } else { 1 };
        for granule in (4..6 + granules).step_by(step).chain([5 + granules]) {
            image[80..84].copy_from_slice(&(granule * 16).wrapping_sub(80).to_le_bytes());
            let wanted =
                format!("second: the block at offset {} is part of another one (at offset 80)", granule * 16);
            assert_eq!(Region::<Bytes>::adopt(&image).err().map(|error| error.to_string()), Some(wanted));
        }
        image[80..84].copy_from_slice(&((6 + granules) * 16 - 80).to_le_bytes());
        assert!(Region::<Bytes>::adopt(&image).is_ok());
    }
}

#[test]
fn a_key_that_does_not_ascend_is_found_wherever_it_is() {
    region_struct! {
        struct Keys: KeysRef, KeysMut { small: SortedSet<i16>, large: SortedMap<u64, u32> }
    }
    for len in 1..=11_usize {
        let mut r = Region::<Keys>::new();
        for key in 0..len {
            r.root_mut().small().insert(key as i16 * 2 - 9).unwrap();
            r.root_mut().large().insert(u64::MAX - 30 + key as u64 * 2, 7).unwrap();
        }
        let image = r.canonical();
        // Header and root take six granules.
        let large = 96 + (len * 2).next_multiple_of(16);
        for form in [0, 1] {
            for i in 1..len {
                let mut spoilt = image.clone();
                spoilt[6] = form;
                assert!(Region::<Keys>::adopt(&spoilt).is_ok());
                let mut twice = spoilt.clone();
                twice.copy_within(96 + 2 * i - 2..96 + 2 * i, 96 + 2 * i);
                // The key before becomes greater by its lowest byte, and is still greater than the keys
                // before it.
                spoilt[large + 16 * i - 16] = spoilt[large + 16 * i] + 1;
                for (image, place) in [(twice, "small"), (spoilt, "large")] {
                    let at = if place == "small" { 64 } else { 80 };
                    let wanted =
                        format!("{place}: key {i} is not greater than the key before it (at offset {at})");
                    let found = Region::<Keys>::adopt(&image).err().map(|error| error.to_string());
                    assert_eq!(found, Some(wanted), "{len} {form}");
                }
            }
        }
    }
}

region_struct! { struct Flags: FlagsRef, FlagsMut { flags: Vector<Bool> } }
region_struct! { struct Gaps: GapsRef, GapsMut { a: u8, b: u64, c: u8, d: u32, e: u8, f: u16, g: u64, h: u8 } }

#[test]
fn an_invalid_boolean_is_found_at_every_place() {
    for len in lengths(41).into_iter().skip_while(|len| *len == 0) {
        let mut r = Region::<Flags>::new();
        for i in 0..len {
            r.root_mut().flags().push(i % 3 == 0).unwrap();
        }
        for form in [0, 1] {
            let mut image = r.canonical();
            image[6] = form;
            assert!(Region::<Flags>::adopt(&image).is_ok());
            for i in 0..len {
                let at = 80 + i;
                for value in [2, 0x80] {
                    let mut spoilt = image.clone();
                    spoilt[at] = value;
                    let found = Region::<Flags>::adopt(&spoilt).err().map(|error| error.to_string());
                    let wanted =
                        format!("flags[{i}]: {value} is not a boolean; only 0 and 1 are (at offset {at})");
                    assert_eq!(found, Some(wanted), "{len} {form}");
                }
            }
        }
    }
}

#[test]
fn bytes_between_and_behind_members_are_zero_in_a_canonical_image() {
    let image = Region::<Gaps>::new().canonical();
    assert_eq!(image.len(), 64 + 48);
    // a, 7, b; c, 3, d; e, 1, f, 4, g; h and 7.
    let gaps = [1..8, 17..20, 25..26, 28..32, 41..48];
    for at in 0..48 {
        let mut spoilt = image.clone();
        spoilt[64 + at] = 0x40;
        let found = Region::<Gaps>::adopt(&spoilt).err().map(|error| error.to_string());
        let at = 64 + at;
        let wanted =
            format!("message: the byte at offset {at} belongs to nothing and is not zero (at offset {at})");
        let in_gap = gaps.iter().any(|gap| gap.contains(&(at - 64)));
        assert_eq!(found, in_gap.then_some(wanted));
        spoilt[6] = 1;
        assert!(Region::<Gaps>::adopt(&spoilt).is_ok());
    }
}

// The text is at offset 64, the bytes at 80, the optional values at 104 and 128; the block is at 320.
region_struct! {
    struct Forged: ForgedRef, ForgedMut {
        text: Text,
        bytes: Vector<u8>,
        list: Maybe<Vector<u8>>,
        name: Maybe<Text>,
        rest: [u8; 176],
    }
}

const OWNED: &[u8] = b"what the bytes hold";

/// An adopted live image in which unused bytes, at an offset, contain a forged header of the block that the
/// bytes own.
fn forged(at: usize, tag: u8) -> Region<Forged> {
    let mut r = Region::<Forged>::new();
    r.root_mut().bytes().set(OWNED).unwrap();
    let mut image = r.canonical();
    image[6] = 1;
    for (i, number) in [320 - at as u32, 12, 32].into_iter().enumerate() {
        image[at + 4 * i..][..4].copy_from_slice(&number.to_le_bytes());
    }
    image[at + 11] = tag;
    let adopted = Region::<Forged>::adopt(&image).unwrap();
    assert_eq!(adopted.bytes()[at..at + 12], image[at..at + 12]);
    adopted
}

/// Checks that the operation did not touch the block of the bytes, and that no other value owns the block.
fn is_good(r: &Region<Forged>) {
    assert_eq!(r.root().bytes().as_slice(), OWNED);
    assert!(Region::<Forged>::adopt(r.bytes()).unwrap().canonical() == r.canonical());
}

#[test]
fn a_new_value_is_empty_whatever_was_where_it_begins() {
    let mut r = forged(104, 0);
    assert!(r.root_mut().list().fill().as_ref().is_empty());
    is_good(&r);
    r.root_mut().list().fill().push(9).unwrap();
    is_good(&r);
    r.root_mut().list().clear();
    is_good(&r);
    let mut r = forged(104, 0);
    r.root_mut().list().set(Some(&[7_u8; 5][..])).unwrap();
    assert_eq!(r.root().list().get().unwrap().as_slice(), [7; 5]);
    is_good(&r);
    for name in ["", "short", "a name that takes a block"] {
        let mut r = forged(128, 0);
        r.root_mut().name().set(Some(name)).unwrap();
        assert_eq!(r.root().name().get().unwrap().as_str(), name);
        is_good(&r);
        r.root_mut().name().set(None::<&str>).unwrap();
        is_good(&r);
    }
}

#[test]
fn a_text_that_becomes_empty_is_empty_whatever_was_behind_it() {
    // With no character and with one: the lowest byte of the link is zero.
    for tag in [0x80, 0x81] {
        let mut r = forged(64, tag);
        assert_eq!(r.root().text().len(), usize::from(tag & 0x0f));
        r.root_mut().text().clear();
        assert_eq!(r.root().text().as_str(), "");
        is_good(&r);
        for text in ["b", "a text that takes a block"] {
            r.root_mut().text().push_str(text).unwrap();
            is_good(&r);
            r.root_mut().text().clear();
            is_good(&r);
        }
    }
}
