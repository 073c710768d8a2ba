//! Percentiles, spread and jitter, and confidence intervals of ratios.

use crate::workload::random::Random;

/// The number of resamples of a bootstrap.
const RESAMPLES: usize = 1000;

/// The percentile at the given share of the samples (nearest rank). `None` without samples.
pub fn percentile(samples: &mut [f64], share: f64) -> Option<f64> {
    if samples.is_empty() {
        return None;
    }
    let rank = ((samples.len() as f64 * share).ceil() as usize).clamp(1, samples.len()) - 1;
    let (_, value, _) = samples.select_nth_unstable_by(rank, f64::total_cmp);
    Some(*value)
}

/// The spread: the distance from the 10th to the 90th percentile. `None` without samples.
pub fn spread(samples: &mut [f64]) -> Option<f64> {
    Some(percentile(samples, 0.9)? - percentile(samples, 0.1)?)
}

/// The jitter: the mean absolute difference of successive samples, as in RFC 3393, section 4.5. The last
/// sample of a series and the first of the next one do not succeed each other. `None` without two that do.
pub fn jitter<'s>(series: impl IntoIterator<Item = &'s [f64]>) -> Option<f64> {
    let steps =
        series.into_iter().flat_map(|samples| samples.windows(2).map(|pair| (pair[1] - pair[0]).abs()));
    let (sum, count) = steps.fold((0.0, 0_usize), |(sum, count), step| (sum + step, count + 1));
    (count > 0).then(|| sum / count as f64)
}

/// The 95 % confidence interval of the ratio of two medians. It comes from the bootstrap, which resamples the
/// rounds of both together. `None` without rounds.
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

/// The 95 % confidence interval of the median of values in groups. Values of one group resemble each other.
/// The bootstrap resamples the groups, and within each group its values. Empty groups do not count. `None`
/// without values.
pub fn grouped_interval(groups: &[Vec<f64>]) -> Option<(f64, f64)> {
    let groups: Vec<&Vec<f64>> = groups.iter().filter(|group| !group.is_empty()).collect();
    let mut random = Random::new(groups.len() as u64);
    let mut medians = Vec::with_capacity(RESAMPLES);
    for _ in 0..RESAMPLES {
        let mut drawn = Vec::new();
        for _ in 0..groups.len() {
            let group = groups[random.below(groups.len())];
            drawn.extend((0..group.len()).map(|_| group[random.below(group.len())]));
        }
        medians.push(percentile(&mut drawn, 0.5)?);
    }
    Some((percentile(&mut medians, 0.025)?, percentile(&mut medians, 0.975)?))
}

/// The geometric mean. `None` without ratios.
pub fn geometric_mean(ratios: &[f64]) -> Option<f64> {
    let sum: f64 = ratios.iter().map(|ratio| ratio.ln()).sum();
    (!ratios.is_empty()).then(|| (sum / ratios.len() as f64).exp())
}

/// The 95 % confidence interval of the geometric mean of independent ratios (Student's t of their
/// logarithms). `None` for fewer than two ratios, or more than ten.
pub fn interval_of_ratios(ratios: &[f64]) -> Option<(f64, f64)> {
    /// The 97.5 % quantiles of Student's distribution with 1, 2, 3 ... degrees of freedom.
    const QUANTILES: [f64; 9] = [12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262];
    let freedom = ratios.len().checked_sub(1)?;
    let quantile = QUANTILES.get(freedom.checked_sub(1)?)?;
    let mean = geometric_mean(ratios)?;
    let variance = ratios.iter().map(|ratio| (ratio / mean).ln().powi(2)).sum::<f64>() / freedom as f64;
    let factor = (quantile * (variance / ratios.len() as f64).sqrt()).exp();
    Some((mean / factor, mean * factor))
}

#[cfg(test)]
mod tests {
    use super::{
        geometric_mean, grouped_interval, interval_of_ratios, jitter, percentile, ratio_interval, spread,
    };

