// Taking: flat messages are read in place, others are decoded.
#pragma once

#include <chrono>
#include <cstddef>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>

#include "situ/bus/c_abi/error.hpp"
#include "situ/bus/c_abi/qos.hpp"
#include "situ/bus/c_abi/type.hpp"
#include "situ/bus/raii/any_subscriber.hpp"
#include "situ/bus/raii/interrupt.hpp"
#include "situ/bus/raii/node.hpp"
#include "situ/bus/typed/sample.hpp"
#include "situ/cdr.hpp"
#include "situ/convert.hpp"
#include "situ/layout/message.hpp"
#include "situ/validate.hpp"

namespace situ {
namespace detail {

/// Reads a region into a message with another storage. On failure returns false, with the reason. Defined in
/// bus/region/subscriber.hpp.
template <message T>
bool read_region(std::span<const std::byte> image, T& to, std::string& reason);

}  // namespace detail

/// Subscribes to messages of type T. May move between threads, but only one thread may use it at a time. Its
/// samples may go to other threads.
template <message T>
class subscriber : public any_subscriber {
 public:
  /// Joins a topic.
  subscriber(const node& on, const std::string& topic, const subscriber_qos& qos = {},
             const placement& where = {}) {
    detail::failed why;
    create(on, topic, qos, where, detail::type_description::of<T>(), why);
    detail::raise_if(why);
  }
  /// As the constructor, without an exception.
  [[nodiscard]] static result<subscriber, error> try_create(const node& on, const std::string& topic,
                                                            const subscriber_qos& qos = {},
                                                            const placement& where = {}) {
    detail::failed why;
    subscriber made;
    made.create(on, topic, qos, where, detail::type_description::of<T>(), why);
    return detail::result_of(std::move(made), std::move(why));
  }

  /// Takes the next message, if there is one, without waiting. A subscriber of a flat type reads flat
  /// messages in place; all others are decoded or converted. If a message cannot be read, the exception skips
  /// it.
  [[nodiscard]] std::optional<sample<T>> take() {
    detail::failed why;
    std::optional<sample<T>> taken;
    take_into(taken, why);
    detail::raise_if(why);
    return taken;
  }
  /// As `take`, without an exception.
  [[nodiscard]] result<std::optional<sample<T>>, error> try_take() {
    detail::failed why;
    std::optional<sample<T>> taken;
    take_into(taken, why);
    return detail::result_of(std::move(taken), std::move(why));
  }

  /// Takes the next message, if there is one, in stream order: work that is enqueued on the stream from now
  /// on runs after the message is complete, or copied. See situ.h.
  [[nodiscard]] std::optional<sample<T>> take_on(const stream& on) {
    detail::failed why;
    std::optional<sample<T>> taken;
    take_into(taken, why, &on);
    detail::raise_if(why);
    return taken;
  }
  /// As `take_on`, without an exception.
  [[nodiscard]] result<std::optional<sample<T>>, error> try_take_on(const stream& on) {
    detail::failed why;
    std::optional<sample<T>> taken;
    take_into(taken, why, &on);
    return detail::result_of(std::move(taken), std::move(why));
  }

  /// Waits for the next message and takes it. Returns nothing if the timeout passes first.
  [[nodiscard]] std::optional<sample<T>> receive(std::chrono::nanoseconds timeout = forever) {
    detail::failed why;
    std::optional<sample<T>> taken;
    receive_into(taken, timeout, why);
    detail::raise_if(why);
    return taken;
  }
  /// The same, with an interrupter or a signal that may end the wait even when a message is available. The
  /// result is then nothing, as after a timeout; `interrupter::interrupted` distinguishes the two.
  [[nodiscard]] std::optional<sample<T>> receive(const waiting& how) {
    using clock = std::chrono::steady_clock;
    const auto start = clock::now();
    std::optional<sample<T>> taken;
    for (waiting left = how; wait(left) == waited::ready;) {
      taken = take();
      if (taken) break;
      // The message expired or was overwritten before it could be taken.
      if (how.timeout != forever) left.timeout = how.timeout - (clock::now() - start);
    }
    return taken;
  }
  /// As `receive`, without an exception.
  [[nodiscard]] result<std::optional<sample<T>>, error> try_receive(
      std::chrono::nanoseconds timeout = forever) {
    detail::failed why;
    std::optional<sample<T>> taken;
    receive_into(taken, timeout, why);
    return detail::result_of(std::move(taken), std::move(why));
  }

