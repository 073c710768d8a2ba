//! `PartialEq` of handles: by value, in one region and in several, and with values of the standard library.

#![allow(
    clippy::cmp_owned,
    clippy::eq_op,
    clippy::nonminimal_bool,
    clippy::op_ref,
    reason = "comparisons are tested from both sides, and with values of many types"
)]

use situ_region::{
    Bool, Full, HashMap, HashSet, Maybe, OrderedMap, Region, ShareError, Shared, SortedMap, Stored, Text,
    Unique, Vector, view_packed,
};
use situ_region::{region_plain, region_struct, region_union};

use crate::Aligned;
use crate::types::*;

/// A change of a value.
type Change<'a, T> = &'a mut dyn FnMut(&mut Region<T>);

/// The value equals copies of it in all forms, and no longer after each change.
fn is_itself<T: Stored>(r: &Region<T>, changes: &mut [Change<'_, T>]) {
    let copy = Region::<T>::adopt(&r.canonical()).unwrap();
    assert!(r.root() == copy.root() && *r == copy && copy == *r);
    assert!(r.root() == r.root());
    let (ours, theirs) = (r.packed(), copy.packed());
    let [ours, theirs] = [Aligned::of(&ours), Aligned::of(&theirs)];
    assert!(view_packed::<T>(&ours).unwrap() == view_packed::<T>(&theirs).unwrap());
    for (number, change) in changes.iter_mut().enumerate() {
        let mut other = r.clone();
        assert!(*r == other);
        change(&mut other);
        assert!(*r != other && other != *r, "change {number}");
        let theirs = other.packed();
        let theirs = Aligned::of(&theirs);
        assert!(view_packed::<T>(&ours).unwrap() != view_packed::<T>(&theirs).unwrap(), "change {number}");
        // The same change makes them equal again.
        let mut again = r.clone();
        change(&mut again);
        assert!(again == other, "change {number}");
    }
}

#[test]
fn values_are_equal_until_one_of_their_parts_changes() {
    is_itself(
        &character().unwrap(),
        &mut [
            &mut |r| *r.root_mut().id() = 9,
            &mut |r| r.root_mut().name().push_str("!").unwrap(),
            &mut |r| r.root_mut().pos().z += 1.0,
            &mut |r| r.root_mut().items().get_mut(20).unwrap().number += 1,
            &mut |r| assert!(r.root_mut().items().remove(20)),
            &mut |r| r.root_mut().path().as_mut_slice()[3].y = 0.5,
            &mut |r| assert!(r.root_mut().path().pop()),
            &mut |r| r.root_mut().equips().get_mut(1).unwrap().attributes().push(0.0_f32).unwrap(),
        ],
    );
    is_itself(
        &kitchen().unwrap(),
        &mut [
            &mut |r| r.root_mut().flag().set(false).unwrap(),
            &mut |r| r.root_mut().three()[1] = 0,
            &mut |r| r.root_mut().names().get_mut(1).unwrap().set("short").unwrap(),
            &mut |r| r.root_mut().maybe().clear(),
            &mut |r| r.root_mut().nickname().set(Some("")).unwrap(),
            &mut |r| *r.root_mut().tree().fill().unwrap().value() = 0,
            &mut |r| r.root_mut().tree().clear(),
            &mut |r| assert!(r.root_mut().words().insert("more").unwrap()),
            &mut |r| r.root_mut().lists().entry("even").unwrap().as_mut_slice()[0] = 3,
            &mut |r| {
                assert!(r.root_mut().numbers().remove(-100) && r.root_mut().numbers().insert(1).unwrap())
            },
            &mut |r| r.root_mut().gear().entry("bow").unwrap().level().set(1).unwrap(),
            &mut |r| r.root_mut().bits().get_mut(1).unwrap().set(true).unwrap(),
        ],
    );
    is_itself(
        &market().unwrap(),
        &mut [
            &mut |r| assert!(r.root_mut().index().remove(1) && r.root_mut().index().insert(2000).unwrap()),
            &mut |r| r.root_mut().prices().entry("price 3").unwrap().uuid += 1,
            &mut |r| r.root_mut().shape().select(2),
            &mut |r| r.root_mut().shape().label().unwrap().clear(),
            &mut |r| r.root_mut().choices().get_mut(1).unwrap().select(8),
            &mut |r| r.root_mut().texture().get_mut().unwrap().base().clear(),
            &mut |r| r.root_mut().boxed().get_mut(1).unwrap().get_mut().unwrap().id = 0,
            &mut |r| r.root_mut().blade().base().base().id = 0,
        ],
    );
}

region_struct! { struct Numbers: NumbersRef, NumbersMut { one: f64, many: Vector<f32>, keys: HashSet<f64> } }

#[test]
fn floating_point_numbers_are_compared_as_numbers_and_as_keys_by_their_bits() {
    let with = |one: f64, many: &[f32], keys: &[f64]| {
        let mut r = Region::<Numbers>::new();
        *r.root_mut().one() = one;
        r.root_mut().many().set(many).unwrap();
        r.root_mut().keys().extend(keys.iter().copied()).unwrap();
        r
    };
    assert!(with(0.0, &[-0.0], &[]) == with(-0.0, &[0.0], &[]));
    let nan = with(f64::NAN, &[], &[]);
    assert!(nan != nan.clone() && nan.root() != nan.root());
    let nan = with(1.0, &[f32::NAN], &[]);
    assert!(nan != nan.clone());
    let nan = with(1.0, &[], &[f64::NAN, 2.0]);
    assert!(nan == with(1.0, &[], &[2.0, f64::NAN]), "the order of insertion makes no difference");
    assert!(with(0.0, &[], &[0.0]) != with(0.0, &[], &[-0.0]));
}

#[test]
fn capacities_and_the_order_of_hash_tables_make_no_difference() {
    let mut one = Region::<HashMap<u32, Text>>::new();
    let mut other = Region::<HashMap<u32, Text>>::new();
    for i in 0..50 {
        one.root_mut().insert(i, format!("value {i}")).unwrap();
        other.root_mut().insert(49 - i, format!("value {}", 49 - i)).unwrap();
    }
    one.root_mut().reserve(1000).unwrap();
    for i in 50..60 {
        one.root_mut().insert(i, "gone").unwrap();
        assert!(one != other);
    }
    (50..60).for_each(|i| assert!(one.root_mut().remove(i)));
    assert!(one == other);
    // As many entries, with another key.
    one.root_mut().remove(7);
    one.root_mut().insert(77, "value 7").unwrap();
    assert!(one != other);
}

#[test]
fn parts_of_one_region_are_compared_with_each_other() {
    let mut r = kitchen().unwrap();
    let root = r.root();
    assert!(root.lists().get("odd").unwrap() != root.lists().get("even").unwrap());
    assert!(root.gear().get("bow").unwrap() == root.gear().get("sword").unwrap());
    let other = kitchen().unwrap();
    assert!(r.root_mut() == other.root() && other.root() == r.root_mut());
    assert!(r.root_mut() == other.clone().root_mut());
    assert_eq!(r.root().words(), other.root().words());
}

#[test]
fn shared_values_equal_copies_of_them() -> Result<(), ShareError> {
    let mut shared = Region::<Vector<Shared<Text>>>::new();
    let mut apart = Region::<Vector<Shared<Text>>>::new();
    shared.root_mut().push_default()?.fill()?.set("a text that is long enough")?;
    shared.root_mut().push_default()?;
    shared.root_mut().share(|all| all.get(0), |mut all, text| all.get_mut(1).unwrap().link(text))?;
    for _ in 0..2 {
        apart.root_mut().push_default()?.fill()?.set("a text that is long enough")?;
    }
    assert!(shared == apart && apart == shared);
    apart.root_mut().get_mut(1).unwrap().clear();
    assert!(shared != apart);
    apart.root_mut().get_mut(1).unwrap().fill()?.set("other")?;
    assert!(shared != apart && apart != shared);
    Ok(())
}

region_struct! { struct Graph: GraphRef, GraphMut { number: u32, to: Shared<Graph>, also: Shared<Graph> } }
region_struct! { struct Graphs: GraphsRef, GraphsMut { all: Vector<Shared<Graph>> } }

/// A row of values, each of which leads twice to the one before it.
fn ladder(steps: usize, last: u32) -> Result<Region<Graphs>, ShareError> {
    let mut r = Region::<Graphs>::new();
    for step in 0..steps {
        *r.root_mut().all().push_default()?.fill()?.number() = if step == 0 { last } else { 0 };
        let Some(before) = step.checked_sub(1) else { continue };
        r.root_mut().share(
            |graphs| graphs.all().get(before),
            |mut graphs, value| {
                let mut all = graphs.all();
                let mut graph = all.get_mut(step).unwrap();
                let mut graph = graph.get_mut().unwrap();
                graph.to().link(value)?;
                graph.also().link(value)
            },
        )?;
    }
    Ok(r)
}

/// As trees, they have 2^200 leaves, or 2^24 if the tests are interpreted.
#[test]
fn graphs_are_compared_value_by_value() -> Result<(), ShareError> {
    let steps = if cfg!(miri) { 24 } else { 200 };
    let (one, other, differs) = (ladder(steps, 1)?, ladder(steps, 1)?, ladder(steps, 2)?);
    assert!(one == other && one != differs);
    // Two values of one region.
    let all = one.root().all();
    assert!(all.get(steps - 1).unwrap() == all.last().unwrap());
    assert!(all.get(steps - 2).unwrap() != all.last().unwrap());
    Ok(())
}

region_struct! { struct Chain: ChainRef, ChainMut { number: u32, next: Unique<Chain> } }

/// A canonical image of a chain; the last value has the given number.
fn chain(length: u32, last: u32) -> Region<Chain> {
    let mut image = Region::<Chain>::new().canonical()[..64].to_vec();
    for i in 0..length {
        let (number, link) = if i + 1 == length { (last, 0) } else { (i, 12) };
        let back = (64 + 16 * i + 4).wrapping_neg();
        [number, link, back, 0].iter().for_each(|word| image.extend_from_slice(&word.to_le_bytes()));
    }
    let size = image.len() as u32;
    image[24..28].copy_from_slice(&size.to_le_bytes());
    Region::adopt(&image).unwrap()
}

#[test]
fn chains_of_any_length_are_compared() {
    let long = if cfg!(miri) { 300 } else { 300_000 };
    let one = chain(long, 0);
    assert!(one == chain(long, 0) && one != chain(long, 1) && one != chain(long - 1, 0));
}

region_union! { union Form: FormRef, FormMut (u8) { 1 | 2 => side: f32, default => name: Text } }

#[test]
fn unions_are_equal_with_equal_discriminators_and_values() {
    let mut r = Region::<[Form; 2]>::new();
    let select = |r: &mut Region<[Form; 2]>, values: [u8; 2]| {
        for (i, value) in values.into_iter().enumerate() {
            r.root_mut().get_mut(i).unwrap().select(value);
        }
        r.root().get(0).unwrap() == r.root().get(1).unwrap()
    };
    assert!(select(&mut r, [1, 1]) && select(&mut r, [0, 0]));
    assert!(!select(&mut r, [1, 2]) && !select(&mut r, [1, 0]));
    assert!(select(&mut r, [2, 2]));
    *r.root_mut().get_mut(1).unwrap().side().unwrap() = 0.5;
    assert!(r.root().get(0).unwrap() != r.root().get(1).unwrap());
}

region_plain! { struct Pair { a: u32, b: f32 } }
region_struct! {
    struct Values: ValuesRef, ValuesMut {
        number: u32,
        flag: Bool,
        pair: Pair,
        text: Text,
        numbers: Vector<u32>,
        texts: Vector<Text>,
        flags: Vector<Bool>,
        maybe: Maybe<Text>,
        nested: Vector<Vector<u8>>,
    }
}

#[test]
fn handles_are_compared_with_values_of_the_standard_library() -> Result<(), Full> {
    let mut r = Region::<Values>::new();
    let mut values = r.root_mut();
    *values.number() = 5;
    values.flag().set(true)?;
    *values.pair() = Pair { a: 1, b: 2.0 };
    values.text().set("a text")?;
    values.numbers().extend([1, 2, 3])?;
    values.texts().extend(["x", "y"])?;
    values.flags().extend([true, false])?;
    values.maybe().set(Some("there"))?;
    values.nested().extend([&[1_u8, 2], &[3, 4]])?;
    assert!(values.text() == "a text" && "a text" == values.text() && values.number() == 5);
    assert!(values.text() == String::from("a text") && String::from("a text") == values.text());
    assert!(values.numbers() == [1, 2, 3] && values.text() != *"another");

    let values = r.root();
    assert!(values.number() == 5 && values.number() != 6);
    assert!(values.flag() == true && values.flag() != false);
    assert!(values.pair() == Pair { a: 1, b: 2.0 } && values.pair() != Pair { a: 1, b: 2.5 });
    let text = String::from("a text");
    assert!(values.text() == "a text" && values.text() == *"a text" && values.text() == text);
    assert!("a text" == values.text() && *"a text" == values.text() && text == values.text());
    assert!("b" != values.text() && values.text() != String::new());
    let three = vec![1, 2, 3];
    assert!(values.numbers() == three && values.numbers() == [1, 2, 3] && values.numbers() == three[..]);
    assert!(three == values.numbers() && [1, 2, 3] == values.numbers() && three[..] == values.numbers());
    assert!(values.numbers() == &three[..] && &three[..] == values.numbers());
    assert!(values.numbers() != [1, 2] && values.numbers() != [1, 2, 4] && [1, 2, 3, 4] != values.numbers());
    assert!(values.texts() == ["x", "y"] && values.texts() == vec!["x".to_owned(), "y".to_owned()]);
    assert!(["x", "z"] != values.texts());
    assert!(values.flags() == [true, false]);
    assert!(
        values.maybe() == Some("there") && values.maybe() != Some("else") && values.maybe() != None::<&str>
    );
    assert!(values.nested() == [[1, 2], [3, 4]] && values.nested() != vec![vec![1, 2], vec![3]]);
    let packed = r.packed();
    let packed = Aligned::of(&packed);
    let packed = view_packed::<Values>(&packed).unwrap();
    assert!(packed.text() == text && "a text" == packed.text() && text == packed.text());
    Ok(())
}

#[test]
fn maps_of_all_kinds_are_compared_by_their_entries() -> Result<(), Full> {
    let (mut sorted, mut ordered) =
        (Region::<SortedMap<u8, Text>>::new(), Region::<OrderedMap<u8, Text>>::new());
    let (other_sorted, other_ordered) = (sorted.clone(), ordered.clone());
    sorted.root_mut().insert(1, "one")?;
    ordered.root_mut().insert(1, "one")?;
    assert!(sorted != other_sorted && ordered != other_ordered);
    let (mut other_sorted, mut other_ordered) = (other_sorted, other_ordered);
    // As many entries, with another key.
    other_sorted.root_mut().insert(2, "one")?;
    other_ordered.root_mut().insert(2, "one")?;
    assert!(sorted != other_sorted && ordered != other_ordered);
    other_sorted.root_mut().extend([(1, "one")])?;
    assert!(other_sorted.root_mut().remove(2));
    assert!(sorted == other_sorted);
    Ok(())
}
