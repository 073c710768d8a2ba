// Events of publishers and subscriptions: rmw's statuses made of Situ's.
#include "topic/event.hpp"

#include <rmw/events_statuses/events_statuses.h>
#include <rmw/rmw.h>

#include <algorithm>
#include <limits>

#include "context.hpp"
#include "topic/publisher.hpp"
#include "topic/subscription.hpp"

namespace rmw_situ {
namespace {

struct Kind {
  rmw_event_type_t type;
  bool is_of_publishers;
  // A situ_event_kind; -1 for what never happens.
  int kind;
};

// A type that does not fit is an error when an endpoint is made, so that no event of it can follow.
constexpr Kind kinds[] = {
    {RMW_EVENT_LIVELINESS_CHANGED, false, SITU_EVENT_LIVELINESS_CHANGED},
    {RMW_EVENT_REQUESTED_DEADLINE_MISSED, false, SITU_EVENT_DEADLINE_MISSED},
    {RMW_EVENT_REQUESTED_QOS_INCOMPATIBLE, false, SITU_EVENT_INCOMPATIBLE_QOS},
    {RMW_EVENT_MESSAGE_LOST, false, SITU_EVENT_MESSAGES_LOST},
    {RMW_EVENT_SUBSCRIPTION_INCOMPATIBLE_TYPE, false, -1},
    {RMW_EVENT_SUBSCRIPTION_MATCHED, false, SITU_EVENT_MATCHED},
    {RMW_EVENT_LIVELINESS_LOST, true, SITU_EVENT_LIVELINESS_LOST},
    {RMW_EVENT_OFFERED_DEADLINE_MISSED, true, SITU_EVENT_DEADLINE_MISSED},
    {RMW_EVENT_OFFERED_QOS_INCOMPATIBLE, true, SITU_EVENT_INCOMPATIBLE_QOS},
    {RMW_EVENT_PUBLISHER_INCOMPATIBLE_TYPE, true, -1},
    {RMW_EVENT_PUBLICATION_MATCHED, true, SITU_EVENT_MATCHED},
};

const Kind* find_kind(rmw_event_type_t type) {
  const auto found = std::ranges::find(kinds, type, &Kind::type);
  return found == std::end(kinds) ? nullptr : found;
}

int32_t narrow(uint64_t number) {
  return static_cast<int32_t>(std::min<uint64_t>(number, std::numeric_limits<int32_t>::max()));
}

int32_t narrow(int64_t number) {
  return static_cast<int32_t>(
      std::clamp<int64_t>(number, std::numeric_limits<int32_t>::min(), std::numeric_limits<int32_t>::max()));
}

rmw_qos_policy_kind_t to_policy(uint32_t policy) {
  switch (policy) {
    case SITU_POLICY_RELIABILITY:
      return RMW_QOS_POLICY_RELIABILITY;
    case SITU_POLICY_DURABILITY:
      return RMW_QOS_POLICY_DURABILITY;
    case SITU_POLICY_DEADLINE:
      return RMW_QOS_POLICY_DEADLINE;
    case SITU_POLICY_LIVELINESS:
      return RMW_QOS_POLICY_LIVELINESS;
    default:
      return RMW_QOS_POLICY_INVALID;
  }
}

// The status whose first members are a total and its change: all but liveliness and matches.
template <class Status>
size_t add_total(Status& kept, const Status& fresh) {
  const uint64_t change = kept.total_count_change + fresh.total_count_change;
  kept = fresh;
  kept.total_count_change = change;
  return static_cast<size_t>(fresh.total_count_change);
}

}  // namespace

Event::Event(rmw_event_type_t type, situ_event* event, Listener& listener)
    : type_(type), event_(event), listener_(listener), wake_(GuardCondition::make()) {
  if (!wake_) throw std::bad_alloc();
}

Event::~Event() {
  listener_.remove(*this);
  detach();
}

size_t Event::collect() {
  if (!event_) return 0;
  const situ_event_status fresh = situ_event_take(event_.get());
  size_t number = 0;
  switch (find_kind(type_)->kind) {
    case SITU_EVENT_MATCHED: {
      const int64_t current = kept_.matched.current_count_change + fresh.matched.current_count_change;
      number = add_total(kept_.matched, fresh.matched);
      kept_.matched.current_count_change = current;
      if (number == 0) number = fresh.matched.current_count_change != 0;
      break;
    }
    case SITU_EVENT_LIVELINESS_CHANGED: {
      auto status = fresh.liveliness_changed;
      number = status.alive_count_change != 0 || status.not_alive_count_change != 0;
      status.alive_count_change += kept_.liveliness_changed.alive_count_change;
      status.not_alive_count_change += kept_.liveliness_changed.not_alive_count_change;
      kept_.liveliness_changed = status;
      break;
    }
    case SITU_EVENT_INCOMPATIBLE_QOS:
      number = add_total(kept_.incompatible_qos, fresh.incompatible_qos);
      break;
    case SITU_EVENT_DEADLINE_MISSED:
      number = add_total(kept_.deadline_missed, fresh.deadline_missed);
      break;
    case SITU_EVENT_LIVELINESS_LOST:
      number = add_total(kept_.liveliness_lost, fresh.liveliness_lost);
      break;
    case SITU_EVENT_MESSAGES_LOST:
      number = add_total(kept_.messages_lost, fresh.messages_lost);
      break;
  }
  has_kept_ = has_kept_ || number != 0;
  return number;
}

void Event::take(void* info) {
  const std::lock_guard lock(mutex_);
  collect();
  has_kept_ = false;
  switch (type_) {
    case RMW_EVENT_LIVELINESS_CHANGED: {
      auto& status = kept_.liveliness_changed;
      *static_cast<rmw_liveliness_changed_status_t*>(info) = {
          narrow(status.alive_count), narrow(status.not_alive_count), narrow(status.alive_count_change),
          narrow(status.not_alive_count_change)};
      status.alive_count_change = status.not_alive_count_change = 0;
      break;
    }
    case RMW_EVENT_SUBSCRIPTION_MATCHED:
    case RMW_EVENT_PUBLICATION_MATCHED: {
      auto& status = kept_.matched;
      *static_cast<rmw_matched_status_t*>(info) = {status.total_count, status.total_count_change,
                                                   status.current_count, narrow(status.current_count_change)};
      status.total_count_change = 0;
      status.current_count_change = 0;
      break;
    }
    case RMW_EVENT_REQUESTED_QOS_INCOMPATIBLE:
    case RMW_EVENT_OFFERED_QOS_INCOMPATIBLE: {
      auto& status = kept_.incompatible_qos;
      *static_cast<rmw_qos_incompatible_event_status_t*>(info) = {
          narrow(status.total_count), narrow(status.total_count_change), to_policy(status.last_policy)};
      status.total_count_change = 0;
      break;
    }
    case RMW_EVENT_REQUESTED_DEADLINE_MISSED:
    case RMW_EVENT_OFFERED_DEADLINE_MISSED: {
      auto& status = kept_.deadline_missed;
      // Both types have the same members.
      *static_cast<rmw_offered_deadline_missed_status_t*>(info) = {narrow(status.total_count),
                                                                   narrow(status.total_count_change)};
      status.total_count_change = 0;
      break;
    }
    case RMW_EVENT_LIVELINESS_LOST: {
      auto& status = kept_.liveliness_lost;
      *static_cast<rmw_liveliness_lost_status_t*>(info) = {narrow(status.total_count),
                                                           narrow(status.total_count_change)};
      status.total_count_change = 0;
      break;
    }
    case RMW_EVENT_MESSAGE_LOST: {
      auto& status = kept_.messages_lost;
      *static_cast<rmw_message_lost_status_t*>(info) = {status.total_count, status.total_count_change};
      status.total_count_change = 0;
      break;
    }
    default:
      *static_cast<rmw_incompatible_type_status_t*>(info) = {0, 0};
      break;
  }
}

size_t Event::matched() {
  const std::lock_guard lock(mutex_);
  if (collect() != 0) wake_->trigger();
  return kept_.matched.current_count;
}

rmw_ret_t Event::set_callback(rmw_event_callback_t callback, const void* user_data) {
  {
    const std::lock_guard lock(mutex_);
    has_callback_ = callback != nullptr;
  }
  // A wait set that it is attached to attaches it anew, as it is now.
  detach();
  return listener_.set(*this, callback, user_data);
}

situ_status Event::attach(situ_wait_set* set, uint64_t* id, situ_error* error) {
  bool waits_for_event;
  {
    const std::lock_guard lock(mutex_);
    waits_for_event = event_ && !has_callback_;
  }
  return waits_for_event ? situ_wait_set_attach_event(set, event_.get(), id, error)
                         : wake_->attach(set, id, error);
}

bool Event::has_kept() {
  const std::lock_guard lock(mutex_);
  return has_kept_;
}

bool Event::confirm() {
  const std::lock_guard lock(mutex_);
  collect();
  return has_kept_;
}

situ_status Event::listen(situ_wait_set* set, uint64_t* id, situ_error* error) {
  if (event_) return situ_wait_set_attach_event(set, event_.get(), id, error);
  return wake_->attach(set, id, error);
}

size_t Event::count_new() {
  const std::lock_guard lock(mutex_);
  const size_t number = collect();
  if (number != 0) wake_->trigger();
  return number;
}

Event* Events::get(rmw_event_type_t type) {
  const Kind* const kind = find_kind(type);
  if (kind == nullptr || kind->is_of_publishers != is_publisher_) {
    RMW_SET_ERROR_MSG_WITH_FORMAT_STRING("a %s has no event of type %d",
                                         is_publisher_ ? "publisher" : "subscription", int(type));
    return nullptr;
  }
  const std::lock_guard lock(mutex_);
  std::unique_ptr<Event>& event = events_[type];
  if (!event) {
    situ_event* handle = nullptr;
    situ_error error;
    if (kind->kind >= 0 && make_(static_cast<uint32_t>(kind->kind), &handle, &error) != SITU_OK) {
      failed("cannot make", "event", error);
      return nullptr;
    }
    auto made = std::make_unique<Event>(type, handle, context_.listener);
    if (handle != nullptr && context_.start_events(handle, &error) != SITU_OK) {
      failed("cannot look for", "events", error);
      return nullptr;
    }
    event = std::move(made);
  }
  return event.get();
}

void Events::clear() {
  const std::lock_guard lock(mutex_);
  for (auto& event : events_) event.reset();
}

namespace {

template <class Endpoint>
rmw_ret_t init_event(rmw_event_t* rmw_event, Endpoint& endpoint, rmw_event_type_t type) {
  return guarded(RMW_RET_BAD_ALLOC, [&] {
    if (rmw_event->implementation_identifier != nullptr) {
      RMW_SET_ERROR_MSG("expected a zero-initialized event");
      return RMW_RET_INVALID_ARGUMENT;
    }
    if (!rmw_event_type_is_supported(type)) {
      RMW_SET_ERROR_MSG_WITH_FORMAT_STRING("%d is no type of events that rmw_situ has", int(type));
      return RMW_RET_UNSUPPORTED;
    }
    Event* const event = endpoint.events.get(type);
    if (event == nullptr) return RMW_RET_INVALID_ARGUMENT;
    rmw_event->implementation_identifier = identifier;
    rmw_event->data = event;
    rmw_event->event_type = type;
    return RMW_RET_OK;
  });
}

}  // namespace
}  // namespace rmw_situ

