//! Sets and maps in packed images: all keys, then all values.
//!
//! Keys ascend. Those of a large hash table are in buckets by their hash, and ascend in each bucket. A bucket
//! is searched by bisection, so keys with equal hashes cost no more than those of a sorted map.

use std::cmp::Ordering;
use std::marker::PhantomData;

use situ_layout::{Invalid, InvalidProblem};

use crate::containers::engine::Engine;
use crate::containers::key::{Entry, Key};
use crate::containers::vector;
use crate::error::{Full, invalid};
use crate::image::check::{Check, CheckBehind};
use crate::image::lines::Lines;
use crate::image::writer::{WriteBehind, Writer};
use crate::memory::blocks::{Memory, MemoryMut};
use crate::memory::granule::u32_at;
use crate::memory::later::Place;
use crate::packed::place::counted_at;
use crate::packed::unpack::{UnpackBehind, Unpacker};
use crate::value::handle::Ref;
use crate::value::stored::Stored;

/// The greatest number of keys of a hash table without buckets.
const UNDIVIDED: u32 = 8;

/// The number of keys for each bucket.
const PER_BUCKET: u32 = 4;

/// The number of buckets of a hash table; 0 if it is not divided.
#[inline]
pub(crate) fn buckets_for(count: u32) -> u32 {
    if count > UNDIVIDED { count.div_ceil(PER_BUCKET) } else { 0 }
}

/// The bucket of a key, of so many.
#[inline]
pub(crate) fn bucket_of<K: Key>(key: K::View<'_>, buckets: u32) -> u32 {
    (((K::hash(key, 0) >> 32) * u64::from(buckets)) >> 32) as u32
}

/// Sorts the entries of a hash table by their buckets, and in each bucket by their keys. An entry is its
/// bucket and its place in a region.
pub(crate) fn order_keys<K: Key>(image: &[u8], entries: &mut [(u32, u32)]) {
    entries.sort_unstable_by(|a, b| a.0.cmp(&b.0).then_with(|| K::compare_in(image, a.1, b.1)));
}

/// The value of a set's key: none. An entry with it has the layout of the key alone.
pub enum NoValue {}

impl Stored for NoValue {
    const SIZE: u32 = 0;
    const ALIGN: u32 = 1;
    const LINKS: bool = false;
    const DENSE: bool = true;
    const ANY: bool = true;
    fn kind() -> String {
        String::new()
    }
    fn inner(_: &mut Lines, _: &str) {}
    fn write(_: &mut Writer<'_>, _: u32, _: u32) {}
    fn check<const CANONICAL: bool>(_: &mut Check<'_, CANONICAL>, _: u32) -> Result<(), Invalid> {
        Ok(())
    }
}

/// The types of a set or map.
type Of<H, K, V> = PhantomData<fn() -> (H, K, V)>;

/// The parts of a set or map: the first key of each bucket as a number, the keys, and the values.
#[derive(Clone, Copy)]
pub(crate) struct Parts<H, K, V> {
    pub count: u32,
    buckets: u32,
    starts: u32,
    keys: u32,
    values: u32,
    of: Of<H, K, V>,
}

impl<H: Engine, K: Key, V: Stored> Parts<H, K, V> {
    /// The parts of `count` keys behind `begin`, and their end.
    fn at(begin: u32, count: u32) -> (Self, u64) {
        let buckets = if H::HASHED { buckets_for(count) } else { 0 };
        let number = u64::from;
        let starts = if buckets == 0 { number(begin) } else { number(begin).next_multiple_of(4) };
        let keys = (starts + 4 * number(buckets)).next_multiple_of(number(K::PACKED_ALIGN));
        let keys_end = keys + number(count) * number(K::PACKED_SIZE);
        let values = keys_end.next_multiple_of(number(V::PACKED_ALIGN));
        let end = values + number(count) * number(V::PACKED_SIZE);
        let parts = Self {
            count,
            buckets,
            starts: starts as u32,
            keys: keys as u32,
            values: values as u32,
            of: PhantomData,
        };
        (parts, end)
    }