 private:
  subscriber() = default;

  void receive_into(std::optional<sample<T>>& taken, std::chrono::nanoseconds timeout, detail::failed& why) {
    using clock = std::chrono::steady_clock;
    take_into(taken, why);
    if (taken || why) return;
    const auto start = clock::now();
    for (auto left = timeout; wait(left);) {
      take_into(taken, why);
      if (taken || why) return;
      // The message expired or was overwritten before it could be taken.
      if (timeout != forever) left = timeout - (clock::now() - start);
    }
  }

  void take_into(std::optional<sample<T>>& taken, detail::failed& why, const stream* on = nullptr) {
    situ_error raw;
    taken.emplace(typename sample<T>::key{});
    situ_sample* into = &taken->raw_;
    const situ_status status = on ? situ_subscriber_take_on(handle(), on->handle(), into, &raw)
                                  : situ_subscriber_take(handle(), into, &raw);
    if (status != SITU_OK || !open(*taken, why)) {
      detail::succeeded(status, raw, why);
      taken.reset();
    }
  }

  /// Makes a message of the bytes that were taken.
  static bool open(sample<T>& taken, detail::failed& why) {
    if (taken.raw_.encoding == SITU_REGION) return region_copy(taken, why);
    if (taken.raw_.encoding != SITU_FLAT) return decode_copy(taken, why);
    if constexpr (flat_message<T>) {
      taken.value_ = view<T>(taken.raw_, why);
      return taken.value_ != nullptr;
    } else if constexpr (requires { typename rebind<T, flat>; }) {
      return convert_copy(taken, why);
    } else {
      return refuse(taken.raw_, "the message is flat, but the type has no flat form", why);
    }
  }

  template <flat_message M>
  static const M* view(const situ_sample& raw, detail::failed& why) {
    auto found = validate_bytes<M>({static_cast<const std::byte*>(raw.head), raw.head_size}, raw.body_size);
    if (found) return *found;
    refuse(raw, found.error().message(), why);
    return nullptr;
  }

  static bool decode_copy(sample<T>& taken, detail::failed& why) {
    auto copy = std::make_unique_for_overwrite<typename sample<T>::copy>();
    const std::span bytes(static_cast<const std::byte*>(taken.raw_.body), taken.raw_.body_size);
    if (auto done = decode(copy->value, bytes, copy->body); !done) {
      return refuse(taken.raw_, done.error().message(), why);
    }
    return keep(taken, std::move(copy), bytes.size());
  }

  static bool region_copy(sample<T>& taken, detail::failed& why) {
    auto copy = std::make_unique<typename sample<T>::copy>();
    const std::span image(static_cast<const std::byte*>(taken.raw_.body), taken.raw_.body_size);
    std::string reason;
    if (!detail::read_region(image, copy->value, reason)) return refuse(taken.raw_, reason, why);
    return keep(taken, std::move(copy), image.size());
  }

  static bool convert_copy(sample<T>& taken, detail::failed& why) {
    const rebind<T, flat>* found = view<rebind<T, flat>>(taken.raw_, why);
    if (found == nullptr) return false;
    const std::span body(static_cast<const std::byte*>(taken.raw_.body), taken.raw_.body_size);
    auto copy = std::make_unique_for_overwrite<typename sample<T>::copy>();
    if (auto done = convert(*found, copy->value, body); !done) {
      return refuse(taken.raw_, done.error().message(), why);
    }
    return keep(taken, std::move(copy), taken.raw_.head_size + body.size());
  }

  /// Keeps a copy to read from, and releases the message's memory in the bus.
  static bool keep(sample<T>& taken, std::unique_ptr<typename sample<T>::copy> copy, std::size_t bytes) {
    situ_sample_release(&taken.raw_);
    situ_count_copy(bytes);
    taken.copy_ = std::move(copy);
    taken.value_ = &taken.copy_->value;
    return true;
  }

  static bool refuse(const situ_sample& raw, const std::string& reason, detail::failed& why) {
    why.emplace(errc::malformed, "message " + std::to_string(raw.sequence) + " is not a valid " +
                                     std::string(T::situ_name) + ": " + reason);
    return false;
  }
};

}  // namespace situ
