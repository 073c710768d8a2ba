//! The bilateral filter of the paper's experiment, for images of 8-bit RGBA.
//!
//! Each pixel becomes the weighted mean of the (2r+1) x (2r+1) pixels around it. The weight is
//! exp(-(dx^2+dy^2) / 2 sigma_s^2 - |p-q|^2 / 2 sigma_r^2): it falls with the distance in space and in
//! colour. The distance of colours includes red, green and blue. Beyond the border the nearest pixel counts.
//! Alpha does not change. The filter is not separable, and every weight of every pixel is computed.
//!
//! The loops run over sixteen pixels side by side, so that the compiler can vectorize them. There are
//! variants for AVX-512, for AVX2, and for the target's default.

use super::random::Random;

/// Bytes of a pixel: red, green, blue, alpha.
pub const PIXEL: usize = 4;
/// The paper's spatial deviation, in pixels.
pub const SIGMA_S: f32 = 3.0;
/// The paper's deviation in colour, in steps of a channel.
pub const SIGMA_R: f32 = 25.0;
/// Pixels computed side by side.
const LANES: usize = 16;

/// A size in pixels.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Extent {
    /// Pixels of a row.
    pub width: usize,
    /// Rows.
    pub height: usize,
}

impl Extent {
    /// The paper's images.
    pub const UHD: Self = Self { width: 3840, height: 2160 };

    /// Bytes of an image.
    pub fn bytes(self) -> usize {
        self.width * self.height * PIXEL
    }
}

/// A filter, with tables for everything that does not depend on the image.
#[derive(Clone, Debug)]
pub struct Bilateral {
    radius: usize,
    /// The spatial weights' binary logarithms, row by row.
    spatial: Vec<f32>,
    /// The factor from a squared distance of colours to the binary logarithm of its weight.
    tonal: f32,
}

impl Bilateral {
    /// A filter of this radius with the paper's deviations.
    pub fn new(radius: usize) -> Self {
        let reach = radius as i64;
        let spatial = (-reach..=reach)
            .flat_map(|dy| (-reach..=reach).map(move |dx| (dx * dx + dy * dy) as f32))
            .map(|square| -square / (2.0 * SIGMA_S * SIGMA_S) * std::f32::consts::LOG2_E)
            .collect();
        Self { radius, spatial, tonal: -std::f32::consts::LOG2_E / (2.0 * SIGMA_R * SIGMA_R) }
    }

    /// Its radius, in pixels.
    pub fn radius(&self) -> usize {
        self.radius
    }

    /// Filters an image into another of the same extent.
    ///
    /// # Panics
    /// If either image does not have as many bytes as the extent says, or the extent is empty.
    pub fn apply(&self, extent: Extent, input: &[u8], output: &mut [u8]) {
        assert!(extent.width > 0 && extent.height > 0, "an image has pixels");
        assert_eq!((input.len(), output.len()), (extent.bytes(), extent.bytes()), "images of the extent");
        #[cfg(target_arch = "x86_64")]
        {
            if std::is_x86_feature_detected!("avx512f") && std::is_x86_feature_detected!("avx512vl") {
                // SAFETY: the processor has the instructions.
                return unsafe { self.apply_avx512(extent, input, output) };
            }
            if std::is_x86_feature_detected!("avx2") && std::is_x86_feature_detected!("fma") {
                // SAFETY: the processor has the instructions.
                return unsafe { self.apply_avx2(extent, input, output) };
            }
        }
        self.rows::<false>(extent, input, output);
    }

    #[cfg(target_arch = "x86_64")]
    #[target_feature(enable = "avx512f,avx512vl,avx2,fma")]
    fn apply_avx512(&self, extent: Extent, input: &[u8], output: &mut [u8]) {
        self.rows::<true>(extent, input, output);
    }

    #[cfg(target_arch = "x86_64")]
    #[target_feature(enable = "avx2,fma")]
    fn apply_avx2(&self, extent: Extent, input: &[u8], output: &mut [u8]) {
        self.rows::<true>(extent, input, output);
    }

