//! How sets and maps hold their keys: the operations that a sorted vector, a hash table and a tree have in
//! common.

use situ_layout::Invalid;

use crate::containers::key::{Entry, Key};
use crate::error::Full;
use crate::image::check::Check;
use crate::image::writer::Writer;
use crate::memory::blocks::{Memory, MemoryMut};
use crate::memory::granule::{MAX_SIZE, ROOT};
use crate::memory::options::Options;
use crate::memory::slide::Slide;
use crate::value::assign::Assign;
use crate::value::handle::Ref;
use crate::value::stored::Stored;

/// How a container of 16 bytes holds keys, or entries that begin with their keys.
#[doc(hidden)]
pub trait Engine: 'static {
    /// The kind names of a set and of a map.
    const KINDS: [&'static str; 2];
    /// Whether the elements have no order of their own.
    const HASHED: bool = false;
    /// The elements, in their order.
    type Elements<'a, E: Stored>: Iterator<Item = Ref<'a, E>>;

    fn elements<E: Stored>(image: &[u8], at: u32) -> Self::Elements<'_, E>;
    /// The element of a key.
    fn find<E: Stored, K: Key>(image: &[u8], at: u32, key: K::View<'_>) -> Option<u32>;
    /// The element of a key, and whether it is new. If there is no room, the content is unchanged.
    fn insert<E: Stored, K: Key>(
        memory: MemoryMut<'_>,
        at: u32,
        key: K::View<'_>,
    ) -> Result<(u32, bool), Full>;
    /// Sets the value of a key. If there is no room, a missing key is still missing.
    #[inline]
    fn set<K: Key, V: Assign<X>, X>(
        MemoryMut(memory): MemoryMut<'_>,
        at: u32,
        key: K::View<'_>,
        value: X,
    ) -> Result<(), Full> {
        set_in::<Self, K, V, X>(memory, at, key, value)
    }
    /// Takes memory for `count` elements, if the engine can.
    fn make_room<E: Stored, K: Key>(_: MemoryMut<'_>, _at: u32, _count: u32) -> Result<(), Full> {
        Ok(())
    }
    fn remove<E: Stored, K: Key>(memory: MemoryMut<'_>, at: u32, key: K::View<'_>) -> bool;
    /// Removes the elements for which `is_kept` is false; calls it once for each, in their order. Returns
    /// their number.
    fn retain<E: Stored, K: Key>(
        MemoryMut(memory): MemoryMut<'_>,
        at: u32,
        is_kept: &mut dyn FnMut(Ref<'_, E>) -> bool,
    ) -> usize {
        retain_in::<Self, E, K>(memory, at, is_kept)
    }
    fn clear<E: Stored>(memory: MemoryMut<'_>, at: u32);
    fn slide<E: Stored, K: Key>(slide: &mut Slide<'_>, at: u32);
    fn release<E: Stored>(memory: MemoryMut<'_>, at: u32);
    fn write<E: Stored, K: Key>(writer: &mut Writer<'_>, from: u32, to: u32);
    fn check<E: Stored, K: Key, const CANONICAL: bool>(
        check: &mut Check<'_, CANONICAL>,
        at: u32,
    ) -> Result<(), Invalid>;
}

/// Sets the value of a key, if key or value may need memory.
pub(crate) fn set_in<H: Engine + ?Sized, K: Key, V: Assign<X>, X>(
    memory: &mut Memory,
    at: u32,
    key: K::View<'_>,
    value: X,
) -> Result<(), Full> {
    let (place, new) = H::insert::<Entry<K, V>, K>(MemoryMut(memory), at, key)?;
    let assigned = V::assign(MemoryMut(memory), place + Entry::<K, V>::VALUE, value);
    if assigned.is_err() && new {
        H::remove::<Entry<K, V>, K>(MemoryMut(memory), at, key);
    }
    assigned
}

/// Removes the elements for which `is_kept` is false, one by one. Their keys are copied first.
fn retain_in<H: Engine + ?Sized, E: Stored, K: Key>(
    memory: &mut Memory,
    at: u32,
    is_kept: &mut dyn FnMut(Ref<'_, E>) -> bool,
) -> usize {
    let gone: Vec<u32> =
        H::elements::<E>(memory.bytes(), at).filter(|element| !is_kept(*element)).map(Ref::at).collect();
    if gone.is_empty() {
        return 0;
    }
    let mut keys = Memory::on_heap(ROOT, Options { limit: MAX_SIZE, ..Options::default() });
    // There is room for the keys, because they have it in their region with its other values.
    let count = gone.len() as u32;
    let copied = keys.allocate(u64::from(count) * u64::from(K::SIZE)).and_then(|block| {
        let places = (0..count).map(move |i| block + i * K::SIZE);
        places.clone().zip(gone).try_for_each(|(key, place)| {
            K::begin(MemoryMut(&mut keys), key);
            K::put(MemoryMut(&mut keys), key, K::view(memory.bytes(), place))
        })?;
        Ok(places)
    });
    let keys = copied.into_iter().flatten().map(|key| K::view(keys.bytes(), key));
    keys.filter(|key| H::remove::<E, K>(MemoryMut(memory), at, *key)).count()
}

/// An engine that can reserve memory and release it.
#[doc(hidden)]
pub trait Reserve: Engine {
    fn reserve<E: Stored, K: Key>(memory: MemoryMut<'_>, at: u32, count: u32) -> Result<(), Full>;
    fn shrink<E: Stored, K: Key>(memory: MemoryMut<'_>, at: u32) -> Result<(), Full>;
}
