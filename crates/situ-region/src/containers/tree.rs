//! Ordered sets and maps within a region, for large data: B-trees.

use std::cmp::Ordering;
use std::marker::PhantomData;

use situ_layout::{Invalid, InvalidProblem};

use crate::containers::engine::Engine;
use crate::containers::key::Key;
use crate::containers::keyed::{Map, Set};
use crate::containers::node::{
    MAX_LEVELS, Node, Path, Shape, least, least_levels, most, node_bytes, node_problem, set_link,
};
use crate::containers::vector;
use crate::error::{Full, invalid};
use crate::image::check::{Check, CheckBehind};
use crate::image::writer::{WriteBehind, Writer};
use crate::memory::blocks::{Memory, MemoryMut, ReleaseBehind};
use crate::memory::granule::{target, u32_at};
use crate::memory::later::Place;
use crate::memory::slide::{Slide, SlideBehind};
use crate::value::element::{Element, Of, relocate};
use crate::value::handle::Ref;
use crate::value::stored::Stored;

/// Keys or entries in a B-tree.
#[doc(hidden)]
pub enum Tree {}

/// An ordered set for any number of keys.
pub type OrderedSet<K> = Set<K, Tree>;

/// An ordered map for any number of keys.
pub type OrderedMap<K, V> = Map<K, V, Tree>;

/// The number of elements that fit into the first node.
const FIRST: u32 = 4;

/// The new nodes of an insertion. They are freed if there is no memory for all of them.
struct Fresh {
    nodes: [Node; MAX_LEVELS as usize + 1],
    count: usize,
}

impl Fresh {
    fn add<E: Element>(&mut self, of: E, memory: &mut Memory, cap: u32, inner: bool) -> Result<(), Full> {
        let node = Node::allocate(of, memory, cap, inner)?;
        self.nodes[self.count] = node;
        self.count += 1;
        Ok(())
    }
}

/// Opens a place for an element at the end of the path, in a leaf. If there is no room, nothing changes.
fn open<E: Element>(of: E, memory: &mut Memory, at: u32, path: &Path) -> Result<u32, Full> {
    let (levels, most) = (path.levels as usize, most(of));
    let is_inner = |level: usize| level + 1 < levels;
    let full = |level: &usize| path.steps[*level].0.len(memory.bytes()) == most;
    // Full nodes are split, from the leaf up. The first node that is not full takes the element between the
    // halves.
    let splits = (0..levels).rev().take_while(full).count();
    if splits == levels && path.levels == MAX_LEVELS {
        return Err(memory.full());
    }
    let takes = (levels - splits).checked_sub(1);
    let mut fresh = Fresh { nodes: [Node(0); MAX_LEVELS as usize + 1], count: 0 };
    // The first new node is the new root, or the larger node, if there is one.
    let first = match takes {
        None => fresh.add(of, memory, most, true).map(|()| 1),
        Some(level) => {
            let (len, cap) =
                (path.steps[level].0.len(memory.bytes()), path.steps[level].0.cap(memory.bytes()));
            if len < cap {
                Ok(0)
            } else {
                fresh.add(of, memory, most.min(FIRST.max(cap * 2)), is_inner(level)).map(|()| 1)
            }
        }
    };
    let all = first.and_then(|first| {
        (levels - splits..levels)
            .try_for_each(|level| fresh.add(of, memory, most, is_inner(level)))
            .map(|()| first)
    });
    let first = match all {
        Ok(first) => first,
        Err(error) => {
            // Which new nodes are inner ones: the first if it is a new root or a replacement, the others by
            // their level.
            let begins = usize::from(fresh.count > 0 && fresh_is_first(takes, path, memory));
            for (i, node) in fresh.nodes[..fresh.count].iter().enumerate() {
                let level = if i < begins { takes } else { Some(levels - splits + i - begins) };
                node.free(of, memory, level.is_none_or(is_inner));
            }
            return Err(error);
        }
    };
    let (mut slot, mut link) = match takes {
        None => {
            let (root, old) = (fresh.nodes[0], path.steps[0].0);
            root.set_len(memory, 1);
            set_link(memory, root.link(of, memory.bytes(), 0), old);
            set_link(memory, at, root);
            memory.set_u32(at + 8, path.levels + 1);
            (root.element(of, 0), root.link(of, memory.bytes(), 1))
        }
        Some(level) => {
            let (mut node, index) = path.steps[level];
            if first == 1 {
                let link = link_to(of, memory.bytes(), at, path, level);
                node = replace(of, memory, link, node, fresh.nodes[0], is_inner(level));
            }
            node.open(of, memory, index, is_inner(level));
            let link = if is_inner(level) { node.link(of, memory.bytes(), index + 1) } else { 0 };
            (node.element(of, index), link)
        }
    };
    for (level, right) in (levels - splits..levels).zip(&fresh.nodes[first..]) {
        set_link(memory, link, *right);
        (slot, link) = split(of, memory, path.steps[level], *right, slot, is_inner(level));
    }
    Ok(slot)
}