    /// Filters row by row. `FUSED`: multiplying and adding is one instruction.
    #[inline(always)]
    fn rows<const FUSED: bool>(&self, extent: Extent, input: &[u8], output: &mut [u8]) {
        let Extent { width, height } = extent;
        let mut window = Window::new(self.radius, extent);
        for (y, row) in output.chunks_exact_mut(width * PIXEL).enumerate() {
            if y == 0 {
                // Rows above the image are its first.
                for below in 0..=self.radius {
                    window.load(below as isize, input);
                }
                for above in 1..=self.radius {
                    window.load(-(above as isize), input);
                }
            } else {
                window.load((y + self.radius) as isize, input);
            }
            let centre = &input[y * width * PIXEL..(y + 1) * width * PIXEL];
            let mut x = 0;
            while x < width {
                // The last group overlaps the one before it; images narrower than a group use a part of it.
                x = x.min(width.saturating_sub(LANES));
                let colours = self.group::<FUSED>(&window, y, x);
                let (targets, _) = row[x * PIXEL..].as_chunks_mut::<PIXEL>();
                let (sources, _) = centre[x * PIXEL..].as_chunks::<PIXEL>();
                for ((target, source), colour) in targets.iter_mut().zip(sources).zip(colours) {
                    *target = (u32::from_le_bytes(*source) & 0xFF00_0000 | colour).to_le_bytes();
                }
                x += LANES;
            }
        }
        debug_assert!(height > 0);
    }

    /// The colours of sixteen pixels of row `y`, from column `x` on: red in the lowest byte, then green and
    /// blue.
    #[inline(always)]
    fn group<const FUSED: bool>(&self, window: &Window, y: usize, x: usize) -> [u32; LANES] {
        let side = 2 * self.radius + 1;
        let centre = window.row(y as isize);
        let own: [&[f32; LANES]; 3] = std::array::from_fn(|channel| lanes(&centre[channel], x + self.radius));
        let own = own.map(|values| *values);
        let mut sums = [[0.0_f32; LANES]; 3];
        let mut total = [0.0_f32; LANES];
        for dy in 0..side {
            let row = window.row(y as isize + dy as isize - self.radius as isize);
            for dx in 0..side {
                let spatial = self.spatial[dy * side + dx];
                let other: [&[f32; LANES]; 3] = std::array::from_fn(|channel| lanes(&row[channel], x + dx));
                for lane in 0..LANES {
                    let r = other[0][lane] - own[0][lane];
                    let g = other[1][lane] - own[1][lane];
                    let b = other[2][lane] - own[2][lane];
                    let distance = fused::<FUSED>(r, r, fused::<FUSED>(g, g, b * b));
                    let weight = exp2::<FUSED>(fused::<FUSED>(distance, self.tonal, spatial));
                    sums[0][lane] = fused::<FUSED>(weight, other[0][lane], sums[0][lane]);
                    sums[1][lane] = fused::<FUSED>(weight, other[1][lane], sums[1][lane]);
                    sums[2][lane] = fused::<FUSED>(weight, other[2][lane], sums[2][lane]);
                    total[lane] += weight;
                }
            }
        }
        let mut colours = [0; LANES];
        for lane in 0..LANES {
            // The pixel itself has weight 1, so the total is not 0.
            let scale = 1.0 / total[lane];
            let [r, g, b] = [0, 1, 2].map(|channel| nearest(sums[channel][lane] * scale));
            colours[lane] = r | g << 8 | b << 16;
        }
        colours
    }
}

#[inline(always)]
fn lanes(plane: &[f32], at: usize) -> &[f32; LANES] {
    plane[at..at + LANES].first_chunk().unwrap_or(&[0.0; LANES])
}

#[inline(always)]
fn fused<const FUSED: bool>(a: f32, b: f32, c: f32) -> f32 {
    // Without the instruction, `mul_add` is a call.
    if FUSED { a.mul_add(b, c) } else { a * b + c }
}

/// The nearest whole number, for values from 0 to 255: adding 2^23 puts it in the lowest bits.
#[inline(always)]
fn nearest(value: f32) -> u32 {
    (value + 8_388_608.0).to_bits() & 0xFF
}

