// The part of a client that does not depend on its types.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>

#include "situ.h"
#include "situ/bus/c_abi/error.hpp"
#include "situ/bus/c_abi/qos.hpp"
#include "situ/bus/c_abi/type.hpp"
#include "situ/bus/raii/interrupt.hpp"
#include "situ/bus/raii/node.hpp"
#include "situ/bus/service/client_core.hpp"
#include "situ/bus/service/options.hpp"
#include "situ/service.h"
#include "situ/support/result.hpp"

namespace situ {

/// Base of all clients: servers, waiting, and the delivery of replies to coroutines and callbacks.
class any_client {
 public:
  /// The present number of servers.
  [[nodiscard]] std::uint64_t servers() const noexcept { return situ_client_servers(handle()); }
  /// Waits until the service has a server. Returns false if the timeout passes first.
  [[nodiscard]] bool wait_for_server(std::chrono::nanoseconds timeout = forever) const {
    situ_error raw;
    return ended(situ_client_wait_for_server(handle(), detail::limit_of(timeout), &raw), raw) ==
           waited::ready;
  }

  /// The same, with an interrupter or a signal that may end the wait.
  [[nodiscard]] waited wait_for_server(const waiting& how) const {
    situ_error raw;
    const situ_waiting terms = detail::to_c(how);
    return ended(situ_client_wait_for_server_with(handle(), &terms, &raw), raw);
  }

  /// Waits until a reply, or the end of a call, can be delivered. Returns false if the timeout passes first.
  [[nodiscard]] bool wait(std::chrono::nanoseconds timeout = forever) {
    situ_error raw;
    return ended(situ_client_wait(handle(), detail::limit_of(timeout), &raw), raw) == waited::ready;
  }
  /// The same, with an interrupter or a signal that may end the wait, even when there is a reply.
  [[nodiscard]] waited wait(const waiting& how) {
    situ_error raw;
    const situ_waiting terms = detail::to_c(how);
    return ended(situ_client_wait_with(handle(), &terms, &raw), raw);
  }
  /// Sets an interrupter that ends the waits for servers without room: sending then fails with
  /// `errc::interrupted`, and a loan stays valid. Null removes it.
  void set_interrupter(const interrupter* stop) noexcept {
    situ_client_set_interrupter(handle(), stop != nullptr ? stop->handle() : nullptr);
  }

  /// Waits for replies, at most for `timeout`, and delivers all that are there: resumes the coroutines that
  /// wait for them, and calls callbacks. Returns how many parts and ends of calls there were. An executor
  /// does this by itself (`executor.add`).
  std::size_t dispatch(std::chrono::nanoseconds timeout = std::chrono::nanoseconds::zero()) {
    return dispatch(waiting{.timeout = timeout});
  }
  /// The same, with an interrupter or a signal that may end the wait. The result is then 0, as after a
  /// timeout; `interrupter::interrupted` distinguishes the two.
  std::size_t dispatch(const waiting& how) {
    detail::failed why;
    // The wait knows nothing of replies that were taken before.
    if (!(core_ && core_->has_deliverable()) && wait(how) != waited::ready) return 0;
    // What is called may destroy this client.
    const auto core = core_;
    const std::size_t count = core->dispatch(why);
    detail::raise_if(why);
    return count;
  }
  /// As `dispatch`, without waiting and without an exception of its own.
  [[nodiscard]] result<std::size_t, error> try_dispatch() {
    detail::failed why;
    const auto core = core_;
    std::size_t count = core ? core->dispatch(why) : 0;
    return detail::result_of(std::move(count), std::move(why));
  }

  /// Ends a call. A callback is not called any more. A coroutine that waits for the call is resumed before
  /// this returns, with the error `errc::unknown_call`; an exception that leaves its promise ends the
  /// program.
  void cancel(std::uint64_t call) noexcept {
    // A coroutine that is resumed may destroy this client.
    const auto core = core_;
    if (core) core->cancel(call);
  }
  /// Whether a call is under way, or has replies that were not taken.
  [[nodiscard]] bool is_under_way(std::uint64_t call) const noexcept {
    return core_ && core_->is_under_way(call);
  }

  /// A descriptor for poll, epoll and the like, readable when there may be something to deliver. While calls
  /// are under way it also becomes readable every few milliseconds, so that deadlines and servers are
  /// checked. On waking, call `clear_fd`, then `dispatch`.
  [[nodiscard]] int fd() {
    situ_error raw;
    detail::failed why;
    int descriptor = -1;
    detail::succeeded(situ_client_fd(handle(), &descriptor, &raw), raw, why);
    detail::raise_if(why);
    return descriptor;
  }
  /// Makes the descriptor unreadable until the next reply.
  void clear_fd() noexcept { situ_client_clear_fd(handle()); }

  /// The handle for the C interface.
  [[nodiscard]] situ_client* handle() const noexcept { return core_ ? core_->handle() : nullptr; }

 protected:
  any_client() = default;
  any_client(any_client&&) noexcept = default;
  any_client& operator=(any_client&&) noexcept = default;
  ~any_client() = default;

  void create(const node& on, const std::string& service, const service_options& options,
              detail::type_description request, detail::type_description reply, detail::failed& why) {
    situ_error raw;
    situ_client* made = nullptr;
    const situ_service_type type{request.get(), reply.get()};
    const situ_service_options terms = detail::to_c(options);
    const situ_status status = situ_client_create(on.handle(), service.c_str(), &type, &terms, &made, &raw);
    if (detail::succeeded(status, raw, why)) core_ = std::make_shared<detail::client_core>(made);
  }

  std::shared_ptr<detail::client_core> core_;

 private:
  friend class executor;

  static waited ended(situ_status status, const situ_error& raw) {
    detail::failed why;
    const waited ended_by = detail::ended(status, raw, why);
    detail::raise_if(why);
    return ended_by;
  }
};

}  // namespace situ
