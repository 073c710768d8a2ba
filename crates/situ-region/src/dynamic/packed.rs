//! Writes the packed image of a region of described types: the bytes that compiled types write.
//!
//! The layouts are computed with the types. The functions that write links, lengths and padding are those of
//! compiled types, in `packed`.

use crate::containers::key::Key;
use crate::containers::node::Path;
use crate::containers::text::{Text, bytes_at};
use crate::containers::vector;
use crate::dynamic::element::{Dynamic, selected};
use crate::dynamic::types::{Described, Kind, Lookup, PackedLayout, Scalar, TypeNumber, Types};
use crate::image::writer::Writer;
use crate::memory::granule::{ROOT, target};
use crate::memory::later::Place;
use crate::packed::image::{FIRST, put_packed_header};
use crate::packed::keyed::{bucket_of, buckets_for, order_keys};
use crate::packed::place::EMPTY;
use crate::packed::text;
use crate::value::element::Element;
use crate::value::layout::LINK;
use crate::value::scalar::{Bool, Char};

/// The layouts of all types. No value is larger than in the other forms, so the sizes fit.
pub(crate) fn layouts(all: &[Described]) -> Vec<PackedLayout> {
    let mut known = vec![None; all.len()];
    (0..all.len()).map(|number| layout(all, &mut known, number as TypeNumber)).collect()
}

fn layout(all: &[Described], known: &mut [Option<PackedLayout>], number: TypeNumber) -> PackedLayout {
    if let Some(layout) = &known[number as usize] {
        return layout.clone();
    }
    let made = new_layout(all, known, number);
    known[number as usize] = Some(made.clone());
    made
}

/// Computes a layout. The types that a value holds in place do not hold it in turn, so the recursion ends.
fn new_layout(all: &[Described], known: &mut [Option<PackedLayout>], number: TypeNumber) -> PackedLayout {
    let it = &all[number as usize];
    if !it.links {
        return PackedLayout::new(it.size, it.align);
    }
    match &it.kind {
        Kind::Array { element, count } => {
            let element = layout(all, known, *element);
            PackedLayout::new(element.size * count, element.align)
        }
        Kind::Optional { value } if !is_container(all, *value) => {
            let value = layout(all, known, *value);
            if value.size >= LINK {
                return PackedLayout::new(LINK, 1);
            }
            let whole = PackedLayout::new(value.align + value.size, value.align);
            PackedLayout { value_at: value.align, is_inside: true, ..whole }
        }
        Kind::Struct { members, appendable, .. } => {
            let layouts: Vec<_> = members.iter().map(|member| layout(all, known, member.ty)).collect();
            let mut order: Vec<usize> = (0..layouts.len()).collect();
            if !appendable {
                order.sort_by_key(|index| std::cmp::Reverse(layouts[*index].align));
            }
            let (mut places, mut end) = (vec![0; layouts.len()], 0_u32);
            for index in order {
                let PackedLayout { size, align, .. } = layouts[index];
                places[index] = end.next_multiple_of(align);
                end = places[index] + size;
            }
            let greatest = layouts.iter().map(|layout| layout.align).max().unwrap_or(1);
            let align = if *appendable { 8 } else { greatest };
            PackedLayout { members: places, ..PackedLayout::new(end.next_multiple_of(align), align) }
        }
        Kind::Union { discriminator, cases, .. } => {
            let (mut size, mut align) = (0, 1);
            for case in cases {
                let case = layout(all, known, case.ty);
                (size, align) = (case.size.max(size), case.align.max(align));
            }
            let is_inside = size <= LINK;
            if !is_inside {
                (size, align) = (LINK, 1);
            }
            let value_at = discriminator.size().next_multiple_of(align);
            let align = align.max(discriminator.size());
            let whole = PackedLayout::new((value_at + size).next_multiple_of(align), align);
            PackedLayout { value_at, is_inside, ..whole }
        }
        _ => PackedLayout::new(LINK, 1),
    }
}

