// Events: taken, waited for, called back; liveliness and profiles.
#include <gtest/gtest.h>

#include <array>
#include <chrono>
#include <cstdint>
#include <optional>

#include "bus/messages.hpp"
#include "bus/scratch.hpp"

namespace bus_test {
namespace {

using namespace std::chrono_literals;

/// Waits for an event in a set, and takes its status.
template <class Status>
Status wait(const situ::node& on, const situ::event<Status>& event) {
  situ::wait_set set(on);
  const auto id = set.attach(event);
  std::array<situ::ready_source, 4> room;
  const auto ready = set.wait(room, 30s);
  EXPECT_EQ(ready.size(), 1U);
  EXPECT_TRUE(!ready.empty() && ready[0].id() == id);
  return event.take();
}

TEST_F(Bus, events_of_a_publisher_are_waited_for) {
  const auto on = node("n");
  auto publisher = on.publisher<Tick>(
      "ticks", {.deadline = 20ms, .liveliness = situ::liveliness::manual_by_topic, .lease = 20ms});
  const auto matched = publisher.matched_event();
  EXPECT_EQ(matched.take().current_count, 0U);
  std::optional subscriber(on.subscriber<Tick>("ticks"));
  EXPECT_EQ(wait(on, matched).current_count_change, 1);
  subscriber.reset();
  EXPECT_EQ(wait(on, matched).current_count_change, -1);
  EXPECT_GE(wait(on, publisher.deadline_missed_event()).total_count_change, 1U);
  const auto lost = publisher.liveliness_lost_event();
  EXPECT_GE(wait(on, lost).total_count, 1U);
  publisher.assert_liveliness();
  EXPECT_EQ(wait(on, lost).total_count_change, 1U);
  auto reliable = on.subscriber<Tick>("ticks", {.reliability = situ::reliability::reliable});
  const auto incompatible = wait(on, publisher.incompatible_qos_event());
  EXPECT_EQ(incompatible.total_count, 1U);
  EXPECT_EQ(static_cast<situ::qos_policy>(incompatible.last_policy), situ::qos_policy::reliability);
}

TEST_F(Bus, events_of_a_subscriber_are_waited_for) {
  const auto on = node("n");
  auto subscriber = on.subscriber<Tick>("ticks", {.deadline = 20ms});
  EXPECT_GE(wait(on, subscriber.deadline_missed_event()).total_count, 1U);
  auto publisher = on.publisher<Tick>("ticks", {.depth = 1, .deadline = 10ms});
  EXPECT_EQ(wait(on, subscriber.matched_event()).total_count, 1U);
  EXPECT_EQ(wait(on, subscriber.liveliness_changed_event()).alive_count, 1U);
  for (std::uint64_t count = 0; count < 5000; ++count) publisher.publish(Tick{.count = count});
  while (subscriber.take()) {
  }
  EXPECT_EQ(wait(on, subscriber.messages_lost_event()).total_count, subscriber.statistics().lost);
  auto other = on.publisher<Tick>("ticks");
  const auto incompatible = wait(on, subscriber.incompatible_qos_event());
  EXPECT_EQ(incompatible.policies, static_cast<std::uint32_t>(situ::qos_policy::deadline));
  EXPECT_EQ(subscriber.statistics().publishers, 1U);
}

TEST_F(Bus, an_executor_calls_back_with_statuses) {
  const auto on = node("n");
  situ::executor executor(on);
  std::optional publisher(on.publisher<Tick>("ticks"));
  auto subscriber = on.subscriber<Tick>("ticks");
  std::int64_t balance = 0;
  executor.add(subscriber.matched_event(),
               [&](const situ::matched_status& status) { balance += status.current_count_change; });
  executor.add(subscriber.liveliness_changed_event(), [&](const situ::liveliness_changed_status& status) {
    if (status.alive_count == 0) executor.stop();
    publisher.reset();
  });
  executor.spin();
  while (balance != 0) executor.spin_once(30s);
  EXPECT_FALSE(publisher);
}

TEST_F(Bus, profiles_are_those_of_ros) {
  const auto sensor = situ::subscriber_qos::of(situ::qos_profile::sensor_data);
  EXPECT_EQ(sensor.keep_last, 5U);
  EXPECT_EQ(sensor.reliability, situ::reliability::best_effort);
  const auto usual = situ::publisher_qos::of(situ::qos_profile::default_);
  EXPECT_EQ(usual.depth, 10U);
  EXPECT_EQ(usual.reliability, situ::reliability::reliable);
  const auto on = node("n");
  auto publisher = on.publisher<Tick>("ticks");
  auto best = on.subscriber<Tick>("ticks", situ::subscriber_qos::of(situ::qos_profile::best_available));
  EXPECT_EQ(best.statistics().publishers, 1U);
}

}  // namespace
}  // namespace bus_test
