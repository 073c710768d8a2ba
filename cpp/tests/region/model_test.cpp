// Random programs of container operations: a region does the same as standard containers, with any kind of
// memory.
#include "region/model.hpp"

#include <gtest/gtest.h>

#include <random>
#include <vector>

#include "region/market_model.hpp"

namespace {

using situ_test::Kitchen;
using situ_test::Market;
using situ_test::program;

std::vector<std::uint8_t> random_program(std::uint32_t seed, std::size_t size) {
  std::mt19937 random(seed);
  std::vector<std::uint8_t> bytes(size);
  for (auto& byte : bytes) byte = static_cast<std::uint8_t>(random());
  return bytes;
}

TEST(RegionModel, in_a_window) {
  for (std::uint32_t seed = 0; seed < 40; ++seed) {
    situ::region<Kitchen> r;
    ASSERT_TRUE(situ_test::run(program(random_program(seed, 4000)), r, false, 97)) << seed;
  }
}

TEST(RegionModel, with_every_growth_and_without_zeroing) {
  for (std::uint32_t seed = 100; seed < 120; ++seed) {
    situ::region_options options;
    options.limit = 1 << 16;
    options.growth_percent = static_cast<std::uint16_t>(100 + seed * 7 % 200);
    options.zero_on_free = seed % 2 == 0;
    if (seed % 4 < 2) options.allocation = situ::region_allocation::of<situ::monotonic_allocator>();
    situ::region<Kitchen> r(options);
    ASSERT_TRUE(situ_test::run(program(random_program(seed, 4000)), r, false, 97)) << seed;
  }
}

TEST(RegionModel, in_a_buffer_that_is_often_full) {
  for (std::uint32_t seed = 200; seed < 240; ++seed) {
    std::vector<situ_test::granule> buffer(100 + seed * 3 % 200);
    for (auto& each : buffer) each.bytes[seed % 16] = std::byte{0xA5};
    situ::region<Kitchen> r(std::as_writable_bytes(std::span(buffer)));
    ASSERT_TRUE(situ_test::run(program(random_program(seed, 4000)), r, true, 97)) << seed;
  }
}

TEST(RegionModel, unions_links_and_ordered_texts) {
  for (std::uint32_t seed = 300; seed < 320; ++seed) {
    situ::region<Market> r;
    ASSERT_TRUE(situ_test::run(program(random_program(seed, 3000)), r, false)) << seed;
    situ_test::aligned_bytes buffer(1920 + seed % 100 * 16);
    situ::region<Market> full(buffer.span());
    ASSERT_TRUE(situ_test::run(program(random_program(seed, 3000)), full, true)) << seed;
  }
}

/// The allocator alone: blocks never overlap, are zero, and all memory comes back.
TEST(RegionModel, memory) {
  std::mt19937 random(7);
  situ::region<situ_test::Skill> r;
  auto* h = const_cast<situ::region_detail::header*>(
      reinterpret_cast<const situ::region_detail::header*>(r.bytes().data()));
  const std::size_t empty = r.size();
  struct block {
    std::uint8_t* at;
    std::size_t size;
    std::uint8_t mark;
  };
  std::vector<block> blocks;
  for (int step = 0; step < 50'000; ++step) {
    const auto some = random();
    if (blocks.size() < 300 && some % 2 == 0) {
      const std::size_t size = some % 7 == 0 ? random() % 5000 + 1 : random() % 200 + 1;
      auto* at = static_cast<std::uint8_t*>(situ::region_detail::allocate(h, size));
      ASSERT_NE(at, nullptr);
      ASSERT_TRUE(std::all_of(at, at + size, [](std::uint8_t byte) { return byte == 0; }));
      const auto mark = static_cast<std::uint8_t>(random() | 1);
      std::memset(at, mark, size);
      blocks.push_back({at, size, mark});
    } else if (!blocks.empty()) {
      std::swap(blocks[random() % blocks.size()], blocks.back());
      block& last = blocks.back();
      ASSERT_TRUE(
          std::all_of(last.at, last.at + last.size, [&](std::uint8_t byte) { return byte == last.mark; }));
      if (some % 5 == 0 && situ::region_detail::extend(h, last.at, last.size, last.size + 100)) {
        std::memset(last.at + last.size, last.mark, 100);
        last.size += 100;
        continue;
      }
      situ::region_detail::deallocate(h, last.at, last.size);
      blocks.pop_back();
    }
  }
  for (const block& each : blocks) situ::region_detail::deallocate(h, each.at, each.size);
  r.trim();
  EXPECT_EQ(r.size(), empty);
  EXPECT_EQ(r.free_bytes(), 0U);
}

}  // namespace
