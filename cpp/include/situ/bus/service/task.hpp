// A coroutine that runs by itself.
#pragma once

#include <exception>

#include "situ/support/coroutine.hpp"

#if SITU_HAS_COROUTINES

namespace situ {

/// A coroutine that begins at once, and runs by itself to its end: for programs that have no type of
/// coroutines of their own. Like a `std::thread`, it ends the program if an exception leaves it.
///
///   situ::task add(situ::client<Sum, Total>& client) {
///     const auto total = co_await client.call(Sum{...});
///   }
struct task {
  struct promise_type {
    [[nodiscard]] task get_return_object() const noexcept { return {}; }
    [[nodiscard]] std::suspend_never initial_suspend() const noexcept { return {}; }
    [[nodiscard]] std::suspend_never final_suspend() const noexcept { return {}; }
    void return_void() const noexcept {}
    [[noreturn]] void unhandled_exception() const noexcept { std::terminate(); }
  };
};

}  // namespace situ

#endif
