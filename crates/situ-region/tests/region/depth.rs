//! Chains of links of any length: read, copied, compacted and released without recursion.

use situ_region::{
    HashMap, InvalidProblem, Maybe, Mut, OrderedMap, Region, Shared, SortedMap, Stored, Unique, Vector, view,
    view_packed,
};
use situ_region::{region_struct, region_union};

use crate::{Aligned, aligned, bytes};

region_struct! { struct Chain: ChainRef, ChainMut { number: u32, next: Unique<Chain> } }
region_struct! { struct Lists: ListsRef, ListsMut { number: u32, inner: Vector<Lists> } }
region_struct! { struct Graph: GraphRef, GraphMut { to: Shared<Graph>, also: Shared<Graph> } }

region_union! {
    union Other: OtherRef, OtherMut (u8) {
        1 => tree: OrderedMap<u32, Mixed>,
        default => table: HashMap<u32, Mixed>,
    }
}
region_struct! {
    struct Mixed: MixedRef, MixedMut {
        number: u32,
        sorted: SortedMap<u32, Mixed>,
        other: Other,
        alone: Maybe<Vector<Unique<Mixed>>>,
        shared: Shared<Mixed>,
    }
}

const LONG: u32 = if cfg!(miri) { 130 } else { 100_000 };
/// More than the 64 links that are followed by recursion.
const DEEP: u32 = if cfg!(miri) { 70 } else { 300 };

/// The canonical image of a `T`, with these blocks after the header.
fn image_of<T: Stored>(blocks: &[u8]) -> Vec<u8> {
    let mut image = Region::<T>::new().canonical()[..64].to_vec();
    image.extend_from_slice(blocks);
    let size = image.len() as u32;
    image[24..28].copy_from_slice(&size.to_le_bytes());
    image
}

/// Words of four bytes.
fn words(words: &[u32]) -> Vec<u8> {
    words.iter().flat_map(|word| word.to_le_bytes()).collect()
}

