// The errors of the bus. Every operation that can fail has two forms: `take()` throws, `try_take()` returns a
// result.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>

#include "situ.h"
#include "situ/support/error.hpp"
#include "situ/support/result.hpp"

namespace situ {

/// The kind of failure that an `error` reports.
enum class errc : int {
  invalid_argument =
      SITU_ERROR_INVALID_ARGUMENT,       ///< an argument is out of its range, or a name is not valid
  system = SITU_ERROR_SYSTEM,            ///< the kernel refused the operation
  unsafe = SITU_ERROR_UNSAFE,            ///< other users could tamper with the shared memory
  malformed = SITU_ERROR_MALFORMED,      ///< a file or a message in shared memory is not valid
  type = SITU_ERROR_TYPE,                ///< the topic carries another type, or another layout of it
  no_place = SITU_ERROR_NO_PLACE,        ///< the topic has no room for another publisher or subscriber
  busy = SITU_ERROR_BUSY,                ///< another process holds the topic's lock
  no_memory = SITU_ERROR_NO_MEMORY,      ///< all of the publisher's memory is in use
  full = SITU_ERROR_FULL,                ///< a reliable subscriber has not taken enough yet
  internal = SITU_ERROR_INTERNAL,        ///< a defect of the library
  poisoned = SITU_ERROR_POISONED,        ///< the message never becomes complete: its writer failed
  interrupted = SITU_ERROR_INTERRUPTED,  ///< a wait was ended by an interrupter or a signal
  forked = SITU_ERROR_FORKED,            ///< the handle belongs to the parent process of a fork
  deadlock =
      SITU_ERROR_DEADLOCK,  ///< the publishing thread is the only one that uses the subscriber it waits for
  held = SITU_ERROR_HELD,   ///< the subscriber holds the maximum number of samples
  removed = SITU_ERROR_REMOVED,          ///< the root, the topic or the node's file was removed while in use
  no_server = SITU_ERROR_NO_SERVER,      ///< the service has no server
  server_gone = SITU_ERROR_SERVER_GONE,  ///< every server that could answer the call has ended
  client_gone = SITU_ERROR_CLIENT_GONE,  ///< the client has ended: nothing waits for the reply
  deadline = SITU_ERROR_DEADLINE,        ///< the time of the call is over
  refused = SITU_ERROR_REFUSED,          ///< the server refused the request: see `error::reason`
  unknown_call = SITU_ERROR_UNKNOWN_CALL,      ///< no such call is under way
  too_many_calls = SITU_ERROR_TOO_MANY_CALLS,  ///< as many calls are under way as the client may have
  empty = SITU_EMPTY,                          ///< the server ended the call without a reply
};

/// Why a server refuses a request.
struct refusal {
  /// A number of the program's choice.
  std::uint64_t code = 0;
  /// A text for the client.
  std::string text{};
};

/// The error of a failed operation. `what()` describes the failure, with the values, and what to do.
class error : public std::runtime_error {
 public:
  error(errc code, const std::string& text) : std::runtime_error(text), code_(code) {}
  error(const std::string& text, refusal reason)
      : std::runtime_error(text),
        code_(errc::refused),
        reason_(std::make_shared<refusal>(std::move(reason))) {}

  [[nodiscard]] errc code() const noexcept { return code_; }
  /// Why a server refused the request. Null for all errors but `errc::refused`.
  [[nodiscard]] const refusal* reason() const noexcept { return reason_.get(); }
  /// The same as `what()`.
  [[nodiscard]] std::string message() const { return what(); }

 private:
  errc code_;
  std::shared_ptr<const refusal> reason_;
};

namespace detail {

/// An operation stores its error here if it fails.
using failed = std::optional<error>;

/// Turns the status of a call into C into success or an error. `SITU_EMPTY` is a success.
inline bool succeeded(situ_status status, const situ_error& raw, failed& why) {
  if (status >= 0) return true;
  why.emplace(static_cast<errc>(status), raw.text);
  return false;
}

inline void raise_if(const failed& why) {
  if (why.has_value()) raise(*why);
}

/// The result with `value`, or with the error if the operation failed.
template <class T>
result<T, error> result_of(T&& value, failed&& why) {
  if (why.has_value()) return failure{*std::move(why)};
  return std::forward<T>(value);
}

}  // namespace detail
}  // namespace situ
