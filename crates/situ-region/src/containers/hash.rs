//! Hash sets and maps within a region. Their bytes depend only on their content and capacity, not on the
//! history of insertions and removals; `spec/region.md` says how.

use std::cmp::Ordering;
use std::marker::PhantomData;

use situ_layout::{Invalid, InvalidProblem};

use crate::containers::key::Key;
use crate::containers::keyed::{Engine, Map, Reserve, Set};
use crate::containers::vector;
use crate::error::{Full, invalid};
use crate::image::check::{Check, CheckBehind};
use crate::image::writer::{WriteBehind, Writer};
use crate::memory::blocks::{Memory, MemoryMut, ReleaseBehind};
use crate::memory::granule::{MAX_SIZE, target, u32_at};
use crate::memory::later::Place;
use crate::memory::slide::{Slide, SlideBehind};
use crate::value::handle::Ref;
use crate::value::stored::{Stored, relocate};

/// Keys or entries in a hash table.
#[doc(hidden)]
pub enum Hashed {}

/// A hash set.
pub type HashSet<K> = Set<K, Hashed>;

/// A hash map.
pub type HashMap<K, V> = Map<K, V, Hashed>;

const SMALLEST: u32 = 4;

fn fits(count: u32, cap: u32) -> bool {
    u64::from(count) * 8 <= u64::from(cap) * 7
}

/// The smallest capacity for `count` entries.
fn capacity_for(count: u32) -> u32 {
    if count == 0 {
        return 0;
    }
    let mut cap = SMALLEST;
    while !fits(count, cap) && cap < 1 << 31 {
        cap *= 2;
    }
    cap
}

fn block_bytes<S: Stored>(cap: u32) -> u64 {
    u64::from(cap) * (4 + u64::from(S::SIZE))
}

/// The place of a table's block, and its capacity, a power of two.
#[derive(Clone, Copy)]
struct Table {
    block: u32,
    cap: u32,
}

impl Table {
    fn of(image: &[u8], at: u32) -> Self {
        Self { block: target(image, at), cap: u32_at(image, at + 8) }
    }

    fn hash(self, image: &[u8], slot: u32) -> u32 {
        u32_at(image, self.block + 4 * slot)
    }

    fn set_hash(self, memory: &mut Memory, slot: u32, hash: u32) {
        memory.set_u32(self.block + 4 * slot, hash);
    }

    fn slot<S: Stored>(self, slot: u32) -> u32 {
        self.block + 4 * self.cap + slot * S::SIZE
    }

    fn wrap(self, slot: u32) -> u32 {
        slot & (self.cap - 1)
    }

    /// The distance of an entry from its home slot.
    fn away(self, image: &[u8], slot: u32) -> u32 {
        self.wrap(slot.wrapping_sub(self.hash(image, slot)))
    }

    fn full(self, image: &[u8]) -> impl Iterator<Item = u32> {
        (0..self.cap).filter(move |slot| self.hash(image, *slot) != 0)
    }

    /// The slot of a key (`Ok`), or the slot where it belongs. The table has an empty slot.
    fn locate<S: Stored, K: Key>(self, image: &[u8], hash: u32, key: K::View<'_>) -> Result<u32, u32> {
        let mut here = self.wrap(hash);
        for away in 0.. {
            if self.hash(image, here) == 0 {
                return Err(here);
            }
            let there = self.away(image, here);
            if there < away {
                return Err(here);
            }
            if there == away {
                match K::compare(image, self.slot::<S>(here), key) {
                    Ordering::Less => {}
                    Ordering::Equal => return Ok(here),
                    Ordering::Greater => return Err(here),
                }
            }
            here = self.wrap(here + 1);
        }
        Err(here)
    }

    /// Moves the run that begins at a slot by one, into the next empty slot.
    fn make_gap<S: Stored>(self, memory: &mut Memory, at: u32) {
        let mut empty = at;
        while self.hash(memory.bytes(), empty) != 0 {
            empty = self.wrap(empty + 1);
        }
        while empty != at {
            let before = self.wrap(empty.wrapping_sub(1));
            relocate::<S>(memory, self.slot::<S>(before), self.slot::<S>(empty), 1);
            self.set_hash(memory, empty, self.hash(memory.bytes(), before));
            empty = before;
        }
    }
}

