//! Messages of ROS 2: defaults, constants, services and actions, as `test_msgs` defines them.
#![cfg(situ_ros)]

use situ::layout::{Action, Heap, Message, Service, StorageKind};
use situ_generated::ros::geometry_msgs::msg::Point;
use situ_generated::ros::sensor_msgs::msg::{Image, PointField};
use situ_generated::ros::std_msgs::msg::{Empty, Header};
use situ_generated::ros::test_msgs::action::Fibonacci;
use situ_generated::ros::test_msgs::msg::*;
use situ_generated::ros::test_msgs::srv::{BasicTypes, BasicTypes_Request};

#[test]
fn members_begin_with_their_defaults() {
    let it = Defaults::new();
    assert!(it.bool_value);
    assert_eq!((it.byte_value, it.char_value), (50, 100));
    assert_eq!((it.float32_value, it.float64_value), (1.125, 1.125));
    assert_eq!((it.int8_value, it.uint8_value, it.int16_value), (-50, 200, -1000));
    assert_eq!((it.int64_value, it.uint64_value), (-40_000_000, 50_000_000));
    let arrays = Arrays::<Heap>::default();
    assert_eq!(arrays.bool_values_default, [false, true, false]);
    assert_eq!(arrays.int64_values_default, [0, i64::MAX, i64::MIN]);
    assert_eq!(arrays.string_values_default, ["", "max value", "min value"]);
    assert_eq!(arrays.defaults_values[2], it);
    let sequences = UnboundedSequences::new();
    assert_eq!(sequences.uint64_values_default, [0, 1, u64::MAX]);
    assert_eq!(format!("{:?}", sequences.float64_values_default), "[3.1415, 0.0, -3.1415]");
    assert_eq!(sequences.string_values_default, ["", "max value", "min value"]);
    assert!(sequences.int8_values.is_empty());
    let strings = Strings::new();
    assert_eq!(strings.string_value_default5, "Hello\"world!");
    assert_eq!(&*strings.bounded_string_value_default4, "Hello'world!");
    let wide = WStrings::new();
    assert_eq!(wide.wstring_value_default3.to_string(), "ハローワールド");
}

#[test]
fn constants_stand_with_their_message() {
    assert_eq!(
        (Constants::UINT64_CONST, Constants::INT8_CONST, Constants::BOOL_CONST),
        (50_000_000, -50, true)
    );
    assert_eq!(PointField::FLOAT32, 7);
}

#[test]
fn services_and_actions_name_their_messages() {
    assert_eq!(BasicTypes::NAME, "test_msgs::srv::BasicTypes");
    assert_eq!(<BasicTypes as Service>::Request::NAME, <BasicTypes_Request>::NAME);
    assert_eq!(<Fibonacci as Action>::Goal::NAME, "test_msgs::action::Fibonacci_Goal");
    assert_eq!(<<Fibonacci as Action>::SendGoal as Service>::NAME, "test_msgs::action::Fibonacci_SendGoal");
}

#[test]
fn messages_are_where_they_can_be() {
    // A string without a bound keeps a message on the heap; a point has nothing that varies.
    assert_eq!((<Image>::STORAGE, <Header>::STORAGE), (StorageKind::Heap, StorageKind::Heap));
    assert_eq!((Point::STORAGE, size_of::<Point>()), (StorageKind::Flat, 24));
    assert_eq!(size_of::<Empty>(), 1, "as ROS 2 has it, an empty message has one byte");
    assert_eq!((<Image>::FLAT_FORM, <Image>::NAME), (None, "sensor_msgs::msg::Image"));
}
