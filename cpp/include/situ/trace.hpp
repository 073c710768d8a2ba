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
// After the name may follow, in any order: arguments (`arg`), flows, a track, a time (`at`), a computed name
// (`named`), and encoded fields of Perfetto's TrackEvent (`fields`, or `typed` of trace_typed.hpp).
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
#include <ranges>
#include <span>
#include <string_view>
#include <type_traits>
#include <utility>

#include "situ.h"

namespace situ::trace {

/// A group of events that are switched on and off together. A static of the program.
class category {
 public:
  /// Names with commas between them ("planner,benchmark") make a group, which is on if one of them would be.
  template <std::size_t N>
  constexpr explicit category(const char (&name)[N]) noexcept
      : raw_{{name, N - 1, 0}, {"", 0, 0}, 0, nullptr} {}
  /// With tags, separated by commas. A recording selects categories by tags (`tag:map`), and leaves out the
  /// tags `slow` and `debug` unless it selects them.
  template <std::size_t N, std::size_t M>
  constexpr category(const char (&name)[N], const char (&tags)[M]) noexcept
      : raw_{{name, N - 1, 0}, {tags, M - 1, 0}, 0, nullptr} {}
  category(const category&) = delete;
  category& operator=(const category&) = delete;

  /// Whether the session records its events.
  [[nodiscard]] bool is_enabled() noexcept { return SITU_TRACE_IS_ENABLED(&raw_); }

  [[nodiscard]] constexpr situ_trace_category* raw() noexcept { return &raw_; }

 private:
  situ_trace_category raw_;
};

/// The time of an event, by `now`; otherwise it is the current time.
enum class at : std::uint64_t {};

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

  /// Sets the counter's value from now on, or from a given time on.
  void set(double value, at when = at{0}) noexcept {
    situ_trace_count_at(&raw_, value, static_cast<std::uint64_t>(when));
  }

 private:
  situ_trace_counter raw_;
};

/// A flow number: arrows connect events with the same number.
enum class flow : std::uint64_t {};

/// A flow number whose arrow ends here.
enum class last_flow : std::uint64_t {};

/// The time of the clock of traces, in nanoseconds.
[[nodiscard]] inline std::uint64_t now() noexcept { return situ_trace_now(); }

/// A name computed at run time, in place of the one in front. The text must last until the end of the
/// statement.
struct named {
  std::string_view text;
};

/// Encoded fields of Perfetto's TrackEvent: typed arguments.
struct fields {
  std::span<const std::uint8_t> bytes;
};

/// A track of the program's own, for work that moves between threads or overlaps. Tracks with the same
/// parent, name and number are the same track, in all threads. Slices of one track must nest. The name, and a
/// parent, must last as long as the track.
class track {
 public:
  /// Of this process.
  constexpr explicit track(std::string_view name, std::uint64_t id = 0) noexcept
      : track(name, id, SITU_TRACE_OF_PROCESS, nullptr) {}
  /// Below another track.
  constexpr track(const track& parent, std::string_view name, std::uint64_t id = 0) noexcept
      : track(name, id, SITU_TRACE_OF_PROCESS, &parent.raw_) {}
  /// Below the thread that writes the event.
  [[nodiscard]] static constexpr track of_thread(std::string_view name, std::uint64_t id = 0) noexcept {
    return track(name, id, SITU_TRACE_OF_THREAD, nullptr);
  }
  /// Of no process: the same in all processes of the trace.
  [[nodiscard]] static constexpr track global(std::string_view name, std::uint64_t id = 0) noexcept {
    return track(name, id, SITU_TRACE_GLOBAL, nullptr);
  }

  [[nodiscard]] constexpr const situ_trace_track* raw() const noexcept { return &raw_; }

 private:
  constexpr track(std::string_view name, std::uint64_t id, std::uint32_t scope,
                  const situ_trace_track* parent) noexcept
      : raw_{name.data(), name.size(), id, scope, parent} {}

  situ_trace_track raw_;
};

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

/// What may follow the name of an event, sorted by kind.
template <std::size_t N>
class details {
 public:
  void add(const situ_trace_argument& argument) noexcept { arguments_[event_.argument_count++] = argument; }
  void add(flow it) noexcept { flows_[event_.flow_count++] = static_cast<std::uint64_t>(it); }
  void add(last_flow it) noexcept { last_flows_[event_.last_flow_count++] = static_cast<std::uint64_t>(it); }
  void add(at it) noexcept { event_.at_ns = static_cast<std::uint64_t>(it); }
  void add(const track& it) noexcept { event_.track = it.raw(); }
  void add(const fields& it) noexcept {
    event_.fields = it.bytes.data();
    event_.fields_length = it.bytes.size();
  }
  void add(const named& it) noexcept {
    event_.dynamic_name = it.text.data() != nullptr ? it.text.data() : "";
    event_.dynamic_length = it.text.size();
  }

