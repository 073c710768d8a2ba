//! Values that move within a region, with all that they hold.

use situ_region::region_struct;
use situ_region::{Full, MoveError, Options, Region, ShareError, Shared, SortedMap, Text, Unique, Vector};

use crate::source::travels;

region_struct! {
    struct Tree: TreeRef, TreeMut { name: Text, left: Unique<Tree>, right: Unique<Tree>, others: Vector<Tree> }
}
region_struct! {
    struct Store: StoreRef, StoreMut {
        text: Text,
        texts: Vector<Text>,
        lists: SortedMap<u32, Vector<Text>>,
        number: u64,
        numbers: Vector<u64>,
        shared: Shared<Text>,
        links: Vector<Shared<Text>>,
    }
}

const LONG: &str = "a text that does not lie in the string itself";

fn store() -> Result<Region<Store>, ShareError> {
    let mut r = Region::<Store>::new();
    let mut store = r.root_mut();
    store.text().set(LONG)?;
    store.texts().extend(["short", "another text that has a block of its own"])?;
    store.lists().entry(3)?.extend(["x", LONG])?;
    *store.number() = 7;
    store.shared().fill()?.set("common, and long enough for a block")?;
    store.links().push_default()?;
    store.share(
        |store| Some(store.shared()),
        |mut store, text| store.links().get_mut(0).unwrap().link(text),
    )?;
    Ok(r)
}

#[test]
fn values_move_without_memory() -> Result<(), MoveError> {
    let mut r = store().unwrap();
    let free = r.free_bytes();
    let size = r.trim();
    // A text takes the place of another one, whose block becomes free.
    r.root_mut().move_within(
        |store| Some(store.text()),
        |mut store, text| store.texts().get_mut(1).unwrap().put(text),
    )?;
    assert_eq!(r.root().text(), "");
    assert_eq!(r.root().texts(), ["short", LONG]);
    assert!(r.free_bytes() > free && r.bytes().len() <= size);
    travels(&r);
    // Inline text, a number, a vector with all its elements.
    r.root_mut().move_within(|store| store.texts().first(), |mut store, text| store.text().put(text))?;
    assert_eq!(r.root().text(), "short");
    assert_eq!(r.root().texts(), ["", LONG]);
    r.root_mut().move_within(
        |store| Some(store.number()),
        |mut store, number| store.numbers().push_default()?.put(number),
    )?;
    assert!(r.root().number() == 0 && r.root().numbers() == [7]);
    let blocks = r.root().lists().get(3).unwrap().get(1).unwrap().as_ptr();
    r.root_mut().move_within(|store| store.lists().get(3), |mut store, list| store.texts().put(list))?;
    assert_eq!(r.root().texts(), ["x", LONG]);
    assert_eq!(r.root().lists().get(3).unwrap().len(), 0);
    assert_eq!(r.root().texts().get(1).unwrap().as_ptr(), blocks, "the text's own block did not move");
    travels(&r);
    Ok(())
}

/// The place that the value leaves moves while the other one is made.
#[test]
fn the_value_is_found_when_it_is_put() -> Result<(), MoveError> {
    let mut r = Region::<Vector<Text>>::new();
    r.root_mut().push(LONG)?;
    for i in 0..40 {
        r.root_mut().move_within(|texts| texts.get(i), |mut texts, text| texts.push_default()?.put(text))?;
        assert_eq!((r.root().get(i).unwrap().as_str(), r.root().last().unwrap().as_str()), ("", LONG));
    }
    assert_eq!(r.root().len(), 41);
    travels(&r);
    Ok(())
}

#[test]
fn a_value_stays_where_it_is_if_the_other_place_is_not_made() {
    let mut r = Region::<Store>::with_options(Options { limit: 512, ..Options::default() });
    r.root_mut().text().set(LONG).unwrap();
    let before = r.canonical();
    let full: Result<(), MoveError> = r.root_mut().move_within(
        |store| Some(store.text()),
        |mut store, text| {
            store.texts().reserve(100)?;
            store.texts().push_default()?.put(text)
        },
    );
    assert!(matches!(full, Err(MoveError::Full(_))), "{full:?}");
    let none =
        r.root_mut().move_within(|store| store.texts().get(5), |mut store, text| store.text().put(text));
    assert_eq!(none, Err(MoveError::Nothing));
    let own = r.root_mut().move_within(|store| Some(store.text()), |mut store, text| store.text().put(text));
    assert_eq!(own, Ok(()));
    // A value that is not put stays.
    let unused: Result<(), Full> = r.root_mut().move_within(|store| Some(store.text()), |_, _| Ok(()));
    assert_eq!(unused, Ok(()));
    assert!(r.canonical() == before);
}

#[test]
fn a_value_does_not_move_to_another_region() {
    let (mut one, mut other) = (store().unwrap(), store().unwrap());
    let before = [one.canonical(), other.canonical()];
    let moved =
        one.root_mut().move_within(|store| Some(store.text()), |_, text| other.root_mut().text().put(text));
    assert_eq!(moved, Err(MoveError::OtherRegion));
    assert!([one.canonical(), other.canonical()] == before);
}

