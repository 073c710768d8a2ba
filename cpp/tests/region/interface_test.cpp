// The containers of a region are used like standard ones: in braces, with hints and inserters, from both
// ends, as pairs and ranges, and in comparisons.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <compare>
#include <cstdint>
#include <iterator>
#include <map>
#include <optional>
#include <random>
#include <set>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>
#if !defined(__clang__) || __clang_major__ > 15
#include <ranges>
#define SITU_HAS_VIEWS 1
#endif

#include "region/refused.hpp"
#include "support/memory.hpp"

namespace situ_test {

struct Pair {
  std::uint8_t x;
  std::uint32_t y;
};
SITU_REGION(Pair, x, y)

struct Forms {
  situ::region_string text;
  situ::region_vector<std::int32_t> numbers;
  situ::region_vector<situ::region_string> names;
  situ::region_vector<situ::region_vector<std::int32_t>> lists;
  situ::region_sorted_map<std::uint32_t, std::uint32_t> sorted_map;
  situ::region_hash_map<situ::region_string, situ::region_string> hash_map;
  situ::region_ordered_map<std::uint32_t, situ::region_string> ordered_map;
  situ::region_sorted_map<situ::region_string, Pair> pairs;
  situ::region_sorted_set<std::uint64_t> sorted_set;
  situ::region_hash_set<std::int32_t> hash_set;
  situ::region_hash_set<situ::region_string> hash_names;
  situ::region_ordered_set<std::int32_t> ordered_set;
  situ::region_sorted_set<situ::region_string> flat_names;
  situ::region_optional<std::int32_t> count;
  situ::region_optional<situ::region_string> nickname;
  situ::region_unique<std::int32_t> only;
  situ::region_shared<std::int32_t> shared;
  situ::region_union<"Value", std::uint8_t, situ::region_case<"number", std::int32_t, 0>,
                     situ::region_case<"text", situ::region_string, 1>>
      value;
};
SITU_REGION(Forms, text, numbers, names, lists, sorted_map, hash_map, ordered_map, pairs, sorted_set,
            hash_set, hash_names, ordered_set, flat_names, count, nickname, only, shared, value)

struct Plainer {
  situ::region_vector<situ::region_string> names;
};
SITU_REGION(Plainer, names)

}  // namespace situ_test

