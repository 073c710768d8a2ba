// Each operation that needs memory, in both forms. With room, both do the same. Without room, one returns
// failure and the other throws, and the region does not change.
#include <gtest/gtest.h>

#include <limits>

#include "region/operations.hpp"
#include "region/refused.hpp"
#include "support/memory.hpp"

namespace {

using situ::region;
using situ_test::Everything;
using situ_test::Source;

/// A region in a buffer without any room.
struct Full {
  Full() : memory(6000), r(memory.span()) {
    fill(*r);
    r.compact();
    use_up(r);
  }
  situ_test::aligned_bytes memory;
  region<Everything> r;
};

TEST(RegionTry, both_forms_do_the_same_where_there_is_room) {
  const Source from;
  region<Everything> filled;
  fill(*filled);
  std::size_t operations = 0;
  for_each_operation(from, [&](const std::string& name, const auto& trying, const auto& throwing) {
    SCOPED_TRACE(name);
    region<Everything> a(filled);
    region<Everything> b(filled);
    EXPECT_TRUE(trying(*a));
    throwing(*b);
    EXPECT_EQ(a.canonical(), b.canonical());
    if (name.find("reserve") == std::string::npos) {
      EXPECT_NE(a.canonical(), filled.canonical());
    }
    EXPECT_EQ(situ_test::refused<Everything>(a.bytes()), "accepted");
    EXPECT_EQ(situ_test::refused<Everything>(b.bytes()), "accepted");
    ++operations;
  });
  EXPECT_GT(operations, 90U);
}

TEST(RegionTry, nothing_has_changed_where_there_is_no_room) {
  const Source from;
  Full full;
  const std::vector<std::byte> before = full.r.canonical();
  for_each_operation(from, [&](const std::string& name, const auto& trying, const auto& throwing) {
    SCOPED_TRACE(name);
    EXPECT_FALSE(trying(*full.r));
    EXPECT_EQ(full.r.canonical(), before);
    EXPECT_EQ(situ_test::refused<Everything>(full.r.bytes()), "accepted");
    Full thrown;
    EXPECT_THROW(throwing(*thrown.r), situ::region_error);
    EXPECT_EQ(situ_test::refused<Everything>(thrown.r.bytes()), "accepted");
    // Except operations that work member by member or character by character.
    if (name != "whole = whole" && name != "string push_back" && name != "array = array") {
      EXPECT_EQ(thrown.r.canonical(), before);
    }
  });
}

/// With room for a part of the operation only: the finished parts are released again.
TEST(RegionTry, nothing_has_changed_where_there_is_too_little_room) {
  const Source from;
  region<Everything> filled;
  fill(*filled);
  filled.compact();
  for (std::size_t room = 16; room < 2400; room += 176) {
    for_each_operation(from, [&](const std::string& name, const auto& trying, const auto&) {
      SCOPED_TRACE(name + " with " + std::to_string(room));
      situ_test::aligned_bytes memory(filled.size() + room + situ::region_detail::state_size(6000));
      std::memcpy(memory.span().data(), filled.bytes().data(), filled.size());
      auto r = region<Everything>::adopt_in_place(memory.span());
      ASSERT_TRUE(r);
      const std::vector<std::byte> before = r->canonical();
      const bool done = trying(**r);
      ASSERT_EQ(situ_test::refused<Everything>(r->bytes()), "accepted");
      if (!done) {
        ASSERT_EQ(r->canonical(), before);
        // All memory was given back.
        r->compact_in_place();
        ASSERT_EQ(r->size(), filled.size());
      }
    });
  }
}

TEST(RegionTry, whole_values_may_be_made_of_parts_of_themselves) {
  region<situ_test::Node> r;
  r->value = 1;
  r->next.emplace(2).next.emplace(3);
  r->next->children.emplace_back(4);
  EXPECT_TRUE(situ::try_assign(*r, *r->next));
  EXPECT_EQ(r->value, 2);
  EXPECT_EQ(r->next->value, 3);
  EXPECT_EQ(r->children[0].value, 4);
  EXPECT_TRUE(situ::try_assign(*r, r->children[0]));
  EXPECT_EQ(r->value, 4);
  EXPECT_FALSE(r->next);
  EXPECT_TRUE(situ::try_assign(r->value, 5));
  EXPECT_EQ(r->value, 5);
  EXPECT_TRUE(situ::try_assign(*r, *r));
  EXPECT_EQ(situ_test::refused<situ_test::Node>(r.bytes()), "accepted");
}

TEST(RegionTry, invalid_operations_do_not_make_a_region_grow) {
  region<Everything> r;
  fill(*r);
  const std::vector<std::byte> before = r.canonical();
  EXPECT_EQ(r->shape.try_emplace<"radius">(7, 1.0F), nullptr);
  EXPECT_FALSE(r->text.try_insert(1000, "x"));
  EXPECT_FALSE(r->text.try_replace(1000, 1, "x"));
  EXPECT_EQ(r->numbers.try_at(4), nullptr);
  EXPECT_EQ(r->sorted_map.try_at(99), nullptr);
  EXPECT_EQ(r->hash_map.try_at(99), nullptr);
  EXPECT_EQ(r->ordered_map.try_at(99), nullptr);
  EXPECT_EQ(*r->numbers.try_at(3), 4U);
  EXPECT_EQ(*r->ordered_map.try_at(1), "one");
  EXPECT_THROW(r->shape.emplace<"radius">(7, 1.0F), situ::bad_union_access);
  EXPECT_THROW(r->text.insert(1000, "x"), std::out_of_range);
  EXPECT_THROW(r->text.erase(1000), std::out_of_range);
  EXPECT_THROW(static_cast<void>(r->text.substr(1000)), std::out_of_range);
  EXPECT_THROW(static_cast<void>(r->text.at(1000)), std::out_of_range);
  EXPECT_EQ(r.canonical(), before);
}

TEST(RegionTry, copies_of_regions) {
  region<Everything> r;
  fill(*r);
  std::optional<region<Everything>> copy = r.try_copy();
  ASSERT_TRUE(copy);
  EXPECT_EQ(copy->canonical(), r.canonical());
  (*copy)->text = "the copy's own";
  EXPECT_EQ(r->text, situ_test::long_text);
  EXPECT_TRUE(r.try_assign(*copy));
  EXPECT_EQ(r->text, "the copy's own");
  EXPECT_TRUE(r.try_assign(r));
  EXPECT_EQ(r.canonical(), copy->canonical());
  EXPECT_EQ(situ_test::refused<Everything>(r.bytes()), "accepted");
}

TEST(RegionTry, movable_regions) {
  using situ_test::Character;
  auto r = situ::movable_region<Character>::try_open();
  ASSERT_TRUE(r);
  const auto skills = r->root().member<&Character::skills>();
  for (std::uint32_t i = 0; i < 1000; ++i) {
    ASSERT_NE(skills.try_change([i](auto& to) { return to.try_emplace_back(i, i); }), nullptr);
  }
  const std::size_t capacity = r->capacity();
  // Sizes that no region, or no region with this limit, can hold do not make the buffer grow.
  for (const std::size_t count : {std::numeric_limits<std::size_t>::max(), std::size_t{1} << 40,
                                  std::size_t{1} << 31, std::size_t{100} << 20}) {
    EXPECT_FALSE(skills.try_change([count](auto& to) { return to.try_resize(count); }));
    EXPECT_FALSE(skills.try_change([count](auto& to) { return to.try_reserve(count); }));
    EXPECT_THROW(skills.change([count](auto& to) { return to.try_resize(count); }), situ::region_error);
  }
  EXPECT_FALSE(
      r->root().member<&Character::name>().try_change([](auto& name) { return name.try_insert(7, "x"); }));
  EXPECT_EQ(r->capacity(), capacity);
  // An operation that failed before is no reason to grow.
  EXPECT_FALSE(skills->try_resize(capacity));
  EXPECT_FALSE(
      r->root().member<&Character::name>().try_change([](auto& name) { return name.try_insert(7, "x"); }));
  EXPECT_EQ(r->capacity(), capacity);
  EXPECT_TRUE(skills.try_change([](auto& to) { return to.try_resize(1'000'000); }));
  EXPECT_EQ(skills->size(), 1'000'000U);
  EXPECT_EQ((*skills)[999].id, 999U);
  EXPECT_TRUE(r->try_compact());
  EXPECT_EQ((*r)->skills[999].id, 999U);
}

TEST(RegionTry, movable_regions_may_use_their_whole_limit) {
  using situ_test::Character;
  for (std::uint32_t limit = 4096; limit <= 65536; limit += 16) {
    situ::region_options options;
    options.limit = limit;
    auto r = situ::movable_region<Character>::try_open(options);
    ASSERT_TRUE(r);
    const auto name = r->root().member<&Character::name>();
    const std::size_t rest = limit - r->size() - 32;
    ASSERT_TRUE(name.try_change([rest](auto& to) { return to.try_resize(rest); })) << limit;
  }
}

}  // namespace
