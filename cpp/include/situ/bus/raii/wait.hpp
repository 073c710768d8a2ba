// Waits for several subscribers at once.
#pragma once

#include <array>
#include <chrono>
#include <concepts>
#include <cstddef>
#include <optional>
#include <span>
#include <vector>

#include "situ/bus/raii/any_subscriber.hpp"

namespace situ {
namespace detail {

inline std::optional<std::size_t> wait_any(const waiting& how,
                                           std::span<situ_subscriber* const> subscribers) {
  situ_error raw;
  failed why;
  std::size_t index = 0;
  const situ_waiting terms = to_c(how);
  const waited ended_by =
      ended(situ_wait_any_with(subscribers.data(), subscribers.size(), &terms, &index, &raw), raw, why);
  raise_if(why);
  if (ended_by != waited::ready) return std::nullopt;
  return index;
}

}  // namespace detail

/// Waits until one of the subscribers has a message, and returns its index, from 0. Returns nothing if the
/// timeout passes first: `situ::wait_any(10ms, images, points)`.
template <std::derived_from<any_subscriber>... Subscribers>
requires(sizeof...(Subscribers) > 0)
    [[nodiscard]] std::optional<std::size_t> wait_any(std::chrono::nanoseconds timeout,
                                                      Subscribers&... subscribers) {
  const std::array<situ_subscriber*, sizeof...(Subscribers)> handles{subscribers.handle()...};
  return detail::wait_any(waiting{.timeout = timeout}, handles);
}

/// The same for a number of subscribers that is known only at run time.
[[nodiscard]] inline std::optional<std::size_t> wait_any(std::chrono::nanoseconds timeout,
                                                         std::span<any_subscriber* const> subscribers) {
  std::vector<situ_subscriber*> handles;
  handles.reserve(subscribers.size());
  for (const any_subscriber* subscriber : subscribers) handles.push_back(subscriber->handle());
  return detail::wait_any(waiting{.timeout = timeout}, handles);
}

/// The same, with an interrupter or a signal that may end the wait even when a message is available. The
/// result is then nothing, as after a timeout; `interrupter::interrupted` distinguishes the two.
template <std::derived_from<any_subscriber>... Subscribers>
requires(sizeof...(Subscribers) > 0)
    [[nodiscard]] std::optional<std::size_t> wait_any(const waiting& how, Subscribers&... subscribers) {
  const std::array<situ_subscriber*, sizeof...(Subscribers)> handles{subscribers.handle()...};
  return detail::wait_any(how, handles);
}
[[nodiscard]] inline std::optional<std::size_t> wait_any(const waiting& how,
                                                         std::span<any_subscriber* const> subscribers) {
  std::vector<situ_subscriber*> handles;
  handles.reserve(subscribers.size());
  for (const any_subscriber* subscriber : subscribers) handles.push_back(subscriber->handle());
  return detail::wait_any(how, handles);
}

}  // namespace situ
