// Surviving files of shared memory that are made shorter while they are in use.
#pragma once

#include "situ/bus/c_abi/error.hpp"

namespace situ {

/// As `install_guard`, without an exception.
[[nodiscard]] inline result<void, error> try_install_guard() {
  situ_error raw;
  detail::failed why;
  if (!detail::succeeded(situ_guard_install(&raw), raw, why)) return failure{*std::move(why)};
  return {};
}

/// Has this process survive that files of shared memory are made shorter while it has them mapped. What a
/// file has lost reads as zeroes, and the next take or publication is an error: `errc::malformed` of a
/// publisher's memory, `errc::removed` of the topic. Off unless it is called: it installs a handler of
/// SIGBUS, which belongs to the program. A fault elsewhere goes to the handler that was there before. Calling
/// it again does nothing.
inline void install_guard() {
  situ_error raw;
  detail::failed why;
  detail::succeeded(situ_guard_install(&raw), raw, why);
  detail::raise_if(why);
}

}  // namespace situ