fn find<S: Stored, K: Key>(image: &[u8], at: u32, key: K::View<'_>) -> Option<u32> {
    let table = Table::of(image, at);
    if table.cap == 0 {
        return None;
    }
    table.locate::<S, K>(image, K::hash(key), key).ok()
}

fn change_capacity<S: Stored, K: Key>(memory: &mut Memory, at: u32, cap: u32) -> Result<(), Full> {
    if block_bytes::<S>(cap) > u64::from(MAX_SIZE) {
        return Err(memory.full());
    }
    let old = Table::of(memory.bytes(), at);
    let new = Table { block: memory.allocate(block_bytes::<S>(cap))?, cap };
    for slot in 0..old.cap {
        let hash = old.hash(memory.bytes(), slot);
        if hash != 0 {
            let image = memory.bytes();
            let key = K::view(image, old.slot::<S>(slot));
            let (Ok(place) | Err(place)) = new.locate::<S, K>(image, hash, key);
            new.make_gap::<S>(memory, place);
            relocate::<S>(memory, old.slot::<S>(slot), new.slot::<S>(place), 1);
            new.set_hash(memory, place, hash);
        }
    }
    if old.cap != 0 {
        memory.free(old.block, block_bytes::<S>(old.cap));
    }
    memory.set_u32(at, new.block.wrapping_sub(at));
    memory.set_u32(at + 8, cap);
    Ok(())
}

/// The slot of a key, and whether it is new. If there is no room, the set is unchanged.
fn insert<S: Stored, K: Key>(memory: &mut Memory, at: u32, key: K::View<'_>) -> Result<(u32, bool), Full> {
    if let Some(slot) = find::<S, K>(memory.bytes(), at, key) {
        return Ok((Table::of(memory.bytes(), at).slot::<S>(slot), false));
    }
    let (len, cap) = (vector::len(memory.bytes(), at), memory.u32(at + 8));
    if !fits(len + 1, cap) {
        change_capacity::<S, K>(memory, at, SMALLEST.max(cap.saturating_mul(2)))?;
    }
    let table = Table::of(memory.bytes(), at);
    let hash = K::hash(key);
    let (Ok(place) | Err(place)) = table.locate::<S, K>(memory.bytes(), hash, key);
    table.make_gap::<S>(memory, place);
    let slot = table.slot::<S>(place);
    memory.zero(slot, S::SIZE);
    S::begin(MemoryMut(memory), slot);
    table.set_hash(memory, place, hash);
    memory.set_u32(at + 4, len + 1);
    if let Err(full) = K::put(MemoryMut(memory), slot, key) {
        remove_slot::<S>(memory, at, place);
        return Err(full);
    }
    Ok((slot, true))
}

/// Removes the entry in a slot, and moves back the entries after it that are not in their home slots.
fn remove_slot<S: Stored>(memory: &mut Memory, at: u32, slot: u32) {
    let table = Table::of(memory.bytes(), at);
    S::release(MemoryMut(memory), table.slot::<S>(slot));
    let mut hole = slot;
    loop {
        let behind = table.wrap(hole + 1);
        let hash = table.hash(memory.bytes(), behind);
        if hash == 0 || table.away(memory.bytes(), behind) == 0 {
            break;
        }
        relocate::<S>(memory, table.slot::<S>(behind), table.slot::<S>(hole), 1);
        table.set_hash(memory, hole, hash);
        hole = behind;
    }
    table.set_hash(memory, hole, 0);
    memory.zero(table.slot::<S>(hole), S::SIZE);
    let len = vector::len(memory.bytes(), at);
    memory.set_u32(at + 4, len - 1);
}

fn release<S: Stored>(memory: &mut Memory, at: u32) {
    let Table { block, cap } = Table::of(memory.bytes(), at);
    memory.zero(at, 12);
    if cap != 0 {
        memory.release::<Slots<S>>([block, cap, 0]);
    }
}

/// The slots of a table.
struct Slots<S>(PhantomData<fn() -> S>);

