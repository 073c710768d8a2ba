//! The character of the talk on offset data structures in Situ's regions, step by step as in the talk.
//! character.cpp is the same program in C++. Both print the same.

use std::collections::BTreeMap;
use std::error::Error;

use situ::region::{Buffer, Full, Mut, Ref, Region, SortedMap, SortedSet, Text, Vector};
use situ::region::{region_plain, region_struct};

// Structs of numbers are used directly.
region_plain! { struct Skill { id: u32, level: u32 } }
region_plain! { struct Item { id: u32, number: u32, uuid: u64, timestamp: u64 } }
region_plain! { struct Position { x: f32, y: f32, z: f32 } }

// Types with containers are names for data in a region, and have accessors. An equip is an item with more
// members.
region_struct! {
    struct Equip: EquipRef, EquipMut { base: Item, level: u32, attributes: Vector<f32> }
}
region_struct! {
    struct Character: CharacterRef, CharacterMut {
        id: u64,
        name: Text,
        level: u32,
        healthpoint: f32,
        manapoint: f32,
        speed: f32,
        pos: Position,
        items: SortedMap<u64, Item>,
        path: Vector<Position>,
        attributes: Vector<f32>,
        equips: Vector<Equip>,
        skills: Vector<Skill>,
    }
}

// A struct that may get more members at its end: its old and its new version.
mod before {
    use situ::region::Text;
    situ::region::region_struct! { pub appendable struct Profile: ProfileRef, ProfileMut { id: u64, name: Text } }
}
region_struct! {
    appendable struct Profile: ProfileRef, ProfileMut { id: u64, name: Text, tags: SortedSet<Text> }
}

/// FNV-1a, for comparing by eye.
fn hash(bytes: &[u8]) -> u64 {
    let fold = |hash: u64, byte: &u8| (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3);
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, fold)
}

fn item(id: u32, uuid: u64, timestamp: u64) -> Item {
    Item { id, number: id + 1, uuid, timestamp }
}

/// Handles give access to containers. Each finds the memory of its region by itself.
fn fill(mut c: Mut<'_, Character>) -> Result<(), Full> {
    *c.id() = 1;
    c.name().set("Hero")?;
    *c.level() = 60;
    *c.healthpoint() = 100.5;
    *c.manapoint() = 50.25;
    *c.speed() = 1.5;
    *c.pos() = Position { x: 1.0, y: 2.0, z: 3.0 };
    for i in 0..5_u32 {
        c.items().insert(u64::from(50 - 10 * i), item(i, u64::from(7000 + i), u64::from(90 + i)))?;
    }
    for x in [0.0, 1.0, 2.0, 3.0] {
        c.path().push(Position { x, y: x * 2.0, z: x * 3.0 })?;
    }
    c.attributes().set(&[0.0_f32, 0.5, 1.0][..])?;
    for i in 0..2_u32 {
        let mut equips = c.equips();
        let mut equip = equips.push_default()?;
        *equip.base() = Item { number: 1, ..item(i, u64::from(100 + i), u64::from(200 + i)) };
        *equip.level() = i + 5;
        equip.attributes().set(&[0.0_f32, 1.0, 2.0][..])?;
    }
    c.skills().push(Skill { id: 1054, level: 3 })?;
    c.skills().push(Skill { id: 7, level: 1 })
}

fn say<B>(what: &str, r: &Region<Character, B>) {
    let c: Ref<'_, Character> = r.root();
    println!(
        "{what}: {}, level {}, {} items, {} points, {} equips, {} skills, {:016x}",
        c.name().as_str(),
        *c.level(),
        c.items().len(),
        c.path().len(),
        c.equips().len(),
        c.skills().len(),
        hash(&r.canonical())
    );
}

