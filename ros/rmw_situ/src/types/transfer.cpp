// Reading messages, and their times.
#include "types/transfer.hpp"

#include <chrono>
#include <cstring>

namespace rmw_situ {

rmw_ret_t refuse_encoding(const MessageType& type, const situ_sample& sample) {
  RMW_SET_ERROR_MSG_WITH_FORMAT_STRING(
      "a message of type %s has encoding %u and %zu bytes, which ROS cannot read: it comes from a program "
      "that is none of ROS",
      type.ros_name().c_str(), sample.encoding, sample.head_size + sample.body_size);
  return RMW_RET_ERROR;
}

rmw_ret_t read_message(const MessageType& type, const situ_sample& sample, void* message) {
  if (is_cdr(sample)) {
    const std::span bytes(static_cast<const std::byte*>(sample.body), sample.body_size);
    return type.read_cdr(bytes, message) ? RMW_RET_OK : RMW_RET_ERROR;
  }
  if (!type.is_plain() || sample.encoding != SITU_FLAT) return refuse_encoding(type, sample);
  const bool has_size = sample.head_size == type.size();
  // The copy is checked: another process may still write to the message.
  if (has_size) std::memcpy(message, sample.head, sample.head_size);
  const void* const read = has_size ? message : sample.head;
  if (type.check_plain({static_cast<const std::byte*>(read), sample.head_size})) return RMW_RET_OK;
  if (has_size) std::memset(message, 0, type.size());
  return RMW_RET_ERROR;
}

rmw_time_point_value_t to_system_time(uint64_t published_at_ns, rmw_time_point_value_t now) {
  if (published_at_ns == 0) return 0;
  // Another process wrote the time, which may be any. Numbers without a sign wrap around.
  return static_cast<rmw_time_point_value_t>(static_cast<uint64_t>(now) - (situ_now_ns() - published_at_ns));
}

rmw_time_point_value_t system_now_ns() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(
             std::chrono::system_clock::now().time_since_epoch())
      .count();
}

void write_times(uint64_t sent_at_ns, rmw_service_info_t* info) {
  info->received_timestamp = system_now_ns();
  info->source_timestamp = to_system_time(sent_at_ns, info->received_timestamp);
}

}  // namespace rmw_situ
