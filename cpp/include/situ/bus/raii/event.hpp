// Events of publishers and subscribers, and their statuses.
#pragma once

#include <cstdint>
#include <memory>

#include "situ.h"
#include "situ/bus/c_abi/error.hpp"
#include "situ/bus/c_abi/handle.hpp"
#include "situ/events.h"

namespace situ {

/// The statuses of events: see situ/events.h.
using matched_status = situ_matched_status;
using incompatible_qos_status = situ_incompatible_qos_status;
using deadline_missed_status = situ_deadline_missed_status;
using liveliness_lost_status = situ_liveliness_lost_status;
using liveliness_changed_status = situ_liveliness_changed_status;
using messages_lost_status = situ_messages_lost_status;

/// A policy that decides whether a publisher and a subscriber match. `last_policy` of a status is one of
/// them, `policies` the sum of some.
enum class qos_policy : std::uint32_t {
  reliability = SITU_POLICY_RELIABILITY,
  durability = SITU_POLICY_DURABILITY,
  deadline = SITU_POLICY_DEADLINE,
  liveliness = SITU_POLICY_LIVELINESS,
};

namespace detail {

/// The kind of a status in C, and how to read it.
template <auto Member, std::uint32_t Kind>
struct event_kind {
  static constexpr std::uint32_t kind = Kind;
  static auto read(const situ_event_status& status) noexcept { return status.*Member; }
};

template <class Status>
struct event_of;
template <>
struct event_of<matched_status> : event_kind<&situ_event_status::matched, SITU_EVENT_MATCHED> {};
template <>
struct event_of<incompatible_qos_status>
    : event_kind<&situ_event_status::incompatible_qos, SITU_EVENT_INCOMPATIBLE_QOS> {};
template <>
struct event_of<deadline_missed_status>
    : event_kind<&situ_event_status::deadline_missed, SITU_EVENT_DEADLINE_MISSED> {};
template <>
struct event_of<liveliness_lost_status>
    : event_kind<&situ_event_status::liveliness_lost, SITU_EVENT_LIVELINESS_LOST> {};
template <>
struct event_of<liveliness_changed_status>
    : event_kind<&situ_event_status::liveliness_changed, SITU_EVENT_LIVELINESS_CHANGED> {};
template <>
struct event_of<messages_lost_status>
    : event_kind<&situ_event_status::messages_lost, SITU_EVENT_MESSAGES_LOST> {};

}  // namespace detail

/// An event of a publisher or subscriber, with its status: taken, waited for in a `wait_set`, or called back
/// by an `executor`. Copies are the same event. It may be used by other threads, and outlive its publisher or
/// subscriber.
template <class Status>
class event {
 public:
  /// From a handle of the C interface, which it owns from here on.
  explicit event(situ_event* handle) : handle_(handle, detail::destroyer{}) {}

  /// The status. Its changes are those since the last call.
  [[nodiscard]] Status take() const noexcept {
    return detail::event_of<Status>::read(situ_event_take(handle_.get()));
  }
  /// The handle for the C interface.
  [[nodiscard]] const situ_event* handle() const noexcept { return handle_.get(); }

 private:
  std::shared_ptr<situ_event> handle_;
};

namespace detail {

/// Makes an event of a publisher or subscriber.
template <class Status, class Endpoint>
event<Status> event_from(situ_status (*make)(const Endpoint*, std::uint32_t, situ_event**, situ_error*),
                         const Endpoint* endpoint) {
  situ_error raw;
  failed why;
  situ_event* made = nullptr;
  succeeded(make(endpoint, event_of<Status>::kind, &made, &raw), raw, why);
  raise_if(why);
  return event<Status>(made);
}

}  // namespace detail
}  // namespace situ
