//! Appendable structs: images of older and newer programs, compared with the vectors.

use situ_region::{
    Buffer, Full, InvalidProblem, Region, Stored, layout_hash, layout_text, view, view_packed,
};

use crate::{Aligned, aligned, bytes, held_to, packed, vector};

/// The program before members were appended.
pub mod before {
    use situ_region::region_struct;
    use situ_region::{Text, Unique};

    region_struct! { pub appendable struct Record: RecordRef, RecordMut { score: u32, when: u64 } }
    region_struct! {
        pub appendable struct Profile: ProfileRef, ProfileMut { id: u64, name: Text, best: Unique<Record> }
    }
}

/// The program after members were appended.
mod after {
    use situ_region::region_struct;
    use situ_region::{Shared, SortedSet, Text, Unique};

    region_struct! { pub appendable struct Record: RecordRef, RecordMut { score: u32, when: u64, by: Text } }
    region_struct! {
        pub appendable struct Profile: ProfileRef, ProfileMut {
            id: u64,
            name: Text,
            best: Unique<Record>,
            level: u8,
            tags: SortedSet<Text>,
            rival: Shared<Record>,
        }
    }
}

/// A program whose record has changed in the middle, so that it is a different struct.
mod changed {
    use situ_region::region_struct;
    use situ_region::{Text, Unique};

    region_struct! { pub appendable struct Record: RecordRef, RecordMut { score: u32, moment: u64 } }
    region_struct! {
        pub appendable struct Profile: ProfileRef, ProfileMut { id: u64, name: Text, best: Unique<Record> }
    }
}

/// A struct of a fixed layout with links to an appendable one.
mod fixed {
    use situ_region::region_struct;
    use situ_region::{Unique, Vector};

    region_struct! { pub struct All: AllRef, AllMut { profiles: Vector<Unique<super::after::Profile>> } }
}

mod fixed_before {
    use situ_region::region_struct;
    use situ_region::{Unique, Vector};

    region_struct! { pub struct All: AllRef, AllMut { profiles: Vector<Unique<super::before::Profile>> } }
}

fn before() -> Result<Region<before::Profile>, Full> {
    use before::{ProfileMut, RecordMut};
    let mut r = Region::<before::Profile>::new();
    let mut p = r.root_mut();
    *p.id() = 5;
    p.name().set("the name of this profile")?;
    let mut best = p.best();
    let mut best = best.fill()?;
    *best.score() = 900;
    *best.when() = 1_700_000_000;
    Ok(r)
}

fn after() -> Result<Region<after::Profile>, Full> {
    use after::{ProfileMut, RecordMut};
    let mut r = Region::<after::Profile>::new();
    let mut p = r.root_mut();
    *p.id() = 5;
    p.name().set("the name of this profile")?;
    let mut best = p.best();
    let mut best = best.fill()?;
    *best.score() = 900;
    *best.when() = 1_700_000_000;
    best.by().set("somebody with a long name")?;
    *p.level() = 3;
    p.tags().insert("quick")?;
    p.tags().insert("with a longer name")?;
    let mut rival = p.rival();
    let mut rival = rival.fill()?;
    *rival.score() = 901;
    *rival.when() = 1_700_000_001;
    rival.by().set("me")?;
    Ok(r)
}

fn problem<T: Stored>(image: &[u8]) -> String {
    Region::<T>::adopt(image).map(drop).unwrap_err().to_string()
}

#[test]
fn the_vectors_are_written_and_read() {
    held_to("profile.before", &before().unwrap());
    held_to("profile.after", &after().unwrap());
    packed::held_to("profile.before", &before().unwrap());
    packed::held_to("profile.after", &after().unwrap());
}

