// Events of publishers and subscriptions.
#pragma once

#include <rmw/event.h>
#include <situ/events.h>

#include <array>
#include <functional>
#include <memory>
#include <mutex>

#include "support/check.hpp"
#include "wait/guard_condition.hpp"
#include "wait/listener.hpp"
#include "wait/waitable.hpp"

struct rmw_context_impl_s;

namespace rmw_situ {

// One event of an endpoint. All threads may use it at once.
class Event final : public Waitable, public Listened {
 public:
  // `event` may be NULL for an event that never happens.
  Event(rmw_event_type_t type, situ_event* event, Listener& listener);
  ~Event() override;

  // Writes the status of its type, and begins to count changes anew.
  void take(void* info);
  // The present number of matches.
  size_t matched();

  rmw_ret_t set_callback(rmw_event_callback_t callback, const void* user_data);

  situ_status attach(situ_wait_set* set, uint64_t* id, situ_error* error) override;
  bool has_kept() override;
  bool confirm() override;
  situ_status listen(situ_wait_set* set, uint64_t* id, situ_error* error) override;
  size_t count_new() override;
  size_t count_unread() override { return count_new(); }

 private:
  // Adds what has happened since to what is kept. Returns how much that is. The mutex is held.
  size_t collect();

  const rmw_event_type_t type_;
  const Handle<situ_event, situ_event_destroy> event_;
  Listener& listener_;
  // What wait sets wait for while a callback consumes the changes, or if nothing ever happens.
  const std::unique_ptr<GuardCondition> wake_;
  std::mutex mutex_;
  bool has_callback_ = false;
  bool has_kept_ = false;
  situ_event_status kept_ = {};
};

// The events of an endpoint, each made when it is first asked for.
class Events {
 public:
  using Make = std::function<situ_status(uint32_t kind, situ_event** event, situ_error* error)>;

  Events(Make make, bool is_publisher, rmw_context_impl_s& context)
      : make_(std::move(make)), is_publisher_(is_publisher), context_(context) {}

  // NULL, with rmw's error state set, if the endpoint has no such event.
  Event* get(rmw_event_type_t type);
  void clear();

 private:
  const Make make_;
  const bool is_publisher_;
  rmw_context_impl_s& context_;
  std::mutex mutex_;
  // By type. Jazzy has no RMW_EVENT_TYPE_MAX, but the last type is the same in all releases.
  std::array<std::unique_ptr<Event>, RMW_EVENT_PUBLICATION_MATCHED + 1> events_;
};

}  // namespace rmw_situ
