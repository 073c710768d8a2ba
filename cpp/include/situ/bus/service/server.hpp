// Servers: take requests, and send replies that are built in place or written from values.
#pragma once

#include <chrono>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "situ.h"
#include "situ/bus/c_abi/error.hpp"
#include "situ/bus/c_abi/qos.hpp"
#include "situ/bus/raii/interrupt.hpp"
#include "situ/bus/raii/node.hpp"
#include "situ/bus/raii/raw_loan.hpp"
#include "situ/bus/service/any_server.hpp"
#include "situ/bus/service/form.hpp"
#include "situ/bus/service/options.hpp"
#include "situ/bus/service/reply_loan.hpp"
#include "situ/bus/service/request.hpp"
#include "situ/bus/typed/write.hpp"
#include "situ/layout/message.hpp"
#include "situ/outcome.hpp"
#include "situ/region.hpp"
#include "situ/support/result.hpp"

namespace situ {

/// The code with which a server refuses requests that are not valid messages of its type.
inline constexpr std::uint64_t invalid_request = UINT64_MAX;

/// Serves a service with requests of type Q and replies of type P: `node.server<Q, P>("name")`. May move
/// between threads, but only one thread may use it and its loans at a time. Its requests may go to other
/// threads.
template <message Q, message P>
class basic_server : public any_server {
 public:
  /// The numbers of elements in the bulk fields of a reply.
  using bulk_lengths = typename P::bulk_lengths;

  /// Joins a service.
  basic_server(const node& on, const std::string& service, const service_options& options = {}) {
    detail::failed why;
    join(on, service, options, why);
    detail::raise_if(why);
  }
  /// As the constructor, without an exception.
  [[nodiscard]] static result<basic_server, error> try_create(const node& on, const std::string& service,
                                                              const service_options& options = {}) {
    detail::failed why;
    basic_server made;
    made.join(on, service, options, why);
    return detail::result_of(std::move(made), std::move(why));
  }

  /// Takes the next request, if there is one, without waiting. A request that is not a valid message is
  /// refused, and the exception skips it.
  [[nodiscard]] std::optional<request<Q>> take() {
    detail::failed why;
    std::optional<request<Q>> taken = take_next(why);
    detail::raise_if(why);
    return taken;
  }
  /// As `take`, without an exception.
  [[nodiscard]] result<std::optional<request<Q>>, error> try_take() {
    detail::failed why;
    std::optional<request<Q>> taken = take_next(why);
    return detail::result_of(std::move(taken), std::move(why));
  }
  /// Waits for the next request and takes it. Returns nothing if the timeout passes first.
  [[nodiscard]] std::optional<request<Q>> receive(std::chrono::nanoseconds timeout = forever) {
    return receive(waiting{.timeout = timeout});
  }
  /// The same, with an interrupter or a signal that may end the wait, even when there is a request. The
  /// result is then nothing, as after a timeout; `interrupter::interrupted` distinguishes the two.
  [[nodiscard]] std::optional<request<Q>> receive(const waiting& how) {
    using clock = std::chrono::steady_clock;
    std::optional<request<Q>> taken;
    if (how.stop == nullptr) taken = take();
    const auto start = clock::now();
    for (waiting left = how; !taken && wait(left) == waited::ready;) {
      taken = take();
      // The request was a cancellation, or its time was over.
      if (how.timeout != forever) left.timeout = how.timeout - (clock::now() - start);
    }
    return taken;
  }

  /// Lends a reply to a request, default-initialized in place. The body has room for the given bulk lengths.
  [[nodiscard]] reply_loan<P> loan(const request_id& to,
                                   const bulk_lengths& lengths = {}) requires flat_message<P> {
    detail::failed why;
    reply_loan<P> lent;
    detail::lend_flat<P>(lent.raw_, lengths, lender(to), why);
    detail::raise_if(why);
    return lent;
  }
  /// As `loan`, without an exception.
  [[nodiscard]] result<reply_loan<P>, error> try_loan(
      const request_id& to, const bulk_lengths& lengths = {}) requires flat_message<P> {
    detail::failed why;
    reply_loan<P> lent;
    detail::lend_flat<P>(lent.raw_, lengths, lender(to), why);
    return detail::result_of(std::move(lent), std::move(why));
  }

  /// Lends a reply in a region, with a new value. It grows in place: see `publisher<T>::loan` of a region.
  [[nodiscard]] reply_loan<P> loan(const request_id& to, std::size_t bytes = 0) requires region_message<P> {
    detail::failed why;
    reply_loan<P> lent(memory_);
    lent.begin(bytes, growing_lender(to), why);
    detail::raise_if(why);
    return lent;
  }
  /// As `loan`, without an exception.
  [[nodiscard]] result<reply_loan<P>, error> try_loan(const request_id& to,
                                                      std::size_t bytes = 0) requires region_message<P> {
    detail::failed why;
    reply_loan<P> lent(memory_);
    lent.begin(bytes, growing_lender(to), why);
    return detail::result_of(std::move(lent), std::move(why));
  }

  /// Answers a request with a value from other memory. A flat value is copied, another one is serialized, or
  /// stored in a region. A loan needs no copy.
  template <detail::sendable_as<P> M>
  void reply(const request_id& to, const M& value) {
    detail::raise_if(send(to, value, true));
  }
  /// As `reply`, without an exception.
  template <detail::sendable_as<P> M>
  [[nodiscard]] result<void, error> try_reply(const request_id& to, const M& value) {
    return done(send(to, value, true));
  }
  /// Sends a value as a part of a reply, which other parts follow, or an `end`.
  template <detail::sendable_as<P> M>
  void part(const request_id& to, const M& value) {
    detail::raise_if(send(to, value, false));
  }
  /// As `part`, without an exception.
  template <detail::sendable_as<P> M>
  [[nodiscard]] result<void, error> try_part(const request_id& to, const M& value) {
    return done(send(to, value, false));
  }