#[test]
fn packed_images_have_versions_too() {
    use after::{ProfileRef, RecordRef};
    let (old, new) = (before().unwrap(), after().unwrap());
    // An older image: adopted with the defaults of the other members, and not read in place.
    let image = Aligned::of(&old.packed());
    let taken = Region::<after::Profile>::adopt(&image).unwrap();
    assert_eq!(taken.canonical(), Region::<after::Profile>::adopt(old.bytes()).unwrap().canonical());
    let p = taken.root();
    assert_eq!((*p.id(), p.name().as_str(), *p.level()), (5, "the name of this profile", 0));
    assert_eq!(p.best().get().unwrap().by().as_str(), "");
    assert_eq!(
        view_packed::<after::Profile>(&image).map(drop).unwrap_err().to_string(),
        "message: the image has 3 members of Profile, this program 6; adopt a copy (at offset 0)"
    );
    // A newer one: what is known is read, and all of it is adopted.
    let image = Aligned::of(&new.packed());
    let p = view_packed::<before::Profile>(&image).unwrap();
    assert_eq!(before::ProfileRef::name(p).as_str(), "the name of this profile");
    assert_eq!(*before::RecordRef::when(before::ProfileRef::best(p).get().unwrap()), 1_700_000_000);
    let taken = Region::<before::Profile>::adopt(&image).unwrap();
    assert_eq!(taken.canonical(), old.canonical());
    assert_eq!(taken.packed(), old.packed());
    let p = view_packed::<after::Profile>(&image).unwrap();
    assert_eq!(p.rival().get().unwrap().by().as_str(), "me");
    assert!(p.tags().contains("quick") && *p.level() == 3);
    let refused = Region::<changed::Profile>::adopt(&image).map(drop).unwrap_err().to_string();
    assert!(refused.starts_with("message: the image has another Record: member 2, here moment"), "{refused}");
}

#[test]
fn every_spoilt_byte_of_a_packed_image_is_refused_or_harmless() {
    let new = after().unwrap().packed();
    for at in (0..new.len()).step_by(if cfg!(miri) { 31 } else { 1 }) {
        for flip in [1, 0x80, 0xff] {
            let mut bad = Aligned::of(&new);
            bad[at] ^= flip;
            if let Ok(taken) = Region::<after::Profile>::adopt(&bad) {
                assert!(taken.packed() == *bad, "{at}");
            }
            if let Ok(taken) = Region::<before::Profile>::adopt(&bad) {
                view_packed::<before::Profile>(&bad).unwrap();
                let packed = taken.packed();
                assert_eq!(Region::<before::Profile>::adopt(&packed).unwrap().packed(), packed);
            }
        }
    }
}

#[test]
fn the_layout_hash_does_not_cover_appended_members() {
    assert_eq!(layout_text::<after::Profile>(), "region-v2 Profile\nProfile 0 0 0 appendable\n");
    assert_eq!(layout_hash::<after::Profile>(), layout_hash::<before::Profile>());
    assert_eq!(
        layout_text::<fixed::All>(),
        "region-v2 All\nAll 0 16 4 struct\nAll.profiles 0 16 4 vector\nAll.profiles[] 0 8 4 unique\n\
         All.profiles[]* 0 0 0 Profile\nProfile 0 0 0 appendable\n"
    );
}

#[test]
fn an_older_image_gets_the_new_members() {
    use after::{ProfileMut, ProfileRef, RecordRef};
    for form in ["canonical", "live"] {
        let image = vector(&format!("profile.before.{form}"));
        let mut r = Region::<after::Profile>::adopt(&image).unwrap();
        let p = r.root();
        assert_eq!((*p.id(), p.name().as_str(), *p.level()), (5, "the name of this profile", 0));
        let best = p.best().get().unwrap();
        assert_eq!((*best.score(), *best.when(), best.by().as_str()), (900, 1_700_000_000, ""));
        assert!(p.tags().is_empty() && p.rival().get().is_none());
        r.root_mut().tags().insert("it goes on").unwrap();
        r.root_mut().best().get_mut().unwrap();
        assert_eq!(Region::<after::Profile>::adopt(r.bytes()).unwrap().canonical(), r.canonical());
        // There is no room for the new members in place.
        let mut words = aligned(&image);
        let refused =
            "message: the image has 3 members of Profile, this program 6; adopt a copy (at offset 0)";
        let there = bytes(&mut words);
        assert_eq!(view::<after::Profile>(there).map(drop).unwrap_err().to_string(), refused);
        let in_place = Region::<after::Profile, Buffer>::adopt_in_place(there).map(drop);
        assert_eq!(in_place.unwrap_err().to_string(), refused);
    }
}