/// Whether an insertion's first new node is a new root or replaces a smaller one.
fn fresh_is_first(takes: Option<usize>, path: &Path, memory: &Memory) -> bool {
    takes.is_none_or(|level| {
        let node = path.steps[level].0;
        node.len(memory.bytes()) == node.cap(memory.bytes())
    })
}

/// The place of the link to the node of a level.
fn link_to<E: Element>(of: E, image: &[u8], at: u32, path: &Path, level: usize) -> u32 {
    match level.checked_sub(1).map(|above| path.steps[above]) {
        Some((node, index)) => node.link(of, image, index),
        None => at,
    }
}

/// Moves the content of a node to a larger one, and makes the link lead there.
fn replace<E: Element>(of: E, memory: &mut Memory, link: u32, old: Node, new: Node, inner: bool) -> Node {
    let len = old.len(memory.bytes());
    old.move_elements(of, memory, 0, len, new, 0);
    if inner {
        old.move_links(of, memory, 0, len + 1, new, 0);
    }
    new.set_len(memory, len);
    set_link(memory, link, new);
    old.free(of, memory, inner);
    new
}

/// Splits a full node in two as if there were another element at `index`, with a child after it. `slot` is
/// the place of the element between the two. Returns the place of the other element, and that of the link to
/// its child.
fn split<E: Element>(
    of: E,
    memory: &mut Memory,
    (left, index): (Node, u32),
    right: Node,
    slot: u32,
    inner: bool,
) -> (u32, u32) {
    let (most, keep) = (most(of), least(of));
    match index.cmp(&keep) {
        Ordering::Less => {
            left.move_elements(of, memory, keep, most - keep, right, 0);
            relocate(of, memory, left.element(of, keep - 1), slot, 1);
            if inner {
                left.move_links(of, memory, keep, most - keep + 1, right, 0);
            }
            right.set_len(memory, most - keep);
            left.cut(of, memory, keep - 1, inner);
            left.open(of, memory, index, inner);
            let link = if inner { left.link(of, memory.bytes(), index + 1) } else { 0 };
            (left.element(of, index), link)
        }
        Ordering::Equal => {
            left.move_elements(of, memory, keep, most - keep, right, 0);
            let mut link = 0;
            if inner {
                left.move_links(of, memory, keep + 1, most - keep, right, 1);
                link = right.link(of, memory.bytes(), 0);
            }
            right.set_len(memory, most - keep);
            left.cut(of, memory, keep, inner);
            (slot, link)
        }
        Ordering::Greater => {
            left.move_elements(of, memory, keep + 1, most - keep - 1, right, 0);
            relocate(of, memory, left.element(of, keep), slot, 1);
            if inner {
                left.move_links(of, memory, keep + 1, most - keep, right, 0);
            }
            right.set_len(memory, most - keep - 1);
            left.cut(of, memory, keep, inner);
            let index = index - keep - 1;
            right.open(of, memory, index, inner);
            let link = if inner { right.link(of, memory.bytes(), index + 1) } else { 0 };
            (right.element(of, index), link)
        }
    }
}

/// The element of a key.
pub(crate) fn find<E: Element, K: Key>(of: E, image: &[u8], at: u32, key: K::View<'_>) -> Option<u32> {
    let mut node = Node(target(image, at));
    for below in (0..u32_at(image, at + 8)).rev() {
        match node.search::<E, K>(of, image, key) {
            Ok(index) => return Some(node.element(of, index)),
            Err(index) if below != 0 => node = node.child(of, image, index),
            Err(_) => {}
        }
    }
    None
}

