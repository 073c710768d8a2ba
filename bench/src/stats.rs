//! Percentiles.

/// The value below which the given share of the samples lies (nearest rank). `None` for no samples.
pub fn percentile(samples: &mut [f64], share: f64) -> Option<f64> {
    if samples.is_empty() {
        return None;
    }
    let rank = ((samples.len() as f64 * share).ceil() as usize).clamp(1, samples.len()) - 1;
    let (_, value, _) = samples.select_nth_unstable_by(rank, f64::total_cmp);
    Some(*value)
}

#[cfg(test)]
mod tests {
    use super::percentile;

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