impl<S: Stored> ReleaseBehind for Slots<S> {
    fn release(memory: &mut Memory, [block, cap, _]: Place) {
        let table = Table { block, cap };
        for slot in (0..cap).filter(|_| S::LINKS) {
            if table.hash(memory.bytes(), slot) != 0 {
                S::release(MemoryMut(memory), table.slot::<S>(slot));
            }
        }
        memory.free(block, block_bytes::<S>(cap));
    }
}

impl<S: Stored> SlideBehind for Slots<S> {
    fn slide(slide: &mut Slide<'_>, [block, cap, _]: Place) {
        let table = Table { block, cap };
        for slot in 0..cap {
            if table.hash(slide.image(), slot) != 0 {
                S::slide(slide, table.slot::<S>(slot));
            }
        }
    }
}

/// Keeps the capacity of a table unless it is empty: a smaller table has another order, which depends on the
/// keys.
fn slide<S: Stored>(slide: &mut Slide<'_>, at: u32) {
    if let Some(memory) = slide.trims()
        && vector::len(memory.bytes(), at) == 0
    {
        release::<S>(memory, at);
    }
    slide.back_link(at, at + 12);
    let cap = u32_at(slide.image(), at + 8);
    let Some(block) = slide.link(at).filter(|_| S::LINKS) else { return };
    slide.behind::<Slots<S>>([block, cap, 0]);
}

fn write<S: Stored, K: Key>(writer: &mut Writer<'_>, from: u32, to: u32) {
    let image = writer.image();
    let len = vector::len(image, from);
    let cap = capacity_for(len);
    writer.container(to, len, cap);
    if len == 0 {
        return;
    }
    let block = writer.place(to, block_bytes::<S>(cap));
    writer.linked::<Keyed<S, K>>([from, block, cap]);
}

/// The slots of a table, in a copy and in a check.
struct Keyed<S, K>(PhantomData<fn() -> (S, K)>);

impl<S: Stored, K: Key> WriteBehind for Keyed<S, K> {
    fn write(writer: &mut Writer<'_>, [from, block, cap]: Place) {
        write_slots::<S, K>(writer, from, Table { block, cap });
    }
}

fn write_slots<S: Stored, K: Key>(writer: &mut Writer<'_>, from: u32, new: Table) {
    let image = writer.image();
    let old = Table::of(image, from);
    // The slot of the old table for each slot of the new one, by ordered insertion; see `locate`.
    let mut order: Vec<Option<u32>> = vec![None; new.cap as usize];
    for slot in old.full(image) {
        let (mut carried, mut away) = (slot, 0);
        let mut here = new.wrap(old.hash(image, slot));
        while let Some(there) = order[here as usize] {
            let there_away = new.wrap(here.wrapping_sub(old.hash(image, there)));
            let smaller =
                || K::compare_in(image, old.slot::<S>(carried), old.slot::<S>(there)) == Ordering::Less;
            if there_away < away || (there_away == away && smaller()) {
                order[here as usize] = Some(carried);
                (carried, away) = (there, there_away);
            }
            here = new.wrap(here + 1);
            away += 1;
        }
        order[here as usize] = Some(carried);
    }
    let placed = || (0..).zip(&order).filter_map(|(slot, from)| from.map(|from| (slot, from)));
    for (slot, from) in placed() {
        writer.put_u32(new.block + 4 * slot, old.hash(image, from));
    }
    for (slot, from) in placed() {
        S::write(writer, old.slot::<S>(from), new.slot::<S>(slot));
    }
}

fn check<S: Stored, K: Key, const CANONICAL: bool>(
    check: &mut Check<'_, CANONICAL>,
    at: u32,
) -> Result<(), Invalid> {
    let (len, cap) = check.container(at, capacity_for)?;
    if cap == 0 {
        return Ok(());
    }
    if cap < SMALLEST || !cap.is_power_of_two() || !fits(len, cap) {
        return invalid(at, InvalidProblem::NotTrimmed { found: cap, wanted: capacity_for(len) });
    }
    let bytes = block_bytes::<S>(cap);
    let block = check.claim(at, bytes, bytes)?;
    check.behind::<Keyed<S, K>>(at, [at, block, cap])
}

