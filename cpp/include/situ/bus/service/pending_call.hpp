// A call under way: waits for the reply, or for its parts, by blocking or as a coroutine.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "situ.h"
#include "situ/bus/c_abi/error.hpp"
#include "situ/bus/c_abi/qos.hpp"
#include "situ/bus/raii/interrupt.hpp"
#include "situ/bus/service/client_core.hpp"
#include "situ/bus/service/form.hpp"
#include "situ/bus/typed/sample.hpp"
#include "situ/layout/message.hpp"
#include "situ/outcome.hpp"
#include "situ/support/coroutine.hpp"
#include "situ/support/result.hpp"

namespace situ {
namespace detail {

/// Makes a typed part of a reply that was taken. Nothing for the end. The rest of a reply with an invalid
/// part is not wanted.
template <message P>
std::optional<sample<P>> open_reply(client_core& core, const situ_reply& reply, failed& why) {
  std::optional<sample<P>> part;
  if (reply.sample.head == nullptr) return part;
  part.emplace(no_sample<P>());
  raw_of(*part) = reply.sample;
  if (!open_sample(*part, core.for_large_replies(), why)) {
    part.reset();
    core.cancel(reply.call);
  }
  return part;
}

inline void explain_empty(std::uint64_t call, failed& why) {
  why.emplace(errc::empty,
              "call " + std::to_string(call) +
                  " has no reply to take: the server ended it without one, or the reply was taken "
                  "before; use `next` for replies that are streamed");
}

#if SITU_HAS_COROUTINES
/// Lets a coroutine wait for the next part of a reply. It lies in the coroutine's frame while it waits.
template <message P, bool IsSingle>
class part_awaiter final : receiver {
 public:
  part_awaiter(std::shared_ptr<client_core> core, std::uint64_t call) noexcept
      : receiver(call), core_(std::move(core)) {}
  ~part_awaiter() {
    // The coroutine was destroyed while it waited.
    if (handle_) core_->unlink(call());
  }

  [[nodiscard]] bool await_ready() {
    if (!core_ || !core_->is_under_way(call())) {
      if constexpr (IsSingle) explain_empty(call(), why_);
      return true;
    }
    situ_reply reply;
    if (core_->take_of(call(), std::chrono::nanoseconds::zero(), reply, why_) == SITU_EMPTY) return false;
    store(reply);
    return true;
  }
  void await_suspend(std::coroutine_handle<> handle) noexcept {
    handle_ = handle;
    core_->link(*this);
  }
  auto await_resume() {
    raise_if(why_);
    if constexpr (IsSingle) {
      return std::move(*part_);
    } else {
      return std::move(part_);
    }
  }

 private:
  void store(const situ_reply& reply) {
    if (!why_) part_ = open_reply<P>(*core_, reply, why_);
    if (IsSingle && !why_ && !part_) explain_empty(call(), why_);
  }
  void receive(client_core&, const situ_reply& reply, failed&& why) override {
    why_ = std::move(why);
    store(reply);
    resume();
  }
  void drop() noexcept override {
    why_.emplace(errc::unknown_call,
                 "call " + std::to_string(call()) + " was cancelled while a coroutine waited for it");
    resume();
  }
  /// Resumes the coroutine, which may destroy this.
  void resume() { std::exchange(handle_, nullptr).resume(); }

  std::shared_ptr<client_core> core_;
  std::coroutine_handle<> handle_;
  failed why_;
  std::optional<sample<P>> part_;
};
#endif

}  // namespace detail

/// A call under way. Destroying it cancels the call. Belongs to the thread of its client, and may outlive it.
///
/// It is waited for in one of three ways:
///
///   auto total = client.call(sum).wait();                       // blocks
///   auto total = co_await client.call(sum);                     // in a coroutine
///   auto call = client.call(drive); while (auto part = call.next()) ...   // a reply in parts
template <message P>
class [[nodiscard]] pending_call {
 public:
  pending_call(pending_call&& other) noexcept
      : core_(std::move(other.core_)), number_(std::exchange(other.number_, 0)) {}
  pending_call& operator=(pending_call&& other) noexcept {
    // What waits for the former call may use this one, so this one comes first.
    pending_call former(std::exchange(core_, std::move(other.core_)),
                        std::exchange(number_, std::exchange(other.number_, 0)));
    return *this;
  }
  ~pending_call() { cancel(); }

  /// The number of the call.
  [[nodiscard]] std::uint64_t number() const noexcept { return number_; }
  /// Whether the call is under way, or has replies that were not taken.
  [[nodiscard]] bool is_under_way() const noexcept { return core_ && core_->is_under_way(number_); }
  /// Whether `wait` and `next` return without waiting.
  [[nodiscard]] bool ready() { return !is_under_way() || core_->is_ready(number_); }

