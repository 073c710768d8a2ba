//! ROS's Rust runtime, with messages as its generator wrote them before and after it copied sequences of
//! numbers as one block.

use std::borrow::Cow;

use rosidl_runtime_rs::{Message, Sequence};

use crate::facts::{Facts, bytes};
use crate::suite::{Direction, Shape, Suite};
use crate::{facts, fill};

crate::generated_messages! {
    builtin_interfaces Time { sec: (plain i32), nanosec: (plain u32), }
    std_msgs Header { stamp: (nested Time), frame_id: (text), }
    geometry_msgs Point { x: (plain f64), y: (plain f64), z: (plain f64), }
    geometry_msgs Quaternion { x: (plain f64), y: (plain f64), z: (plain f64), w: (plain f64), }
    geometry_msgs Pose { position: (nested Point), orientation: (nested Quaternion), }
    geometry_msgs PoseArray { header: (nested Header), poses: (nesteds Pose), }
    sensor_msgs Image {
        header: (nested Header),
        height: (plain u32),
        width: (plain u32),
        encoding: (text),
        is_bigendian: (plain u8),
        step: (plain u32),
        data: (list u8),
    }
    sensor_msgs JointState {
        header: (nested Header),
        name: (texts),
        position: (list f64),
        velocity: (list f64),
        effort: (list f64),
    }
}

facts!(image: rmw::Image, elementwise::Image, memcpy::Image);
facts!(joint_state: rmw::JointState, elementwise::JointState, memcpy::JointState);
facts!(pose_array: rmw::PoseArray, elementwise::PoseArray, memcpy::PoseArray);

impl Facts for Sequence<u8> {
    fn say(&self, to: &mut impl std::hash::Hasher) {
        std::hash::Hash::hash(self.as_slice(), to);
    }
}

const ELEMENTWISE: &str = "elementwise";
const MEMCPY: &str = "rosidl_runtime_rs";

fn both_ways<T: Message + Facts + 'static>(
    suite: &mut Suite,
    (shape, direction, system): (Shape, Direction, &'static str),
    message: T,
) -> Result<(), String>
where
    T::RmwMsg: Facts,
{
    match direction {
        Direction::FromRos => {
            let ros = T::into_rmw_message(Cow::Owned(message)).into_owned();
            suite.add((shape, direction, system), move || ros.clone(), T::from_rmw_message)
        }
        Direction::IntoRos => suite.add(
            (shape, direction, system),
            move || message.clone(),
            |message| T::into_rmw_message(Cow::Owned(message)).into_owned(),
        ),
    }
}

/// A sequence alone, by the call that the conversion of a message makes for it.
fn sequence(suite: &mut Suite, shape: Shape, direction: Direction) -> Result<(), String> {
    match direction {
        Direction::FromRos => {
            let make = || Sequence::from(bytes().as_slice());
            suite.add((shape, direction, ELEMENTWISE), make, |sequence| -> Vec<u8> {
                crate::generated_from!(elementwise sequence, (list u8))
            })?;
            suite.add((shape, direction, MEMCPY), make, |sequence| -> Vec<u8> {
                crate::generated_from!(memcpy sequence, (list u8))
            })
        }
        Direction::IntoRos => {
            suite.add((shape, direction, ELEMENTWISE), bytes, |bytes| -> Sequence<u8> {
                crate::generated_into!(elementwise bytes, (list u8))
            })?;
            suite.add((shape, direction, MEMCPY), bytes, |bytes| -> Sequence<u8> {
                crate::generated_into!(memcpy bytes, (list u8))
            })
        }
    }
}

/// Adds the runtime's conversions.
pub fn add(suite: &mut Suite, shape: Shape, direction: Direction) -> Result<(), String> {
    let (old, new) = ((shape, direction, ELEMENTWISE), (shape, direction, MEMCPY));
    match shape {
        Shape::Bytes => sequence(suite, shape, direction),
        Shape::Image => {
            both_ways(suite, old, fill!(image elementwise::Image))?;
            both_ways(suite, new, fill!(image memcpy::Image))
        }
        Shape::JointState => {
            both_ways(suite, old, fill!(joint_state elementwise::JointState))?;
            both_ways(suite, new, fill!(joint_state memcpy::JointState))
        }
        Shape::PoseArray => {
            both_ways(suite, old, fill!(pose_array elementwise::PoseArray, elementwise::Pose))?;
            both_ways(suite, new, fill!(pose_array memcpy::PoseArray, memcpy::Pose))
        }
    }
}
