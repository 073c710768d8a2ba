// The character as a region of Situ.
#pragma once

#include "situ/region.hpp"
#include "work.hpp"

namespace region_bench {

SITU_REGION(Skill, id, level)
SITU_REGION(Item, id, number, uuid, timestamp)
SITU_REGION(Position, x, y, z)

struct Equip {
  Item base;
  std::uint32_t level;
  situ::region_vector<float> attributes;
};
SITU_REGION(Equip, base, level, attributes)

struct Character {
  std::uint64_t id;
  situ::region_string name;
  std::uint32_t level;
  float healthpoint;
  float manapoint;
  float speed;
  Position pos;
  situ::region_sorted_map<std::uint64_t, Item> items;
  situ::region_vector<Position> path;
  situ::region_vector<float> attributes;
  situ::region_vector<Equip> equips;
  situ::region_vector<Skill> skills;
};
SITU_REGION(Character, id, name, level, healthpoint, manapoint, speed, pos, items, path, attributes, equips,
            skills)

struct Numbers {
  situ::region_vector<std::uint32_t> values;
};
SITU_REGION(Numbers, values)

using Region = situ::region<Character>;

struct InRegion : Plainly {
  template <class V, class R>
  static void assign(V& to, const R& from) {
    to.assign_range(from);
  }
};
struct InGrowingRegion : InRegion {
  template <class C>
  static void reserve(C&) {}
};

}  // namespace region_bench
