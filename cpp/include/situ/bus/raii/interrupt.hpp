// Ending waits: from another thread, or by a signal.
#pragma once

#include <chrono>

#include "situ.h"
#include "situ/bus/c_abi/error.hpp"
#include "situ/bus/c_abi/handle.hpp"
#include "situ/bus/c_abi/qos.hpp"

namespace situ {

/// Ends waits from another thread, or from a signal's handler:
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

  /// Ends all waits that it was given to, and those to come, until it is reset. A signal's handler may call
  /// it.
  void interrupt() const noexcept { situ_interrupter_interrupt(handle_.get()); }
  /// Lets waits that begin from now on wait.
  void reset() const noexcept { situ_interrupter_reset(handle_.get()); }
  /// Whether it ends waits at the moment.
  [[nodiscard]] bool interrupted() const noexcept {
    return situ_interrupter_is_interrupted(handle_.get()) != 0;
  }
  /// What C knows it by.
  [[nodiscard]] const situ_interrupter* handle() const noexcept { return handle_.get(); }

 private:
  detail::owner<situ_interrupter> handle_;
};

/// How to wait: for how long, and what else ends it. A wait goes on when a signal was handled, unless told
/// otherwise.
struct waiting {
  std::chrono::nanoseconds timeout = forever;
  /// Ends it when it says so.
  const interrupter* stop = nullptr;
  /// Ends it when a signal was handled on this thread while it slept. A signal that comes right before does
  /// not end it: where that matters, let its handler interrupt `stop`.
  bool until_a_signal = false;
};

/// How a wait ended.
enum class waited { ready, timed_out, interrupted };

namespace detail {

inline situ_waiting to_c(const waiting& how) noexcept {
  return {limit_of(how.timeout), how.stop != nullptr ? how.stop->handle() : nullptr,
          how.until_a_signal ? 1U : 0U};
}

/// How a wait ended by what C says; another error than having been interrupted is one.
inline waited ended(situ_status status, const situ_error& raw, failed& why) {
  if (status == SITU_ERROR_INTERRUPTED) return waited::interrupted;
  succeeded(status, raw, why);
  return status == SITU_OK ? waited::ready : waited::timed_out;
}

}  // namespace detail
}  // namespace situ
