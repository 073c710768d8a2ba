// Messages in memory that is lent: written once, and read once.
#pragma once

#include <rmw/types.h>
#include <situ.h>

#include <cstring>

#include "support/check.hpp"
#include "types/message_type.hpp"

namespace rmw_situ {

// Writes a message into a loan that `lend(head, body, loan, error)` makes, and `discard(loan)` ends.
template <class Lend, class Discard>
rmw_ret_t write_message(const MessageType& type, const void* message, Lend&& lend, Discard&& discard,
                        situ_loan* loan) {
  const bool is_plain = type.is_plain();
  const size_t size = is_plain ? type.size() : type.cdr_size(message);
  situ_error error;
  if (lend(is_plain ? size : 0, is_plain ? 0 : size, loan, &error) != SITU_OK) {
    return failed("cannot lend memory for a message of type", type.ros_name().c_str(), error);
  }
  if (is_plain) {
    std::memcpy(loan->head, message, size);
    type.normalize_plain(loan->head);
  } else if (!type.write_cdr(message, {static_cast<std::byte*>(loan->body), size})) {
    discard(loan);
    return RMW_RET_ERROR;
  }
  return RMW_RET_OK;
}

// Whether a message is serialized. Its encapsulation says how.
inline bool is_cdr(const situ_sample& sample) {
  return sample.encoding == SITU_XCDR1 || sample.encoding == SITU_XCDR2;
}
// Sets rmw's error state for a message in an encoding that ROS cannot read.
rmw_ret_t refuse_encoding(const MessageType& type, const situ_sample& sample);

// Reads a message into an initialized one.
rmw_ret_t read_message(const MessageType& type, const situ_sample& sample, void* message);

// The times of a message that was sent at `sent_at_ns` by Situ's clock, and is taken now.
void write_times(uint64_t sent_at_ns, rmw_service_info_t* info);
// A time of Situ's clock, by the system's clock; 0 if it is 0. `now` is the present by the system's clock.
rmw_time_point_value_t to_system_time(uint64_t published_at_ns, rmw_time_point_value_t now);
// Now, by the system's clock.
rmw_time_point_value_t system_now_ns();

}  // namespace rmw_situ
