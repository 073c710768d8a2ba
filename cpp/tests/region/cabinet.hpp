// Types and values of the vector cabinet: keys that are floating-point numbers, booleans, characters, enums,
// structs and arrays.
#pragma once

#include <array>
#include <cstdint>
#include <limits>
#include <string>

#include "situ/region.hpp"

namespace situ_test {

enum class Side : std::int8_t { left = -1, right = 1 };

struct Cell {
  std::int32_t x;
  std::int16_t y;
  std::int16_t z;
  friend bool operator==(const Cell&, const Cell&) = default;
};
SITU_REGION(Cell, x, y, z)

struct Label {
  situ::region_string area;
  std::uint8_t number;
  bool is_old;
};
SITU_REGION(Label, area, number, is_old)

struct Cabinet {
  situ::region_sorted_set<double> angles;
  situ::region_sorted_map<float, std::uint8_t> weights;
  situ::region_sorted_set<bool> doors;
  situ::region_ordered_set<char> letters;
  situ::region_hash_map<Side, situ::region_string> sides;
  situ::region_hash_map<Cell, situ::region_string> grid;
  situ::region_sorted_map<Label, std::uint16_t> labels;
  situ::region_hash_set<float> marks;
  situ::region_ordered_map<std::array<std::uint8_t, 4>, double> digests;
  situ::region_hash_set<Label> places;
  situ::region_sorted_set<std::array<Cell, 2>> pairs;
  situ::region_ordered_map<Label, Cell> shelves;
  situ::region_hash_set<std::uint16_t> many;
  situ::region_hash_set<std::uint8_t> bytes;
};
SITU_REGION(Cabinet, angles, weights, doors, letters, sides, grid, labels, marks, digests, places, pairs,
            shelves, many, bytes)

inline void fill(Cabinet& c) {
  constexpr double infinite = std::numeric_limits<double>::infinity();
  c.angles = {1.5, std::numeric_limits<double>::quiet_NaN(), -0.0, -infinite, 0.0, -2.5, infinite, -1e-310};
  c.weights = {{0.5F, 1}, {-0.5F, 2}, {1e30F, 3}};
  c.doors = {true, false};
  c.letters = {'z', '\xE9', 'A'};
  c.sides = {{Side::left, "left"}, {Side::right, "right"}, {Side{}, "the one in between"}};
  for (int i = 0; i < 11; ++i) {
    const Cell cell{i * 7 % 11 - 5, static_cast<std::int16_t>(-i), static_cast<std::int16_t>(i % 3)};
    c.grid.emplace(cell, "cell " + std::to_string(i));
  }
  c.labels.emplace({"kitchen", 2, false}, 20);
  c.labels.emplace({"kitchen", 1, false}, 10);
  c.labels[{"an area of some length", 200, true}] = 30;
  c.labels.insert_or_assign({"kitchen", 1, true}, 11);
  c.marks = {std::numeric_limits<float>::quiet_NaN(), 0.0F, -0.0F};
  for (int i = 0; i < 4; ++i) c.marks.insert(static_cast<float>(i) * 0.25F - 1);
  for (int i = 0; i < 5; ++i) c.marks.insert(static_cast<float>(i) * 1.5F + 8);
  for (int i = 0; i < 40; ++i) {
    const auto byte = [](int value) { return static_cast<std::uint8_t>(value); };
    const std::array<std::uint8_t, 4> digest{byte(i * 53), byte(i), byte(255 - i), 7};
    c.digests.emplace(digest, i / 4.0);
  }
  for (int i = 0; i < 12; ++i) {
    c.places.insert({i % 2 == 0 ? "cellar" : "the garden behind the house", i * 5 % 13, i % 3 == 0});
  }
  const auto pair = [](Cell a, Cell b) { return std::array<Cell, 2>{a, b}; };
  c.pairs.insert(pair({1, 2, 0}, {3, 4, 0}));
  c.pairs.insert(pair({1, 2, 0}, {-3, 4, 0}));
  c.pairs.insert(pair({-1, 2, 5}, {0, 0, 0}));
  for (int i = 0; i < 25; ++i) {
    const std::string area = "area " + std::to_string(i * 7 % 25) + " of many";
    c.shelves.emplace({area, i % 4, false}, Cell{i, static_cast<std::int16_t>(i), 0});
  }
  for (std::uint32_t i = 1; i <= 400; ++i) c.many.insert(static_cast<std::uint16_t>(i * 257 % 65537 - 1));
  for (int i = 0; i < 11; ++i) c.bytes.insert(static_cast<std::uint8_t>(i * i));
}

}  // namespace situ_test
