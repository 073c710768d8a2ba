// The C++ part of the hot path does not allocate. (The tests of libsitu cover its part.)
#include <gtest/gtest.h>

#include <array>
#include <chrono>
#include <cstdint>
#include <vector>

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

TEST_F(Bus, batches_allocate_nothing) {
  const auto on = node("n");
  auto publisher = on.publisher<Scan>("scans");
  auto subscriber = on.subscriber<Scan>("scans");
  std::vector<situ::loan<Scan>> loans;
  std::vector<situ::sample<Scan>> samples;
  loans.reserve(8);
  samples.reserve(8);
  const auto round = [&](std::uint32_t id) {
    for (std::uint32_t at = 0; at < 8; ++at) {
      loans.push_back(publisher.loan({.ranges = 100}));
      loans.back()->id = id + at;
    }
    publisher.publish_all(loans);
    std::uint32_t sum = 0;
    const auto add = [&](const situ::sample<Scan>& scan) { sum += scan->id; };
    bool good = subscriber.take_many(4, samples) == 4 && subscriber.take_each(99, add) == 4;
    for (std::uint32_t at = 0; at < 4; ++at) good = good && samples[at]->id == id + at;
    samples.clear();
    return good && loans.empty() && sum == 4 * id + 22;
  };
  for (std::uint32_t id = 0; id < 100; ++id) ASSERT_TRUE(round(id));
  const auto before = situ_test::allocations.load();
  bool all = true;
  for (std::uint32_t id = 0; id < 100; ++id) all = all && round(id);
  EXPECT_EQ(situ_test::allocations.load() - before, 0U);
  EXPECT_TRUE(all);
}

TEST_F(Bus, running_a_callback_allocates_nothing) {
  const auto on = node("n");
  situ::executor executor(on);
  std::uint64_t sum = 0;
  executor.subscribe(on.subscriber<Tick>("ticks"),
                     [&](const situ::sample<Tick>& tick) { sum += tick->count; });
  auto publisher = on.publisher<Tick>("ticks");
  const auto round = [&] {
    publisher.publish(Tick{.count = 1});
    return executor.spin_once(std::chrono::seconds(20));
  };
  for (int warm = 0; warm < 100; ++warm) ASSERT_TRUE(round());
  const auto before = situ_test::allocations.load();
  bool all = true;
  for (int count = 0; count < 100; ++count) all = all && round();
  EXPECT_EQ(situ_test::allocations.load() - before, 0U);
  EXPECT_TRUE(all);
  EXPECT_EQ(sum, 200U);
}

TEST_F(Bus, waiting_for_a_set_allocates_nothing) {
  const auto on = node("n");
  situ::wait_set set(on);
  std::array<situ::ready_source, 4> room;
  const situ::guard_condition condition;
  auto subscriber = on.subscriber<Tick>("ticks");
  auto publisher = on.publisher<Tick>("ticks");
  (void)set.attach(condition);
  (void)set.attach(subscriber);
  const auto round = [&] {
    condition.trigger();
    publisher.publish(Tick{.count = 1});
    const bool both = set.wait(room, std::chrono::seconds(20)).size() == 2;
    const bool none = subscriber.take().has_value() && set.wait(room, std::chrono::microseconds(10)).empty();
    return both && none;
  };
  for (int warm = 0; warm < 10; ++warm) ASSERT_TRUE(round());
  const auto before = situ_test::allocations.load();
  bool all = true;
  for (int count = 0; count < 100; ++count) all = all && round();
  EXPECT_EQ(situ_test::allocations.load() - before, 0U);
  EXPECT_TRUE(all);
}

TEST_F(Bus, calling_and_answering_allocate_nothing) {
  const auto on = node("n");
  auto client = on.client<Tick, Scan>("ticks");
  auto server = on.server<Tick, Scan>("ticks");
  const auto round = [&](std::uint64_t count) {
    auto request = client.loan();
    request->count = count;
    auto call = request.send();
    const auto asked = server.take();
    auto reply = server.loan(*asked, {.ranges = 10});
    reply->id = static_cast<std::uint32_t>((*asked)->count);
    reply.send();
    const auto answer = call.wait();
    return answer->id == count && answer.bulk(&Scan::ranges).size() == 10;
  };
  for (std::uint64_t count = 0; count < 100; ++count) ASSERT_TRUE(round(count));
  const auto before = situ_test::allocations.load();
  bool all = true;
  for (std::uint64_t count = 0; count < 1000; ++count) all = all && round(count);
  EXPECT_EQ(situ_test::allocations.load() - before, 0U);
  EXPECT_TRUE(all);
}

}  // namespace
}  // namespace bus_test
