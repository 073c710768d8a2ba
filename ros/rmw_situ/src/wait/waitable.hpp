// What a wait set waits for: subscriptions, guard conditions, services, clients and events.
#pragma once

#include <situ.h>
#include <situ/execute.h>

#include <atomic>
#include <cstdint>
#include <mutex>

namespace rmw_situ {

class WaitSet;

// Protects which waitable is attached to which wait set, in the whole process. Nothing waits while it is
// held.
std::mutex& attachments();

class Waitable {
 public:
  Waitable() = default;
  Waitable(const Waitable&) = delete;
  virtual ~Waitable() = default;

  // Attaches it to a set of Situ's. INVALID_ARGUMENT and the like as Situ says.
  virtual situ_status attach(situ_wait_set* set, uint64_t* id, situ_error* error) = 0;
  // Whether it is ready without the set's knowledge, because something of it is kept here.
  virtual bool has_kept() { return false; }
  // Whether it is ready, when the set has reported it.
  virtual bool confirm() { return true; }

 protected:
  // Detaches it. Destructors of derived classes call it first.
  void detach();

 private:
  friend WaitSet;
  // Protected by `attachments`.
  WaitSet* set_ = nullptr;
  uint64_t id_ = 0;
  uint64_t wanted_ = 0;
  // Of the thread that waits. If the entity is in the sets of two threads, which ROS does not promise to
  // work, one of them may wake in vain.
  std::atomic<bool> reported_ = false;
};

}  // namespace rmw_situ