/// A tree of some levels, with names that say the path.
fn tree(of: &mut situ_region::Mut<'_, Tree>, name: &str, levels: u32) -> Result<(), Full> {
    of.name().set(format!("{name}, a name of some length"))?;
    if levels != 0 {
        tree(&mut of.left().fill()?, &format!("{name}l"), levels - 1)?;
        tree(&mut of.right().fill()?, &format!("{name}r"), levels - 1)?;
        tree(&mut of.others().push_default()?, &format!("{name}o"), levels - 1)?;
    }
    Ok(())
}

fn with_levels(levels: u32) -> Region<Tree> {
    let mut r = Region::<Tree>::new();
    tree(&mut r.root_mut(), "t", levels).unwrap();
    r
}

#[test]
fn subtrees_move_to_other_branches() -> Result<(), MoveError> {
    let mut r = with_levels(3);
    let branch = r.root().left().get().unwrap().to_region()?;
    r.root_mut().move_within(
        |tree| Some(tree.left()),
        |mut tree, branch| {
            let mut others = tree.others();
            others.get_mut(0).unwrap().right().fill()?.left().put(branch)
        },
    )?;
    assert!(r.root().left().get().is_none());
    let moved = r.root().others().get(0).unwrap().right().get().unwrap().left();
    assert!(moved.get().unwrap() == branch.root());
    travels(&r);
    r.compact_in_place();
    assert!(r.root().others().get(0).unwrap().right().get().unwrap().left().get().unwrap() == branch.root());
    Ok(())
}

#[test]
fn a_child_takes_the_place_of_its_parent() -> Result<(), MoveError> {
    let mut r = with_levels(3);
    let child = r.root().left().get().unwrap().right().get().unwrap().to_region()?;
    r.root_mut()
        .move_within(|tree| Some(tree.left().get()?.right()), |mut tree, child| tree.left().put(child))?;
    assert!(r.root().left().get().unwrap() == child.root());
    travels(&r);
    // A whole struct, out of a vector within it.
    let other = r.root().others().get(0).unwrap().to_region()?;
    r.root_mut().move_within(|tree| tree.others().get(0), |mut tree, other| tree.put(other))?;
    assert!(r.root() == other.root());
    travels(&r);
    r.compact_in_place();
    let alone = other.canonical().len();
    assert!(r.canonical().len() == alone && r.bytes().len() <= alone, "the others are released");
    Ok(())
}

#[test]
fn a_value_does_not_move_into_itself() {
    let mut r = with_levels(3);
    let before = r.canonical();
    let moved = r.root_mut().move_within(
        |tree| Some(tree.left()),
        |mut tree, left| tree.left().get_mut().unwrap().others().get_mut(0).unwrap().right().put(left),
    );
    assert_eq!(moved, Err(MoveError::Inside));
    let moved = r.root_mut().move_within(
        |tree| Some(tree.others()),
        |mut tree, others| tree.others().get_mut(0).unwrap().left().get_mut().unwrap().others().put(others),
    );
    assert_eq!(moved, Err(MoveError::Inside));
    assert!(r.canonical() == before);
    travels(&r);
}

region_struct! { struct Node: NodeRef, NodeMut { number: u32, to: Vector<Shared<Node>>, own: Unique<Node> } }

#[test]
fn links_of_shared_values_make_no_cycle_by_a_move() -> Result<(), ShareError> {
    let mut r = Region::<Node>::new();
    // The root's own value leads to a shared one, to which the root leads too.
    *r.root_mut().to().push_default()?.fill()?.number() = 1;
    r.root_mut().own().fill()?.to().push_default()?;
    r.root_mut().share(
        |node| node.to().get(0),
        |mut node, one| node.own().get_mut().unwrap().to().get_mut(0).unwrap().link(one),
    )?;
    let before = r.canonical();
    let moved = r.root_mut().move_within(
        |node| Some(node.own()),
        |mut node, own| node.to().get_mut(0).unwrap().get_mut().unwrap().own().put(own),
    );
    assert_eq!(moved, Err(MoveError::Inside));
    assert!(r.canonical() == before);
    // Without the link, it may move there; then a link back is a cycle.
    r.root_mut().own().get_mut().unwrap().to().clear();
    r.root_mut()
        .move_within(
            |node| Some(node.own()),
            |mut node, own| node.to().get_mut(0).unwrap().get_mut().unwrap().own().put(own),
        )
        .unwrap();
    travels(&r);
    let cycle = r.root_mut().share(
        |node| node.to().get(0),
        |mut node, one| {
            let mut to = node.to();
            let mut shared = to.get_mut(0).unwrap();
            let mut shared = shared.get_mut().unwrap();
            shared.own().get_mut().unwrap().to().push_default()?.link(one)
        },
    );
    assert_eq!(cycle, Err(ShareError::Cycle));
    travels(&r);
    Ok(())
}

/// A shared link moves with its count.
#[test]
fn links_move() -> Result<(), MoveError> {
    let mut r = store().unwrap();
    r.root_mut().move_within(
        |store| Some(store.shared()),
        |mut store, link| store.links().push_default()?.put(link),
    )?;
    assert!(r.root().shared().get().is_none());
    let links = r.root().links();
    assert!(links.get(0).unwrap().is_same(links.get(1).unwrap()));
    assert_eq!(links.get(0).unwrap().links(), 2);
    // One of them takes the place of the other one: the value has a link less.
    r.root_mut().move_within(
        |store| store.links().get(1),
        |mut store, link| store.links().get_mut(0).unwrap().put(link),
    )?;
    assert_eq!(r.root().links().get(0).unwrap().links(), 1);
    travels(&r);
    Ok(())
}
