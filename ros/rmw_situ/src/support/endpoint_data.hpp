// What an endpoint of ROS tells others beyond what Situ's graph says: in its user data.
#pragma once

#include <rmw/types.h>
#include <rosidl_runtime_c/type_hash.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace rmw_situ {

// The user data of a publisher, subscription, client or service: "ROS", a version, then the members in this
// order: numbers have one byte, the depth has eight, little-endian.
struct EndpointData {
  static constexpr size_t size = 4 + 1 + ROSIDL_TYPE_HASH_SIZE + 1 + 1 + 8;

  rosidl_type_hash_t hash = {};
  // The history that was asked for.
  rmw_qos_history_policy_t history = RMW_QOS_POLICY_HISTORY_UNKNOWN;
  bool avoids_ros_names = false;
  uint64_t depth = 0;

  std::array<uint8_t, size> write() const;
  // False if the endpoint is none of ROS.
  bool read(const void* data, size_t size);
};

// The user data of a node: "ROS", a version, and its enclave.
std::vector<uint8_t> write_enclave(const std::string& enclave);
// Empty if the node is none of ROS.
std::string read_enclave(const void* data, size_t size);

}  // namespace rmw_situ
