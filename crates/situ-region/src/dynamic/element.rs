//! A described type as containers see it: how its values begin, move, end, and are copied.

use crate::containers::node::least_levels;
use crate::containers::text::Text;
use crate::containers::{hash, text, tree, vector};
use crate::dynamic::types::{Case, Described, Kind, Lookup, Scalar, TypeNumber, Types};
use crate::image::writer::Writer;
use crate::memory::blocks::{Memory, MemoryMut};
use crate::memory::granule::target;
use crate::memory::later::Place;
use crate::value::element::Element;
use crate::value::scalar::{Bool, Char};
use crate::value::stored::Stored;

/// A described type.
#[derive(Clone, Copy)]
pub(crate) struct Dynamic<'t> {
    pub types: &'t Types,
    pub number: TypeNumber,
}

impl<'t> Dynamic<'t> {
    pub(crate) fn new(types: &'t Types, number: TypeNumber) -> Self {
        Self { types, number }
    }

    pub(crate) fn of(self, number: TypeNumber) -> Self {
        Self { number, ..self }
    }

    pub(crate) fn get(self) -> &'t Described {
        self.types.get(self.number)
    }

    /// The elements of a vector or an array; the keys or entries of a set or map.
    pub(crate) fn elements(self) -> Self {
        self.of(self.get().element)
    }
}

/// The integer at a place.
pub(crate) fn integer_at(image: &[u8], of: Scalar, at: u32) -> i128 {
    let mut bytes = [0; 8];
    let size = of.size() as usize;
    bytes[..size].copy_from_slice(&image[at as usize..][..size]);
    let (wide, shift) = (u64::from_le_bytes(bytes), 64 - 8 * of.size());
    match of {
        Scalar::I8 | Scalar::I16 | Scalar::I32 | Scalar::I64 => {
            i128::from((wide << shift).cast_signed() >> shift)
        }
        _ => i128::from(wide),
    }
}

/// Writes an integer.
pub(crate) fn put_integer(memory: &mut Memory, of: Scalar, at: u32, value: i128) {
    let size = of.size() as usize;
    memory.bytes_mut()[at as usize..][..size].copy_from_slice(&value.to_le_bytes()[..size]);
}

/// The case that a discriminator selects.
pub(crate) fn case_of(cases: &[Case], discriminator: i128) -> Option<usize> {
    let labelled = cases.iter().position(|case| case.labels.contains(&discriminator));
    labelled.or_else(|| cases.iter().position(|case| case.is_default))
}

/// The case that is selected in the union at a place.
pub(crate) fn selected<'t>(
    image: &[u8],
    cases: &'t [Case],
    of: Scalar,
    at: u32,
) -> Option<(usize, &'t Case)> {
    let index = case_of(cases, integer_at(image, of, at))?;
    Some((index, &cases[index]))
}

impl Dynamic<'_> {
    /// Begins the case that a union's discriminator selects. The place of the case is zero.
    pub(crate) fn begin_case(self, memory: &mut Memory, at: u32, discriminator: i128) {
        let it = self.get();
        let Kind::Union { discriminator: of, cases, .. } = &it.kind else { return };
        put_integer(memory, *of, at, discriminator);
        if let Some(index) = case_of(cases, discriminator) {
            self.of(cases[index].ty).begin(memory, at + it.value_at);
        }
    }

    /// Releases the present case of a union, and begins another.
    pub(crate) fn renew_case(self, memory: &mut Memory, at: u32, discriminator: i128) {
        let it = self.get();
        self.release(memory, at);
        memory.zero(at + it.value_at, it.size - it.value_at);
        self.begin_case(memory, at, discriminator);
    }
}

