//! `tables`: a hash map of items by number, and one of numbers by name. Reading looks up keys in a random
//! order; half of them are missing.

use std::collections::HashMap;

use rkyv::{Archive, Serialize};

use super::SEED;
use crate::random::Random;

/// An item of the game.
#[derive(Archive, Serialize, Clone, Copy, Debug)]
pub struct Item {
    pub id: u32,
    pub number: u32,
    pub uuid: u64,
    pub timestamp: u64,
}

/// Both maps.
#[derive(Archive, Serialize, Clone, Debug)]
pub struct Tables {
    pub by_number: HashMap<u64, Item>,
    pub by_name: HashMap<String, u32>,
}

/// The keys to look up.
#[derive(Clone, Debug)]
pub struct Wanted {
    pub numbers: Vec<u64>,
    pub names: Vec<String>,
}

const NUMBERS: usize = 40_000;
const NAMES: usize = 10_000;

fn keys(count: usize) -> Vec<u64> {
    let mut random = Random::new(SEED);
    (0..count).map(|_| random.bits() >> 16).collect()
}

fn name(key: u64) -> String {
    format!("item {key:x}")
}

/// 40,000 items and 10,000 names.
pub fn make() -> Tables {
    let item = |key: &u64| (*key, Item { id: *key as u32, number: 1, uuid: *key, timestamp: 7 });
    Tables {
        by_number: keys(NUMBERS).iter().map(item).collect(),
        by_name: keys(NAMES).iter().map(|key| (name(*key), *key as u32)).collect(),
    }
}

/// Each key once, and as many missing ones.
pub fn wanted() -> Wanted {
    let mut random = Random::new(SEED + 1);
    let mut shuffled = |count: usize| {
        let mut all: Vec<u64> = keys(count).iter().flat_map(|key| [*key, !*key]).collect();
        (1..all.len()).rev().for_each(|i| all.swap(i, random.below(i + 1)));
        all
    };
    Wanted { numbers: shuffled(NUMBERS), names: shuffled(NAMES).into_iter().map(name).collect() }
}

/// The sum that reading must return.
pub fn sum(_: &Tables) -> u64 {
    let of = |count| keys(count).iter().map(|key| u64::from(*key as u32)).sum::<u64>();
    of(NUMBERS) + of(NAMES)
}
