// Wait sets that are polled: a thread that finds nothing, again and again, leaves its core to others.
#include <gtest/gtest.h>
#include <sys/resource.h>

#include <atomic>
#include <chrono>
#include <thread>

#include "rmw/session.hpp"
#include "wait/polling.hpp"

using namespace rmw_situ_test;
using rmw_situ::Polling;

namespace {

constexpr uint64_t us = 1'000;

TEST(Polling, SleepsAfterSomeTimeOfPolls) {
  Polling polling(50 * us);
  uint64_t now = 7'000'000;
  for (int i = 0; i <= 50; ++i, now += us) EXPECT_EQ(polling.begin(now), 0u) << i;
  EXPECT_EQ(polling.begin(now), Polling::sleep_ns);
  // It was not over: nothing else has ended it.
  EXPECT_EQ(polling.begin(now + us), Polling::sleep_ns);
}

TEST(Polling, BeginsAnewAfterASleep) {
  Polling polling(50 * us);
  EXPECT_EQ(polling.begin(1'000 * us), 0u);
  for (uint64_t now = 1'001 * us; now <= 1'060 * us; now += us) std::ignore = polling.begin(now);
  EXPECT_EQ(polling.begin(1'061 * us), Polling::sleep_ns);
  polling.end();
  EXPECT_EQ(polling.begin(1'062 * us), 0u);
  EXPECT_EQ(polling.begin(1'100 * us), 0u);
}

TEST(Polling, APauseIsNoPolling) {
  Polling polling(50 * us);
  for (uint64_t now = 0; now < 1'000'000 * us; now += 60 * us) ASSERT_EQ(polling.begin(now), 0u);
}

// RMW_SITU_SPIN_US=0 says that waits sleep at once, and not that polls do.
TEST(Polling, HasSomePatienceAlways) {
  Polling polling(0);
  EXPECT_EQ(polling.begin(1'000 * us), 0u);
  EXPECT_EQ(polling.begin(1'010 * us), 0u);
  EXPECT_EQ(polling.begin(1'030 * us), Polling::sleep_ns);
}

struct PolledSet {
  Session session;
  rmw_guard_condition_t* condition = check(rmw_create_guard_condition(&session.context));
  rmw_wait_set_t* set = check(rmw_create_wait_set(&session.context, 1));

  ~PolledSet() {
    std::ignore = rmw_destroy_wait_set(set);
    std::ignore = rmw_destroy_guard_condition(condition);
  }

  rmw_ret_t poll() {
    void* conditions[] = {condition->data};
    rmw_guard_conditions_t of_conditions = {1, conditions};
    const rmw_time_t none = {0, 0};
    return rmw_wait(nullptr, &of_conditions, nullptr, nullptr, nullptr, set, &none);
  }
};

TEST(Polling, AThreadThatPollsInVainGivesUpItsCore) {
  PolledSet polled;
  const auto switches = [] {
    rusage usage;
    getrusage(RUSAGE_THREAD, &usage);
    return usage.ru_nvcsw;
  };
  const auto before = switches();
  int polls = 0;
  for (; polls < 1'000'000 && switches() == before; ++polls) ASSERT_EQ(polled.poll(), RMW_RET_TIMEOUT);
  EXPECT_GT(switches(), before) << "it kept its core for " << polls << " polls";
}

// A trigger is found, whether the poll sleeps at that moment or not, and once.
TEST(Polling, ATriggerIsFoundOnce) {
  PolledSet polled;
  std::atomic<int> triggers = 0, found = 0;
  std::thread other([&] {
    while (triggers < 200) {
      if (found == triggers) {
        ++triggers;
        EXPECT_EQ(rmw_trigger_guard_condition(polled.condition), RMW_RET_OK);
      }
      std::this_thread::sleep_for(std::chrono::microseconds(20));
    }
  });
  const bool all = becomes([&] {
    for (int i = 0; i < 10'000 && found < 200; ++i) {
      if (polled.poll() == RMW_RET_OK) ++found;
    }
    return found == 200;
  });
  EXPECT_TRUE(all);
  if (!all) triggers = 200;
  other.join();
  EXPECT_EQ(polled.poll(), RMW_RET_TIMEOUT);
}

}  // namespace
