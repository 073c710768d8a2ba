//! The colours of numbers: from dark violet to yellow, as bright as the number is large.

use super::picture::Rgb;

/// Colours at equal distances, those of the palette viridis.
const COLOURS: [Rgb; 9] = [
    [68, 1, 84],
    [71, 44, 122],
    [59, 81, 139],
    [44, 113, 142],
    [33, 144, 141],
    [39, 173, 129],
    [92, 200, 99],
    [170, 220, 50],
    [253, 231, 37],
];

/// The colour of a share: 0 is the darkest, 1 the brightest. Others are cut to these.
pub fn colour(share: f32) -> Rgb {
    // A share that is not a number is 0.
    let place = share.clamp(0.0, 1.0).max(0.0) * (COLOURS.len() - 1) as f32;
    let below = (place as usize).min(COLOURS.len() - 2);
    let (from, to, part) = (COLOURS[below], COLOURS[below + 1], place - below as f32);
    [0, 1, 2].map(|it| (f32::from(from[it]) * (1.0 - part) + f32::from(to[it]) * part).round() as u8)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn colours_lie_between_their_neighbours() {
        assert_eq!(colour(0.0), [68, 1, 84]);
        assert_eq!(colour(1.0), [253, 231, 37]);
        assert_eq!(colour(0.5), [33, 144, 141]);
        // Half way between the first two: (68 + 71) / 2, (1 + 44) / 2, (84 + 122) / 2.
        assert_eq!(colour(1.0 / 16.0), [70, 23, 103]);
        assert_eq!(colour(-3.0), colour(0.0));
        assert_eq!(colour(f32::INFINITY), colour(1.0));
        assert_eq!(colour(f32::NAN), colour(0.0));
    }
}
