// Loops over maps of a region, in all the forms that users know from std::map.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <map>
#include <ranges>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "situ/region.hpp"

namespace situ_test {

struct Loops {
  situ::region_sorted_map<situ::region_string, std::uint32_t> sorted;
  situ::region_hash_map<situ::region_string, std::uint32_t> hash;
  situ::region_ordered_map<situ::region_string, std::uint32_t> ordered;
};
SITU_REGION(Loops, sorted, hash, ordered)

}  // namespace situ_test

namespace {

using situ::region_string;
using Sums = std::map<std::string, std::uint32_t>;

template <class M>
Sums sums_of(const M& map) {
  Sums sums;
  for (const auto& entry : map) sums.emplace(entry.first.str(), entry.second);
  return sums;
}

template <class Visit>
void each_map(const Visit& visit) {
  situ::region<situ_test::Loops> r;
  const auto fill = [&](auto& map) {
    map["a"] = 1;
    map["b"] = 2;
    map["c of more than eleven bytes"] = 3;
    visit(map);
  };
  fill(r->sorted);
  fill(r->hash);
  fill(r->ordered);
}
Sums plus(std::uint32_t more) {
  return {{"a", 1 + more}, {"b", 2 + more}, {"c of more than eleven bytes", 3 + more}};
}

TEST(Loop, BindsByReference) {
  each_map([](auto& map) {
    for (auto& [key, value] : map) {
      static_assert(std::is_same_v<decltype(key), const region_string&>);
      static_assert(std::is_same_v<decltype(value), std::uint32_t&>);
      value += 10;
    }
    EXPECT_EQ(sums_of(map), plus(10));
    for (auto& entry : map) entry.second += 10;
    EXPECT_EQ(sums_of(map), plus(20));
    for (auto it = map.begin(); it != map.end(); ++it) {
      auto& [key, value] = *it;
      value += 10;
    }
    EXPECT_EQ(sums_of(map), plus(30));
  });
}

TEST(Loop, BindsConstMapsByReference) {
  each_map([](const auto& map) {
    Sums seen;
    for (auto& [key, value] : map) {
      static_assert(std::is_same_v<decltype(value), const std::uint32_t&>);
      seen.emplace(key, value);
    }
    EXPECT_EQ(seen, plus(0));
  });
}

TEST(Loop, BindsInTheOtherForms) {
  each_map([](auto& map) {
    for (auto&& [key, value] : map) value += 1;
    for (auto [key, value] : map) value += 1;  // references by value
    for (const auto& [key, value] : map) value += 1;
    for (auto entry : map) entry.second += 1;
    EXPECT_EQ(sums_of(map), plus(4));
  });
}

TEST(Loop, PairsFromTemporaryIteratorsOutliveThem) {
  each_map([](auto& map) {
    const auto& first = *map.begin();
    auto found = *map.find("b");
    const auto& second = *std::next(map.begin());
    EXPECT_EQ(first.second, map.begin()->second);
    EXPECT_EQ(found.first, "b");
    EXPECT_EQ(second.first, std::next(map.begin())->first);
    // Copies keep no pair of the iterator from which they were made.
    auto one = map.begin();
    auto& pair = *one;
    auto other = one;
    ++other;
    EXPECT_NE((*other).first, pair.first);
    EXPECT_EQ(pair.first, one->first);
  });
}

TEST(Loop, RunsBackwards) {
  situ::region<situ_test::Loops> r;
  const auto check = [](auto& map) {
    using M = std::remove_reference_t<decltype(map)>;
    map["a"] = 1;
    map["b"] = 2;
    map["c"] = 3;
    std::string seen;
    for (auto it = map.rbegin(); it != map.rend(); ++it) {
      auto& [key, value] = *it;
      value += 1;
      seen += key.view();
    }
    for (auto it = std::as_const(map).rbegin(); it != std::as_const(map).rend(); ++it)
      seen += it->first.view();
    EXPECT_EQ(seen, "cbacba");
    EXPECT_EQ((*map.rbegin()).second, 4U);
    EXPECT_EQ(std::prev(map.end())->first, "c");
    EXPECT_EQ((*std::ranges::prev(map.end(), 2)).first, "b");
    const typename M::const_reverse_iterator last = map.rbegin();
    EXPECT_EQ(last->second, 4U);
    EXPECT_EQ(last.base(), std::as_const(map).end());
#if !defined(__clang__) || __clang_major__ >= 16  // Clang 14 cannot compile the views of libstdc++.
    seen.clear();
    for (auto& [key, value] : map | std::views::reverse) {
      value += 1;
      seen += key.view();
    }
    EXPECT_EQ(seen, "cba");
    EXPECT_EQ(map.at("a"), 3U);
#endif
  };
  check(r->sorted);
  check(r->ordered);
}

TEST(Loop, HasRandomAccessInSortedMaps) {
  situ::region<situ_test::Loops> r;
  auto& map = r->sorted;
  for (char c = 'a'; c < 'k'; ++c) map[std::string_view(&c, 1)] = static_cast<std::uint32_t>(c);
  const auto first = map.begin();
  EXPECT_EQ(first[3].first, "d");
  EXPECT_EQ(map.begin()[4].first, "e");
  EXPECT_EQ(map.rbegin()[1].first, "i");
  EXPECT_EQ(map.rend() - map.rbegin(), 10);
  EXPECT_EQ((*(2 + map.rbegin())).first, "h");
  const auto key = [](const auto& entry) { return entry.first.view(); };
  EXPECT_EQ(std::ranges::lower_bound(map, std::string_view("c5"), {}, key)->first, "d");
  EXPECT_TRUE(std::ranges::is_sorted(map, {}, key));
}

TEST(Loop, TakesAlgorithms) {
  each_map([](auto& map) {
    using M = std::remove_reference_t<decltype(map)>;
    static_assert(std::ranges::forward_range<M> && std::ranges::forward_range<const M>);
    const auto value = [](const auto& entry) { return entry.second; };
    EXPECT_EQ(std::ranges::max_element(map, {}, value)->second, 3U);
    EXPECT_EQ(std::ranges::count_if(map, [](const auto& entry) { return entry.second > 1; }), 2);
    EXPECT_EQ(std::find_if(map.begin(), map.end(), [](auto& entry) { return entry.second == 2; })->first,
              "b");
    EXPECT_EQ(std::ranges::adjacent_find(map, {}, value), map.end());
    EXPECT_EQ(Sums(map.begin(), map.end()), plus(0));
#if !defined(__clang__) || __clang_major__ >= 16
    for (auto& each : map | std::views::values) each += 5;
    std::vector<std::string> keys;
    for (const auto& each : map | std::views::keys) keys.emplace_back(each);
    EXPECT_EQ(keys.size(), 3U);
    EXPECT_EQ(std::ranges::count(keys, "b"), 1);
    std::uint32_t sum = 0;
    for (auto& [k, v] : map | std::views::filter([](auto& entry) { return entry.second > 6; })) sum += v;
    EXPECT_EQ(sum, 15U);
#endif
  });
}

}  // namespace