  [[nodiscard]] const situ_trace_event* event(category& of, situ_trace_name* name) noexcept {
    event_.category = of.raw();
    event_.name = event_.dynamic_name == nullptr ? name : nullptr;
    event_.flows = flows_.data();
    event_.last_flows = last_flows_.data();
    event_.arguments = arguments_.data();
    return &event_;
  }

 private:
  situ_trace_event event_{};
  // Only written elements are read.
  std::array<situ_trace_argument, N> arguments_;
  std::array<std::uint64_t, N> flows_;
  std::array<std::uint64_t, N> last_flows_;
};

/// Calls `use` with an event.
template <class Use, class... Details>
auto with_event(Use use, category& of, situ_trace_name* name, const Details&... given) noexcept {
  if constexpr (sizeof...(Details) == 0) {
    situ_trace_event event{};
    event.category = of.raw();
    event.name = name;
    return use(&event);
  } else {
    details<sizeof...(Details)> all;
    (all.add(given), ...);
    return use(all.event(of, name));
  }
}

/// Returns true, for use after `&&`.
template <class... Details>
bool write(std::uint32_t kind, category& of, situ_trace_name* name, const Details&... given) noexcept {
  with_event([kind](const situ_trace_event* event) { situ_trace_write(kind, event); }, of, name, given...);
  return true;
}

/// Begins a slice of this thread. Returns its number.
template <class... Details>
std::uint64_t begin(category& of, situ_trace_name& name, const Details&... given) noexcept {
  return with_event(situ_trace_begin_slice, of, &name, given...);
}

/// What lies within an argument. It must last until the end of the statement.
template <std::size_t N>
struct entries {
  std::array<situ_trace_argument, N> arguments;
  std::size_t count;
  situ_trace_value_kind kind;
};

template <class>
inline constexpr bool is_entries = false;
template <std::size_t N>
inline constexpr bool is_entries<entries<N>> = true;

template <class Value>
void set(situ_trace_argument& argument, const Value& value) noexcept {
  if constexpr (is_entries<Value>) {
    argument.kind = value.kind;
    argument.value.as_entries = value.arguments.data();
    argument.length = value.count;
  } else if constexpr (std::same_as<Value, bool>) {
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
  } else if constexpr (std::is_enum_v<Value>) {
    set(argument, static_cast<std::underlying_type_t<Value>>(value));
  } else if constexpr (std::is_convertible_v<const Value&, std::string_view>) {
    const std::string_view text(value);
    argument.kind = SITU_TRACE_TEXT;
    argument.value.as_text = text.data();
    argument.length = text.size();
  } else {
    static_assert(std::is_pointer_v<Value>, "an argument is a bool, a number, a text, a pointer, or nested");
    argument.kind = SITU_TRACE_POINTER;
    argument.value.as_pointer = value;
  }
}

}  // namespace detail

/// An argument: `arg<"goal">(3.5)`. The value is a bool, a number, an enum, a text, a pointer, a `dictionary`
/// or an `array`. A text must last until the end of the statement.
template <detail::literal Name, class Value>
[[nodiscard]] situ_trace_argument arg(const Value& value) noexcept {
  situ_trace_argument argument{};
  argument.name = &detail::name<Name>;
  detail::set(argument, value);
  return argument;
}

/// An argument whose name is computed. It must last until the end of the statement.
template <class Value>
[[nodiscard]] situ_trace_argument arg(std::string_view name, const Value& value) noexcept {
  situ_trace_argument argument{};
  argument.dynamic_name = name.data() != nullptr ? name.data() : "";
  argument.dynamic_length = static_cast<std::uint32_t>(std::min<std::size_t>(name.size(), UINT32_MAX));
  detail::set(argument, value);
  return argument;
}

/// Arguments within an argument: `arg<"pose">(dictionary(arg<"x">(0.5), arg<"y">(-1.0)))`.
template <std::same_as<situ_trace_argument>... Arguments>
[[nodiscard]] detail::entries<sizeof...(Arguments)> dictionary(const Arguments&... arguments) noexcept {
  return {{arguments...}, sizeof...(Arguments), SITU_TRACE_DICTIONARY};
}

/// A list of values: `arg<"ids">(array(1, 2, 3))`.
template <class... Values>
[[nodiscard]] detail::entries<sizeof...(Values)> array(const Values&... values) noexcept {
  detail::entries<sizeof...(Values)> all{{}, sizeof...(Values), SITU_TRACE_ARRAY};
  std::size_t place = 0;
  (detail::set(all.arguments[place++], values), ...);
  return all;
}

