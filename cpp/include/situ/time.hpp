// Times and durations of messages: the clock, arithmetic, and conversions with std::chrono.
//
//   cloud->header.stamp = situ::time::now<situ::common::Time>();
//   auto age = situ::time::since(situ::time::now<Time>(), cloud->header.stamp);
//
// The functions take every struct that has the members `int32 sec` and `uint32 nanosec`: generated types, and
// ROS's builtin_interfaces::msg::Time and Duration. In all of them, `nanosec` counts forward from `sec`:
// minus half a second is -1 s and 500,000,000 ns. Values that do not fit raise a time_error. In Rust, the
// traits of `situ::time` have functions of the same names.
#pragma once

#include <chrono>
#include <concepts>
#include <cstdint>
#include <limits>
#include <stdexcept>
#include <string>

#include "situ/support/error.hpp"
#include "situ/support/platform.hpp"

namespace situ {

/// A time or a duration does not fit in 32 bits of seconds.
class time_error : public std::range_error {
 public:
  explicit time_error(std::chrono::nanoseconds value)
      : std::range_error(
            std::to_string(value.count()) +
            " ns do not fit in a message: 32 bits hold from -2147483648 s to 2147483647.999999999 s; "
            "use a nearer epoch, or a member of type int64"),
        value_(value) {}

  /// The value. One that exceeds 64 bits of nanoseconds is the nearest that does not.
  [[nodiscard]] std::chrono::nanoseconds value() const noexcept { return value_; }

