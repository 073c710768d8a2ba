//! The memory that a value has, with everything that it leads to.

use std::collections::HashSet;
use std::ops::Range;

use crate::containers::hash;
use crate::containers::node::{Node, node_bytes};
use crate::containers::vector;
use crate::dynamic::element::{Dynamic, selected};
use crate::dynamic::types::{Kind, Lookup};
use crate::memory::granule::{target, u32_at};

/// Whether the value at a place, or what it leads to, has bytes for which `is_wanted` is true. Each shared
/// value is visited once, and links of any number are followed without recursion.
pub(crate) fn reaches(
    of: Dynamic<'_>,
    image: &[u8],
    at: u32,
    is_wanted: impl Fn(Range<u32>) -> bool,
) -> bool {
    let mut walk = Walk { image, is_wanted, left: Vec::new(), shared: HashSet::new() };
    if walk.has(at, u64::from(of.get().size)) {
        return true;
    }
    walk.left.push((of, at, 1));
    while let Some((of, at, count)) = walk.left.pop() {
        for index in 0..count {
            if walk.value(of, at + index * of.get().size) {
                return true;
            }
        }
    }
    false
}

struct Walk<'a, 't, F> {
    image: &'a [u8],
    is_wanted: F,
    /// Values that are still to be visited: consecutive ones of a type.
    left: Vec<(Dynamic<'t>, u32, u32)>,
    /// The blocks of shared values that were visited.
    shared: HashSet<u32>,
}

impl<'t, F: Fn(Range<u32>) -> bool> Walk<'_, 't, F> {
    fn has(&self, at: u32, bytes: u64) -> bool {
        bytes != 0 && (self.is_wanted)(at..at.saturating_add(u32::try_from(bytes).unwrap_or(u32::MAX)))
    }

    /// Visits the blocks of a value. Its own bytes were visited.
    fn value(&mut self, of: Dynamic<'t>, at: u32) -> bool {
        let it = of.get();
        if !it.links {
            return false;
        }
        match &it.kind {
            Kind::Scalar { .. } => false,
            Kind::Text => {
                let tag = self.image[at as usize + 11];
                let [link, _, cap] = vector::header(self.image, at);
                tag & 0x80 == 0 && cap != 0 && self.has(at.wrapping_add(link), u64::from(cap))
            }
            Kind::Vector { .. } => self.block(of, at),
            Kind::Set { lookup, .. } | Kind::Map { lookup, .. } => match lookup {
                Lookup::Sorted => self.block(of, at),
                Lookup::Hash => {
                    let [link, len, cap] = vector::header(self.image, at);
                    let block = at.wrapping_add(link);
                    let bytes = hash::block_bytes(cap, of.elements().get().size);
                    if cap != 0 {
                        self.left.push((of.elements(), block, len));
                    }
                    cap != 0 && self.has(block, bytes)
                }
                Lookup::Ordered => {
                    let levels = u32_at(self.image, at + 8);
                    levels != 0 && self.node(of.elements(), Node(target(self.image, at)), levels)
                }
            },
            Kind::Array { element, count } => {
                self.left.push((of.of(*element), at, *count));
                false
            }
            Kind::Entry { key, value } => {
                self.value(of.of(*key), at) || self.value(of.of(*value), at + it.value_at)
            }
            Kind::Optional { value } => {
                self.image[at as usize] != 0 && self.value(of.of(*value), at + it.value_at)
            }
            Kind::Unique { value } | Kind::Shared { value } => {
                let (block, value) = (target(self.image, at), of.of(*value));
                let is_shared = matches!(it.kind, Kind::Shared { .. });
                if block == at || (is_shared && !self.shared.insert(block)) {
                    return false;
                }
                self.left.push((value, block + it.value_at, 1));
                self.has(block, u64::from(it.value_at) + u64::from(value.get().size))
            }
            Kind::Struct { members, .. } => {
                members.iter().any(|member| self.value(of.of(member.ty), at + member.offset))
            }
            Kind::Union { discriminator, cases, .. } => {
                let case = selected(self.image, cases, *discriminator, at);
                case.is_some_and(|(_, case)| self.value(of.of(case.ty), at + it.value_at))
            }
        }
    }

    /// Visits the block of a vector, or of a container built on one.
    fn block(&mut self, of: Dynamic<'t>, at: u32) -> bool {
        let [link, len, cap] = vector::header(self.image, at);
        let (block, element) = (at.wrapping_add(link), of.elements());
        if cap == 0 {
            return false;
        }
        if element.get().links {
            self.left.push((element, block, len));
        }
        self.has(block, u64::from(cap) * u64::from(element.get().size))
    }

    /// Visits a node of a tree, and those below it.
    fn node(&mut self, of: Dynamic<'t>, node: Node, levels: u32) -> bool {
        let (len, inner) = (node.len(self.image), levels > 1);
        if self.has(node.0, node_bytes(of, node.cap(self.image), inner)) {
            return true;
        }
        self.left.push((of, node.element(of, 0), len));
        inner && (0..=len).any(|index| self.node(of, node.child(of, self.image, index), levels - 1))
    }
}
