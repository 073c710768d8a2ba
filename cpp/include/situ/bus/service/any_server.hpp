// The part of a server that does not depend on its types.
#pragma once

#include <chrono>
#include <string>
#include <utility>

#include "situ.h"
#include "situ/bus/c_abi/error.hpp"
#include "situ/bus/c_abi/handle.hpp"
#include "situ/bus/c_abi/qos.hpp"
#include "situ/bus/c_abi/type.hpp"
#include "situ/bus/raii/interrupt.hpp"
#include "situ/bus/raii/node.hpp"
#include "situ/bus/service/options.hpp"
#include "situ/bus/service/request.hpp"
#include "situ/service.h"
#include "situ/support/result.hpp"

namespace situ {

/// The statistics of a server: see situ/service.h.
using server_statistics = situ_server_statistics;

/// Base of all servers: waiting, ends and refusals, the file descriptor and statistics.
class any_server {
 public:
  /// Waits until a request can be taken. Returns false if the timeout passes first.
  [[nodiscard]] bool wait(std::chrono::nanoseconds timeout = forever) {
    situ_error raw;
    detail::failed why;
    const situ_status status = situ_server_wait(handle(), detail::limit_of(timeout), &raw);
    detail::succeeded(status, raw, why);
    detail::raise_if(why);
    return status == SITU_OK;
  }
  /// The same, with an interrupter or a signal that may end the wait, even when there is a request.
  [[nodiscard]] waited wait(const waiting& how) {
    situ_error raw;
    detail::failed why;
    const situ_waiting terms = detail::to_c(how);
    const waited ended = detail::ended(situ_server_wait_with(handle(), &terms, &raw), raw, why);
    detail::raise_if(why);
    return ended;
  }
  /// Sets an interrupter that ends the waits for clients without room: sending then fails with
  /// `errc::interrupted`, and a loan stays valid. Null removes it.
  void set_interrupter(const interrupter* stop) noexcept {
    situ_server_set_interrupter(handle(), stop != nullptr ? stop->handle() : nullptr);
  }
  /// Takes what clients have sent meanwhile, so that `request::is_cancelled` knows of cancellations. Requests
  /// are kept for the next take.
  void collect() {
    situ_error raw;
    detail::failed why;
    detail::succeeded(situ_server_collect(handle(), &raw), raw, why);
    detail::raise_if(why);
  }

  /// Ends a reply that was streamed. Waits at most for `block` if the client has no room.
  void end(const request_id& of, std::chrono::nanoseconds block = std::chrono::nanoseconds::zero()) {
    detail::raise_if(ended(of, block));
  }
  /// As `end`, without an exception.
  [[nodiscard]] result<void, error> try_end(
      const request_id& of, std::chrono::nanoseconds block = std::chrono::nanoseconds::zero()) {
    return done(ended(of, block));
  }
  /// Refuses a request. The client's call ends with an error that has the reason.
  void refuse(const request_id& of, const refusal& reason) { detail::raise_if(refused(of, reason)); }
  /// As `refuse`, without an exception.
  [[nodiscard]] result<void, error> try_refuse(const request_id& of, const refusal& reason) {
    return done(refused(of, reason));
  }

  /// A descriptor for poll, epoll and the like, readable when a request came. On waking, call `clear_fd`,
  /// then take until there is no request.
  [[nodiscard]] int fd() {
    situ_error raw;
    detail::failed why;
    int descriptor = -1;
    detail::succeeded(situ_server_fd(handle(), &descriptor, &raw), raw, why);
    detail::raise_if(why);
    return descriptor;
  }
  /// Makes the descriptor unreadable until the next request.
  void clear_fd() noexcept { situ_server_clear_fd(handle()); }

  /// The numbers of clients, and of requests that were skipped.
  [[nodiscard]] server_statistics statistics() const noexcept { return situ_server_get_statistics(handle()); }
  /// The handle for the C interface.
  [[nodiscard]] situ_server* handle() const noexcept { return handle_.get(); }

 protected:
  any_server() = default;
  any_server(any_server&&) noexcept = default;
  any_server& operator=(any_server&&) noexcept = default;
  ~any_server() = default;

  void create(const node& on, const std::string& service, const service_options& options,
              detail::type_description request, detail::type_description reply, detail::failed& why) {
    situ_error raw;
    situ_server* made = nullptr;
    const situ_service_type type{request.get(), reply.get()};
    const situ_service_options terms = detail::to_c(options);
    const situ_status status = situ_server_create(on.handle(), service.c_str(), &type, &terms, &made, &raw);
    if (detail::succeeded(status, raw, why)) handle_.reset(made);
  }
  detail::failed refused(const request_id& of, const refusal& reason) {
    situ_error raw;
    detail::failed why;
    detail::succeeded(situ_server_refuse(handle(), &of, reason.code, reason.text.c_str(), &raw), raw, why);
    return why;
  }
  static result<void, error> done(detail::failed why) {
    if (why) return failure{*std::move(why)};
    return {};
  }

 private:
  detail::failed ended(const request_id& of, std::chrono::nanoseconds block) {
    situ_error raw;
    detail::failed why;
    detail::succeeded(situ_server_end(handle(), &of, detail::limit_of(block), &raw), raw, why);
    return why;
  }

  detail::owner<situ_server> handle_;
};

}  // namespace situ
