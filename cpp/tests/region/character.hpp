// The game character of the offset-data-structure talk, and types with every container, for the tests of
// regions.
#pragma once

#include <array>
#include <cstdint>
#include <string>

#include "situ/region.hpp"

namespace situ_test {

struct Skill {
  std::uint32_t id;
  std::uint32_t level;
};
SITU_REGION(Skill, id, level)

struct Item {
  std::uint32_t id;
  std::uint32_t number;
  std::uint64_t uuid;
  std::uint64_t timestamp;
};
SITU_REGION(Item, id, number, uuid, timestamp)

struct Equip {
  Item base;
  std::uint32_t level;
  situ::region_vector<float> attributes;
};
SITU_REGION(Equip, base, level, attributes)

struct Position {
  float x, y, z;
};
SITU_REGION(Position, x, y, z)

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

struct Node {
  std::int32_t value;
  situ::region_vector<Node> children;
  situ::region_unique<Node> next;
};
SITU_REGION(Node, value, children, next)

enum class Colour : std::uint8_t { red = 1, green = 2 };

/// One of each kind, with padding after `flag` and `colour`.
struct Kitchen {
  bool flag;
  std::int64_t number;
  Colour colour;
  std::array<std::int16_t, 3> three;
  std::array<situ::region_string, 2> names;
  situ::region_optional<double> maybe;
  situ::region_optional<situ::region_string> nickname;
  situ::region_unique<Node> tree;
  situ::region_sorted_set<situ::region_string> words;
  situ::region_sorted_map<situ::region_string, situ::region_vector<std::uint16_t>> lists;
  situ::region_hash_set<std::int32_t> numbers;
  situ::region_hash_map<situ::region_string, Equip> gear;
  situ::region_vector<bool> bits;
};
SITU_REGION(Kitchen, flag, number, colour, three, names, maybe, nickname, tree, words, lists, numbers, gear,
            bits)

/// The values of the vectors in spec/vectors/region.
inline void fill(Character& c) {
  c.id = 1;
  c.name = "Hero";
  c.level = 60;
  c.healthpoint = 100.5F;
  c.manapoint = 50.25F;
  c.speed = 1.5F;
  c.pos = {1, 2, 3};
  for (std::uint32_t i = 0; i < 5; ++i)
    c.items.emplace(std::uint64_t{50} - i * 10, Item{i, i + 1, 7000 + i, 90 + i});
  for (int i = 0; i < 4; ++i) c.path.emplace_back(i, i * 2, i * 3);
  for (int i = 0; i < 3; ++i) c.attributes.push_back(0.5F * static_cast<float>(i));
  for (std::uint32_t i = 0; i < 2; ++i) {
    Equip& equip = c.equips.emplace_back(Item{i, 1, i + 100, i + 200}, i + 5);
    for (int j = 0; j < 3; ++j) equip.attributes.push_back(static_cast<float>(j));
  }
  c.skills.emplace_back(1054, 3);
  c.skills.emplace_back(7, 1);
}

inline void fill(Kitchen& k) {
  k.flag = true;
  k.number = -5;
  k.colour = Colour::green;
  k.three = {1, -2, 3};
  k.names[0] = "short";
  k.names[1] = "a name of more than eleven bytes";
  k.maybe = 2.5;
  k.nickname = std::string_view("the nickname is long");
  Node& root = k.tree.emplace(1);
  Node& child = root.children.emplace_back(2);
  child.children.emplace_back(3);
  root.children.emplace_back(4).next.emplace(5);
  for (const char* word : {"zebra", "apple", "a rather long word", "mango"}) k.words.insert(word);
  k.lists["odd"] = std::array<std::uint16_t, 3>{1, 3, 5};
  k.lists["even"] = std::array<std::uint16_t, 2>{2, 4};
  for (int i = 0; i < 20; ++i) k.numbers.insert(i * 37 - 100);
  for (const char* name : {"sword", "a shield that is heavy", "bow"}) k.gear[name].attributes.push_back(1.5F);
  k.bits.push_back(true);
  k.bits.push_back(false);
}

}  // namespace situ_test
