//! Pictures: pixels of red, green and blue, row by row.

use png::{BitDepth, ColorType, Compression, Encoder};

/// The most pixels of a picture: 64 Mi, which are 192 MiB.
pub const MAX_PIXELS: usize = 64 << 20;

/// A colour: red, green, blue.
pub type Rgb = [u8; 3];

/// A picture.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Picture {
    width: usize,
    pixels: Vec<Rgb>,
}

/// Why there is no picture.
#[derive(Debug, thiserror::Error)]
pub enum PictureError {
    /// It would be too large.
    #[error(
        "a picture of {width} x {height} pixels is not drawn: at most {MAX_PIXELS} are; give a smaller --width"
    )]
    TooLarge {
        /// Pixels in a row.
        width: usize,
        /// Rows.
        height: usize,
    },
    /// There is no memory for it.
    #[error("there is no memory for a picture of {width} x {height} pixels")]
    NoMemory {
        /// Pixels in a row.
        width: usize,
        /// Rows.
        height: usize,
    },
    /// It cannot be encoded.
    #[error("cannot encode the picture as PNG: {0}")]
    Png(#[from] png::EncodingError),
}

impl Picture {
    /// A picture of one colour. The size may come from a message.
    pub fn new(width: usize, height: usize, colour: Rgb) -> Result<Self, PictureError> {
        let count = width.checked_mul(height).filter(|count| *count <= MAX_PIXELS);
        let count = count.ok_or(PictureError::TooLarge { width, height })?;
        let mut pixels = Vec::new();
        pixels.try_reserve_exact(count).map_err(|_| PictureError::NoMemory { width, height })?;
        pixels.resize(count, colour);
        Ok(Self { width, pixels })
    }

    /// Pixels in a row.
    pub fn width(&self) -> usize {
        self.width
    }

    /// Rows.
    pub fn height(&self) -> usize {
        self.pixels.len().checked_div(self.width).unwrap_or(0)
    }

    /// The rows, from top to bottom.
    pub fn rows(&self) -> impl ExactSizeIterator<Item = &[Rgb]> {
        self.pixels.chunks_exact(self.width.max(1))
    }

    /// The rows, to be changed.
    pub fn rows_mut(&mut self) -> impl ExactSizeIterator<Item = &mut [Rgb]> {
        self.pixels.chunks_exact_mut(self.width.max(1))
    }

    /// All pixels.
    pub fn pixels(&self) -> &[Rgb] {
        &self.pixels
    }

    /// Colours a pixel.
    pub fn set(&mut self, x: usize, y: usize, colour: Rgb) {
        self.pixels[y * self.width + x] = colour;
    }

    /// As a PNG file.
    pub fn to_png(&self) -> Result<Vec<u8>, PictureError> {
        let mut file = Vec::new();
        // Sizes are below MAX_PIXELS.
        let mut encoder = Encoder::new(&mut file, self.width as u32, self.height() as u32);
        encoder.set_color(ColorType::Rgb);
        encoder.set_depth(BitDepth::Eight);
        encoder.set_compression(Compression::Fast);
        let mut writer = encoder.write_header()?;
        writer.write_image_data(self.pixels.as_flattened())?;
        writer.finish()?;
        Ok(file)
    }

    /// A picture of these rows.
    #[cfg(test)]
    pub fn of<const W: usize>(rows: &[[Rgb; W]]) -> Self {
        Self { width: W, pixels: rows.concat() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_limited_before_memory_is_taken() {
        assert!(matches!(Picture::new(usize::MAX, 2, [0; 3]), Err(PictureError::TooLarge { .. })));
        assert!(matches!(Picture::new(1 << 20, 65, [0; 3]), Err(PictureError::TooLarge { .. })));
        let empty = Picture::new(0, 5, [0; 3]).unwrap();
        assert_eq!((empty.width(), empty.height(), empty.rows().len()), (0, 0, 0));
    }

    #[test]
    fn png_files_have_the_pixels() {
        let picture = Picture::of(&[[[1, 2, 3], [4, 5, 6]], [[7, 8, 9], [255, 0, 128]]]);
        let file = picture.to_png().unwrap();
        let mut reader = png::Decoder::new(std::io::Cursor::new(file)).read_info().unwrap();
        let mut bytes = vec![0; reader.output_buffer_size().unwrap()];
        let info = reader.next_frame(&mut bytes).unwrap();
        assert_eq!((info.width, info.height, info.color_type), (2, 2, ColorType::Rgb));
        assert_eq!(bytes, [1, 2, 3, 4, 5, 6, 7, 8, 9, 255, 0, 128]);
    }
}
