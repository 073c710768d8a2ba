//! The nodes of trees, as `spec/region.md` lays them out, and the path from one element to the next.

use std::cmp::Ordering;

use situ_layout::InvalidProblem;

use crate::containers::key::Key;
use crate::error::Full;
use crate::memory::blocks::Memory;
use crate::memory::granule::{target, u32_at};
use crate::value::element::{Element, relocate};

/// The greatest number of levels of a tree.
pub(crate) const MAX_LEVELS: u32 = 16;

/// The offset of the elements in a node.
pub(crate) fn first<E: Element>(of: E) -> u32 {
    if of.align() > 4 { of.align() } else { 4 }
}

/// The greatest number of elements of a node.
pub(crate) fn most<E: Element>(of: E) -> u32 {
    ((256 - first(of)) / of.size()).clamp(8, 63)
}

/// The smallest capacity of a node other than the root, and the fewest elements that remain in a node if
/// there is memory.
pub(crate) fn least<E: Element>(of: E) -> u32 {
    most(of) / 2
}

/// The offset of the links in an inner node.
fn links<E: Element>(of: E, cap: u32) -> u32 {
    (first(of) + cap * of.size()).next_multiple_of(4)
}

/// The size of a node.
pub(crate) fn node_bytes<E: Element>(of: E, cap: u32, inner: bool) -> u64 {
    (if inner { links(of, cap) + 4 * (cap + 1) } else { first(of) + cap * of.size() }) as u64
}

/// The smallest number of levels for `count` elements.
pub(crate) fn least_levels<E: Element>(of: E, count: u32) -> u32 {
    let (mut levels, mut room) = (0, 1_u64);
    while u64::from(count) >= room {
        room *= u64::from(most(of)) + 1;
        levels += 1;
    }
    levels
}

/// The canonical shape of a subtree of `count` elements and `levels` levels. It gives the number of children
/// of its root, which is 0 for a leaf, and the number of elements of the child `index`.
#[derive(Clone, Copy)]
pub(crate) struct Shape {
    pub children: u32,
    part: u32,
    larger: u32,
}

impl Shape {
    pub(crate) fn of<E: Element>(of: E, count: u32, levels: u32) -> Self {
        if levels == 1 {
            return Self { children: 0, part: 0, larger: 0 };
        }
        let room = (u64::from(most(of)) + 1).pow(levels - 1);
        let gaps = u64::from(count) + 1;
        let children = gaps.div_ceil(room);
        Self { children: children as u32, part: (gaps / children) as u32, larger: (gaps % children) as u32 }
    }

    pub(crate) fn child(self, index: u32) -> u32 {
        self.part + u32::from(index < self.larger) - 1
    }
}

/// A node, by its offset. The element's type decides its content.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) struct Node(pub u32);

impl Node {
    fn header(self, image: &[u8]) -> (u32, u32) {
        let both = u32_at(image, self.0);
        (both & 0xffff, both >> 16)
    }

    pub(crate) fn len(self, image: &[u8]) -> u32 {
        self.header(image).0
    }

    pub(crate) fn cap(self, image: &[u8]) -> u32 {
        self.header(image).1
    }

    pub(crate) fn set_len(self, memory: &mut Memory, len: u32) {
        let cap = self.cap(memory.bytes());
        memory.set_u32(self.0, len | cap << 16);
    }

    /// The offset of an element.
    pub(crate) fn element<E: Element>(self, of: E, index: u32) -> u32 {
        self.0 + first(of) + index * of.size()
    }

    /// The offset of the link to a child.
    pub(crate) fn link<E: Element>(self, of: E, image: &[u8], index: u32) -> u32 {
        self.0 + links(of, self.cap(image)) + 4 * index
    }

    pub(crate) fn child<E: Element>(self, of: E, image: &[u8], index: u32) -> Self {
        Self(target(image, self.link(of, image, index)))
    }

    /// The index of a key in this node (`Ok`), or the index where it belongs.
    pub(crate) fn search<E: Element, K: Key>(
        self,
        of: E,
        image: &[u8],
        key: K::View<'_>,
    ) -> Result<u32, u32> {
        let (mut low, mut high) = (0, self.len(image));
        while low < high {
            let middle = low + (high - low) / 2;
            match K::compare(image, self.element(of, middle), key) {
                Ordering::Less => low = middle + 1,
                Ordering::Equal => return Ok(middle),
                Ordering::Greater => high = middle,
            }
        }
        Err(low)
    }

