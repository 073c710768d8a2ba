// Waiting: rmw_wait and what it keeps between two calls.
#include "wait/wait_set.hpp"

#include <rmw/rmw.h>
#include <rmw/time.h>

#include <chrono>

#include "context.hpp"
#include "service/client.hpp"
#include "service/server.hpp"
#include "topic/event.hpp"
#include "topic/subscription.hpp"
#include "wait/guard_condition.hpp"

namespace rmw_situ {

std::mutex& attachments() {
  // Never destroyed: threads may still wait while the program ends.
  static auto* const mutex = new std::mutex;
  return *mutex;
}

void Waitable::detach() {
  const std::lock_guard lock(attachments());
  if (set_ == nullptr) return;
  situ_wait_set_detach(set_->set_.get(), id_);
  set_->attached_.erase(id_);
  set_ = nullptr;
}

WaitSet::WaitSet(rmw_context_t* context) : context_(context), polling_(context->impl->spin_ns) {}

WaitSet::~WaitSet() {
  const std::lock_guard lock(attachments());
  for (auto& [id, waitable] : attached_) {
    situ_wait_set_detach(set_.get(), id);
    waitable->set_ = nullptr;
  }
}

// Attaches the entries that are not attached yet, taking them from other sets, and detaches all others.
rmw_ret_t WaitSet::attach_entries() {
  const std::lock_guard lock(attachments());
  situ_error error;
  if (!set_) {
    situ_wait_set* set;
    if (context_->impl->create_wait_set(&set, &error) != SITU_OK)
      return failed("cannot wait in context", "", error);
    set_.reset(set);
  }
  ++round_;
  size_t distinct = 0;
  for (const Entry& entry : entries) {
    Waitable& waitable = *entry.waitable;
    distinct += waitable.set_ != this || waitable.wanted_ != round_;
    waitable.wanted_ = round_;
    waitable.reported_.store(false, std::memory_order_relaxed);
    if (waitable.set_ == this) continue;
    if (waitable.set_ != nullptr) {
      situ_wait_set_detach(waitable.set_->set_.get(), waitable.id_);
      waitable.set_->attached_.erase(waitable.id_);
      waitable.set_ = nullptr;
    }
    uint64_t id;
    if (waitable.attach(set_.get(), &id, &error) != SITU_OK)
      return failed("cannot wait for", "an entity", error);
    attached_.emplace(id, &waitable);
    waitable.set_ = this;
    waitable.id_ = id;
  }
  if (attached_.size() > distinct) {
    std::erase_if(attached_, [&](const auto& item) {
      if (item.second->wanted_ == round_) return false;
      situ_wait_set_detach(set_.get(), item.first);
      item.second->set_ = nullptr;
      return true;
    });
  }
  ready_.resize(attached_.size() + 1);
  return RMW_RET_OK;
}

// Whether an entry is ready.
bool WaitSet::look() {
  for (const Entry& entry : entries) {
    Waitable& waitable = *entry.waitable;
    if (waitable.reported_.load(std::memory_order_relaxed) ? waitable.confirm() : waitable.has_kept())
      return true;
    if (!entry.is_guard) waitable.reported_.store(false, std::memory_order_relaxed);
  }
  return false;
}

rmw_ret_t WaitSet::wait(const rmw_time_t* timeout) {
  const rmw_ret_t ret = attach_entries();
  if (ret != RMW_RET_OK) return ret;

  uint64_t limit = timeout == nullptr
                       ? SITU_FOREVER
                       : static_cast<uint64_t>(std::max<int64_t>(rmw_time_total_nsec(*timeout), 0));
  const bool is_limited = limit < static_cast<uint64_t>(INT64_MAX) / 2;
  const uint64_t begin = situ_now_ns();
  if (limit < Polling::longest_poll_ns) limit = std::max(limit, polling_.begin(begin));
  bool any = false;
  for (const Entry& entry : entries) any = any || entry.waitable->has_kept();
  do {
    uint64_t left = SITU_FOREVER;
    if (any) {
      left = 0;
    } else if (is_limited) {
      const uint64_t passed = situ_now_ns() - begin;
      left = passed < limit ? limit - passed : 0;
    }
    size_t count = 0;
    situ_error error;
    const situ_status status =
        situ_wait_set_wait(set_.get(), left, ready_.data(), ready_.size(), &count, &error);
    if (status < 0) return failed("cannot wait", "", error);
    {
      const std::lock_guard lock(attachments());
      for (size_t i = 0; i < count; ++i) {
        const auto found = attached_.find(ready_[i].id);
        if (found != attached_.end()) found->second->reported_.store(true, std::memory_order_relaxed);
      }
    }
    if (!any && status == SITU_EMPTY) break;
    any = any || look();
  } while (!any);

  any = false;
  for (const Entry& entry : entries) {
    Waitable& waitable = *entry.waitable;
    const bool is_ready =
        waitable.reported_.load(std::memory_order_relaxed) ? waitable.confirm() : waitable.has_kept();
    if (!is_ready) *entry.place = nullptr;
    any = any || is_ready;
  }
  if (any || limit >= Polling::longest_poll_ns) polling_.end();
  return any ? RMW_RET_OK : RMW_RET_TIMEOUT;
}

}  // namespace rmw_situ

