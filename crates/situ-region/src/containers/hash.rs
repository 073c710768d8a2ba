//! Hash sets and maps within a region: entries in a row, in the order of insertion, and an index of them
//! behind these. `spec/region.md` describes the bytes, `hash_index` the index.

use std::marker::PhantomData;

use situ_layout::{Invalid, InvalidProblem};

use crate::containers::engine::{Engine, Reserve};
use crate::containers::hash_index::{Index, Keys, Missing, SEEDS};
use crate::containers::key::Key;
use crate::containers::keyed::{Map, Set};
use crate::containers::vector;
use crate::error::{Full, invalid};
use crate::image::check::{Check, CheckBehind};
use crate::image::writer::{WriteBehind, Writer};
use crate::memory::blocks::{Memory, MemoryMut, ReleaseBehind};
use crate::memory::granule::{MAX_SIZE, in_granules, u32_at};
use crate::memory::later::Place;
use crate::memory::slide::{Slide, SlideBehind};
use crate::value::element::{Element, Of, relocate};
use crate::value::handle::Values;
use crate::value::stored::Stored;

/// Keys or entries in a hash table.
#[doc(hidden)]
pub enum Hashed {}

/// A hash set.
pub type HashSet<K> = Set<K, Hashed>;

/// A hash map.
pub type HashMap<K, V> = Map<K, V, Hashed>;

/// The capacity of the first block.
const FIRST: u32 = 4;

/// The place of a table's block, its length and its capacity.
#[derive(Clone, Copy)]
struct Table {
    block: u32,
    len: u32,
    cap: u32,
}

impl Table {
    #[inline]
    fn of(image: &[u8], at: u32) -> Self {
        let [link, len, cap] = vector::header(image, at);
        Self { block: at.wrapping_add(link), len, cap }
    }
    #[inline]
    fn index<S: Element>(self, of: S) -> Option<Index> {
        Index::of(self.block, self.cap, of.size())
    }
    #[inline]
    fn keys<S: Element>(self, of: S, image: &[u8]) -> Keys<'_> {
        Keys { image, first: self.block, stride: of.size() }
    }
    #[inline]
    fn place<S: Element>(self, of: S, entry: u32) -> u32 {
        self.block.wrapping_add(entry.wrapping_mul(of.size()))
    }

    /// The entry of a key. The error is `None` in a table without an index.
    #[inline]
    fn find<S: Element, K: Key>(self, of: S, image: &[u8], key: K::View<'_>) -> Result<u32, Option<Missing>> {
        let keys = self.keys(of, image);
        match self.index(of) {
            Some(index) => index.find::<K>(keys, key).map_err(Some),
            None => (0..self.len).find(|entry| K::compare(image, keys.at(*entry), key).is_eq()).ok_or(None),
        }
    }
}

/// The size of a block for `cap` elements of `size` bytes.
pub(crate) fn block_bytes(cap: u32, size: u32) -> u64 {
    Index::block_bytes(cap, size)
}

/// Moves the entries to a block for `cap` of them.
fn change_capacity<S: Element, K: Key>(of: S, memory: &mut Memory, at: u32, cap: u32) -> Result<(), Full> {
    let (old, bytes) = (Table::of(memory.bytes(), at), Index::block_bytes(cap, of.size()));
    if bytes > u64::from(MAX_SIZE) {
        return Err(memory.full());
    }
    let new = Table { block: memory.allocate_for(at, bytes)?, cap, ..old };
    if let Some(index) = new.index(of) {
        let seed = old.index(of).map_or(0, |index| index.seed(memory.bytes()));
        if !index.fill::<K>(memory, (old.block, of.size()), old.len, seed) {
            memory.free(new.block, bytes);
            return Err(memory.full());
        }
    }
    relocate(of, memory, old.block, new.block, old.len);
    if old.cap != 0 {
        memory.free(old.block, Index::block_bytes(old.cap, of.size()));
    }
    memory.set_u32(at, new.block.wrapping_sub(at));
    memory.set_u32(at + 8, cap);
    Ok(())
}

/// Makes room for one more entry.
#[cold]
#[inline(never)]
fn grow<S: Element, K: Key>(of: S, memory: &mut Memory, at: u32, cap: u32) -> Result<(), Full> {
    let wanted = memory.next_capacity(cap, cap + 1).max(FIRST);
    change_capacity::<S, K>(of, memory, at, wanted)
        .or_else(|_| change_capacity::<S, K>(of, memory, at, cap + 1))
}