    /// A new node without elements.
    pub(crate) fn begin(memory: &mut Memory, block: u32, cap: u32) -> Self {
        memory.set_u32(block, cap << 16);
        Self(block)
    }

    pub(crate) fn allocate<E: Element>(
        of: E,
        memory: &mut Memory,
        cap: u32,
        inner: bool,
    ) -> Result<Self, Full> {
        let block = memory.allocate(node_bytes(of, cap, inner))?;
        Ok(Self::begin(memory, block, cap))
    }

    pub(crate) fn free<E: Element>(self, of: E, memory: &mut Memory, inner: bool) {
        let cap = self.cap(memory.bytes());
        memory.free(self.0, node_bytes(of, cap, inner));
    }

    /// Moves elements of this node to another place, and zeroes their old place.
    pub(crate) fn move_elements<E: Element>(
        self,
        of: E,
        memory: &mut Memory,
        from: u32,
        count: u32,
        to: Self,
        index: u32,
    ) {
        relocate(of, memory, self.element(of, from), to.element(of, index), count);
    }

    /// Moves links of this node to another place.
    pub(crate) fn move_links<E: Element>(
        self,
        of: E,
        memory: &mut Memory,
        from: u32,
        count: u32,
        to: Self,
        index: u32,
    ) {
        let (from, to) = (self.link(of, memory.bytes(), from), to.link(of, memory.bytes(), index));
        let mut each = |i: u32| {
            let child = target(memory.bytes(), from + 4 * i);
            memory.set_u32(to + 4 * i, child.wrapping_sub(to + 4 * i));
        };
        if to > from { (0..count).rev().for_each(&mut each) } else { (0..count).for_each(&mut each) }
    }

    /// Shortens the node to `len` elements, and zeroes the elements after them and the links to their
    /// children.
    pub(crate) fn cut<E: Element>(self, of: E, memory: &mut Memory, len: u32, inner: bool) {
        let cap = self.cap(memory.bytes());
        memory.zero(self.element(of, len), (cap - len) * of.size());
        if inner {
            let link = self.link(of, memory.bytes(), len + 1);
            memory.zero(link, (cap - len) * 4);
        }
        self.set_len(memory, len);
    }

    /// Reduces the capacity of the node, to `least` at least. There stays room for one element or more.
    pub(crate) fn trim<E: Element>(self, of: E, memory: &mut Memory, least: u32, inner: bool) {
        let (len, cap) = self.header(memory.bytes());
        let kept = len.max(least);
        if kept >= cap {
            return;
        }
        let bytes = node_bytes(of, cap, inner);
        memory.set_u32(self.0, len | kept << 16);
        if inner {
            let (from, to) = (self.0 + links(of, cap), self.0 + links(of, kept));
            // Downwards: no link that still has to be moved is overwritten.
            for i in 0..=len {
                let child = target(memory.bytes(), from + 4 * i);
                memory.set_u32(to + 4 * i, child.wrapping_sub(to + 4 * i));
            }
            let end = to + 4 * (len + 1);
            memory.zero(end, self.0 + bytes as u32 - end);
        }
        memory.shorten(self.0, bytes, node_bytes(of, kept, inner));
    }

    /// Opens a place for an element, and for the link of the child after it. There is room.
    pub(crate) fn open<E: Element>(self, of: E, memory: &mut Memory, index: u32, inner: bool) {
        let len = self.len(memory.bytes());
        self.move_elements(of, memory, index, len - index, self, index + 1);
        if inner {
            self.move_links(of, memory, index + 1, len - index, self, index + 2);
        }
        self.set_len(memory, len + 1);
    }

    /// Closes the place of an element, and of the link of the child after it.
    pub(crate) fn close<E: Element>(self, of: E, memory: &mut Memory, index: u32, inner: bool) {
        let len = self.len(memory.bytes());
        self.move_elements(of, memory, index + 1, len - index - 1, self, index);
        if inner {
            self.move_links(of, memory, index + 2, len - index - 1, self, index + 1);
        }
        self.cut(of, memory, len - 1, inner);
    }
}

/// Sets a link.
pub(crate) fn set_link(memory: &mut Memory, at: u32, to: Node) {
    memory.set_u32(at, to.0.wrapping_sub(at));
}

/// The path from the root to an element, or to the place where one belongs. In each node it has the index of
/// an element or of a child.
#[derive(Clone, Copy)]
pub(crate) struct Path {
    pub steps: [(Node, u32); MAX_LEVELS as usize],
    /// The number of steps in use; 0 means after the last element.
    pub depth: u32,
    pub levels: u32,
}

