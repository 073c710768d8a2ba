// Finds sets of messages with equal stamps.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>

#include "situ/synchronize/queues.hpp"

namespace situ::detail {

/// Takes all complete sets, and drops each message whose stamp another topic has passed without it.
void settle_exact(stamp_queues& queues, message_queues auto& messages) {
  for (;;) {
    // The earliest stamp that each topic can still contribute: that of its first message, or, since its
    // stamps never decrease, its last one. No set can be earlier than the latest of these.
    std::int64_t earliest = std::numeric_limits<std::int64_t>::min();
    for (std::size_t topic = 0; topic < queues.topics(); ++topic) {
      const auto first = queues.stamp(topic, 0);
      const auto possible = first.has_value() ? first : queues.last(topic);
      earliest = std::max(earliest, possible.value_or(earliest));
    }
    bool dropped = false;
    bool complete = true;
    for (std::size_t topic = 0; topic < queues.topics(); ++topic) {
      for (auto first = queues.stamp(topic, 0); first.has_value() && *first < earliest;) {
        queues.drop_unmatched(topic, messages);
        dropped = true;
        first = queues.stamp(topic, 0);
      }
      complete = complete && queues.stamp(topic, 0) == earliest;
    }
    if (complete) {
      queues.take_set(messages);
    } else if (!dropped) {
      return;
    }
  }
}

}  // namespace situ::detail