impl Element for Dynamic<'_> {
    fn size(self) -> u32 {
        self.get().size
    }

    fn align(self) -> u32 {
        self.get().align
    }

    fn has_links(self) -> bool {
        self.get().links
    }

    fn is_dense(self) -> bool {
        self.get().dense
    }

    fn begin(self, memory: &mut Memory, at: u32) {
        let it = self.get();
        if it.begins_zero && !it.links {
            return;
        }
        match &it.kind {
            Kind::Scalar { of, initial } => put_integer(memory, *of, at, i128::from(*initial)),
            Kind::Text | Kind::Vector { .. } | Kind::Set { .. } | Kind::Map { .. } => {
                memory.set_u32(at + 12, at.wrapping_neg());
            }
            Kind::Optional { .. } | Kind::Unique { .. } | Kind::Shared { .. } => {
                memory.set_u32(at + 4, at.wrapping_neg());
            }
            Kind::Array { element, count } => {
                let element = self.of(*element);
                (0..*count).for_each(|i| element.begin(memory, at + i * element.size()));
            }
            Kind::Entry { key, value } => {
                self.of(*key).begin(memory, at);
                self.of(*value).begin(memory, at + it.value_at);
            }
            Kind::Struct { members, .. } => {
                for member in members {
                    let place = at + member.offset;
                    self.of(member.ty).begin(memory, place);
                    match &member.default {
                        Some(default) if matches!(self.of(member.ty).get().kind, Kind::Text) => {
                            // A default has at most 11 bytes, so it needs no block.
                            let text = std::str::from_utf8(default).unwrap_or_default();
                            let _ = text::assign(memory, place, text);
                        }
                        Some(default) => {
                            memory.bytes_mut()[place as usize..][..default.len()].copy_from_slice(default);
                        }
                        None => {}
                    }
                }
            }
            Kind::Union { initial, .. } => {
                memory.set_u32(at + it.region_at(), at.wrapping_neg());
                self.begin_case(memory, at, *initial);
            }
        }
    }

    fn moved(self, memory: &mut Memory, at: u32, distance: u32) {
        let it = self.get();
        if !it.links {
            return;
        }
        match &it.kind {
            Kind::Scalar { .. } => {}
            Kind::Text => Text::moved(MemoryMut(memory), at, distance),
            Kind::Vector { .. } | Kind::Set { .. } | Kind::Map { .. } => vector::moved(memory, at, distance),
            Kind::Unique { .. } | Kind::Shared { .. } => {
                let link = memory.u32(at);
                if link != 0 {
                    memory.set_u32(at, link.wrapping_add(distance));
                }
                memory.set_u32(at + 4, at.wrapping_neg());
            }
            Kind::Optional { value } => {
                memory.set_u32(at + 4, at.wrapping_neg());
                if memory.bytes()[at as usize] != 0 {
                    self.of(*value).moved(memory, at + it.value_at, distance);
                }
            }
            Kind::Array { element, count } => {
                let element = self.of(*element);
                (0..*count).for_each(|i| element.moved(memory, at + i * element.size(), distance));
            }
            Kind::Entry { key, value } => {
                self.of(*key).moved(memory, at, distance);
                self.of(*value).moved(memory, at + it.value_at, distance);
            }
            Kind::Struct { members, .. } => {
                members.iter().for_each(|it| self.of(it.ty).moved(memory, at + it.offset, distance));
            }
            Kind::Union { discriminator, cases, .. } => {
                memory.set_u32(at + it.region_at(), at.wrapping_neg());
                if let Some((_, case)) = selected(memory.bytes(), cases, *discriminator, at) {
                    self.of(case.ty).moved(memory, at + it.value_at, distance);
                }
            }
        }
    }

    fn release(self, memory: &mut Memory, at: u32) {
        let it = self.get();
        if !it.links {
            return;
        }
        match &it.kind {
            Kind::Scalar { .. } => {}
            Kind::Text => Text::release(MemoryMut(memory), at),
            Kind::Vector { .. } => self.release_block(memory, at, release_elements),
            Kind::Set { lookup, .. } | Kind::Map { lookup, .. } => match lookup {
                Lookup::Sorted => self.release_block(memory, at, release_elements),
                Lookup::Hash => self.release_block(memory, at, release_entries),
                Lookup::Ordered => {
                    let (root, levels) = (target(memory.bytes(), at), memory.u32(at + 8));
                    memory.zero(at, 12);
                    if levels != 0 {
                        memory.release_described(release_nodes, it.element, [root, levels, 0]);
                    }
                }
            },
            Kind::Optional { value } => {
                if memory.bytes()[at as usize] != 0 {
                    self.of(*value).release(memory, at + it.value_at);
                    memory.zero(at + it.value_at, self.of(*value).size());
                    memory.zero(at, 1);
                }
            }
            Kind::Unique { value } => {
                if memory.u32(at) != 0 {
                    let block = target(memory.bytes(), at);
                    memory.set_u32(at, 0);
                    memory.release_described(release_one, *value, [block, 0, 0]);
                }
            }
            Kind::Shared { value } => {
                if memory.u32(at) != 0 {
                    let block = target(memory.bytes(), at);
                    memory.set_u32(at, 0);
                    self.release_link(memory, block, *value);
                }
            }
            Kind::Array { element, count } => {
                let element = self.of(*element);
                (0..*count).for_each(|i| element.release(memory, at + i * element.size()));
            }
            Kind::Entry { key, value } => {
                self.of(*key).release(memory, at);
                self.of(*value).release(memory, at + it.value_at);
            }
            Kind::Struct { members, .. } => {
                members.iter().for_each(|it| self.of(it.ty).release(memory, at + it.offset));
            }
            Kind::Union { discriminator, cases, .. } => {
                if let Some((_, case)) = selected(memory.bytes(), cases, *discriminator, at) {
                    self.of(case.ty).release(memory, at + it.value_at);
                }
            }
        }
    }

    fn write(self, writer: &mut Writer<'_>, from: u32, to: u32) {
        let it = self.get();
        if it.dense {
            return writer.copy(from, to, it.size);
        }
        match &it.kind {
            Kind::Scalar { .. } => writer.copy(from, to, it.size),
            Kind::Text => Text::write(writer, from, to),
            Kind::Vector { .. } => self.write_vector(writer, from, to),
            Kind::Set { lookup, .. } | Kind::Map { lookup, .. } => {
                let len = vector::len(writer.image(), from);
                match lookup {
                    Lookup::Sorted => self.write_vector(writer, from, to),
                    Lookup::Hash => {
                        writer.container(to, len, len);
                        if len != 0 {
                            let block = writer.place(to, hash::block_bytes(len, self.elements().size()));
                            writer.linked_described(write_table, self.number, [from, block, 0]);
                        }
                    }
                    Lookup::Ordered => {
                        let levels = least_levels(self.elements(), len);
                        writer.container(to, len, levels);
                        if levels != 0 {
                            writer.linked_described(write_nodes, it.element, [from, to, 0]);
                        }
                    }
                }
            }
            Kind::Optional { value } => {
                writer.put_u32(to + 4, to.wrapping_neg());
                if writer.image()[from as usize] != 0 {
                    writer.put_byte(to, 1);
                    self.of(*value).write(writer, from + it.value_at, to + it.value_at);
                }
            }
            Kind::Unique { value } => {
                writer.put_u32(to + 4, to.wrapping_neg());
                let old = target(writer.image(), from);
                if old != from {
                    let block = writer.place(to, u64::from(self.of(*value).size()));
                    writer.linked_described(write_one, *value, [old, block, 0]);
                }
            }
            Kind::Shared { value } => {
                writer.put_u32(to + 4, to.wrapping_neg());
                let old = target(writer.image(), from);
                if old == from {
                    return;
                }
                if let Some(new) = writer.shared.get(&old).copied() {
                    writer.put_u32(to, new.wrapping_sub(to));
                    return writer.count_link(new);
                }
                let new = writer.place(to, u64::from(it.value_at) + u64::from(self.of(*value).size()));
                writer.shared.insert(old, new);
                writer.count_link(new);
                writer.linked_described(write_one, *value, [old + it.value_at, new + it.value_at, 0]);
            }
            Kind::Array { element, count } => writer.elements(self.of(*element), from, to, *count),
            Kind::Entry { key, value } => {
                self.of(*key).write(writer, from, to);
                self.of(*value).write(writer, from + it.value_at, to + it.value_at);
            }
            Kind::Struct { members, .. } => {
                for member in members {
                    self.of(member.ty).write(writer, from + member.offset, to + member.offset);
                }
            }
            Kind::Union { discriminator, cases, .. } => {
                writer.put_u32(to + it.region_at(), to.wrapping_neg());
                writer.copy(from, to, discriminator.size());
                if let Some((_, case)) = selected(writer.image(), cases, *discriminator, from) {
                    self.of(case.ty).write(writer, from + it.value_at, to + it.value_at);
                }
            }
        }
    }
}

