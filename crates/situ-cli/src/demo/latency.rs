//! Latencies of one run and their percentiles.

use serde::{Deserialize, Serialize};

/// Latencies in nanoseconds, in the order in which they were measured.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Latencies(Vec<u64>);

impl Latencies {
    /// Adds one.
    pub fn push(&mut self, ns: u64) {
        self.0.push(ns);
    }

    /// The number of latencies.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// All of them, smallest first.
    pub fn sorted(&self) -> Vec<u64> {
        let mut sorted = self.0.clone();
        sorted.sort_unstable();
        sorted
    }

    /// The last `count` of them.
    pub fn last(&self, count: usize) -> Latencies {
        Latencies(self.0[self.0.len().saturating_sub(count)..].to_vec())
    }

    /// The given percentiles (nearest rank), each 0 if there are no latencies.
    pub fn percentiles<const N: usize>(&self, percents: [f64; N]) -> [u64; N] {
        let sorted = self.sorted();
        percents.map(|p| percentile(&sorted, p))
    }
}

impl FromIterator<u64> for Latencies {
    fn from_iter<I: IntoIterator<Item = u64>>(values: I) -> Self {
        Self(values.into_iter().collect())
    }
}

/// The value that `percent` of the sorted values do not exceed (nearest rank), 0 if there are no values.
pub fn percentile(sorted: &[u64], percent: f64) -> u64 {
    let rank = (percent / 100.0 * sorted.len() as f64).ceil() as usize;
    sorted.get(rank.clamp(1, sorted.len().max(1)) - 1).copied().unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentiles_by_nearest_rank() {
        let values: Latencies = (1..=100).rev().collect();
        assert_eq!(values.percentiles([0.0, 50.0, 99.0, 99.9, 100.0]), [1, 50, 99, 100, 100]);
        let few: Latencies = [30, 10, 20].into_iter().collect();
        assert_eq!(few.percentiles([50.0, 99.0]), [20, 30]);
        assert_eq!(Latencies::default().percentiles([50.0]), [0]);
    }

    #[test]
    fn the_last_ones() {
        let values: Latencies = [5, 6, 7].into_iter().collect();
        assert_eq!(values.last(2).sorted(), [6, 7]);
        assert_eq!(values.last(9).len(), 3);
    }
}
