// A reply under construction.
#pragma once

#include <chrono>
#include <cstddef>
#include <memory>
#include <utility>

#include "situ/bus/c_abi/error.hpp"
#include "situ/bus/raii/device.hpp"
#include "situ/bus/region/region_loan.hpp"
#include "situ/bus/service/form.hpp"
#include "situ/layout/message.hpp"
#include "situ/region.hpp"
#include "situ/support/result.hpp"

namespace situ {

/// A reply, or a part of one, under construction in the memory in which its client reads it. Destroying it
/// sends nothing. Belongs to the thread of its server, and may outlive it. After an exception, or an error,
/// it may be sent again.
///
/// `block` is the longest time to wait for a client that has no room. By default that is an error at once, so
/// that no client holds the server back.
template <message P>
class reply_loan : public detail::built<P> {
  using nanoseconds = std::chrono::nanoseconds;

 public:
  /// Sends it as the reply, or as the last part of one.
  void send(nanoseconds block = nanoseconds::zero()) { sent(true, block, nullptr); }
  /// Sends it as a part of a reply, which other parts follow, or an end.
  void send_part(nanoseconds block = nanoseconds::zero()) { sent(false, block, nullptr); }
  /// As `send` and `send_part`, before the reply is complete: see `loan::publish_on`.
  void send_on(const stream& work, nanoseconds block = nanoseconds::zero()) requires flat_message<P> {
    sent(true, block, &work);
  }
  void send_part_on(const stream& work, nanoseconds block = nanoseconds::zero()) requires flat_message<P> {
    sent(false, block, &work);
  }

  /// As `send` and `send_part`, without an exception.
  [[nodiscard]] result<void, error> try_send(nanoseconds block = nanoseconds::zero()) {
    return tried(true, block);
  }
  [[nodiscard]] result<void, error> try_send_part(nanoseconds block = nanoseconds::zero()) {
    return tried(false, block);
  }

 private:
  template <message, message>
  friend class basic_server;
  reply_loan() noexcept requires(!region_message<P>) = default;
  explicit reply_loan(std::shared_ptr<detail::region_memory> memory) noexcept requires region_message<P>
      : detail::region_loan<P>(*memory), memory_(std::move(memory)) {}

  void sent(bool is_last, nanoseconds block, const stream* on) {
    detail::failed why;
    send(is_last, block, on, why);
    detail::raise_if(why);
  }
  result<void, error> tried(bool is_last, nanoseconds block) {
    detail::failed why;
    send(is_last, block, nullptr, why);
    if (why) return failure{*std::move(why)};
    return {};
  }
  void send(bool is_last, nanoseconds block, const stream* on, detail::failed& why) {
    [[maybe_unused]] std::size_t size = 0;
    if constexpr (region_message<P>) size = this->trim();
    raw_.reply(is_last, block, on, why);
    if constexpr (region_message<P>) {
      if (!why) this->finish(size);
    }
  }

  using detail::built<P>::raw_;
  /// What the server keeps from one region to the next. The server may be gone.
  std::shared_ptr<detail::region_memory> memory_;
};

}  // namespace situ
