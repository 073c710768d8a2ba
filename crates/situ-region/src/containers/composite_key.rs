//! Keys other than integers and text: floating-point numbers, booleans, characters, arrays, and what the
//! macros need for structs and enums.

use std::cmp::Ordering;

use crate::containers::key::{Key, PutKey, mix, start};
use crate::error::Full;
use crate::memory::blocks::MemoryMut;
use crate::value::handle::Ref;
use crate::value::plain::{put, put_in};
use crate::value::scalar::{Bool, Char};
use crate::value::stored::Stored;

macro_rules! float {
    ($($type:ty)*) => {$(
        /// Keys are in the total order of IEEE 754, [`total_cmp`](f64::total_cmp): two are equal if their
        /// bits are. So -0.0 comes before 0.0, and a NaN can be found again.
        impl Key for $type {
            type View<'a> = $type;
            const PUT: Option<PutKey<Self>> = Some(|image, at, key| put_in(image, at, std::slice::from_ref(&key)));
            #[inline]
            fn view(image: &[u8], at: u32) -> $type {
                let mut bytes = [0; size_of::<$type>()];
                bytes.copy_from_slice(&image[at as usize..at as usize + size_of::<$type>()]);
                <$type>::from_le_bytes(bytes)
            }
            #[inline]
            fn compare(image: &[u8], at: u32, other: $type) -> Ordering {
                Self::view(image, at).total_cmp(&other)
            }
            #[inline]
            fn hash(key: $type, seed: u32) -> u64 {
                mix(start(seed).wrapping_add(u64::from(key.to_bits())))
            }
            #[inline]
            fn put(MemoryMut(memory): MemoryMut<'_>, at: u32, key: $type) -> Result<(), Full> {
                put(memory, at, key);
                Ok(())
            }
        }
    )*};
}

float! { f32 f64 }

impl Key for Bool {
    type View<'a> = bool;
    const PUT: Option<PutKey<Self>> = Some(|image, at, key| image[at as usize] = u8::from(key));
    #[inline]
    fn view(image: &[u8], at: u32) -> bool {
        image[at as usize] != 0
    }
    #[inline]
    fn compare(image: &[u8], at: u32, other: bool) -> Ordering {
        Self::view(image, at).cmp(&other)
    }
    #[inline]
    fn hash(key: bool, seed: u32) -> u64 {
        <u8 as Key>::hash(u8::from(key), seed)
    }
    #[inline]
    fn put(MemoryMut(memory): MemoryMut<'_>, at: u32, key: bool) -> Result<(), Full> {
        put(memory, at, u8::from(key));
        Ok(())
    }
}

/// Characters are ordered as their bytes.
impl Key for Char {
    type View<'a> = Self;
    const PUT: Option<PutKey<Self>> = Some(|image, at, key| image[at as usize] = key.0);
    #[inline]
    fn view(image: &[u8], at: u32) -> Self {
        Self(image[at as usize])
    }
    #[inline]
    fn compare(image: &[u8], at: u32, other: Self) -> Ordering {
        Self::view(image, at).cmp(&other)
    }
    #[inline]
    fn hash(key: Self, seed: u32) -> u64 {
        <u8 as Key>::hash(key.0, seed)
    }
    #[inline]
    fn put(MemoryMut(memory): MemoryMut<'_>, at: u32, key: Self) -> Result<(), Full> {
        put(memory, at, key);
        Ok(())
    }
}

/// The start value of the hash of a key with `count` parts.
#[doc(hidden)]
#[inline]
pub fn hash_parts(count: usize, seed: u32) -> u64 {
    mix(start(seed).wrapping_add(count as u64))
}

/// The hash of a key, up to one more part with this hash.
#[doc(hidden)]
#[inline]
pub fn hash_part(hash: u64, part: u64) -> u64 {
    mix(hash ^ part)
}

/// Writes a key of several parts over a default one with `put`. Without room, it is the default one again.
#[doc(hidden)]
pub fn put_parts<K: Stored>(
    MemoryMut(memory): MemoryMut<'_>,
    at: u32,
    put: impl FnOnce(MemoryMut<'_>) -> Result<(), Full>,
) -> Result<(), Full> {
    let made = put(MemoryMut(memory));
    if made.is_err() {
        K::release(MemoryMut(memory), at);
        memory.zero(at, K::SIZE);
        K::begin(MemoryMut(memory), at);
    }
    made
}

/// The elements in order, as for slices.
impl<K: Key, const N: usize> Key for [K; N] {
    type View<'a> = [K::View<'a>; N];
    #[inline]
    fn view(image: &[u8], at: u32) -> Self::View<'_> {
        std::array::from_fn(|i| K::view(image, at + i as u32 * K::SIZE))
    }
    #[inline]
    fn of(key: Ref<'_, Self>) -> Self::View<'_> {
        std::array::from_fn(|i| K::of(key.part(i as u32 * K::SIZE)))
    }
    #[inline]
    fn compare(image: &[u8], at: u32, other: Self::View<'_>) -> Ordering {
        let orders = (0..).zip(other).map(|(i, part)| K::compare(image, at + i * K::SIZE, part));
        orders.fold(Ordering::Equal, Ordering::then)
    }
    #[inline]
    fn packed(image: &[u8], at: u32) -> Self::View<'_> {
        std::array::from_fn(|i| K::packed(image, at + i as u32 * K::PACKED_SIZE))
    }
    #[inline]
    fn compare_packed(image: &[u8], at: u32, other: Self::View<'_>) -> Ordering {
        let orders =
            (0..).zip(other).map(|(i, part)| K::compare_packed(image, at + i * K::PACKED_SIZE, part));
        orders.fold(Ordering::Equal, Ordering::then)
    }
    #[inline]
    fn hash(key: Self::View<'_>, seed: u32) -> u64 {
        key.into_iter().fold(hash_parts(N, seed), |hash, part| hash_part(hash, K::hash(part, seed)))
    }
    fn put(memory: MemoryMut<'_>, at: u32, key: Self::View<'_>) -> Result<(), Full> {
        put_parts::<Self>(memory, at, |mut memory| {
            (0..).zip(key).try_for_each(|(i, part)| K::put(memory.reborrow(), at + i * K::SIZE, part))
        })
    }
}