impl<S: Stored, K: Key> CheckBehind for Keyed<S, K> {
    fn check<const CANONICAL: bool>(
        check: &mut Check<'_, CANONICAL>,
        [at, block, cap]: Place,
    ) -> Result<(), Invalid> {
        let (table, len) = (Table { block, cap }, vector::len(check.image(), at));
        let image = check.image();
        let mut occupied = 0;
        for slot in 0..cap {
            let place = table.slot::<S>(slot);
            if table.hash(image, slot) == 0 {
                check.zero(place, place + S::SIZE)?;
                continue;
            }
            occupied += 1;
            if occupied > len {
                break;
            }
            S::check(check, place).map_err(|error| error.in_element(slot))?;
        }
        if occupied != len {
            return invalid(at, InvalidProblem::WrongCount { len, occupied });
        }
        // All keys are valid here. Each entry follows the entry that it must follow, so lookups find all, and
        // none occurs twice.
        for slot in table.full(image) {
            let away = table.away(image, slot);
            let mut good = table.hash(image, slot) == K::hash(K::view(image, table.slot::<S>(slot)));
            if good && away != 0 {
                let before = table.wrap(slot.wrapping_sub(1));
                good = table.hash(image, before) != 0 && {
                    let step = table.away(image, before) + 1;
                    let less = || {
                        K::compare_in(image, table.slot::<S>(before), table.slot::<S>(slot)) == Ordering::Less
                    };
                    step > away || (step == away && less())
                };
            }
            if !good {
                return invalid(at, InvalidProblem::NotHashed { slot });
            }
        }
        Ok(())
    }
}

impl Engine for Hashed {
    const KINDS: [&'static str; 2] = ["hash_set", "hash_map"];
    type Elements<'a, E: Stored> = Elements<'a, E>;

    fn elements<E: Stored>(image: &[u8], at: u32) -> Elements<'_, E> {
        Elements { image, table: Table::of(image, at), slot: 0, of: PhantomData }
    }
    fn find<E: Stored, K: Key>(image: &[u8], at: u32, key: K::View<'_>) -> Option<u32> {
        find::<E, K>(image, at, key).map(|slot| Table::of(image, at).slot::<E>(slot))
    }
    fn insert<E: Stored, K: Key>(
        MemoryMut(memory): MemoryMut<'_>,
        at: u32,
        key: K::View<'_>,
    ) -> Result<(u32, bool), Full> {
        insert::<E, K>(memory, at, key)
    }
    fn remove<E: Stored, K: Key>(MemoryMut(memory): MemoryMut<'_>, at: u32, key: K::View<'_>) -> bool {
        let found = find::<E, K>(memory.bytes(), at, key);
        if let Some(slot) = found {
            remove_slot::<E>(memory, at, slot);
        }
        found.is_some()
    }
    fn clear<E: Stored>(MemoryMut(memory): MemoryMut<'_>, at: u32) {
        release::<E>(memory, at);
    }
    fn slide<E: Stored>(under_way: &mut Slide<'_>, at: u32) {
        slide::<E>(under_way, at);
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
        let cap = capacity_for(count);
        if cap > memory.u32(at + 8) {
            change_capacity::<E, K>(memory, at, cap)?;
        }
        Ok(())
    }
    fn shrink<E: Stored, K: Key>(MemoryMut(memory): MemoryMut<'_>, at: u32) -> Result<(), Full> {
        let cap = capacity_for(vector::len(memory.bytes(), at));
        if cap == 0 {
            release::<E>(memory, at);
        } else if cap < memory.u32(at + 8) {
            change_capacity::<E, K>(memory, at, cap)?;
        }
        Ok(())
    }
}

/// The elements of a table.
#[doc(hidden)]
pub struct Elements<'a, E> {
    image: &'a [u8],
    table: Table,
    slot: u32,
    of: PhantomData<fn() -> E>,
}

impl<'a, E: Stored> Iterator for Elements<'a, E> {
    type Item = Ref<'a, E>;
    fn next(&mut self) -> Option<Ref<'a, E>> {
        while self.slot < self.table.cap {
            self.slot += 1;
            if self.table.hash(self.image, self.slot - 1) != 0 {
                return Some(Ref::new(self.image, self.table.slot::<E>(self.slot - 1)));
            }
        }
        None
    }
}
