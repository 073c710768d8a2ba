// Guard conditions, clocks and timers: what wakes a wait set or an executor, beside messages and descriptors.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <utility>

#include "situ.h"
#include "situ/bus/c_abi/error.hpp"
#include "situ/bus/c_abi/handle.hpp"
#include "situ/bus/c_abi/qos.hpp"
#include "situ/execute.h"

namespace situ {

/// A condition that any thread or signal handler triggers. A wait set reports it once, and resets it. It may
/// be attached to one wait set or executor at a time.
class guard_condition {
 public:
  guard_condition() {
    situ_error raw;
    situ_guard_condition* made = nullptr;
    detail::failed why;
    detail::succeeded(situ_guard_condition_create(&made, &raw), raw, why);
    detail::raise_if(why);
    handle_.reset(made);
  }

  /// Triggers it. A signal handler may call this.
  void trigger() const noexcept { situ_guard_condition_trigger(handle_.get()); }
  /// Whether it was triggered and not reported yet.
  [[nodiscard]] bool is_triggered() const noexcept {
    return situ_guard_condition_is_triggered(handle_.get()) != 0;
  }
  /// The handle for the C interface.
  [[nodiscard]] const situ_guard_condition* handle() const noexcept { return handle_.get(); }

 private:
  detail::owner<situ_guard_condition> handle_;
};

/// A clock that the program sets, for timers in simulated time. It stands still until it is set, advanced or
/// started.
class simulated_clock {
 public:
  explicit simulated_clock(std::chrono::nanoseconds time = std::chrono::nanoseconds::zero()) {
    situ_error raw;
    situ_clock* made = nullptr;
    detail::failed why;
    detail::succeeded(situ_clock_create(detail::limit_of(time), &made, &raw), raw, why);
    detail::raise_if(why);
    handle_.reset(made);
  }

  /// The present time.
  [[nodiscard]] std::chrono::nanoseconds now() const noexcept {
    return std::chrono::nanoseconds(situ_clock_now(handle_.get()));
  }
  /// Sets the time. Timers that are due by then are due now, each once. After a step back, each timer starts
  /// its period again.
  void set(std::chrono::nanoseconds time) const noexcept {
    situ_clock_set(handle_.get(), detail::limit_of(time));
  }
  /// Advances the time.
  void advance(std::chrono::nanoseconds by) const noexcept {
    situ_clock_advance(handle_.get(), detail::limit_of(by));
  }
  /// Lets the time pass by itself: `rate` simulated seconds in each second.
  void run(double rate = 1.0) const noexcept { situ_clock_run(handle_.get(), rate); }
  /// Stops the time.
  void pause() const noexcept { situ_clock_run(handle_.get(), 0.0); }
  /// Whether the time stands still.
  [[nodiscard]] bool is_paused() const noexcept { return situ_clock_is_paused(handle_.get()) != 0; }
  /// The handle for the C interface.
  [[nodiscard]] const situ_clock* handle() const noexcept { return handle_.get(); }

 private:
  detail::owner<situ_clock> handle_;
};

/// One report of a timer. Times are of its clock.
struct timer_call {
  /// When it was due.
  std::chrono::nanoseconds scheduled{};
  /// When it was reported.
  std::chrono::nanoseconds reported{};
  /// The number of whole periods that passed without a report before this one.
  std::uint64_t missed = 0;
};

/// A timer, for one wait set or executor at a time. Copies are the same timer. It runs from its creation on.
/// A periodic timer keeps its phase. If several periods pass before it is reported, it is reported once, and
/// the others are counted.
class timer {
 public:
  /// A timer that is due after each period of the machine's steady clock, or of another clock.
  explicit timer(std::chrono::nanoseconds period, const simulated_clock* by = nullptr) {
    detail::failed why;
    create(period, false, by, why);
    detail::raise_if(why);
  }
  /// As the constructor, without an exception.
  [[nodiscard]] static result<timer, error> try_create(std::chrono::nanoseconds period,
                                                       const simulated_clock* by = nullptr) {
    detail::failed why;
    timer made{key{}};
    made.create(period, false, by, why);
    return detail::result_of(std::move(made), std::move(why));
  }
  /// A timer that is due once, and again after each `reset`.
  [[nodiscard]] static timer once(std::chrono::nanoseconds delay, const simulated_clock* by = nullptr) {
    detail::failed why;
    timer made{key{}};
    made.create(delay, true, by, why);
    detail::raise_if(why);
    return made;
  }

  /// Starts its period again, also after it was cancelled.
  void reset() const noexcept { situ_timer_reset(handle_.get()); }
  /// Stops it until it is reset.
  void cancel() const noexcept { situ_timer_cancel(handle_.get()); }
  /// Changes its period, and starts it again.
  void set_period(std::chrono::nanoseconds period) const {
    situ_error raw;
    detail::failed why;
    detail::succeeded(situ_timer_set_period(handle_.get(), detail::limit_of(period), &raw), raw, why);
    detail::raise_if(why);
  }

  /// Whether it runs: it was not cancelled, and its one shot is not over.
  [[nodiscard]] bool is_running() const noexcept { return state().left_ns != SITU_FOREVER; }
  [[nodiscard]] std::chrono::nanoseconds period() const noexcept {
    return std::chrono::nanoseconds(state().period_ns);
  }
  /// The time until it is due, by its clock; `forever` if it does not run.
  [[nodiscard]] std::chrono::nanoseconds left() const noexcept {
    const std::uint64_t left = state().left_ns;
    return left == SITU_FOREVER ? forever : std::chrono::nanoseconds(left);
  }
  /// How often it was reported.
  [[nodiscard]] std::uint64_t calls() const noexcept { return state().calls; }
  /// How many periods passed without a report of their own.
  [[nodiscard]] std::uint64_t missed() const noexcept { return state().missed; }
  /// Its last report.
  [[nodiscard]] timer_call last_call() const noexcept {
    const situ_timer_call last = state().last;
    return {std::chrono::nanoseconds(last.scheduled_ns), std::chrono::nanoseconds(last.reported_ns),
            last.missed};
  }
  /// The handle for the C interface.
  [[nodiscard]] const situ_timer* handle() const noexcept { return handle_.get(); }

 private:
  struct key {};
  explicit timer(key) noexcept {}

  void create(std::chrono::nanoseconds period, bool is_once, const simulated_clock* by, detail::failed& why) {
    situ_error raw;
    situ_timer* made = nullptr;
    const situ_clock* clock = by != nullptr ? by->handle() : nullptr;
    const situ_status status =
        situ_timer_create(clock, detail::limit_of(period), is_once ? 1U : 0U, &made, &raw);
    if (detail::succeeded(status, raw, why)) handle_ = detail::owner<situ_timer>(made);
  }
  [[nodiscard]] situ_timer_state state() const noexcept { return situ_timer_get_state(handle_.get()); }

  std::shared_ptr<situ_timer> handle_;
};

}  // namespace situ