#[test]
fn a_newer_image_shows_what_is_known() {
    use before::{ProfileMut, ProfileRef, RecordRef};
    for form in ["canonical", "live"] {
        let image = vector(&format!("profile.after.{form}"));
        let mut words = aligned(&image);
        let p = view::<before::Profile>(bytes(&mut words)).unwrap();
        let best = p.best().get().unwrap();
        assert_eq!((*p.id(), *best.score(), *best.when()), (5, 900, 1_700_000_000));
        let refused =
            Region::<before::Profile, Buffer>::adopt_in_place(bytes(&mut words)).map(drop).unwrap_err();
        assert!(
            matches!(refused.problem, InvalidProblem::OtherVersion { found: 6, here: 3, .. }),
            "{refused}"
        );
        // A copy has this program's version and lacks the other members.
        let mut r = Region::<before::Profile>::adopt(&image).unwrap();
        assert_eq!(r.canonical(), vector("profile.before.canonical"));
        r.root_mut().name().set("a name that is a bit longer").unwrap();
        assert_eq!(Region::<before::Profile>::adopt(r.bytes()).unwrap().canonical(), r.canonical());
    }
}

#[test]
fn changes_other_than_additions_are_refused_by_name() {
    let refused = "message: the image has another Record: member 2, here moment, differs (at offset ";
    for name in ["profile.before", "profile.after"] {
        let problem = problem::<changed::Profile>(&vector(&format!("{name}.canonical")));
        assert!(problem.starts_with(refused), "{problem}");
    }
    let good = vector("profile.before.canonical");
    for (at, value) in [(60, 0), (60, 8), (60, 0xf0), (96, 3), (100, 1), (100, 200), (104, 1)] {
        let mut bad = good.clone();
        bad[at] ^= value;
        if bad != good {
            let problem = problem::<before::Profile>(&bad);
            assert!(problem.contains("the table of versions at offset"), "{at}: {problem}");
        }
    }
}

/// The error gives the place of the missing struct, or that of the link to it.
#[test]
fn structs_that_are_not_in_the_table_are_refused() {
    for (form, table) in [("canonical", 128), ("live", 608)] {
        let image = vector(&format!("profile.after.{form}"));
        // In turn, each of the two keys becomes that of another name.
        let second = table + 8 + 16 + 8 * usize::from(image[table + 8 + 12]);
        let mut refused = [table + 8, second].map(|key| {
            let mut spoilt = image.clone();
            spoilt[key] ^= 1;
            Region::<before::Profile>::adopt(&spoilt).map(drop).unwrap_err().to_string()
        });
        refused.sort();
        let words = format!("the table of versions at offset {table} is not good");
        let wanted = [format!("best: {words} (at offset 88)"), format!("message: {words} (at offset 64)")];
        assert_eq!(refused, wanted);
    }
}

#[test]
fn vectors_of_links_hold_appendable_structs() {
    use fixed::{AllMut, AllRef};
    let mut r = Region::<fixed::All>::new();
    let mut all = r.root_mut();
    for i in 0..3 {
        use after::{ProfileMut, RecordMut};
        let mut profiles = all.profiles();
        let mut link = profiles.push_default().unwrap();
        let mut profile = link.fill().unwrap();
        *profile.id() = i;
        profile.best().fill().unwrap().by().set("the one who was best").unwrap();
        profile.tags().insert("a tag that is not known").unwrap();
    }
    for image in [r.canonical(), r.bytes().to_vec()] {
        let old = Region::<fixed_before::All>::adopt(&image).unwrap();
        let back = Region::<fixed::All>::adopt(&old.canonical()).unwrap();
        let ids = back.root();
        let ids = ids.profiles().iter().map(|link| {
            use after::ProfileRef;
            let profile = link.get().unwrap();
            assert!(profile.tags().is_empty());
            *profile.id()
        });
        assert_eq!(ids.collect::<Vec<_>>(), [0, 1, 2]);
    }
}

#[test]
fn every_spoilt_byte_is_refused_or_harmless() {
    let step = if cfg!(miri) { 151 } else { 1 };
    for name in ["profile.before", "profile.after"] {
        for form in ["canonical", "live"] {
            let image = vector(&format!("{name}.{form}"));
            for at in (0..image.len()).step_by(step) {
                for flip in [1, 0x80, 0xff] {
                    let mut bad = image.clone();
                    bad[at] ^= flip;
                    for canonical in [
                        Region::<before::Profile>::adopt(&bad).map(|r| r.canonical()),
                        Region::<after::Profile>::adopt(&bad).map(|r| r.canonical()),
                    ]
                    .into_iter()
                    .flatten()
                    {
                        let before = Region::<before::Profile>::adopt(&canonical).map(|r| r.canonical());
                        let after = Region::<after::Profile>::adopt(&canonical).map(|r| r.canonical());
                        assert!(before == Ok(canonical.clone()) || after == Ok(canonical.clone()), "{at}");
                    }
                }
            }
        }
    }
}
