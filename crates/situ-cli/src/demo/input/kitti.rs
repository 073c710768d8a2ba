//! Velodyne scans of the KITTI data set: only little-endian float32 `x y z intensity`.

use super::Point;

/// The size of one point in bytes.
const POINT: usize = 16;

/// The reason that bytes are not a KITTI scan.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub enum KittiError {
    /// The file is empty.
    #[error("the file is empty; a KITTI scan holds at least one point of 16 bytes")]
    Empty,
    /// The last point is cut off.
    #[error(
        "{size} bytes are {points} points of 16 bytes and {rest} bytes more; the file is truncated or not a KITTI scan (float32 x, y, z, intensity)"
    )]
    Partial {
        /// Size of the file.
        size: usize,
        /// Whole points in it.
        points: usize,
        /// Bytes left over.
        rest: usize,
    },
    /// A number is not finite.
    #[error(
        "point {index} is not finite; a KITTI scan holds little-endian float32 x, y, z, intensity, so this file is probably something else"
    )]
    NotFinite {
        /// The point.
        index: usize,
    },
}

/// Reads a scan.
pub fn decode(bytes: &[u8]) -> Result<Vec<Point>, KittiError> {
    if bytes.is_empty() {
        return Err(KittiError::Empty);
    }
    let (points, rest) = bytes.as_chunks::<POINT>();
    if !rest.is_empty() {
        return Err(KittiError::Partial { size: bytes.len(), points: points.len(), rest: rest.len() });
    }
    points
        .iter()
        .enumerate()
        .map(|(index, raw)| {
            let (values, _) = raw.as_chunks::<4>();
            let point = std::array::from_fn(|i| f32::from_le_bytes(values[i]));
            if point.iter().all(|v| v.is_finite()) { Ok(point) } else { Err(KittiError::NotFinite { index }) }
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file() -> Vec<u8> {
        [1.5_f32, -2.0, 0.25, 0.5, 10.0, 20.0, 30.0, 1.0].iter().flat_map(|v| v.to_le_bytes()).collect()
    }

    #[test]
    fn points_in_order() {
        assert_eq!(decode(&file()).unwrap(), [[1.5, -2.0, 0.25, 0.5], [10.0, 20.0, 30.0, 1.0]]);
    }

    #[test]
    fn a_truncated_file_is_reported_with_its_rest() {
        let error = decode(&file()[..20]).unwrap_err();
        assert_eq!(error, KittiError::Partial { size: 20, points: 1, rest: 4 });
        assert_eq!(decode(&[]), Err(KittiError::Empty));
    }

    #[test]
    fn other_data_is_recognized_by_its_numbers() {
        let mut bytes = file();
        bytes[16..20].copy_from_slice(&f32::NAN.to_le_bytes());
        assert_eq!(decode(&bytes), Err(KittiError::NotFinite { index: 1 }));
    }

    #[test]
    fn damaged_files_never_panic() {
        super::super::tests::damage(&file(), |bytes| {
            if let Ok(points) = decode(bytes) {
                assert_eq!(points.len() * POINT, bytes.len());
            }
        });
    }
}