/// A list of the first 64 elements of a range: `arg<"joints">(array_of(angles))`.
template <std::ranges::input_range Range>
[[nodiscard]] detail::entries<SITU_TRACE_MAX_NESTED> array_of(const Range& range) noexcept {
  detail::entries<SITU_TRACE_MAX_NESTED> all{{}, 0, SITU_TRACE_ARRAY};
  for (const auto& value : range) {
    if (all.count == all.arguments.size()) break;
    detail::set(all.arguments[all.count++], value);
  }
  return all;
}

/// Sets the value of a counter with the name, number and parent of a track: `count(arm, track(robot, joint),
/// 0.5)`. Its name may be computed. Slices of the same track lie beside it.
inline void count(category& of, const track& on, double value, at when = at{0},
                  unit counted = unit::count) noexcept {
  situ_trace_count_on(of.raw(), on.raw(), static_cast<std::uint32_t>(counted), value,
                      static_cast<std::uint64_t>(when));
}

/// Writes a packet of the program's own type: encoded fields of Perfetto's TracePacket, usually an extension.
/// Returns whether a recording runs and the bytes are whole fields; see `situ_trace_packet`.
inline bool packet(std::span<const std::uint8_t> bytes, at when = at{0}) noexcept {
  return situ_trace_packet(static_cast<std::uint64_t>(when), bytes.data(), bytes.size()) != 0;
}

/// A slice that ends with its scope, and with it the slices that began within it. Created by
/// SITU_TRACE_SCOPE.
class scope {
 public:
  explicit scope(std::uint64_t slice) noexcept : slice_(slice) {}
  ~scope() { end(); }
  scope(const scope&) = delete;
  scope& operator=(const scope&) = delete;

  /// Ends the slice now, or at a given time.
  void end(at when = at{0}) noexcept {
    if (slice_ != 0) situ_trace_end_slice(std::exchange(slice_, 0), static_cast<std::uint64_t>(when));
  }

 private:
  std::uint64_t slice_;
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

/// Begins a slice of this thread that ends with the scope: SITU_TRACE_SCOPE(category, "name", what
/// follows...).
#define SITU_TRACE_SCOPE(category_, name_, ...)                                \
  SITU_TRACE_SLICE(SITU_TRACE_UNIQUE_(situ_trace_scope_, __LINE__), category_, \
                   name_ __VA_OPT__(, ) __VA_ARGS__)

/// The same with a variable for the slice, which can end it earlier: SITU_TRACE_SLICE(slice, category,
/// "name"); slice.end();
#define SITU_TRACE_SLICE(variable_, category_, name_, ...)                                              \
  ::situ::trace::scope variable_(                                                                       \
      (category_).is_enabled()                                                                          \
          ? ::situ::trace::detail::begin(category_,                                                     \
                                         ::situ::trace::detail::name<name_> __VA_OPT__(, ) __VA_ARGS__) \
          : 0)

#define SITU_TRACE_WRITE_(kind_, category_, name_, ...) \
  static_cast<void>((category_).is_enabled() &&         \
                    ::situ::trace::detail::write(kind_, category_, name_ __VA_OPT__(, ) __VA_ARGS__))

/// Begins a slice that SITU_TRACE_END ends, in another scope or, with a track, in another thread; the rest is
/// as for SITU_TRACE_SCOPE.
#define SITU_TRACE_BEGIN(category_, name_, ...)       \
  SITU_TRACE_WRITE_(SITU_TRACE_KIND_BEGIN, category_, \
                    &::situ::trace::detail::name<name_> __VA_OPT__(, ) __VA_ARGS__)

/// Ends the last slice of this thread, or of a track: SITU_TRACE_END(category, track, arguments and
/// flows...).
#define SITU_TRACE_END(category_, ...) \
  SITU_TRACE_WRITE_(SITU_TRACE_KIND_END, category_, nullptr __VA_OPT__(, ) __VA_ARGS__)

/// Writes an instant; the rest is as for SITU_TRACE_SCOPE.
#define SITU_TRACE_INSTANT(category_, name_, ...)       \
  SITU_TRACE_WRITE_(SITU_TRACE_KIND_INSTANT, category_, \
                    &::situ::trace::detail::name<name_> __VA_OPT__(, ) __VA_ARGS__)

/// Sets a counter's value from now on, or from a time on: SITU_TRACE_SET(category, "name", value, at(ns)). A
/// `situ::trace::counter` does the same.
#define SITU_TRACE_SET(category_, name_, value_, ...)                                  \
  do {                                                                                 \
    static constinit ::situ::trace::counter situ_trace_counter_{category_, name_};     \
    if ((category_).is_enabled())                                                      \
      situ_trace_counter_.set(static_cast<double>(value_) __VA_OPT__(, ) __VA_ARGS__); \
  } while (false)
