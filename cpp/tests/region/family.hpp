// Types and value of the vector family: weak links to parents, across a ring, and to values that have ended.
#pragma once

#include <array>
#include <cstdint>
#include <string>

#include "situ/region.hpp"

namespace situ_test {

struct Person {
  situ::region_weak<Person> parent;
  situ::region_string name;
  situ::region_vector<situ::region_shared<Person>> children;
  situ::region_hash_map<situ::region_string, situ::region_weak<Person>> friends;
};
SITU_REGION(Person, parent, name, children, friends)

struct Home {
  double rent;
  situ::region_weak<Home> next;
};
SITU_REGION(Home, rent, next)

struct Family {
  situ::region_weak<Person> youngest;
  std::array<situ::region_weak<Person>, 2> gone;
  situ::region_shared<Person> eldest;
  situ::region_sorted_map<situ::region_string, situ::region_weak<Person>> names;
  situ::region_vector<situ::region_shared<Home>> homes;
  situ::region_vector<situ::region_weak<Home>> sold;
  situ::region_optional<situ::region_weak<Home>> home;
  situ::region_ordered_map<std::uint16_t, situ::region_weak<Person>> guests;
};
SITU_REGION(Family, youngest, gone, eldest, names, homes, sold, home, guests)

inline void fill(Family& f) {
  f.eldest.emplace().name = "Ann";
  f.eldest->children.resize(3);
  auto& ben = f.eldest->children[0];
  auto& cleo = f.eldest->children[1];
  auto& gone = f.eldest->children[2];
  ben.emplace().name = "Benjamin the elder";
  cleo.emplace().name = "Cleo";
  gone.emplace().name = "somebody who is gone";
  auto& dan = ben->children.emplace_back();
  dan.emplace().name = "Daniel of the hill";
  f.eldest->parent = f.eldest;
  ben->parent = f.eldest;
  cleo->parent = f.eldest;
  gone->parent = gone;
  dan->parent = ben;
  f.eldest->friends["Ann"] = f.eldest;
  f.eldest->friends["Daniel of the hill"] = dan;
  f.eldest->friends["Cleo"] = cleo;
  dan->friends["an uncle who moved"] = gone;
  dan->friends["aunt"] = cleo;
  f.youngest = dan;
  f.gone[0] = gone;
  f.gone[1] = f.gone[0];
  f.names["dan"] = f.youngest;
  f.names["nobody"] = nullptr;
  f.names["a name that is long"] = ben;
  f.homes.resize(6);
  for (const std::size_t i : {0U, 2U, 3U, 5U}) f.homes[i].emplace();
  f.homes[4].share(f.homes[0]);
  f.homes[2]->rent = 0.5;
  f.homes[3]->rent = 1.0;
  f.homes[0]->next = f.homes[2];
  f.homes[2]->next = f.homes[3];
  f.homes[3]->next = f.homes[0];
  f.sold.resize(5);
  f.sold[0] = f.homes[5];
  f.sold[1] = f.homes[3];
  f.sold[3] = f.sold[0];
  f.sold[4] = f.sold[0];
  f.home.emplace() = f.homes[0];
  for (std::uint16_t i = 0; i < 60; ++i) {
    auto& guest = f.guests[static_cast<std::uint16_t>(i * 7 % 100)];
    if (i % 4 == 0) guest = ben;
    if (i % 4 == 1) guest = gone;
    if (i % 4 == 3) guest = dan;
  }
  f.homes.pop_back();
  f.eldest->children.pop_back();
}

}  // namespace situ_test
