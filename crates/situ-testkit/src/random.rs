//! Numbers that look random and can be repeated from their seed.

/// A generator of such numbers, with its state.
#[derive(Clone, Copy, Debug)]
pub struct Random(pub u64);

impl Random {
    /// From the seed in the environment, otherwise from a new one. Prints the seed.
    pub fn seeded(what: &str) -> Self {
        let seed = std::env::var("SITU_CHAOS_SEED").ok().and_then(|seed| seed.parse().ok());
        let now = || std::time::UNIX_EPOCH.elapsed().map_or(0, |time| time.as_nanos() as u64);
        let seed = seed.unwrap_or_else(|| now() ^ u64::from(std::process::id()) << 40);
        println!("{what}: SITU_CHAOS_SEED={seed}");
        Self(seed)
    }

    /// The next number.
    pub fn number(&mut self) -> u64 {
        // SplitMix64.
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// The next number, below a limit.
    pub fn below(&mut self, limit: u64) -> u64 {
        self.number() % limit
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_those_of_splitmix64() {
        // The first numbers of the reference implementation for the seed 1234567.
        let mut random = Random(1_234_567);
        let first = [6_457_827_717_110_365_317, 3_203_168_211_198_807_973, 9_817_491_932_198_370_423];
        assert_eq!(first.map(|_| random.number()), first);
    }
}
