// What the programs share that tests of regions in Rust start: what they say, and how they meet.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <span>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>

#include "situ/bus.hpp"

namespace bus_test {

inline constexpr situ::publisher_qos reliable{.reliability = situ::reliability::reliable};
inline constexpr situ::subscriber_qos all{.reliability = situ::reliability::reliable};

inline void say(const std::string& line) {
  std::printf("%s\n", line.c_str());
  std::fflush(stdout);
}

/// What was done, and FNV-1a of the canonical image.
inline void say_hash(const char* what, std::span<const std::byte> canonical) {
  std::uint64_t hash = 0xcbf29ce484222325U;
  for (const std::byte byte : canonical)
    hash = (hash ^ std::to_integer<std::uint64_t>(byte)) * 0x100000001b3U;
  char line[64];
  std::snprintf(line, sizeof line, "%s %016llx", what, static_cast<unsigned long long>(hash));
  say(line);
}

template <class T>
void await_next(const situ::publisher<T>& publisher) {
  while (publisher.statistics().subscribers == 0) std::this_thread::sleep_for(std::chrono::milliseconds(1));
}

template <class T>
situ::sample<T> receive(situ::subscriber<T>& subscriber) {
  auto sample = subscriber.receive(std::chrono::seconds(20));
  if (!sample) throw std::runtime_error("nothing came");
  return std::move(*sample);
}

}  // namespace bus_test