/// Whether a type has a link that is 0 if its value is empty.
fn is_container(all: &[Described], number: TypeNumber) -> bool {
    let kind = &all[number as usize].kind;
    matches!(kind, Kind::Text | Kind::Vector { .. } | Kind::Set { .. } | Kind::Map { .. })
}

/// Writes the packed image of an image of this version that is not packed. Returns its size; if the buffer is
/// smaller, the size is the error.
pub(crate) fn write_packed(types: &Types, from: &[u8], to: &mut [u8]) -> Result<usize, usize> {
    let found = to.len();
    let of = Dynamic::new(types, types.root);
    let root = (FIRST + types.packed_table.len() as u32).next_multiple_of(of.packed().align);
    let mut writer = Writer::new(from, to, root);
    writer.types = Some(types);
    writer.put_bytes(FIRST, &types.packed_table);
    let at = writer.packed_room(of.packed().size, 1);
    of.pack(&mut writer, ROOT, at);
    writer.rest();
    let size = writer.end();
    if size as usize > found {
        return Err(size as usize);
    }
    put_packed_header(to, [types.schema_hash, types.layout_hash], size, root);
    Ok(size as usize)
}

/// The places of the parts of a set or map.
struct Parts {
    buckets: u32,
    starts: u32,
    keys: u32,
    values: u32,
    end: u32,
}

