// bounded_map compared with std::map.
#include <gtest/gtest.h>

#include <map>
#include <random>
#include <string>

#include "containers/tracked.hpp"
#include "situ/layout/bounded_map.hpp"
#include "situ/layout/bounded_string.hpp"

namespace {

using situ::bounded_map;
using situ::bounded_string;
using situ::inline_allocator;
using situ_test::tracked;

constexpr std::size_t bound = 16;

template <class M>
class MapModel : public testing::Test {};

using short_text = bounded_string<8, inline_allocator<char>>;
using maps =
    testing::Types<bounded_map<int, tracked, bound, inline_allocator<situ::map_entry<int, tracked>>>,
                   bounded_map<int, tracked, bound>,
                   bounded_map<short_text, int, bound, inline_allocator<situ::map_entry<short_text, int>>>,
                   bounded_map<std::string, std::string, bound>>;
TYPED_TEST_SUITE(MapModel, maps);

template <class T>
T value_of(int seed) {
  if constexpr (std::is_constructible_v<T, int>) {
    return T(seed);
  } else {
    return T(std::to_string(seed).c_str());
  }
}

TYPED_TEST(MapModel, behaves_like_a_standard_one) {
  using M = TypeParam;
  using K = typename M::key_type;
  using V = typename M::mapped_type;
  const std::ptrdiff_t alive_before = tracked::alive;
  {
    std::mt19937 random(99);
    const auto any = [&random](int below) {
      return std::uniform_int_distribution<int>(0, below - 1)(random);
    };
    M map;
    std::map<K, V> model;
    for (int step = 0; step < 4000; ++step) {
      const K key = value_of<K>(any(24));
      const V value = value_of<V>(step);
      const bool fits = model.size() < bound || model.contains(key);
      switch (any(9)) {
        case 0:
          if (fits) {
            map[key] = value;
            model[key] = value;
          }
          break;
        case 1:
          if (fits) {
            EXPECT_EQ(map.insert({key, value}).second, model.insert({key, value}).second);
          }
          break;
        case 2:
          if (fits) {
            EXPECT_EQ(map.insert_or_assign(key, value).second, model.insert_or_assign(key, value).second);
          }
          break;
        case 3:
          if (fits) {
            EXPECT_EQ(map.try_emplace(key, value).first->second, model.try_emplace(key, value).first->second);
          }
          break;
        case 4:
        case 5:
          EXPECT_EQ(map.erase(key), model.erase(key));
          break;
        case 6: {
          EXPECT_EQ(map.contains(key), model.contains(key));
          EXPECT_EQ(map.count(key), model.count(key));
          EXPECT_EQ(map.lower_bound(key) - map.begin(), std::distance(model.begin(), model.lower_bound(key)));
          EXPECT_EQ(map.upper_bound(key) - map.begin(), std::distance(model.begin(), model.upper_bound(key)));
          break;
        }
        case 7: {
          M copy(map);
          EXPECT_EQ(copy, map);
          M moved(std::move(copy));
          EXPECT_EQ(moved, map);
          map = std::move(moved);
          break;
        }
        case 8:
          EXPECT_EQ(map.try_insert_or_assign(key, value), fits);
          if (fits) model[key] = value;
          break;
      }
      ASSERT_EQ(map.size(), model.size());
      ASSERT_TRUE(
          std::equal(map.begin(), map.end(), model.begin(), model.end(),
                     [](const auto& a, const auto& b) { return a.first == b.first && a.second == b.second; }))
          << "step " << step;
    }
  }
  EXPECT_EQ(tracked::alive, alive_before);
}

TEST(Map, reads_like_a_map) {
  bounded_map<std::string, int, 4> ages{{"bob", 40}, {"ada", 36}, {"bob", 99}};
  ASSERT_EQ(ages.size(), 2U);
  EXPECT_EQ(ages.begin()->first, "ada");
  EXPECT_EQ(ages.at("bob"), 40);
  EXPECT_THROW((void)ages.at("eve"), std::out_of_range);
  int sum = 0;
  for (auto& [name, age] : ages) sum += ++age;
  EXPECT_EQ(sum, 78);
  EXPECT_EQ(ages.find("eve"), ages.end());
  EXPECT_EQ(erase_if(ages, [](const auto& entry) { return entry.second > 40; }), 1U);
  EXPECT_EQ(ages, (bounded_map<std::string, int, 4>{{"ada", 37}}));
}

TEST(Map, names_bound_and_size_when_exceeded) {
  bounded_map<int, int, 2, inline_allocator<situ::map_entry<int, int>>> map{{1, 1}, {2, 2}};
  try {
    map[3] = 3;
    FAIL() << "no exception";
  } catch (const situ::bound_error& error) {
    EXPECT_EQ(error.bound(), 2U);
    EXPECT_EQ(error.size(), 3U);
  }
  map[2] = 20;
  EXPECT_EQ(map.at(2), 20);
  EXPECT_EQ(map.size(), 2U);
}

}  // namespace
