//! The files that the demo plays: KITTI scans, point clouds in PCD, PNG images.
//!
//! ```text
//!   image  PNG images
//!   kitti  scans of the KITTI data set
//!   pcd    point clouds of the Point Cloud Library
//!   lzf    the compression of PCD files
//! ```

pub mod image;
pub mod kitti;
mod lzf;
pub mod pcd;

use std::path::{Path, PathBuf};

/// The demo's built-in picture.
const PICTURE: &[u8] = include_bytes!("../../../assets/camera.png");

/// The demo's built-in picture: a man and his camera.
pub fn picture() -> Result<Pixels, image::ImageError> {
    image::decode(PICTURE)
}

/// One point: x, y, z in metres and the intensity of the return, as a lidar driver provides them.
pub type Point = [f32; 4];

/// The content of a file.
#[derive(Clone, Debug, PartialEq)]
pub enum Frame {
    /// A lidar scan.
    Cloud(Vec<Point>),
    /// A camera image.
    Image(Pixels),
}

/// An uncompressed image with 8 bits a channel.
#[derive(Clone, Debug, PartialEq)]
pub struct Pixels {
    /// Columns.
    pub width: u32,
    /// Rows.
    pub height: u32,
    /// Bytes per pixel: 1 (grey), 3 (RGB) or 4 (RGBA).
    pub channels: u32,
    /// `width * height * channels` bytes, row after row.
    pub data: Vec<u8>,
}

/// The reason that a file cannot be played.
#[derive(Debug, thiserror::Error)]
pub enum InputError {
    /// The file cannot be read at all.
    #[error("cannot read {}: {source}", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// The error of the system.
        source: std::io::Error,
    },
    /// The file is none of the kinds that the demo plays.
    #[error(
        "{}: not a file that the demo can play; it takes a KITTI velodyne scan (.bin), a point cloud (.pcd) or a PNG image (.png)",
        path.display()
    )]
    UnknownKind {
        /// The file.
        path: PathBuf,
    },
    /// A KITTI scan is damaged.
    #[error("{}: {source}", path.display())]
    Kitti {
        /// The file.
        path: PathBuf,
        /// The damage.
        source: kitti::KittiError,
    },
    /// A point cloud is damaged.
    #[error("{}: {source}", path.display())]
    Pcd {
        /// The file.
        path: PathBuf,
        /// The damage.
        source: pcd::PcdError,
    },
    /// An image is damaged.
    #[error("{}: {source}", path.display())]
    Image {
        /// The file.
        path: PathBuf,
        /// The damage.
        source: image::ImageError,
    },
}

/// Reads a file. Its first bytes determine its kind. A KITTI scan has no such mark: its name determines it.
pub fn read(path: &Path) -> Result<Frame, InputError> {
    let bytes = std::fs::read(path).map_err(|source| InputError::Read { path: path.to_owned(), source })?;
    let extension = path.extension().and_then(|e| e.to_str()).unwrap_or("").to_ascii_lowercase();
    let path = path.to_owned();
    if image::looks_like_png(&bytes) || extension == "png" {
        image::decode(&bytes).map(Frame::Image).map_err(|source| InputError::Image { path, source })
    } else if pcd::looks_like_pcd(&bytes) || extension == "pcd" {
        pcd::decode(&bytes).map(Frame::Cloud).map_err(|source| InputError::Pcd { path, source })
    } else if extension == "bin" {
        kitti::decode(&bytes).map(Frame::Cloud).map_err(|source| InputError::Kitti { path, source })
    } else {
        Err(InputError::UnknownKind { path })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Decodes every prefix of a file and many damaged copies of it. Each must give a result, never a panic.
    pub(super) fn damage(bytes: &[u8], mut decode: impl FnMut(&[u8])) {
        for end in 0..bytes.len().min(4096) {
            decode(&bytes[..end]);
        }
        let mut state = 0x9E37_79B9_7F4A_7C15_u64;
        let mut next = || {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            state
        };
        for _ in 0..4000 {
            let mut copy = bytes.to_vec();
            for _ in 0..=next() % 4 {
                let at = (next() % copy.len() as u64) as usize;
                copy[at] = next() as u8;
            }
            decode(&copy);
        }
    }

    #[test]
    fn an_unknown_file_is_refused_with_the_list_of_known_ones() {
        let path = std::env::temp_dir().join(format!("situ-input-{}.txt", std::process::id()));
        std::fs::write(&path, "hello").unwrap();
        let error = read(&path).unwrap_err().to_string();
        std::fs::remove_file(&path).unwrap();
        assert!(error.contains(".bin") && error.contains(".pcd") && error.contains(".png"), "{error}");
    }

    #[test]
    fn a_missing_file_is_named() {
        let error = read(Path::new("/nonexistent/scan.bin")).unwrap_err().to_string();
        assert!(error.starts_with("cannot read /nonexistent/scan.bin: "), "{error}");
    }
}