/// The element of a key, and whether it is new. If there is no room, the content is unchanged.
pub(crate) fn insert<E: Element, K: Key>(
    of: E,
    memory: &mut Memory,
    at: u32,
    key: K::View<'_>,
) -> Result<(u32, bool), Full> {
    let (path, found) = Path::to::<E, K>(of, memory.bytes(), at, key);
    if found {
        return Ok((path.place(of), false));
    }
    if !K::LINKS {
        let place = insert_at(of, memory, at, &path)?;
        K::put(MemoryMut(memory), place, key)?;
        return Ok((place, true));
    }
    // Allocates first, so that nothing changes if there is no memory.
    let made = memory.allocate(u64::from(K::SIZE))?;
    K::begin(MemoryMut(memory), made);
    let place = K::put(MemoryMut(memory), made, key).and_then(|()| insert_at(of, memory, at, &path));
    match place {
        Ok(place) => relocate(Of::<K>::TYPE, memory, made, place, 1),
        Err(_) => K::release(MemoryMut(memory), made),
    }
    memory.free(made, u64::from(K::SIZE));
    Ok((place?, true))
}

/// Removes a key; false if it does not exist.
pub(crate) fn remove<E: Element, K: Key>(of: E, memory: &mut Memory, at: u32, key: K::View<'_>) -> bool {
    let (path, found) = Path::to::<E, K>(of, memory.bytes(), at, key);
    if found {
        remove_at(of, memory, at, path);
    }
    found
}

/// Inserts a default element at the end of the path.
fn insert_at<E: Element>(of: E, memory: &mut Memory, at: u32, path: &Path) -> Result<u32, Full> {
    let place = if path.levels == 0 {
        let node = Node::allocate(of, memory, FIRST, false)?;
        node.set_len(memory, 1);
        set_link(memory, at, node);
        memory.set_u32(at + 8, 1);
        node.element(of, 0)
    } else {
        open(of, memory, at, path)?
    };
    let len = memory.u32(at + 4);
    memory.set_u32(at + 4, len + 1);
    memory.zero(place, of.size());
    of.begin(memory, place);
    Ok(place)
}

/// Removes the element at the end of a path.
fn remove_at<E: Element>(of: E, memory: &mut Memory, at: u32, mut path: Path) {
    let (node, index) = path.last();
    of.release(memory, node.element(of, index));
    if !path.is_leaf() {
        // The previous element, which is in a leaf, takes its place.
        let child = node.child(of, memory.bytes(), index);
        path.go_last(of, memory.bytes(), child);
        relocate(of, memory, path.place(of), node.element(of, index), 1);
    }
    let (leaf, index) = path.last();
    leaf.close(of, memory, index, false);
    let len = memory.u32(at + 4);
    memory.set_u32(at + 4, len - 1);
    for level in (1..path.levels as usize).rev() {
        if path.steps[level].0.len(memory.bytes()) >= least(of) {
            return;
        }
        if !fill(of, memory, &path, level) {
            return;
        }
    }
    let root = path.steps[0].0;
    if root.len(memory.bytes()) == 0 {
        let inner = path.levels > 1;
        if inner {
            let child = root.child(of, memory.bytes(), 0);
            set_link(memory, at, child);
        } else {
            memory.set_u32(at, 0);
        }
        memory.set_u32(at + 8, path.levels - 1);
        root.free(of, memory, inner);
    }
}