/// 2 to the power of a number that is not positive. From 2^-120 down the result is 2^-120, which is too small
/// to affect a weight. The relative error is below 6e-5: a hundredth of a step of a channel.
#[inline(always)]
fn exp2<const FUSED: bool>(power: f32) -> f32 {
    /// Adding this leaves the nearest whole number in the lowest bits.
    const SHIFTER: f32 = 12_582_912.0;
    // Not `max`, which would have to check for NaN.
    let power = if power > -120.0 { power } else { -120.0 };
    let shifted = power + SHIFTER;
    let rest = power - (shifted - SHIFTER);
    let mut value = 0.009_618_13;
    value = fused::<FUSED>(value, rest, 0.055_504_11);
    value = fused::<FUSED>(value, rest, 0.240_226_5);
    value = fused::<FUSED>(value, rest, std::f32::consts::LN_2);
    value = fused::<FUSED>(value, rest, 1.0);
    f32::from_bits(value.to_bits().wrapping_add(shifted.to_bits() << 23))
}

/// The rows that the filter reads: planes of floats, with the border's pixels repeated on both sides.
struct Window {
    rows: Vec<[Vec<f32>; 3]>,
    radius: usize,
    extent: Extent,
}

impl Window {
    fn new(radius: usize, extent: Extent) -> Self {
        let length = extent.width.max(LANES) + 2 * radius;
        let rows = (0..2 * radius + 1).map(|_| std::array::from_fn(|_| vec![0.0; length])).collect();
        Self { rows, radius, extent }
    }

    fn slot(&self, y: isize) -> usize {
        y.rem_euclid(self.rows.len() as isize) as usize
    }

    #[inline(always)]
    fn row(&self, y: isize) -> &[Vec<f32>; 3] {
        &self.rows[self.slot(y)]
    }

    /// Loads row `y` of the image; outside of the image, the nearest row.
    #[inline(always)]
    fn load(&mut self, y: isize, input: &[u8]) {
        let Extent { width, height } = self.extent;
        let nearest = y.clamp(0, height as isize - 1) as usize;
        let row = &input[nearest * width * PIXEL..(nearest + 1) * width * PIXEL];
        let (slot, radius) = (self.slot(y), self.radius);
        for (channel, plane) in self.rows[slot].iter_mut().enumerate() {
            for (value, pixel) in plane[radius..].iter_mut().zip(row.as_chunks::<PIXEL>().0) {
                *value = (u32::from_le_bytes(*pixel) >> (8 * channel) & 0xFF) as i32 as f32;
            }
            let (first, last) = (plane[radius], plane[radius + width - 1]);
            plane[..radius].fill(first);
            plane[radius + width..].fill(last);
        }
    }
}

/// A picture like a camera's: surfaces with gradients, hard edges, fine texture, and noise everywhere.
pub fn picture(extent: Extent, seed: u64) -> Vec<u8> {
    let mut random = Random::new(seed);
    let mut bytes = Vec::with_capacity(extent.bytes());
    let boxes: [[usize; 4]; 24] = std::array::from_fn(|_| {
        let (x, y) = (random.below(extent.width), random.below(extent.height));
        [x, y, x + random.below(extent.width / 3 + 1), y + random.below(extent.height / 3 + 1)]
    });
    let tints: [[i32; 3]; 24] =
        std::array::from_fn(|_| std::array::from_fn(|_| random.between(0, 120) as i32 - 60));
    for y in 0..extent.height {
        for x in 0..extent.width {
            let mut colour =
                [x * 160 / extent.width + 40, y * 160 / extent.height + 40, (x + y) % 512 / 4 + 40]
                    .map(|c| c as i32);
            for ([left, top, right, bottom], tint) in boxes.iter().zip(&tints) {
                if (*left..*right).contains(&x) && (*top..*bottom).contains(&y) {
                    for (channel, tint) in colour.iter_mut().zip(tint) {
                        *channel += tint;
                    }
                }
            }
            let noise = random.bits();
            for (at, channel) in colour.iter().enumerate() {
                let noise = (noise >> (8 * at) & 15) as i32 - 8;
                bytes.push((channel + noise).clamp(0, 255) as u8);
            }
            bytes.push(255 - (y % 2) as u8);
        }
    }
    bytes
}

