// A region that is passed from process to process: `relay a` builds it, `relay b` changes it, `relay c`
// changes and reads it. Each may also be the program in Rust (relay.rs).
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <exception>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <thread>

#include "messages.hpp"
#include "situ/bus.hpp"

using namespace std::chrono_literals;
using examples::Character;

namespace {

/// FNV-1a, for comparing by eye.
unsigned long long hash(std::span<const std::byte> bytes) {
  std::uint64_t hash = 0xcbf29ce484222325U;
  for (const std::byte byte : bytes) hash = (hash ^ std::to_integer<std::uint64_t>(byte)) * 0x100000001b3U;
  return hash;
}

void await_next(const situ::publisher<Character>& publisher) {
  while (publisher.statistics().subscribers == 0) std::this_thread::sleep_for(10ms);
}

situ::sample<Character> take(situ::subscriber<Character>& subscriber) {
  auto sample = subscriber.receive(20s);
  if (!sample) throw std::runtime_error("nothing came");
  return std::move(*sample);
}

constexpr situ::publisher_qos reliable{.reliability = situ::reliability::reliable};
constexpr situ::subscriber_qos all{.reliability = situ::reliability::reliable};

/// Builds a character in shared memory.
void build(const situ::node& node) {
  auto publisher = node.publisher<Character>("relay/built", reliable);
  await_next(publisher);
  auto character = publisher.loan();
  character->name = "Hero";
  character->level = 1;
  character->skills.emplace_back(1054, 3);
  character->skills.emplace_back(7, 1);
  for (const std::uint64_t id : {30U, 10U, 20U}) character->items.emplace(id, 1, id * 100);
  std::printf("a built %016llx\n", hash(character.canonical()));
  character.publish();
}

/// Takes it in place, and continues with a copy of it that is a message of its own.
void mutate(const situ::node& node) {
  auto subscriber = node.subscriber<Character>("relay/built", all);
  auto publisher = node.publisher<Character>("relay/mutated", reliable);
  await_next(publisher);
  const auto sample = take(subscriber);
  std::printf("b took %016llx\n", hash(sample.copy().value().canonical()));
  auto character = publisher.edit(sample);
  character->items.erase(10);
  character->level += 1;
  // More than the slot has memory for: it grows in place.
  auto& path = character->path;
  for (int i = 0; i < 1000; ++i) path.emplace_back(i, 0, 0);
  std::printf("b made %016llx\n", hash(character.canonical()));
  character.publish();
}

/// Takes the result, changes a region of its own, and reads it.
void read(const situ::node& node) {
  auto subscriber = node.subscriber<Character>("relay/mutated", all);
  situ::region<Character> character = take(subscriber).copy().value();
  std::printf("c took %016llx\n", hash(character.canonical()));
  character->name += " the Second";
  character->skills.erase(character->skills.begin() + 1);
  character->level += 1;
  std::printf("c made %016llx\n", hash(character.canonical()));
  std::printf("%s, level %u, %zu points, %zu skills, %zu items\n", character->name.str().c_str(),
              character->level, character->path.size(), character->skills.size(), character->items.size());
}

}  // namespace

int main(int count, char** words) try {
  const std::string stage = count > 1 ? words[1] : "";
  const situ::node node("relay_" + stage);
  if (stage == "a") {
    build(node);
  } else if (stage == "b") {
    mutate(node);
  } else if (stage == "c") {
    read(node);
  } else {
    throw std::runtime_error("say a, b or c");
  }
  return 0;
} catch (const std::exception& error) {
  std::fprintf(stderr, "%s\n", error.what());
  return 1;
}
