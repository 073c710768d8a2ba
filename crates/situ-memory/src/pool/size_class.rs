//! Size classes: four to each doubling, so that rounding up wastes at most a quarter, found without a loop.
//!
//! In units of one granule the classes are 1, 2, 3, 4, 5, 6, 7, 8, 10, 12, 14, 16, 20, 24, 28, 32, 40, ...

/// The class whose size is the smallest that holds `granules`.
///
/// `granules` must be at least 1 and at most 2^31; the sizes that [`class_size`] names are exact.
#[inline]
pub const fn class_of(granules: u32) -> usize {
    if granules <= 8 {
        return granules as usize - 1;
    }
    // `granules - 1` has its highest bit at `top` (>= 3); the two bits below it choose the quarter.
    let below = granules - 1;
    let top = 31 - below.leading_zeros();
    let quarter = (below >> (top - 2)) & 3;
    (8 + (top - 3) * 4 + quarter) as usize
}

/// The size of a class in granules.
#[inline]
pub const fn class_size(class: usize) -> u32 {
    if class < 8 {
        return class as u32 + 1;
    }
    let above = class as u32 - 8;
    let top = above / 4 + 3;
    (5 + above % 4) << (top - 2)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_classes_are_as_documented() {
        let sizes: Vec<u32> = (0..17).map(class_size).collect();
        assert_eq!(sizes, [1, 2, 3, 4, 5, 6, 7, 8, 10, 12, 14, 16, 20, 24, 28, 32, 40]);
    }

    #[test]
    fn every_size_fits_its_class_and_wastes_at_most_a_quarter() {
        for granules in (1..100_000).chain((1..31).flat_map(|s| [(1u32 << s) - 1, 1 << s, (1 << s) + 1])) {
            if granules == 0 {
                continue;
            }
            let class = class_of(granules);
            let size = class_size(class);
            assert!(size >= granules, "{granules} does not fit {size}");
            assert!(class == 0 || class_size(class - 1) < granules, "{granules} fits a smaller class");
            assert!(
                size <= 8 || u64::from(size) * 4 <= u64::from(granules) * 5,
                "{granules} wastes in {size}"
            );
        }
    }
}
