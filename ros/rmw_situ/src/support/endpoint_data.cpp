// The user data of nodes and endpoints of ROS.
#include "endpoint_data.hpp"

#include <situ.h>

#include <algorithm>
#include <cstring>

namespace rmw_situ {
namespace {

constexpr uint8_t head[4] = {'R', 'O', 'S', 1};

bool has_head(const void* data, size_t size) {
  return data != nullptr && size >= sizeof(head) && std::memcmp(data, head, sizeof(head)) == 0;
}

}  // namespace

std::array<uint8_t, EndpointData::size> EndpointData::write() const {
  std::array<uint8_t, size> bytes;
  uint8_t* to = bytes.data();
  std::memcpy(to, head, sizeof(head));
  to[4] = hash.version;
  std::memcpy(to + 5, hash.value, ROSIDL_TYPE_HASH_SIZE);
  to[5 + ROSIDL_TYPE_HASH_SIZE] = static_cast<uint8_t>(history);
  to[6 + ROSIDL_TYPE_HASH_SIZE] = avoids_ros_names;
  std::memcpy(to + 7 + ROSIDL_TYPE_HASH_SIZE, &depth, sizeof(depth));
  return bytes;
}

bool EndpointData::read(const void* data, size_t data_size) {
  if (!has_head(data, data_size) || data_size < size) return false;
  const auto* from = static_cast<const uint8_t*>(data);
  hash.version = from[4];
  std::memcpy(hash.value, from + 5, ROSIDL_TYPE_HASH_SIZE);
  const uint8_t number = from[5 + ROSIDL_TYPE_HASH_SIZE];
  history = number == RMW_QOS_POLICY_HISTORY_KEEP_ALL    ? RMW_QOS_POLICY_HISTORY_KEEP_ALL
            : number == RMW_QOS_POLICY_HISTORY_KEEP_LAST ? RMW_QOS_POLICY_HISTORY_KEEP_LAST
                                                         : RMW_QOS_POLICY_HISTORY_UNKNOWN;
  avoids_ros_names = from[6 + ROSIDL_TYPE_HASH_SIZE] != 0;
  std::memcpy(&depth, from + 7 + ROSIDL_TYPE_HASH_SIZE, sizeof(depth));
  return true;
}

std::vector<uint8_t> write_enclave(const std::string& enclave) {
  const size_t length = std::min<size_t>(enclave.size(), SITU_MAX_USER_DATA - sizeof(head));
  std::vector<uint8_t> bytes(sizeof(head) + length);
  std::copy_n(head, sizeof(head), bytes.begin());
  std::copy_n(enclave.begin(), length, bytes.begin() + sizeof(head));
  return bytes;
}

std::string read_enclave(const void* data, size_t size) {
  if (!has_head(data, size)) return {};
  return {static_cast<const char*>(data) + sizeof(head), size - sizeof(head)};
}

}  // namespace rmw_situ
