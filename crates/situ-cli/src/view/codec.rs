//! Images in the formats of codecs, as `sensor_msgs/CompressedImage` has them: JPEG and PNG.
//!
//! The bytes come from any publisher. The size that they state is checked before memory is taken for the
//! pixels.

use std::borrow::Cow;
use std::io::Cursor;

use jpeg_decoder::PixelFormat;
use png::{BitDepth, ColorType, Limits, Transformations};

use super::image::{Description, Image, ImageError};

/// What a JPEG file begins with.
const JPEG: &[u8] = &[0xff, 0xd8, 0xff];
/// What a PNG file begins with.
const PNG: &[u8] = b"\x89PNG\r\n\x1a\n";
/// The bytes before the PNG file of a compressed image of distances, by `compressed_depth_image_transport`.
const DEPTH_HEADER: usize = 12;
/// The most pixels of an image that is decoded. A decoder of JPEG may need 9 bytes for each, so this is up to
/// 288 MiB.
const MAX_PIXELS: usize = 32 << 20;

/// Why a compressed image is not drawn.
#[derive(Debug, thiserror::Error)]
pub enum CodecError {
    /// It is in no format that is decoded.
    #[error("the image is compressed ({format}), and not as JPEG or PNG, which are decoded")]
    Format {
        /// What the message says.
        format: String,
    },
    /// It is too large.
    #[error("the compressed image has {width} x {height} pixels; at most {MAX_PIXELS} are decoded")]
    TooLarge {
        /// Pixels in a row.
        width: usize,
        /// Rows.
        height: usize,
    },
    /// Its colours are not those of a screen.
    #[error("the JPEG image has the colours of a printer (CMYK), which are not drawn")]
    Printed,
    /// It is malformed.
    #[error("the JPEG image is malformed: {0}")]
    Jpeg(#[from] jpeg_decoder::Error),
    /// It is malformed.
    #[error("the PNG image is malformed: {0}")]
    Png(#[from] png::DecodingError),
    /// Its pixels do not fit.
    #[error(transparent)]
    Image(#[from] Box<ImageError>),
}

/// Decodes an image. `format` is what the message says of it; the bytes say themselves which codec they are
/// of.
pub fn decode(format: &str, data: &[u8]) -> Result<Image<'static>, CodecError> {
    let behind_header = data.get(DEPTH_HEADER..).filter(|rest| rest.starts_with(PNG));
    if data.starts_with(JPEG) {
        return of_jpeg(data);
    }
    match behind_header.or(Some(data).filter(|data| data.starts_with(PNG))) {
        // The distances of a depth camera: `16UC1; compressedDepth png` and `16UC1; png compressed` are
        // usual.
        Some(data) => of_png(data, format.starts_with("16UC1")),
        None => Err(CodecError::Format { format: format.chars().take(100).collect() }),
    }
}

fn check(width: usize, height: usize) -> Result<(), CodecError> {
    let is_small = width.checked_mul(height).is_some_and(|count| count <= MAX_PIXELS);
    if is_small { Ok(()) } else { Err(CodecError::TooLarge { width, height }) }
}

fn image(
    (width, height): (usize, usize),
    encoding: &'static str,
    data: Vec<u8>,
) -> Result<Image<'static>, CodecError> {
    // Numbers of 16 bits begin with the highest in PNG, and in what the decoder of JPEG returns with the
    // machine's.
    let big_endian = encoding != "mono16" || cfg!(target_endian = "big");
    let said = Description { width, height, step: 0, encoding: Cow::Borrowed(encoding), big_endian };
    Ok(Image::new(said, Cow::Owned(data)).map_err(Box::new)?)
}

fn of_jpeg(data: &[u8]) -> Result<Image<'static>, CodecError> {
    let mut decoder = jpeg_decoder::Decoder::new(data);
    decoder.set_max_decoding_buffer_size(3 * MAX_PIXELS);
    decoder.read_info()?;
    let Some(info) = decoder.info() else {
        return Err(CodecError::Jpeg(jpeg_decoder::Error::Format("it has no size".into())));
    };
    let size = (usize::from(info.width), usize::from(info.height));
    check(size.0, size.1)?;
    let encoding = match info.pixel_format {
        PixelFormat::L8 => "mono8",
        PixelFormat::L16 => "mono16",
        PixelFormat::RGB24 => "rgb8",
        PixelFormat::CMYK32 => return Err(CodecError::Printed),
    };
    image(size, encoding, decoder.decode()?)
}