/// Moves an element from a neighbour to a node that has become too small, or merges the two. After a merge,
/// the node above may have too few elements; the result is then true. Without memory for this, a node stays
/// as it is unless it is empty.
fn fill<E: Element>(of: E, memory: &mut Memory, path: &Path, level: usize) -> bool {
    let inner = level + 1 < path.levels as usize;
    let (above, index) = path.steps[level - 1];
    let node = path.steps[level].0;
    let before = (index > 0).then(|| above.child(of, memory.bytes(), index - 1));
    let behind = (index < above.len(memory.bytes())).then(|| above.child(of, memory.bytes(), index + 1));
    let len = |memory: &Memory, node: Option<Node>| node.map_or(0, |node| node.len(memory.bytes()));
    let borrow = |memory: &mut Memory, more_than: u32| match (before, behind) {
        (Some(from), _) if len(memory, before) > more_than => {
            borrow_last(of, memory, from, above.element(of, index - 1), node, inner);
            true
        }
        (_, Some(from)) if len(memory, behind) > more_than => {
            borrow_first(of, memory, from, above.element(of, index), node, inner);
            true
        }
        _ => false,
    };
    if borrow(memory, least(of)) {
        return false;
    }
    let (mut left, between, right) = match (before, behind) {
        (Some(before), _) => (before, index - 1, node),
        (None, Some(behind)) => (node, index, behind),
        (None, None) => return false,
    };
    let (left_len, right_len) = (left.len(memory.bytes()), right.len(memory.bytes()));
    if left_len + 1 + right_len > left.cap(memory.bytes()) {
        let Ok(larger) = Node::allocate(of, memory, most(of), inner) else {
            // A neighbour with one element would have been merged: every node but the root has room for four
            // or more.
            if node.len(memory.bytes()) == 0 {
                borrow(memory, 1);
            }
            return false;
        };
        let link = above.link(of, memory.bytes(), between);
        left = replace(of, memory, link, left, larger, inner);
    }
    relocate(of, memory, above.element(of, between), left.element(of, left_len), 1);
    right.move_elements(of, memory, 0, right_len, left, left_len + 1);
    if inner {
        right.move_links(of, memory, 0, right_len + 1, left, left_len + 1);
    }
    left.set_len(memory, left_len + 1 + right_len);
    right.free(of, memory, inner);
    above.close(of, memory, between, true);
    true
}

/// Moves the last element of the previous node to a node, through the element between them.
fn borrow_last<E: Element>(of: E, memory: &mut Memory, from: Node, between: u32, node: Node, inner: bool) {
    let (count, last) = (node.len(memory.bytes()), from.len(memory.bytes()) - 1);
    node.move_elements(of, memory, 0, count, node, 1);
    relocate(of, memory, between, node.element(of, 0), 1);
    relocate(of, memory, from.element(of, last), between, 1);
    if inner {
        node.move_links(of, memory, 0, count + 1, node, 1);
        from.move_links(of, memory, last + 1, 1, node, 0);
    }
    node.set_len(memory, count + 1);
    from.cut(of, memory, last, inner);
}

/// Moves the first element of the next node to a node, through the element between them.
fn borrow_first<E: Element>(of: E, memory: &mut Memory, from: Node, between: u32, node: Node, inner: bool) {
    let (count, rest) = (node.len(memory.bytes()), from.len(memory.bytes()) - 1);
    relocate(of, memory, between, node.element(of, count), 1);
    relocate(of, memory, from.element(of, 0), between, 1);
    from.move_elements(of, memory, 1, rest, from, 0);
    if inner {
        from.move_links(of, memory, 0, 1, node, count + 1);
        from.move_links(of, memory, 1, rest + 1, from, 0);
    }
    node.set_len(memory, count + 1);
    from.cut(of, memory, rest, inner);
}

fn release_node<E: Element>(of: E, memory: &mut Memory, node: Node, levels: u32) {
    let len = node.len(memory.bytes());
    for index in 0..len {
        of.release(memory, node.element(of, index));
    }
    if levels > 1 {
        for index in 0..=len {
            let child = node.child(of, memory.bytes(), index);
            release_node(of, memory, child, levels - 1);
        }
    }
    node.free(of, memory, levels > 1);
}

fn release<E: Stored>(memory: &mut Memory, at: u32) {
    let (root, levels) = (target(memory.bytes(), at), memory.u32(at + 8));
    memory.zero(at, 12);
    if levels != 0 {
        memory.release::<Nodes<E>>([root, levels, 0]);
    }
}

/// All nodes of a tree, which are one level of a chain of links.
struct Nodes<E>(PhantomData<fn() -> E>);

impl<E: Stored> ReleaseBehind for Nodes<E> {
    fn release(memory: &mut Memory, [root, levels, _]: Place) {
        release_root(Of::<E>::TYPE, memory, [root, levels, 0]);
    }
}

/// Releases all nodes of a tree.
pub(crate) fn release_root<E: Element>(of: E, memory: &mut Memory, [root, levels, _]: Place) {
    release_node(of, memory, Node(root), levels);
}

impl<E: Stored> SlideBehind for Nodes<E> {
    fn slide(slide: &mut Slide<'_>, [at, levels, _]: Place) {
        slide_node::<E>(slide, at, levels, 1);
    }
}

impl<E: Stored> WriteBehind for Nodes<E> {
    fn write(writer: &mut Writer<'_>, [from, to, _]: Place) {
        write_nodes(Of::<E>::TYPE, writer, from, to);
    }
}

