// Writes events of a program into traces for Perfetto, beside the events of the bus.
//
//   constinit situ::trace::category planner{"planner"};
//
//   void plan(double goal, std::uint64_t cloud) {
//     SITU_TRACE_SCOPE(planner, "plan", situ::trace::arg<"goal">(goal), situ::trace::flow(cloud));
//     SITU_TRACE_INSTANT(planner, "replanned", situ::trace::arg<"reason">("a pedestrian"));
//     SITU_TRACE_SET(planner, "candidates", 17);
//   }
//
// A process takes part in recordings (`situ trace record`) with its first node, unless it was started with
// SITU_TRACE=0. A category that is off costs one relaxed load, and its arguments are not computed. Categories
// are static: they last as long as the program.
#pragma once

#include <algorithm>
#include <array>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "situ.h"

namespace situ::trace {

/// A group of events that are switched on and off together. A static of the program.
class category {
 public:
  template <std::size_t N>
  constexpr explicit category(const char (&name)[N]) noexcept : raw_{{name, N - 1, 0}, 0, nullptr} {}
  category(const category&) = delete;
  category& operator=(const category&) = delete;

  /// Whether the session records its events.
  [[nodiscard]] bool is_enabled() noexcept { return SITU_TRACE_IS_ENABLED(&raw_); }

  [[nodiscard]] constexpr situ_trace_category* raw() noexcept { return &raw_; }

 private:
  situ_trace_category raw_;
};

/// The unit of a counter.
enum class unit : std::uint32_t { count = 0, bytes = 1, nanoseconds = 2 };

/// A value over time. A static of the program.
class counter {
 public:
  template <std::size_t N>
  constexpr counter(category& of, const char (&name)[N], unit counted = unit::count) noexcept
      : raw_{of.raw(), {name, N - 1, 0}, static_cast<std::uint32_t>(counted), UINT64_MAX} {}
  counter(const counter&) = delete;
  counter& operator=(const counter&) = delete;

  /// Sets the counter's value from now on.
  void set(double value) noexcept { situ_trace_count(&raw_, value); }

 private:
  situ_trace_counter raw_;
};

/// A flow number: arrows connect events with the same number.
enum class flow : std::uint64_t {};

/// A flow number whose arrow ends here.
enum class last_flow : std::uint64_t {};

namespace detail {

/// A string literal as a template parameter.
template <std::size_t N>
struct literal {
  // NOLINTNEXTLINE(google-explicit-constructor): literals must convert.
  constexpr literal(const char (&text)[N]) noexcept { std::copy_n(text, N, chars); }
  char chars[N]{};
};

template <literal Text>
inline constexpr auto kept = Text;

/// One name for each literal.
template <literal Text>
inline constinit situ_trace_name name{static_cast<const char*>(kept<Text>.chars), sizeof(Text.chars) - 1, 0};

/// The arguments and flows of an event, sorted by kind.
template <std::size_t N>
class details {
 public:
  void add(const situ_trace_argument& argument) noexcept { arguments_[argument_count_++] = argument; }
  void add(flow it) noexcept { flows_[flow_count_++] = static_cast<std::uint64_t>(it); }
  void add(last_flow it) noexcept { last_flows_[last_flow_count_++] = static_cast<std::uint64_t>(it); }

  void write(std::uint32_t kind, category& of, situ_trace_name& name) const noexcept {
    const situ_trace_event event{
        of.raw(),          &name,          flows_.data(), flow_count_, last_flows_.data(), last_flow_count_,
        arguments_.data(), argument_count_};
    situ_trace_write(kind, &event);
  }