/// Reads, copies, compacts and releases the value of a canonical image.
fn goes_through_all<T: Stored>(canonical: &[u8], release: impl FnOnce(Mut<'_, T>)) {
    view::<T>(bytes(&mut aligned(canonical))).unwrap();
    let mut r = Region::<T>::adopt(canonical).unwrap();
    view::<T>(r.bytes()).unwrap();
    assert!(r.canonical() == canonical);
    assert!(r.root().to_region().unwrap().canonical() == canonical);
    let packed = r.packed();
    view_packed::<T>(&Aligned::of(&packed)).unwrap();
    let unpacked = Region::<T>::adopt(&packed).unwrap();
    assert!(unpacked.canonical() == canonical && unpacked.packed() == packed);
    r.compact_in_place();
    assert!(r.canonical() == canonical);
    r.compact().unwrap();
    assert!(r.canonical() == canonical);
    release(r.root_mut());
    r.trim();
    assert_eq!(r.bytes().len(), Region::<T>::new().bytes().len(), "only the root is left");
}

#[test]
fn a_chain_of_unique_links_has_any_length() {
    // A value has a number, a link, a link back, and four bytes that belong to nothing.
    let blocks: Vec<u8> = (0..LONG)
        .flat_map(|i| {
            let link = if i + 1 == LONG { 0 } else { 12 };
            words(&[i, link, (64 + 16 * i + 4).wrapping_neg(), 0])
        })
        .collect();
    goes_through_all::<Chain>(&image_of::<Chain>(&blocks), |mut root| root.next().clear());
}

#[test]
fn a_chain_of_vectors_has_any_length() {
    // A value has a number and a vector, and fills 20 of 32 bytes.
    let blocks: Vec<u8> = (0..LONG)
        .flat_map(|i| {
            let (link, len) = if i + 1 == LONG { (0, 0) } else { (28, 1) };
            words(&[i, link, len, len, (64 + 32 * i + 4).wrapping_neg(), 0, 0, 0])
        })
        .collect();
    goes_through_all::<Lists>(&image_of::<Lists>(&blocks), |mut root| {
        root.inner().clear();
        root.inner().shrink_to_fit();
    });
}

/// Values that lead to the next one twice: 2^LONG paths.
fn twice(last: u32) -> Vec<u8> {
    // The root has two links; its blocks follow. A block has the counts of links and weak links, and two
    // links.
    let mut all = words(&[16, (64_u32).wrapping_neg(), 8, (72_u32).wrapping_neg()]);
    for i in 0..LONG {
        let at = 80 + 32 * i;
        let (to, also) = if i + 1 == LONG { (last, 0) } else { (24, 16) };
        all.extend(words(&[2, 0, to, (at + 8).wrapping_neg(), also, (at + 16).wrapping_neg(), 0, 0]));
    }
    image_of::<Graph>(&all)
}

#[test]
fn a_chain_of_shared_links_has_any_length() {
    goes_through_all::<Graph>(&twice(0), |mut root| {
        root.to().clear();
        root.also().clear();
    });
}

#[test]
fn a_long_cycle_of_shared_links_is_refused() {
    // The last value leads to the second one, which then has three links.
    let last = 80 + 32 * (LONG - 1) + 8;
    let mut image = twice(112_u32.wrapping_sub(last));
    image[112] = 3;
    let refused = view::<Graph>(bytes(&mut aligned(&image))).map(drop).unwrap_err();
    let cycle = InvalidProblem::Cycle { to: 112 };
    assert_eq!(
        (refused.path.to_string().as_str(), refused.offset, &refused.problem),
        ("message", 112, &cycle)
    );
}

#[test]
fn a_path_begins_where_the_chain_that_was_noted_does() {
    let mut blocks: Vec<u8> = (0..70)
        .flat_map(|i| words(&[i, if i == 69 { 0 } else { 12 }, (64 + 16 * i + 4).wrapping_neg(), 0]))
        .collect();
    // 64 links are followed at once; the value behind the 65th is the first of those that are noted.
    blocks[16 * 67 + 8] ^= 1;
    let refused = view::<Chain>(bytes(&mut aligned(&image_of::<Chain>(&blocks)))).map(drop).unwrap_err();
    assert_eq!(refused.path.to_string(), "(deep).next.next.next");
    blocks[16 * 67 + 8] ^= 1;
    blocks[16 * 64 + 8] ^= 1;
    let refused = view::<Chain>(bytes(&mut aligned(&image_of::<Chain>(&blocks)))).map(drop).unwrap_err();
    assert_eq!(refused.path.to_string(), vec!["next"; 65].join("."));
}

/// Fills a value with others of all kinds, `depth` levels deep.
fn grow(mut value: Mut<'_, Mixed>, depth: u32) {
    value.number().set(depth).unwrap();
    if depth == 0 {
        return;
    }
    for key in 0..2 {
        value.sorted().entry(key).unwrap().number().set(100 + key).unwrap();
    }
    match depth % 5 {
        0 => grow(value.sorted().entry(1).unwrap(), depth - 1),
        1 => grow(value.other().table().unwrap().entry(7).unwrap(), depth - 1),
        2 => {
            value.other().select(1);
            grow(value.other().tree().unwrap().entry(7).unwrap(), depth - 1);
        }
        3 => {
            let mut alone = value.alone();
            let mut alone = alone.fill();
            alone.push_default().unwrap().fill().unwrap();
            let mut link = alone.push_default().unwrap();
            grow(link.fill().unwrap(), depth - 1);
            alone.push_default().unwrap().fill().unwrap();
        }
        _ => grow(value.shared().fill().unwrap(), depth - 1),
    }
    // Parts whose blocks come after those of the others.
    value.shared().fill().unwrap().number().set(200 + depth).unwrap();
}

#[test]
fn containers_of_all_kinds_may_be_nested_deeply() {
    let grown = || {
        let mut r = Region::<Mixed>::new();
        grow(r.root_mut(), DEEP);
        r
    };
    let canonical = grown().canonical();
    view::<Mixed>(grown().bytes()).unwrap();
    goes_through_all::<Mixed>(&canonical, |mut root| {
        root.sorted().clear();
        root.sorted().shrink_to_fit().unwrap();
        root.shared().clear();
    });
}
