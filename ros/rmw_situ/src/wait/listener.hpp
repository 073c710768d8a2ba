// The thread of a context: it calls callbacks for new messages, requests, responses and events, and notices
// changes of the graph.
#pragma once

#include <rmw/event_callback_type.h>
#include <situ.h>
#include <situ/execute.h>

#include <functional>
#include <memory>
#include <mutex>
#include <thread>
#include <unordered_map>

#include "support/check.hpp"

namespace rmw_situ {

class Listened;

// The callback of something.
struct Callback {
  // Held while the callback runs, which may set this or another callback itself, or destroy what it belongs
  // to. So a callback that takes long delays no other one, and not the setting of others.
  std::recursive_mutex mutex;
  // Its number in the set of the listener. 0: there is no callback.
  uint64_t id = 0;
  Listened* listened = nullptr;
  rmw_event_callback_t call = nullptr;
  const void* user_data = nullptr;
};

// What has callbacks.
class Listened {
 public:
  virtual ~Listened() = default;
  // Attaches it to the set of the listener.
  virtual situ_status listen(situ_wait_set* set, uint64_t* id, situ_error* error) = 0;
  // How much is new since the last call. The set has reported it.
  virtual size_t count_new() = 0;
  // How much was there before the callback was set.
  virtual size_t count_unread() = 0;

 private:
  friend class Listener;
  // The thread of the listener may have it longer.
  const std::shared_ptr<Callback> callback_ = std::make_shared<Callback>();
};

// All threads may use it at once.
class Listener {
 public:
  Listener() = default;
  ~Listener();

  // Begins to call `changed` when the descriptor is readable. Once.
  rmw_ret_t start(const situ_node* node, int descriptor, std::function<void()> changed);

  // Sets the callback of something, or removes it if `callback` is NULL. Afterwards a callback that was set
  // before is not called any more.
  rmw_ret_t set(Listened& listened, rmw_event_callback_t callback, const void* user_data);
  // Calls the callback of something for what is new, if it has one, on this thread.
  void tell(Listened& listened);
  // The callback is removed, if there is one.
  void remove(Listened& listened);

 private:
  void run();
  // Both: the lock of the callback is held.
  static void call(const Callback& callback, size_t number);
  void detach(Callback& callback);

  Handle<situ_wait_set, situ_wait_set_destroy> set_;
  Handle<situ_guard_condition, situ_guard_condition_destroy> stop_;
  uint64_t stop_id_ = 0;
  uint64_t graph_id_ = 0;
  std::function<void()> changed_;
  std::thread thread_;
  // Not held while a callback runs. It may be taken while that of a callback is held.
  std::mutex mutex_;
  // Those in the set, by their numbers.
  std::unordered_map<uint64_t, std::shared_ptr<Callback>> callbacks_;
};

}  // namespace rmw_situ