    /// The parts of the set or map at `at`.
    #[inline]
    pub(crate) fn of(image: &[u8], at: u32) -> Self {
        let (begin, count) = counted_at(image, at);
        let (parts, end) = Self::at(begin, count);
        if end <= image.len() as u64 { parts } else { Self::at(at, 0).0 }
    }
    #[inline]
    fn key_at(&self, index: u32) -> u32 {
        self.keys + index * K::PACKED_SIZE
    }
    #[inline]
    pub(crate) fn key<'a>(&self, image: &'a [u8], index: u32) -> K::View<'a> {
        K::packed(image, self.key_at(index))
    }
    #[inline]
    pub(crate) fn value_at(&self, index: u32) -> u32 {
        self.values + index * V::PACKED_SIZE
    }
    /// Compares the keys of two entries.
    #[inline]
    fn compare(&self, image: &[u8], a: u32, b: u32) -> Ordering {
        K::compare_packed(image, self.key_at(a), self.key(image, b))
    }
    #[inline]
    fn bucket(&self, key: K::View<'_>) -> u32 {
        bucket_of::<K>(key, self.buckets)
    }

    /// The number of keys before a bucket.
    #[inline]
    fn start(&self, image: &[u8], bucket: u32) -> u32 {
        if bucket < self.buckets {
            u32_at(image, self.starts + 4 * bucket).min(self.count)
        } else {
            self.count
        }
    }

    /// The index of a key (`Ok`), or the index where it belongs.
    #[inline]
    pub(crate) fn search(&self, image: &[u8], key: K::View<'_>) -> Result<u32, u32> {
        let (mut low, mut high) = (0, self.count);
        if self.buckets != 0 {
            let bucket = self.bucket(key);
            (low, high) = (self.start(image, bucket), self.start(image, bucket + 1));
        }
        while low < high {
            let middle = low + (high - low) / 2;
            match K::compare_packed(image, self.key_at(middle), key) {
                Ordering::Less => low = middle + 1,
                Ordering::Equal => return Ok(middle),
                Ordering::Greater => high = middle,
            }
        }
        Err(low)
    }
}

/// The keys and values of a set or map in a packed image.
struct Entries<H, K, V>(Of<H, K, V>);

impl<H: Engine, K: Key, V: Stored> WriteBehind for Entries<H, K, V> {
    fn write(writer: &mut Writer<'_>, [from, begin, count]: Place) {
        let (parts, _) = Parts::<H, K, V>::at(begin, count);
        let image = writer.image();
        let entries = H::elements::<Entry<K, V>>(image, from);
        let mut order: Vec<(u32, u32)> = entries.map(|entry| (0, entry.at())).collect();
        if H::HASHED {
            if parts.buckets != 0 {
                order.iter_mut().for_each(|(bucket, at)| *bucket = parts.bucket(K::view(image, *at)));
            }
            order_keys::<K>(image, &mut order);
            let mut start = 0;
            for bucket in 0..parts.buckets {
                writer.put_u32(parts.starts + 4 * bucket, start);
                let keys = order[start as usize..].iter().take_while(|(of, _)| *of == bucket);
                start += keys.count() as u32;
            }
        }
        for (i, (_, at)) in (0..).zip(&order) {
            K::pack(writer, *at, parts.key_at(i));
        }
        for (i, (_, at)) in (0..).zip(&order) {
            V::pack(writer, at + Entry::<K, V>::VALUE, parts.value_at(i));
        }
    }
}

impl<H: Engine, K: Key, V: Stored> CheckBehind for Entries<H, K, V> {
    fn check<const CANONICAL: bool>(
        check: &mut Check<'_, CANONICAL>,
        [at, begin, count]: Place,
    ) -> Result<(), Invalid> {
        let (parts, _) = Parts::<H, K, V>::at(begin, count);
        let is_map = V::SIZE != 0;
        if K::LINKS || !(K::ANY && K::DENSE) {
            for i in 0..count {
                K::check_packed(check, parts.key_at(i)).map_err(|error| {
                    let error = if is_map { error.in_member("key") } else { error };
                    error.in_element(i)
                })?;
            }
        }
        parts.check_order(check.image(), at)?;
        if !V::LINKS && V::ANY && V::DENSE {
            return Ok(());
        }
        (0..count).try_for_each(|i| {
            let checked = V::check_packed(check, parts.value_at(i));
            checked.map_err(|error| error.in_member("value").in_element(i))
        })
    }
}

