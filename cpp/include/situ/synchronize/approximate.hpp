// Finds sets of messages whose stamps are as near to each other as possible.
//
// The algorithm is that of ROS's message_filters. The latest of the first messages of all topics is the
// pivot: the set to be found contains it, because every earlier message of its topic is gone. Candidates come
// from advancing, again and again, in the topic whose message is the earliest. That ends at the pivot,
// because later candidates do not contain it.
//
//   topic 0   a     b     c             candidates   a d f   (pivot f: the latest of the first messages)
//   topic 1      d         e                         b d f   a was the earliest
//   topic 2           f        g                     b e f   d was the earliest: worse, because it ends later
//            ------------------> time
//
// The best candidate is always at the front of the queues: everything before it is dropped when it is found.
// `visited_` counts the messages of each topic from there on that the search has left behind.
#pragma once

#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "situ/synchronize/policy.hpp"
#include "situ/synchronize/queues.hpp"
#include "situ/time.hpp"

namespace situ::detail {

/// The state of the search for a set.
class approximate_search {
 public:
  /// One bound for each topic.
  approximate_search(const approximate_time& policy, std::span<const std::chrono::nanoseconds> lower_bounds)
      : aging_(1 + policy.age_penalty),
        max_interval_(static_cast<std::uint64_t>(std::max(policy.max_interval.count(), std::int64_t{0}))) {
    for (std::size_t topic = 0; topic < lower_bounds.size(); ++topic) {
      lower_bounds_[topic] = std::max(lower_bounds[topic].count(), std::int64_t{0});
    }
  }

  /// Takes all sets that no later message can improve.
  void settle(stamp_queues& queues, message_queues auto& messages) {
    for (;;) {
      const auto heads =
          span::of(queues.topics(), [&](std::size_t topic) { return queues.stamp(topic, visited_[topic]); });
      bool complete = false;
      if (!heads.has_value()) {
        if (!candidate_.has_value() || !is_final(*candidate_, queues)) return;
        complete = true;
      } else if (!candidate_.has_value()) {
        complete = start(*heads, queues, messages);
      } else {
        complete = advance(*heads, *candidate_, queues, messages);
      }
      if (complete) {
        queues.take_set(messages);
        cancel();
      }
    }
  }

  /// A message of the topic was dropped because the queue was full.
  void overflowed(std::size_t topic) noexcept {
    lossy_[topic] = true;
    cancel();
  }

  /// All messages were dropped because the clock was set back.
  void start_over() noexcept {
    lossy_ = {};
    cancel();
  }

 private:
  /// The best set so far: the first messages of all topics.
  struct candidate {
    std::int64_t start;       ///< its first stamp
    std::int64_t end;         ///< its last stamp
    std::size_t pivot;        ///< the topic of the pivot
    std::int64_t pivot_time;  ///< the pivot's stamp
  };

  /// The first and the last of one stamp for each topic, and their topics.
  struct span {
    std::int64_t start;
    std::size_t start_topic;
    std::int64_t end;
    std::size_t end_topic;

    /// Of equal stamps, the first topic has the start, and the last topic has the end. Nothing if a topic has
    /// no stamp.
    template <class Stamp>
    static std::optional<span> of(std::size_t topics, Stamp&& stamp_of) {
      const std::optional<std::int64_t> first = stamp_of(0);
      if (!first.has_value()) return std::nullopt;
      span found{*first, 0, *first, 0};
      for (std::size_t topic = 1; topic < topics; ++topic) {
        const std::optional<std::int64_t> stamp = stamp_of(topic);
        if (!stamp.has_value()) return std::nullopt;
        if (*stamp < found.start) {
          found.start = *stamp;
          found.start_topic = topic;
        }
        if (*stamp >= found.end) {
          found.end = *stamp;
          found.end_topic = topic;
        }
      }
      return found;
    }
  };

