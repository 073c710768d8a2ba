//! Bytes are a packed image or an error. It is the only image of its value, and becomes a region with the
//! same value. The header is corrected first, because it is checked before everything else.
#![no_main]

use libfuzzer_sys::fuzz_target;
use situ_region::{Region, Stored, view_packed};

#[path = "../../crates/situ-region/tests/region/types.rs"]
#[allow(dead_code)]
mod types;

#[path = "../../crates/situ-region/tests/region/family.rs"]
#[allow(dead_code)]
mod family;

use family::Family;
use types::{Character, Kitchen, Market};

/// Profiles that may have more members, as in the vectors.
mod after {
    use situ_region::{Shared, SortedSet, Text, Unique};
    situ_region::region_struct! {
        pub appendable struct Record: RecordRef, RecordMut { score: u32, when: u64, by: Text }
    }
    situ_region::region_struct! {
        pub appendable struct Profile: ProfileRef, ProfileMut {
            id: u64, name: Text, best: Unique<Record>, level: u8, tags: SortedSet<Text>, rival: Shared<Record>,
        }
    }
}

mod before {
    use situ_region::{Text, Unique};
    situ_region::region_struct! { pub appendable struct Record: RecordRef, RecordMut { score: u32, when: u64 } }
    situ_region::region_struct! {
        pub appendable struct Profile: ProfileRef, ProfileMut { id: u64, name: Text, best: Unique<Record> }
    }
}

/// Kinds of members that the others lack.
mod corners {
    use situ_region::{HashMap, Maybe, OrderedMap, SortedMap, Text, Unique, Vector};
    situ_region::region_union! { pub union Small: SmallRef, SmallMut (u8) { 1 => half: u16, 2 => text: Text } }
    situ_region::region_union! {
        pub union Large: LargeRef, LargeMut (u16) { 1 => number: u64, 2 => texts: Vector<Text>, default => on: u8 }
    }
    situ_region::region_struct! {
        pub struct Corners: CornersRef, CornersMut {
            small: Small,
            byte: Maybe<u8>,
            large: Large,
            half: Maybe<u16>,
            text: Maybe<Text>,
            twice: Maybe<Maybe<Text>>,
            table: Maybe<HashMap<Text, Small>>,
            numbers: HashMap<u16, Large>,
            sparse: SortedMap<u64, u8>,
            tree: OrderedMap<Text, Vector<Large>>,
            odd: [Maybe<u16>; 3],
            next: Unique<Corners>,
        }
    }
}

/// Reads the image as an `R`, after it was given the header and the table of versions of an image of an `H`.
fn with<R: Stored, H: Stored>(bytes: &[u8]) {
    let whole = Region::<H>::new().packed();
    let root = u32::from_le_bytes(whole[28..32].try_into().expect("four bytes")) as usize;
    let size = root + bytes.len();
    let mut words = vec![0_u128; size.div_ceil(16)];
    // SAFETY: any bytes are numbers, and the reverse; the words are borrowed exclusively.
    let image = unsafe { std::slice::from_raw_parts_mut(words.as_mut_ptr().cast::<u8>(), words.len() * 16) };
    let image = &mut image[..size];
    image[..root].copy_from_slice(&whole[..root]);
    image[root..].copy_from_slice(bytes);
    image[24..28].copy_from_slice(&(size as u32).to_le_bytes());
    let viewed = view_packed::<R>(image).is_ok();
    let Ok(region) = Region::<R>::adopt(image) else {
        assert!(!viewed, "what is read can be adopted");
        return;
    };
    let (packed, canonical) = (region.packed(), region.canonical());
    if std::any::TypeId::of::<R>() == std::any::TypeId::of::<H>() {
        assert!(viewed && packed == image, "a packed image is the only one of its value");
    }
    let live = Region::<R>::adopt(region.bytes()).expect("it was made by us");
    assert!(live.canonical() == canonical && live.packed() == packed);
    let again = Region::<R>::adopt(&packed).expect("it was written by us");
    assert!(again.canonical() == canonical);
}

fuzz_target!(|bytes: &[u8]| {
    let Some((which, image)) = bytes.split_first() else { return };
    match which % 9 {
        0 => with::<Kitchen, Kitchen>(image),
        1 => with::<Market, Market>(image),
        2 => with::<Character, Character>(image),
        3 => with::<before::Profile, before::Profile>(image),
        4 => with::<after::Profile, after::Profile>(image),
        5 => with::<before::Profile, after::Profile>(image),
        6 => with::<after::Profile, before::Profile>(image),
        7 => with::<corners::Corners, corners::Corners>(image),
        _ => with::<Family, Family>(image),
    }
});