/// Writes all nodes of the tree at `from`, in their canonical shape.
pub(crate) fn write_nodes<E: Element>(of: E, writer: &mut Writer<'_>, from: u32, to: u32) {
    let len = vector::len(writer.image(), from);
    let mut next = Path::begin(of, writer.image(), from);
    write_node(of, writer, &mut next, len, least_levels(of, len), to);
}

/// All nodes of a tree, in a check.
struct InOrder<E, K>(PhantomData<fn() -> (E, K)>);

impl<E: Stored, K: Key> CheckBehind for InOrder<E, K> {
    fn check<const CANONICAL: bool>(
        check: &mut Check<'_, CANONICAL>,
        [at, len, levels]: Place,
    ) -> Result<(), Invalid> {
        let mut seen = Seen { count: 0, last: None, at };
        check_node::<E, K, CANONICAL>(check, &mut seen, at, levels, CANONICAL.then_some(len))?;
        if seen.count != len {
            return invalid(at, InvalidProblem::WrongTotal { len, found: seen.count });
        }
        Ok(())
    }
}

/// Visits the node to which the link at `link` leads, and all nodes below it, in a walk of a compaction.
fn slide_node<E: Stored>(slide: &mut Slide<'_>, link: u32, levels: u32, least_cap: u32) {
    let of = Of::<E>::TYPE;
    let Some(node) = slide.link(link).map(Node) else { return };
    let inner = levels > 1;
    if let Some(memory) = slide.trims() {
        node.trim(of, memory, least_cap, inner);
    }
    let len = node.len(slide.image());
    slide.elements::<E>(node.element(of, 0), len);
    if inner {
        for index in 0..=len {
            let link = node.link(of, slide.image(), index);
            slide_node::<E>(slide, link, levels - 1, least(of));
        }
    }
}

/// Writes the canonical subtree of the next `count` elements.
fn write_node<E: Element>(
    of: E,
    writer: &mut Writer<'_>,
    next: &mut Path,
    count: u32,
    levels: u32,
    link: u32,
) {
    let image = writer.image();
    let shape = Shape::of(of, count, levels);
    let inner = shape.children != 0;
    let len = if inner { shape.children - 1 } else { count };
    let node = Node(writer.place(link, node_bytes(of, len, inner)));
    writer.put_u32(node.0, len | len << 16);
    let links = node.0 + node_bytes(of, len, true) as u32 - 4 * (len + 1);
    for index in 0..=len {
        if inner {
            write_node(of, writer, next, shape.child(index), levels - 1, links + 4 * index);
        }
        if index < len {
            of.write(writer, next.place(of), node.element(of, index));
            next.next(of, image);
        }
    }
}

/// The state of a tree's check.
struct Seen {
    count: u32,
    last: Option<u32>,
    at: u32,
}

/// Checks the node to which a link leads. In a canonical image, its subtree has `wanted` elements.
fn check_node<E: Stored, K: Key, const CANONICAL: bool>(
    check: &mut Check<'_, CANONICAL>,
    seen: &mut Seen,
    link: u32,
    levels: u32,
    wanted: Option<u32>,
) -> Result<(), Invalid> {
    let of = Of::<E>::TYPE;
    let node = Node(check.peek(link, 4)?);
    let (len, cap) = (node.len(check.image()), node.cap(check.image()));
    let shape = wanted.map(|count| (Shape::of(of, count, levels), count));
    let here = shape.map(|(shape, count)| if levels > 1 { shape.children - 1 } else { count });
    if let Some(problem) = node_problem(of, len, cap, link == seen.at, here) {
        return invalid(node.0, problem);
    }
    let inner = levels > 1;
    let bytes = node_bytes(of, cap, inner);
    check.claim(link, bytes, bytes)?;
    check.zero(node.0 + 4, node.element(of, 0))?;
    if inner {
        check.zero(node.element(of, cap), node.link(of, check.image(), 0))?;
    }
    for index in 0..=len {
        if inner {
            let child = node.link(of, check.image(), index);
            let wanted = shape.map(|(shape, _)| shape.child(index));
            check_node::<E, K, CANONICAL>(check, seen, child, levels - 1, wanted)?;
        }
        if index < len {
            let place = node.element(of, index);
            E::check(check, place).map_err(|error| error.in_element(seen.count))?;
            if seen.last.is_some_and(|last| K::compare_in(check.image(), last, place) != Ordering::Less) {
                return invalid(seen.at, InvalidProblem::NotSorted { index: seen.count });
            }
            seen.last = Some(place);
            seen.count += 1;
        }
    }
    Ok(())
}

