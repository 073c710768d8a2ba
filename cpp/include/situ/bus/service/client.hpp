// Clients: requests are built in place or written from values; replies are waited for, awaited, or delivered
// to callbacks.
#pragma once

#include <chrono>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "situ.h"
#include "situ/bus/c_abi/error.hpp"
#include "situ/bus/c_abi/qos.hpp"
#include "situ/bus/raii/device.hpp"
#include "situ/bus/raii/node.hpp"
#include "situ/bus/raii/raw_loan.hpp"
#include "situ/bus/service/any_client.hpp"
#include "situ/bus/service/callback_receiver.hpp"
#include "situ/bus/service/client_core.hpp"
#include "situ/bus/service/form.hpp"
#include "situ/bus/service/options.hpp"
#include "situ/bus/service/pending_call.hpp"
#include "situ/bus/typed/write.hpp"
#include "situ/layout/message.hpp"
#include "situ/region.hpp"
#include "situ/support/result.hpp"

namespace situ {
namespace detail {

/// How long sending waits for a server that has no room: as long as the call may take, or a second.
inline std::chrono::nanoseconds patience_of(std::chrono::nanoseconds limit) noexcept {
  return limit == forever ? std::chrono::seconds(1) : limit;
}

}  // namespace detail

/// A request under construction, in the memory in which servers read it. Destroying it sends nothing. Belongs
/// to the thread of its client, and may outlive it. After an exception, or an error, it may be sent again.
template <message Q, message P>
class request_loan : public detail::built<Q> {
 public:
  /// Sends the request. The call is over after `limit`. A server that has no room holds the client back for
  /// the same time, or for a second without a limit.
  pending_call<P> send(std::chrono::nanoseconds limit = forever) {
    return sent(limit, detail::patience_of(limit), nullptr);
  }
  /// As `send`, but never waits: it is an error at once if a server has no room.
  pending_call<P> send_now(std::chrono::nanoseconds limit = forever) {
    return sent(limit, std::chrono::nanoseconds::zero(), nullptr);
  }
  /// As `send`, before the request is complete: see `loan::publish_on`.
  pending_call<P> send_on(const stream& work,
                          std::chrono::nanoseconds limit = forever) requires flat_message<Q> {
    return sent(limit, detail::patience_of(limit), &work);
  }
  /// As `send`, without an exception.
  [[nodiscard]] result<pending_call<P>, error> try_send(std::chrono::nanoseconds limit = forever) {
    detail::failed why;
    const std::uint64_t call = send(limit, detail::patience_of(limit), nullptr, why);
    return detail::result_of(pending_call<P>(core_, call), std::move(why));
  }

 private:
  template <message, message>
  friend class basic_client;
  explicit request_loan(std::shared_ptr<detail::client_core> core) noexcept requires(!region_message<Q>)
      : core_(std::move(core)) {}
  explicit request_loan(std::shared_ptr<detail::client_core> core) noexcept requires region_message<Q>
      : detail::region_loan<Q>(core->requests()), core_(std::move(core)) {}

  pending_call<P> sent(std::chrono::nanoseconds limit, std::chrono::nanoseconds block, const stream* on) {
    detail::failed why;
    const std::uint64_t call = send(limit, block, on, why);
    detail::raise_if(why);
    return pending_call<P>(core_, call);
  }
  std::uint64_t send(std::chrono::nanoseconds limit, std::chrono::nanoseconds block, const stream* on,
                     detail::failed& why) {
    [[maybe_unused]] std::size_t size = 0;
    if constexpr (region_message<Q>) size = this->trim();
    const std::uint64_t call = raw_.send(limit, block, on, why);
    if constexpr (region_message<Q>) {
      if (!why) this->finish(size);
    }
    return call;
  }

  using detail::built<Q>::raw_;
  std::shared_ptr<detail::client_core> core_;
};

/// Calls a service with requests of type Q and replies of type P: `node.client<Q, P>("name")`. May move
/// between threads, but only one thread may use it, its loans and its calls at a time. With an executor, use
/// it in the callbacks of its group.
template <message Q, message P>
class basic_client : public any_client {
 public:
  /// The numbers of elements in the bulk fields of a request.
  using bulk_lengths = typename Q::bulk_lengths;

  /// Joins a service.
  basic_client(const node& on, const std::string& service, const service_options& options = {}) {
    detail::failed why;
    join(on, service, options, why);
    detail::raise_if(why);
  }
  /// As the constructor, without an exception.
  [[nodiscard]] static result<basic_client, error> try_create(const node& on, const std::string& service,
                                                              const service_options& options = {}) {
    detail::failed why;
    basic_client made;
    made.join(on, service, options, why);
    return detail::result_of(std::move(made), std::move(why));
  }