/// The entry of a key.
#[inline]
pub(crate) fn find<S: Element, K: Key>(of: S, image: &[u8], at: u32, key: K::View<'_>) -> Option<u32> {
    let table = Table::of(image, at);
    table.find::<S, K>(of, image, key).ok().map(|entry| table.place(of, entry))
}

/// The place of a key's entry, and whether it is new. If there is no room, the set is unchanged.
pub(crate) fn insert<S: Element, K: Key>(
    of: S,
    memory: &mut Memory,
    at: u32,
    key: K::View<'_>,
) -> Result<(u32, bool), Full> {
    let mut table = Table::of(memory.bytes(), at);
    let mut missing = match table.find::<S, K>(of, memory.bytes(), key) {
        Ok(entry) => return Ok((table.place(of, entry), false)),
        Err(missing) => missing,
    };
    if table.len == table.cap {
        grow::<S, K>(of, memory, at, table.cap)?;
        table = Table::of(memory.bytes(), at);
        missing = table.find::<S, K>(of, memory.bytes(), key).err().flatten();
    }
    let place = table.place(of, table.len);
    memory.zero(place, of.size());
    of.begin(memory, place);
    let mut made = K::put(MemoryMut(memory), place, key);
    if made.is_ok()
        && let (Some(index), Some(missing)) = (table.index(of), missing)
        && !index.add(memory, &missing, table.len)
        && !index.reseed::<K>(memory, (table.block, of.size()), table.len + 1)
    {
        made = Err(memory.full());
    }
    if let Err(full) = made {
        of.release(memory, place);
        memory.zero(place, of.size());
        return Err(full);
    }
    memory.set_u32(at + 4, table.len + 1);
    Ok((place, true))
}

/// Removes a key; false if it does not exist.
pub(crate) fn remove<S: Element, K: Key>(of: S, memory: &mut Memory, at: u32, key: K::View<'_>) -> bool {
    let found = Table::of(memory.bytes(), at).find::<S, K>(of, memory.bytes(), key).ok();
    if let Some(entry) = found {
        remove_entry::<S, K>(of, memory, at, entry);
    }
    found.is_some()
}

/// Removes an entry. The last one takes its place.
fn remove_entry<S: Element, K: Key>(of: S, memory: &mut Memory, at: u32, entry: u32) {
    let table = Table::of(memory.bytes(), at);
    let (place, last) = (table.place(of, entry), table.len - 1);
    if let Some(index) = table.index(of) {
        let entries = (table.block, of.size());
        index.remove::<K>(memory, entries, entry);
        if entry != last {
            index.renumber::<K>(memory, entries, last, entry);
        }
    }
    of.release(memory, place);
    if entry != last {
        relocate(of, memory, table.place(of, last), place, 1);
    }
    memory.zero(table.place(of, last), of.size());
    memory.set_u32(at + 4, last);
}

fn release<S: Stored>(memory: &mut Memory, at: u32) {
    let Table { block, len, cap } = Table::of(memory.bytes(), at);
    memory.zero(at, 12);
    if cap != 0 {
        memory.release::<Entries<S>>([block, len, cap]);
    }
}

/// Makes the capacity the length, in the block as it is. The index takes memory from the heap meanwhile;
/// without it, the table keeps its capacity.
fn trim<S: Stored, K: Key>(memory: &mut Memory, at: u32) {
    let of = Of::<S>::TYPE;
    let table = Table::of(memory.bytes(), at);
    if table.len == 0 {
        return release::<S>(memory, at);
    }
    if table.len == table.cap {
        return;
    }
    let trimmed = Table { cap: table.len, ..table };
    let mut index = None;
    if let Some(new) = trimmed.index(of) {
        let Some(mut words) = new.memory() else { return };
        let keys = table.keys(of, memory.bytes());
        let hash = |entry, seed| K::hash(K::view(keys.image, keys.at(entry)), seed);
        let Some(seed) = new.least_seed(&mut words, table.len, SEEDS, hash) else { return };
        index = Some((new, seed, words));
    }
    let bytes = Index::block_bytes(trimmed.cap, of.size());
    let end = table.place(of, table.len);
    memory.zero(end, table.block + in_granules(bytes) as u32 - end);
    if let Some((new, seed, words)) = index {
        new.put(memory, seed, &words);
    }
    memory.shorten(table.block, Index::block_bytes(table.cap, of.size()), bytes);
    memory.set_u32(at + 8, table.len);
}

