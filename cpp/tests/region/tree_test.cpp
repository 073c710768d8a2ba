// Ordered maps and sets: the behaviour of std::map and std::set, and the canonical tree.
#include <gtest/gtest.h>

#include <cstring>
#include <random>
#include <utility>
#include <vector>

#include "region/forest.hpp"
#include "region/refused.hpp"

namespace {

using situ::region;
using situ_test::erase;
using situ_test::Forest;
using situ_test::same;
using model = situ_test::model_forest;

/// Random insertions and erasures, with phases of more insertions and of more erasures. Returns true if
/// region and model agree.
bool agree(region<Forest>& r, model& m, std::uint32_t seed, int steps, bool full_is_good) {
  std::mt19937 random(seed);
  Forest& f = *r;
  for (int step = 0; step < steps; ++step) {
    const std::uint32_t range = step / 3000 % 2 == 0 ? 2000 : 300;
    const bool insert = random() % 10 < (step / 1500 % 2 == 0 ? 7U : 3U);
    const auto number = static_cast<std::uint32_t>(random() % range);
    const bool good = insert ? situ_test::insert(f, m, number, full_is_good) : erase(f, m, number);
    if (!good) return false;
    if (step % 499 == 0 && !same(f, m)) return false;
  }
  return same(f, m);
}

TEST(RegionTree, does_what_standard_containers_do) {
  region<Forest> r;
  model m;
  ASSERT_TRUE(agree(r, m, 1, 20'000, false));
  const auto& items = std::as_const(*r).items;
  for (std::uint64_t key = 0; key < 2100; key += 7) {
    const auto lower = items.lower_bound(key);
    const auto expected = m.items.lower_bound(key);
    ASSERT_EQ(lower == items.end(), expected == m.items.end());
    if (lower != items.end()) {
      EXPECT_EQ(lower->first, expected->first);
    }
    const auto upper = items.upper_bound(key);
    const auto above = m.items.upper_bound(key);
    ASSERT_EQ(upper == items.end(), above == m.items.end());
    if (upper != items.end()) {
      EXPECT_EQ(upper->first, above->first);
    }
    EXPECT_EQ(items.contains(key), m.items.contains(key));
  }
  auto back = r->numbers.end();
  for (auto expected = m.numbers.rbegin(); expected != m.numbers.rend(); ++expected) {
    --back;
    ASSERT_EQ(*back, *expected);
  }
  EXPECT_EQ(back, r->numbers.begin());
}

TEST(RegionTree, images_of_it_are_checked_adopted_and_changed) {
  for (std::uint32_t seed = 0; seed < 6; ++seed) {
    region<Forest> r;
    model m;
    ASSERT_TRUE(agree(r, m, seed, 700 + static_cast<int>(seed) * 900, false));
    if (seed == 3) {
      r->items.shrink_to_fit();
      r->lists.shrink_to_fit();
      r->numbers.shrink_to_fit();
      ASSERT_TRUE(same(*r, m));
    }
    const std::vector<std::byte> canonical = r.canonical();
    for (const bool live : {true, false}) {
      situ_test::aligned_bytes sent(live ? r.bytes() : std::span<const std::byte>(canonical));
      auto taken = region<Forest>::adopt(sent.span());
      ASSERT_TRUE(taken) << taken.error().message();
      EXPECT_EQ(taken->canonical(), canonical);
      model again = m;
      ASSERT_TRUE(agree(*taken, again, seed + 50, 3000, false));
      situ_test::aligned_bytes sent_on(taken->bytes());
      const auto viewed = situ::view_region<Forest>(sent_on.span());
      ASSERT_TRUE(viewed) << viewed.error().message();
    }
  }
}

TEST(RegionTree, the_canonical_one_does_not_depend_on_history) {
  region<Forest> a;
  region<Forest> b;
  for (std::uint32_t i = 0; i < 1000; ++i) a->items.emplace(i);
  for (std::uint32_t i = 3000; i-- > 0;) b->items.emplace(i);
  for (std::uint32_t i = 1000; i < 3000; ++i) b->items.erase(i);
  EXPECT_EQ(a.canonical(), b.canonical());
  EXPECT_EQ(a->items, b->items);
  b.compact();
  EXPECT_EQ(a.canonical(), b.canonical());
  b->items.clear();
  EXPECT_TRUE(b->items.empty());
  a->items = b->items;
  EXPECT_EQ(a.canonical(), region<Forest>().canonical());
}

/// Computed by hand from spec/region.md. Entries have 32 bytes: first = 8, max_len = 8, min_len = 4. 100
/// entries need 3 levels (9, 81, 729). Then room = 81, and children = 101 / 81 rounded up = 2, with 51 and
/// 50: 50 and 49 entries below them.
TEST(RegionTree, the_canonical_one_has_the_shape_of_the_rule) {
  using node = situ::region_detail::tree_node<situ::region_entry<std::uint64_t, situ_test::Item>>;
  EXPECT_EQ(node::first, 8U);
  EXPECT_EQ(node::max_len, 8U);
  region<Forest> r;
  for (std::uint64_t i = 0; i < 100; ++i) r->items.emplace(i);
  const std::vector<std::byte> image = r.canonical();
  const auto u32_at = [&image](std::size_t at) {
    std::uint32_t value = 0;
    std::memcpy(&value, image.data() + at, sizeof(value));
    return value;
  };
  EXPECT_EQ(u32_at(64 + 4), 100U);
  EXPECT_EQ(u32_at(64 + 8), 3U);
  // The root lies after the struct of 48 bytes: one entry, two children. 8 + 32 + 2 * 4 bytes.
  constexpr std::size_t root = 112;
  EXPECT_EQ(u32_at(64) + 64, root);
  EXPECT_EQ(u32_at(root), 1U | 1U << 16);
  EXPECT_EQ(u32_at(root + 8), 50U);
  EXPECT_EQ(u32_at(root + 40) + root + 40, root + 48);
  // Its first child: 51 / 9 rounded up is 6 children, 3 of 9 and 3 of 8: leaves of 8, 8, 8, 7, 7, 7.
  constexpr std::size_t first = root + 48;
  EXPECT_EQ(u32_at(first), 5U | 5U << 16);
  EXPECT_EQ(u32_at(first + 8), 8U);
  const std::size_t links = first + 8 + 5 * 32;
  for (std::uint32_t i = 0; i < 6; ++i) {
    const std::size_t leaf = links + 4 * i + u32_at(links + 4 * i);
    EXPECT_EQ(u32_at(leaf) & 0xFFFFU, i < 3 ? 8U : 7U) << i;
  }
}

TEST(RegionTree, a_full_buffer_changes_nothing) {
  for (std::uint32_t seed = 0; seed < 20; ++seed) {
    situ_test::aligned_bytes memory(6000 + seed * 512);
    region<Forest> r(memory.span());
    model m;
    ASSERT_TRUE(agree(r, m, seed, 4000, true)) << seed;
    situ_test::aligned_bytes sent(r.bytes());
    const auto viewed = situ::view_region<Forest>(sent.span());
    ASSERT_TRUE(viewed) << viewed.error().message();
    // Trimmed nodes and almost no room: nodes that should merge cannot, and erasing continues nevertheless.
    r.compact();
    const std::size_t size = r.size();
    situ_test::aligned_bytes tight(size + situ::region_detail::state_size(size) + 80);
    std::memcpy(tight.span().data(), r.bytes().data(), size);
    auto again = region<Forest>::adopt_in_place(tight.span());
    ASSERT_TRUE(again) << again.error().message();
    ASSERT_TRUE(agree(*again, m, seed + 1, 4000, true)) << seed;
    situ_test::aligned_bytes last(again->bytes());
    const auto good = situ::view_region<Forest>(last.span());
    ASSERT_TRUE(good) << good.error().message();
  }
}

TEST(RegionTree, errors_name_the_fault) {
  region<Forest> r;
  for (std::uint64_t i = 0; i < 100; ++i) r->items.emplace(i);
  const std::vector<std::byte> good = r.canonical();
  const auto spoilt = [&good](std::size_t at, int value) {
    situ_test::aligned_bytes bad{std::span(good)};
    bad.span()[at] = static_cast<std::byte>(value);
    return situ_test::refused<Forest>(bad.span());
  };
  EXPECT_EQ(spoilt(64 + 8, 2), "items: the tree has 2 levels instead of 3 (at offset 64)");
  EXPECT_EQ(spoilt(112, 2),
            "items: the node holds 2 keys and has room for 1; room for 1 to 1 is allowed, and at least one "
            "key (at offset 112)");
  EXPECT_EQ(spoilt(112 + 8, 1), "items: key 50 is not greater than the key before it (at offset 64)");
  situ_test::aligned_bytes live(r.bytes());
  const std::size_t at = 64 + 4;
  live.span()[at] = std::byte{101};
  EXPECT_EQ(situ_test::refused<Forest>(live.span()),
            "items: length 101, but the nodes hold 100 keys (at offset 64)");
}

}  // namespace
