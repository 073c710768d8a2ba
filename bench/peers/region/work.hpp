// The work on a character whose containers resemble those of the standard library: fill it, sum it, and
// change it by the talk's write loop.
#pragma once

#include <tuple>

#include "data.hpp"

namespace region_bench {

// The reserved room of a new character: this many more items, path points and attributes.
inline constexpr std::size_t headroom = 4;

// The operations that differ between systems: reserving, a vector's new content, a new equip, a new item.
struct Plainly {
  template <class C>
  static void reserve(C& c) {
    c.items.reserve(std::tuple_size_v<decltype(Source::items)> + headroom);
    reserve_vectors(c);
  }
  template <class C>
  static void reserve_vectors(C& c) {
    c.path.reserve(std::tuple_size_v<decltype(Source::path)> + headroom);
    c.attributes.reserve(std::tuple_size_v<decltype(Source::attributes)> + headroom);
    c.equips.reserve(std::tuple_size_v<decltype(Source::equips)>);
    c.skills.reserve(std::tuple_size_v<decltype(Source::skills)>);
  }
  template <class V, class R>
  static void assign(V& to, const R& from) {
    to.assign(from.begin(), from.end());
  }
  template <class C>
  static auto& add_equip(C& c) {
    return c.equips.emplace_back();
  }
  template <class C>
  static void add_item(C& c, const SourceItem& item) {
    c.items.emplace(item.key, item.value);
  }
  // The same for items that arrive in the order of their keys.
  template <class C>
  static void append_item(C& c, const SourceItem& item) {
    add_item(c, item);
  }
};

template <class How, class E>
void set_equip(E& equip, const SourceEquip& from) {
  equip.base = from.base;
  equip.level = from.level;
  How::assign(equip.attributes, from.attributes);
}

// The same without reserving: containers grow with their elements.
struct Growing : Plainly {
  template <class C>
  static void reserve(C&) {}
};

// Fills a new character.
template <class How = Plainly, class C>
void fill(C& c, const Source& s) {
  How::reserve(c);
  c.id = s.id;
  c.name = s.name_view();
  c.level = s.level;
  c.healthpoint = s.healthpoint;
  c.manapoint = s.manapoint;
  c.speed = s.speed;
  c.pos = s.pos;
  for (const SourceItem& each : s.items) How::append_item(c, each);
  for (const Position& each : s.path) c.path.push_back(each);
  How::assign(c.attributes, s.attributes);
  for (const SourceEquip& each : s.equips) set_equip<How>(How::add_equip(c), each);
  for (const Skill& each : s.skills) c.skills.push_back(each);
}

// The sum of all fields.
template <class C>
std::uint64_t read_all(const C& c) {
  std::uint64_t total = c.id + sum(std::string_view(c.name.data(), c.name.size())) + c.level +
                        sum(c.healthpoint) + sum(c.manapoint) + sum(c.speed) + sum(c.pos);
  for (const auto& [key, item] : c.items) total += key + sum(item);
  for (const Position& each : c.path) total += sum(each);
  for (const float each : c.attributes) total += sum(each);
  for (const auto& each : c.equips) {
    total += sum(each.base) + each.level;
    for (const float attribute : each.attributes) total += sum(attribute);
  }
  for (const Skill& each : c.skills) total += std::uint64_t{each.id} + each.level;
  return total;
}

// The talk's write loop.
template <class How = Plainly, class C>
void change(C& c, const Change& by) {
  c.level += 1;
  c.healthpoint -= 1;
  c.manapoint += 1;
  c.speed -= 1;
  c.pos.x += 1;
  c.pos.y -= 1;
  c.pos.z += 1;
  for (std::size_t i = 0; i < by.equips.size(); ++i) set_equip<How>(c.equips[i], by.equips[i]);
  for (const Position& each : by.path) {
    c.path.push_back(each);
    keep(c.path);
    c.path.pop_back();
  }
  c.attributes.push_back(by.attribute);
  keep(c.attributes);
  c.attributes.pop_back();
  How::add_item(c, by.item);
  keep(c.items);
  c.items.erase(by.item.key);
}

}  // namespace region_bench