impl<'t> Dynamic<'t> {
    fn packed(self) -> &'t PackedLayout {
        &self.types.packed[self.number as usize]
    }

    /// Writes the value at `from` to `to`, where zeros are.
    fn pack(self, writer: &mut Writer<'_>, from: u32, to: u32) {
        let (it, layout) = (self.get(), self.packed());
        if !it.links {
            return self.write(writer, from, to);
        }
        match &it.kind {
            // It has no links.
            Kind::Scalar { .. } => {}
            Kind::Text => text::pack(writer, bytes_at(writer.image(), from), to),
            Kind::Vector { element } => self.of(*element).pack_vector(writer, from, to),
            Kind::Set { .. } | Kind::Map { .. } => self.pack_keyed(writer, from, to),
            Kind::Optional { value } => {
                if writer.image()[from as usize] == 0 {
                    return;
                }
                let (value, from) = (self.of(*value), from + it.value_at);
                if layout.is_inside {
                    writer.put_byte(to, 1);
                    value.pack(writer, from, to + layout.value_at);
                } else if !is_container(&self.types.all, value.number) {
                    let place = value.packed_value(writer, to);
                    value.pack(writer, from, place);
                } else if value.is_empty(writer.image(), from) {
                    writer.put_u32(to, EMPTY);
                } else {
                    value.pack(writer, from, to);
                }
            }
            Kind::Unique { value } => {
                let block = target(writer.image(), from);
                if block != from {
                    let place = self.of(*value).packed_value(writer, to);
                    writer.linked_described(pack_one, *value, [block, place, 0]);
                }
            }
            Kind::Shared { value } => {
                let block = target(writer.image(), from);
                if block == from {
                    return;
                }
                if let Some(place) = writer.shared.get(&block).copied() {
                    return writer.put_u32(to, place.wrapping_sub(to));
                }
                let place = self.of(*value).packed_value(writer, to);
                writer.shared.insert(block, place);
                writer.linked_described(pack_one, *value, [block + it.value_at, place, 0]);
            }
            Kind::Array { element, count } => {
                pack_elements(writer, self.of(*element), [from, to, *count]);
            }
            // Keys and values of maps lie apart.
            Kind::Entry { .. } => {}
            Kind::Struct { members, .. } => {
                for (member, place) in members.iter().zip(&layout.members) {
                    self.of(member.ty).pack(writer, from + member.offset, to + place);
                }
            }
            Kind::Union { discriminator, cases, .. } => {
                writer.copy(from, to, discriminator.size());
                if let Some((_, case)) = selected(writer.image(), cases, *discriminator, from) {
                    let (case, link) = (self.of(case.ty), to + layout.value_at);
                    let place = if layout.is_inside { link } else { case.packed_value(writer, link) };
                    case.pack(writer, from + it.value_at, place);
                }
            }
        }
    }

    /// Places a value, and sets the link at `at` to it.
    fn packed_value(self, writer: &mut Writer<'_>, at: u32) -> u32 {
        let place = writer.packed_link(at, self.packed().align);
        writer.packed_room(self.packed().size, 1);
        place
    }

    /// Whether the text or container at a place is empty.
    fn is_empty(self, image: &[u8], at: u32) -> bool {
        match self.get().kind {
            Kind::Text => bytes_at(image, at).is_empty(),
            _ => vector::len(image, at) == 0,
        }
    }

    /// Writes a vector of elements of this type.
    fn pack_vector(self, writer: &mut Writer<'_>, from: u32, to: u32) {
        let count = vector::len(writer.image(), from);
        if count == 0 {
            return;
        }
        let first = target(writer.image(), from);
        writer.packed_link(to, 1);
        writer.packed_length(count);
        let place = writer.packed_room(count * self.packed().size, self.packed().align);
        if self.get().links {
            writer.linked_described(pack_behind, self.number, [first, place, count]);
        } else {
            writer.elements(self, first, place, count);
        }
    }

    /// The types of the keys and the values of a set or map; a set has no values.
    fn key_and_value(self) -> Option<(Self, Option<Self>)> {
        match self.get().kind {
            Kind::Set { key, .. } => Some((self.of(key), None)),
            Kind::Map { key, value, .. } => Some((self.of(key), Some(self.of(value)))),
            _ => None,
        }
    }

    /// The places behind `begin` of the parts of a set or map with `count` keys.
    fn parts(self, begin: u32, count: u32) -> Option<Parts> {
        let (key, value) = self.key_and_value()?;
        let is_hashed = matches!(
            self.get().kind,
            Kind::Set { lookup: Lookup::Hash, .. } | Kind::Map { lookup: Lookup::Hash, .. }
        );
        let buckets = if is_hashed { buckets_for(count) } else { 0 };
        let starts = if buckets == 0 { begin } else { begin.next_multiple_of(4) };
        let keys = (starts + 4 * buckets).next_multiple_of(key.packed().align);
        let keys_end = keys + count * key.packed().size;
        let (size, align) = value.map_or((0, 1), |value| (value.packed().size, value.packed().align));
        let values = keys_end.next_multiple_of(align);
        Some(Parts { buckets, starts, keys, values, end: values + count * size })
    }

    fn pack_keyed(self, writer: &mut Writer<'_>, from: u32, to: u32) {
        let (count, Some((key, value))) = (vector::len(writer.image(), from), self.key_and_value()) else {
            return;
        };
        if count == 0 {
            return;
        }
        writer.packed_link(to, 1);
        writer.packed_length(count);
        let begin = writer.end;
        let Some(Parts { end, .. }) = self.parts(begin, count) else { return };
        writer.packed_room(end - begin, 1);
        if key.get().links || value.is_some_and(|value| value.get().links) {
            writer.linked_described(pack_entries, self.number, [from, begin, count]);
        } else {
            pack_entries(writer, self.number, [from, begin, count]);
        }
    }

    /// The places of the keys or entries of the set or map at `at`, in the order in which they lie there.
    fn entries(self, image: &[u8], at: u32) -> Vec<u32> {
        let (element, count) = (self.elements(), vector::len(image, at));
        let (Kind::Set { lookup, .. } | Kind::Map { lookup, .. }) = self.get().kind else {
            return Vec::new();
        };
        if lookup != Lookup::Ordered {
            let first = target(image, at);
            return (0..count).map(|index| first + index * element.get().size).collect();
        }
        let mut path = Path::begin(element, image, at);
        let mut place = || {
            let place = path.place(element);
            path.next(element, image);
            place
        };
        (0..count).map(|_| place()).collect()
    }

    /// The places of the entries of a hash table and their buckets, in the order of packed images. The type
    /// is that of its keys.
    fn hashed(self, image: &[u8], places: Vec<u32>, buckets: u32) -> Vec<(u32, u32)> {
        fn order<K: Key>(image: &[u8], places: Vec<u32>, buckets: u32) -> Vec<(u32, u32)> {
            let bucket = |at| if buckets == 0 { 0 } else { bucket_of::<K>(K::view(image, at), buckets) };
            let mut order: Vec<_> = places.into_iter().map(|at| (bucket(at), at)).collect();
            order_keys::<K>(image, &mut order);
            order
        }
        let order = match self.get().kind {
            Kind::Scalar { of: Scalar::U8, .. } => order::<u8>,
            Kind::Scalar { of: Scalar::I8, .. } => order::<i8>,
            Kind::Scalar { of: Scalar::U16, .. } => order::<u16>,
            Kind::Scalar { of: Scalar::I16, .. } => order::<i16>,
            Kind::Scalar { of: Scalar::U32, .. } => order::<u32>,
            Kind::Scalar { of: Scalar::I32, .. } => order::<i32>,
            Kind::Scalar { of: Scalar::U64, .. } => order::<u64>,
            Kind::Scalar { of: Scalar::I64, .. } => order::<i64>,
            Kind::Scalar { of: Scalar::F32, .. } => order::<f32>,
            Kind::Scalar { of: Scalar::F64, .. } => order::<f64>,
            Kind::Scalar { of: Scalar::Bool, .. } => order::<Bool>,
            Kind::Scalar { of: Scalar::Char, .. } => order::<Char>,
            _ => order::<Text>,
        };
        order(image, places, buckets)
    }
}

