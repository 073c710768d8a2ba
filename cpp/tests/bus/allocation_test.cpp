// The C++ part of the hot path does not allocate. (The tests of libsitu cover its part.)
#include <gtest/gtest.h>

#include <cstdint>

#include "bus/messages.hpp"
#include "bus/scratch.hpp"
#include "support/allocations.hpp"

namespace bus_test {
namespace {

TEST_F(Bus, lending_publishing_taking_and_releasing_allocate_nothing) {
  const auto on = node("n");
  auto publisher = on.publisher<Scan>("scans");
  auto subscriber = on.subscriber<Scan>("scans");
  const auto hop = [&](std::uint32_t id) {
    auto loan = publisher.loan({.ranges = 100});
    loan->id = id;
    loan->name = "front";
    loan.bulk(&Scan::ranges)[99] = 1.0F;
    loan.publish();
    const auto sample = subscriber.take();
    return sample.has_value() && (*sample)->id == id && sample->bulk(&Scan::ranges).size() == 100;
  };
  for (std::uint32_t id = 0; id < 100; ++id) ASSERT_TRUE(hop(id));
  const std::uint64_t before = situ_test::allocations.load();
  bool all = true;
  for (std::uint32_t id = 0; id < 1000; ++id) all = all && hop(id) && !subscriber.take().has_value();
  EXPECT_EQ(situ_test::allocations.load() - before, 0U);
  EXPECT_TRUE(all);
}

}  // namespace
}  // namespace bus_test
