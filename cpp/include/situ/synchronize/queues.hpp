// The stamps of queued messages, topic by topic. The messages themselves are elsewhere, in queues of the same
// order.
#pragma once

#include <algorithm>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <vector>

#include "situ/synchronize/policy.hpp"

namespace situ::detail {

/// The highest number of topics.
inline constexpr std::size_t max_topics = 9;

/// The queues of the messages whose stamps are in `stamp_queues`. Both always have the same lengths, except
/// that a message is appended here first.
template <class Q>
concept message_queues = requires(Q& queues, std::size_t topic) {
  // Drops the first message of a topic.
  queues.drop_first(topic);
  // Removes the first message of every topic. Together they are a set.
  queues.take_set();
};

/// The queues of all topics.
class stamp_queues {
 public:
  explicit stamp_queues(std::size_t topics) : queues_(topics) {}

  /// The number of topics.
  [[nodiscard]] std::size_t topics() const noexcept { return queues_.size(); }
  [[nodiscard]] std::size_t size(std::size_t topic) const noexcept { return queues_[topic].stamps.size(); }
  /// The stamp at a place of a topic's queue.
  [[nodiscard]] std::optional<std::int64_t> stamp(std::size_t topic, std::size_t place) const noexcept {
    const auto& stamps = queues_[topic].stamps;
    return place < stamps.size() ? std::optional(stamps[place]) : std::nullopt;
  }
  /// The stamp of the message that arrived last on a topic since the clock was last set back.
  [[nodiscard]] std::optional<std::int64_t> last(std::size_t topic) const noexcept {
    return queues_[topic].last;
  }
  [[nodiscard]] const synchronizer_counts& counts() const noexcept { return counts_; }

  /// Appends a stamp, which is not earlier than the last one.
  void append(std::size_t topic, std::int64_t stamp) {
    queues_[topic].stamps.push_back(stamp);
    queues_[topic].last = stamp;
  }
  /// Drops the first message of a topic because it belongs to no set.
  void drop_unmatched(std::size_t topic, message_queues auto& messages) {
    drop_first(topic, messages);
    ++counts_.unmatched;
  }
  /// Drops the first message of a topic because its queue is full.
  void drop_overflowed(std::size_t topic, message_queues auto& messages) {
    drop_first(topic, messages);
    ++counts_.overflowed;
  }
  /// The first messages of all topics are a set. No queue may be empty.
  void take_set(message_queues auto& messages) {
    for (auto& queue : queues_) queue.stamps.pop_front();
    messages.take_set();
    ++counts_.sets;
  }
  /// Drops all messages and the last stamps, because the clock was set back.
  void start_over(message_queues auto& messages) {
    for (std::size_t topic = 0; topic < topics(); ++topic) {
      while (size(topic) > 0) drop_unmatched(topic, messages);
      queues_[topic].last.reset();
    }
    ++counts_.clock_jumps;
  }

 private:
  struct stamps_of_topic {
    /// They never decrease.
    std::deque<std::int64_t> stamps;
    /// The stamp of the message that arrived last, even if it is no longer queued.
    std::optional<std::int64_t> last;
  };

  void drop_first(std::size_t topic, message_queues auto& messages) {
    queues_[topic].stamps.pop_front();
    messages.drop_first(topic);
  }

  std::vector<stamps_of_topic> queues_;
  synchronizer_counts counts_;
};

}  // namespace situ::detail
