// Common parts of the peer programs that tests of regions in Rust start: their output, and their connection
// to each other.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <exception>
#include <initializer_list>
#include <span>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>

#include "situ/bus.hpp"

namespace bus_test {

// The peers wait without a limit, because the machine may be slow.
inline constexpr situ::publisher_qos reliable{.reliability = situ::reliability::reliable,
                                              .block = situ::forever};
inline constexpr situ::subscriber_qos all{.reliability = situ::reliability::reliable};

inline void say(const std::string& line) {
  std::printf("%s\n", line.c_str());
  std::fflush(stdout);
}

/// Prints a label and FNV-1a of the canonical image.
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

/// A role of a peer program, with the function that plays it. The function receives a node and two topics; it
/// may use only the first.
struct role {
  const char* name;
  int topics;
  void (*play)(const situ::node& node, const std::string& first, const std::string& second);
};

/// `main` of a peer program. Its arguments are a root directory, the name of a role, and the role's topics.
inline int play(int count, char** words, std::initializer_list<role> roles) try {
  const std::string what = count > 2 ? words[2] : "";
  for (const role& one : roles) {
    if (what != one.name || count < 3 + one.topics) continue;
    const situ::node node("peer_" + what, situ::root{words[1], {}});
    one.play(node, words[3], one.topics > 1 ? words[4] : "");
    return 0;
  }
  std::string known;
  for (const role& one : roles) known += std::string(" ") + one.name + "/" + std::to_string(one.topics);
  throw std::runtime_error("usage: <root>, a role, and the topics that it needs:" + known);
} catch (const std::exception& error) {
  say(std::string("error: ") + error.what());
  return 1;
}

}  // namespace bus_test
