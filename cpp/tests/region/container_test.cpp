// The interfaces of the containers of a region: where they equal the standard ones, and where they differ.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <numeric>
#include <optional>
#include <ranges>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "region/character.hpp"
#include "region/refused.hpp"

namespace {

using situ::region;
using situ_test::Character;
using situ_test::Kitchen;

TEST(RegionVector, has_the_interface_of_a_standard_one) {
  region<Character> r;
  auto& v = r->attributes;
  EXPECT_TRUE(v.empty());
  v = {3, 1, 2};
  std::sort(v.begin(), v.end());
  EXPECT_TRUE(std::equal(v.begin(), v.end(), std::vector<float>{1, 2, 3}.begin()));
  EXPECT_EQ(*v.rbegin(), 3.0F);
  v.insert(v.begin() + 1, 9);
  EXPECT_EQ(v[1], 9.0F);
  EXPECT_EQ(v.erase(v.begin()), v.begin());
  EXPECT_EQ(v.front(), 9.0F);
  const std::span<float> span = v;
  EXPECT_EQ(std::accumulate(span.begin(), span.end(), 0.0F), 14.0F);
  EXPECT_THROW((void)v.at(3), std::out_of_range);
  v.reserve(100);
  EXPECT_GE(v.capacity(), 100U);
  const std::size_t before = r.size();
  v.shrink_to_fit();
  r.trim();
  EXPECT_EQ(v.capacity(), 3U);
  EXPECT_LT(r.size(), before);
  v.resize(5);
  EXPECT_EQ(v.back(), 0.0F);
  const std::vector<float> heap(v.begin(), v.end());
  r->attributes = heap;
  EXPECT_EQ(v.size(), 5U);
  v.clear();
  EXPECT_EQ(v.begin(), v.end());
}

TEST(RegionVector, grows_as_its_policy_says) {
  for (const int percent : {100, 150, 200}) {
    situ::region_options options;
    options.growth_percent = static_cast<std::uint16_t>(percent);
    region<Character> r(options);
    std::size_t changes = 0;
    for (int i = 0; i < 1000; ++i) {
      const std::size_t before = r->skills.capacity();
      r->skills.emplace_back(i, i);
      if (r->skills.capacity() != before) ++changes;
      // Capacities are whole granules of two skills each.
      EXPECT_EQ(r->skills.capacity() % 2, 0U);
    }
    // Computed by hand: 2, 4, 8 ... 1024; 2, 4 (3 rounded up), 6, 10 (9) ...; 2, 4, 6 ... 1000.
    if (percent == 200) {
      EXPECT_EQ(changes, 10U);
    }
    if (percent == 150) {
      EXPECT_LT(changes, 18U);
    }
    if (percent == 100) {
      EXPECT_EQ(changes, 500U);
    }
  }
}

TEST(RegionString, has_the_interface_of_text) {
  region<Kitchen> r;
  auto& s = r->names[0];
  EXPECT_TRUE(s.empty());
  s = "eleven chars";  // twelve
  EXPECT_GE(s.capacity(), 12U);
  s = "eleven char";
  s.shrink_to_fit();
  EXPECT_EQ(s.capacity(), 11U);
  EXPECT_EQ(s.size(), 11U);
  s += "s, then more";
  EXPECT_EQ(s, "eleven chars, then more");
  const std::string_view view = s;
  EXPECT_EQ(view.substr(0, 6), "eleven");
  s.push_back('!');
  s.pop_back();
  EXPECT_EQ(s.str(), "eleven chars, then more");
  s.clear();
  EXPECT_EQ(s, "");
  r->names[1] = s;
  EXPECT_EQ(r->names[0], r->names[1]);
}

TEST(RegionOptional, holds_a_value_or_none) {
  region<Kitchen> r;
  EXPECT_FALSE(r->maybe);
  EXPECT_THROW((void)r->maybe.value(), std::bad_optional_access);
  r->maybe = 2.5;
  EXPECT_EQ(*r->maybe, 2.5);
  r->maybe = std::optional<double>();
  EXPECT_FALSE(r->maybe);
  r->nickname.emplace(std::string_view("one that needs a block"));
  EXPECT_EQ(r->nickname->size(), 22U);
  const std::size_t with = r.canonical().size();
  r->nickname = std::nullopt;
  EXPECT_EQ(r.canonical().size(), with - 32);
}

TEST(RegionMaps, have_the_interface_of_standard_ones) {
  region<Kitchen> r;
  r->lists = std::map<std::string, std::vector<std::uint16_t>>{{"b", {1}}, {"a", {2, 3}}};
  EXPECT_EQ(r->lists.begin()->first, "a");
  EXPECT_EQ(r->lists.at("a")[1], 3);
  EXPECT_THROW((void)r->lists.at("c"), std::out_of_range);
  EXPECT_FALSE(r->lists.emplace("a", std::vector<std::uint16_t>{9}).second);
  r->lists.insert_or_assign("a", std::vector<std::uint16_t>{9});
  EXPECT_EQ(r->lists.find("a")->second.size(), 1U);
  EXPECT_EQ(r->lists.find("z"), r->lists.end());
  r->lists.erase(r->lists.find("a"));
  EXPECT_EQ(r->lists.size(), 1U);

  r->gear["sword"].level = 3;
  EXPECT_EQ(r->gear.at("sword").level, 3U);
  EXPECT_EQ(r->gear.count("shield"), 0U);
  for (const auto& [key, value] : r->gear) EXPECT_EQ(key.view(), "sword");
  r->numbers = std::set<int>{5, 6, 7};
  EXPECT_TRUE(r->numbers.contains(6));
  EXPECT_FALSE(r->numbers.insert(6).second);
  r->words = std::vector<std::string>{"b", "a", "b"};
  EXPECT_EQ(r->words.size(), 2U);
  EXPECT_EQ(*r->words.begin(), "a");
  EXPECT_EQ(*r->words.lower_bound("aa"), "b");
}

template <class C>
concept goes_forward =
    std::ranges::forward_range<C> && std::ranges::forward_range<const C> && std::ranges::sized_range<const C>;
template <class C>
concept goes_both_ways =
    goes_forward<C> && std::ranges::bidirectional_range<C> && std::ranges::bidirectional_range<const C>;
using Text = situ::region_string;
static_assert(std::ranges::contiguous_range<const situ::region_sorted_set<Text>>);
static_assert(goes_forward<situ::region_hash_set<int>> && goes_forward<situ::region_hash_set<Text>>);
static_assert(goes_both_ways<situ::region_ordered_set<int>> &&
              goes_both_ways<situ::region_ordered_set<Text>>);
static_assert(goes_both_ways<situ::region_sorted_map<int, int>> &&
              goes_both_ways<situ::region_sorted_map<Text, Text>>);
static_assert(goes_forward<situ::region_hash_map<int, int>> &&
              goes_forward<situ::region_hash_map<Text, Text>>);
static_assert(goes_both_ways<situ::region_ordered_map<int, int>> &&
              goes_both_ways<situ::region_ordered_map<Text, Text>>);

TEST(RegionMaps, are_ranges) {
  region<Kitchen> r;
  for (const char* name : {"bow", "axe", "club"}) r->lists[name].push_back(7);
  r->gear["sword"].level = 3;
  const auto behind_b = [](const auto& entry) { return entry.first.view() > "b"; };
  const auto found = std::ranges::find_if(r->lists, behind_b);
  EXPECT_EQ(found->first, "bow");
  found->second.push_back(8);
  EXPECT_EQ(r->lists.at("bow").size(), 2U);
  auto last = std::ranges::prev(r->lists.end());
  EXPECT_EQ(last--->first, "club");
  EXPECT_EQ(last, found);
  EXPECT_EQ(std::ranges::count_if(std::as_const(r->lists), behind_b), 2);
  EXPECT_EQ(std::ranges::distance(r->lists), 3);
  EXPECT_EQ(std::ranges::find_if(r->gear, behind_b)->second.level, 3U);
}

/// Computed by hand and in Python from the text of spec/region.md.
TEST(RegionMaps, hash_as_the_format_says) {
  EXPECT_EQ(situ::region_detail::mix(1), 0x5692161d100b05e5U);
  EXPECT_EQ(situ::region_detail::hash_of(std::uint64_t{0}, 0), 0xe220a8397b1dcdafU);
  EXPECT_EQ(situ::region_detail::hash_of(std::int32_t{-1}, 7),
            situ::region_detail::hash_of(std::int64_t{-1}, 7));
  const std::pair<std::size_t, std::uint64_t> texts[] = {
      {0, 0xc584133ac916ab3cU},  {1, 0xbe03c54295fba9bfU},  {2, 0xdc4b636288cae328U},
      {3, 0x66f9d140ff544956U},  {4, 0x87adc34a5fc74b1aU},  {7, 0xa7cf9a2426a6b7abU},
      {8, 0x24151ecad2ab18a0U},  {9, 0xcfa1b053eed93aeeU},  {13, 0xb3d92d125830a885U},
      {15, 0xb7684be3aab60fb8U}, {16, 0x58fb1e1d6cbb577fU}, {17, 0xf5042f4588cac498U}};
  const std::string_view letters = "abcdefghijklmnopqrstuvwxyz";
  for (const auto& [length, hash] : texts)
    EXPECT_EQ(situ::region_detail::hash_of(letters.substr(0, length), 7), hash) << length;
}

TEST(RegionMaps, a_table_iterates_in_the_order_of_insertion) {
  region<Kitchen> a;
  region<Kitchen> b;
  for (int i = 0; i < 1000; ++i) a->numbers.insert(i);
  for (int i = 1999; i >= 0; --i) b->numbers.insert(i);
  int next = 0;
  for (const int number : a->numbers) EXPECT_EQ(number, next++);
  next = 2000;
  for (const int number : b->numbers) EXPECT_EQ(number, --next);
  // The last one takes the place of an erased one.
  EXPECT_EQ(b->numbers.erase(1999), 1U);
  EXPECT_EQ(*b->numbers.begin(), 0);
  for (int i = 1000; i < 1999; ++i) EXPECT_EQ(b->numbers.erase(i), 1U);
  EXPECT_EQ(b->numbers.size(), 1000U);
  EXPECT_TRUE(std::ranges::equal(a.canonical(), b.canonical()));
  b->numbers.shrink_to_fit();
  EXPECT_EQ(b->numbers.capacity(), 1000U);
  EXPECT_EQ(situ_test::refused<Kitchen>(b.bytes()), "accepted");
}

/// The inverse of the hash of an integer with seed 0.
std::uint64_t key_of(std::uint64_t hash) {
  const auto unshift = [](std::uint64_t x, unsigned by) {
    std::uint64_t all = x;
    for (unsigned i = by; i < 64; i += by) all = x ^ (all >> by);
    return all;
  };
  const auto inverse = [](std::uint64_t odd) {
    std::uint64_t found = odd;
    for (int i = 0; i < 6; ++i) found *= 2 - odd * found;
    return found;
  };
  std::uint64_t x = unshift(hash, 31) * inverse(0x94D049BB133111EBU);
  x = unshift(x, 27) * inverse(0xBF58476D1CE4E5B9U);
  return unshift(x, 30) - 0x9E3779B97F4A7C15U;
}

struct Crowd {
  situ::region_hash_map<std::uint64_t, std::uint32_t> known;
};
SITU_REGION(Crowd, known)

/// 40,000 keys with one home, and equal words but for the number of the entry.
TEST(RegionMaps, keys_that_were_chosen_to_collide_get_another_seed) {
  ASSERT_EQ(situ::region_detail::hash_of(key_of(0x123456789abcdef0U), 0), 0x123456789abcdef0U);
  region<Crowd> r;
  for (std::uint32_t i = 0; i < 40000; ++i) r->known.insert_or_assign(key_of(0x8000'0000'0000'0000U + i), i);
  for (std::uint32_t i = 0; i < 40000; ++i) ASSERT_EQ(r->known.at(key_of(0x8000'0000'0000'0000U + i)), i);
  EXPECT_EQ(situ_test::refused<Crowd>(r.bytes()), "accepted");
  const auto canonical = r.canonical();
  EXPECT_EQ(situ_test::refused<Crowd>(canonical), "accepted");
  // The entries of 16 bytes begin after the header and the root, and the seed behind them.
  std::uint32_t seed = 0;
  std::memcpy(&seed, canonical.data() + 80 + 40000 * 16, sizeof(seed));
  EXPECT_EQ(seed, 1U);
  for (std::uint32_t i = 0; i < 40000; i += 2)
    ASSERT_EQ(r->known.erase(key_of(0x8000'0000'0000'0000U + i)), 1U);
  EXPECT_EQ(situ_test::refused<Crowd>(r.bytes()), "accepted");
  r.compact_in_place();
  EXPECT_EQ(r->known.capacity(), 20000U);
  EXPECT_EQ(situ_test::refused<Crowd>(r.bytes()), "accepted");
}

/// What a hostile writer does to an index.
TEST(RegionMaps, wrong_indices_are_refused) {
  region<Crowd> r;
  for (std::uint64_t i = 0; i < 10; ++i) r->known.insert_or_assign(i, 0);
  const auto canonical = r.canonical();
  // Ten entries, a seed, and 16 words.
  constexpr std::size_t entries = 80;
  constexpr std::size_t seed = entries + 10 * 16;
  ASSERT_EQ(canonical.size(), seed + 4 + 16 * 4 + 12);
  const auto spoilt = [&canonical](std::size_t at, std::uint32_t number, bool is_live) {
    auto bytes = canonical;
    std::memcpy(bytes.data() + at, &number, sizeof(number));
    if (is_live) bytes[6] = std::byte{1};
    return situ_test::refused<Crowd>(bytes);
  };
  EXPECT_EQ(spoilt(entries, 0, true), "accepted");
  EXPECT_EQ(spoilt(entries + 16, 0, true), "known: entry 1 is not the one that its key finds (at offset 64)");
  EXPECT_EQ(spoilt(entries + 16, 0, false),
            "known: key 1 is not greater than the key before it (at offset 64)");
  std::size_t empty = 0;
  std::size_t full = 0;
  for (std::size_t at = seed + 4; at < seed + 4 + 16 * 4; at += 4) {
    std::uint32_t word = 0;
    std::memcpy(&word, canonical.data() + at, sizeof(word));
    (word == 0 ? empty : full) = at;
  }
  for (const bool is_live : {true, false}) {
    EXPECT_EQ(spoilt(empty, 1, is_live),
              "known: length 10, but 11 words of the index are in use (at offset 64)");
    EXPECT_NE(spoilt(full, 0, is_live), "accepted");
    EXPECT_NE(spoilt(full, 0xFFFF'FFFFU, is_live), "accepted");
    EXPECT_NE(spoilt(seed, 1, is_live), "accepted");
  }
}

TEST(RegionUnique, owns_the_value_to_which_it_leads) {
  region<situ_test::Node> r;
  const std::size_t empty = r.size();
  r->next.emplace(1).next.emplace(2).children.emplace_back(3);
  EXPECT_EQ(r->next->next->children[0].value, 3);
  r->next = r->next->next;
  EXPECT_EQ(r->next->value, 2);
  r->next.reset();
  EXPECT_FALSE(r->next);
  r.trim();
  EXPECT_EQ(r.size(), empty);
}

}  // namespace
