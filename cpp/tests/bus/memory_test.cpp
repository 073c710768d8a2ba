// Memory of publishers before their first message: fixed slots, reservations, wishes for pages.
#include <gtest/gtest.h>

#include <cstdint>
#include <vector>

#include "bus/messages.hpp"
#include "bus/scratch.hpp"

namespace bus_test {
namespace {

TEST_F(Bus, fixed_slots_have_memory_from_the_start) {
  const auto camera = node("camera");
  const situ::placement slots{
      .strategy = situ::strategy::fixed_slots, .fixed_slots = 12, .slot_size = 8192, .numa_node = 0};
  auto publisher = camera.publisher<Scan>("scans", {.depth = 2}, slots);
  auto subscriber = camera.subscriber<Scan>("scans");
  EXPECT_EQ(publisher.statistics().slots, 12U);
  EXPECT_GE(publisher.statistics().memory_bytes, 12U * 8192);
  EXPECT_EQ(publisher.pages().huge, static_cast<std::uint32_t>(SITU_PAGES_NOT_ASKED));
  EXPECT_NE(publisher.pages().node, static_cast<std::uint32_t>(SITU_PAGES_NOT_ASKED));
  for (unsigned count = 1; count < 40; ++count) {
    auto loan = publisher.loan({.ranges = 1000});
    loan->id = count;
    loan.publish();
    auto sample = subscriber.take();
    ASSERT_TRUE(sample.has_value());
    EXPECT_EQ((*sample)->id, count);
  }
  const auto larger = publisher.try_loan({.ranges = 5000});
  ASSERT_FALSE(larger.has_value());
  EXPECT_EQ(larger.error().code(), situ::errc::no_memory);
  EXPECT_GT(publisher.trim(), 0U);
}

TEST_F(Bus, memory_is_reserved) {
  const auto camera = node("camera");
  auto publisher = camera.publisher<Scan>("scans");
  publisher.reserve(4, 100'000);
  EXPECT_GE(publisher.statistics().memory_bytes, 400'000U);
  EXPECT_TRUE(publisher.try_reserve(2, 1000).has_value());
  const auto refused = publisher.try_reserve(SIZE_MAX, 1000);
  ASSERT_FALSE(refused.has_value());
  EXPECT_EQ(refused.error().code(), situ::errc::no_memory);
  EXPECT_GE(publisher.trim(), 400'000U);
}

}  // namespace
}  // namespace bus_test
