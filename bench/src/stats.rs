//! Percentiles, and how far ratios of them can be trusted.

use crate::workload::random::Random;

/// How often samples are drawn again to see how much a ratio depends on which there were.
const RESAMPLES: usize = 1000;

/// The value below which the given share of the samples lies (nearest rank). `None` for no samples.
pub fn percentile(samples: &mut [f64], share: f64) -> Option<f64> {
    if samples.is_empty() {
        return None;
    }
    let rank = ((samples.len() as f64 * share).ceil() as usize).clamp(1, samples.len()) - 1;
    let (_, value, _) = samples.select_nth_unstable_by(rank, f64::total_cmp);
    Some(*value)
}

/// The interval that holds the ratio of two medians with 95 % confidence, by the bootstrap: rounds, which both were part of, are drawn
/// again and again. `None` without rounds.
pub fn ratio_interval(of: &[f64], to: &[f64]) -> Option<(f64, f64)> {
    let rounds = of.len().min(to.len());
    let mut random = Random::new(rounds as u64);
    let mut ratios = Vec::with_capacity(RESAMPLES);
    for _ in 0..RESAMPLES {
        let drawn: Vec<usize> = (0..rounds).map(|_| random.below(rounds)).collect();
        let median =
            |samples: &[f64]| percentile(&mut drawn.iter().map(|&at| samples[at]).collect::<Vec<_>>(), 0.5);
        ratios.push(median(of)? / median(to)?);
    }
    Some((percentile(&mut ratios, 0.025)?, percentile(&mut ratios, 0.975)?))
}

#[cfg(test)]
mod tests {
    use super::{percentile, ratio_interval};

    #[test]
    fn intervals_of_ratios() {
        assert_eq!(ratio_interval(&[3.0; 5], &[2.0; 5]), Some((1.5, 1.5)));
        assert_eq!(ratio_interval(&[], &[]), None);
        // Uniform over a tenth: the median of 100 is known to about its tenth part.
        let of: Vec<f64> = (0..100).map(|at| 1.0 + f64::from(at * 37 % 100) / 1000.0).collect();
        let (low, high) = ratio_interval(&of, &[1.0; 100]).expect("rounds");
        assert!(low > 1.03 && low < 1.05 && high > 1.05 && high < 1.07, "{low} to {high}");
    }

    #[test]
    fn nearest_rank() {
        let mut samples: Vec<f64> = (1..=100).rev().map(f64::from).collect();
        assert_eq!(percentile(&mut samples, 0.5), Some(50.0));
        assert_eq!(percentile(&mut samples, 0.99), Some(99.0));
        assert_eq!(percentile(&mut samples, 1.0), Some(100.0));
        assert_eq!(percentile(&mut [7.0, 3.0], 0.5), Some(3.0));
        assert_eq!(percentile(&mut [], 0.5), None);
    }
}
