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
      const uint64_t id = ready[i].id;
      if (id == stop_id_) return;
      // What runs out of memory is ready again at the next wait.
      const rmw_ret_t ret = guarded(RMW_RET_BAD_ALLOC, [&]() -> rmw_ret_t {
        if (id == graph_id_) {
          changed_();
          return RMW_RET_OK;
        }
        std::shared_ptr<Callback> callback;
        {
          const std::lock_guard lock(mutex_);
          const auto found = callbacks_.find(id);
          if (found == callbacks_.end()) return RMW_RET_OK;
          callback = found->second;
        }
        const std::lock_guard lock(callback->mutex);
        // Otherwise it was removed or replaced meanwhile.
        if (callback->id == id) call(*callback, callback->listened->count_new());
        return RMW_RET_OK;
      });
      if (ret != RMW_RET_OK) rmw_reset_error();
    }
  }
}

void Listener::call(const Callback& callback, size_t number) {
  if (number == 0) return;
  // The callback may set another one, or destroy what it belongs to.
  const rmw_event_callback_t function = callback.call;
  function(callback.user_data, number);
}

void Listener::detach(Callback& callback) {
  if (callback.id == 0) return;
  const std::lock_guard lock(mutex_);
  situ_wait_set_detach(set_.get(), callback.id);
  callbacks_.erase(callback.id);
  callback.id = 0;
}

rmw_ret_t Listener::set(Listened& listened, rmw_event_callback_t function, const void* user_data) {
  const std::shared_ptr<Callback> callback = listened.callback_;
  const std::lock_guard lock(callback->mutex);
  detach(*callback);
  if (function == nullptr) return RMW_RET_OK;
  callback->listened = &listened;
  callback->call = function;
  callback->user_data = user_data;
  {
    const std::lock_guard both(mutex_);
    // What may fail comes first.
    callbacks_.reserve(callbacks_.size() + 1);
    situ_error error;
    uint64_t id;
    if (listened.listen(set_.get(), &id, &error) != SITU_OK) return failed("cannot set", "callback", error);
    callbacks_.emplace(id, callback);
    callback->id = id;
  }
  call(*callback, listened.count_unread());
  return RMW_RET_OK;
}

void Listener::tell(Listened& listened) {
  const std::shared_ptr<Callback> callback = listened.callback_;
  const std::lock_guard lock(callback->mutex);
  if (callback->id != 0) call(*callback, listened.count_new());
}

void Listener::remove(Listened& listened) {
  const std::shared_ptr<Callback> callback = listened.callback_;
  const std::lock_guard lock(callback->mutex);
  detach(*callback);
}

}  // namespace rmw_situ
