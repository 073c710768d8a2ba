// The values that all systems of table `region` are given: characters of a game and changes to them. They are
// prepared before timing, and are the same in every program and language (see bench/region/src/character.rs).
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

namespace region_bench {

struct Skill {
  std::uint32_t id;
  std::uint32_t level;
};
struct Item {
  std::uint32_t id;
  std::uint32_t number;
  std::uint64_t uuid;
  std::uint64_t timestamp;
};
struct Position {
  float x, y, z;
};

struct SourceEquip {
  Item base;
  std::uint32_t level;
  std::array<float, 8> attributes;
};
struct SourceItem {
  std::uint64_t key;
  Item value;
};

// A character as plain values.
struct Source {
  std::uint64_t id;
  std::array<char, 8> name;
  std::uint32_t level;
  float healthpoint, manapoint, speed;
  Position pos;
  std::array<SourceItem, 64> items;  // ascending by key, as they come from another map
  std::array<Position, 16> path;
  std::array<float, 16> attributes;
  std::array<SourceEquip, 8> equips;
  std::array<Skill, 4> skills;

  [[nodiscard]] std::string_view name_view() const { return {name.data(), name.size()}; }
};

// What one pass of the talk's write loop puts into a character.
struct Change {
  std::array<SourceEquip, 4> equips;
  std::array<Position, 8> path;
  float attribute;
  SourceItem item;  // of a key that no character has
};

// Makes the compiler assume that a value is used, and that memory may have changed.
template <class T>
inline void keep(const T& value) {
  asm volatile("" : : "r"(&value) : "memory");
}

// SplitMix64.
class Random {
 public:
  explicit Random(std::uint64_t seed) : state_(seed) {}
  std::uint64_t bits() {
    state_ += 0x9E3779B97F4A7C15U;
    std::uint64_t z = state_;
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9U;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBU;
    return z ^ (z >> 31);
  }
  std::uint32_t half() { return static_cast<std::uint32_t>(bits() >> 32); }
  float unit() { return static_cast<float>(bits() >> 40) / 16777216.0F; }

 private:
  std::uint64_t state_;
};

// How many different messages take turns in a batch.
inline constexpr std::size_t message_count = 64;

inline Item random_item(Random& random) {
  return {random.half(), random.half(), random.bits(), random.bits()};
}
inline Position random_position(Random& random) {
  const float x = random.unit();
  const float y = random.unit();
  return {x, y, random.unit()};
}
inline SourceEquip random_equip(Random& random) {
  SourceEquip equip{};
  equip.base = random_item(random);
  equip.level = random.half();
  for (float& each : equip.attributes) each = random.unit();
  return equip;
}

inline const std::vector<Source>& sources() {
  static const std::vector<Source> made = [] {
    std::vector<Source> all(message_count);
    Random random(2024);
    for (Source& s : all) {
      s.id = random.bits();
      for (char& c : s.name) c = static_cast<char>('a' + random.bits() % 26);
      s.level = random.half();
      s.healthpoint = random.unit();
      s.manapoint = random.unit();
      s.speed = random.unit();
      s.pos = random_position(random);
      std::uint64_t key = 0;
      for (SourceItem& each : s.items) {
        // Characters have even keys, changes have odd ones.
        key += 2 + random.bits() % (1U << 20) * 2;
        each.key = key;
        each.value = random_item(random);
      }
      for (Position& each : s.path) each = random_position(random);
      for (float& each : s.attributes) each = random.unit();
      for (SourceEquip& each : s.equips) each = random_equip(random);
      for (Skill& each : s.skills) {
        each.id = random.half();
        each.level = random.half();
      }
    }
    return all;
  }();
  return made;
}

inline const std::vector<Change>& changes() {
  static const std::vector<Change> made = [] {
    std::vector<Change> all(message_count);
    Random random(4202);
    for (Change& c : all) {
      for (SourceEquip& each : c.equips) each = random_equip(random);
      for (Position& each : c.path) each = random_position(random);
      c.attribute = random.unit();
      c.item.key = (random.bits() % (1U << 26)) | 1U;
      c.item.value = random_item(random);
    }
    return all;
  }();
  return made;
}

inline std::uint64_t sum(float value) { return std::bit_cast<std::uint32_t>(value); }
inline std::uint64_t sum(const Item& item) {
  return std::uint64_t{item.id} + item.number + item.uuid + item.timestamp;
}
inline std::uint64_t sum(const Position& p) { return sum(p.x) + sum(p.y) + sum(p.z); }
inline std::uint64_t sum(std::string_view text) {
  std::uint64_t total = text.size();
  for (const char c : text) total += static_cast<unsigned char>(c);
  return total;
}

// The sum of all fields of a character. `read` must return it.
inline std::uint64_t sum(const Source& s) {
  std::uint64_t total =
      s.id + sum(s.name_view()) + s.level + sum(s.healthpoint) + sum(s.manapoint) + sum(s.speed) + sum(s.pos);
  for (const SourceItem& each : s.items) total += each.key + sum(each.value);
  for (const Position& each : s.path) total += sum(each);
  for (const float each : s.attributes) total += sum(each);
  for (const SourceEquip& each : s.equips) {
    total += sum(each.base) + each.level;
    for (const float attribute : each.attributes) total += sum(attribute);
  }
  for (const Skill& each : s.skills) total += std::uint64_t{each.id} + each.level;
  return total;
}

}  // namespace region_bench
