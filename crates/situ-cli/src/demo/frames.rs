//! What a frame of the demo is as a message, in either storage, and how the sensor's data gets into it.

use situ::bus::now_ns;
use situ::layout::{Bounded, Storage};

use super::input::{Pixels, Point};
use crate::messages::situ::common::Time;
use crate::messages::situ::sensor::{Image, PointCloud2, PointFieldType};

/// Bytes of a point: x, y, z, intensity as float32.
pub const POINT: usize = 16;

/// The time now as a stamp, on the clock that every process of this machine shares.
pub fn stamp(time: &mut Time) {
    let now = now_ns();
    time.sec = (now / 1_000_000_000) as i32;
    time.nanosec = (now % 1_000_000_000) as u32;
}

/// Nanoseconds since the stamp.
pub fn age(time: &Time) -> u64 {
    let then = u64::from(time.sec.cast_unsigned()) * 1_000_000_000 + u64::from(time.nanosec);
    now_ns().saturating_sub(then)
}

/// Describes a cloud of so many points; all but the points themselves.
pub fn describe_cloud<S: Storage>(cloud: &mut PointCloud2<S>, width: usize, height: usize) -> Bounded {
    cloud.header.set_frame_id("lidar")?;
    cloud.height = height as u32;
    cloud.width = width as u32;
    cloud.point_step = POINT as u32;
    cloud.row_step = (POINT * width) as u32;
    cloud.is_dense = false;
    cloud.set_fields(&[])?;
    for (index, name) in ["x", "y", "z", "intensity"].into_iter().enumerate() {
        let field = cloud.add_fields()?;
        field.set_name(name)?;
        field.offset = index as u32 * 4;
        field.datatype = PointFieldType::FLOAT32;
        field.count = 1;
    }
    Ok(())
}

/// Describes an image; all but the pixels themselves.
pub fn describe_image<S: Storage>(image: &mut Image<S>, pixels: &Pixels) -> Bounded {
    image.header.set_frame_id("camera")?;
    image.height = pixels.height;
    image.width = pixels.width;
    image.set_encoding(match pixels.channels {
        1 => "mono8",
        3 => "rgb8",
        _ => "rgba8",
    })?;
    image.step = pixels.width * pixels.channels;
    Ok(())
}

/// Writes points one after the other into the bytes of a cloud.
pub struct PointWriter<'a>(std::slice::IterMut<'a, [u8; POINT]>);

impl<'a> PointWriter<'a> {
    /// Over the whole of `data`.
    pub fn new(data: &'a mut [u8]) -> Self {
        Self(data.as_chunks_mut().0.iter_mut())
    }

    /// Writes the next point; one that has no room is left out.
    pub fn put(&mut self, point: Point) {
        if let Some(bytes) = self.0.next() {
            for (target, value) in bytes.as_chunks_mut::<4>().0.iter_mut().zip(point) {
                *target = value.to_le_bytes();
            }
        }
    }
}

/// The points in the bytes of a cloud.
pub fn points(data: &[u8]) -> impl Iterator<Item = Point> + '_ {
    data.as_chunks::<POINT>().0.iter().map(|bytes| {
        let (values, _) = bytes.as_chunks::<4>();
        std::array::from_fn(|i| f32::from_le_bytes(values[i]))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn points_come_out_as_they_went_in() {
        let cloud = [[1.0, -2.5, 3.0, 0.5], [4.0, 5.0, -6.0, 1.0]];
        let mut data = vec![0; 2 * POINT];
        let mut writer = PointWriter::new(&mut data);
        cloud.into_iter().for_each(|p| writer.put(p));
        writer.put([9.0; 4]);
        assert_eq!(data[4..8], (-2.5_f32).to_le_bytes());
        assert_eq!(points(&data).collect::<Vec<_>>(), cloud);
    }
}
