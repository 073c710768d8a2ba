//! Data sets with the shapes of rust_serialization_benchmark's, from a generator of our own. The same fields
//! are read and changed as in that benchmark.

pub mod log;
pub mod mesh;
pub mod minecraft;
pub mod mk48;
pub mod tables;
pub mod words;
pub mod world;

use crate::random::Random;

/// The seed of every data set.
const SEED: u64 = 0x5175;

fn coin(random: &mut Random) -> bool {
    random.bits() >> 63 == 1
}

fn maybe<T>(random: &mut Random, make: impl FnOnce(&mut Random) -> T) -> Option<T> {
    coin(random).then(|| make(random))
}

fn some_of(random: &mut Random, end: usize, words: &[&str]) -> Vec<String> {
    (0..random.below(end)).map(|_| one_of(random, words)).collect()
}

fn one_of(random: &mut Random, words: &[&str]) -> String {
    words[random.below(words.len())].to_owned()
}
