//! Images of the usual encodings as pixels.

use std::borrow::Cow;

use super::picture::{Picture, PictureError, Rgb};

/// The encodings that are drawn, for error messages.
pub const ENCODINGS: &str = "rgb8, bgr8, rgba8, bgra8, rgb16, bgr16, mono8, mono16, 8UC1, 8UC3, 8UC4, 16UC1, 32FC1, \
                             yuyv, uyvy, yuv422, yuv422_yuy2 and those of bayer_";
/// How many pixels in each direction a smaller picture averages for one of its own.
const MAX_SAMPLES: usize = 4;

/// How pixels lie in a row.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Format {
    /// Bytes for a pixel, and where red, green and blue are among them.
    Bytes(usize, [usize; 3]),
    /// Numbers of 16 bits.
    Words(usize, [usize; 3]),
    /// Cells of 2 x 2 pixels of different colours. Their average is grey. One number has that many bytes.
    Bayer(usize),
    /// Two pixels in four bytes; their brightness, and the two numbers of their colour.
    Luma([usize; 2], usize, usize),
    /// A measurement in 16 bits; 0 is none.
    Depth16,
    /// A measurement as `float`; values that are not finite are none.
    Depth32,
}

impl Format {
    fn of(encoding: &str) -> Option<Self> {
        Some(match encoding {
            "rgb8" => Self::Bytes(3, [0, 1, 2]),
            "bgr8" | "8UC3" => Self::Bytes(3, [2, 1, 0]),
            "rgba8" => Self::Bytes(4, [0, 1, 2]),
            "bgra8" | "8UC4" => Self::Bytes(4, [2, 1, 0]),
            "mono8" | "8UC1" => Self::Bytes(1, [0, 0, 0]),
            "rgb16" => Self::Words(3, [0, 1, 2]),
            "bgr16" => Self::Words(3, [2, 1, 0]),
            "mono16" => Self::Words(1, [0, 0, 0]),
            "16UC1" => Self::Depth16,
            "32FC1" => Self::Depth32,
            "yuyv" | "yuv422_yuy2" => Self::Luma([0, 2], 1, 3),
            "uyvy" | "yuv422" => Self::Luma([1, 3], 0, 2),
            "bayer_rggb8" | "bayer_bggr8" | "bayer_gbrg8" | "bayer_grbg8" => Self::Bayer(1),
            "bayer_rggb16" | "bayer_bggr16" | "bayer_gbrg16" | "bayer_grbg16" => Self::Bayer(2),
            _ => return None,
        })
    }

    /// The bytes of a row.
    fn row_bytes(self, width: usize) -> Option<usize> {
        match self {
            Self::Bytes(size, _) => width.checked_mul(size),
            Self::Words(count, _) => width.checked_mul(2 * count),
            Self::Bayer(size) => width.checked_mul(size),
            Self::Luma(..) => width.div_ceil(2).checked_mul(4),
            Self::Depth16 => width.checked_mul(2),
            Self::Depth32 => width.checked_mul(4),
        }
    }
}

/// Why an image is not drawn.
#[derive(Debug, thiserror::Error)]
pub enum ImageError {
    /// The encoding is not known.
    #[error("images encoded as {encoding:?} are not drawn; those that are: {ENCODINGS}")]
    Encoding {
        /// The encoding.
        encoding: String,
    },
    /// The rows are shorter than their pixels.
    #[error(
        "the image is malformed: a row of {width} pixels of {encoding} does not fit into a step of {step} bytes"
    )]
    Step {
        /// Pixels in a row.
        width: usize,
        /// The encoding.
        encoding: String,
        /// Bytes in a row.
        step: usize,
    },
    /// There are fewer bytes than the image needs.
    #[error(
        "the image is malformed: {height} rows of {step} bytes do not fit into its {bytes} bytes of data"
    )]
    Data {
        /// Rows.
        height: usize,
        /// Bytes in a row.
        step: usize,
        /// The bytes that are there.
        bytes: usize,
    },
    /// It has no pixels.
    #[error("the image has no pixels: it is {width} x {height}")]
    Empty {
        /// Pixels in a row.
        width: usize,
        /// Rows.
        height: usize,
    },
}

/// An image with numbers that fit its data.
#[derive(Debug)]
pub struct Image<'a> {
    /// Pixels in a row.
    pub width: usize,
    /// Rows.
    pub height: usize,
    /// What its message says about its pixels.
    pub encoding: Cow<'a, str>,
    step: usize,
    data: Cow<'a, [u8]>,
    format: Format,
    big_endian: bool,
    /// The smallest and the largest measurement, of images of measurements.
    range: Option<[f32; 2]>,
}