using namespace rmw_situ;

extern "C" {

bool rmw_event_type_is_supported(rmw_event_type_t rmw_event_type) {
  return find_kind(rmw_event_type) != nullptr;
}

rmw_ret_t rmw_publisher_event_init(rmw_event_t* rmw_event, const rmw_publisher_t* publisher,
                                   rmw_event_type_t event_type) {
  SITU_CHECK_ARGUMENT(rmw_event);
  SITU_CHECK_HANDLE(publisher);
  return init_event(rmw_event, *static_cast<Publisher*>(publisher->data), event_type);
}

rmw_ret_t rmw_subscription_event_init(rmw_event_t* rmw_event, const rmw_subscription_t* subscription,
                                      rmw_event_type_t event_type) {
  SITU_CHECK_ARGUMENT(rmw_event);
  SITU_CHECK_HANDLE(subscription);
  return init_event(rmw_event, *static_cast<Subscription*>(subscription->data), event_type);
}

rmw_ret_t rmw_take_event(const rmw_event_t* event_handle, void* event_info, bool* taken) {
  SITU_CHECK_HANDLE(event_handle);
  SITU_CHECK_ARGUMENT(event_info);
  SITU_CHECK_ARGUMENT(taken);
  static_cast<Event*>(event_handle->data)->take(event_info);
  *taken = true;
  return RMW_RET_OK;
}

rmw_ret_t rmw_event_set_callback(rmw_event_t* rmw_event, rmw_event_callback_t callback,
                                 const void* user_data) {
  SITU_CHECK_HANDLE(rmw_event);
  return guarded(RMW_RET_BAD_ALLOC,
                 [&] { return static_cast<Event*>(rmw_event->data)->set_callback(callback, user_data); });
}

}  // extern "C"
