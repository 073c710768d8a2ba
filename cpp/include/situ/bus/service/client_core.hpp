// What a client, its calls and an executor share: the handle, replies that were taken for others, and what
// waits for replies.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "situ.h"
#include "situ/bus/c_abi/error.hpp"
#include "situ/bus/c_abi/handle.hpp"
#include "situ/bus/c_abi/qos.hpp"
#include "situ/bus/raii/interrupt.hpp"
#include "situ/bus/region/region_loan.hpp"
#include "situ/service.h"

namespace situ::detail {

class client_core;

/// A call that ends with a refusal has its reason.
inline bool succeeded(situ_status status, const situ_reply& reply, const situ_error& raw, failed& why) {
  if (status != SITU_ERROR_REFUSED) return succeeded(status, raw, why);
  why.emplace(raw.text, refusal{reply.code, reply.text != nullptr ? reply.text : ""});
  return false;
}

/// Waits for the parts of a reply: a coroutine, or a callback. A client links it, and unlinks it before a
/// delivery.
class receiver {
 public:
  explicit receiver(std::uint64_t call) noexcept : call_(call) {}
  /// Waits for this call, from the next link on.
  void begin(std::uint64_t call) noexcept { call_ = call; }
  receiver(const receiver&) = delete;
  receiver& operator=(const receiver&) = delete;

  /// Receives a part, whose sample it releases, or the error that ended the call. It may be destroyed
  /// meanwhile.
  virtual void receive(client_core& core, const situ_reply& reply, failed&& why) = 0;
  /// The call was cancelled, and nothing follows. It may be destroyed meanwhile.
  virtual void drop() noexcept = 0;

  [[nodiscard]] std::uint64_t call() const noexcept { return call_; }

 protected:
  ~receiver() = default;

 private:
  friend class client_core;
  std::uint64_t call_;
  receiver* next_ = nullptr;
};

/// The state of a client. Calls share it, so they may outlive the client.
class client_core {
 public:
  explicit client_core(situ_client* handle) noexcept : handle_(handle) {}
  client_core(const client_core&) = delete;
  client_core& operator=(const client_core&) = delete;
  ~client_core() {
    for (kept& one : kept_) situ_sample_release(&one.reply.sample);
    while (first_ != nullptr) {
      receiver* const gone = first_;
      first_ = gone->next_;
      gone->drop();
    }
  }

  [[nodiscard]] situ_client* handle() const noexcept { return handle_.get(); }
  /// What requests in regions keep from one to the next.
  [[nodiscard]] region_memory& requests() noexcept { return requests_; }
  /// The bitmap of the last large reply in a region, kept for its memory.
  [[nodiscard]] std::vector<std::uint64_t>& for_large_replies() noexcept { return for_large_replies_; }

  /// Takes the next part of the reply to a call, if it is there. Waits for it at most for `timeout`. On
  /// success `reply` is written, and its sample has to be released.
  situ_status take_of(std::uint64_t call, std::chrono::nanoseconds timeout, situ_reply& reply, failed& why) {
    if (take_kept(call, reply, why)) return why ? static_cast<situ_status>(why->code()) : SITU_OK;
    situ_error raw;
    const situ_status status = timeout == std::chrono::nanoseconds::zero()
                                   ? situ_client_take_of(handle(), call, &reply, &raw)
                                   : situ_client_receive_of(handle(), call, limit_of(timeout), &reply, &raw);
    succeeded(status, reply, raw, why);
    return status;
  }

  /// As `take_of`, but an interrupter or a signal may end the wait, even when there is a part. The status is
  /// then SITU_EMPTY, as after a timeout.
  situ_status take_of(std::uint64_t call, const waiting& how, situ_reply& reply, failed& why) {
    if (how.stop == nullptr && !how.until_a_signal) return take_of(call, how.timeout, reply, why);
    if (how.stop != nullptr && how.stop->interrupted()) return SITU_EMPTY;
    if (take_kept(call, reply, why)) return why ? static_cast<situ_status>(why->code()) : SITU_OK;
    situ_error raw;
    const situ_waiting terms = to_c(how);
    const situ_status status = situ_client_receive_of_with(handle(), call, &terms, &reply, &raw);
    if (status == SITU_ERROR_INTERRUPTED) return SITU_EMPTY;
    succeeded(status, reply, raw, why);
    return status;
  }