/// What a message says about its image.
#[derive(Debug)]
pub struct Description<'a> {
    /// Pixels in a row.
    pub width: usize,
    /// Rows.
    pub height: usize,
    /// Bytes in a row; 0: rows without a gap.
    pub step: usize,
    /// The encoding.
    pub encoding: Cow<'a, str>,
    /// Whether numbers of several bytes begin with the highest.
    pub big_endian: bool,
}

impl<'a> Image<'a> {
    /// Checks the numbers of a message against its data.
    pub fn new(said: Description<'a>, data: Cow<'a, [u8]>) -> Result<Self, ImageError> {
        let Description { width, height, step, encoding, big_endian } = said;
        let Some(format) = Format::of(&encoding) else {
            return Err(ImageError::Encoding { encoding: encoding.into_owned() });
        };
        if width == 0 || height == 0 {
            return Err(ImageError::Empty { width, height });
        }
        let row = format.row_bytes(width);
        let step = if step == 0 { row.unwrap_or(usize::MAX) } else { step };
        if row.is_none_or(|row| row > step) {
            return Err(ImageError::Step { width, encoding: encoding.into_owned(), step });
        }
        // The last row may end with its pixels.
        let needed = (height - 1).checked_mul(step).and_then(|it| it.checked_add(row?));
        if needed.is_none_or(|needed| needed > data.len()) {
            return Err(ImageError::Data { height, step, bytes: data.len() });
        }
        let mut image = Self { width, height, encoding, step, data, format, big_endian, range: None };
        image.range = image.find_range();
        Ok(image)
    }

    /// The measurements that are black and white, of an image of measurements.
    pub fn range(&self) -> Option<[f32; 2]> {
        self.range
    }

    fn find_range(&self) -> Option<[f32; 2]> {
        if !matches!(self.format, Format::Depth16 | Format::Depth32) {
            return None;
        }
        let mut range: Option<[f32; 2]> = None;
        for y in 0..self.height {
            for value in (0..self.width).filter_map(|x| self.measurement(x, y)) {
                let [low, high] = range.unwrap_or([value; 2]);
                range = Some([low.min(value), high.max(value)]);
            }
        }
        range
    }

    fn bytes<const N: usize>(&self, y: usize, at: usize) -> [u8; N] {
        let mut bytes = [0; N];
        // `new` has checked that all rows lie in the data.
        bytes.copy_from_slice(&self.data[y * self.step + at..][..N]);
        bytes
    }

    fn word(&self, y: usize, at: usize) -> u16 {
        let bytes = self.bytes(y, at);
        if self.big_endian { u16::from_be_bytes(bytes) } else { u16::from_le_bytes(bytes) }
    }

    fn measurement(&self, x: usize, y: usize) -> Option<f32> {
        match self.format {
            Format::Depth16 => Some(self.word(y, 2 * x)).filter(|it| *it != 0).map(f32::from),
            _ => {
                let bytes = self.bytes(y, 4 * x);
                let value =
                    if self.big_endian { f32::from_be_bytes(bytes) } else { f32::from_le_bytes(bytes) };
                Some(value).filter(|it| it.is_finite())
            }
        }
    }

    fn pixel(&self, x: usize, y: usize) -> Rgb {
        match self.format {
            Format::Bytes(size, places) => {
                let pixel = &self.data[y * self.step + x * size..][..size];
                places.map(|place| pixel[place])
            }
            Format::Words(count, places) => {
                places.map(|place| (self.word(y, 2 * (x * count + place)) >> 8) as u8)
            }
            Format::Bayer(size) => {
                let value = |x: usize, y: usize| match size {
                    1 => u32::from(self.bytes::<1>(y, x)[0]),
                    _ => u32::from(self.word(y, 2 * x) >> 8),
                };
                // The cell of the pixel. At an odd edge, it is cut.
                let (left, top) = (x & !1, y & !1);
                let (right, bottom) = ((left + 1).min(self.width - 1), (top + 1).min(self.height - 1));
                let sum = value(left, top) + value(right, top) + value(left, bottom) + value(right, bottom);
                [(sum / 4) as u8; 3]
            }
            Format::Luma(luma, blue, red) => {
                let pair: [u8; 4] = self.bytes(y, x / 2 * 4);
                of_luma(pair[luma[x % 2]], pair[blue], pair[red])
            }
            Format::Depth16 | Format::Depth32 => {
                let (Some(value), Some([low, high])) = (self.measurement(x, y), self.range) else {
                    return [0; 3];
                };
                // The difference of two large numbers may not be finite; halves are.
                let share =
                    if high > low { (value / 2.0 - low / 2.0) / (high / 2.0 - low / 2.0) } else { 1.0 };
                [(share * 255.0).round() as u8; 3]
            }
        }
    }

