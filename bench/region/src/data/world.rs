//! `world`: the save file and knowledge graph of a game: entities by number, their names, lore in nested maps
//! of lists of texts, shared factions, and a tree of places.

use std::collections::{BTreeMap, HashMap};
use std::rc::Rc;

use rkyv::{Archive, Deserialize, Serialize};

use super::{SEED, maybe};
use crate::random::Random;

/// A group to which entities belong; they share it.
#[derive(Archive, Serialize, Deserialize, Clone, Debug)]
pub struct Faction {
    pub name: String,
    pub motto: String,
    pub members: u32,
    pub allies: Vec<String>,
}

/// A monster, and what it carries.
#[derive(Archive, Serialize, Deserialize, Clone, Debug)]
pub struct Monster {
    pub level: u32,
    pub loot: Vec<u32>,
}

/// A thing that can be carried.
#[derive(Archive, Serialize, Deserialize, Clone, Copy, Debug)]
pub struct Thing {
    pub weight: f32,
    pub price: u32,
}

/// What an entity is.
#[derive(Archive, Serialize, Deserialize, Clone, Debug)]
pub enum Kind {
    Monster(Monster),
    Thing(Thing),
    Scenery(String),
}

/// An entity.
#[derive(Archive, Serialize, Deserialize, Clone, Debug)]
pub struct Entity {
    pub name: String,
    pub position: [f32; 3],
    pub health: u32,
    pub title: Option<String>,
    pub tags: Vec<String>,
    pub relations: BTreeMap<String, Vec<u64>>,
    pub kind: Kind,
    pub faction: Option<Rc<Faction>>,
    pub owner: Option<u64>,
}

/// A place with what is in it, and the places within it.
#[derive(Archive, Serialize, Deserialize, Clone, Debug)]
#[rkyv(serialize_bounds(
    __S: rkyv::ser::Writer + rkyv::ser::Allocator,
    <__S as rkyv::rancor::Fallible>::Error: rkyv::rancor::Source,
))]
#[rkyv(deserialize_bounds(<__D as rkyv::rancor::Fallible>::Error: rkyv::rancor::Source))]
#[rkyv(bytecheck(bounds(
    __C: rkyv::validation::ArchiveContext,
    <__C as rkyv::rancor::Fallible>::Error: rkyv::rancor::Source,
)))]
pub struct Site {
    pub name: String,
    pub entities: Vec<u64>,
    #[rkyv(omit_bounds)]
    pub sites: Vec<Site>,
}

/// The whole save file.
#[derive(Archive, Serialize, Deserialize, Clone, Debug)]
pub struct World {
    pub name: String,
    pub entities: HashMap<u64, Entity>,
    pub names: HashMap<String, u64>,
    pub lore: BTreeMap<String, BTreeMap<String, Vec<String>>>,
    pub factions: Vec<Rc<Faction>>,
    pub root: Site,
}

const ENTITIES: u64 = 100_000;
const FACTIONS: u64 = 200;
const SYLLABLES: [&str; 16] = [
    "ka", "ro", "min", "tel", "var", "os", "lu", "shan", "dre", "bel", "qui", "nor", "ath", "ze", "gor",
    "ish",
];
const TAGS: [&str; 10] = [
    "hostile",
    "merchant",
    "quest giver",
    "undead",
    "flying",
    "invisible to players",
    "boss",
    "rare",
    "aquatic",
    "summoned by a ritual",
];
const RELATIONS: [&str; 5] = ["friend of", "enemy of", "child of", "served by", "knows the secret of"];

/// Some syllables, from `least` to `most`.
fn word(random: &mut Random, least: usize, most: usize) -> String {
    (0..random.between(least, most)).map(|_| SYLLABLES[random.below(SYLLABLES.len())]).collect()
}

fn words(random: &mut Random, count: usize) -> String {
    (0..count).map(|_| word(random, 1, 4)).collect::<Vec<_>>().join(" ")
}

/// The number of an entity: known numbers that are not in a row.
pub fn number(index: u64) -> u64 {
    (index + 1).wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 20
}

/// The name of an entity: no two have the same.
pub fn name(index: u64) -> String {
    let mut random = Random::new(SEED + index);
    format!("{} {index}", word(&mut random, 2, 4))
}

fn any(random: &mut Random) -> u64 {
    number(random.below(ENTITIES as usize) as u64)
}

fn kind(random: &mut Random) -> Kind {
    match random.below(3) {
        0 => {
            let loot = (0..random.below(8)).map(|_| random.bits() as u32).collect();
            Kind::Monster(Monster { level: random.below(60) as u32, loot })
        }
        1 => Kind::Thing(Thing { weight: random.unit() as f32, price: random.below(10_000) as u32 }),
        _ => {
            let count = random.between(3, 12);
            Kind::Scenery(words(random, count))
        }
    }
}

