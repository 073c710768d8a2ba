//! The content of a message, independent of its type. All systems must produce the same content.

use std::hash::{Hash, Hasher};

/// A message.
pub trait Facts {
    /// Feeds the whole content to the hasher.
    fn say(&self, to: &mut impl Hasher);
}

impl Facts for Vec<u8> {
    fn say(&self, to: &mut impl Hasher) {
        self.as_slice().hash(to);
    }
}

/// Feeds text of any string type.
pub fn text(text: &impl ToString, to: &mut impl Hasher) {
    text.to_string().hash(to);
}

/// Feeds numbers.
pub fn numbers(numbers: &[f64], to: &mut impl Hasher) {
    numbers.iter().for_each(|number| number.to_bits().hash(to));
}

/// Implements it for types of a message that differ only in their storage.
#[macro_export]
macro_rules! facts {
    (image: $($type:ty),*) => {$(
        impl $crate::facts::Facts for $type {
            fn say(&self, to: &mut impl ::std::hash::Hasher) {
                use ::std::hash::Hash;
                $crate::facts::text(&self.header.frame_id, to);
                $crate::facts::text(&self.encoding, to);
                (self.width, self.height, self.step).hash(to);
                self.data[..].hash(to);
            }
        }
    )*};
    (joint_state: $($type:ty),*) => {$(
        impl $crate::facts::Facts for $type {
            fn say(&self, to: &mut impl ::std::hash::Hasher) {
                $crate::facts::text(&self.header.frame_id, to);
                self.name.iter().for_each(|name| $crate::facts::text(name, to));
                for numbers in [&self.position[..], &self.velocity[..], &self.effort[..]] {
                    $crate::facts::numbers(numbers, to);
                }
            }
        }
    )*};
    (pose_array: $($type:ty),*) => {$(
        impl $crate::facts::Facts for $type {
            fn say(&self, to: &mut impl ::std::hash::Hasher) {
                $crate::facts::text(&self.header.frame_id, to);
                for pose in self.poses.iter() {
                    let (at, turned) = (&pose.position, &pose.orientation);
                    $crate::facts::numbers(&[at.x, at.y, at.z, turned.x, turned.y, turned.z, turned.w], to);
                }
            }
        }
    )*};
}

/// Fills an idiomatic message of any system.
#[macro_export]
macro_rules! fill {
    (image $type:ty) => {{
        let mut image = <$type>::default();
        image.header.frame_id = "camera".to_owned();
        image.encoding = "rgba8".to_owned();
        (image.width, image.height, image.step) = (512, 512, 2048);
        image.data = (0..1_u32 << 20).map(|at| (at * 7 + (at >> 8)) as u8).collect();
        image
    }};
    (joint_state $type:ty) => {{
        let mut state = <$type>::default();
        state.name = (0..100).map(|at| format!("arm_{at:02}_joint")).collect();
        state.position = (0..100).map(|at| f64::from(at) * 0.5).collect();
        state.velocity = (0..100).map(|at| f64::from(at) * 0.25).collect();
        state.effort = (0..100).map(|at| f64::from(at) * 0.125).collect();
        state
    }};
    (pose_array $type:ty, $pose:ty) => {{
        let mut array = <$type>::default();
        array.header.frame_id = "map".to_owned();
        array.poses = (0..10_000)
            .map(|at| {
                let mut pose = <$pose>::default();
                pose.position.x = f64::from(at);
                pose.position.y = f64::from(at) * 0.5;
                pose.orientation.z = 0.25;
                pose.orientation.w = 1.0;
                pose
            })
            .collect();
        array
    }};
}

/// The sequence of bytes.
pub fn bytes() -> Vec<u8> {
    (0..65_536_u32).map(|at| (at * 7 + (at >> 8)) as u8).collect()
}