impl<H: Engine, K: Key, V: Stored> Parts<H, K, V> {
    /// Checks that all keys of the set or map at `at` are in their order.
    fn check_order(&self, image: &[u8], at: u32) -> Result<(), Invalid> {
        if self.buckets == 0 {
            let wrong = (1..self.count).find(|i| self.compare(image, *i, *i - 1) != Ordering::Greater);
            return wrong.map_or(Ok(()), |index| invalid(at, InvalidProblem::NotSorted { index }));
        }
        let (mut next, mut before) = (0, None);
        for entry in 0..self.count {
            let bucket = self.bucket(self.key(image, entry));
            let is_next = before.is_none_or(|last| {
                bucket > last
                    || (bucket == last && self.compare(image, entry, entry - 1) == Ordering::Greater)
            });
            // All buckets up to this one begin here.
            while next <= bucket && is_next && u32_at(image, self.starts + 4 * next) == entry {
                next += 1;
            }
            if !is_next || next != bucket + 1 {
                return invalid(at, InvalidProblem::NotHashed { entry });
            }
            before = Some(bucket);
        }
        let empty = (next..self.buckets).all(|bucket| u32_at(image, self.starts + 4 * bucket) == self.count);
        if empty { Ok(()) } else { invalid(at, InvalidProblem::NotHashed { entry: self.count }) }
    }
}

/// The values of a map, after all its keys.
impl<H: Engine, K: Key, V: Stored> UnpackBehind for Entries<H, K, V> {
    fn unpack(
        unpacker: &mut Unpacker<'_>,
        memory: &mut Memory,
        [at, begin, count]: Place,
    ) -> Result<(), Full> {
        let (parts, _) = Parts::<H, K, V>::at(begin, count);
        // The entries are in the order of the image: that of the keys, or of insertion.
        let places: Vec<u32> = H::elements::<Entry<K, V>>(memory.bytes(), at).map(Ref::at).collect();
        (0..).zip(places).try_for_each(|(i, place)| {
            V::unpack(unpacker, MemoryMut(memory), place + Entry::<K, V>::VALUE, parts.value_at(i))
        })
    }
}

pub(crate) fn pack<H: Engine, K: Key, V: Stored>(writer: &mut Writer<'_>, from: u32, to: u32) {
    let count = vector::len(writer.image(), from);
    if count == 0 {
        return;
    }
    writer.packed_link(to, 1);
    writer.packed_length(count);
    let begin = writer.end;
    let (_, end) = Parts::<H, K, V>::at(begin, count);
    writer.packed_room(end as u32 - begin, 1);
    if K::LINKS || V::LINKS {
        writer.linked::<Entries<H, K, V>>([from, begin, count]);
    } else {
        Entries::<H, K, V>::write(writer, [from, begin, count]);
    }
}

pub(crate) fn check<H: Engine, K: Key, V: Stored, const CANONICAL: bool>(
    check: &mut Check<'_, CANONICAL>,
    at: u32,
) -> Result<(), Invalid> {
    if u32_at(check.image(), at) == 0 {
        return Ok(());
    }
    check.packed_link(at, 1)?;
    let count = check.packed_length(1)?;
    let begin = check.cursor;
    let (parts, end) = Parts::<H, K, V>::at(begin, count);
    check.packed_room(at, end - u64::from(begin), 1)?;
    check.zero(begin, parts.starts)?;
    check.zero(parts.starts + 4 * parts.buckets, parts.keys)?;
    check.zero(parts.key_at(count), parts.values)?;
    let place = [at, begin, count];
    if K::LINKS || V::LINKS {
        check.behind::<Entries<H, K, V>>(at, place)
    } else {
        Entries::<H, K, V>::check(check, place)
    }
}

pub(crate) fn unpack<H: Engine, K: Key, V: Stored>(
    unpacker: &mut Unpacker<'_>,
    memory: &mut Memory,
    at: u32,
    from: u32,
) -> Result<(), Full> {
    let image = unpacker.image();
    let (begin, count) = counted_at(image, from);
    if count == 0 {
        return Ok(());
    }
    let (parts, _) = Parts::<H, K, V>::at(begin, count);
    H::make_room::<Entry<K, V>, K>(MemoryMut(memory), at, count)?;
    for i in 0..count {
        let (place, _) = H::insert::<Entry<K, V>, K>(MemoryMut(memory), at, parts.key(image, i))?;
        if !V::LINKS {
            unpacker.copy(memory, parts.value_at(i), place + Entry::<K, V>::VALUE, V::SIZE);
        }
    }
    if V::LINKS { unpacker.behind::<Entries<H, K, V>>(memory, [at, begin, count]) } else { Ok(()) }
}
