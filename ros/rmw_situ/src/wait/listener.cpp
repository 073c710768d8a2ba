// The thread that calls callbacks.
#include "wait/listener.hpp"

#include <pthread.h>

#include <csignal>

namespace rmw_situ {

Listener::~Listener() {
  if (!thread_.joinable()) return;
  situ_guard_condition_trigger(stop_.get());
  thread_.join();
}

rmw_ret_t Listener::start(const situ_node* node, int descriptor, std::function<void()> changed) {
  const std::lock_guard lock(mutex_);
  if (thread_.joinable()) return RMW_RET_OK;
  situ_error error;
  situ_wait_set* set;
  situ_guard_condition* stop;
  if (situ_wait_set_create(node, &set, &error) != SITU_OK) return failed("cannot start", "listener", error);
  set_.reset(set);
  if (situ_guard_condition_create(&stop, &error) != SITU_OK) return failed("cannot start", "listener", error);
  stop_.reset(stop);
  if (situ_wait_set_attach_guard_condition(set, stop, &stop_id_, &error) != SITU_OK ||
      situ_wait_set_attach_descriptor(set, descriptor, SITU_READABLE, &graph_id_, &error) != SITU_OK) {
    return failed("cannot start", "listener", error);
  }
  changed_ = std::move(changed);
  // Signals are handled by threads of the program.
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  const auto restore = std::unique_ptr<sigset_t, void (*)(sigset_t*)>(
      &before, [](sigset_t* mask) { pthread_sigmask(SIG_SETMASK, mask, nullptr); });
  thread_ = std::thread([this] { run(); });
  return RMW_RET_OK;
}

void Listener::run() {
  situ_ready ready[64];
  for (;;) {
    size_t count = 0;
    if (situ_wait_set_wait(set_.get(), SITU_FOREVER, ready, std::size(ready), &count, nullptr) < 0) return;
    for (size_t i = 0; i < count; ++i) {
      if (ready[i].id == stop_id_) return;
      if (ready[i].id == graph_id_) {
        changed_();
        continue;
      }
      const std::lock_guard lock(mutex_);
      const auto found = callbacks_.find(ready[i].id);
      if (found == callbacks_.end()) continue;
      const Callback callback = found->second;
      const size_t number = callback.listened->count_new();
      if (number != 0) callback.call(callback.user_data, number);
    }
  }
}

rmw_ret_t Listener::set(Listened& listened, rmw_event_callback_t callback, const void* user_data) {
  const std::lock_guard lock(mutex_);
  remove(listened);
  if (callback == nullptr) return RMW_RET_OK;
  situ_error error;
  uint64_t id;
  if (listened.listen(set_.get(), &id, &error) != SITU_OK) return failed("cannot set", "callback", error);
  callbacks_.emplace(id, Callback{&listened, callback, user_data});
  const size_t unread = listened.count_unread();
  if (unread != 0) callback(user_data, unread);
  return RMW_RET_OK;
}

void Listener::tell(Listened& listened) {
  const std::lock_guard lock(mutex_);
  for (const auto& [id, known] : callbacks_) {
    if (known.listened != &listened) continue;
    // The callback may set callbacks.
    const Callback callback = known;
    const size_t number = listened.count_new();
    if (number != 0) callback.call(callback.user_data, number);
    return;
  }
}

void Listener::remove(Listened& listened) {
  const std::lock_guard lock(mutex_);
  std::erase_if(callbacks_, [&](const auto& item) {
    if (item.second.listened != &listened) return false;
    situ_wait_set_detach(set_.get(), item.first);
    return true;
  });
}

}  // namespace rmw_situ
