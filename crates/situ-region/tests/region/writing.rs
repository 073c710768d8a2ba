//! Writes of many elements at once, up to a full region, in vectors of plain elements, booleans and texts.

use situ_region::{Bool, Region, SortedMap, SortedSet, Text, Vector, view};
use situ_region::{region_plain, region_struct};

region_plain! { pub struct Point { x: f32, y: f32 } }
region_struct! {
    pub struct Sheet: SheetRef, SheetMut {
        points: Vector<Point>,
        flags: Vector<Bool>,
        names: Vector<Text>,
        ids: SortedSet<u32>,
        by_name: SortedMap<Text, u16>,
    }
}

fn texts(r: &Region<Sheet>) -> Vec<&str> {
    r.root().names().iter().map(|name| name.as_str()).collect()
}

#[test]
fn slices_are_assigned_and_appended() {
    let mut r = Region::<Sheet>::new();
    let points: Vec<_> = (0_u8..9).map(|i| Point { x: f32::from(i), y: 0.5 }).collect();
    r.root_mut().points().set(&points[..7]).unwrap();
    r.root_mut().points().set(&points[2..4]).unwrap();
    assert_eq!(r.root().points().as_slice(), &points[2..4]);
    r.root_mut().points().extend_from_slice(&points[4..]).unwrap();
    r.root_mut().points().extend_from_slice::<Point>(&[]).unwrap();
    assert_eq!(r.root().points().as_slice(), &points[2..]);
    r.root_mut().flags().set(&[true, false, true][..]).unwrap();
    r.root_mut().flags().extend_from_slice(&[false, true]).unwrap();
    let flags: Vec<_> = r.root().flags().iter().map(|flag| flag.get()).collect();
    assert_eq!(flags, [true, false, true, false, true]);
    r.root_mut().names().set(&["one", "a name that needs a block"][..]).unwrap();
    r.root_mut().names().extend_from_slice(&["", "exactly 11.", "twelve bytes"]).unwrap();
    r.root_mut().names().get_mut(3).unwrap().set("less").unwrap();
    assert_eq!(texts(&r), ["one", "a name that needs a block", "", "less", "twelve bytes"]);
    for image in [r.bytes().to_vec(), r.canonical()] {
        assert_eq!(Region::<Sheet>::adopt(&image).unwrap().canonical(), r.canonical());
    }
}

#[test]
fn bytes_that_were_used_before_do_not_shine_through() {
    let mut r = Region::<Sheet>::new();
    r.root_mut().names().set(&["full length"; 3][..]).unwrap();
    r.root_mut().names().get_mut(1).unwrap().set("ab").unwrap();
    r.root_mut().flags().set(&[true; 40][..]).unwrap();
    r.root_mut().flags().set(&[false; 3][..]).unwrap();
    r.root_mut().flags().push(true).unwrap();
    let mut fresh = Region::<Sheet>::new();
    fresh.root_mut().names().set(&["full length", "ab", "full length"][..]).unwrap();
    fresh.root_mut().flags().set(&[false, false, false, true][..]).unwrap();
    assert_eq!(r.canonical(), fresh.canonical());
}

#[test]
fn a_text_takes_any_text_after_any_other() {
    let lengths = if cfg!(miri) { &[0, 11, 12, 100][..] } else { &[0, 1, 11, 12, 17, 100] };
    let mut r = Region::<Sheet>::new();
    r.root_mut().names().set(&["", "a neighbour behind it"][..]).unwrap();
    for &before in lengths {
        for &after in lengths {
            let text = "z".repeat(after);
            r.root_mut().names().get_mut(0).unwrap().set(&*"y".repeat(before)).unwrap();
            r.root_mut().names().get_mut(0).unwrap().set(&*text).unwrap();
            assert_eq!(texts(&r), [&text, "a neighbour behind it"]);
            let mut fresh = Region::<Sheet>::new();
            fresh.root_mut().names().set(&[&*text, "a neighbour behind it"][..]).unwrap();
            assert_eq!(r.canonical(), fresh.canonical());
            assert!(
                !r.bytes().windows(2).any(|two| two == b"yy"),
                "{before} {after}: what was erased is zero"
            );
            Region::<Sheet>::adopt(r.bytes()).unwrap();
        }
    }
}