/// The entries of a table, in a release and a compaction.
struct Entries<S>(PhantomData<fn() -> S>);

impl<S: Stored> ReleaseBehind for Entries<S> {
    fn release(memory: &mut Memory, [block, len, cap]: Place) {
        release_entries(Of::<S>::TYPE, memory, [block, len, cap]);
    }
}

/// Releases the entries of a table, and frees its block.
pub(crate) fn release_entries<S: Element>(of: S, memory: &mut Memory, [block, len, cap]: Place) {
    for entry in (0..len).filter(|_| of.has_links()) {
        of.release(memory, block + entry * of.size());
    }
    memory.free(block, Index::block_bytes(cap, of.size()));
}

impl<S: Stored> SlideBehind for Entries<S> {
    fn slide(slide: &mut Slide<'_>, [block, len, _]: Place) {
        slide.elements::<S>(block, len);
    }
}

fn slide<S: Stored, K: Key>(slide: &mut Slide<'_>, at: u32) {
    if let Some(memory) = slide.trims() {
        trim::<S, K>(memory, at);
    }
    slide.back_link(at, at + 12);
    let len = vector::len(slide.image(), at);
    let Some(block) = slide.link(at).filter(|_| S::LINKS) else { return };
    slide.behind::<Entries<S>>([block, len, 0]);
}

fn write<S: Stored, K: Key>(writer: &mut Writer<'_>, from: u32, to: u32) {
    let len = vector::len(writer.image(), from);
    writer.container(to, len, len);
    if len != 0 {
        let block = writer.place(to, block_bytes(len, S::SIZE));
        writer.linked::<Keyed<S, K>>([from, block, 0]);
    }
}

/// The entries of a table, in a copy and in a check.
struct Keyed<S, K>(PhantomData<fn() -> (S, K)>);

impl<S: Stored, K: Key> WriteBehind for Keyed<S, K> {
    fn write(writer: &mut Writer<'_>, [from, block, _]: Place) {
        write_table::<_, K>(Of::<S>::TYPE, writer, from, block);
    }
}

/// Writes the block of the table at `from`: the entries in the order of their keys, and the index.
pub(crate) fn write_table<S: Element, K: Key>(of: S, writer: &mut Writer<'_>, from: u32, block: u32) {
    let image = writer.image();
    let old = Table::of(image, from);
    let (keys, len) = (old.keys(of, image), old.len);
    let mut order = Vec::new();
    if K::not_ascending(image, old.block, of.size(), len).is_none() {
        writer.elements(of, old.block, block, len);
    } else {
        order.extend(0..len);
        order.sort_unstable_by(|a, b| K::compare_in(image, keys.at(*a), keys.at(*b)));
        for (to, from) in (0..).zip(&order) {
            of.write(writer, keys.at(*from), block + to * of.size());
        }
    }
    let new = Table { block, len, cap: len };
    let Some(index) = new.index(of).filter(|index| writer.has(index.at())) else { return };
    let key = |entry: u32| K::view(image, keys.at(order.get(entry as usize).copied().unwrap_or(entry)));
    let mut words = index.memory().unwrap_or_default();
    // Keys for which none of these seeds does are out of reach in practice: spec/region.md, *The
    // canonical table*. A check refuses an image with them.
    let seed = index.least_seed(&mut words, len, SEEDS, |entry, seed| K::hash(key(entry), seed));
    writer.put_u32(index.at(), seed.unwrap_or(SEEDS));
    writer.put_words(index.at() + 4, &words);
}

fn check<S: Stored, K: Key, const CANONICAL: bool>(
    check: &mut Check<'_, CANONICAL>,
    at: u32,
) -> Result<(), Invalid> {
    let (_, cap) = check.container(at, |len| len)?;
    if cap == 0 {
        return Ok(());
    }
    let bytes = Index::block_bytes(cap, S::SIZE);
    let block = check.claim(at, bytes, bytes)?;
    check.behind::<Keyed<S, K>>(at, [at, block, cap])
}

