// The memory of a region when it is assigned, moved, swapped, and adopted from bytes of any alignment.
#include <gtest/gtest.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "situ/region.hpp"
#include "support/memory.hpp"

namespace {

using situ::movable_region;
using situ::region;
using situ_test::aligned_bytes;

struct Note {
  situ::region_string text;
  situ::region_vector<std::uint32_t> numbers;
};
SITU_REGION(Note, text, numbers)

region<Note> note(const char* text, std::size_t count) {
  region<Note> r;
  r->text = text;
  r->numbers.assign(count, 7U);
  return r;
}

TEST(RegionMoving, assigning_keeps_the_memory) {
  aligned_bytes memory(4096);
  region<Note> r(memory.span(), {.growth_percent = 100});
  const std::size_t capacity = r.capacity();
  r->numbers.assign(500, 1U);
  const region<Note> other = note("a text that needs a block", 100);
  r = other;
  EXPECT_EQ(r.bytes().data(), memory.span().data());
  EXPECT_EQ(r.capacity(), capacity);
  EXPECT_EQ(r.canonical(), other.canonical());
  EXPECT_EQ(r.size(), other.canonical().size());
  // The region continues in place, with its own options, and with zeros in freed memory.
  r->numbers.push_back(8U);
  EXPECT_EQ(r->numbers.capacity(), 104U);  // whole granules, and not twice as many
  r->numbers.resize(300);
  EXPECT_EQ(r->numbers[100], 8U);
  EXPECT_EQ(r->numbers[299], 0U);
  const auto checked = region<Note>::adopt(r.bytes());
  ASSERT_TRUE(checked) << checked.error().message();
  EXPECT_EQ(checked->canonical(), r.canonical());
}

TEST(RegionMoving, a_value_without_room_is_not_assigned) {
  aligned_bytes memory(4096);
  region<Note> r(memory.span());
  r->text = "what stays";
  const std::vector<std::byte> before(r.bytes().begin(), r.bytes().end());
  const region<Note> large = note("a text that needs a block", 2000);
  EXPECT_FALSE(r.try_assign(large));
  EXPECT_THROW(r = large, situ::region_error);
  EXPECT_EQ(std::vector<std::byte>(r.bytes().begin(), r.bytes().end()), before);
  EXPECT_EQ(r.bytes().data(), memory.span().data());
  // A copy has a window of its own.
  region<Note> copy(r);
  copy->numbers.assign(100, 1U);
  EXPECT_EQ(copy->text, "what stays");
  EXPECT_NE(copy.bytes().data(), r.bytes().data());
}

TEST(RegionMoving, swapping_exchanges_the_memory) {
  aligned_bytes memory(4096);
  region<Note> a(memory.span());
  a->text = "in the buffer";
  region<Note> b = note("in a window", 3);
  const std::byte* const window = b.bytes().data();
  std::swap(a, b);
  EXPECT_EQ(b.bytes().data(), memory.span().data());
  EXPECT_EQ(a.bytes().data(), window);
  EXPECT_EQ(a->text, "in a window");
  EXPECT_EQ(b->text, "in the buffer");
}

TEST(RegionMoving, moved_from_regions_are_copied_and_assigned_to) {
  region<Note> r = note("a text", 3);
  region<Note> taken(std::move(r));
  EXPECT_EQ(r.size(), 0U);  // NOLINT(bugprone-use-after-move)
  EXPECT_EQ(r.capacity(), 0U);
  EXPECT_TRUE(r.bytes().empty());
  const region<Note> copy(r);
  EXPECT_TRUE(copy.bytes().empty());
  r = taken;
  EXPECT_EQ(r->text, "a text");
  taken = copy;
  EXPECT_TRUE(taken.bytes().empty());
  taken = r;
  EXPECT_EQ(taken->text, "a text");
}

TEST(RegionMoving, a_movable_region_is_moved_with_its_buffer) {
  const auto set = [](movable_region<Note>& to, const char* text) {
    to.root().member<&Note::text>().change([text](auto& value) { return value.try_assign(text); });
  };
  movable_region<Note> a;
  movable_region<Note> b;
  set(a, "the first of the two texts");
  set(b, "the second of the two texts");
  a = std::move(b);
  EXPECT_EQ(a->text, "the second of the two texts");
  EXPECT_EQ(b->text, "the first of the two texts");  // NOLINT(bugprone-use-after-move): they are exchanged
  set(a, "it goes on");
  b = movable_region<Note>();
  EXPECT_EQ(b->text, "");
  set(b, "it goes on, too");
  std::swap(a, b);
  EXPECT_EQ(a->text, "it goes on, too");
  const movable_region<Note> c(std::move(b));
  EXPECT_EQ(c->text, "it goes on");
}

TEST(RegionMoving, bytes_are_adopted_wherever_they_lie) {
  const region<Note> r = note("a text that needs a block", 100);
  for (const std::vector<std::byte>& image :
       {std::vector<std::byte>(r.bytes().begin(), r.bytes().end()), r.canonical()}) {
    for (std::size_t shift = 0; shift < 17; ++shift) {
      aligned_bytes memory(image.size() + 32);
      const auto bytes = memory.span().subspan(shift, image.size());
      std::memcpy(bytes.data(), image.data(), image.size());
      const auto adopted = region<Note>::adopt(bytes);
      ASSERT_TRUE(adopted) << adopted.error().message();
      EXPECT_EQ(adopted->canonical(), r.canonical());
      const auto moving = movable_region<Note>::adopt(bytes);
      ASSERT_TRUE(moving) << moving.error().message();
      EXPECT_EQ(moving->canonical(), r.canonical());
      // Views require an address that is a multiple of 16.
      EXPECT_EQ(static_cast<bool>(situ::view_region<Note>(bytes)), shift % 16 == 0);
    }
  }
}

TEST(RegionMoving, truncated_images_are_refused) {
  const region<Note> r = note("a text that needs a block", 100);
  const std::vector<std::byte> image = r.canonical();
  for (std::size_t count = 0; count < image.size(); ++count) {
    const auto bytes = std::span(image).first(count);
    EXPECT_FALSE(region<Note>::adopt(bytes)) << count;
    EXPECT_FALSE(movable_region<Note>::adopt(bytes)) << count;
  }
  EXPECT_FALSE(region<Note>::adopt({}));
  const auto nothing = movable_region<Note>::adopt({});
  ASSERT_FALSE(nothing);
  EXPECT_EQ(nothing.error().problem, situ::region_problem::too_small);
}

TEST(RegionMoving, a_refused_image_leaves_no_bytes) {
  const region<Note> r = note("a text that needs a block", 3001);
  std::vector<std::byte> image = r.canonical();
  image.back() = std::byte{1};  // padding
  {
    const auto refused = region<Note>::adopt(image);
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().problem, situ::region_problem::not_zero);
  }
  region<Note> next;  // in the same window
  next->numbers.resize(3500);
  for (const std::uint32_t each : next->numbers) ASSERT_EQ(each, 0U);
}

struct Several {
  situ::region_vector<std::uint32_t> vector;
  std::array<std::uint32_t, 3> array;
  situ::region_sorted_map<std::uint32_t, std::uint32_t> sorted_map;
  situ::region_hash_map<std::uint32_t, std::uint32_t> hash_map;
  situ::region_ordered_map<std::uint32_t, std::uint32_t> ordered_map;
};
SITU_REGION(Several, vector, array, sorted_map, hash_map, ordered_map)

template <auto Member>
constexpr bool is_indexed = requires(movable_region<Several> r) {
  r.root().template member<Member>()[0];
};
// `[]` of a map may insert. A handle has `change` for that.
static_assert(is_indexed<&Several::vector> && is_indexed<&Several::array>);
static_assert(!is_indexed<&Several::sorted_map> && !is_indexed<&Several::hash_map> &&
              !is_indexed<&Several::ordered_map>);

}  // namespace
