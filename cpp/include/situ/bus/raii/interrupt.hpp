// Ends waits from another thread or from a signal handler.
#pragma once

#include <chrono>

#include "situ.h"
#include "situ/bus/c_abi/error.hpp"
#include "situ/bus/c_abi/handle.hpp"
#include "situ/bus/c_abi/qos.hpp"

namespace situ {

/// Ends waits from another thread, or from a signal handler:
///
///   static situ::interrupter stop;
///   std::signal(SIGINT, [](int) { stop.interrupt(); });
///   while (auto image = images.receive({.stop = &stop})) show(*image);
class interrupter {
 public:
  interrupter() {
    situ_error raw;
    situ_interrupter* made = nullptr;
    detail::failed why;
    detail::succeeded(situ_interrupter_create(&made, &raw), raw, why);
    detail::raise_if(why);
    handle_.reset(made);
  }

  /// Ends all current and future waits that use this interrupter, until it is reset. A signal handler may
  /// call it.
  void interrupt() const noexcept { situ_interrupter_interrupt(handle_.get()); }
  /// Lets future waits wait again.
  void reset() const noexcept { situ_interrupter_reset(handle_.get()); }
  /// Whether it is interrupted, and so ends waits.
  [[nodiscard]] bool interrupted() const noexcept {
    return situ_interrupter_is_interrupted(handle_.get()) != 0;
  }
  /// The handle for the C interface.
  [[nodiscard]] const situ_interrupter* handle() const noexcept { return handle_.get(); }

 private:
  detail::owner<situ_interrupter> handle_;
};

/// How long to wait, and what else ends the wait. By default a wait continues after a signal was handled.
struct waiting {
  std::chrono::nanoseconds timeout = forever;
  /// An interrupter that ends the wait.
  const interrupter* stop = nullptr;
  /// Ends the wait when a signal was handled on this thread while it slept. A signal just before the wait
  /// does not end it; where that matters, let the signal handler interrupt `stop`.
  bool until_a_signal = false;
};

/// How a wait ended.
enum class waited { ready, timed_out, interrupted };

namespace detail {

inline situ_waiting to_c(const waiting& how) noexcept {
  return {limit_of(how.timeout), how.stop != nullptr ? how.stop->handle() : nullptr,
          how.until_a_signal ? 1U : 0U};
}

/// Returns how a wait ended, from the status of C. Stores any error except an interruption in `why`.
inline waited ended(situ_status status, const situ_error& raw, failed& why) {
  if (status == SITU_ERROR_INTERRUPTED) return waited::interrupted;
  succeeded(status, raw, why);
  return status == SITU_OK ? waited::ready : waited::timed_out;
}

}  // namespace detail
}  // namespace situ
