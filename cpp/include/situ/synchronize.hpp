// Receives messages of several topics in sets that belong together by their time stamps.
//
//   situ::synchronizer pairs(
//       situ::approximate_time{.queue_size = 10, .max_interval = 50ms},
//       situ::stamped(node.subscriber<Image>("images"), [](const auto& it) { return it->header.stamp; }),
//       situ::stamped(node.subscriber<Cloud>("clouds"), [](const auto& it) { return it->header.stamp; }));
//   while (auto pair = pairs.receive(1s)) {
//     const auto& [image, cloud] = *pair;
//     show(image->width, cloud->width);
//   }
//
// The folder synchronize/, from the bottom up:
//
//   policy        which messages form a set
//   queues        the stamps of the queued messages of each topic
//   exact         sets of equal stamps
//   approximate   sets of the nearest stamps
//   matcher       stamps in, decisions about messages out; knows neither messages nor topics of the bus
//   stamped       a subscriber with the stamps of its messages
#pragma once

#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <tuple>
#include <utility>

#include "situ/bus.hpp"
#include "situ/synchronize/matcher.hpp"
#include "situ/synchronize/policy.hpp"
#include "situ/synchronize/stamped.hpp"

namespace situ {
namespace detail {

/// Selects the constructor that does not check the policy.
struct unchecked_policy {};

}  // namespace detail

/// Receives messages of 2 to 9 topics in sets that belong together by their stamps: with `exact_time` those
/// with equal stamps, with `approximate_time` those that are nearest to each other. One thread at a time.
///
/// Samples wait in queues, one for each topic, where they stay in the memory of their publisher. Each message
/// belongs to one set at most; a message that belongs to none is dropped as soon as that is known.
///
/// The messages of a topic must arrive in the order of their stamps; the topics may be delayed against each
/// other as far as the queues reach. A stamp that is earlier than the one before it on its topic means that
/// the clock was set back, as when a recording starts again: everything that waits is dropped then.
template <class... Messages>
class synchronizer {
  static constexpr std::size_t count = sizeof...(Messages);
  /// How many messages a wait takes before it looks at the clock again. So its time limit holds even if
  /// messages that complete no set arrive faster than they are taken.
  static constexpr std::size_t between_looks_at_the_clock = 1024;
  static_assert(count >= 2 && count <= detail::max_topics, "a synchronizer has 2 to 9 topics");

 public:
  /// One sample of each topic.
  using set = std::tuple<sample<Messages>...>;

  /// Receives from these subscribers. Each must be allowed to hold two samples more than the policy's queue
  /// size (`subscriber_qos::max_held`), and more if the program holds several sets at a time.
  explicit synchronizer(const synchronizer_policy& policy, stamped<Messages>... topics)
      : topics_(std::move(topics)...), matcher_(policy, lower_bounds()) {
    detail::failed why;
    check(policy, why);
    detail::raise_if(why);
  }
  /// As the constructor, without an exception.
  [[nodiscard]] static result<synchronizer, error> try_create(const synchronizer_policy& policy,
                                                              stamped<Messages>... topics) {
    detail::failed why;
    synchronizer made(detail::unchecked_policy{}, policy, std::move(topics)...);
    made.check(policy, why);
    return detail::result_of(std::move(made), std::move(why));
  }

  /// Takes what the subscribers have until a set is complete, and returns the set. Returns nothing when they
  /// have no more messages. The error is that of a subscriber, and skips at most one message; the next call
  /// goes on behind it.
  [[nodiscard]] std::optional<set> take() {
    detail::failed why;
    std::optional<set> taken = take(why);
    detail::raise_if(why);
    return taken;
  }
  /// As `take`, without an exception.
  [[nodiscard]] result<std::optional<set>, error> try_take() {
    detail::failed why;
    std::optional<set> taken = take(why);
    return detail::result_of(std::move(taken), std::move(why));
  }

  /// Waits for the next set. Returns nothing if the timeout passes first.
  [[nodiscard]] std::optional<set> receive(std::chrono::nanoseconds timeout = forever) {
    return receive(waiting{.timeout = timeout});
  }
  /// The same, with an interrupter or a signal that may end the wait even when a set is available. The result
  /// is then nothing, as after a timeout; `interrupter::interrupted` distinguishes the two.
  [[nodiscard]] std::optional<set> receive(const waiting& how) {
    detail::failed why;
    std::optional<set> taken = receive(how, why);
    detail::raise_if(why);
    return taken;
  }
  /// As `receive`, without an exception.
  [[nodiscard]] result<std::optional<set>, error> try_receive(std::chrono::nanoseconds timeout = forever) {
    detail::failed why;
    std::optional<set> taken = receive(waiting{.timeout = timeout}, why);
    return detail::result_of(std::move(taken), std::move(why));
  }