  /// Waits for requests, at most for `timeout`, and answers all that are there: see `executor::serve` for
  /// `answer`. Returns their number.
  template <class Answer>
  std::size_t serve(Answer answer, std::chrono::nanoseconds timeout = std::chrono::nanoseconds::zero()) {
    return serve(std::move(answer), waiting{.timeout = timeout});
  }
  /// The same, with an interrupter or a signal that may end the wait.
  template <class Answer>
  std::size_t serve(Answer answer, const waiting& how) {
    std::size_t count = 0;
    for (auto next = receive(how); next; next = take(), ++count) {
      detail::failed why;
      answer_with(answer, *std::move(next), why);
      detail::raise_if(why);
    }
    return count;
  }

 private:
  friend class executor;

  basic_server() = default;
  void join(const node& on, const std::string& service, const service_options& options, detail::failed& why) {
    create(on, service, options, detail::describe<Q>(), detail::describe<P>(), why);
    if constexpr (region_message<P>) memory_ = std::make_shared<detail::region_memory>();
  }

  std::optional<request<Q>> take_next(detail::failed& why) {
    std::optional<request<Q>> taken;
    situ_request raw;
    situ_error problem;
    const situ_status status = situ_server_take(handle(), &raw, &problem);
    if (status == SITU_OK) {
      taken.emplace(typename request<Q>::key{}, raw);
      if (!detail::open_sample(taken->sample_, for_large_, why)) {
        // If the client cannot be told, its call ends at its deadline.
        refused(*taken, {invalid_request, "the request is not a valid message of the service's type"});
        taken.reset();
      }
    } else {
      detail::succeeded(status, problem, why);
    }
    return taken;
  }

  [[nodiscard]] auto lender(const request_id& to) const noexcept {
    return
        [from = handle(), &to](detail::raw_loan& lent, std::size_t head, std::size_t align, std::size_t body,
                               detail::failed& why) { return lent.lend(from, to, head, align, body, why); };
  }
  [[nodiscard]] auto growing_lender(const request_id& to) const noexcept {
    return
        [from = handle(), &to](detail::raw_loan& lent, std::size_t body, std::size_t room,
                               detail::failed& why) { return lent.lend_growing(from, to, body, room, why); };
  }
  template <message M>
  detail::failed send(const request_id& to, const M& value, bool is_last,
                      std::chrono::nanoseconds block = std::chrono::nanoseconds::zero()) {
    detail::failed why;
    if constexpr (region_message<P>) {
      reply_loan<P> lent(memory_);
      lent.begin(0, growing_lender(to), why);
      if (!why && lent.store(value, why)) lent.send(is_last, block, nullptr, why);
    } else {
      detail::raw_loan lent;
      if (detail::write_value<P>(lent, value, lender(to), why)) {
        lent.reply(is_last, block, nullptr, why);
      }
    }
    return why;
  }

  /// Sends what a callback returned. A client that has no room gets some time to take its replies, unless it
  /// took none when it got that time before.
  template <message M>
  detail::failed answer_patiently(const request_id& to, const M& value) {
    constexpr std::chrono::milliseconds patience{50};
    const bool was_slow = to.client == slow_client_;
    detail::failed why = send(to, value, true, was_slow ? std::chrono::milliseconds::zero() : patience);
    const bool is_slow = why && why->code() == errc::full;
    if (is_slow || was_slow) slow_client_ = is_slow ? to.client : 0;
    return why;
  }

  /// Answers a request with what a callback returns, or lets the callback answer. A client that has ended, or
  /// has no room for its reply, is passed over.
  template <class Answer>
  void answer_with(Answer& answer, request<Q> taken, detail::failed& why) {
    if constexpr (std::invocable<Answer&, basic_server&, request<Q>>) {
      using returned = std::invoke_result_t<Answer&, basic_server&, request<Q>>;
      if constexpr (std::is_same_v<returned, result<void, error>>) {
        if (auto end = answer(*this, std::move(taken)); !end) why.emplace(std::move(end).error());
      } else {
        static_assert(std::is_void_v<returned>,
                      "a callback that answers itself returns void or result<void, error>");
        answer(*this, std::move(taken));
      }
    } else {
      auto outcome = answer(std::as_const(taken));
      if constexpr (detail::sendable_as<std::remove_cvref_t<decltype(outcome)>, P>) {
        why = answer_patiently(taken, outcome);
      } else if constexpr (detail::is_outcome<decltype(outcome), P>) {
        why = answer_patiently(taken, detail::operation_of<P>::respond(std::move(outcome)));
      } else {
        why = outcome ? answer_patiently(taken, *outcome) : refused(taken, outcome.error());
      }
      if (why && (why->code() == errc::client_gone || why->code() == errc::full)) why.reset();
    }
  }

  /// What replies in regions keep from one to the next. Replies under construction may outlive the server.
  std::shared_ptr<detail::region_memory> memory_;
  /// The last client that had no room although the server waited for it; 0: none.
  std::uint64_t slow_client_ = 0;
  /// The bitmap of the last large request in a region, kept for its memory.
  std::vector<std::uint64_t> for_large_;
};

}  // namespace situ