using namespace rmw_situ;

extern "C" {

rmw_wait_set_t* rmw_create_wait_set(rmw_context_t* context, size_t) {
  SITU_CHECK_HANDLE_OR_NULL(context);
  RMW_CHECK_FOR_NULL_WITH_MSG(context->impl, "expected initialized context", return nullptr);
  return guarded<>(static_cast<rmw_wait_set_t*>(nullptr), [&] {
    auto set = std::make_unique<WaitSet>(context);
    rmw_wait_set_t* handle = rmw_wait_set_allocate();
    if (handle == nullptr) throw std::bad_alloc();
    *handle = {};
    handle->implementation_identifier = identifier;
    handle->data = set.release();
    return handle;
  });
}

rmw_ret_t rmw_destroy_wait_set(rmw_wait_set_t* wait_set) {
  SITU_CHECK_HANDLE(wait_set);
  delete static_cast<WaitSet*>(wait_set->data);
  rmw_wait_set_free(wait_set);
  return RMW_RET_OK;
}

rmw_ret_t rmw_wait(rmw_subscriptions_t* subscriptions, rmw_guard_conditions_t* guard_conditions,
                   rmw_services_t* services, rmw_clients_t* clients, rmw_events_t* events,
                   rmw_wait_set_t* wait_set, const rmw_time_t* wait_timeout) {
  SITU_CHECK_HANDLE(wait_set);
  return guarded(RMW_RET_ERROR, [&] {
    WaitSet& set = *static_cast<WaitSet*>(wait_set->data);
    set.entries.clear();
    // The arrays have `data` of the handles, and for events the handles. Places may be NULL.
    const auto add = [&]<class T>(void** places, size_t count, bool is_guard) {
      for (size_t i = 0; i < count; ++i) {
        if (places[i] != nullptr) set.entries.push_back({static_cast<T*>(places[i]), &places[i], is_guard});
      }
    };
    if (subscriptions)
      add.template operator()<Subscription>(subscriptions->subscribers, subscriptions->subscriber_count,
                                            false);
    if (guard_conditions) {
      add.template operator()<GuardCondition>(guard_conditions->guard_conditions,
                                              guard_conditions->guard_condition_count, true);
    }
    if (services) add.template operator()<Server>(services->services, services->service_count, false);
    if (clients) add.template operator()<Client>(clients->clients, clients->client_count, false);
    for (size_t i = 0; events && i < events->event_count; ++i) {
      auto* const event = static_cast<rmw_event_t*>(events->events[i]);
      if (event != nullptr)
        set.entries.push_back({static_cast<Event*>(event->data), &events->events[i], false});
    }
    return set.wait(wait_timeout);
  });
}

}  // extern "C"
