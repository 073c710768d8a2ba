//! Bytes are a region or an error. A region can be edited and sent on, and a canonical image is the only one
//! of its value. The header is corrected first, because it is checked before everything else.
#![no_main]

use libfuzzer_sys::fuzz_target;
use situ_region::{Buffer, Region, ShareError, Stored, layout_hash, view};

#[path = "../../crates/situ-region/tests/region/types.rs"]
#[allow(dead_code)]
mod types;

#[path = "../../crates/situ-region/tests/region/family.rs"]
#[allow(dead_code)]
mod family;

use family::{Family, FamilyMut, FamilyRef};
use types::{
    Character, CharacterMut, Kitchen, KitchenMut, Market, MarketMut, MarketRef, ShapeMut, TextureMut,
};

/// Profiles that may have more members, as in the vectors.
mod after {
    use situ_region::{SortedSet, Shared, Text, Unique};
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

#[derive(Clone, Copy)]
#[repr(C, align(16))]
struct Granule([u8; 16]);

/// Adopts the image, edits it, and sends it on.
fn with<T: Stored>(bytes: &[u8], edit: impl Fn(&mut Region<T>)) {
    if bytes.len() < 64 {
        return;
    }
    let mut granules = vec![Granule([0; 16]); bytes.len() / 16];
    let mut in_place = granules.clone();
    // SAFETY: granules are arrays of bytes without padding, borrowed exclusively.
    let image =
        unsafe { std::slice::from_raw_parts_mut(granules.as_mut_ptr().cast::<u8>(), granules.len() * 16) };
    image.copy_from_slice(&bytes[..granules.len() * 16]);
    let size = image.len() as u32;
    image[..6].copy_from_slice(b"SRGN\x02\0");
    image[6] &= 1;
    image[7..16].fill(0);
    image[16..24].copy_from_slice(&layout_hash::<T>().to_le_bytes());
    image[24..28].copy_from_slice(&size.to_le_bytes());
    image[28..32].copy_from_slice(&64_u32.to_le_bytes());
    let viewed = view::<T>(image).is_ok();
    let Ok(mut region) = Region::<T>::adopt(image) else {
        assert!(!viewed);
        return;
    };
    let canonical = region.canonical();
    // SAFETY: as above.
    let copy = unsafe { std::slice::from_raw_parts_mut(in_place.as_mut_ptr().cast::<u8>(), size as usize) };
    copy.copy_from_slice(image);
    let same_version = Region::<T, Buffer>::adopt_in_place(copy).is_ok();
    if image[6] == 0 && same_version {
        assert!(canonical == image, "a canonical image is the only one of its value");
    }
    let again = Region::<T>::adopt(&canonical).expect("it was written by us");
    assert!(again.canonical() == canonical);
    edit(&mut region);
    let canonical = region.canonical();
    let live = Region::<T>::adopt(region.bytes()).expect("it was edited by us");
    assert!(live.canonical() == canonical);
    // The same in place, in a buffer that the image fills.
    if let Ok(mut there) = Region::<T, Buffer>::adopt_in_place(image) {
        there.trim();
        let sent = there.canonical();
        drop(there);
        assert!(Region::<T>::adopt(image).expect("it is as it was").canonical() == sent);
    }
}

fuzz_target!(|bytes: &[u8]| {
    let Some((which, image)) = bytes.split_first() else { return };
    match which % 6 {
        0 => with::<Kitchen>(image, |r| {
            let mut k = r.root_mut();
            let _ = k.words().insert("another word of some length");
            let _ = k.numbers().insert(7);
            k.lists().remove("odd");
            k.gear().clear();
            k.tree().clear();
            let _ = k.names().get_mut(0).map(|mut name| name.push_str("more"));
        }),
        1 => with::<Market>(image, |r| {
            let mut m = r.root_mut();
            for number in 0..40 {
                m.index().remove(number * 25);
                m.index().insert(number * 3).expect("there is memory");
            }
            m.prices().remove("price 7");
            m.prices().insert("price 70", types::item(9)).expect("there is memory");
            m.shape().select(2);
            let linked = m.share(
                |m| Some(m.texture()),
                |mut m, link| {
                    m.textures().push_default()?.link(link)?;
                    let mut textures = m.textures();
                    let Some(mut first) = textures.get_mut(0) else { return Ok(()) };
                    first.fill()?.base().link(link)
                },
            );
            let _: Result<(), ShareError> = linked;
            m.shapes().clear();
        }),
        2 => with::<Character>(image, |r| {
            let mut c = r.root_mut();
            c.items().remove(40);
            c.attributes().push(1.0_f32).expect("there is memory");
            c.equips().remove(0);
        }),
        3 => with::<before::Profile>(image, |r| {
            use before::ProfileMut;
            r.root_mut().name().set("a name of more than eleven").expect("there is memory");
            r.root_mut().best().clear();
        }),
        4 => with::<after::Profile>(image, |r| {
            use after::ProfileMut;
            r.root_mut().tags().insert("a tag of more than eleven").expect("there is memory");
            r.root_mut().best().clear();
            r.root_mut().rival().clear();
        }),
        _ => with::<Family>(image, |r| {
            let mut f = r.root_mut();
            f.homes().remove(0);
            f.names().remove("dan");
            let linked = f.share(
                |f| f.homes().get(0),
                |mut f, home| {
                    f.home().fill().link(home)?;
                    f.sold().push_default()?.link(home)
                },
            );
            let _: Result<(), ShareError> = linked;
            let linked = f.upgrade(
                |f| f.sold().get(0),
                |mut f, home| {
                    f.homes().clear();
                    f.homes().push_default()?.link(home)
                },
            );
            let _: Result<(), ShareError> = linked;
            f.youngest().clear();
            let linked = f.upgrade(|f| f.gone().get(0), |mut f, person| f.eldest().link(person));
            let _: Result<(), ShareError> = linked;
            r.compact_in_place();
            r.root_mut().eldest().clear();
        }),
    }
});
