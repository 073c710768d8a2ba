// Decides by their stamps which messages of several topics form a set, and which are dropped.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <variant>

#include "situ/synchronize/approximate.hpp"
#include "situ/synchronize/exact.hpp"
#include "situ/synchronize/policy.hpp"
#include "situ/synchronize/queues.hpp"

namespace situ::detail {

/// The stamps of the queued messages, and the state of the policy.
class stamp_matcher {
 public:
  /// For one topic per lower bound; at most `max_topics`.
  stamp_matcher(const synchronizer_policy& policy, std::span<const std::chrono::nanoseconds> lower_bounds)
      : queues_(lower_bounds.size()), queue_size_(queue_size_of(policy)) {
    if (const auto* approximate = std::get_if<approximate_time>(&policy)) {
      search_.emplace(*approximate, lower_bounds);
    }
  }

  [[nodiscard]] const synchronizer_counts& counts() const noexcept { return queues_.counts(); }
  /// The stamp of the last message of a topic.
  [[nodiscard]] std::optional<std::int64_t> last(std::size_t topic) const noexcept {
    return queues_.last(topic);
  }

  /// Tells that a message with this stamp (in nanoseconds) was appended to the messages of a topic.
  ///
  /// A stamp that is earlier than the last one of the topic means that the clock was set back: nothing that
  /// was queued before can belong to what comes, so all of it is dropped.
  void push(std::size_t topic, std::int64_t stamp, message_queues auto& messages) {
    if (const auto last = queues_.last(topic); last.has_value() && stamp < *last) {
      queues_.start_over(messages);
      if (search_.has_value()) search_->start_over();
    }
    queues_.append(topic, stamp);
    settle(messages);
    if (queues_.size(topic) > queue_size_) {
      queues_.drop_overflowed(topic, messages);
      if (search_.has_value()) search_->overflowed(topic);
      settle(messages);
    }
  }

 private:
  void settle(message_queues auto& messages) {
    if (search_.has_value()) {
      search_->settle(queues_, messages);
    } else {
      settle_exact(queues_, messages);
    }
  }

  stamp_queues queues_;
  std::size_t queue_size_;
  /// Nothing for sets of equal stamps.
  std::optional<approximate_search> search_;
};

}  // namespace situ::detail
