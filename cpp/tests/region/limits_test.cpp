// Counts and sizes that no region can have are refused, and so are buffers in which a region cannot continue.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "situ/region.hpp"
#include "support/memory.hpp"

namespace {

using situ::region;
using situ_test::aligned_bytes;

struct Skill {
  std::uint32_t id;
  std::uint64_t level;
};
SITU_REGION(Skill, id, level)

struct All {
  situ::region_vector<std::uint8_t> raw;
  situ::region_vector<Skill> skills;
  situ::region_vector<situ::region_string> names;
  situ::region_string text;
  situ::region_sorted_set<std::uint32_t> sorted_set;
  situ::region_sorted_map<std::uint32_t, situ::region_string> sorted_map;
  situ::region_hash_set<std::uint8_t> hash_set;
  situ::region_hash_map<std::uint32_t, situ::region_string> hash_map;
};
SITU_REGION(All, raw, skills, names, text, sorted_set, sorted_map, hash_set, hash_map)

/// Counts for which the product with a size overflows 64 bits, or its next multiple of 16 does, or that are
/// only slightly too large.
std::vector<std::size_t> too_many() {
  std::vector<std::size_t> counts;
  for (unsigned shift = 31; shift < 64; ++shift) {
    counts.push_back(std::size_t{1} << shift);
    counts.push_back((std::size_t{1} << shift) + 1);
  }
  for (std::size_t i = 0; i <= 17; ++i) counts.push_back(std::numeric_limits<std::size_t>::max() - i);
  return counts;
}

/// Fills each container with a few elements.
void fill(All& all) {
  all.raw = {1, 2, 3};
  all.skills.emplace_back(7U, std::uint64_t{8});
  all.names.emplace_back("a name that needs a block");
  all.text = "a text that needs a block";
  all.sorted_set.insert(1);
  all.sorted_map.try_emplace(1, "one");
  all.hash_set.insert(1);
  all.hash_map.try_emplace(1, "one");
}

template <class Operation>
bool is_full(const Operation& operation) {
  try {
    operation();
  } catch (const situ::region_error& error) {
    return error.fault() == situ::region_fault::full;
  }
  return false;
}

/// Resizing and reserving refuse the count, by `false` and by the exception, and change nothing.
template <class Container>
void refuses(Container& container, std::size_t count) {
  const std::size_t size = container.size();
  const std::size_t capacity = container.capacity();
  EXPECT_FALSE(container.try_reserve(count)) << count;
  EXPECT_TRUE(is_full([&] { container.reserve(count); })) << count;
  if constexpr (requires { container.try_resize(count); }) {
    EXPECT_FALSE(container.try_resize(count)) << count;
    EXPECT_TRUE(is_full([&] { container.resize(count); })) << count;
  }
  EXPECT_EQ(container.size(), size);
  EXPECT_EQ(container.capacity(), capacity);
}

TEST(RegionLimits, counts_that_no_region_can_have_are_refused) {
  region<All> r;
  const auto refuse_all = [&r] {
    const std::vector<std::byte> before = r.canonical();
    for (const std::size_t count : too_many()) {
      refuses(r->raw, count);
      refuses(r->skills, count);
      refuses(r->names, count);
      refuses(r->text, count);
      refuses(r->sorted_set, count);
      refuses(r->sorted_map, count);
      refuses(r->hash_set, count);
      refuses(r->hash_map, count);
    }
    EXPECT_EQ(r.canonical(), before);
    EXPECT_TRUE(region<All>::adopt(r.bytes()));
  };
  refuse_all();
  fill(*r);
  refuse_all();
}

TEST(RegionLimits, ranges_that_no_region_can_hold_are_refused) {
  region<All> r;
  fill(*r);
  const std::vector<std::byte> before = r.canonical();
  const std::uint8_t number = 7;
  const situ::region_detail::repeated numbers(number, std::size_t{1} << 60);
  EXPECT_FALSE(r->raw.try_assign_range(numbers));
  EXPECT_TRUE(is_full([&] { r->raw.assign_range(numbers); }));
  for (const std::size_t count : too_many()) {
    EXPECT_FALSE(r->raw.try_insert(r->raw.begin(), count, number));
    EXPECT_FALSE(r->raw.try_assign(count, number));
    EXPECT_FALSE(r->skills.try_insert(r->skills.begin(), count, Skill{}));
    EXPECT_FALSE(r->names.try_resize(count, r->names[0]));
    EXPECT_FALSE(r->text.try_resize(count, 'x'));
    EXPECT_TRUE(is_full([&] { r->raw.insert(r->raw.begin() + 1, count, number); }));
  }
  const std::string_view endless(r->text.data(), std::numeric_limits<std::size_t>::max() - 3);
  EXPECT_FALSE(r->text.try_assign(endless));
  EXPECT_FALSE(r->text.try_append(endless));
  EXPECT_FALSE(r->text.try_insert(3, endless));
  EXPECT_FALSE(r->text.try_replace(3, 4, endless));
  EXPECT_TRUE(is_full([&] { r->text.append(endless); }));
  EXPECT_EQ(r.canonical(), before);
}

/// A region that can grow does not request more memory for sizes that no region can hold, even if an earlier
/// operation found no room.
TEST(RegionLimits, sizes_that_no_region_can_hold_do_not_make_it_grow) {
  struct counting : situ::region_detail::growth {
    int asked = 0;
  } growth;
  growth.larger = [](situ::region_detail::growth* self) {
    ++static_cast<counting*>(self)->asked;
    return false;
  };
  aligned_bytes memory(8192);
  region<All> r(memory.span());
  auto* const h = reinterpret_cast<situ::region_detail::header*>(memory.span().data());
  situ::region_detail::own_state(h)->growth = &growth;
  EXPECT_FALSE(r->raw.try_resize(100'000));
  EXPECT_TRUE(is_full([&] { r->raw.resize(100'000); }));
  EXPECT_EQ(growth.asked, 1);
  for (const std::size_t count : too_many()) {
    EXPECT_TRUE(is_full([&] { r->skills.resize(count); }));
    EXPECT_TRUE(is_full([&] { r->text.reserve(count); }));
    EXPECT_TRUE(is_full([&] { r->hash_map.reserve(count); }));
  }
  EXPECT_EQ(growth.asked, 1);
}

TEST(RegionContinues, in_a_buffer_that_has_room_and_in_no_other) {
  region<All> whole;
  fill(*whole);
  whole->raw.resize(5000);
  const std::vector<std::byte> canonical = whole.canonical();
  for (std::size_t size = 0; size < whole.size() + 1024; size += 8) {
    for (const std::size_t shift : {0U, 8U}) {
      region<All> r;
      fill(*r);
      r->raw.resize(5000);
      const std::size_t image = r.size();
      aligned_bytes memory(size + shift + 16);
      const std::span<std::byte> all = memory.span();
      std::ranges::fill(all, std::byte{0xA5});
      const std::vector<std::byte> untouched(all.begin(), all.end());
      const std::byte* const at = r.bytes().data();
      const bool fits = r.continue_in(all.subspan(shift, size));
      // The state of the memory lies after the image.
      const bool wanted = shift == 0 && size >= image + situ::region_detail::state_size(size);
      ASSERT_EQ(fits, wanted) << size;
      ASSERT_EQ(r.bytes().data() == at, !fits);
      // Nothing is written after the buffer. Nothing at all is written if the buffer has no room.
      const auto may_change = static_cast<std::ptrdiff_t>(fits ? size : 0);
      ASSERT_TRUE(std::equal(all.begin() + may_change, all.end(), untouched.begin() + may_change)) << size;
      ASSERT_EQ(r.size(), image);
      ASSERT_EQ(r.canonical(), canonical);
      if (fits) {
        ASSERT_LE(r.capacity(), size);
        while (r->raw.try_push_back(9)) continue;
        ASSERT_TRUE(region<All>::adopt(r.bytes()));
      }
    }
  }
}

// The limits are the same in each language: see `spec/region.md`, and the test
// `regions_may_become_as_large_as_in_other_languages` in Rust.
TEST(RegionLimits, are_those_of_other_languages_by_default) {
  constexpr std::uint32_t limit = std::uint32_t{63} << 20;
  EXPECT_EQ(situ::region_options{}.limit, limit);
  region<All> r;
  EXPECT_TRUE(r->raw.try_reserve(limit - 4096));
  EXPECT_FALSE(r->raw.try_reserve(std::size_t{64} << 20));
  // A region that starts with an image has room for it, regardless of the limit.
  situ::region_options large;
  large.limit = std::uint32_t{100} << 20;
  region<All> from(large);
  from->raw.resize(std::size_t{70} << 20);
  EXPECT_TRUE(region<All>::adopt(from.bytes()));
}

TEST(RegionContinues, from_a_window_that_is_given_back) {
  situ::region_options options;
  options.limit = std::uint32_t{64} << 10;
  // The window after that of `moved` is that of `neighbour`, or the other way round.
  auto one = std::make_unique<region<All>>(options);
  auto other = std::make_unique<region<All>>(options);
  const bool ascending = one->bytes().data() < other->bytes().data();
  auto& moved = ascending ? one : other;
  auto& neighbour = ascending ? other : one;
  fill(**moved);
  fill(**neighbour);
  (*moved)->raw.resize(20'000);
  const std::byte* const window = moved->bytes().data();
  const std::vector<std::byte> before = neighbour->canonical();
  // The region's state now describes the buffer, which is much larger than the window.
  aligned_bytes memory(std::size_t{16} << 20);
  ASSERT_TRUE(moved->continue_in(memory.span()));
  (*moved)->raw.resize(10'000'000);

  // The window is free again, and zero.
  region<All> next(options);
  EXPECT_EQ(next.bytes().data(), window);
  next->raw.resize(30'000);
  EXPECT_TRUE(std::all_of(next->raw.begin(), next->raw.end(), [](std::uint8_t byte) { return byte == 0; }));
  fill(*next);
  moved.reset();
  EXPECT_EQ(next->text, "a text that needs a block");
  EXPECT_TRUE(region<All>::adopt(next.bytes()));
  EXPECT_EQ(neighbour->canonical(), before);
  EXPECT_TRUE(region<All>::adopt(neighbour->bytes()));
}

}  // namespace
