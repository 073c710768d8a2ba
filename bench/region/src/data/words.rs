//! `words`: texts of 12 to 19 letters, which fit into no container.

use rkyv::{Archive, Serialize};

use super::SEED;
use crate::random::Random;

/// All words.
#[derive(Archive, Serialize, Clone, Debug)]
pub struct Words {
    pub words: Vec<String>,
}

/// 100,000 words.
pub fn make() -> Words {
    let mut random = Random::new(SEED);
    let letter = |random: &mut Random| char::from(b'a' + random.below(26) as u8);
    let word = |random: &mut Random| (0..random.between(12, 19)).map(|_| letter(random)).collect();
    Words { words: (0..100_000).map(|_| word(&mut random)).collect() }
}

/// The sum that reading must return: the lengths, and the last letters.
pub fn sum(data: &Words) -> u64 {
    data.words.iter().map(|word| super::world::text(word)).sum()
}
