//! The keys of sets and maps in a region, with the order and hash that the format fixes; and entries of maps.

use std::cmp::Ordering;
use std::marker::PhantomData;

use situ_layout::Invalid;

use crate::error::Full;
use crate::image::check::Check;
use crate::image::lines::Lines;
use crate::image::writer::Writer;
use crate::memory::blocks::MemoryMut;
use crate::memory::slide::Slide;
use crate::value::handle::Ref;
use crate::value::plain::{put, put_in};
use crate::value::stored::{Stored, fixed};

/// A type that can be the key of a set or map: a number, a boolean, a character, an enum, text, and structs
/// and arrays of these. Structs say so: `region_struct! { key struct ... }`.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be the key of a set or map in a region",
    label = "keys are numbers, booleans, characters, enums, text, and arrays and structs of these",
    note = "a struct of these is declared as a key: `region_struct! {{ key struct Name: NameRef, NameMut {{ ... }} }}`"
)]
pub trait Key: Stored {
    /// The type by which keys are looked up and returned.
    type View<'a>: Copy;
    /// Writes all bytes of a key. It is `Some` for keys that need no further memory.
    #[doc(hidden)]
    const PUT: Option<PutKey<Self>> = None;

    /// The key at an offset.
    #[doc(hidden)]
    fn view(image: &[u8], at: u32) -> Self::View<'_>;
    /// The key at an offset of a packed image.
    #[doc(hidden)]
    #[inline]
    fn packed(image: &[u8], at: u32) -> Self::View<'_> {
        Self::view(image, at)
    }
    /// Compares the key at an offset of a packed image with another.
    #[doc(hidden)]
    #[inline]
    fn compare_packed(image: &[u8], at: u32, other: Self::View<'_>) -> Ordering {
        Self::compare(image, at, other)
    }
    /// The key of a handle, which is known to lie in its image.
    #[doc(hidden)]
    #[inline]
    fn of(key: Ref<'_, Self>) -> Self::View<'_> {
        Self::view(key.image(), key.at())
    }
    /// Compares the key at an offset with another.
    #[doc(hidden)]
    fn compare(image: &[u8], at: u32, other: Self::View<'_>) -> Ordering;
    /// The hash of a key, with the seed of a table.
    #[doc(hidden)]
    fn hash(key: Self::View<'_>, seed: u32) -> u64;
    /// Writes a key over a default one.
    #[doc(hidden)]
    fn put(memory: MemoryMut<'_>, at: u32, key: Self::View<'_>) -> Result<(), Full>;
    /// The index of a key (`Ok`), or the index where it belongs, among `count` keys, `stride` bytes apart
    /// from `first` on. A key to add is compared with the last one first, because it is greater than that if
    /// keys are added in order.
    #[doc(hidden)]
    #[inline]
    fn search<const TO_ADD: bool>(
        image: &[u8],
        first: u32,
        stride: u32,
        count: u32,
        key: Self::View<'_>,
    ) -> Result<u32, u32> {
        let compare = |index| Self::compare(image, first + index * stride, key);
        search_by::<TO_ADD>(count, |index| compare(index) != Ordering::Greater, compare)
    }
    /// The first of `count` keys, `stride` bytes apart from `first` on, that is not greater than the one
    /// before it.
    #[doc(hidden)]
    #[inline]
    fn not_ascending(image: &[u8], first: u32, stride: u32, count: u32) -> Option<u32> {
        (1..count).find(|index| {
            let place = first + index * stride;
            Self::compare_in(image, place - stride, place) != Ordering::Less
        })
    }
    /// Compares two keys of one image.
    #[doc(hidden)]
    #[inline]
    fn compare_in(image: &[u8], a: u32, b: u32) -> Ordering {
        Self::compare(image, a, Self::view(image, b))
    }
}

/// Writes a key into an image.
pub type PutKey<K> = for<'k> fn(&mut [u8], u32, <K as Key>::View<'k>);

/// The index of an element (`Ok`), or the index where it belongs, among `count` elements. `compare` compares
/// an element with the wanted one, and `is_at_most` says whether an element is less or equal. Both receive an
/// index less than `count`.
#[inline]
fn search_by<const TO_ADD: bool>(
    count: u32,
    is_at_most: impl Fn(u32) -> bool,
    compare: impl Fn(u32) -> Ordering,
) -> Result<u32, u32> {
    let (mut first, mut left) = (0, count);
    if left == 0 {
        return Err(0);
    }
    if TO_ADD && compare(count - 1) == Ordering::Less {
        return Err(count);
    }
    while left > 1 {
        let middle = first + left / 2;
        if is_at_most(middle) {
            first = middle;
        }
        left -= left / 2;
    }
    let found = compare(first);
    if found == Ordering::Equal { Ok(first) } else { Err(first + u32::from(found == Ordering::Less)) }
}

/// The finalizer of SplitMix64: each bit of the result depends on each bit of the argument.
#[inline]
pub(crate) const fn mix(x: u64) -> u64 {
    let x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    x ^ (x >> 31)
}

/// The start value of hashing with a seed: a multiple of the fraction of the golden ratio, as in SplitMix64.
#[inline]
pub(crate) const fn start(seed: u32) -> u64 {
    0x9e37_79b9_7f4a_7c15_u64.wrapping_mul(seed as u64 + 1)
}

macro_rules! integer {
    ($($type:ty)*) => {$(
        impl Key for $type {
            type View<'a> = $type;
            const PUT: Option<PutKey<Self>> = Some(|image, at, key| put_in(image, at, std::slice::from_ref(&key)));
            #[inline]
            fn view(image: &[u8], at: u32) -> $type {
                // An image that is being checked may have any alignment.
                let mut bytes = [0; size_of::<$type>()];
                bytes.copy_from_slice(&image[at as usize..at as usize + size_of::<$type>()]);
                <$type>::from_le_bytes(bytes)
            }
            #[inline]
            fn of(key: Ref<'_, $type>) -> $type {
                *key
            }
            #[inline]
            fn compare(image: &[u8], at: u32, other: $type) -> Ordering {
                Self::view(image, at).cmp(&other)
            }
            #[allow(clippy::cast_lossless, reason = "one cast extends signs and zeros alike")]
            #[inline]
            fn hash(key: $type, seed: u32) -> u64 {
                mix(start(seed).wrapping_add(key as u64))
            }
            #[inline]
            fn put(MemoryMut(memory): MemoryMut<'_>, at: u32, key: $type) -> Result<(), Full> {
                put(memory, at, key);
                Ok(())
            }
            #[inline]
            fn search<const TO_ADD: bool>(
                image: &[u8],
                first: u32,
                stride: u32,
                count: u32,
                key: $type,
            ) -> Result<u32, u32> {
                let stride = stride as usize;
                assert!(stride >= size_of::<$type>(), "elements begin with their keys");
                let elements = &image[first as usize..][..stride.saturating_mul(count as usize)];
                let own = |index: u32| {
                    // SAFETY: there are `count` elements of `stride` bytes, and the index is less than
                    // `count`.
                    let element = unsafe { elements.as_ptr().add(index as usize * stride) };
                    // SAFETY: an element has at least as many bytes as a key.
                    <$type>::from_le_bytes(unsafe { element.cast::<[u8; size_of::<$type>()]>().read() })
                };
                search_by::<TO_ADD>(count, |index| own(index) <= key, |index| own(index).cmp(&key))
            }
            #[inline(always)]
            fn not_ascending(image: &[u8], first: u32, stride: u32, count: u32) -> Option<u32> {
                let stride = stride as usize;
                let (head, others) = image[first as usize..][..stride * count as usize].split_at_checked(stride)?;
                let mut before = Self::view(head, 0);
                // One pass without an early exit first: nearly always, all keys ascend.
                let mut wrong = 0_u32;
                let mut fours = others.chunks_exact(4 * stride);
                for four in &mut fours {
                    for i in 0..4 {
                        let key = Self::view(&four[i * stride..], 0);
                        wrong += u32::from(before >= key);
                        before = key;
                    }
                }
                for element in fours.remainder().chunks_exact(stride) {
                    let key = Self::view(element, 0);
                    wrong += u32::from(before >= key);
                    before = key;
                }
                if wrong == 0 {
                    return None;
                }
                (1..count).find(|index| {
                    let place = first + index * stride as u32;
                    Self::view(image, place - stride as u32) >= Self::view(image, place)
                })
            }
        }
    )*};
}

integer! { u8 u16 u32 u64 i8 i16 i32 i64 }

/// An entry of a map as it lies in a region: the key, and the value at the next multiple of its alignment.
pub struct Entry<K, V>(PhantomData<fn() -> (K, V)>);

impl<K: Stored, V: Stored> Entry<K, V> {
    pub(crate) const VALUE: u32 = K::SIZE.next_multiple_of(V::ALIGN);

    /// Key and value.
    #[inline]
    pub(crate) fn both(entry: Ref<'_, Self>) -> (K::View<'_>, Ref<'_, V>)
    where
        K: Key,
    {
        (K::of(entry.part(0)), entry.part(Self::VALUE))
    }
}

impl<K: Stored, V: Stored> Stored for Entry<K, V> {
    const SIZE: u32 = {
        fixed::<V>();
        (Self::VALUE + V::SIZE).next_multiple_of(Self::ALIGN)
    };
    const ALIGN: u32 = if K::ALIGN > V::ALIGN { K::ALIGN } else { V::ALIGN };
    const LINKS: bool = K::LINKS || V::LINKS;
    const DENSE: bool = K::DENSE && V::DENSE && Self::SIZE == K::SIZE + V::SIZE;
    const ANY: bool = K::ANY && V::ANY;

    fn kind() -> String {
        "entry".to_owned()
    }
    fn inner(lines: &mut Lines, path: &str) {
        lines.value::<K>(&format!("{path}.key"), 0);
        lines.value::<V>(&format!("{path}.value"), Self::VALUE);
    }
    fn needed(lines: &mut Lines) {
        K::needed(lines);
        V::needed(lines);
    }
    fn begin(MemoryMut(memory): MemoryMut<'_>, at: u32) {
        K::begin(MemoryMut(memory), at);
        V::begin(MemoryMut(memory), at + Self::VALUE);
    }
    fn moved(MemoryMut(memory): MemoryMut<'_>, at: u32, distance: u32) {
        K::moved(MemoryMut(memory), at, distance);
        V::moved(MemoryMut(memory), at + Self::VALUE, distance);
    }
    fn slide(slide: &mut Slide<'_>, at: u32) {
        K::slide(slide, at);
        V::slide(slide, at + Self::VALUE);
    }
    fn release(MemoryMut(memory): MemoryMut<'_>, at: u32) {
        K::release(MemoryMut(memory), at);
        V::release(MemoryMut(memory), at + Self::VALUE);
    }
    fn write(writer: &mut Writer<'_>, from: u32, to: u32) {
        K::write(writer, from, to);
        V::write(writer, from + Self::VALUE, to + Self::VALUE);
    }
    fn check<const CANONICAL: bool>(check: &mut Check<'_, CANONICAL>, at: u32) -> Result<(), Invalid> {
        K::check(check, at).map_err(|error| error.in_member("key"))?;
        check.zero(at + K::SIZE, at + Self::VALUE)?;
        V::check(check, at + Self::VALUE).map_err(|error| error.in_member("value"))?;
        check.zero(at + Self::VALUE + V::SIZE, at + Self::SIZE)
    }
}