fn entity(random: &mut Random, index: u64, factions: &[Rc<Faction>]) -> Entity {
    let relation = |random: &mut Random| {
        let to = (0..random.between(1, 4)).map(|_| any(random)).collect();
        (RELATIONS[random.below(RELATIONS.len())].to_owned(), to)
    };
    Entity {
        name: name(index),
        position: std::array::from_fn(|_| random.unit() as f32 * 1000.0),
        health: random.below(1000) as u32,
        title: maybe(random, |random| words(random, 3)),
        tags: (0..random.below(4)).map(|_| TAGS[random.below(TAGS.len())].to_owned()).collect(),
        relations: (0..random.below(4)).map(|_| relation(random)).collect(),
        kind: kind(random),
        faction: maybe(random, |random| Rc::clone(&factions[random.below(factions.len())])),
        owner: maybe(random, any),
    }
}

fn site(random: &mut Random, depth: u32) -> Site {
    let inner = if depth == 0 { 0 } else { random.between(3, 6) };
    Site {
        name: words(random, 2),
        entities: (0..random.below(12)).map(|_| any(random)).collect(),
        sites: (0..inner).map(|_| site(random, depth - 1)).collect(),
    }
}

/// 100,000 entities, 200 factions, 200 books of lore, some 5,000 places.
pub fn make() -> World {
    let mut random = Random::new(SEED);
    let faction = |random: &mut Random| {
        Rc::new(Faction {
            name: words(random, 2),
            motto: words(random, 8),
            members: random.below(5000) as u32,
            allies: (0..random.below(5)).map(|_| words(random, 2)).collect(),
        })
    };
    let factions: Vec<_> = (0..FACTIONS).map(|_| faction(&mut random)).collect();
    let lines = |random: &mut Random| (0..random.between(2, 9)).map(|_| words(random, 7)).collect();
    let chapter = |random: &mut Random| (words(random, 3), lines(random));
    let book = |random: &mut Random| {
        let title = words(random, 3);
        (title, (0..random.between(5, 30)).map(|_| chapter(random)).collect())
    };
    World {
        name: "the world of the bench".to_owned(),
        entities: (0..ENTITIES).map(|i| (number(i), entity(&mut random, i, &factions))).collect(),
        names: (0..ENTITIES).map(|i| (name(i), number(i))).collect(),
        lore: (0..200).map(|_| book(&mut random)).collect(),
        factions,
        root: site(&mut random, 6),
    }
}

/// The names to look up, in a random order. Half of them are missing.
pub fn wanted() -> Vec<String> {
    let mut random = Random::new(SEED + 1);
    let mut all: Vec<String> = (0..ENTITIES).step_by(2).flat_map(|i| [name(i), name(i + ENTITIES)]).collect();
    (1..all.len()).rev().for_each(|i| all.swap(i, random.below(i + 1)));
    all
}

/// The entities that change: their numbers. Each loses health and gets a tag.
pub fn changed() -> Vec<u64> {
    (0..ENTITIES).step_by(100).map(number).collect()
}

/// The tag that a changed entity gets.
pub const NEW_TAG: &str = "changed by the last turn";

/// The part of a text in the sum: the length, and the last byte, which must be read.
pub fn text(of: &str) -> u64 {
    of.len() as u64 + u64::from(of.as_bytes().last().copied().unwrap_or(0))
}

/// The part of a place in the sum.
fn places(of: &Site) -> u64 {
    text(&of.name) + of.entities.iter().fold(0, |sum, id| sum ^ id) + of.sites.iter().map(places).sum::<u64>()
}

/// The sum of what lies in a world, without the factions: each entity has a part of its own.
pub fn sum(data: &World) -> u64 {
    let texts = |of: &[String]| of.iter().map(|each| text(each)).sum::<u64>();
    let mut total = text(&data.name) + places(&data.root);
    for (id, it) in &data.entities {
        total += id + text(&it.name) + u64::from(it.health) + u64::from(it.position[2].to_bits());
        total += it.title.as_deref().map_or(0, text) + texts(&it.tags) + it.owner.unwrap_or(1);
        total += it.relations.iter().map(|(of, to)| text(of) + to.iter().sum::<u64>()).sum::<u64>();
        total += match &it.kind {
            Kind::Monster(it) => {
                u64::from(it.level) + it.loot.iter().map(|each| u64::from(*each)).sum::<u64>()
            }
            Kind::Thing(it) => u64::from(it.price),
            Kind::Scenery(it) => text(it),
        };
        total += it.faction.as_ref().map_or(0, |of| u64::from(of.members));
    }
    total += data.names.iter().map(|(name, id)| text(name) + id).sum::<u64>();
    for (title, book) in &data.lore {
        total += text(title) + book.iter().map(|(of, lines)| text(of) + texts(lines)).sum::<u64>();
    }
    total
}

/// The sum that looking up the names must return.
pub fn found(data: &World) -> u64 {
    let health = |name: &String| data.names.get(name).map_or(0, |id| u64::from(data.entities[id].health));
    wanted().iter().map(health).sum()
}
