// A subscriber of a synchronizer, with the stamps of its messages.
#pragma once

#include <chrono>
#include <concepts>
#include <cstdint>
#include <deque>
#include <functional>
#include <optional>
#include <type_traits>
#include <utility>

#include "situ/bus.hpp"
#include "situ/time.hpp"

namespace situ {

/// A stamp: a struct with seconds and nanoseconds of a message, or a time point of the standard library.
template <class T>
concept message_stamp = time::sec_nanosec<T> || requires(const T& stamp) {
  std::chrono::duration_cast<std::chrono::nanoseconds>(stamp.time_since_epoch());
};

/// A subscriber of a `synchronizer`, with the stamps of its messages and the samples that wait for other
/// topics. All topics of a synchronizer must use the same clock.
///
///   situ::stamped(std::move(images), [](const auto& image) { return image->header.stamp; })
///
/// With `published_at`, the stamps are the times of publication:
///
///   situ::stamped(std::move(images), [](const auto& image) { return image.published_at(); })
template <class T>
class stamped {
 public:
  /// `stamp` returns a sample's stamp: a struct with seconds and nanoseconds, or a time point.
  template <std::invocable<const sample<T>&> Stamp>
  requires message_stamp < std::remove_cvref_t < std::invoke_result_t < Stamp&, const sample<T>
  & >>> stamped(subscriber<T> from, Stamp stamp)
      : subscriber_(std::move(from)),
  stamp_([stamp = std::move(stamp)](const sample<T>& one) -> std::int64_t {
    const auto& found = stamp(one);
    if constexpr (time::sec_nanosec<std::remove_cvref_t<decltype(found)>>) {
      return time::to_nanos(found);
    } else {
      return std::chrono::duration_cast<std::chrono::nanoseconds>(found.time_since_epoch()).count();
    }
  }) {}

  /// Promises that the stamps of two messages are at least this far apart. `approximate_time` then knows
  /// earlier that no later message is nearer, and so returns sets sooner; they are the same sets. If the
  /// promise is wrong, sets may not be the best ones. The default is zero.
  [[nodiscard]] stamped inter_message_lower_bound(std::chrono::nanoseconds bound) && {
    lower_bound_ = bound;
    return std::move(*this);
  }

 private:
  template <class... Messages>
  friend class synchronizer;

  /// Takes the next message, if there is one, appends it to the queue, and returns its stamp.
  std::optional<std::int64_t> take(detail::failed& why) {
    auto taken = subscriber_.try_take();
    if (!taken) {
      why = std::move(taken).error();
      return std::nullopt;
    }
    if (!taken->has_value()) return std::nullopt;
    const std::int64_t stamp = stamp_(**taken);
    queue_.push_back(*std::move(*taken));
    return stamp;
  }

  /// Removes the first message of the queue, which must not be empty.
  sample<T> take_first() {
    sample<T> first = std::move(queue_.front());
    queue_.pop_front();
    return first;
  }

  subscriber<T> subscriber_;
  /// In nanoseconds.
  std::function<std::int64_t(const sample<T>&)> stamp_;
  std::chrono::nanoseconds lower_bound_{0};
  std::deque<sample<T>> queue_;
};

}  // namespace situ