 private:
  // Only written elements are read.
  std::array<situ_trace_argument, N> arguments_;
  std::array<std::uint64_t, N> flows_;
  std::array<std::uint64_t, N> last_flows_;
  std::size_t argument_count_ = 0;
  std::size_t flow_count_ = 0;
  std::size_t last_flow_count_ = 0;
};

/// Returns true, for use after `&&`.
template <class... Details>
bool write(std::uint32_t kind, category& of, situ_trace_name& name, const Details&... given) noexcept {
  if constexpr (sizeof...(Details) == 0) {
    const situ_trace_event event{of.raw(), &name, nullptr, 0, nullptr, 0, nullptr, 0};
    situ_trace_write(kind, &event);
  } else {
    details<sizeof...(Details)> all;
    (all.add(given), ...);
    all.write(kind, of, name);
  }
  return true;
}

}  // namespace detail

/// An argument: `arg<"goal">(3.5)`. A text must last until the end of the statement.
template <detail::literal Name, class Value>
[[nodiscard]] situ_trace_argument arg(const Value& value) noexcept {
  situ_trace_argument argument{&detail::name<Name>, {}, 0, 0};
  if constexpr (std::same_as<Value, bool>) {
    argument.kind = SITU_TRACE_BOOL;
    argument.value.as_bool = value ? 1 : 0;
  } else if constexpr (std::unsigned_integral<Value>) {
    argument.kind = SITU_TRACE_UINT;
    argument.value.as_uint = value;
  } else if constexpr (std::integral<Value>) {
    argument.kind = SITU_TRACE_INT;
    argument.value.as_int = value;
  } else if constexpr (std::floating_point<Value>) {
    argument.kind = SITU_TRACE_DOUBLE;
    argument.value.as_double = static_cast<double>(value);
  } else {
    const std::string_view text(value);
    argument.kind = SITU_TRACE_TEXT;
    argument.value.as_text = text.data();
    argument.length = text.size();
  }
  return argument;
}

/// A slice that ends with its scope, if it was begun. Created by SITU_TRACE_SCOPE.
class scope {
 public:
  explicit scope(bool began) noexcept : began_(began) {}
  ~scope() {
    if (began_) situ_trace_end();
  }
  scope(const scope&) = delete;
  scope& operator=(const scope&) = delete;

 private:
  bool began_;
};

/// How severe a message of a log is.
enum class severity : std::uint32_t {
  trace = SITU_TRACE_SEVERITY_TRACE,
  debug = SITU_TRACE_SEVERITY_DEBUG,
  info = SITU_TRACE_SEVERITY_INFO,
  warn = SITU_TRACE_SEVERITY_WARN,
  error = SITU_TRACE_SEVERITY_ERROR,
  fatal = SITU_TRACE_SEVERITY_FATAL
};

/// Writes a message of a log, for adapters of logging libraries: `log(severity::warn, "too hot", __FILE__,
/// __LINE__, "planner")`. Its category is `log`. `file`, `line` and `logger` may be empty, 0 and empty. Does
/// nothing while the category is off.
inline void log(severity how, std::string_view text, std::string_view file = {}, std::uint32_t line = 0,
                std::string_view logger = {}) noexcept {
  const situ_trace_log_message message{
      text.data(),   text.size(),   file.data(), file.size(),
      logger.data(), logger.size(), line,        static_cast<std::uint32_t>(how)};
  situ_trace_log(nullptr, &message);
}

}  // namespace situ::trace

#define SITU_TRACE_JOIN_(one, other) one##other
#define SITU_TRACE_UNIQUE_(name, line) SITU_TRACE_JOIN_(name, line)

/// Begins a slice that ends with the scope: SITU_TRACE_SCOPE(category, "name", arguments and flows...).
#define SITU_TRACE_SCOPE(category_, name_, ...)                               \
  const ::situ::trace::scope SITU_TRACE_UNIQUE_(situ_trace_scope_, __LINE__)( \
      (category_).is_enabled() &&                                             \
      ::situ::trace::detail::write(SITU_TRACE_KIND_BEGIN, category_,          \
                                   ::situ::trace::detail::name<name_> __VA_OPT__(, ) __VA_ARGS__))

/// Writes an instant; the rest is as for SITU_TRACE_SCOPE.
#define SITU_TRACE_INSTANT(category_, name_, ...)                                                  \
  static_cast<void>((category_).is_enabled() &&                                                    \
                    ::situ::trace::detail::write(SITU_TRACE_KIND_INSTANT, category_,               \
                                                 ::situ::trace::detail::name<name_> __VA_OPT__(, ) \
                                                     __VA_ARGS__))

/// Sets a counter's value from now on. A `situ::trace::counter` does the same.
#define SITU_TRACE_SET(category_, name_, value_)                                        \
  do {                                                                                  \
    static constinit ::situ::trace::counter situ_trace_counter_{category_, name_};      \
    if ((category_).is_enabled()) situ_trace_counter_.set(static_cast<double>(value_)); \
  } while (false)