fn of_png(data: &[u8], is_depth: bool) -> Result<Image<'static>, CodecError> {
    // Beside the pixels, 64 MiB are for the tables of the decoder and for texts.
    let limits = Limits { bytes: 8 * MAX_PIXELS + (64 << 20) };
    let mut decoder = png::Decoder::new_with_limits(Cursor::new(data), limits);
    decoder.set_transformations(Transformations::EXPAND);
    let info = decoder.read_header_info()?;
    let size = (info.width as usize, info.height as usize);
    check(size.0, size.1)?;
    let mut reader = decoder.read_info()?;
    let (color, depth) = reader.output_color_type();
    let is_wide = depth == BitDepth::Sixteen;
    let Some(bytes) = reader.output_buffer_size() else {
        return Err(CodecError::TooLarge { width: size.0, height: size.1 });
    };
    let mut pixels = vec![0; bytes];
    reader.next_frame(&mut pixels)?;
    let channels = color.samples();
    let sample = if is_wide { 2 } else { 1 };
    // Without the opacity, if there is one, and of colours only the high bytes.
    let (encoding, keeps) = match color {
        ColorType::Grayscale | ColorType::GrayscaleAlpha if is_wide && is_depth => ("16UC1", 1),
        ColorType::Grayscale | ColorType::GrayscaleAlpha => ("mono8", 1),
        ColorType::Rgb | ColorType::Rgba | ColorType::Indexed => ("rgb8", 3),
    };
    let kept = if encoding == "16UC1" { 2 } else { 1 };
    let mut made = Vec::with_capacity(size.0 * size.1 * keeps * kept);
    for pixel in pixels.chunks_exact(channels * sample) {
        for channel in pixel.chunks_exact(sample).take(keeps) {
            made.extend_from_slice(&channel[..kept]);
        }
    }
    image(size, encoding, made)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 16 x 8 pixels: the left half red, the right half blue. Made for this test with Pillow 13:
    /// `Image.new("RGB", (16, 8), (255, 0, 0))`, pasted blue, saved with quality 90 and subsampling 0.
    const RED_AND_BLUE: &[u8] = include_bytes!("red_and_blue.jpeg");

    fn pixels(image: &Image) -> Vec<[u8; 3]> {
        image.scaled(image.width, image.height).unwrap().pixels().to_vec()
    }

    fn png(size: (u32, u32), color: ColorType, depth: BitDepth, data: &[u8]) -> Vec<u8> {
        let mut bytes = Vec::new();
        let mut encoder = png::Encoder::new(&mut bytes, size.0, size.1);
        encoder.set_color(color);
        encoder.set_depth(depth);
        if color == ColorType::Indexed {
            encoder.set_palette(&[0, 0, 0, 9, 8, 7][..]);
        }
        encoder.write_header().unwrap().write_image_data(data).unwrap();
        bytes
    }

    #[test]
    fn jpeg_is_decoded() {
        let image = decode("rgb8; jpeg compressed bgr8", RED_AND_BLUE).unwrap();
        assert_eq!((image.width, image.height, image.encoding.as_ref()), (16, 8, "rgb8"));
        let pixels = pixels(&image);
        let is_near = |pixel: [u8; 3], colour: [u8; 3]| (0..3).all(|it| pixel[it].abs_diff(colour[it]) <= 3);
        for (at, pixel) in pixels.iter().enumerate() {
            let colour = if at % 16 < 8 { [255, 0, 0] } else { [0, 0, 255] };
            assert!(is_near(*pixel, colour), "{at}: {pixel:?}");
        }
    }

    #[test]
    fn png_is_decoded_with_all_its_colours() {
        let of = |color, depth, data: &[u8]| {
            let image = decode("png", &png((2, 1), color, depth, data)).unwrap();
            (image.encoding.to_string(), pixels(&image))
        };
        use BitDepth::{Eight, One, Sixteen};
        let colours = vec![[1, 2, 3], [4, 5, 6]];
        assert_eq!(of(ColorType::Rgb, Eight, &[1, 2, 3, 4, 5, 6]), ("rgb8".into(), colours.clone()));
        assert_eq!(of(ColorType::Rgba, Eight, &[1, 2, 3, 9, 4, 5, 6, 9]), ("rgb8".into(), colours.clone()));
        let wide = [1, 0, 2, 0, 3, 0, 4, 0, 5, 0, 6, 0];
        assert_eq!(of(ColorType::Rgb, Sixteen, &wide), ("rgb8".into(), colours));
        assert_eq!(of(ColorType::Grayscale, Eight, &[7, 200]), ("mono8".into(), vec![[7; 3], [200; 3]]));
        assert_eq!(of(ColorType::GrayscaleAlpha, Eight, &[7, 9, 200, 9]).1, [[7; 3], [200; 3]]);
        assert_eq!(of(ColorType::Grayscale, One, &[0b0100_0000]).1, [[0; 3], [255; 3]]);
        assert_eq!(of(ColorType::Indexed, Eight, &[1, 0]).1, [[9, 8, 7], [0; 3]]);
        assert_eq!(of(ColorType::Grayscale, Sixteen, &[1, 0xf4, 0x80, 0]).1, [[1; 3], [128; 3]]);
    }

    #[test]
    fn distances_keep_all_bits() {
        // 500 and 1000 millimetres, highest byte first.
        let file = png((2, 1), ColorType::Grayscale, BitDepth::Sixteen, &[1, 0xf4, 3, 0xe8]);
        let image = decode("16UC1; png compressed", &file).unwrap();
        assert_eq!((image.encoding.as_ref(), image.range()), ("16UC1", Some([500.0, 1000.0])));
        let with_header = [&[0; DEPTH_HEADER][..], &file].concat();
        assert_eq!(
            decode("16UC1; compressedDepth png", &with_header).unwrap().range(),
            Some([500.0, 1000.0])
        );
    }

    #[test]
    fn sizes_are_checked_before_memory_is_taken() {
        // The size in the header of the frame, behind FF C0, two bytes of length and one of depth.
        let mut jpeg = RED_AND_BLUE.to_vec();
        let at = jpeg.windows(2).position(|it| it == [0xff, 0xc0]).unwrap() + 5;
        jpeg[at..at + 4].copy_from_slice(&[0xff; 4]);
        let error = decode("jpeg", &jpeg).unwrap_err();
        assert!(matches!(error, CodecError::TooLarge { width: 65535, height: 65535 }), "{error}");
        let mut file = png((1, 1), ColorType::Grayscale, BitDepth::Eight, &[7]);
        file[16..24].copy_from_slice(&[0x7f, 0xff, 0xff, 0xff, 0x7f, 0xff, 0xff, 0xff]);
        let checksum = crc(&file[12..29]);
        file[29..33].copy_from_slice(&checksum.to_be_bytes());
        let error = decode("png", &file).unwrap_err();
        assert!(matches!(error, CodecError::TooLarge { .. }), "{error}");
    }

    /// The checksum of a chunk, by annex D of the standard.
    fn crc(bytes: &[u8]) -> u32 {
        let mut crc = u32::MAX;
        for byte in bytes {
            crc ^= u32::from(*byte);
            (0..8).for_each(|_| crc = if crc & 1 == 1 { crc >> 1 ^ 0xedb8_8320 } else { crc >> 1 });
        }
        !crc
    }

    #[test]
    fn broken_images_are_errors_or_images() {
        let error = decode("h264\x1b", b"\0\0\0\x01").unwrap_err();
        assert!(matches!(error, CodecError::Format { .. }));
        let file = png((4, 4), ColorType::Rgb, BitDepth::Eight, &[5; 48]);
        for whole in [RED_AND_BLUE, &file] {
            for end in 0..whole.len() {
                // A decoder may draw what is there of a cut image.
                let _ = decode("", &whole[..end]);
            }
            let mut state = 1_u64;
            for _ in 0..400 {
                let mut bytes = whole.to_vec();
                for _ in 0..3 {
                    state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
                    let at = (state >> 33) as usize % bytes.len();
                    bytes[at] = (state >> 24) as u8;
                }
                if let Ok(image) = decode("", &bytes) {
                    assert!(image.width * image.height <= MAX_PIXELS);
                }
            }
        }
        assert!(decode("", &RED_AND_BLUE[..20]).is_err());
    }
}