impl Dynamic<'_> {
    /// Releases the block of a container of 16 bytes.
    fn release_block(self, memory: &mut Memory, at: u32, release: fn(&mut Memory, u32, Place)) {
        let [link, len, cap] = vector::header(memory.bytes(), at);
        memory.zero(at, 12);
        if cap != 0 {
            memory.release_described(release, self.get().element, [at.wrapping_add(link), len, cap]);
        }
    }

    /// Removes one link to a shared value in a block, which has these numbers.
    fn release_link(self, memory: &mut Memory, block: u32, value: TypeNumber) {
        let links = memory.u32(block);
        if links > 1 {
            memory.set_u32(block, links - 1);
        } else {
            memory.release_described(release_one, value, [block, self.get().value_at, 0]);
        }
    }

    fn write_vector(self, writer: &mut Writer<'_>, from: u32, to: u32) {
        let (len, element) = (vector::len(writer.image(), from), self.elements());
        writer.container(to, len, len);
        if len == 0 {
            return;
        }
        let bytes = u64::from(len) * u64::from(element.size());
        let block = if element.is_dense() { writer.place_dense(to, bytes) } else { writer.place(to, bytes) };
        let old = target(writer.image(), from);
        if element.has_links() {
            writer.linked_described(write_elements, element.number, [old, block, len]);
        } else {
            writer.elements(element, old, block, len);
        }
    }
}