  /// Lends a request, default-initialized in place. The body has room for the given bulk lengths.
  [[nodiscard]] request_loan<Q, P> loan(const bulk_lengths& lengths = {}) requires flat_message<Q> {
    detail::failed why;
    request_loan<Q, P> lent(core_);
    detail::lend_flat<Q>(lent.raw_, lengths, lender(), why);
    detail::raise_if(why);
    return lent;
  }
  /// As `loan`, without an exception.
  [[nodiscard]] result<request_loan<Q, P>, error> try_loan(const bulk_lengths& lengths = {}) requires
      flat_message<Q> {
    detail::failed why;
    request_loan<Q, P> lent(core_);
    detail::lend_flat<Q>(lent.raw_, lengths, lender(), why);
    return detail::result_of(std::move(lent), std::move(why));
  }

  /// Lends a request in a region, with a new value. It grows in place: see `publisher<T>::loan` of a region.
  [[nodiscard]] request_loan<Q, P> loan(std::size_t bytes = 0) requires region_message<Q> {
    detail::failed why;
    request_loan<Q, P> lent(core_);
    lent.begin(bytes, growing_lender(), why);
    detail::raise_if(why);
    return lent;
  }
  /// As `loan`, without an exception.
  [[nodiscard]] result<request_loan<Q, P>, error> try_loan(std::size_t bytes = 0) requires region_message<Q> {
    detail::failed why;
    request_loan<Q, P> lent(core_);
    lent.begin(bytes, growing_lender(), why);
    return detail::result_of(std::move(lent), std::move(why));
  }

  /// Sends a value from other memory as request. The call is over after `limit`. A flat value is copied,
  /// another one is serialized, or stored in a region. A loan needs no copy.
  template <detail::sendable_as<Q> M>
  pending_call<P> call(const M& request, std::chrono::nanoseconds limit = forever) {
    detail::failed why;
    const std::uint64_t number = send(request, limit, why);
    detail::raise_if(why);
    return pending_call<P>(core_, number);
  }
  /// As `call`, without an exception.
  template <detail::sendable_as<Q> M>
  [[nodiscard]] result<pending_call<P>, error> try_call(const M& request,
                                                        std::chrono::nanoseconds limit = forever) {
    detail::failed why;
    const std::uint64_t number = send(request, limit, why);
    return detail::result_of(pending_call<P>(core_, number), std::move(why));
  }

  /// Sends a value as request, and returns the number of the call. `callback` receives a
  /// `result<std::optional<sample<P>>, error>`: each part of the reply, and then nothing; or an error, which
  /// ends the call. A single reply is one part. `dispatch` calls it, or the executor to which the client was
  /// added.
  template <detail::sendable_as<Q> M, std::invocable<result<std::optional<sample<P>>, error>> Callback>
  std::uint64_t call(const M& request, std::chrono::nanoseconds limit, Callback callback) {
    // Made before the call, so that nothing can fail afterwards.
    detail::failed why;
    auto pending = std::make_unique<detail::callback_receiver<P, Callback>>(0, std::move(callback));
    const std::uint64_t number = send(request, limit, why);
    detail::raise_if(why);
    pending->begin(number);
    core_->link(*pending.release());
    return number;
  }

 private:
  basic_client() = default;
  void join(const node& on, const std::string& service, const service_options& options, detail::failed& why) {
    create(on, service, options, detail::describe<Q>(), detail::describe<P>(), why);
  }

  [[nodiscard]] auto lender() const noexcept {
    return [from = handle()](detail::raw_loan& lent, std::size_t head, std::size_t align, std::size_t body,
                             detail::failed& why) { return lent.lend(from, head, align, body, why); };
  }
  [[nodiscard]] auto growing_lender() const noexcept {
    return [from = handle()](detail::raw_loan& lent, std::size_t body, std::size_t room,
                             detail::failed& why) { return lent.lend_growing(from, body, room, why); };
  }
  template <message M>
  std::uint64_t send(const M& request, std::chrono::nanoseconds limit, detail::failed& why) {
    if constexpr (region_message<Q>) {
      request_loan<Q, P> lent(core_);
      lent.begin(0, growing_lender(), why);
      if (why || !lent.store(request, why)) return 0;
      return lent.send(limit, detail::patience_of(limit), nullptr, why);
    } else {
      return send_value(request, limit, why);
    }
  }
  template <message M>
  std::uint64_t send_value(const M& request, std::chrono::nanoseconds limit, detail::failed& why) {
    detail::raw_loan lent;
    if (!detail::write_value<Q>(lent, request, lender(), why)) return 0;
    return lent.send(limit, detail::patience_of(limit), nullptr, why);
  }
};

}  // namespace situ
