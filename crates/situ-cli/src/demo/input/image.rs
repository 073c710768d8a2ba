//! Reads PNG images and converts them to 8 bits a channel.

use std::io::Cursor;

use super::Pixels;

/// The size in bytes of the largest accepted image.
const LARGEST: usize = 512 << 20;
const SIGNATURE: &[u8] = b"\x89PNG\r\n\x1a\n";

/// The reason that bytes are not an image that the demo can play.
#[derive(Debug, thiserror::Error)]
pub enum ImageError {
    /// The decoder refused the bytes.
    #[error("not a complete PNG image: {0}")]
    Decode(#[from] png::DecodingError),
    /// It would need too much memory.
    #[error("an image of {width} x {height} pixels needs more than the 512 MiB that the demo allows")]
    TooLarge {
        /// Columns.
        width: u32,
        /// Rows.
        height: u32,
    },
}

/// Whether the first bytes are those of a PNG image.
pub fn looks_like_png(bytes: &[u8]) -> bool {
    bytes.starts_with(SIGNATURE)
}

/// Decodes an image: palettes are resolved, 16 bits become 8, transparency of grey images is dropped.
pub fn decode(bytes: &[u8]) -> Result<Pixels, ImageError> {
    let limits = png::Limits { bytes: LARGEST };
    let mut decoder = png::Decoder::new_with_limits(Cursor::new(bytes), limits);
    decoder.set_transformations(png::Transformations::normalize_to_color8());
    let mut reader = decoder.read_info()?;
    let (width, height) = (reader.info().width, reader.info().height);
    let size = reader
        .output_buffer_size()
        .filter(|&s| s <= LARGEST)
        .ok_or(ImageError::TooLarge { width, height })?;
    let mut data = vec![0; size];
    let info = reader.next_frame(&mut data)?;
    data.truncate(info.buffer_size());
    let channels = match info.color_type {
        png::ColorType::GrayscaleAlpha => {
            let (pairs, _) = data.as_chunks::<2>();
            data = pairs.iter().map(|p| p[0]).collect();
            1
        }
        color => color.samples() as u32,
    };
    Ok(Pixels { width: info.width, height: info.height, channels, data })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn encode(color: png::ColorType, depth: png::BitDepth, width: u32, height: u32, data: &[u8]) -> Vec<u8> {
        let mut bytes = Vec::new();
        let mut encoder = png::Encoder::new(&mut bytes, width, height);
        encoder.set_color(color);
        encoder.set_depth(depth);
        let mut writer = encoder.write_header().unwrap();
        writer.write_image_data(data).unwrap();
        writer.finish().unwrap();
        bytes
    }

    #[test]
    fn colour_stays_as_it_is() {
        let data = [1, 2, 3, 4, 5, 6];
        let file = encode(png::ColorType::Rgb, png::BitDepth::Eight, 2, 1, &data);
        let pixels = decode(&file).unwrap();
        assert_eq!(pixels, Pixels { width: 2, height: 1, channels: 3, data: data.to_vec() });
    }

    #[test]
    fn sixteen_bits_become_eight() {
        let file = encode(png::ColorType::Grayscale, png::BitDepth::Sixteen, 1, 2, &[0x12, 0x34, 0xAB, 0xCD]);
        assert_eq!(decode(&file).unwrap().data, [0x12, 0xAB]);
    }

    #[test]
    fn transparency_of_grey_is_dropped() {
        let file = encode(png::ColorType::GrayscaleAlpha, png::BitDepth::Eight, 2, 1, &[9, 255, 8, 0]);
        let pixels = decode(&file).unwrap();
        assert_eq!((pixels.channels, pixels.data), (1, vec![9, 8]));
    }

    #[test]
    fn cut_images_are_refused() {
        let file = encode(png::ColorType::Rgb, png::BitDepth::Eight, 8, 8, &[7; 192]);
        for end in [0, 4, 20, 40, file.len() - 20] {
            assert!(decode(&file[..end]).is_err(), "{end}");
        }
    }

    #[test]
    fn damaged_files_never_panic() {
        let file = encode(png::ColorType::Rgba, png::BitDepth::Eight, 4, 4, &[100; 64]);
        super::super::tests::damage(&file, |bytes| {
            if let Ok(p) = decode(bytes) {
                assert_eq!(p.data.len(), (p.width * p.height * p.channels) as usize);
            }
        });
    }
}
