// Keeps a process alive when files of shared memory are made shorter while it uses them.
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

/// Keeps this process alive when files of shared memory are made shorter while it has them mapped. The lost
/// part of a file reads as zeroes, and the next take or publication fails: with `errc::malformed` for a
/// publisher's memory, with `errc::removed` for the topic. Off by default, because it installs a SIGBUS
/// handler, and signal handlers belong to the program. Faults elsewhere go to the previous handler. Calling
/// it again does nothing.
inline void install_guard() {
  situ_error raw;
  detail::failed why;
  detail::succeeded(situ_guard_install(&raw), raw, why);
  detail::raise_if(why);
}

}  // namespace situ
