// The part of a subscriber that does not depend on its message type.
#pragma once

#include <chrono>
#include <cstddef>
#include <string>
#include <utility>

#include "situ.h"
#include "situ/bus/c_abi/error.hpp"
#include "situ/bus/c_abi/handle.hpp"
#include "situ/bus/c_abi/qos.hpp"
#include "situ/bus/c_abi/type.hpp"
#include "situ/bus/raii/device.hpp"
#include "situ/bus/raii/event.hpp"
#include "situ/bus/raii/interrupt.hpp"
#include "situ/bus/raii/node.hpp"
#include "situ/support/result.hpp"

namespace situ {

/// The statistics of a subscriber: see situ.h.
using subscriber_statistics = situ_subscriber_statistics;

/// Base of all subscribers: waiting, the file descriptor, events and statistics.
class any_subscriber {
 public:
  /// Waits until a message can be taken. Returns false if the timeout passes first. Zero only checks.
  [[nodiscard]] bool wait(std::chrono::nanoseconds timeout = forever) {
    situ_error raw;
    detail::failed why;
    const situ_status status = situ_subscriber_wait(handle_.get(), detail::limit_of(timeout), &raw);
    detail::succeeded(status, raw, why);
    detail::raise_if(why);
    return status == SITU_OK;
  }

  /// Waits until a message can be taken, or until an interrupter or a signal ends the wait. An interrupter
  /// ends it even when a message is available.
  [[nodiscard]] waited wait(const waiting& how) {
    situ_error raw;
    detail::failed why;
    const situ_waiting terms = detail::to_c(how);
    const waited ended = detail::ended(situ_subscriber_wait_with(handle_.get(), &terms, &raw), raw, why);
    detail::raise_if(why);
    return ended;
  }

  /// A descriptor for poll, epoll and the like, readable when a message can be taken. The subscriber owns it.
  /// On waking, call `clear_fd` first, then take until there is no message.
  [[nodiscard]] int fd() {
    detail::failed why;
    const int descriptor = make_fd(why);
    detail::raise_if(why);
    return descriptor;
  }
  /// As `fd`, without an exception.
  [[nodiscard]] result<int, error> try_fd() {
    detail::failed why;
    int descriptor = make_fd(why);
    return detail::result_of(std::move(descriptor), std::move(why));
  }
  /// Makes the descriptor unreadable until the next message.
  void clear_fd() noexcept { situ_subscriber_clear_fd(handle_.get()); }

  /// A publisher that matches has come or gone.
  [[nodiscard]] event<matched_status> matched_event() const { return make_event<matched_status>(); }
  /// A publisher has come that offers less than this subscriber requests.
  [[nodiscard]] event<incompatible_qos_status> incompatible_qos_event() const {
    return make_event<incompatible_qos_status>();
  }
  /// It has not taken a message within its deadline.
  [[nodiscard]] event<deadline_missed_status> deadline_missed_event() const {
    return make_event<deadline_missed_status>();
  }
  /// A publisher that matches has come or gone, has not shown in time that it is alive, or has shown it
  /// again.
  [[nodiscard]] event<liveliness_changed_status> liveliness_changed_event() const {
    return make_event<liveliness_changed_status>();
  }
  /// It has found that messages are lost.
  [[nodiscard]] event<messages_lost_status> messages_lost_event() const {
    return make_event<messages_lost_status>();
  }

  /// Messages taken, lost and skipped, and the number of publishers.
  [[nodiscard]] subscriber_statistics statistics() const noexcept {
    return situ_subscriber_get_statistics(handle_.get());
  }
  /// The number of samples that it may hold at a time.
  [[nodiscard]] std::size_t max_held() const noexcept { return max_held_; }
  /// Its id, under which the graph lists it.
  [[nodiscard]] endpoint_id id() const noexcept {
    endpoint_id made{};
    situ_subscriber_id(handle_.get(), made.data());
    return made;
  }
  /// The handle for the C interface.
  [[nodiscard]] situ_subscriber* handle() const noexcept { return handle_.get(); }

 protected:
  any_subscriber() = default;
  any_subscriber(any_subscriber&&) noexcept = default;
  any_subscriber& operator=(any_subscriber&&) noexcept = default;
  ~any_subscriber() = default;

  void create(const node& on, const std::string& topic, const subscriber_qos& qos, const placement& where,
              detail::type_description type, detail::failed& why) {
    situ_error raw;
    situ_subscriber* made = nullptr;
    const situ_subscriber_qos terms = detail::to_c(qos);
    const situ_placement place = detail::to_c(where);
    const situ_status status =
        situ_subscriber_create_in(on.handle(), topic.c_str(), type.get(), &terms, &place, &made, &raw);
    if (detail::succeeded(status, raw, why)) handle_.reset(made);
    max_held_ = terms.max_held != 0 ? terms.max_held : subscriber_qos{}.max_held;
  }

 private:
  template <class Status>
  event<Status> make_event() const {
    return detail::event_from<Status>(&situ_subscriber_event, handle_.get());
  }

  int make_fd(detail::failed& why) {
    situ_error raw;
    int descriptor = -1;
    detail::succeeded(situ_subscriber_fd(handle_.get(), &descriptor, &raw), raw, why);
    return descriptor;
  }

  detail::owner<situ_subscriber> handle_;
  std::size_t max_held_ = 0;
};

}  // namespace situ