#[test]
fn there_is_no_place_behind_the_end() {
    let mut r = Region::<Sheet>::new();
    assert_eq!(r.root_mut().points().insert(1, Point::default()), Ok(false));
    assert_eq!(r.root_mut().names().insert(usize::MAX, "nowhere"), Ok(false));
    assert_eq!(r.root_mut().names().insert(0, "last"), Ok(true));
    assert_eq!(r.root_mut().names().insert(0, "the first, in a block"), Ok(true));
    assert_eq!(r.root_mut().names().insert(3, "nowhere"), Ok(false));
    assert_eq!(texts(&r), ["the first, in a block", "last"]);
    assert!(r.root().points().is_empty());
}

#[test]
fn keys_in_any_order_are_sorted() {
    let mut r = Region::<Sheet>::new();
    for id in [5, 7, 9, 9, 1, 8, 5, 10, 0] {
        let new = !r.root().ids().contains(id);
        assert_eq!(r.root_mut().ids().insert(id), Ok(new));
    }
    assert_eq!(r.root().ids().iter().collect::<Vec<_>>(), [0, 1, 5, 7, 8, 9, 10]);
    for (value, name) in (0..).zip(["b", "bb", "a", "bb", "c", "c", "a name with a block"]) {
        r.root_mut().by_name().insert(name, value).unwrap();
    }
    let entries: Vec<_> = r.root().by_name().iter().map(|(name, value)| (name, *value)).collect();
    assert_eq!(entries, [("a", 2), ("a name with a block", 6), ("b", 0), ("bb", 3), ("c", 5)]);
}

#[test]
fn nothing_is_appended_where_not_all_have_room() {
    let mut r = Region::<Sheet>::with_limit(512);
    r.root_mut().names().set(&["kept", "kept too"][..]).unwrap();
    let long = "x".repeat(200);
    r.root_mut().names().extend_from_slice(&["short", &long, &long]).unwrap_err();
    assert_eq!(texts(&r), ["kept", "kept too"]);
    r.root_mut().points().extend_from_slice(&[Point::default(); 100]).unwrap_err();
    assert!(r.root().points().is_empty());
    while r.root_mut().points().push(Point { x: 1.0, y: 2.0 }).is_ok() {}
    assert!(r.root().points().as_slice().iter().all(|p| *p == Point { x: 1.0, y: 2.0 }));
    Region::<Sheet>::adopt(r.bytes()).unwrap();
}

#[test]
fn a_boolean_among_many_that_is_none_is_named() {
    let mut r = Region::<Sheet>::new();
    r.root_mut().flags().set(&[true; 100][..]).unwrap();
    let mut bad = r.canonical();
    let last = bad.iter().rposition(|byte| *byte == 1).unwrap();
    bad[last - 1] = 0x81;
    let error = Region::<Sheet>::adopt(&bad).map(drop).unwrap_err().to_string();
    assert!(error.starts_with("flags[98]: 129 is not a boolean"), "{error}");
    bad[last - 1] = 0;
    assert!(view::<Sheet>(Region::<Sheet>::adopt(&bad).unwrap().bytes()).is_ok());
}

#[test]
fn elements_that_go_leave_zeros_and_the_room_stays() {
    region_struct! { struct Row: RowRef, RowMut { numbers: Vector<u32> } }
    let mut r = Region::<Row>::new();
    let mut row = r.root_mut();
    let mut numbers = row.numbers();
    numbers.set(&[0xdead_beef_u32; 8][..]).unwrap();
    numbers.set(&[1_u32, 2, 3][..]).unwrap();
    numbers.push(0xdead_beef).unwrap();
    assert!(numbers.pop());
    assert!(numbers.remove(0));
    assert!(!numbers.remove(2));
    assert_eq!(numbers.as_mut_slice(), [2, 3]);
    let image = r.bytes();
    // Header and root take 80 bytes, the eight numbers 32.
    assert_eq!(image.len(), 112);
    assert_eq!(image[80..], [[2, 0, 0, 0, 3, 0, 0, 0].as_slice(), &[0; 24]].concat());
    assert_eq!(r.canonical().len(), 96);
}