    /// The image with another size: each pixel is the average of those that it stands for.
    pub fn scaled(&self, width: usize, height: usize) -> Result<Picture, PictureError> {
        let mut picture = Picture::new(width, height, [0; 3])?;
        let columns: Vec<_> = (0..width).map(|x| samples(x, width, self.width)).collect();
        for (y, row) in picture.rows_mut().enumerate() {
            let (rows, row_count) = samples(y, height, self.height);
            for (pixel, (columns, column_count)) in row.iter_mut().zip(&columns) {
                let mut sum = [0_u32; 3];
                for &y in &rows[..row_count] {
                    for &x in &columns[..*column_count] {
                        let colour = self.pixel(x, y);
                        (0..3).for_each(|it| sum[it] += u32::from(colour[it]));
                    }
                }
                let count = (row_count * column_count) as u32;
                *pixel = sum.map(|it| ((it + count / 2) / count) as u8);
            }
        }
        Ok(picture)
    }
}

/// The places of an axis of `from` pixels that place `at` of `to` stands for: at most [`MAX_SAMPLES`] of
/// them, and how many.
fn samples(at: usize, to: usize, from: usize) -> ([usize; MAX_SAMPLES], usize) {
    // Sizes are those of data that exists and of pictures, so products fit.
    let scale = |it: usize| (it as u128 * from as u128 / to as u128) as usize;
    let (begin, end) = (scale(at), scale(at + 1).max(scale(at) + 1));
    let (length, mut places) = (end - begin, [0; MAX_SAMPLES]);
    let count = length.min(MAX_SAMPLES);
    for (index, place) in places[..count].iter_mut().enumerate() {
        *place = begin + index * length / count;
    }
    (places, count)
}

