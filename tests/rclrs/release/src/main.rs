//! Requests the type support of a message with a sequence, as a publisher does before it sends.

use rosidl_runtime_rs::RmwMessage;
use std_msgs::msg::rmw::UInt8MultiArray;

fn main() {
    let support = UInt8MultiArray::get_type_support();
    println!("{} has {} bytes: {}", UInt8MultiArray::TYPE_NAME, size_of::<UInt8MultiArray>(), !support.is_null());
}
