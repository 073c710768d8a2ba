// Gives the messages of a batch to a function of the program.
#pragma once

#include <cstddef>
#include <cstdint>
#include <exception>
#include <type_traits>
#include <utility>

#include "situ.h"
#include "situ/batch.h"
#include "situ/bus/c_abi/error.hpp"
#include "situ/bus/raii/callback.hpp"
#include "situ/bus/typed/open.hpp"
#include "situ/bus/typed/sample.hpp"
#include "situ/layout/message.hpp"

namespace situ::detail {

/// A function of the program, as C calls it. No exception goes through C.
template <message T, class Give>
struct batch_receiver {
  Give& give;
  failed& why;
  std::exception_ptr thrown = nullptr;

  static std::uint32_t call(situ_sample* raw, void* context) noexcept {
    auto& self = *static_cast<batch_receiver*>(context);
#if SITU_HAS_EXCEPTIONS
    try {
      self.receive(*raw);
    } catch (...) {
      self.thrown = std::current_exception();
      return 0;
    }
#else
    self.receive(*raw);
#endif
    return self.why.has_value() ? 0 : 1;
  }

 private:
  void receive(situ_sample& raw) {
    sample<T> taken = opener::none<T>();
    // Moved, so C has nothing to release.
    opener::raw(taken) = raw;
    raw.state_ = 0;
    if (opener::open(taken, why)) invoke_callback(give, why, std::move(taken));
  }
};

/// Takes at most `most` messages that are there, and gives each to `give`. Returns how many were taken.
template <message T, class Give>
std::size_t give_each(situ_subscriber* from, std::size_t most, Give& give, failed& why) {
  situ_error raw;
  std::size_t taken = 0;
  batch_receiver<T, Give> to{give, why};
  const situ_status status =
      situ_subscriber_take_each(from, most, &batch_receiver<T, Give>::call, &to, &taken, &raw);
#if SITU_HAS_EXCEPTIONS
  if (to.thrown) std::rethrow_exception(to.thrown);
#endif
  succeeded(status, raw, why);
  return taken;
}

}  // namespace situ::detail