impl PartialEq for Path {
    fn eq(&self, other: &Self) -> bool {
        self.depth == other.depth && (self.depth == 0 || self.last() == other.last())
    }
}

impl Path {
    /// The path after the last element of the tree at `at`.
    pub(crate) fn end(image: &[u8], at: u32) -> Self {
        Self {
            steps: [(Node(0), 0); MAX_LEVELS as usize],
            depth: 0,
            levels: u32_at(image, at + 8).min(MAX_LEVELS),
        }
    }

    pub(crate) fn last(&self) -> (Node, u32) {
        self.steps[self.depth as usize - 1]
    }

    pub(crate) fn push(&mut self, node: Node, index: u32) {
        self.steps[self.depth as usize] = (node, index);
        self.depth += 1;
    }

    pub(crate) fn is_leaf(&self) -> bool {
        self.depth == self.levels
    }

    /// The path to a key, and whether the key exists.
    pub(crate) fn to<E: Element, K: Key>(of: E, image: &[u8], at: u32, key: K::View<'_>) -> (Self, bool) {
        let mut path = Self::end(image, at);
        let mut node = Node(target(image, at));
        while path.depth < path.levels {
            match node.search::<E, K>(of, image, key) {
                Ok(index) => {
                    path.push(node, index);
                    return (path, true);
                }
                Err(index) => {
                    path.push(node, index);
                    if !path.is_leaf() {
                        node = node.child(of, image, index);
                    }
                }
            }
        }
        (path, false)
    }

    /// The path to the first element.
    pub(crate) fn begin<E: Element>(of: E, image: &[u8], at: u32) -> Self {
        let mut path = Self::end(image, at);
        path.go_first(of, image, Node(target(image, at)));
        path
    }

    fn go_first<E: Element>(&mut self, of: E, image: &[u8], mut node: Node) {
        while self.depth < self.levels {
            self.push(node, 0);
            if !self.is_leaf() {
                node = node.child(of, image, 0);
            }
        }
    }

    /// Continues to the last element of a subtree.
    pub(crate) fn go_last<E: Element>(&mut self, of: E, image: &[u8], mut node: Node) {
        while self.depth < self.levels {
            let len = node.len(image);
            self.push(node, len);
            if !self.is_leaf() {
                node = node.child(of, image, len);
            }
        }
        self.steps[self.depth as usize - 1].1 -= 1;
    }

    /// Continues from the place where an element belongs to the next existing element.
    pub(crate) fn settle(mut self, image: &[u8]) -> Self {
        while self.depth != 0 && self.last().1 == self.last().0.len(image) {
            self.depth -= 1;
        }
        self
    }

    /// Continues to the next element.
    pub(crate) fn next<E: Element>(&mut self, of: E, image: &[u8]) {
        let (node, index) = self.last();
        self.steps[self.depth as usize - 1].1 = index + 1;
        if self.is_leaf() {
            *self = self.settle(image);
        } else {
            self.go_first(of, image, node.child(of, image, index + 1));
        }
    }

    /// Returns to the previous element, which must exist.
    pub(crate) fn back<E: Element>(&mut self, of: E, image: &[u8], at: u32) {
        if self.depth == 0 {
            return self.go_last(of, image, Node(target(image, at)));
        }
        let (node, index) = self.last();
        if !self.is_leaf() {
            return self.go_last(of, image, node.child(of, image, index));
        }
        while self.last().1 == 0 && self.depth > 1 {
            self.depth -= 1;
        }
        self.steps[self.depth as usize - 1].1 -= 1;
    }

    /// The offset of the element.
    pub(crate) fn place<E: Element>(&self, of: E) -> u32 {
        let (node, index) = self.last();
        node.element(of, index)
    }
}

/// The problem with the length or capacity of a node, if any.
pub(crate) fn node_problem<E: Element>(
    of: E,
    len: u32,
    cap: u32,
    root: bool,
    wanted: Option<u32>,
) -> Option<InvalidProblem> {
    let (fewest, least, most) = match wanted {
        Some(count) => (count, count, count),
        None => (1, if root { 1 } else { least(of) }, most(of)),
    };
    let good = len >= fewest && len <= cap && cap >= least && cap <= most;
    (!good).then_some(InvalidProblem::BadNode { len, cap, least, most })
}