fn all_steps() -> Result<(), Box<dyn Error>> {
    // Build. The memory of the region is the message.
    let mut r = Region::<Character>::new();
    fill(r.root_mut())?;
    say("built", &r);

    // Write in place: values with room do not move.
    let size = r.bytes().len();
    let mut c = r.root_mut();
    *c.level() += 1;
    c.pos().x += 0.5;
    c.skills().as_mut_slice().iter_mut().for_each(|skill| skill.level += 1);
    c.items().get_mut(30).ok_or("there is an item 30")?.number = 99;
    assert_eq!(r.bytes().len(), size, "nothing needed memory");
    say("written in place", &r);

    // Write values that need memory: the region grows.
    let mut c = r.root_mut();
    c.name().set("a hero with a name that does not fit into the string itself")?;
    c.skills().push(Skill { id: 11, level: 2 })?;
    c.items().remove(20);
    let mut path = c.path();
    for i in 0..1000_u16 {
        path.push(Position { x: f32::from(i), y: 0.0, z: 0.0 })?;
    }
    say("grown", &r);

    // Containers within containers find the same memory.
    let mut c = r.root_mut();
    let mut equips = c.equips();
    for i in 0..equips.len() {
        let mut equip = equips.get_mut(i).ok_or("it is there")?;
        *equip.level() += 1;
        equip.attributes().push(3.0_f32)?;
    }
    say("nested", &r);

    // To and from the standard library.
    let path: Vec<Position> = r.root().path().as_slice()[..8].to_vec();
    let same = |i| Item { id: i, number: i, uuid: u64::from(i), timestamp: u64::from(i) };
    let items = BTreeMap::from([(4, same(4)), (2, same(2))]);
    let mut c = r.root_mut();
    c.path().set(path.as_slice())?;
    c.items().clear();
    for (key, value) in items {
        c.items().insert(key, value)?;
    }
    say("assigned", &r);

    // Trim: containers return their unused room, and the image ends behind the used part.
    r.root_mut().skills().reserve(4096)?;
    let wide = r.bytes().len();
    r.root_mut().skills().shrink_to_fit();
    assert!(r.trim() + 4000 * size_of::<Skill>() < wide, "the room was given back");
    // Compact: no memory is free any more.
    r.compact()?;
    assert!(r.free_bytes() == 0 && r.bytes().len() == r.canonical().len(), "there is no smaller arrangement");
    say("compacted", &r);

    // Fills a fixed buffer, such as a loan of shared memory. When it is full, the call fails and nothing has
    // changed.
    let (mut small, mut large) = (vec![0_u128; 256], vec![0_u128; 4096]);
    let mut fixed = Region::<Character, Buffer<'_>>::create(bytes_of(&mut small))?;
    fill(fixed.root_mut())?;
    while fixed.root_mut().path().push(Position { x: 1.0, y: 2.0, z: 3.0 }).is_ok() {}
    let fitted = fixed.root().path().len();
    let mut fixed = Region::copy_of(&fixed, bytes_of(&mut large))?;
    fixed.root_mut().path().push(Position { x: 1.0, y: 2.0, z: 3.0 })?;
    assert!(fitted > 4 && fixed.root().path().len() == fitted + 1, "it goes on in the larger one");
    while fixed.root().path().len() > 4 {
        fixed.root_mut().path().pop();
    }
    say("moved on", &fixed);

    // Send. The received image is checked. Then it is read in place, or taken over and edited.
    let sent = r.bytes();
    let seen = situ::region::view::<Character>(sent)?;
    assert_eq!(seen.skills().as_slice()[0].id, 1054, "nothing was decoded");
    let mut received = Region::<Character>::adopt(sent)?;
    *received.root_mut().level() += 1;
    say("received", &received);

    // Compatible layouts: a program with more members reads an older program's image.
    let mut old = Region::<before::Profile>::new();
    *before::ProfileMut::id(&mut old.root_mut()) = 7;
    before::ProfileMut::name(&mut old.root_mut()).set("of last year")?;
    let mut grown = Region::<Profile>::adopt(old.bytes())?;
    grown.root_mut().tags().insert("new")?;
    let (root, sum) = (grown.root(), hash(&grown.canonical()));
    println!("appended: {}, {} tag, {sum:016x}", ProfileRef::name(root).as_str(), root.tags().len());
    // Any other difference makes another type.
    assert!(Region::<before::Profile>::adopt(r.bytes()).is_err(), "it is refused by its hash");

    // Validate. Wrong bytes are an error with a place, never a crash.
    let mut spoilt = r.canonical();
    let skills = 64 + 116;
    spoilt[skills..skills + 4].copy_from_slice(&(1_i32 << 20).to_le_bytes());
    let refused = Region::<Character>::adopt(&spoilt).err().ok_or("it is wrong")?;
    println!("refused: {refused}");
    Ok(())
}

/// Memory as bytes at a multiple of 16, like shared memory.
fn bytes_of(memory: &mut [u128]) -> &mut [u8] {
    let count = size_of_val(memory);
    // SAFETY: the words have exactly this many bytes and are borrowed exclusively. All bit patterns are valid
    // words.
    unsafe { std::slice::from_raw_parts_mut(memory.as_mut_ptr().cast(), count) }
}

fn main() -> Result<(), Box<dyn Error>> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    match words.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        // Writes a live image for a program in any language.
        ["make", path] => {
            let mut r = Region::<Character>::new();
            fill(r.root_mut())?;
            std::fs::write(path, r.bytes())?;
        }
        // Continues with an image that a program in any language wrote.
        ["take", path] => {
            let mut r = Region::<Character>::adopt(&std::fs::read(path)?)?;
            say("taken", &r);
            r.root_mut().items().remove(10);
            r.root_mut().skills().push(Skill { id: 11, level: 2 })?;
            say("edited", &r);
        }
        _ => all_steps()?,
    }
    Ok(())
}