fn release_elements(memory: &mut Memory, of: TypeNumber, place: Place) {
    if let Some(types) = memory.types.clone() {
        vector::release_elements(Dynamic::new(&types, of), memory, place);
    }
}

fn release_entries(memory: &mut Memory, of: TypeNumber, place: Place) {
    if let Some(types) = memory.types.clone() {
        hash::release_entries(Dynamic::new(&types, of), memory, place);
    }
}

fn release_nodes(memory: &mut Memory, of: TypeNumber, place: Place) {
    if let Some(types) = memory.types.clone() {
        tree::release_root(Dynamic::new(&types, of), memory, place);
    }
}

/// Releases the value behind a unique or shared link, some bytes into its block.
fn release_one(memory: &mut Memory, of: TypeNumber, [block, into, _]: Place) {
    if let Some(types) = memory.types.clone() {
        let of = Dynamic::new(&types, of);
        of.release(memory, block + into);
        memory.free(block, u64::from(into) + u64::from(of.size()));
    }
}

fn write_elements(writer: &mut Writer<'_>, of: TypeNumber, [from, to, count]: Place) {
    if let Some(types) = writer.types {
        writer.elements(Dynamic::new(types, of), from, to, count);
    }
}

fn write_one(writer: &mut Writer<'_>, of: TypeNumber, [from, to, _]: Place) {
    if let Some(types) = writer.types {
        Dynamic::new(types, of).write(writer, from, to);
    }
}

fn write_nodes(writer: &mut Writer<'_>, of: TypeNumber, [from, to, _]: Place) {
    if let Some(types) = writer.types {
        tree::write_nodes(Dynamic::new(types, of), writer, from, to);
    }
}

/// Writes the block of a hash set or map.
fn write_table(writer: &mut Writer<'_>, of: TypeNumber, [from, block, _]: Place) {
    let Some(types) = writer.types else { return };
    let of = Dynamic::new(types, of);
    let (Kind::Set { key, .. } | Kind::Map { key, .. }) = &of.get().kind else { return };
    let element = of.elements();
    macro_rules! with {
        ($key:ty) => {
            hash::write_table::<_, $key>(element, writer, from, block)
        };
    }
    match &types.get(*key).kind {
        Kind::Scalar { of: Scalar::U8, .. } => with!(u8),
        Kind::Scalar { of: Scalar::I8, .. } => with!(i8),
        Kind::Scalar { of: Scalar::U16, .. } => with!(u16),
        Kind::Scalar { of: Scalar::I16, .. } => with!(i16),
        Kind::Scalar { of: Scalar::U32, .. } => with!(u32),
        Kind::Scalar { of: Scalar::I32, .. } => with!(i32),
        Kind::Scalar { of: Scalar::U64, .. } => with!(u64),
        Kind::Scalar { of: Scalar::I64, .. } => with!(i64),
        Kind::Scalar { of: Scalar::F32, .. } => with!(f32),
        Kind::Scalar { of: Scalar::F64, .. } => with!(f64),
        Kind::Scalar { of: Scalar::Bool, .. } => with!(Bool),
        Kind::Scalar { of: Scalar::Char, .. } => with!(Char),
        _ => with!(Text),
    }
}
