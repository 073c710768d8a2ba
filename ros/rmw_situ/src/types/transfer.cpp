// Reading messages, and their times.
#include "types/transfer.hpp"

#include <chrono>

namespace rmw_situ {

rmw_ret_t read_message(const MessageType& type, const situ_sample& sample, void* message) {
  switch (sample.encoding) {
    case SITU_FLAT:
      if (type.is_plain()) {
        if (!type.check_plain({static_cast<const std::byte*>(sample.head), sample.head_size}))
          return RMW_RET_ERROR;
        std::memcpy(message, sample.head, type.size());
        return RMW_RET_OK;
      }
      break;
    case SITU_XCDR1:
    case SITU_XCDR2: {
      const std::span bytes(static_cast<const std::byte*>(sample.body), sample.body_size);
      return type.read_cdr(bytes, message) ? RMW_RET_OK : RMW_RET_ERROR;
    }
    default:
      break;
  }
  RMW_SET_ERROR_MSG_WITH_FORMAT_STRING(
      "a message of type %s has encoding %u and %zu bytes, which ROS cannot read: it comes from a program "
      "that is "
      "none of ROS",
      type.ros_name().c_str(), sample.encoding, sample.head_size + sample.body_size);
  return RMW_RET_ERROR;
}

rmw_time_point_value_t system_now_ns() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(
             std::chrono::system_clock::now().time_since_epoch())
      .count();
}

void write_times(uint64_t sent_at_ns, rmw_service_info_t* info) {
  info->received_timestamp = system_now_ns();
  info->source_timestamp =
      sent_at_ns == 0 ? 0 : info->received_timestamp - static_cast<int64_t>(situ_now_ns() - sent_at_ns);
}

}  // namespace rmw_situ