  /// The time from a stamp to one that is not earlier, in nanoseconds.
  static std::uint64_t distance(std::int64_t from, std::int64_t to) noexcept {
    return static_cast<std::uint64_t>(to) - static_cast<std::uint64_t>(from);
  }

  /// The first messages of all topics are the first candidate, or the earliest of them is dropped.
  bool start(const span& heads, stamp_queues& queues, message_queues auto& messages) {
    // The first messages of the other topics are not later than that of this one. What these topics lost is
    // even earlier, and so not nearer to it.
    for (std::size_t topic = 0; topic < queues.topics(); ++topic) {
      if (topic != heads.end_topic) lossy_[topic] = false;
    }
    if (distance(heads.start, heads.end) > max_interval_ || lossy_[heads.end_topic]) {
      queues.drop_unmatched(heads.start_topic, messages);
      return false;
    }
    candidate_ = candidate{heads.start, heads.end, heads.end_topic, heads.end};
    ++visited_[heads.start_topic];
    return is_best(*candidate_, heads.end);
  }

  /// The messages that the search has reached may be a better candidate. Returns whether the best candidate
  /// is known.
  bool advance(const span& heads, candidate& best, stamp_queues& queues, message_queues auto& messages) {
    if (is_better(heads, best)) {
      for (std::size_t topic = 0; topic < queues.topics(); ++topic) {
        for (; visited_[topic] > 0; --visited_[topic]) queues.drop_unmatched(topic, messages);
      }
      best.start = heads.start;
      best.end = heads.end;
    }
    ++visited_[heads.start_topic];
    return heads.start_topic == best.pivot || is_best(best, heads.end);
  }

  /// Whether the set is smaller than the candidate; its end counts more than its start.
  [[nodiscard]] bool is_better(const span& set, const candidate& best) const noexcept {
    return aged(distance(best.end, set.end)) < static_cast<double>(distance(best.start, set.start));
  }

  /// Whether no set with the pivot that ends at `end` or later can be better: it starts at the pivot or
  /// earlier.
  [[nodiscard]] bool is_best(const candidate& best, std::int64_t end) const noexcept {
    return aged(distance(best.end, end)) >= static_cast<double>(distance(best.start, best.pivot_time));
  }

  [[nodiscard]] double aged(std::uint64_t nanoseconds) const noexcept {
    return static_cast<double>(nanoseconds) * aging_;
  }

  /// Whether the candidate is the best even if the missing messages come as near to the pivot as the lower
  /// bounds let them.
  [[nodiscard]] bool is_final(const candidate& best, const stamp_queues& queues) const {
    auto visited = visited_;
    for (;;) {
      const auto heads = span::of(queues.topics(), [&](std::size_t topic) -> std::optional<std::int64_t> {
        if (const auto arrived = queues.stamp(topic, visited[topic])) return arrived;
        const auto last = queues.last(topic);
        if (!last.has_value()) return std::nullopt;
        return std::max(time::detail::saturating_add(*last, lower_bounds_[topic]), best.pivot_time);
      });
      if (!heads.has_value()) return false;
      if (is_best(best, heads->end)) return true;
      if (is_better(*heads, best)) return false;
      // The start is before the pivot, or one of the two conditions would hold. So it is a message that has
      // arrived, and the loop ends at the pivot.
      ++visited[heads->start_topic];
    }
  }

  void cancel() noexcept {
    candidate_.reset();
    visited_ = {};
  }

  double aging_;
  /// In nanoseconds.
  std::uint64_t max_interval_;
  /// The least time between two messages of each topic, in nanoseconds.
  std::array<std::int64_t, max_topics> lower_bounds_{};
  /// Topics whose queue overflowed, so that a message which is gone may have been nearer to the others.
  std::array<bool, max_topics> lossy_{};
  /// How many messages of each topic the search has left behind. All 0 without a candidate.
  std::array<std::size_t, max_topics> visited_{};
  std::optional<candidate> candidate_;
};

}  // namespace situ::detail
