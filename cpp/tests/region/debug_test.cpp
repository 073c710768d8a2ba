// With SITU_REGION_DEBUG, a stale iterator ends the program when it is used. This program defines the macro.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "situ/region.hpp"

namespace situ_test {

struct Note {
  situ::region_string text;
  situ::region_vector<std::uint16_t> marks;
};
SITU_REGION(Note, text, marks)
struct Desk {
  situ::region_vector<std::uint32_t> numbers;
  situ::region_vector<Note> notes;
  situ::region_sorted_map<std::uint32_t, situ::region_string> sorted;
  situ::region_sorted_set<std::uint32_t> sorted_set;
  situ::region_hash_map<std::uint32_t, situ::region_string> hash;
  situ::region_ordered_map<std::uint32_t, situ::region_string> ordered;
  situ::region_ordered_set<std::uint32_t> ordered_set;
};
SITU_REGION(Desk, numbers, notes, sorted, sorted_set, hash, ordered, ordered_set)

}  // namespace situ_test

namespace {

using situ_test::Desk;

static_assert(situ::region_detail::checks_iterators, "this program checks iterators");
static_assert(std::contiguous_iterator<decltype(std::declval<Desk&>().numbers.begin())>);
static_assert(std::contiguous_iterator<decltype(std::declval<const Desk&>().numbers.begin())>);

constexpr const char* in_vector =
    "an iterator is used after a change of its container.*region_vector<unsigned int>";
constexpr const char* in_tree = "an iterator is used after a change of its container.*tree<";
constexpr const char* in_table = "an iterator is used after a change of its container.*hash_table<";

template <class T>
void use(const T& value) {
  [[maybe_unused]] static const void* volatile sink = nullptr;
  sink = &value;
}

class Debug : public testing::Test {
 protected:
  Debug() { r->numbers = {1, 2, 3, 4}; }
  situ::region<Desk> r;
};

TEST_F(Debug, CatchesIteratorsOfElementsThatMoved) {
  const auto first = r->numbers.begin();
  const auto last = std::as_const(r->numbers).end() - 1;
  EXPECT_EQ(*first + *last, 5U);
  r->notes.emplace_back().text = "a block behind the numbers, so that they cannot grow in place";
  while (r->numbers.size() < 64) r->numbers.push_back(5);
  EXPECT_DEATH(use(*first), in_vector);
  EXPECT_DEATH(use(first[1]), in_vector);
  EXPECT_DEATH(use(*last), in_vector);
  EXPECT_DEATH(r->numbers.erase(first), in_vector);
  EXPECT_DEATH(r->numbers.insert(first, 3), in_vector);
  EXPECT_EQ(std::count(r->numbers.begin(), r->numbers.end(), 5U), 60);
}

TEST_F(Debug, CatchesIteratorsAtAndBehindAChange) {
  r->numbers.reserve(16);
  auto second = r->numbers.begin() + 1;
  auto fourth = r->numbers.begin() + 3;
  r->numbers.push_back(5);  // in place
  EXPECT_EQ(*second + *fourth, 6U);
  auto made = r->numbers.insert(r->numbers.begin() + 2, 9);
  EXPECT_EQ(*made, 9U);
  EXPECT_EQ(*second, 2U);
  EXPECT_DEATH(use(*fourth), in_vector);
  fourth = r->numbers.begin() + 3;
  r->numbers.erase(r->numbers.begin() + 3);
  EXPECT_EQ(*made, 9U);
  EXPECT_DEATH(use(*fourth), in_vector);
  auto last = r->numbers.end() - 1;
  r->numbers.pop_back();
  EXPECT_DEATH(use(*last), in_vector);
  erase_if(r->numbers, [](std::uint32_t each) { return each == 9; });
  EXPECT_DEATH(use(*made), in_vector);
  EXPECT_EQ(*second, 2U);
  r->numbers.resize(1);
  EXPECT_DEATH(use(*second), in_vector);
  const auto first = r->numbers.begin();
  r->numbers = {7, 8};
  EXPECT_DEATH(use(*first), in_vector);
  const auto again = r->numbers.begin();
  r->numbers.clear();
  EXPECT_DEATH(use(*again), in_vector);
}

TEST_F(Debug, LeavesIteratorsOfElementsThatStay) {
  r->notes.emplace_back().marks = {1, 2, 3};
  const auto mark = r->notes[0].marks.begin();
  for (int i = 0; i < 20; ++i) r->notes.emplace_back();  // the vector of marks moves, not its elements
  EXPECT_EQ(*mark, 1U);
  const auto first = r->numbers.begin();
  std::reverse(r->numbers.begin(), r->numbers.end());
  r->numbers.sort();
  situ::sort(r->numbers.begin(), r->numbers.end());
  r->numbers.reverse();
  r->numbers.rotate(r->numbers.begin(), r->numbers.begin() + 1, r->numbers.end());
  EXPECT_EQ(*first, 3U);
  const std::span<std::uint32_t> span(r->numbers.begin(), r->numbers.end());
  EXPECT_EQ(span.size(), 4U);
  r->notes.erase(r->notes.begin());
  EXPECT_DEATH(use(*mark), "region_vector<short unsigned int>|region_vector<unsigned short>");
}

TEST_F(Debug, CatchesIteratorsOfMapsAndSets) {
  for (std::uint32_t i = 0; i < 8; ++i) {
    r->sorted[i] = "text";
    r->sorted_set.insert(i);
    r->hash[i] = "text";
    r->ordered[i] = "text";
    r->ordered_set.insert(i);
  }
  const auto sorted = r->sorted.find(5);
  const auto below = r->sorted.find(1);
  const auto sorted_set = r->sorted_set.find(5);
  auto hash = r->hash.find(5);
  auto ordered = r->ordered.find(5);
  const auto ordered_set = r->ordered_set.find(5);
  r->sorted.erase(3);
  r->sorted_set.erase(3);
  r->hash.erase(3);
  r->ordered.erase(3);
  r->ordered_set.insert(100);
  EXPECT_EQ(below->second, "text");
  EXPECT_DEATH(use(*sorted), "region_vector<situ::region_entry<unsigned int, situ::region_string>");
  EXPECT_DEATH(use(sorted->second), "used after a change");
  EXPECT_DEATH(use(*sorted_set), in_vector);
  EXPECT_DEATH(use(*hash), in_table);
  EXPECT_DEATH(use(*ordered), in_tree);
  EXPECT_DEATH(++ordered, in_tree);
  EXPECT_DEATH(use(*ordered_set), in_tree);
  for (auto it = r->hash.begin(); it != r->hash.end();) it = r->hash.erase(it);
  for (auto it = r->ordered.begin(); it != r->ordered.end();) it = r->ordered.erase(it);
  for (auto it = r->sorted.begin(); it != r->sorted.end();) it = r->sorted.erase(it);
  EXPECT_TRUE(r->hash.empty() && r->ordered.empty() && r->sorted.empty());
}

TEST_F(Debug, CatchesIteratorsOfRegionsThatMovedOrEnded) {
  auto first = r->numbers.begin();
  r.compact();
  EXPECT_DEATH(use(*first), in_vector);
  first = r->numbers.begin();
  r.compact_in_place();
  EXPECT_DEATH(use(*first), in_vector);
  first = r->numbers.begin();
  const situ::region<Desk> copy = r;
  r = copy;
  EXPECT_DEATH(use(*first), in_vector);
  alignas(16) std::array<std::byte, 8192> buffer{};
  first = r->numbers.begin();
  ASSERT_TRUE(r.continue_in(buffer));
  EXPECT_DEATH(use(*first), in_vector);
  EXPECT_EQ(r->numbers.front(), 1U);
  {
    situ::region<Desk> other;
    other->numbers = {1};
    first = other->numbers.begin();
    use(*first);
  }
  EXPECT_DEATH(use(*first), in_vector);
}

TEST_F(Debug, LeavesImagesAsTheyAre) {
  // As in a program without the macro: see region_test.cpp.
  static_assert(sizeof(situ::region_vector<int>) == 16 && sizeof(situ::region_sorted_map<int, int>) == 16);
  const auto image = r.bytes();
  EXPECT_EQ(r.size(), image.size());
  const auto adopted = situ::region<Desk>::adopt(image);
  ASSERT_TRUE(adopted);
  EXPECT_EQ((*adopted)->numbers, (std::vector<std::uint32_t>{1, 2, 3, 4}));
}

}  // namespace
