// Keys that are not integers or strings: floating-point numbers, booleans, characters, enums, structs,
// arrays.
#include <gtest/gtest.h>

#include <array>
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <span>
#include <string>
#include <vector>

#include "region/cabinet.hpp"
#include "region/refused.hpp"

namespace {

using situ_test::Cabinet;
using situ_test::Cell;

TEST(keys, floating_point_numbers_are_in_the_total_order) {
  situ::region<Cabinet> r;
  fill(*r);
  std::vector<std::uint64_t> bits;
  for (const double angle : r->angles) bits.push_back(std::bit_cast<std::uint64_t>(angle));
  const std::vector<std::uint64_t> expected{
      0xFFF0'0000'0000'0000, 0xC004'0000'0000'0000, 0x8000'1268'8B70'E62B, 0x8000'0000'0000'0000, 0,
      0x3FF8'0000'0000'0000, 0x7FF0'0000'0000'0000, 0x7FF8'0000'0000'0000};
  EXPECT_EQ(bits, expected);
  EXPECT_TRUE(r->angles.contains(std::numeric_limits<double>::quiet_NaN()));
  EXPECT_EQ(r->angles.erase(-0.0), 1);
  EXPECT_EQ(r->angles.erase(-0.0), 0) << "0.0 is another key";
  EXPECT_EQ(*r->angles.lower_bound(-0.0), 0);
  EXPECT_EQ(*r->angles.upper_bound(1.5), std::numeric_limits<double>::infinity());
  EXPECT_FALSE(r->angles.insert(1.5).second);
  EXPECT_EQ(r->marks.count(-0.0F) + r->marks.count(0.0F), 2);
  EXPECT_EQ(r->marks.count(std::bit_cast<float>(0x7FC0'0001U)), 0) << "another NaN";
  EXPECT_EQ(r->weights.begin()->first, -0.5F);
  r->weights[0.5F] += 1;
  EXPECT_EQ(r->weights.at(0.5), 2);
}

TEST(keys, booleans_and_characters_are_in_the_order_of_their_bytes) {
  situ::region<Cabinet> r;
  fill(*r);
  EXPECT_EQ(std::vector<bool>(r->doors.begin(), r->doors.end()), (std::vector<bool>{false, true}));
  EXPECT_EQ(std::string(r->letters.begin(), r->letters.end()), "Az\xE9");
  EXPECT_EQ(*r->letters.upper_bound('z'), '\xE9');
}

TEST(keys, structs_are_compared_by_their_members_in_order) {
  situ::region<Cabinet> r;
  fill(*r);
  std::string order;
  for (const auto& [key, value] : r->labels) order += std::to_string(value) + " ";
  EXPECT_EQ(order, "30 10 11 20 ");
  EXPECT_EQ(r->labels.at({"kitchen", 1, true}), 11);
  EXPECT_EQ(r->labels.find({"kitchen", 3, true}), r->labels.end());
  EXPECT_TRUE(r->places.contains({"cellar", 10, false}));
  EXPECT_FALSE(r->places.contains({"cellar", 10, true}));
  EXPECT_EQ(r->grid.at(Cell{-5, 0, 0}), "cell 0");
  EXPECT_EQ(r->grid.at({-5, 0, 0}), "cell 0");
  EXPECT_EQ(r->grid.erase({-5, 0, 0}), 1);
  EXPECT_FALSE(r->grid.contains({-5, 0, 0}));
  EXPECT_EQ((*r->pairs.begin())[0], (Cell{-1, 2, 5}));
  EXPECT_EQ((*r->pairs.rbegin())[1], (Cell{3, 4, 0}));
  // A key of the map finds itself, also while it moves.
  for (auto at = r->shelves.begin(); at != r->shelves.end();) {
    EXPECT_EQ(r->shelves.find(at->first), at);
    at = r->shelves.erase(at);
  }
  EXPECT_TRUE(r->shelves.empty());
}

TEST(keys, sets_and_maps_are_copied_and_compared) {
  situ::region<Cabinet> r;
  fill(*r);
  situ::region<Cabinet> copy;
  *copy = *r;
  EXPECT_TRUE(copy->grid == r->grid);
  EXPECT_TRUE(copy->places == r->places);
  EXPECT_TRUE(copy->marks == r->marks);
  EXPECT_EQ(copy.canonical(), r.canonical());
  copy->places.erase({"cellar", 10, false});
  EXPECT_FALSE(copy->places == r->places);
}

TEST(keys, a_struct_without_room_for_its_string_changes_nothing) {
  std::vector<std::byte> memory(1 << 13);
  situ::region<Cabinet> r{std::span<std::byte>(memory)};
  std::uint32_t number = 0;
  const std::string long_text(100, 'x');
  while (r->places.try_insert({long_text + std::to_string(number), 1, true}).first != nullptr) ++number;
  ASSERT_GT(number, 20);
  EXPECT_EQ(r->places.size(), number);
  EXPECT_EQ(r->labels.try_insert({long_text + long_text, 1, true}, 2).first, nullptr);
  EXPECT_EQ(r->shelves.try_insert({long_text + long_text, 1, true}).first, nullptr);
  EXPECT_TRUE(r->labels.empty() && r->shelves.empty());
  EXPECT_TRUE(situ::region<Cabinet>::adopt(r.bytes()));
}

TEST(keys, in_another_order_are_refused) {
  situ::region<Cabinet> r;
  r->angles = {-0.0, 0.0};
  r->labels.emplace({"a", 1, false}, 0);
  r->labels.emplace({"a", 2, false}, 0);
  std::vector<std::byte> image = r.canonical();
  EXPECT_EQ(situ_test::refused<Cabinet>(image), "accepted");
  // The block of the angles follows the root.
  const std::size_t angles = 64 + (sizeof(Cabinet) + 15) / 16 * 16;
  image[angles + 7] = std::byte{0};
  EXPECT_EQ(situ_test::refused<Cabinet>(image),
            "angles: key 1 is not greater than the key before it (at offset 64)");
  image[angles + 7] = std::byte{0x80};
  image[angles + 16 + 16] = std::byte{3};
  EXPECT_EQ(situ_test::refused<Cabinet>(image),
            "labels: key 1 is not greater than the key before it (at offset " +
                std::to_string(64 + offsetof(Cabinet, labels)) + ")");
}

}  // namespace