impl Engine for Tree {
    const KINDS: [&'static str; 2] = ["ordered_set", "ordered_map"];
    type Elements<'a, E: Stored> = Elements<'a, E>;

    fn elements<E: Stored>(image: &[u8], at: u32) -> Elements<'_, E> {
        Elements::new(image, at, Path::begin(Of::<E>::TYPE, image, at), Path::end(image, at))
    }
    fn find<E: Stored, K: Key>(image: &[u8], at: u32, key: K::View<'_>) -> Option<u32> {
        find::<_, K>(Of::<E>::TYPE, image, at, key)
    }
    fn insert<E: Stored, K: Key>(
        MemoryMut(memory): MemoryMut<'_>,
        at: u32,
        key: K::View<'_>,
    ) -> Result<(u32, bool), Full> {
        insert::<_, K>(Of::<E>::TYPE, memory, at, key)
    }
    fn remove<E: Stored, K: Key>(MemoryMut(memory): MemoryMut<'_>, at: u32, key: K::View<'_>) -> bool {
        remove::<_, K>(Of::<E>::TYPE, memory, at, key)
    }
    fn clear<E: Stored>(MemoryMut(memory): MemoryMut<'_>, at: u32) {
        release::<E>(memory, at);
    }
    fn slide<E: Stored, K: Key>(slide: &mut Slide<'_>, at: u32) {
        slide.back_link(at, at + 12);
        let levels = u32_at(slide.image(), at + 8);
        if levels != 0 {
            slide.behind::<Nodes<E>>([at, levels, 0]);
        }
    }
    fn release<E: Stored>(MemoryMut(memory): MemoryMut<'_>, at: u32) {
        release::<E>(memory, at);
    }
    fn write<E: Stored, K: Key>(writer: &mut Writer<'_>, from: u32, to: u32) {
        let len = vector::len(writer.image(), from);
        let levels = least_levels(Of::<E>::TYPE, len);
        writer.container(to, len, levels);
        if levels != 0 {
            writer.linked::<Nodes<E>>([from, to, 0]);
        }
    }
    fn check<E: Stored, K: Key, const CANONICAL: bool>(
        check: &mut Check<'_, CANONICAL>,
        at: u32,
    ) -> Result<(), Invalid> {
        check.back_link(at, at + 12)?;
        let (len, levels) = (u32_at(check.image(), at + 4), u32_at(check.image(), at + 8));
        let wanted = least_levels(Of::<E>::TYPE, len);
        let exact = CANONICAL || len == 0 || levels == 0;
        if levels > MAX_LEVELS || (exact && levels != wanted) {
            return invalid(at, InvalidProblem::WrongLevels { found: levels, wanted });
        }
        if levels == 0 {
            return check.no_block(at);
        }
        check.behind::<InOrder<E, K>>(at, [at, len, levels])
    }
}

/// The elements of a tree, as a double-ended iterator.
#[doc(hidden)]
pub struct Elements<'a, E> {
    image: &'a [u8],
    at: u32,
    front: Path,
    behind: Path,
    of: PhantomData<fn() -> E>,
}

impl<'a, E: Stored> Elements<'a, E> {
    /// The elements from one to before another.
    pub(crate) fn new(image: &'a [u8], at: u32, front: Path, behind: Path) -> Self {
        Self { image, at, front, behind, of: PhantomData }
    }
}

impl<'a, E: Stored> Iterator for Elements<'a, E> {
    type Item = Ref<'a, E>;
    fn next(&mut self) -> Option<Ref<'a, E>> {
        if self.front == self.behind {
            return None;
        }
        let place = self.front.place(Of::<E>::TYPE);
        self.front.next(Of::<E>::TYPE, self.image);
        Some(Ref::new(self.image, place))
    }
}

impl<'a, E: Stored> DoubleEndedIterator for Elements<'a, E> {
    fn next_back(&mut self) -> Option<Ref<'a, E>> {
        if self.front == self.behind {
            return None;
        }
        self.behind.back(Of::<E>::TYPE, self.image, self.at);
        Some(Ref::new(self.image, self.behind.place(Of::<E>::TYPE)))
    }
}
