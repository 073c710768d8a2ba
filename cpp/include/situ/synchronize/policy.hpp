// Which messages of several topics form a set.
#pragma once

#include <chrono>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string>
#include <variant>

namespace situ {

/// Sets of messages with equal stamps.
struct exact_time {
  /// The most messages of each topic that wait for the others. If more arrive, the oldest is dropped. At
  /// least 1.
  std::size_t queue_size = 10;
};

/// Sets of messages whose stamps are as near to each other as possible, by the adaptive algorithm of ROS's
/// message_filters.
///
/// No tolerance is needed. A set is complete when no later message can make a better one: when a later
/// message of the topics has arrived, or the lower bounds between messages
/// (`stamped::inter_message_lower_bound`) exclude it. A message belongs to one set at most, and sets do not
/// cross.
struct approximate_time {
  /// The most messages of each topic that wait for the others. If more arrive, the oldest is dropped. At
  /// least 1; with 1, most messages are dropped.
  std::size_t queue_size = 10;
  /// How much a later set must be better: the time from the end of an earlier set to the end of a later one
  /// counts `1 + age_penalty` times. Finite and not negative. A higher penalty completes sets earlier.
  double age_penalty = 0.1;
  /// The longest time between the first and the last stamp of a set.
  std::chrono::nanoseconds max_interval = std::chrono::nanoseconds::max();
};

/// Which messages form a set: `exact_time` or `approximate_time`.
using synchronizer_policy = std::variant<exact_time, approximate_time>;

/// What became of the messages that a synchronizer received.
struct synchronizer_counts {
  /// Sets that were found.
  std::uint64_t sets = 0;
  /// Messages that were dropped because they belong to no set.
  std::uint64_t unmatched = 0;
  /// Messages that were dropped because the queue of their topic was full.
  std::uint64_t overflowed = 0;
  /// How often a stamp was earlier than the one before it on its topic, so that everything was dropped.
  std::uint64_t clock_jumps = 0;

  friend bool operator==(const synchronizer_counts&, const synchronizer_counts&) = default;
};

namespace detail {

inline std::size_t queue_size_of(const synchronizer_policy& policy) {
  return std::visit([](const auto& one) { return one.queue_size; }, policy);
}

/// What is wrong with a policy, or an empty string.
inline std::string problem_of(const synchronizer_policy& policy) {
  if (queue_size_of(policy) == 0) {
    return "a synchronizer's queue size is 0: it must be at least 1, and at least 2 for approximate times";
  }
  if (const auto* approximate = std::get_if<approximate_time>(&policy)) {
    if (!std::isfinite(approximate->age_penalty) || approximate->age_penalty < 0) {
      return "the age penalty of a synchronizer is " + std::to_string(approximate->age_penalty) +
             ": it must be finite and not negative";
    }
    if (approximate->max_interval.count() < 0) {
      return "the longest interval of a synchronizer's sets is " +
             std::to_string(approximate->max_interval.count()) + " ns: it must not be negative";
    }
  }
  return {};
}

}  // namespace detail
}  // namespace situ
