// Allocators of regions: the bitmap's, one that never reuses freed memory, and a user's own.
#include <gtest/gtest.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "situ/region.hpp"

namespace {

using situ::region_allocation;
using situ::region_granules;

struct Shelf {
  situ::region_vector<situ::region_string> texts;
};
SITU_REGION(Shelf, texts)

/// Takes the smallest run of free granules that is long enough.
struct best_fit {
  static inline std::uint32_t all_freed = 0;
  static std::uint32_t take(region_granules& granules, std::uint32_t count) noexcept {
    std::uint32_t best = 0;
    std::uint32_t length = ~std::uint32_t{0};
    for (std::uint32_t from = granules.next_free(0); from < granules.end();) {
      const std::uint32_t to = granules.next_used(from);
      if (to - from >= count && to - from < length) {
        best = from;
        length = to - from;
      }
      from = granules.next_free(to);
    }
    return best == 0 ? granules.grow(count) : granules.take(best, count);
  }
  static void freed(region_granules&, std::uint32_t, std::uint32_t count) noexcept { all_freed += count; }
};

/// Always takes granules that are in use or do not exist.
struct wrong {
  static std::uint32_t take(region_granules& granules, std::uint32_t count) noexcept {
    return granules.take(0, count) + granules.take(granules.end(), count) +
           granules.take(~std::uint32_t{0}, count) + granules.take(granules.end() - 1, ~std::uint32_t{0});
  }
};

const std::array<region_allocation, 3> all{region_allocation(),
                                           region_allocation::of<situ::monotonic_allocator>(),
                                           region_allocation::of<best_fit>()};

situ::region<Shelf> shelf(region_allocation allocation, bool zero_on_free = true) {
  situ::region_options options;
  options.allocation = allocation;
  options.zero_on_free = zero_on_free;
  return situ::region<Shelf>(options);
}

std::size_t place(const situ::region<Shelf>& r, std::size_t index) {
  return static_cast<std::size_t>(reinterpret_cast<const std::byte*>(r->texts[index].data()) -
                                  r.bytes().data());
}

void set(situ::region<Shelf>& r, std::size_t index, std::size_t granules) {
  r->texts[index] = std::string(16 * granules, 'x');
}

std::string again(const situ::region<Shelf>& r) {
  auto taken = situ::region<Shelf>::adopt(r.bytes());
  if (!taken) return taken.error().message();
  return taken->canonical() == r.canonical() ? "good" : "another value";
}

TEST(RegionAllocation, each_allocator_takes_its_runs) {
  // The first run that is long enough, no run, the smallest run that is long enough.
  const std::array<std::size_t, 3> wanted{0, 3, 1};
  for (std::size_t i = 0; i < all.size(); ++i) {
    auto r = shelf(all[i]);
    r->texts.reserve(8);
    // Six texts, of which every other one is removed: free runs of 20, 12 and 16 granules.
    const std::array<std::size_t, 6> granules{20, 1, 12, 1, 16, 1};
    for (std::size_t index = 0; index < granules.size(); ++index) {
      r->texts.emplace_back();
      set(r, index, granules[index]);
    }
    std::vector<std::size_t> places{place(r, 0), place(r, 2), place(r, 4)};
    for (const std::size_t index : {0U, 2U, 4U}) {
      r->texts[index] = "";
      r->texts[index].shrink_to_fit();
    }
    ASSERT_EQ(r.free_bytes(), (20U + 12U + 16U) * 16U);
    places.push_back(r.size());
    set(r, 0, 11);
    EXPECT_EQ(place(r, 0), places[wanted[i]]) << i;
    EXPECT_EQ(again(r), "good");
  }
  EXPECT_GE(best_fit::all_freed, 48U);
}

TEST(RegionAllocation, freed_memory_of_a_monotonic_region_comes_back_when_it_is_compacted) {
  auto r = shelf(all[1]);
  r->texts.emplace_back();
  r->texts.emplace_back("behind them");
  for (std::size_t granules = 1; granules <= 40; ++granules) {
    set(r, 0, granules);
    set(r, 1, 1);
  }
  // Two texts, the vector's block, the root. Each of the forty changes took new granules, of which only the
  // last are in use.
  const std::size_t used = 64 + 16 + 32 + 40 * 16 + 16;
  EXPECT_EQ(r.canonical().size(), used);
  EXPECT_GE(r.free_bytes(), 39U * 40U / 2U * 16U);
  EXPECT_EQ(again(r), "good");
  r.compact();
  EXPECT_EQ(r.size(), used);
  EXPECT_EQ(r.free_bytes(), 0U);
  set(r, 0, 41);
  EXPECT_EQ(place(r, 0), used) << "the next block lies behind the end";
  // Freed memory at the end belongs to the end again.
  r->texts.pop_back();
  r->texts.erase(r->texts.begin());
  EXPECT_LT(r.size(), used + 41 * 16);
}

TEST(RegionAllocation, memory_that_was_not_cleared_is_cleared_when_it_is_taken) {
  for (const region_allocation allocation : all) {
    auto r = shelf(allocation, false);
    for (std::size_t round = 1; round < 30; ++round) {
      r->texts.emplace_back(std::string(round * 13, 'y'));
      if (round % 3 == 0) r->texts.erase(r->texts.begin() + static_cast<std::ptrdiff_t>(round / 4));
      r->texts[0].reserve(round * 32);
    }
    EXPECT_EQ(again(r), "good");
  }
}

TEST(RegionAllocation, an_allocator_cannot_take_what_is_in_use) {
  auto r = shelf(region_allocation::of<wrong>());
  EXPECT_EQ(r->texts.try_emplace_back("a text"), nullptr);
  EXPECT_TRUE(r->texts.empty());
  EXPECT_EQ(r.canonical(), shelf(region_allocation()).canonical());
}

TEST(RegionAllocation, it_stays_with_the_region) {
  auto r = shelf(all[1]);
  r->texts.emplace_back(std::string(100, 'a'));
  auto copy = r;
  copy->texts[0] = std::string(200, 'b');
  const std::size_t end = copy.size();
  copy->texts[0] = std::string(300, 'c');
  EXPECT_EQ(place(copy, 0), end) << "a copy has the same allocator";
  EXPECT_EQ(region_allocation::of<best_fit>(), all[2]);
  EXPECT_NE(all[1], all[2]);
}

}  // namespace