namespace {

using situ::region;
using situ_test::Forms;

/// All elements of a map or set, in order.
template <class C>
auto listed(const C& container) {
  if constexpr (requires { typename C::mapped_type; }) {
    std::vector<std::pair<std::string, std::string>> all;
    for (const auto& [key, value] : container) {
      if constexpr (std::is_integral_v<typename C::key_type>) {
        all.emplace_back(std::to_string(key), std::string());
      } else {
        all.emplace_back(std::string(key), std::string());
      }
      if constexpr (std::is_integral_v<typename C::mapped_type>) {
        all.back().second = std::to_string(value);
      } else {
        all.back().second = std::string(value);
      }
    }
    return all;
  } else {
    return std::vector<typename C::key_view>(container.begin(), container.end());
  }
}
using entries = std::vector<std::pair<std::string, std::string>>;
void expect_good(const region<Forms>& r) { EXPECT_EQ(situ_test::refused<Forms>(r.bytes()), "accepted"); }

TEST(RegionInterface, a_number_0_is_a_key) {
  region<Forms> r;
  r->sorted_set = {0, 5, 7};
  EXPECT_EQ(r->sorted_set.erase(0), 1U);
  EXPECT_EQ(r->sorted_set.erase(0), 0U);
  EXPECT_EQ(*r->sorted_set.erase(r->sorted_set.begin()), 7U);
  EXPECT_EQ(r->sorted_set.erase(7), 1U);
  r->sorted_map = {{0, 1}};
  EXPECT_EQ(r->sorted_map.erase(0), 1U);
}

TEST(RegionInterface, braces) {
  region<Forms> r;
  r->numbers = {3, 1, 2};
  EXPECT_EQ(r->numbers, (std::vector<std::int32_t>{3, 1, 2}));
  r->names = {"one", "a name that takes a block"};
  r->names.insert(r->names.begin() + 1, "x");
  r->names.insert(r->names.end(), {"y", "z"});
  r->names.insert(r->names.begin(), 2, "twice");
  EXPECT_EQ(r->names,
            (std::vector<std::string>{"twice", "twice", "one", "x", "a name that takes a block", "y", "z"}));
  r->names.resize(3, "unused");
  r->names.resize(5, "filled");
  // An element of the vector itself, which moves meanwhile.
  r->names.insert(r->names.begin(), r->names[2]);
  r->names.insert(r->names.begin(), 40, r->names[5]);
  EXPECT_EQ(r->names[39], "filled");
  EXPECT_EQ(r->names[40], "one");
  r->names.assign(2, "again");
  EXPECT_EQ(r->names, (std::array<std::string_view, 2>{"again", "again"}));
  r->names = {};
  EXPECT_TRUE(r->names.empty());

  r->sorted_map = {{3, 30}, {1, 10}, {3, 31}};
  EXPECT_EQ(listed(r->sorted_map), (entries{{"1", "10"}, {"3", "30"}}));
  EXPECT_TRUE(r->sorted_map.insert({2, 20}).second);
  EXPECT_FALSE(r->sorted_map.insert({2, 21}).second);
  r->sorted_map.insert({{4, 40}, {1, 11}});
  EXPECT_EQ(listed(r->sorted_map), (entries{{"1", "10"}, {"2", "20"}, {"3", "30"}, {"4", "40"}}));
  EXPECT_EQ(*r->sorted_map.try_insert({5, 50}).first, 50U);
  EXPECT_EQ(*r->sorted_map.try_insert(std::pair(5U, 51U)).first, 50U);
  EXPECT_TRUE(r->sorted_map.try_insert({{6, 60}, {7, 70}}));
  EXPECT_TRUE(r->sorted_map.try_assign({{8, 80}}));
  EXPECT_EQ(listed(r->sorted_map), (entries{{"8", "80"}}));
  r->sorted_map = {};
  EXPECT_TRUE(r->sorted_map.empty());
  r->hash_map = {{"a", "b"}};
  r->hash_map.insert({"c", "d"});
  r->hash_map.insert({{"e", "f"}, {"a", "g"}});
  EXPECT_TRUE(r->hash_map.try_insert({"h", "a value that takes a block"}).second);
  EXPECT_EQ(r->hash_map.size(), 4U);
  EXPECT_EQ(r->hash_map.at("a"), "b");
  EXPECT_EQ(r->hash_map.at("h"), "a value that takes a block");
  r->ordered_map = {{2, "two"}, {1, "one"}};
  EXPECT_EQ(listed(r->ordered_map), (entries{{"1", "one"}, {"2", "two"}}));
  r->pairs = {{"p", {1, 2}}, {"q", {3, 4}}};
  r->pairs.insert({"r", {5, 6}});
  EXPECT_EQ(r->pairs.at("q").y, 4U);
  EXPECT_EQ(r->pairs.at("r").x, 5U);
  r->sorted_set = {3, 1, 3, 2};
  EXPECT_EQ(r->sorted_set.size(), 3U);
  r->hash_names = {"a", "b"};
  r->flat_names = {"a name that takes a block", "b"};
  r->ordered_set = {5, 4};
  EXPECT_EQ(listed(r->ordered_set), (std::vector<std::int32_t>{4, 5}));
  EXPECT_TRUE(r->ordered_set.try_assign({6}));
  EXPECT_EQ(listed(r->ordered_set), (std::vector<std::int32_t>{6}));
  expect_good(r);
}

TEST(RegionInterface, hints_and_inserters) {
  region<Forms> r;
  const std::map<std::uint32_t, std::uint32_t> numbers{{1, 2}, {3, 4}};
  const std::map<std::string, std::string> texts{{"a", "b"}, {"c", "a value that takes a block"}};
  const std::set<std::int32_t> set{4, -2, 3};
  std::copy(numbers.begin(), numbers.end(), std::inserter(r->sorted_map, r->sorted_map.end()));
  std::copy(texts.begin(), texts.end(), std::inserter(r->hash_map, r->hash_map.end()));
  std::copy(set.begin(), set.end(), std::inserter(r->ordered_set, r->ordered_set.begin()));
  std::copy(set.begin(), set.end(), std::inserter(r->hash_set, r->hash_set.begin()));
  std::transform(texts.begin(), texts.end(), std::inserter(r->flat_names, r->flat_names.end()),
                 [](const auto& entry) -> const std::string& { return entry.first; });
  EXPECT_EQ(listed(r->sorted_map), (entries{{"1", "2"}, {"3", "4"}}));
  EXPECT_EQ(r->hash_map.size(), 2U);
  EXPECT_EQ(listed(r->ordered_set), (std::vector<std::int32_t>{-2, 3, 4}));
  EXPECT_EQ(r->hash_set.size(), 3U);
  EXPECT_EQ(listed(r->flat_names), (std::vector<std::string_view>{"a", "c"}));
  EXPECT_EQ(r->sorted_map.insert(r->sorted_map.begin(), {2, 9})->second, 9U);
  EXPECT_EQ(r->sorted_map.insert(r->sorted_map.begin(), std::pair(2U, 8U))->second, 9U);
  EXPECT_EQ(r->sorted_map.emplace_hint(r->sorted_map.end(), 2U, 7U)->second, 9U);
  EXPECT_EQ(r->hash_map.emplace_hint(r->hash_map.end(), "new", "value")->second, "value");
  EXPECT_EQ(*r->ordered_set.insert(r->ordered_set.end(), 7), 7);
  EXPECT_EQ(*r->flat_names.emplace_hint(r->flat_names.begin(), "b"), "b");
  expect_good(r);
}

TEST(RegionInterface, iterators) {
  region<Forms> r;
  for (std::uint32_t i = 0; i < 100; ++i) {
    r->sorted_map.emplace(i, i * i);
    r->ordered_map.emplace(i, std::to_string(i));
    r->ordered_set.insert(static_cast<std::int32_t>(i));
    r->sorted_set.insert(i);
  }
  std::uint32_t expected = 100;
  for (auto at = r->sorted_map.rbegin(); at != r->sorted_map.rend(); ++at) {
    EXPECT_EQ((*at).first, --expected);
    EXPECT_EQ(at->second, expected * expected);
  }
  EXPECT_EQ(expected, 0U);
  expected = 100;
  for (auto at = r->ordered_map.crbegin(); at != r->ordered_map.crend(); ++at) {
    EXPECT_EQ(at->second, std::to_string(--expected));
  }
  EXPECT_EQ(expected, 0U);
  EXPECT_EQ(*r->ordered_set.rbegin(), 99);
  EXPECT_EQ(*std::prev(r->ordered_set.rend()), 0);
  EXPECT_EQ(*r->sorted_set.rbegin(), 99U);
  EXPECT_EQ(r->hash_set.cbegin(), r->hash_set.cend());
  decltype(r->ordered_set)::reverse_iterator kept = r->ordered_set.rbegin();
  EXPECT_EQ(*++kept, 98);

  // Iterators of sorted maps have random access.
  auto at = r->sorted_map.end() - 10;
  EXPECT_EQ(at->first, 90U);
  at -= 20;
  EXPECT_EQ(at[5].second, 75U * 75U);
  at += 3;
  EXPECT_EQ((1 + at)->first, 74U);
  EXPECT_EQ(at - r->sorted_map.begin(), 73);
  EXPECT_LT(r->sorted_map.begin(), at);
  EXPECT_GE(r->sorted_map.end(), at);
  static_assert(std::is_same_v<decltype(at)::iterator_concept, std::random_access_iterator_tag>);
  // Values can be written through iterators, keys cannot.
  at->second = 1;
  EXPECT_EQ(r->sorted_map.at(73), 1U);
  static_assert(!std::is_assignable_v<decltype((at->first)), std::uint32_t>);
  static_assert(!std::is_convertible_v<decltype(r->sorted_map.cbegin()), decltype(r->sorted_map.begin())>);
  static_assert(std::is_convertible_v<decltype(r->ordered_map.begin()), decltype(r->ordered_map.cbegin())>);
}

TEST(RegionInterface, entries_are_pairs) {
  region<Forms> r;
  r->sorted_map = {{1, 10}, {2, 20}};
  r->hash_map = {{"a", "b"}, {"c", "d"}};
  r->ordered_map = {{1, "one"}, {2, "two"}};
  EXPECT_EQ((std::map<std::uint32_t, std::uint32_t>(r->sorted_map.begin(), r->sorted_map.end())),
            (std::map<std::uint32_t, std::uint32_t>{{1, 10}, {2, 20}}));
  EXPECT_EQ((std::map<std::string, std::string>(r->hash_map.begin(), r->hash_map.end())),
            (std::map<std::string, std::string>{{"a", "b"}, {"c", "d"}}));
  EXPECT_EQ((std::map<std::uint32_t, std::string>(r->ordered_map.begin(), r->ordered_map.end())),
            (std::map<std::uint32_t, std::string>{{1, "one"}, {2, "two"}}));
  const std::pair<std::uint32_t, std::string_view> entry = *r->ordered_map.begin();
  EXPECT_EQ(entry.second, "one");
  EXPECT_EQ(std::get<1>(*r->sorted_map.begin()), 10U);
#if defined(SITU_HAS_VIEWS)
  std::uint32_t sum = 0;
  for (const std::uint32_t key : r->ordered_map | std::views::keys) sum += key;
  EXPECT_EQ(sum, 3U);
  for (std::uint32_t& value : r->sorted_map | std::views::values) value += 1;
  EXPECT_EQ(r->sorted_map.at(2), 21U);
  for (const auto& value : std::as_const(*r).hash_map | std::views::values) EXPECT_EQ(value.size(), 1U);
#endif
}

#if defined(SITU_HAS_VIEWS)
TEST(RegionInterface, ranges_that_change_while_they_are_read) {
  region<Forms> r;
  const std::vector<std::int32_t> from{1, 2, 3, 4, 5, 6};
  auto even = from | std::views::filter([](std::int32_t each) { return each % 2 == 0; });
  r->numbers = even;
  EXPECT_EQ(r->numbers, (std::vector<std::int32_t>{2, 4, 6}));
  r->numbers = from | std::views::filter([](std::int32_t each) { return each > 4; });
  r->numbers.append_range(even);
  r->numbers.insert_range(r->numbers.begin(),
                          from | std::views::filter([](std::int32_t each) { return each < 3; }));
  EXPECT_EQ(r->numbers, (std::vector<std::int32_t>{1, 2, 5, 6, 2, 4, 6}));
  // From the vector itself.
  r->numbers = r->numbers | std::views::filter([](std::int32_t each) { return each != 2; });
  EXPECT_EQ(r->numbers, (std::vector<std::int32_t>{1, 5, 6, 4, 6}));
  r->numbers.append_range(r->numbers | std::views::filter([](std::int32_t each) { return each > 4; }));
  EXPECT_EQ(r->numbers, (std::vector<std::int32_t>{1, 5, 6, 4, 6, 5, 6, 6}));
  EXPECT_TRUE(r->numbers.try_assign(even));
  EXPECT_TRUE(r->numbers.try_append_range(even));
  r->ordered_set = even;
  r->ordered_set.insert_range(from | std::views::filter([](std::int32_t each) { return each == 5; }));
  EXPECT_EQ(listed(r->ordered_set), (std::vector<std::int32_t>{2, 4, 5, 6}));
  EXPECT_TRUE(r->hash_set.try_insert_range(even));
  EXPECT_TRUE(r->hash_set.try_assign(even));
  EXPECT_EQ(r->hash_set.size(), 3U);
  r->sorted_map = {{1, 10}, {2, 20}, {3, 30}};
  r->sorted_map = r->sorted_map | std::views::filter([](const auto& entry) { return entry.first != 2; });
  EXPECT_EQ(listed(r->sorted_map), (entries{{"1", "10"}, {"3", "30"}}));
  expect_good(r);
}
#endif

/// Tables with and without an index, and all ranges of their entries.
TEST(RegionInterface, parts_of_tables_are_erased) {
  std::mt19937 random(3);
  for (int round = 0; round < 3000; ++round) {
    region<Forms> r;
    for (std::size_t count = 1 + random() % 14; count != 0; --count)
      r->hash_set.insert(static_cast<std::int32_t>(random() % 5000));
    const std::vector<std::int32_t> before(r->hash_set.begin(), r->hash_set.end());
    std::array<std::size_t, 2> places{random() % (before.size() + 1), random() % (before.size() + 1)};
    std::sort(places.begin(), places.end());
    const auto first = std::next(r->hash_set.begin(), static_cast<std::ptrdiff_t>(places[0]));
    const auto last = std::next(r->hash_set.begin(), static_cast<std::ptrdiff_t>(places[1]));
    const auto behind = r->hash_set.erase(first, last);
    ASSERT_EQ(r->hash_set.size(), before.size() - (places[1] - places[0]));
    for (std::size_t i = 0; i < before.size(); ++i) {
      ASSERT_EQ(r->hash_set.contains(before[i]), i < places[0] || i >= places[1]);
    }
    // What was before the range stays there. From the returned place on come those that were behind it, each
    // once.
    const auto of = [&](auto from, auto to) { return std::vector<std::int32_t>(from, to); };
    const auto place = [&](std::size_t index) { return before.begin() + static_cast<std::ptrdiff_t>(index); };
    ASSERT_EQ(of(r->hash_set.begin(), behind), of(before.begin(), place(places[0])));
    auto rest = of(behind, r->hash_set.end()), wanted = of(place(places[1]), before.end());
    std::ranges::sort(rest);
    std::ranges::sort(wanted);
    ASSERT_EQ(rest, wanted);
    ASSERT_EQ(situ_test::refused<Forms>(r.bytes()), "accepted");
  }
  region<Forms> r;
  r->hash_map = {{"a", "b"}, {"c", "d"}};
  for (int round = 0; round < 2; ++round) {
    // The end moves with the number of entries, as that of a vector does.
    const auto behind = r->hash_map.erase(r->hash_map.begin(), r->hash_map.end());
    EXPECT_EQ(behind, r->hash_map.end());
    EXPECT_TRUE(r->hash_map.empty());
  }
}

TEST(RegionInterface, optionals) {
  region<Forms> r;
  auto& count = r->count;
  EXPECT_EQ(count.value_or(7), 7);
  EXPECT_EQ(r->nickname.value_or("none"), "none");
  EXPECT_THROW(static_cast<void>(count.value()), std::bad_optional_access);
  const std::vector<std::optional<std::int32_t>> values{std::nullopt, -1, 3, 4};
  for (const auto& mine : values) {
    count = mine;
    EXPECT_EQ(count.value_or(7), mine.value_or(7));
    for (const auto& other : values) {
      EXPECT_EQ(count == other, mine == other);
      EXPECT_EQ(other == count, other == mine);
      EXPECT_EQ(count != other, mine != other);
      EXPECT_EQ(count < other, mine < other);
      EXPECT_EQ(other < count, other < mine);
      EXPECT_EQ(count <= other, mine <= other);
      EXPECT_EQ(count > other, mine > other);
      EXPECT_EQ(count >= other, mine >= other);
      EXPECT_EQ(other <= count, other <= mine);
      EXPECT_EQ(other > count, other > mine);
      EXPECT_EQ(other >= count, other >= mine);
      EXPECT_EQ(count <=> other, mine <=> other);
      region<Forms> second;
      second->count = other;
      EXPECT_EQ(count < second->count, mine < other);
      EXPECT_EQ(count <=> second->count, mine <=> other);
    }
    EXPECT_EQ(count < 3, mine < 3);
    EXPECT_EQ(3 < count, 3 < mine);
    EXPECT_EQ(count == 3, mine == 3);
    EXPECT_EQ(count > std::nullopt, mine > std::nullopt);
    EXPECT_EQ(count == std::nullopt, mine == std::nullopt);
  }
  r->nickname = "m";
  EXPECT_EQ(r->nickname.value_or("none"), "m");
  EXPECT_LT(r->nickname, "n");
  EXPECT_GT(r->nickname, std::string("a"));
  EXPECT_EQ(r->nickname, std::optional<std::string>("m"));
}

TEST(RegionInterface, links_from_null) {
  region<Forms> r;
  EXPECT_TRUE(r->only == nullptr);
  EXPECT_TRUE(nullptr == r->shared);
  r->only.emplace(3);
  r->shared.emplace(4);
  EXPECT_TRUE(r->only != nullptr);
  EXPECT_TRUE(r->shared != nullptr);
  r->only = nullptr;
  r->shared = nullptr;
  EXPECT_FALSE(r->only);
  EXPECT_FALSE(r->shared);
  r.compact_in_place();
  EXPECT_EQ(r.size(), region<Forms>().size());
}

static_assert(!std::is_assignable_v<situ::region_string&, std::nullptr_t>);

TEST(RegionInterface, strings) {
  std::mt19937 random(4);
  region<Forms> r;
  situ::region_string& s = r->text;
  std::string m;
  for (int step = 0; step < 3000; ++step) {
    const std::size_t count = random() % 20;
    const char c = static_cast<char>('a' + random() % 26);
    switch (random() % 9) {
      case 0:
        s += c;
        m += c;
        break;
      case 1:
        s.append(count, c);
        m.append(count, c);
        break;
      case 2:
        s.assign(count * 3, c);
        m.assign(count * 3, c);
        break;
      case 3:
        s = c;
        m = c;
        break;
      case 4:
        if (!m.empty()) {
          s[m.size() / 2] = c;
          m[m.size() / 2] = c;
        }
        break;
      case 5:
        std::reverse(s.begin(), s.end());
        std::reverse(m.begin(), m.end());
        break;
      case 6:
        for (char& each : s) each = each == 'z' ? 'a' : static_cast<char>(each + 1);
        for (char& each : m) each = each == 'z' ? 'a' : static_cast<char>(each + 1);
        break;
      case 7:
        if (!m.empty()) {
          s.front() = c;
          s.back() = 'k';
          s.at(m.size() - 1) = c;
          m.front() = c;
          m.back() = c;
        }
        break;
      default:
        EXPECT_TRUE(s.try_append(count, c));
        m.append(count, c);
        if (m.size() > 300) {
          s = {};
          m = {};
        }
    }
    ASSERT_EQ(s, m) << step;
    ASSERT_EQ(std::string(s.crbegin(), s.crend()), std::string(m.crbegin(), m.crend()));
    if (step % 100 == 0) expect_good(r);
  }
  s = {'a', 'b'};
  EXPECT_EQ(s, "ab");
  EXPECT_LT(s, "ac");
  EXPECT_GT("b", s);
  EXPECT_GE(s, std::string("ab"));
  EXPECT_LT(s, std::string_view("abc"));
  EXPECT_FALSE(s.try_append(std::size_t{1} << 40, 'x'));
  EXPECT_FALSE(s.try_assign(~std::size_t{0}, 'x'));
  EXPECT_THROW(s.append(~std::size_t{0}, 'x'), situ::region_error);
  EXPECT_EQ(s, "ab");
}

TEST(RegionInterface, vectors_compare) {
  region<Forms> r;
  const std::vector<std::vector<std::int32_t>> values{{}, {1}, {1, 2}, {1, 3}, {2}};
  for (const auto& mine : values) {
    r->numbers = mine;
    EXPECT_EQ(r->numbers, mine);
    for (const auto& other : values) {
      region<Forms> second;
      second->numbers = other;
      EXPECT_EQ(r->numbers == other, mine == other);
      EXPECT_EQ(other == r->numbers, mine == other);
      EXPECT_EQ(r->numbers <=> second->numbers, mine <=> other);
      EXPECT_EQ(r->numbers < second->numbers, mine < other);
    }
  }
  for (const auto& each : values) r->lists.push_back(each);
  EXPECT_EQ(r->lists, values);
  EXPECT_LT(r->lists[0], r->lists[1]);
  r->lists.sort(std::greater<>());
  EXPECT_EQ(r->lists.front(), values.back());
  r->names = {"a", "b"};
  EXPECT_NE(r->names, (std::vector<std::string>{"a"}));
  EXPECT_NE(r->names, (std::vector<std::string>{"a", "b", "c"}));
}

TEST(RegionInterface, visits_return) {
  region<Forms> r;
  r->value.emplace<"text">(1, "seven");
  const auto size_of = [](const auto& member) {
    if constexpr (std::is_same_v<decltype(member), const std::int32_t&>) {
      return static_cast<std::size_t>(member);
    } else {
      return member.size();
    }
  };
  EXPECT_EQ(r->value.visit(size_of), 5U);
  EXPECT_EQ(std::as_const(r->value).visit(size_of), 5U);
  r->value.emplace<"number">(0, 9);
  EXPECT_EQ(r->value.visit(size_of), 9U);
  int calls = 0;
  r->value.visit([&calls](auto&) { ++calls; });
  r->value.select(7);
  r->value.visit([&calls](auto&) { ++calls; });
  EXPECT_EQ(calls, 1);
  EXPECT_THROW(r->value.visit(size_of), situ::bad_union_access);
}

TEST(RegionInterface, assign) {
  region<Forms> r;
  region<Forms> other;
  other->names = {"one", "a name that takes a block"};
  situ::assign(*r, *other);
  EXPECT_EQ(r->names, other->names);
  situ::assign(r->numbers, std::vector<std::int32_t>{1, 2});
  EXPECT_EQ(r->numbers, (std::vector<std::int32_t>{1, 2}));
  situ_test::aligned_bytes memory(3000);
  region<Forms> small(memory.span());
  small->text = "before";
  other->text.assign(5000, 'x');
  EXPECT_THROW(situ::assign(*small, *other), situ::region_error);
  EXPECT_EQ(small->text, "before");
  EXPECT_TRUE(small->names.empty());
}

TEST(RegionInterface, regions_compare) {
  region<Forms> r;
  region<Forms> other;
  EXPECT_EQ(r, other);
  r->hash_map = {{"a", "b"}, {"c", "d"}};
  EXPECT_NE(r, other);
  other->hash_map.reserve(100);
  other->hash_map = {{"c", "d"}, {"a", "b"}};
  EXPECT_EQ(r, other);
  // Unique links compare by their values, shared links by identity.
  r->shared.emplace(7);
  other->shared.emplace(7);
  EXPECT_EQ(r, other);
  *other->shared = 8;
  EXPECT_NE(r, other);
  region<situ_test::Plainer> plain;
  region<situ_test::Plainer> same;
  plain->names = {"a"};
  EXPECT_NE(plain, same);
  same->names = {"a"};
  EXPECT_EQ(plain, same);
}

TEST(RegionInterface, movable_regions_are_copied) {
  using situ_test::Plainer;
  situ::movable_region<Plainer> r;
  const auto names = r.root().member<&Plainer::names>();
  for (int i = 0; i < 100; ++i)
    names.change([i](auto& to) { return to.try_emplace_back(std::to_string(i)); });
  situ::movable_region<Plainer> copy(r);
  copy.root().member<&Plainer::names>().change([](auto& to) { return to.try_emplace_back("one more"); });
  EXPECT_EQ(copy->names.size(), 101U);
  EXPECT_EQ(r->names.size(), 100U);
  copy = r;
  EXPECT_EQ(copy.canonical(), r.canonical());
  const auto third = copy.try_copy();
  ASSERT_TRUE(third);
  EXPECT_EQ((*third)->names[99], "99");
}

}  // namespace