  /// Waits for the reply. Throws if the call's time is over, the server refuses, or no server is left.
  sample<P> wait() {
    detail::failed why;
    std::optional<sample<P>> reply;
    receive_single(reply, waiting{}, why);
    detail::raise_if(why);
    return std::move(*reply);
  }
  /// As `wait`, without an exception.
  [[nodiscard]] result<sample<P>, error> try_wait() {
    detail::failed why;
    std::optional<sample<P>> reply;
    receive_single(reply, waiting{}, why);
    if (why) return failure{*std::move(why)};
    return std::move(*reply);
  }
  /// Waits for the reply. Returns nothing if the timeout passes first; the call remains under way.
  [[nodiscard]] std::optional<sample<P>> wait_for(std::chrono::nanoseconds timeout) {
    return wait_for(waiting{.timeout = timeout});
  }
  /// The same, with an interrupter or a signal that may end the wait, even when the reply is there. The
  /// result is then nothing, as after a timeout; `interrupter::interrupted` distinguishes the two.
  [[nodiscard]] std::optional<sample<P>> wait_for(const waiting& how) {
    detail::failed why;
    std::optional<sample<P>> reply;
    receive_single(reply, how, why);
    detail::raise_if(why);
    return reply;
  }

  /// Waits for the reply of an operation that raises exceptions: what it gives, or what it raises. Throws as
  /// `wait` does, and if the reply has neither.
  [[nodiscard]] auto outcome() requires detail::outcome_response<P> {
    auto found = try_outcome();
    if (!found) detail::raise(std::move(found).error());
    return std::move(*found);
  }
  /// As `outcome`, without an exception.
  [[nodiscard]] auto try_outcome() requires detail::outcome_response<P> {
    using operation = detail::operation_of<P>;
    using returned = result<typename operation::Outcome, error>;
    const std::uint64_t call = number_;
    auto reply = try_wait();
    if (!reply) return returned(failure{std::move(reply).error()});
    auto found = operation::outcome_of(**reply);
    if (found) return returned(std::move(*found));
    detail::failed why;
    why.emplace(errc::malformed, "the reply of call " + std::to_string(call) +
                                     " has neither a result nor an exception: its server is broken");
    return returned(failure{*std::move(why)});
  }

  /// Waits for the next part of a reply that is streamed. Returns nothing after the last one. A single reply
  /// is a stream of one part.
  [[nodiscard]] std::optional<sample<P>> next() { return next(waiting{}); }
  /// The same, with a limit, and with an interrupter or a signal that may end the wait. Also returns nothing
  /// then, and the call remains under way (`is_under_way`).
  [[nodiscard]] std::optional<sample<P>> next(const waiting& how) {
    detail::failed why;
    std::optional<sample<P>> part;
    receive(part, how, why);
    detail::raise_if(why);
    return part;
  }
  /// As `next`, without an exception.
  [[nodiscard]] result<std::optional<sample<P>>, error> try_next() {
    detail::failed why;
    std::optional<sample<P>> part;
    receive(part, waiting{}, why);
    return detail::result_of(std::move(part), std::move(why));
  }

#if SITU_HAS_COROUTINES
  /// Waits for the reply in a coroutine: `co_await client.call(request)`. The client resumes it when the
  /// reply is there: in its `dispatch`, or in the executor to which it was added. One coroutine at a time may
  /// wait for a call.
  [[nodiscard]] auto operator co_await() noexcept { return detail::part_awaiter<P, true>(core_, number_); }
  /// Waits for the next part in a coroutine: `while (auto part = co_await call.next_part())`.
  [[nodiscard]] auto next_part() noexcept { return detail::part_awaiter<P, false>(core_, number_); }
#endif

  /// Ends the call, and tells the servers. A coroutine that waits for the call is resumed before this
  /// returns, with the error `errc::unknown_call`; an exception that leaves its promise ends the program.
  void cancel() noexcept {
    // A coroutine that is resumed may destroy this.
    const auto core = std::move(core_);
    const std::uint64_t number = std::exchange(number_, 0);
    if (number != 0 && core) core->cancel(number);
  }
  /// Lets the call go on without this. Returns its number, for the functions of `handle()`.
  std::uint64_t detach() noexcept { return std::exchange(number_, 0); }

 private:
  template <message, message>
  friend class basic_client;
  template <message, message>
  friend class request_loan;
  pending_call(std::shared_ptr<detail::client_core> core, std::uint64_t number) noexcept
      : core_(std::move(core)), number_(number) {}

  /// Returns whether the wait did not end before.
  bool receive(std::optional<sample<P>>& part, const waiting& how, detail::failed& why) {
    if (!is_under_way()) return true;
    situ_reply reply;
    if (core_->take_of(number_, how, reply, why) == SITU_EMPTY) return false;
    if (!why) part = detail::open_reply<P>(*core_, reply, why);
    return true;
  }
  void receive_single(std::optional<sample<P>>& reply, const waiting& how, detail::failed& why) {
    if (receive(reply, how, why) && !reply && !why) detail::explain_empty(number_, why);
  }

  std::shared_ptr<detail::client_core> core_;
  std::uint64_t number_ = 0;
};

}  // namespace situ
