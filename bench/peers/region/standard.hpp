// The character of ordinary containers. Some peers decode into it.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "work.hpp"

namespace region_bench::standard {

struct Equip {
  Item base;
  std::uint32_t level;
  std::vector<float> attributes;
};
struct Character {
  std::uint64_t id;
  std::string name;
  std::uint32_t level;
  float healthpoint, manapoint, speed;
  Position pos;
  std::map<std::uint64_t, Item> items;
  std::vector<Position> path;
  std::vector<float> attributes;
  std::vector<Equip> equips;
  std::vector<Skill> skills;
};

struct How : Plainly {
  template <class C>
  static void reserve(C& c) {
    reserve_vectors(c);
  }
  template <class C>
  static void append_item(C& c, const SourceItem& item) {
    c.items.emplace_hint(c.items.end(), item.key, item.value);
  }
};

}  // namespace region_bench::standard
