//! Situ's conversions. `situ-copy` converts by reference. `situ-move` converts by value, and the buffers
//! change owner. `situ-lend` leaves the buffers in place, and C reads them there.

use std::rc::Rc;

use situ::layout::ros::{Lend, Lent, lend};
use situ::layout::{Heap, Ros, RosSequence, convert, convert_owned};

use crate::facts::{Facts, bytes};
use crate::messages::geometry_msgs::msg::{Pose, PoseArray};
use crate::messages::sensor_msgs::msg::{Image, JointState};
use crate::suite::{Direction, Shape, Suite};
use crate::{facts, fill};

facts!(image: Image<Heap>, Image<Ros>);
facts!(joint_state: JointState<Heap>, JointState<Ros>);
facts!(pose_array: PoseArray<Heap>, PoseArray<Ros>);

impl Facts for RosSequence<u8> {
    fn say(&self, to: &mut impl std::hash::Hasher) {
        std::hash::Hash::hash(self.as_slice(), to);
    }
}

const FITS: &str = "neither type has bounds";

macro_rules! both_ways {
    ($suite:expr, $shape:expr, $direction:expr, $heap:expr, $type:ident) => {{
        let heap: $type<Heap> = $heap;
        let ros: $type<Ros> = convert(&heap).expect(FITS);
        match $direction {
            Direction::FromRos => {
                let other = ros.clone();
                $suite.add(
                    ($shape, $direction, "situ-copy"),
                    move || ros.clone(),
                    |ros| convert::<$type<Heap>, _>(&ros).expect(FITS),
                )?;
                $suite.add(
                    ($shape, $direction, "situ-move"),
                    move || other.clone(),
                    |ros| convert_owned::<$type<Heap>, _>(ros).expect(FITS),
                )
            }
            Direction::IntoRos => {
                let other = heap.clone();
                $suite.add(
                    ($shape, $direction, "situ-copy"),
                    move || heap.clone(),
                    |heap| convert::<$type<Ros>, _>(&heap).expect(FITS),
                )?;
                let lent = other.clone();
                $suite.add(
                    ($shape, $direction, "situ-move"),
                    move || other.clone(),
                    |heap| convert_owned::<$type<Ros>, _>(heap).expect(FITS),
                )?;
                $suite.add(($shape, $direction, "situ-lend"), move || Rc::new(lent.clone()), Lending::of)
            }
        }
    }};
}

/// A lent message and its source. The source is freed after the time is taken, as in a program that keeps
/// what it publishes.
struct Lending<T: Lend + 'static> {
    lent: Lent<'static, T::C>,
    _source: Rc<T>,
}

impl<T: Lend> Lending<T> {
    fn of(source: Rc<T>) -> Self {
        // SAFETY: the source stays in place and unchanged while it is counted. The lent message, which
        // borrows from it, is dropped before it.
        let lent = lend(unsafe { &*Rc::as_ptr(&source) }).expect("the message has no rosidl buffers");
        Self { lent, _source: source }
    }
}

impl<T: Lend> Facts for Lending<T>
where
    T::C: Facts,
{
    fn say(&self, to: &mut impl std::hash::Hasher) {
        T::C::say(&self.lent, to);
    }
}

/// A sequence alone, by the call that the conversion of a message makes for it.
fn sequence(suite: &mut Suite, shape: Shape, direction: Direction) -> Result<(), String> {
    let ros = || RosSequence::<u8>::try_from_slice(&bytes()).expect(FITS);
    match direction {
        Direction::FromRos => {
            let (one, other) = (ros(), ros());
            suite.add(
                (shape, direction, "situ-copy"),
                move || one.clone(),
                |ros| {
                    let mut heap = Vec::new();
                    situ::layout::assign::list_of_copies(&mut heap, &ros, &mut Default::default())
                        .expect(FITS);
                    heap
                },
            )?;
            suite.add((shape, direction, "situ-move"), move || other.clone(), RosSequence::into_vec)
        }
        Direction::IntoRos => {
            suite.add((shape, direction, "situ-copy"), bytes, |heap| {
                RosSequence::<u8>::try_from_slice(&heap).expect(FITS)
            })?;
            suite.add((shape, direction, "situ-move"), bytes, |heap| {
                RosSequence::<u8>::try_from_vec(heap).expect(FITS)
            })
        }
    }
}

/// Adds Situ's conversions.
pub fn add(suite: &mut Suite, shape: Shape, direction: Direction) -> Result<(), String> {
    match shape {
        Shape::Bytes => sequence(suite, shape, direction),
        Shape::Image => both_ways!(suite, shape, direction, fill!(image Image<Heap>), Image),
        Shape::JointState => {
            both_ways!(suite, shape, direction, fill!(joint_state JointState<Heap>), JointState)
        }
        Shape::PoseArray => {
            both_ways!(suite, shape, direction, fill!(pose_array PoseArray<Heap>, Pose), PoseArray)
        }
    }
}