#[cfg(test)]
mod tests {
    use super::{Bilateral, Extent, PIXEL, SIGMA_R, SIGMA_S, exp2, picture};

    /// The definition, literally, in double precision.
    fn reference(extent: Extent, input: &[u8], radius: i64) -> Vec<f64> {
        let (width, height) = (extent.width as i64, extent.height as i64);
        let pixel = |x: i64, y: i64, channel: i64| {
            let (x, y) = (x.clamp(0, width - 1), y.clamp(0, height - 1));
            f64::from(input[((y * width + x) * PIXEL as i64 + channel) as usize])
        };
        let (sigma_s, sigma_r) = (f64::from(SIGMA_S), f64::from(SIGMA_R));
        let mut output = Vec::new();
        for y in 0..height {
            for x in 0..width {
                let (mut sums, mut total) = ([0.0; 3], 0.0);
                for dy in -radius..=radius {
                    for dx in -radius..=radius {
                        let square: f64 = (0..3)
                            .map(|channel| (pixel(x + dx, y + dy, channel) - pixel(x, y, channel)).powi(2))
                            .sum();
                        let weight = (-((dx * dx + dy * dy) as f64) / (2.0 * sigma_s * sigma_s)
                            - square / (2.0 * sigma_r * sigma_r))
                            .exp();
                        for (channel, sum) in sums.iter_mut().enumerate() {
                            *sum += weight * pixel(x + dx, y + dy, channel as i64);
                        }
                        total += weight;
                    }
                }
                output.extend(sums.map(|sum| sum / total));
                output.push(pixel(x, y, 3));
            }
        }
        output
    }

    fn assert_matches(extent: Extent, radius: usize, output: &[u8], input: &[u8]) {
        let expected = reference(extent, input, radius as i64);
        for (at, (got, expected)) in output.iter().zip(expected).enumerate() {
            // Rounded to the nearest step: the error is at most half a step, and a little for the single
            // precision.
            let off = (f64::from(*got) - expected).abs();
            assert!(off < 0.52, "{extent:?}, radius {radius}, byte {at}: {got} instead of {expected}");
        }
    }

    #[test]
    fn the_definition_holds_for_every_radius_and_extent() {
        for (width, height) in [(67, 23), (16, 16), (48, 5), (5, 9), (1, 1), (17, 1)] {
            let extent = Extent { width, height };
            let input = picture(extent, 42);
            for radius in [0, 1, 3, 5, 7] {
                let filter = Bilateral::new(radius);
                let mut output = vec![0; extent.bytes()];
                filter.apply(extent, &input, &mut output);
                assert_matches(extent, radius, &output, &input);
                // The variant without special instructions as well.
                output.fill(0);
                filter.rows::<false>(extent, &input, &mut output);
                assert_matches(extent, radius, &output, &input);
            }
        }
    }

    #[test]
    fn edges_stay_and_noise_goes() {
        let extent = Extent { width: 64, height: 16 };
        let mut input = Vec::new();
        for at in 0..extent.width * extent.height {
            let noise = (at % 3) as u8;
            let value = if at % extent.width < 32 { 20 + noise } else { 220 + noise };
            input.extend([value, value, value, 9]);
        }
        let mut output = vec![0; extent.bytes()];
        Bilateral::new(5).apply(extent, &input, &mut output);
        for (at, pixel) in output.chunks_exact(PIXEL).enumerate() {
            let side = if at % extent.width < 32 { 21 } else { 221 };
            assert!(pixel[..3].iter().all(|value| value.abs_diff(side) <= 1), "pixel {at}: {pixel:?}");
            assert_eq!(pixel[3], 9);
        }
    }

    #[test]
    fn powers_of_two() {
        for step in 0..12_000 {
            let power = -(step as f32) / 100.0;
            let (got, expected) = (f64::from(exp2::<false>(power)), f64::from(power).exp2());
            assert!((got / expected - 1.0).abs() < 6e-5, "2^{power}: {got} instead of {expected}");
        }
        assert!(exp2::<false>(-1e9) > 0.0);
        assert!(exp2::<false>(-1e9) < 1e-30);
    }
}