    #[test]
    fn intervals_of_independent_ratios() {
        let close = |a: f64, b: f64| assert!((a - b).abs() < 1e-3, "{a} is not {b}");
        close(geometric_mean(&[0.5, 2.0, 8.0]).expect("some"), 2.0);
        // The logarithms are 0, ln 2 and 2 ln 2. Mean and standard deviation are ln 2, so the factor is
        // 2^(4.303 / sqrt 3) each way.
        let (low, high) = interval_of_ratios(&[1.0, 2.0, 4.0]).expect("three");
        close(low, 0.3574);
        close(high, 11.191);
        assert_eq!(interval_of_ratios(&[1.0]), None);
        assert_eq!(geometric_mean(&[]), None);
    }

    #[test]
    fn intervals_of_ratios() {
        assert_eq!(ratio_interval(&[3.0; 5], &[2.0; 5]), Some((1.5, 1.5)));
        assert_eq!(ratio_interval(&[], &[]), None);
        // Uniform over a tenth: the median of 100 values is known to about a tenth of that range.
        let of: Vec<f64> = (0..100).map(|at| 1.0 + f64::from(at * 37 % 100) / 1000.0).collect();
        let (low, high) = ratio_interval(&of, &[1.0; 100]).expect("rounds");
        assert!(low > 1.03 && low < 1.05 && high > 1.05 && high < 1.07, "{low} to {high}");
    }

    #[test]
    fn intervals_of_groups() {
        assert_eq!(grouped_interval(&[]), None);
        assert_eq!(grouped_interval(&[vec![], vec![]]), None);
        assert_eq!(grouped_interval(&[vec![2.0; 5], vec![], vec![2.0; 3]]), Some((2.0, 2.0)));
        // More values of a group do not reduce the error that its values share. The median is 1 if two of the
        // four drawn groups are the first, and 4 if three are the last, as in 13 of 256 draws.
        let groups: Vec<Vec<f64>> = (1..=4).map(|group| vec![f64::from(group); 100]).collect();
        assert_eq!(grouped_interval(&groups), Some((1.0, 4.0)));
        // Uniform over a tenth in one group: the median of 100 values is known to about a tenth of that
        // range.
        let one: Vec<f64> = (0..100).map(|at| 1.0 + f64::from(at * 37 % 100) / 1000.0).collect();
        let (low, high) = grouped_interval(&[one]).expect("values");
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
    #[test]
    fn spread_is_the_middle_four_fifths() {
        // Of ten values, the nearest ranks are the first and the ninth.
        assert_eq!(spread(&mut [40.0, 10.0, 30.0, 20.0, 50.0, 60.0, 90.0, 70.0, 80.0, 1000.0]), Some(80.0));
        // Of two values, they are both.
        assert_eq!(spread(&mut [7.0, 3.0]), Some(4.0));
        assert_eq!(spread(&mut [5.0]), Some(0.0));
        assert_eq!(spread(&mut []), None);
    }

    #[test]
    fn jitter_is_the_mean_step() {
        // Steps of 3 and 2.
        assert_eq!(jitter([&[10.0, 13.0, 11.0][..]]), Some(2.5));
        // With a step of 4 in another series. The way from 11 to 100 is none.
        assert_eq!(jitter([&[10.0, 13.0, 11.0][..], &[100.0, 104.0][..]]), Some(3.0));
        // A slow drift has a large spread, and little jitter; turns between two values have both.
        let drift: Vec<f64> = (0..100).map(f64::from).collect();
        assert_eq!((jitter([&drift[..]]), spread(&mut drift.clone())), (Some(1.0), Some(80.0)));
        assert_eq!(jitter([&[0.0, 80.0, 0.0, 80.0][..]]), Some(80.0));
        assert_eq!(jitter([&[1.0][..], &[5.0][..], &[][..]]), None);
    }
}
