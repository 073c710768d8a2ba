//! A frame of the demo as a message, in either storage, and how the sensor's data is written to it.

use situ::bus::now_ns;
use situ::layout::{BulkField, BulkRef, Flat, FlatMessage, Heap, Message, Storage};

use super::input::{Pixels, Point};
use super::picture;
use crate::messages::situ_::common::Time;
use crate::messages::situ_::sensor::{
    Image, ImageBulkLengths, PointCloud2, PointCloud2BulkLengths, PointFieldType,
};

pub use situ::layout::Bounded;

/// Bytes of a point: x, y, z, intensity as float32.
pub const POINT: usize = 16;

/// The properties of a frame, without its data.
#[derive(Clone, Copy, Debug)]
pub struct Shape {
    /// Points or pixels in a row.
    pub width: usize,
    /// Rows.
    pub height: usize,
    /// Bytes of a point or pixel.
    pub step: usize,
}

impl Shape {
    /// The shape of an image.
    pub fn of(pixels: &Pixels) -> Self {
        Self { width: pixels.width as usize, height: pixels.height as usize, step: pixels.channels as usize }
    }

    /// The size of its data in bytes.
    pub fn bytes(&self) -> usize {
        self.width * self.height * self.step
    }
}

/// A message that holds a frame in its bulk field, in any storage.
pub trait FrameMessage: Message {
    /// The time at which the frame was complete.
    fn stamp(&mut self) -> &mut Time;
    /// Nanoseconds since the frame was complete.
    fn age(&self) -> u64;
    /// Sets all properties of the frame except its data.
    fn describe(&mut self, shape: &Shape) -> Bounded;
    /// The lengths of a message with `bytes` bytes of data.
    fn lengths(bytes: usize) -> Self::BulkLengths;
    /// Returns the data, from the message's body.
    fn data<'a>(&'a self, body: &'a [u8]) -> &'a [u8];
    /// Draws a picture of the data.
    fn picture(&self, data: &[u8], columns: usize, rows: usize) -> Vec<String>;
}

/// A frame that is built in its destination memory.
pub trait FlatFrame: FrameMessage + FlatMessage {
    /// The place of its data.
    fn place(&self) -> &BulkRef<u8>;
}

/// A frame in ordinary memory.
pub trait HeapFrame: FrameMessage {
    /// Makes room for `bytes` bytes of data.
    fn resize(&mut self, bytes: usize);
    /// The data, for writing.
    fn data_mut(&mut self) -> &mut [u8];
}

/// Stamps a frame as complete, on the clock that every process of this machine shares.
pub fn complete(frame: &mut impl FrameMessage) {
    let now = now_ns();
    let stamp = frame.stamp();
    stamp.sec = (now / 1_000_000_000) as i32;
    stamp.nanosec = (now % 1_000_000_000) as u32;
}

fn age(stamp: &Time) -> u64 {
    let then = u64::from(stamp.sec.cast_unsigned()) * 1_000_000_000 + u64::from(stamp.nanosec);
    now_ns().saturating_sub(then)
}

impl<S: Storage> FrameMessage for PointCloud2<S> {
    fn stamp(&mut self) -> &mut Time {
        &mut self.header.stamp
    }

    fn age(&self) -> u64 {
        age(&self.header.stamp)
    }

    fn describe(&mut self, shape: &Shape) -> Bounded {
        self.header.set_frame_id("lidar")?;
        self.height = shape.height as u32;
        self.width = shape.width as u32;
        self.point_step = shape.step as u32;
        self.row_step = (shape.step * shape.width) as u32;
        self.is_dense = false;
        self.set_fields(&[])?;
        for (index, name) in ["x", "y", "z", "intensity"].into_iter().enumerate() {
            let field = self.add_fields()?;
            field.set_name(name)?;
            field.offset = index as u32 * 4;
            field.datatype = PointFieldType::FLOAT32;
            field.count = 1;
        }
        Ok(())
    }

    fn lengths(bytes: usize) -> PointCloud2BulkLengths {
        PointCloud2BulkLengths { data: bytes }
    }

    fn data<'a>(&'a self, body: &'a [u8]) -> &'a [u8] {
        self.data.elements(body).unwrap_or_default()
    }

    fn picture(&self, data: &[u8], columns: usize, rows: usize) -> Vec<String> {
        picture::cloud(points(data), columns, rows)
    }
}

impl FlatFrame for PointCloud2<Flat> {
    fn place(&self) -> &BulkRef<u8> {
        &self.data
    }
}

impl HeapFrame for PointCloud2<Heap> {
    fn resize(&mut self, bytes: usize) {
        self.data.place(0, bytes);
    }

    fn data_mut(&mut self) -> &mut [u8] {
        &mut self.data
    }
}

impl<S: Storage> FrameMessage for Image<S> {
    fn stamp(&mut self) -> &mut Time {
        &mut self.header.stamp
    }

    fn age(&self) -> u64 {
        age(&self.header.stamp)
    }

    fn describe(&mut self, shape: &Shape) -> Bounded {
        self.header.set_frame_id("camera")?;
        self.height = shape.height as u32;
        self.width = shape.width as u32;
        self.set_encoding(match shape.step {
            1 => "mono8",
            3 => "rgb8",
            _ => "rgba8",
        })?;
        self.step = (shape.step * shape.width) as u32;
        Ok(())
    }

    fn lengths(bytes: usize) -> ImageBulkLengths {
        ImageBulkLengths { data: bytes }
    }

    fn data<'a>(&'a self, body: &'a [u8]) -> &'a [u8] {
        self.data.elements(body).unwrap_or_default()
    }

    fn picture(&self, data: &[u8], columns: usize, rows: usize) -> Vec<String> {
        picture::image(data, self.width as usize, self.height as usize, columns, rows)
    }
}

impl FlatFrame for Image<Flat> {
    fn place(&self) -> &BulkRef<u8> {
        &self.data
    }
}

impl HeapFrame for Image<Heap> {
    fn resize(&mut self, bytes: usize) {
        self.data.place(0, bytes);
    }

    fn data_mut(&mut self) -> &mut [u8] {
        &mut self.data
    }
}

/// Writes points one after the other into the bytes of a cloud.
pub struct PointWriter<'a>(std::slice::IterMut<'a, [u8; POINT]>);

impl<'a> PointWriter<'a> {
    /// Over the whole of `data`.
    pub fn new(data: &'a mut [u8]) -> Self {
        Self(data.as_chunks_mut().0.iter_mut())
    }

    /// Writes the next point. Ignores a point for which there is no room.
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

    #[test]
    fn a_frame_is_as_old_as_its_stamp_says() {
        let mut image = Image::<Heap>::default();
        complete(&mut image);
        std::thread::sleep(std::time::Duration::from_millis(2));
        let age = image.age();
        assert!((2_000_000..10_000_000_000).contains(&age), "{age} ns");
    }

    #[test]
    fn images_are_described_by_their_shape() {
        let mut image = Image::<Heap>::default();
        image.describe(&Shape { width: 4, height: 2, step: 3 }).unwrap();
        assert_eq!((image.encoding.as_str(), image.step, image.height), ("rgb8", 12, 2));
        assert_eq!(Shape { width: 4, height: 2, step: 3 }.bytes(), 24);
    }
}