/// Writes consecutive values.
fn pack_elements(writer: &mut Writer<'_>, of: Dynamic<'_>, [from, to, count]: Place) {
    let (old, new) = (of.get().size, of.packed().size);
    (0..count).for_each(|index| of.pack(writer, from + index * old, to + index * new));
}

fn pack_behind(writer: &mut Writer<'_>, of: TypeNumber, place: Place) {
    if let Some(types) = writer.types {
        pack_elements(writer, Dynamic::new(types, of), place);
    }
}

fn pack_one(writer: &mut Writer<'_>, of: TypeNumber, [from, to, _]: Place) {
    if let Some(types) = writer.types {
        Dynamic::new(types, of).pack(writer, from, to);
    }
}

/// Writes the keys and values of a set or map.
fn pack_entries(writer: &mut Writer<'_>, of: TypeNumber, [from, begin, count]: Place) {
    let Some(of) = writer.types.map(|types| Dynamic::new(types, of)) else { return };
    let (Some((key, value)), Some(parts)) = (of.key_and_value(), of.parts(begin, count)) else { return };
    let image = writer.image();
    let mut places = of.entries(image, from);
    if let Kind::Set { lookup: Lookup::Hash, .. } | Kind::Map { lookup: Lookup::Hash, .. } = of.get().kind {
        let order = key.hashed(image, places, parts.buckets);
        for bucket in 0..parts.buckets {
            let start = order.partition_point(|(of, _)| *of < bucket);
            writer.put_u32(parts.starts + 4 * bucket, start as u32);
        }
        places = order.into_iter().map(|(_, place)| place).collect();
    }
    for (index, place) in (0..).zip(&places) {
        key.pack(writer, *place, parts.keys + index * key.packed().size);
    }
    let Some(value) = value else { return };
    for (index, place) in (0..).zip(&places) {
        let to = parts.values + index * value.packed().size;
        value.pack(writer, place + of.elements().get().value_at, to);
    }
}
