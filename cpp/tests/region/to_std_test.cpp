// Copies of values in regions as types of the standard library.
#include "situ/region/to_std.hpp"

#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <tuple>
#include <type_traits>
#include <unordered_map>
#include <unordered_set>
#include <variant>
#include <vector>

#include "situ/region.hpp"

namespace situ_test {

struct Point {
  std::int32_t x, y;
};
SITU_REGION(Point, x, y)
struct Place {
  situ::region_string area;
  std::uint8_t number;
};
SITU_REGION(Place, area, number)
struct Thing {
  std::uint32_t level;
  situ::region_string name;
  Point at;
  situ::region_vector<situ::region_string> tags;
};
SITU_REGION(Thing, level, name, at, tags)

using Value = situ::region_union<"Value", std::int32_t, situ::region_case<"number", double, 1>,
                                 situ::region_case<"text", situ::region_string, 2>,
                                 situ::region_case<"things", situ::region_vector<Thing>, 3>>;
struct Chest {
  situ::region_vector<Thing> things;
  situ::region_sorted_map<situ::region_string, Thing> by_name;
  situ::region_hash_map<Place, situ::region_vector<Thing>> by_place;
  situ::region_hash_set<Place> places;
  situ::region_ordered_set<std::array<std::uint8_t, 2>> pairs;
  situ::region_hash_set<situ::region_string> words;
  situ::region_optional<Thing> best;
  situ::region_unique<Thing> far;
  situ::region_vector<situ::region_shared<Thing>> shared;
  situ::region_vector<Value> values;
  std::array<situ::region_string, 2> ends;
};
SITU_REGION(Chest, things, by_name, by_place, places, pairs, words, best, far, shared, values, ends)

/// Contains itself.
struct Knot {
  situ::region_string name;
  situ::region_vector<Knot> children;
  situ::region_unique<Knot> next;
};
SITU_REGION(Knot, name, children, next)

/// One value behind two links.
struct Pair {
  situ::region_shared<Thing> first;
  situ::region_shared<Thing> second;
  situ::region_shared<Thing> third;
};
SITU_REGION(Pair, first, second, third)

// Structs of the program, with the same members.
struct PlainThing {
  std::uint32_t level = 0;
  std::string name;
  Point at{};
  std::vector<std::string> tags;
};
struct PlainKnot {
  std::string name;
  std::vector<PlainKnot> children;
  std::unique_ptr<PlainKnot> next;
};

}  // namespace situ_test

