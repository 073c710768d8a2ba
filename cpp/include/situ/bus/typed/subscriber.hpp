// Taking: flat messages are read in place, others are decoded.
#pragma once

#include <chrono>
#include <cstddef>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "situ/bus/c_abi/error.hpp"
#include "situ/bus/c_abi/qos.hpp"
#include "situ/bus/c_abi/type.hpp"
#include "situ/bus/raii/any_subscriber.hpp"
#include "situ/bus/raii/interrupt.hpp"
#include "situ/bus/raii/node.hpp"
#include "situ/bus/typed/give_each.hpp"
#include "situ/bus/typed/open.hpp"
#include "situ/bus/typed/sample.hpp"
#include "situ/layout/message.hpp"

namespace situ {

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

  /// Takes at most `most` messages that are there, with one move of the cursor, and appends them to `into`.
  /// Returns how many there were. Reserve room in `into`, so that nothing is allocated. After an exception,
  /// the messages before the failure are in `into`, and the next call continues behind it. A message that
  /// cannot be read ends the call with an exception, and is skipped.
  std::size_t take_many(std::size_t most, std::vector<sample<T>>& into) {
    return take_each(most, [&into](sample<T>&& taken) { into.push_back(std::move(taken)); });
  }
  /// As `take_many`, without an exception.
  [[nodiscard]] result<std::size_t, error> try_take_many(std::size_t most, std::vector<sample<T>>& into) {
    return try_take_each(most, [&into](sample<T>&& taken) { into.push_back(std::move(taken)); });
  }

  /// The same, but calls `give` with each message, `sample<T>&&`. It returns nothing, or a
  /// `situ::result<void, situ::error>`. A message for which it throws or fails is taken, and is the last one.
  /// It must not use the subscriber.
  template <class Give>
  std::size_t take_each(std::size_t most, Give&& give) {
    detail::failed why;
    const std::size_t taken = detail::give_each<T>(handle(), most, give, why);
    detail::raise_if(why);
    return taken;
  }
  /// As `take_each`; only what `give` throws is thrown.
  template <class Give>
  [[nodiscard]] result<std::size_t, error> try_take_each(std::size_t most, Give&& give) {
    detail::failed why;
    std::size_t taken = detail::give_each<T>(handle(), most, give, why);
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
    if (status != SITU_OK || !detail::opener::open(*taken, why)) {
      detail::succeeded(status, raw, why);
      taken.reset();
    }
  }
};

}  // namespace situ
