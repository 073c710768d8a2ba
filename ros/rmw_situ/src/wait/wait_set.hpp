// A wait set, which keeps its sources attached from one wait to the next.
#pragma once

#include <rmw/types.h>

#include <unordered_map>
#include <vector>

#include "support/check.hpp"
#include "wait/polling.hpp"
#include "wait/waitable.hpp"

namespace rmw_situ {

class WaitSet {
 public:
  explicit WaitSet(rmw_context_t* context);
  ~WaitSet();

  // A place of rmw's arrays, which becomes NULL if its waitable is not ready.
  struct Entry {
    Waitable* waitable;
    void** place;
    // Whether it is ready only by a report, which is made once.
    bool is_guard;
  };
  // The entries of the next wait. The caller fills it.
  std::vector<Entry> entries;

  // Waits until one of the entries is ready. Sets the places of those that are not to NULL.
  rmw_ret_t wait(const rmw_time_t* timeout);

 private:
  friend Waitable;

  rmw_ret_t attach_entries();
  bool look();

  rmw_context_t* const context_;
  Handle<situ_wait_set, situ_wait_set_destroy> set_;
  // Protected by `attachments`.
  std::unordered_map<uint64_t, Waitable*> attached_;
  std::vector<situ_ready> ready_;
  Polling polling_;
  uint64_t round_ = 0;
};

}  // namespace rmw_situ