impl<S: Stored, K: Key> CheckBehind for Keyed<S, K> {
    fn check<const CANONICAL: bool>(
        check: &mut Check<'_, CANONICAL>,
        [at, block, cap]: Place,
    ) -> Result<(), Invalid> {
        let of = Of::<S>::TYPE;
        let image = check.image();
        let table = Table { block, len: vector::len(image, at), cap };
        let (keys, len) = (table.keys(of, image), table.len);
        check.elements::<S>(block, len)?;
        // All keys are valid here.
        if CANONICAL && let Some(index) = K::not_ascending(image, block, of.size(), len) {
            return invalid(at, InvalidProblem::NotSorted { index });
        }
        let Some(index) = table.index(of) else {
            let same = |a: u32, b: u32| K::compare_in(image, keys.at(a), keys.at(b)).is_eq();
            let twice = (1..len).find(|entry| !CANONICAL && (0..*entry).any(|other| same(other, *entry)));
            return twice.map_or(Ok(()), |entry| invalid(at, InvalidProblem::NotHashed { entry }));
        };
        check.zero(table.place(of, cap), index.at())?;
        match index.check::<K, CANONICAL>(keys, len) {
            Err(entry) => return invalid(at, InvalidProblem::NotHashed { entry }),
            Ok(occupied) if occupied != len => {
                return invalid(at, InvalidProblem::WrongCount { len, occupied });
            }
            Ok(_) => {}
        }
        let seed = u32_at(image, index.at());
        if CANONICAL && seed != 0 {
            let hash = |entry, seed| K::hash(K::view(image, keys.at(entry)), seed);
            let end = seed.min(SEEDS);
            let Some(mut words) = index.memory() else {
                return invalid(at, InvalidProblem::NoMemory { bytes: Index::block_bytes(cap, 0) });
            };
            if seed >= SEEDS || index.least_seed(&mut words, len, end, hash).is_some() {
                return invalid(at, InvalidProblem::WrongSeed { seed });
            }
        }
        Ok(())
    }
}

impl Engine for Hashed {
    const KINDS: [&'static str; 2] = ["hash_set", "hash_map"];
    const HASHED: bool = true;
    type Elements<'a, E: Stored> = Values<'a, E>;

    #[inline]
    fn elements<E: Stored>(image: &[u8], at: u32) -> Values<'_, E> {
        let Table { block, len, .. } = Table::of(image, at);
        Values::new(image, block, len)
    }
    #[inline]
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
    fn make_room<E: Stored, K: Key>(memory: MemoryMut<'_>, at: u32, count: u32) -> Result<(), Full> {
        Self::reserve::<E, K>(memory, at, count)
    }
    fn remove<E: Stored, K: Key>(MemoryMut(memory): MemoryMut<'_>, at: u32, key: K::View<'_>) -> bool {
        remove::<_, K>(Of::<E>::TYPE, memory, at, key)
    }
    fn clear<E: Stored>(MemoryMut(memory): MemoryMut<'_>, at: u32) {
        release::<E>(memory, at);
    }
    fn slide<E: Stored, K: Key>(under_way: &mut Slide<'_>, at: u32) {
        slide::<E, K>(under_way, at);
    }
    fn release<E: Stored>(MemoryMut(memory): MemoryMut<'_>, at: u32) {
        release::<E>(memory, at);
    }
    fn write<E: Stored, K: Key>(writer: &mut Writer<'_>, from: u32, to: u32) {
        write::<E, K>(writer, from, to);
    }
    fn check<E: Stored, K: Key, const CANONICAL: bool>(
        under_way: &mut Check<'_, CANONICAL>,
        at: u32,
    ) -> Result<(), Invalid> {
        check::<E, K, CANONICAL>(under_way, at)
    }
}

impl Reserve for Hashed {
    fn reserve<E: Stored, K: Key>(MemoryMut(memory): MemoryMut<'_>, at: u32, count: u32) -> Result<(), Full> {
        if count > memory.u32(at + 8) {
            change_capacity::<_, K>(Of::<E>::TYPE, memory, at, count)?;
        }
        Ok(())
    }
    fn shrink<E: Stored, K: Key>(MemoryMut(memory): MemoryMut<'_>, at: u32) -> Result<(), Full> {
        trim::<E, K>(memory, at);
        Ok(())
    }
}