 private:
  std::chrono::nanoseconds value_;
};

namespace time {

/// A struct with seconds, and nanoseconds on top: a time or a duration.
template <class T>
concept sec_nanosec = std::default_initializable<T> && requires(T value) {
  { (value.sec) } -> std::same_as<std::int32_t&>;
  { (value.nanosec) } -> std::same_as<std::uint32_t&>;
};

namespace detail {

/// The sum or difference, or the nearest value of 64 bits; either is out of range for a message then.
[[nodiscard]] constexpr std::int64_t saturating_add(std::int64_t a, std::int64_t b) noexcept {
  using limits = std::numeric_limits<std::int64_t>;
  if (b > 0 && a > limits::max() - b) return limits::max();
  if (b < 0 && a < limits::min() - b) return limits::min();
  return a + b;
}
[[nodiscard]] constexpr std::int64_t negated(std::int64_t a) noexcept {
  return a == std::numeric_limits<std::int64_t>::min() ? std::numeric_limits<std::int64_t>::max() : -a;
}

/// Nanoseconds of any duration of integers; one beyond 64 bits becomes the nearest value.
template <std::integral Rep, class Period>
[[nodiscard]] constexpr std::int64_t nanoseconds_of(std::chrono::duration<Rep, Period> span) noexcept {
  using std::chrono::nanoseconds;
  using limits = std::numeric_limits<std::int64_t>;
  // In seconds the comparison cannot overflow for periods up to a year and more.
  const double seconds = static_cast<double>(span.count()) * Period::num / Period::den;
  if (seconds >= 9.2e9) return limits::max();
  if (seconds <= -9.2e9) return limits::min();
  return std::chrono::duration_cast<nanoseconds>(span).count();
}

}  // namespace detail

/// From nanoseconds: since the epoch for a time, all of it for a duration.
template <sec_nanosec T>
[[nodiscard]] T from_nanos(std::int64_t nanos) {
  constexpr std::int64_t second = 1'000'000'000;
  // Rounds towards minus infinity, so that the rest is not negative.
  const std::int64_t sec = nanos / second - (nanos % second < 0 ? 1 : 0);
  if (sec < std::numeric_limits<std::int32_t>::min() || sec > std::numeric_limits<std::int32_t>::max()) {
    ::situ::detail::raise(time_error(std::chrono::nanoseconds(nanos)));
  }
  T value{};
  value.sec = static_cast<std::int32_t>(sec);
  value.nanosec = static_cast<std::uint32_t>(nanos - sec * second);
  return value;
}

/// Nanoseconds: since the epoch for a time, all of it for a duration.
template <sec_nanosec T>
[[nodiscard]] constexpr std::int64_t to_nanos(const T& value) noexcept {
  return std::int64_t{value.sec} * 1'000'000'000 + std::int64_t{value.nanosec};
}

/// From a time of the system clock.
template <sec_nanosec T, class Duration>
[[nodiscard]] T from_system(std::chrono::time_point<std::chrono::system_clock, Duration> time) {
  return from_nanos<T>(detail::nanoseconds_of(time.time_since_epoch()));
}

/// The time as one of the system clock.
template <sec_nanosec T>
[[nodiscard]] constexpr std::chrono::time_point<std::chrono::system_clock, std::chrono::nanoseconds>
to_system(const T& value) noexcept {
  return std::chrono::time_point<std::chrono::system_clock, std::chrono::nanoseconds>(
      std::chrono::nanoseconds(to_nanos(value)));
}

/// The time of the system clock, whose epoch is 1970-01-01 00:00 UTC: the clock of stamps by convention, as
/// in ROS. A clock outside the range, which ends on 2038-01-19, gives the nearest time of the range.
template <sec_nanosec T>
[[nodiscard]] T now() {
  constexpr std::int64_t second = 1'000'000'000;
  constexpr std::int64_t first = std::int64_t{std::numeric_limits<std::int32_t>::min()} * second;
  constexpr std::int64_t last = (std::int64_t{std::numeric_limits<std::int32_t>::max()} + 1) * second - 1;
  const std::int64_t nanos = detail::nanoseconds_of(std::chrono::system_clock::now().time_since_epoch());
  return from_nanos<T>(nanos < first ? first : nanos > last ? last : nanos);
}

/// The time of the steady clock, which never jumps; its epoch is the machine's start, and it means nothing on
/// another machine.
template <sec_nanosec T>
[[nodiscard]] T steady_now() {
  return from_nanos<T>(detail::nanoseconds_of(std::chrono::steady_clock::now().time_since_epoch()));
}

/// From a standard duration of integers.
template <sec_nanosec T, std::integral Rep, class Period>
[[nodiscard]] T from_std(std::chrono::duration<Rep, Period> span) {
  return from_nanos<T>(detail::nanoseconds_of(span));
}

/// As a standard duration.
template <sec_nanosec T>
[[nodiscard]] constexpr std::chrono::nanoseconds to_std(const T& value) noexcept {
  return std::chrono::nanoseconds(to_nanos(value));
}

/// The same time or duration as another type, with nanoseconds below one second.
template <sec_nanosec To, sec_nanosec From>
[[nodiscard]] To convert(const From& value) {
  return from_nanos<To>(to_nanos(value));
}

/// The time or duration, longer by a span.
template <sec_nanosec T, std::integral Rep, class Period>
[[nodiscard]] T plus(const T& value, std::chrono::duration<Rep, Period> span) {
  return from_nanos<T>(detail::saturating_add(to_nanos(value), detail::nanoseconds_of(span)));
}
template <sec_nanosec T, sec_nanosec Span>
[[nodiscard]] T plus(const T& value, const Span& span) {
  return from_nanos<T>(to_nanos(value) + to_nanos(span));
}

/// The time or duration, shorter by a span.
template <sec_nanosec T, std::integral Rep, class Period>
[[nodiscard]] T minus(const T& value, std::chrono::duration<Rep, Period> span) {
  return from_nanos<T>(
      detail::saturating_add(to_nanos(value), detail::negated(detail::nanoseconds_of(span))));
}
template <sec_nanosec T, sec_nanosec Span>
[[nodiscard]] T minus(const T& value, const Span& span) {
  return from_nanos<T>(to_nanos(value) - to_nanos(span));
}

/// The span from another time to this one, which is negative if the other is later.
template <sec_nanosec T, sec_nanosec Other>
[[nodiscard]] constexpr std::chrono::nanoseconds since(const T& value, const Other& other) noexcept {
  return std::chrono::nanoseconds(to_nanos(value) - to_nanos(other));
}

}  // namespace time
}  // namespace situ
