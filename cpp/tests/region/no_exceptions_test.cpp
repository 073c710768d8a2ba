// Regions without exceptions: every operation that needs memory has a form that reports failure by its
// result.
#include <gtest/gtest.h>

#include "region/market.hpp"
#include "region/operations.hpp"
#include "region/refused.hpp"
#include "support/memory.hpp"

namespace {

using situ_test::Everything;
using situ_test::Kitchen;
using situ_test::Market;

TEST(RegionNoExceptions, operations_without_room_report_it) {
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

TEST(RegionNoExceptions, each_operation_is_done_or_changes_nothing) {
  const situ_test::Source from;
  situ_test::aligned_bytes memory(6000);
  auto full = situ::region<Everything>::try_open(memory.span());
  ASSERT_TRUE(full);
  fill(**full);
  ASSERT_TRUE(full->try_compact());
  auto roomy = full->try_copy();
  ASSERT_TRUE(roomy);
  use_up(*full);
  const auto before = full->canonical();
  for_each_operation(from, [&](const std::string& name, const auto& trying, const auto&) {
    SCOPED_TRACE(name);
    EXPECT_FALSE(trying(**full));
    EXPECT_EQ(full->canonical(), before);
    auto copy = roomy->try_copy();
    ASSERT_TRUE(copy);
    EXPECT_TRUE(trying(**copy));
    EXPECT_EQ(situ_test::refused<Everything>(copy->bytes()), "accepted");
  });
  EXPECT_EQ((*full)->shape.try_emplace<"radius">(7, 1.0F), nullptr);
  EXPECT_EQ((*full)->numbers.try_at(100), nullptr);
  EXPECT_EQ((*full)->hash_map.try_at(100), nullptr);
  EXPECT_EQ((*full)->text.try_at(100), nullptr);
  EXPECT_EQ(*(*full)->text.try_at(2), 't');
  EXPECT_FALSE((*full)->text.try_substr(100));
  EXPECT_EQ((*full)->text.try_substr(2, 4), "text");
  EXPECT_FALSE((*full)->text.try_erase(100));
  EXPECT_EQ(*(*full)->nickname.try_value(), situ_test::long_text);
  // Self-assignment needs no memory.
  EXPECT_TRUE(situ::try_assign((*full)->numbers, (*full)->numbers));
  EXPECT_TRUE((*full)->ordered_map.try_insert_range(std::map<std::uint32_t, std::string>{{1, "another"}}));
  EXPECT_TRUE((*full)->hash_set.try_insert({"one"}));
  EXPECT_EQ(full->canonical(), before);
  // After assignment it is still in its buffer.
  EXPECT_TRUE(full->try_assign(*roomy));
  EXPECT_EQ(full->canonical(), roomy->canonical());
  EXPECT_EQ(full->bytes().data(), memory.span().data());
  EXPECT_TRUE((*full)->numbers.try_resize(100));
  // More than the whole buffer has.
  EXPECT_FALSE((*full)->numbers.try_resize(6000));
}

TEST(RegionNoExceptions, movable_regions) {
  auto r = situ::movable_region<Everything>::try_open();
  ASSERT_TRUE(r);
  auto text = r->root().member<&Everything::text>();
  EXPECT_TRUE(text.try_change([](auto& to) { return to.try_resize(100'000, 'x'); }));
  EXPECT_FALSE(text.try_change([](auto& to) { return to.try_resize(std::size_t{1} << 40, 'x'); }));
  EXPECT_EQ(text->size(), 100'000U);
  EXPECT_TRUE(r->try_compact());
  EXPECT_TRUE(situ::movable_region<Everything>::adopt(r->bytes()));
}

}  // namespace