  /// Whether a take for this call returns at once, with a part, the end or an error.
  bool is_ready(std::uint64_t call) {
    for (const kept& one : kept_) {
      if (one.reply.call == call) return true;
    }
    situ_reply reply = none();
    failed why;
    const situ_status status = take_of(call, std::chrono::nanoseconds::zero(), reply, why);
    if (status == SITU_EMPTY) return false;
    // The take that follows finds the same error.
    if (status == SITU_ERROR_INVALID_ARGUMENT || status == SITU_ERROR_INTERNAL) return true;
    reply.call = call;
    keep(reply, std::move(why));
    return true;
  }

  [[nodiscard]] bool is_under_way(std::uint64_t call) const noexcept {
    for (const kept& one : kept_) {
      if (one.reply.call == call) return true;
    }
    return situ_client_is_under_way(handle(), call) != 0;
  }

  /// Ends a call. If the servers cannot be told, they answer in vain. What waits for the call is told last:
  /// it may destroy its caller, which therefore keeps this alive.
  void cancel(std::uint64_t call) noexcept {
    situ_client_cancel(handle(), call, nullptr);
    std::erase_if(kept_, [call](kept& one) {
      if (one.reply.call != call) return false;
      situ_sample_release(&one.reply.sample);
      return true;
    });
    if (receiver* const found = unlink(call); found != nullptr) found->drop();
  }

  void link(receiver& one) noexcept {
    one.next_ = first_;
    first_ = &one;
  }
  /// Unlinks what waits for a call. Returns null if nothing does.
  receiver* unlink(std::uint64_t call) noexcept {
    for (receiver** at = &first_; *at != nullptr; at = &(*at)->next_) {
      if ((*at)->call_ == call) {
        receiver* const found = *at;
        *at = found->next_;
        return found;
      }
    }
    return nullptr;
  }

  /// Takes all that is there, and delivers it. Replies to calls that nothing waits for are kept. Returns how
  /// many parts and ends of calls there were. An error that belongs to no call ends it.
  std::size_t dispatch(failed& why) {
    for (std::size_t count = 0;; ++count) {
      if (deliver_kept()) continue;
      situ_reply reply = none();
      situ_error raw;
      failed problem;
      const situ_status status = situ_client_take(handle(), &reply, &raw);
      if (status == SITU_EMPTY) return count;
      succeeded(status, reply, raw, problem);
      if (problem && reply.call == 0) {
        why = std::move(problem);
        return count;
      }
      if (receiver* const found = unlink(reply.call); found != nullptr) {
        found->receive(*this, reply, std::move(problem));
      } else {
        keep(reply, std::move(problem));
      }
    }
  }

  /// Whether `dispatch` delivers a reply that was taken before.
  [[nodiscard]] bool has_deliverable() const noexcept {
    for (const kept& one : kept_) {
      for (const receiver* at = first_; at != nullptr; at = at->next_) {
        if (at->call_ == one.reply.call) return true;
      }
    }
    return false;
  }

 private:
  /// A reply of which nothing was written.
  static situ_reply none() noexcept {
    situ_reply reply;
    reply.call = 0;
    reply.sample.state_ = 0;
    reply.sample.head = nullptr;
    return reply;
  }

  /// Delivers a kept reply for which something waits by now. Returns whether there was one.
  bool deliver_kept() {
    for (auto at = kept_.begin(); at != kept_.end(); ++at) {
      receiver* const found = unlink(at->reply.call);
      if (found == nullptr) continue;
      kept one = std::move(*at);
      kept_.erase(at);
      found->receive(*this, one.reply, std::move(one.why));
      return true;
    }
    return false;
  }

  /// A reply that was taken while nothing waited for it.
  struct kept {
    situ_reply reply;
    failed why;
  };

  void keep(const situ_reply& reply, failed&& why) { kept_.push_back({reply, std::move(why)}); }
  bool take_kept(std::uint64_t call, situ_reply& reply, failed& why) {
    for (auto at = kept_.begin(); at != kept_.end(); ++at) {
      if (at->reply.call != call) continue;
      reply = at->reply;
      why = std::move(at->why);
      kept_.erase(at);
      return true;
    }
    return false;
  }

  owner<situ_client> handle_;
  receiver* first_ = nullptr;
  std::vector<kept> kept_;
  region_memory requests_;
  std::vector<std::uint64_t> for_large_replies_;
};

}  // namespace situ::detail