  /// The subscribers, in the order of the topics: for their statistics, and to wait for several things at
  /// once (`situ::wait_any`).
  [[nodiscard]] std::array<any_subscriber*, count> subscribers() noexcept {
    return std::apply(
        [](auto&... topic) { return std::array<any_subscriber*, count>{&topic.subscriber_...}; }, topics_);
  }
  /// How many sets were found, and how many messages were dropped for which reason.
  [[nodiscard]] const synchronizer_counts& counts() const noexcept { return matcher_.counts(); }

 private:
  synchronizer(detail::unchecked_policy /*tag*/, const synchronizer_policy& policy,
               stamped<Messages>... topics)
      : topics_(std::move(topics)...), matcher_(policy, lower_bounds()) {}

  /// The queues of samples, and where sets go.
  struct queues {
    synchronizer& owner;

    void drop_first(std::size_t topic) {
      owner.with(topic, [](auto& one) { one.queue_.pop_front(); });
    }
    void take_set() {
      // Braces evaluate from left to right.
      std::apply([this](auto&... topic) { owner.complete_.push_back(set{topic.take_first()...}); },
                 owner.topics_);
    }
  };

  [[nodiscard]] std::array<std::chrono::nanoseconds, count> lower_bounds() const {
    return std::apply(
        [](const auto&... topic) {
          return std::array<std::chrono::nanoseconds, count>{topic.lower_bound_...};
        },
        topics_);
  }

  void check(const synchronizer_policy& policy, detail::failed& why) {
    if (const std::string problem = detail::problem_of(policy); !problem.empty()) {
      why.emplace(errc::invalid_argument, problem);
      return;
    }
    const std::size_t queue_size = detail::queue_size_of(policy);
    const auto all = subscribers();
    for (std::size_t topic = 0; topic < count; ++topic) {
      const std::size_t held = all[topic]->max_held();
      // One message arrives while the queue is full, and one is in a set that the program holds.
      if (held >= 2 && held - 2 >= queue_size) continue;
      why.emplace(errc::invalid_argument,
                  "subscriber " + std::to_string(topic) + " of a synchronizer may hold " +
                      std::to_string(held) + " samples, but queues of " + std::to_string(queue_size) +
                      " need two more than that: allow it more (`max_held`), or choose a smaller queue size");
      return;
    }
  }

  /// Takes at most this number of messages until a set is complete.
  std::optional<set> take(detail::failed& why, std::size_t messages = SIZE_MAX) {
    for (; complete_.empty(); --messages) {
      if (messages == 0 || !take_message(why)) return std::nullopt;
    }
    std::optional<set> first(std::move(complete_.front()));
    complete_.pop_front();
    return first;
  }

  /// Takes one message, if there is one, of the topic that is furthest behind. So a topic of which many
  /// messages are waiting does not fill its queue before the others have their turn.
  bool take_message(detail::failed& why) {
    std::array<std::size_t, count> order;
    for (std::size_t topic = 0; topic < count; ++topic) order[topic] = topic;
    std::sort(order.begin(), order.end(), [this](std::size_t a, std::size_t b) {
      return std::pair(matcher_.last(a), a) < std::pair(matcher_.last(b), b);
    });
    for (const std::size_t topic : order) {
      std::optional<std::int64_t> stamp;
      with(topic, [&](auto& one) { stamp = one.take(why); });
      if (why.has_value()) return false;
      if (!stamp.has_value()) continue;
      queues messages{*this};
      matcher_.push(topic, *stamp, messages);
      return true;
    }
    return false;
  }

  std::optional<set> receive(const waiting& how, detail::failed& why) {
    using clock = std::chrono::steady_clock;
    if (how.stop != nullptr && how.stop->interrupted()) return std::nullopt;
    const auto start = clock::now();
    waiting left = how;
    const auto handles =
        std::apply([](auto&... topic) { return std::array{topic.subscriber_.handle()...}; }, topics_);
    for (;;) {
      std::optional<set> taken = take(why, between_looks_at_the_clock);
      if (taken.has_value() || why.has_value()) return taken;
      if (how.timeout != forever) left.timeout = how.timeout - (clock::now() - start);
      if (!detail::wait_any(left, handles).has_value()) return std::nullopt;
    }
  }

  /// Calls `use` with one of the topics.
  template <class Use>
  void with(std::size_t topic, Use&& use) {
    std::size_t index = 0;
    std::apply([&](auto&... one) { ((index++ == topic ? use(one) : void()), ...); }, topics_);
  }

  std::tuple<stamped<Messages>...> topics_;
  detail::stamp_matcher matcher_;
  /// Sets that the last message completed.
  std::deque<set> complete_;
};

}  // namespace situ