/// Brightness and colour, as cameras send them (ITU-R BT.601, 16 to 235), as red, green and blue.
fn of_luma(luma: u8, blue: u8, red: u8) -> Rgb {
    let luma = 1.164 * (f32::from(luma) - 16.0);
    let (blue, red) = (f32::from(blue) - 128.0, f32::from(red) - 128.0);
    // Casts of numbers out of range give 0 and 255.
    [luma + 1.596 * red, luma - 0.392 * blue - 0.813 * red, luma + 2.017 * blue].map(|it| it.round() as u8)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn image(
        encoding: &str,
        width: usize,
        height: usize,
        step: usize,
        data: &[u8],
    ) -> Result<Image<'static>, ImageError> {
        let encoding = Cow::Owned(encoding.to_owned());
        let said = Description { width, height, step, encoding, big_endian: false };
        Image::new(said, Cow::Owned(data.to_vec()))
    }

    fn pixels(encoding: &str, width: usize, height: usize, data: &[u8]) -> Vec<Rgb> {
        image(encoding, width, height, 0, data).unwrap().scaled(width, height).unwrap().pixels().to_vec()
    }

    #[test]
    fn channels_are_in_the_order_of_the_encoding() {
        assert_eq!(pixels("rgb8", 2, 1, &[1, 2, 3, 4, 5, 6]), [[1, 2, 3], [4, 5, 6]]);
        assert_eq!(pixels("bgr8", 2, 1, &[1, 2, 3, 4, 5, 6]), [[3, 2, 1], [6, 5, 4]]);
        assert_eq!(pixels("rgba8", 1, 2, &[1, 2, 3, 9, 4, 5, 6, 9]), [[1, 2, 3], [4, 5, 6]]);
        assert_eq!(pixels("bgra8", 1, 1, &[1, 2, 3, 9]), [[3, 2, 1]]);
        assert_eq!(pixels("mono8", 2, 1, &[7, 200]), [[7; 3], [200; 3]]);
        assert_eq!(pixels("mono16", 2, 1, &[0xff, 0x01, 0x00, 0xc8]), [[1; 3], [200; 3]]);
        assert_eq!(pixels("rgb16", 1, 1, &[0, 1, 0, 2, 0, 3]), [[1, 2, 3]]);
        // A cell of four numbers is grey: (10 + 20 + 30 + 41) / 4.
        assert_eq!(pixels("bayer_rggb8", 2, 2, &[10, 20, 30, 41]), [[25; 3]; 4]);
        // The third column has no partner: (1 + 1 + 3 + 3) / 4.
        assert_eq!(pixels("bayer_rggb8", 3, 2, &[0, 0, 1, 0, 0, 3])[2], [2; 3]);
    }

    #[test]
    fn luma_and_colour_become_red_green_and_blue() {
        // Black, white, and the red of the standard (Y 81, Cb 90, Cr 240).
        assert_eq!(pixels("yuyv", 2, 1, &[16, 128, 235, 128]), [[0; 3], [255; 3]]);
        assert_eq!(pixels("uyvy", 2, 1, &[128, 16, 128, 235]), [[0; 3], [255; 3]]);
        let [red, green, blue] = pixels("yuv422", 2, 1, &[90, 81, 240, 81])[0];
        assert!(red >= 254 && green <= 1 && blue <= 1, "{red} {green} {blue}");
    }

    #[test]
    fn measurements_are_spread_from_black_to_white() {
        let depth: Vec<u8> = [1000_u16, 0, 3000, 2000].iter().flat_map(|it| it.to_le_bytes()).collect();
        let depth = image("16UC1", 2, 2, 0, &depth).unwrap();
        assert_eq!(depth.range(), Some([1000.0, 3000.0]));
        assert_eq!(depth.scaled(2, 2).unwrap().pixels(), [[0; 3], [0; 3], [255; 3], [128; 3]]);
        let metres: Vec<u8> =
            [1.0, f32::NAN, f32::INFINITY, 2.0].iter().flat_map(|it| it.to_le_bytes()).collect();
        assert_eq!(pixels("32FC1", 4, 1, &metres), [[0; 3], [0; 3], [0; 3], [255; 3]]);
        let largest: Vec<u8> = [f32::MIN, 0.0, f32::MAX].iter().flat_map(|it| it.to_le_bytes()).collect();
        assert_eq!(pixels("32FC1", 3, 1, &largest), [[0; 3], [128; 3], [255; 3]]);
        let nothing = image("32FC1", 1, 1, 0, &f32::NAN.to_le_bytes()).unwrap();
        assert_eq!((nothing.range(), nothing.pixel(0, 0)), (None, [0; 3]));
        let encoding = Cow::Borrowed("16UC1");
        let said = Description { width: 2, height: 1, step: 4, encoding, big_endian: true };
        let big = Image::new(said, Cow::Borrowed(&[0, 5, 1, 5])).unwrap();
        assert_eq!(big.range(), Some([5.0, 261.0]));
    }

    #[test]
    fn smaller_pictures_average_and_larger_ones_repeat() {
        let grey = image("mono8", 4, 2, 6, &[0, 10, 100, 100, 9, 9, 20, 30, 200, 200]).unwrap();
        assert_eq!(grey.scaled(2, 1).unwrap().pixels(), [[15; 3], [150; 3]]);
        let two = image("mono8", 2, 1, 0, &[1, 2]).unwrap();
        let larger = two.scaled(4, 2).unwrap();
        assert_eq!(larger.pixels(), [[1; 3], [1; 3], [2; 3], [2; 3], [1; 3], [1; 3], [2; 3], [2; 3]]);
        assert_eq!(samples(1, 2, 20), ([10, 12, 15, 17], 4));
        assert_eq!(samples(0, 5, 2), ([0, 0, 0, 0], 1));
    }

    #[test]
    fn numbers_that_do_not_fit_are_errors() {
        let is = |encoding, width, height, step, bytes| image(encoding, width, height, step, &vec![0; bytes]);
        assert!(matches!(is("jpeg", 1, 1, 0, 9), Err(ImageError::Encoding { .. })));
        assert!(matches!(is("rgb8", 0, 1, 0, 9), Err(ImageError::Empty { .. })));
        assert!(matches!(is("rgb8", 2, 1, 5, 9), Err(ImageError::Step { .. })));
        assert!(matches!(is("rgb8", usize::MAX, 1, 0, 9), Err(ImageError::Step { .. })));
        assert!(matches!(is("rgb8", usize::MAX / 3, usize::MAX, 0, 9), Err(ImageError::Data { .. })));
        assert!(matches!(is("rgb8", 2, 2, 6, 11), Err(ImageError::Data { .. })));
        assert!(matches!(is("yuyv", 3, 1, 0, 6), Err(ImageError::Data { .. })));
        // The last row needs no gap behind it.
        assert!(is("rgb8", 2, 2, 8, 14).is_ok());
        let huge = is("mono8", 1, 1, 0, 1).unwrap().scaled(1 << 20, 1 << 20);
        assert!(matches!(huge, Err(PictureError::TooLarge { .. })));
    }
}
