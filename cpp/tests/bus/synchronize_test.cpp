// Sets of samples from real topics: by stamps in messages and by the times of publication.
#include "situ/synchronize.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <cmath>
#include <cstdint>
#include <thread>
#include <utility>

#include "bus/messages.hpp"
#include "bus/scratch.hpp"

namespace bus_test {
namespace {

using namespace std::chrono_literals;

/// A time of a message, as generated code has it.
struct Time {
  std::int32_t sec = 0;
  std::uint32_t nanosec = 0;
};

/// The stamp is the number in the message, in nanoseconds.
Time stamp_of_tick(const situ::sample<Tick>& tick) {
  return situ::time::from_nanos<Time>(static_cast<std::int64_t>(tick->count));
}
Time stamp_of_scan(const situ::sample<Scan>& scan) { return {0, scan->id}; }

TEST_F(Bus, samples_of_two_topics_come_in_sets) {
  const auto on = node("n");
  auto ticks = on.publisher<Tick>("ticks");
  auto scans = on.publisher<Scan>("scans");
  situ::synchronizer pairs(
      situ::approximate_time{.queue_size = 4, .max_interval = 50ns},
      situ::stamped(on.subscriber<Tick>("ticks"), stamp_of_tick).inter_message_lower_bound(90ns),
      situ::stamped(on.subscriber<Scan>("scans"), stamp_of_scan).inter_message_lower_bound(90ns));
  EXPECT_FALSE(pairs.take().has_value());
  EXPECT_FALSE(pairs.receive(1ms).has_value());

  const auto publish = [&](std::uint64_t tick, std::uint32_t scan) {
    ticks.publish(Tick{.count = tick});
    auto loan = scans.loan();
    loan->id = scan;
    loan.publish();
  };
  publish(100, 110);
  publish(200, 290);
  publish(300, 391);
  publish(400, 480);
  // 200 and 480 have no partner within 50 ns.
  for (const auto& [tick, scan] : {std::pair(100U, 110U), {300U, 290U}, {400U, 391U}}) {
    const auto pair = pairs.receive(20s);
    ASSERT_TRUE(pair.has_value());
    EXPECT_EQ(std::get<0>(*pair)->count, tick);
    EXPECT_EQ(std::get<1>(*pair)->id, scan);
    EXPECT_FALSE(std::get<1>(*pair).is_copy());
  }
  EXPECT_FALSE(pairs.take().has_value());
  EXPECT_EQ(pairs.counts(), (situ::synchronizer_counts{.sets = 3, .unmatched = 1}));

  // Another thread publishes while this one waits.
  std::thread later([&] { publish(500, 580), publish(600, 680); });
  const auto pair = pairs.receive();
  later.join();
  ASSERT_TRUE(pair.has_value());
  EXPECT_EQ(std::get<0>(*pair)->count, 500U);
  EXPECT_EQ(std::get<1>(*pair)->id, 480U);
}

TEST_F(Bus, the_time_of_publication_can_be_the_stamp) {
  const auto on = node("n");
  auto ticks = on.publisher<Tick>("ticks");
  auto scans = on.publisher<Scan>("scans");
  auto tocks = on.publisher<Tick>("tocks");
  const auto published = [](const auto& one) { return one.published_at(); };
  auto sets = situ::synchronizer<Tick, Scan, Tick>::try_create(
      situ::approximate_time{}, situ::stamped(on.subscriber<Tick>("ticks"), published),
      situ::stamped(on.subscriber<Scan>("scans"), published),
      situ::stamped(on.subscriber<Tick>("tocks"), published));
  ASSERT_TRUE(sets.has_value());
  for (std::uint64_t count = 0; count < 3; ++count) {
    ticks.publish(Tick{.count = count});
    scans.loan().publish();
    tocks.publish(Tick{.count = count});
  }
  auto found = sets->try_take();
  ASSERT_TRUE(found.has_value() && found->has_value());
  // The last of the first round is nearer to the first of the second round than to its own, or it is not.
  EXPECT_LE(std::get<0>(**found)->count, 1U);
  EXPECT_EQ(std::get<2>(**found)->count, 0U);
  EXPECT_GE(sets->subscribers()[1]->statistics().taken, 1U);
}

TEST_F(Bus, a_synchronizer_refuses_what_cannot_work) {
  const auto on = node("n");
  const auto make = [&](const situ::synchronizer_policy& policy, std::size_t max_held) {
    return situ::synchronizer<Tick, Scan>::try_create(
        policy, situ::stamped(on.subscriber<Tick>("ticks"), stamp_of_tick),
        situ::stamped(on.subscriber<Scan>("scans", {.max_held = max_held}), stamp_of_scan));
  };
  EXPECT_TRUE(make(situ::exact_time{.queue_size = 4}, 6).has_value());
  const auto held = make(situ::exact_time{.queue_size = 4}, 5);
  ASSERT_FALSE(held.has_value());
  EXPECT_EQ(held.error().code(), situ::errc::invalid_argument);
  EXPECT_NE(held.error().message().find("subscriber 1"), std::string::npos) << held.error().message();
  EXPECT_FALSE(make(situ::exact_time{.queue_size = 0}, 5).has_value());
  EXPECT_FALSE(make(situ::approximate_time{.age_penalty = -0.1}, 20).has_value());
  EXPECT_FALSE(make(situ::approximate_time{.age_penalty = std::nan("")}, 20).has_value());
  EXPECT_FALSE(make(situ::approximate_time{.max_interval = -1ns}, 20).has_value());
  EXPECT_THROW(situ::synchronizer(situ::exact_time{.queue_size = SIZE_MAX},
                                  situ::stamped(on.subscriber<Tick>("ticks"), stamp_of_tick),
                                  situ::stamped(on.subscriber<Scan>("scans"), stamp_of_scan)),
               situ::error);
}

}  // namespace
}  // namespace bus_test
