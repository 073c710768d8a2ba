//! Where a value lies in a described region, and the steps that lead to its parts.

use crate::containers::node::Path;
use crate::containers::text::str_at;
use crate::containers::vector;
use crate::dynamic::element::{Dynamic, integer_at, selected};
use crate::dynamic::key::{Key, OwnedKey, key_at};
use crate::dynamic::types::{Kind, Lookup, TypeNumber, Types};
use crate::memory::granule::{target, u32_at};

/// A step from a value to a part of it.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Step {
    /// To a member of a struct, by its position. A base is the member 0.
    Member(u32),
    /// To an element of a vector or an array.
    Element(u32),
    /// To the value of a key of a map.
    Key(OwnedKey),
    /// To the value of an optional value, in place or behind a link.
    Value,
    /// To the value of a union, if this case is selected.
    Case(u32),
}

/// A value in a region, for reading.
#[derive(Clone, Copy)]
pub struct Part<'r> {
    pub(crate) of: Dynamic<'r>,
    pub(crate) image: &'r [u8],
    pub(crate) at: u32,
}

/// The type and the place of a part. `None` if there is no such part.
pub(crate) fn step<'t>(of: Dynamic<'t>, image: &[u8], at: u32, step: &Step) -> Option<(Dynamic<'t>, u32)> {
    let it = of.get();
    match (&it.kind, step) {
        (Kind::Struct { members, .. }, Step::Member(index)) => {
            let member = members.get(*index as usize)?;
            Some((of.of(member.ty), at + member.offset))
        }
        (Kind::Array { element, count }, Step::Element(index)) => {
            let element = of.of(*element);
            (index < count).then(|| (element, at + index * element.get().size))
        }
        (Kind::Vector { element }, Step::Element(index)) => {
            let element = of.of(*element);
            let place = || target(image, at) + index * element.get().size;
            (*index < vector::len(image, at)).then(|| (element, place()))
        }
        (Kind::Map { value, .. }, Step::Key(key)) => {
            let entry = of.find(image, at, key.borrow())?;
            Some((of.of(*value), entry + of.elements().get().value_at))
        }
        (Kind::Optional { value }, Step::Value) => {
            (image[at as usize] != 0).then(|| (of.of(*value), at + it.value_at))
        }
        (Kind::Unique { value } | Kind::Shared { value }, Step::Value) => {
            let block = target(image, at);
            (block != at).then(|| (of.of(*value), block + it.value_at))
        }
        (Kind::Union { discriminator, cases, .. }, Step::Case(index)) => {
            let (selected, case) = selected(image, cases, *discriminator, at)?;
            (selected == *index as usize).then(|| (of.of(case.ty), at + it.value_at))
        }
        _ => None,
    }
}

impl<'r> Part<'r> {
    /// A part of the value; `None` if there is no such part.
    pub fn part(self, to: &Step) -> Option<Part<'r>> {
        let (of, at) = step(self.of, self.image, self.at, to)?;
        Some(Part { of, at, ..self })
    }

    /// The number of its type.
    pub fn type_number(self) -> TypeNumber {
        self.of.number
    }

    /// The types of the region.
    pub fn types(self) -> &'r Types {
        self.of.types
    }

    /// What its type is.
    pub fn kind(self) -> &'r Kind {
        &self.of.get().kind
    }

    /// Its offset from the header.
    pub fn at(self) -> u32 {
        self.at
    }

    /// Its own bytes.
    pub fn bytes(self) -> &'r [u8] {
        &self.image[self.at as usize..][..self.of.get().size as usize]
    }

    /// The number of elements, keys or entries; `None` if it is no container or array.
    pub fn len(self) -> Option<u32> {
        match self.kind() {
            Kind::Array { count, .. } => Some(*count),
            Kind::Vector { .. } | Kind::Set { .. } | Kind::Map { .. } => {
                Some(vector::len(self.image, self.at))
            }
            _ => None,
        }
    }

    /// Whether it is a container without elements.
    pub fn is_empty(self) -> bool {
        self.len() == Some(0)
    }

    /// The text, if it is one.
    pub fn text(self) -> Option<&'r str> {
        matches!(self.kind(), Kind::Text).then(|| str_at(self.image, self.at))
    }

    /// The integer, if it is a number, a boolean or a character.
    pub fn integer(self) -> Option<i128> {
        match self.kind() {
            Kind::Scalar { of, .. } => Some(integer_at(self.image, *of, self.at)),
            _ => None,
        }
    }

    /// The discriminator of a union, and the index of the case that it selects.
    pub fn discriminator(self) -> Option<(i128, Option<u32>)> {
        let Kind::Union { discriminator, cases, .. } = self.kind() else { return None };
        let selected = selected(self.image, cases, *discriminator, self.at).map(|(index, _)| index as u32);
        Some((integer_at(self.image, *discriminator, self.at), selected))
    }

    /// Whether an optional value is there.
    pub fn is_present(self) -> bool {
        match self.kind() {
            Kind::Optional { .. } => self.image[self.at as usize] != 0,
            Kind::Unique { .. } | Kind::Shared { .. } => u32_at(self.image, self.at) != 0,
            _ => true,
        }
    }

    /// The number of links to the value of a shared link.
    pub fn links(self) -> Option<u32> {
        let block = target(self.image, self.at);
        matches!(self.kind(), Kind::Shared { .. })
            .then(|| if block == self.at { 0 } else { u32_at(self.image, block) })
    }

    /// Whether a set or map has a key.
    pub fn contains(self, key: Key<'_>) -> bool {
        self.of.find(self.image, self.at, key).is_some()
    }

    /// The elements of a vector or an array of numbers without links, one behind the other: their offset, and
    /// their size in bytes.
    pub fn dense_elements(self) -> Option<(u32, u32)> {
        let (Kind::Array { .. } | Kind::Vector { .. }) = self.kind() else { return None };
        let (element, len) = (self.of.elements().get(), self.len()?);
        let first = if let Kind::Array { .. } = self.kind() { self.at } else { target(self.image, self.at) };
        element.dense.then(|| (first, len * element.size))
    }

    /// The keys of a set or map, in the order in which they lie there. Allocates memory for all of them.
    pub fn keys(self) -> Vec<Key<'r>> {
        let (Kind::Set { lookup, key } | Kind::Map { lookup, key, .. }) = self.kind() else {
            return Vec::new();
        };
        let (element, key) = (self.of.elements(), self.of.of(*key));
        if *lookup != Lookup::Ordered {
            let [link, len, _] = vector::header(self.image, self.at);
            let first = self.at.wrapping_add(link);
            return (0..len).map(|i| key_at(key, self.image, first + i * element.get().size)).collect();
        }
        let mut path = Path::begin(element, self.image, self.at);
        (0..vector::len(self.image, self.at))
            .map(|_| {
                let place = path.place(element);
                path.next(element, self.image);
                key_at(key, self.image, place)
            })
            .collect()
    }
}
