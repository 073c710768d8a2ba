// Regions without exceptions: every operation that needs memory has a form that says so by its result.
#include <gtest/gtest.h>

#include "region/market.hpp"
#include "region/memory.hpp"

namespace {

using situ_test::Kitchen;
using situ_test::Market;

TEST(RegionNoExceptions, what_finds_no_room_says_so) {
  situ_test::aligned_bytes memory(2048);
  auto opened = situ::region<Kitchen>::try_open(memory.span());
  ASSERT_TRUE(opened);
  situ::region<Kitchen>& r = *opened;
  EXPECT_FALSE(situ::region<Kitchen>::try_open(memory.span().first(100)));
  EXPECT_TRUE(situ::region<Market>::try_open());
  EXPECT_TRUE(r->names[0].try_assign("a name of more than eleven bytes"));
  const auto before = r.canonical();
  EXPECT_FALSE(r->names[0].try_reserve(4000));
  EXPECT_FALSE(r->bits.try_resize(4000));
  EXPECT_FALSE(r->bits.try_reserve(4000));
  EXPECT_FALSE(r->bits.try_assign_range(std::vector<bool>(4000)));
  EXPECT_FALSE(r->numbers.try_reserve(4000));
  EXPECT_FALSE(r->words.try_reserve(4000));
  EXPECT_EQ(r->tree.try_emplace(1)->value, 1);
  r->tree.reset();
  EXPECT_EQ(r.canonical(), before);
  while (
      r->lists.try_insert("list " + std::to_string(r->lists.size()), std::vector<std::uint16_t>(20)).first !=
      nullptr) {
  }
  EXPECT_EQ(situ_test::refused<Kitchen>(r.bytes()), "accepted");
  EXPECT_TRUE(r.try_compact());
  r.compact_in_place();
  const auto bad = situ::region<Kitchen>::adopt(memory.span().first(96));
  EXPECT_FALSE(bad);
}

}  // namespace
