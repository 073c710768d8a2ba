// The errors of the bus. Every operation that can fail has two forms: `take()` throws, `try_take()` returns a
// result.
#pragma once

#include <optional>
#include <stdexcept>
#include <string>
#include <utility>

#include "situ.h"
#include "situ/support/error.hpp"
#include "situ/support/result.hpp"

namespace situ {

/// What kind of failure an `error` is.
enum class errc : int {
  invalid_argument = SITU_ERROR_INVALID_ARGUMENT,  ///< an argument is out of its range, or no name
  system = SITU_ERROR_SYSTEM,                      ///< the kernel refused
  unsafe = SITU_ERROR_UNSAFE,                      ///< somebody else could tamper with the shared memory
  malformed = SITU_ERROR_MALFORMED,                ///< a file or a message in shared memory makes no sense
  type = SITU_ERROR_TYPE,            ///< the topic carries another type, or another layout of it
  qos = SITU_ERROR_QOS,              ///< the other side offers or asks for another quality of service
  no_place = SITU_ERROR_NO_PLACE,    ///< the topic has no room for another participant
  busy = SITU_ERROR_BUSY,            ///< another process holds the topic's lock
  no_memory = SITU_ERROR_NO_MEMORY,  ///< the publisher's memory is in use
  full = SITU_ERROR_FULL,            ///< a reliable subscriber has not taken enough yet
  internal = SITU_ERROR_INTERNAL,    ///< a defect of the library
  poisoned = SITU_ERROR_POISONED,  ///< the message never becomes complete: who should have written it failed
  interrupted = SITU_ERROR_INTERRUPTED,  ///< a wait was ended by an interrupter or a signal
  forked = SITU_ERROR_FORKED,            ///< the handle belongs to the process that this one was forked from
  deadlock = SITU_ERROR_DEADLOCK,  ///< the subscriber that is waited for is used by the thread that publishes
  held = SITU_ERROR_HELD,          ///< the subscriber holds as many samples as it may
  removed = SITU_ERROR_REMOVED,    ///< the root, the topic or the node's file was removed while in use
};

/// An operation of the bus failed. `what()` says what happened, with which values, and what to do.
class error : public std::runtime_error {
 public:
  error(errc code, const std::string& text) : std::runtime_error(text), code_(code) {}

  [[nodiscard]] errc code() const noexcept { return code_; }
  /// The same as `what()`.
  [[nodiscard]] std::string message() const { return what(); }

 private:
  errc code_;
};

namespace detail {

/// Where an operation leaves its error, if it fails.
using failed = std::optional<error>;

/// Turns the status of a call into C into success, or into an error; `SITU_EMPTY` is none.
inline bool succeeded(situ_status status, const situ_error& raw, failed& why) {
  if (status >= 0) return true;
  why.emplace(static_cast<errc>(status), raw.text);
  return false;
}

inline void raise_if(const failed& why) {
  if (why.has_value()) raise(*why);
}

/// The result that holds `value`, unless the operation failed.
template <class T>
result<T, error> result_of(T&& value, failed&& why) {
  if (why.has_value()) return failure{*std::move(why)};
  return std::forward<T>(value);
}

}  // namespace detail
}  // namespace situ
