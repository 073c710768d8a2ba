// Waits without time that find nothing, one after another.
//
// rclcpp's multi-threaded executor polls while a timer is due whose callback group another thread has taken.
// If the two threads share a core, the one that polls keeps the other one from it for milliseconds: the timer
// misses its times. So a wait set that is polled in vain for some time sleeps for a moment now and then. What
// becomes ready ends that sleep.
#pragma once

#include <algorithm>
#include <cstdint>

namespace rmw_situ {

class Polling {
 public:
  // A wait with less time than this polls: it would be over before it sleeps.
  static constexpr uint64_t longest_poll_ns = 1'000;

  // `spin_ns`: how long waits may look for something before they sleep.
  explicit Polling(uint64_t spin_ns) : patience_ns_(std::max(spin_ns, least_patience_ns)) {}

  // A poll begins. Returns how long it may sleep.
  uint64_t begin(uint64_t now_ns) {
    // A program that does something else between two polls leaves the core by itself, or needs it.
    if (now_ns - last_ns_ > longest_gap_ns) first_ns_ = now_ns;
    last_ns_ = now_ns;
    return now_ns - first_ns_ > patience_ns_ ? sleep_ns : 0;
  }

  // Something was found, or the thread has slept: the next poll is the first one again.
  void end() { last_ns_ = 0; }

  // The kernel makes about 70 us of it.
  static constexpr uint64_t sleep_ns = 20'000;

 private:
  static constexpr uint64_t least_patience_ns = 20'000;
  static constexpr uint64_t longest_gap_ns = 50'000;

  const uint64_t patience_ns_;
  uint64_t first_ns_ = 0;
  uint64_t last_ns_ = 0;
};

}  // namespace rmw_situ
