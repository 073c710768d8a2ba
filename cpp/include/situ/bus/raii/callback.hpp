// Callbacks of programs: what they return.
#pragma once

#include <type_traits>
#include <utility>

#include "situ/bus/c_abi/error.hpp"
#include "situ/support/result.hpp"

namespace situ::detail {

/// Calls a callback that returns nothing, or a `result<void, error>`.
template <class Callback, class... Arguments>
void invoke_callback(Callback& callback, failed& why, Arguments&&... arguments) {
  using returned = std::invoke_result_t<Callback&, Arguments...>;
  if constexpr (std::is_same_v<returned, result<void, error>>) {
    if (auto done = callback(std::forward<Arguments>(arguments)...); !done)
      why.emplace(std::move(done).error());
  } else {
    static_assert(std::is_void_v<returned>, "a callback returns void or situ::result<void, situ::error>");
    callback(std::forward<Arguments>(arguments)...);
  }
}

}  // namespace situ::detail
