// Situ's types and those that rosidl_generator_cpp generated from the same messages, in one source file. One
// is converted into the other.
#include <cstddef>
#include <sensor_msgs/msg/image.hpp>
#include <sensor_msgs/msg/joint_state.hpp>
#include <sensor_msgs/msg/point_cloud2.hpp>
#include <type_traits>
#include <vector>

#include "situ/convert.hpp"
#include "situ_msgs/sensor_msgs/msg/image.hpp"
#include "situ_msgs/sensor_msgs/msg/joint_state.hpp"
#include "situ_msgs/sensor_msgs/msg/point_cloud2.hpp"

namespace {

template <class Situ, class Ros>
bool comes_back(const Ros& original) {
  Situ message;
  Ros back;
  return situ::convert(original, message) && situ::convert(message, back) && back == original;
}

}  // namespace

int main() {
  namespace ros = sensor_msgs::msg;
  namespace msg = situ_msgs::sensor_msgs::msg;
  static_assert(!std::is_same_v<ros::Image, msg::Image>);
  static_assert(msg::Image::situ_name == "sensor_msgs::msg::Image");

  ros::Image image;
  image.header.frame_id = "front";
  image.header.stamp.nanosec = 7;
  image.height = 2;
  image.data = {1, 2, 3};
  if (!comes_back<situ::rebind<msg::Image, situ::heap>>(image)) return 1;

  // In place, with the pixels behind it.
  using flat = situ::rebind<msg::Image, situ::flat>;
  static_assert(std::is_same_v<flat, msg::Image>);
  const flat::bulk_lengths lengths{.data = image.data.size()};
  std::vector<std::byte> body(*flat::body_size(lengths));
  alignas(flat) std::byte place[sizeof(flat)];
  flat* message = flat::init_at(place, lengths);
  ros::Image back;
  if (!situ::convert(image, *message, {}, body) || !situ::convert(*message, back, body) || back != image)
    return 4;
  // A value that does not fit is reported.
  image.encoding = "sixteen letters!";
  const auto done = situ::convert(image, *message, {}, body);
  if (done || done.error().path.shown() != "encoding" || done.error().bound != 15) return 5;

  ros::PointCloud2 cloud;
  cloud.fields.resize(2);
  cloud.fields[1].name = "x";
  cloud.fields[1].datatype = ros::PointField::FLOAT32;
  cloud.is_dense = true;
  cloud.data.assign(100, 9);
  if (!comes_back<situ::rebind<msg::PointCloud2, situ::heap>>(cloud)) return 2;

  ros::JointState joints;
  joints.name = {"a", "b"};
  joints.position = {0.5, -1};
  if (!comes_back<situ::rebind<msg::JointState, situ::heap>>(joints)) return 3;
}
