// Heap allocations for viewing, adopting and continuing with images: none, up to 64 KiB.
#include <gtest/gtest.h>

#include <cstring>
#include <new>
#include <vector>

#include "region/character.hpp"
#include "support/allocations.hpp"
#include "support/memory.hpp"

namespace {

using situ_test::aligned_bytes;
using situ_test::allocations_of;
using situ_test::Kitchen;

/// Returns an image of about `bytes` bytes, most of them in `bits`.
situ::region<Kitchen> kitchen(std::size_t bytes) {
  situ::region<Kitchen> r;
  fill(*r);
  if (bytes > r.size()) r->bits.resize(bytes - r.size());
  return r;
}

TEST(region_heap, the_counter_works) {
  EXPECT_EQ(allocations_of([] { ::operator delete(::operator new(1)); }), 1U);
}

TEST(region_heap, images_of_up_to_64_kib_take_nothing) {
  for (const std::size_t bytes : {0U, 30'000U, 60'000U}) {
    const auto r = kitchen(bytes);
    const std::vector<std::byte> canonical = r.canonical();
    for (const auto image : {r.bytes(), std::span<const std::byte>(canonical)}) {
      ASSERT_LE(image.size(), 65536U);
      aligned_bytes received(image);
      aligned_bytes buffer(image.size() + 8192);
      std::memcpy(buffer.span().data(), image.data(), image.size());
      // Data about the type is computed once, and a window is reused.
      ASSERT_TRUE(situ::view_region<Kitchen>(received.span()));
      ASSERT_TRUE(situ::region<Kitchen>::adopt(received.span()));

      EXPECT_EQ(allocations_of([&] {
                  const auto seen = situ::view_region<Kitchen>(received.span());
                  EXPECT_EQ((*seen)->names[0], "short");
                }),
                0U);
      EXPECT_EQ(allocations_of([&] {
                  auto adopted = situ::region<Kitchen>::adopt_in_place(buffer.span());
                  (*adopted)->names[0] = "a name that takes a block of its own";
                  (*adopted)->numbers.insert(1'000'000);
                  EXPECT_EQ((*adopted)->names[0], "a name that takes a block of its own");
                }),
                0U);
      EXPECT_EQ(allocations_of([&] {
                  auto adopted = situ::region<Kitchen>::adopt(received.span());
                  (*adopted)->names[0] = "a name that takes a block of its own";
                  EXPECT_EQ((*adopted)->number, -5);
                }),
                0U);
    }
  }
}

TEST(region_heap, a_larger_live_image_takes_its_bitmap) {
  const auto r = kitchen(70'000);
  ASSERT_GT(r.size(), 65536U);
  aligned_bytes received(r.bytes());
  ASSERT_TRUE(situ::view_region<Kitchen>(received.span()));
  EXPECT_EQ(allocations_of([&] { EXPECT_TRUE(situ::view_region<Kitchen>(received.span())); }), 1U);

  std::vector<std::uint64_t> kept;
  const auto adopt = [&] {
    aligned_bytes buffer(received.span().size() + 8192);
    std::memcpy(buffer.span().data(), received.span().data(), received.span().size());
    return allocations_of([&] { EXPECT_TRUE(situ::region<Kitchen>::adopt_in_place(buffer.span(), kept)); });
  };
  EXPECT_EQ(adopt(), 1U);
  EXPECT_EQ(adopt(), 0U);
}

// A bitmap of exactly 64 words, and of one more: blocks at the end are marked, and overlaps there are found.
TEST(region_heap, bitmaps_end_where_the_image_ends) {
  for (const std::size_t bytes : {65536U, 65552U}) {
    situ::region<Kitchen> r;
    r->words.insert("the first block of the image, which is there twice");
    r->bits.resize(bytes - r.size());
    ASSERT_EQ(r.size(), bytes);
    aligned_bytes received(r.bytes());
    EXPECT_TRUE(situ::view_region<Kitchen>(received.span()));
    // One byte more: the block would end beyond the image.
    const std::size_t cap_at = situ::region_detail::root_offset + offsetof(Kitchen, bits) + 8;
    std::uint32_t cap = 0;
    std::memcpy(&cap, received.span().data() + cap_at, sizeof(cap));
    cap += 16;
    std::memcpy(received.span().data() + cap_at, &cap, sizeof(cap));
    const auto seen = situ::view_region<Kitchen>(received.span());
    ASSERT_FALSE(seen);
    EXPECT_EQ(seen.error().problem, situ::region_problem::outside);
  }
}

}  // namespace