namespace {

using situ_test::Chest;
using situ_test::Point;
using thing = std::tuple<std::uint32_t, std::string, Point, std::vector<std::string>>;

void fill(situ_test::Thing& to, std::uint32_t level) {
  to.level = level;
  to.name = "thing " + std::to_string(level) + " in a block";
  to.at = {static_cast<std::int32_t>(level), -1};
  to.tags = {"one", "two"};
}
void expect_thing(const thing& found, std::uint32_t level) {
  const auto& [number, name, at, tags] = found;
  EXPECT_EQ(number, level);
  EXPECT_EQ(name, "thing " + std::to_string(level) + " in a block");
  EXPECT_EQ(at.x, static_cast<std::int32_t>(level));
  EXPECT_EQ(tags, (std::vector<std::string>{"one", "two"}));
}

TEST(ToStd, MakesTuplesOfStructs) {
  situ::region<Chest> r;
  fill(r->things.emplace_back(), 1);
  fill(r->things.emplace_back(), 2);
  const std::vector<thing> things = situ::to_std(r->things);
  ASSERT_EQ(things.size(), 2U);
  expect_thing(things[0], 1);
  expect_thing(things[1], 2);
  const thing one = situ::to_std(r->things[0]);
  expect_thing(one, 1);
  fill(r->by_name["x"], 3);
  const std::map<std::string, thing> by_name = situ::to_std(r->by_name);
  expect_thing(by_name.at("x"), 3);
  EXPECT_FALSE(situ::to_std(r->best).has_value());
  fill(r->best.emplace(), 4);
  const std::optional<thing> best = situ::to_std(r->best);
  expect_thing(best.value(), 4);
  fill(r->far.emplace(), 5);
  expect_thing(situ::to_std(r->far).value(), 5);
  r->ends[0] = "begin";
  r->ends[1] = "and the end of the row";
  EXPECT_EQ(situ::to_std(r->ends), (std::array<std::string, 2>{"begin", "and the end of the row"}));
}

TEST(ToStd, MakesTuplesOfKeys) {
  situ::region<Chest> r;
  fill(r->by_place[{"cellar", 3}].emplace_back(), 7);
  // There is no std::hash of tuples.
  const std::map<std::tuple<std::string, std::uint8_t>, std::vector<thing>> by_place =
      situ::to_std(r->by_place);
  expect_thing(by_place.at({"cellar", std::uint8_t{3}}).at(0), 7);
  r->places.insert({"attic", 1});
  const std::set<std::tuple<std::string, std::uint8_t>> places = situ::to_std(r->places);
  EXPECT_TRUE(places.contains({"attic", std::uint8_t{1}}));
  r->pairs.insert(std::array<std::uint8_t, 2>{1, 2});
  const std::set<std::array<std::uint8_t, 2>> pairs = situ::to_std(r->pairs);
  EXPECT_TRUE(pairs.contains({1, 2}));
  r->words.insert("a word of more than eleven");
  const std::unordered_set<std::string> words = situ::to_std(r->words);
  EXPECT_TRUE(words.contains("a word of more than eleven"));
}

TEST(ToStd, KeepsWhatIsShared) {
  situ::region<Chest> r;
  r->shared.resize(4);
  fill(r->shared[0].emplace(), 1);
  r->shared[2].share(r->shared[0]);
  fill(r->shared[3].emplace(), 2);
  const std::vector<std::shared_ptr<thing>> shared = situ::to_std(r->shared);
  ASSERT_EQ(shared.size(), 4U);
  EXPECT_EQ(shared[0], shared[2]);
  EXPECT_EQ(shared[0].use_count(), 2);
  EXPECT_EQ(shared[1], nullptr);
  expect_thing(*shared[0], 1);
  expect_thing(*shared[3], 2);
}

TEST(ToStd, KeepsApartCopiesOfSeveralTypes) {
  situ::region<situ_test::Pair> r;
  fill(r->first.emplace(), 1);
  r->second.share(r->first);
  r->third.share(r->first);
  struct plain_pair {
    std::shared_ptr<thing> first;
    std::shared_ptr<situ_test::PlainThing> second;
    std::shared_ptr<thing> third;
  };
  const auto copy = situ::to_std<plain_pair>(*r);
  expect_thing(*copy.first, 1);
  EXPECT_EQ(copy.second->tags.at(1), "two");
  EXPECT_EQ(copy.first, copy.third);
}

TEST(ToStd, MakesVariantsOfUnions) {
  situ::region<Chest> r;
  r->values.resize(4);
  r->values[0].emplace<"number">(1, 2.5);
  r->values[1].emplace<"text">(2, "a text in a block of its own");
  fill(r->values[2].emplace<"things">(3).emplace_back(), 9);
  const std::vector<std::variant<std::monostate, double, std::string, std::vector<thing>>> values =
      situ::to_std(r->values);
  EXPECT_EQ(std::get<double>(values[0]), 2.5);
  EXPECT_EQ(std::get<2>(values[1]), "a text in a block of its own");
  expect_thing(std::get<3>(values[2]).at(0), 9);
  EXPECT_EQ(values[3].index(), 0U);
}

TEST(ToStd, CopiesAWholeRoot) {
  situ::region<Chest> r;
  fill(r->things.emplace_back(), 1);
  fill(r->by_name["x"], 3);
  r->values.emplace_back().emplace<"text">(2, "text");
  const auto all = situ::to_std(*r);
  static_assert(std::tuple_size_v<std::remove_const_t<decltype(all)>> == 11);
  expect_thing(std::get<0>(all).at(0), 1);
  expect_thing(std::get<1>(all).at("x"), 3);
  EXPECT_EQ(std::get<2>(std::get<9>(all).at(0)), "text");
  EXPECT_EQ(std::get<10>(all)[0], "");
}

TEST(ToStd, MakesStructsThatTheCallerNames) {
  situ::region<Chest> r;
  fill(r->things.emplace_back(), 1);
  fill(r->by_name["x"], 3);
  const auto one = situ::to_std<situ_test::PlainThing>(r->things[0]);
  EXPECT_EQ(one.level, 1U);
  EXPECT_EQ(one.name, "thing 1 in a block");
  EXPECT_EQ(one.at.x, 1);
  EXPECT_EQ(one.tags.at(1), "two");
  const auto things = situ::to_std<std::vector<situ_test::PlainThing>>(r->things);
  EXPECT_EQ(things.at(0).name, one.name);
  const auto by_name = situ::to_std<std::unordered_map<std::string, situ_test::PlainThing>>(r->by_name);
  EXPECT_EQ(by_name.at("x").level, 3U);
  EXPECT_EQ((situ::to_std<std::map<std::string, thing, std::greater<>>>(r->by_name).size()), 1U);
}

TEST(ToStd, CopiesStructsThatContainThemselves) {
  situ::region<situ_test::Knot> r;
  r->name = "root";
  r->children.emplace_back().name = "child";
  r->children[0].children.emplace_back().name = "grandchild in a block";
  r->next.emplace().name = "next";
  const auto copy = situ::to_std<situ_test::PlainKnot>(*r);
  EXPECT_EQ(copy.name, "root");
  EXPECT_EQ(copy.children.at(0).children.at(0).name, "grandchild in a block");
  EXPECT_EQ(copy.next->name, "next");
  EXPECT_EQ(copy.next->next, nullptr);
}

}  // namespace
