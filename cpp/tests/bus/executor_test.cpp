// Executors: callbacks, groups, errors, stopping, on one thread and several.
#include <gtest/gtest.h>
#include <poll.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <chrono>
#include <csignal>
#include <cstdint>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "bus/messages.hpp"
#include "bus/scratch.hpp"

namespace bus_test {
namespace {

using namespace std::chrono_literals;

TEST_F(Bus, callbacks_of_every_kind_run) {
  const auto on = node("n");
  situ::executor executor(on);
  std::vector<std::string> told;
  auto publisher = on.publisher<Tick>("ticks");
  executor.subscribe(on.subscriber<Tick>("ticks"),
                     [&](situ::sample<Tick> tick) { told.push_back("tick " + std::to_string(tick->count)); });
  const situ::simulated_clock time;
  executor.add(situ::timer(1s, &time),
               [&](situ::timer_call call) { told.push_back("timer missed " + std::to_string(call.missed)); });
  const situ::guard_condition condition;
  const auto triggered = executor.add(condition, [&] { told.push_back("condition"); });
  std::array<int, 2> pipe{};
  ASSERT_EQ(::pipe(pipe.data()), 0);
  executor.add(pipe[0], situ::io::readable, [&](situ::ready_source source) {
    char byte = 0;
    EXPECT_TRUE(source.readable());
    EXPECT_EQ(::read(pipe[0], &byte, 1), 1);
    told.push_back(std::string("read ") + byte);
  });
  EXPECT_EQ(executor.spin_some(), 0U);
  EXPECT_FALSE(executor.spin_once(1ms));
  publisher.publish(Tick{.count = 1});
  EXPECT_TRUE(executor.spin_once(20s));
  time.set(3s);
  EXPECT_TRUE(executor.spin_once(20s));
  condition.trigger();
  EXPECT_TRUE(executor.spin_once(20s));
  ASSERT_EQ(::write(pipe[1], "x", 1), 1);
  EXPECT_TRUE(executor.spin_once(20s));
  EXPECT_EQ(told, (std::vector<std::string>{"tick 1", "timer missed 2", "condition", "read x"}));
  EXPECT_TRUE(executor.remove(triggered));
  EXPECT_FALSE(executor.remove(triggered));
  ::close(pipe[0]);
  ::close(pipe[1]);
}

TEST_F(Bus, an_executor_owns_its_callbacks) {
  auto owned = std::make_shared<int>(5);
  {
    const auto on = node("n");
    situ::executor first(on);
    const situ::guard_condition condition;
    const auto id = first.add(condition, [owned] {});
    first.add(situ::timer(1s), [owned](situ::timer_call) {});
    EXPECT_EQ(owned.use_count(), 3);
    first.remove(id);
    EXPECT_EQ(owned.use_count(), 2);
    // One that cannot be added is released as well.
    const situ::guard_condition elsewhere;
    situ::wait_set set(on);
    (void)set.attach(elsewhere);
    EXPECT_EQ(error_of([&] { first.add(elsewhere, [owned] {}); }).code(), situ::errc::invalid_argument);
    EXPECT_EQ(owned.use_count(), 2);
    situ::executor moved(std::move(first));
    EXPECT_EQ(moved.spin_some(), 0U);
  }
  EXPECT_EQ(owned.use_count(), 1);
}

TEST_F(Bus, exceptions_and_errors_end_a_spin_or_go_to_the_handler) {
  const auto on = node("n");
  situ::executor executor(on);
  auto publisher = on.publisher<Tick>("ticks");
  const auto id = executor.subscribe(on.subscriber<Tick>("ticks"), [](const situ::sample<Tick>& tick) {
    if (tick->count > 10) throw std::out_of_range("tick " + std::to_string(tick->count));
  });
  for (const std::size_t threads : {1U, 3U}) {
    publisher.publish(Tick{.count = 11});
    try {
      executor.spin(threads);
      FAIL() << "the exception was swallowed";
    } catch (const std::out_of_range& thrown) {
      EXPECT_STREQ(thrown.what(), "tick 11");
    }
  }
  publisher.publish(Tick{.count = 12});
  const auto ended = executor.try_spin();
  ASSERT_FALSE(ended.has_value());
  EXPECT_EQ(ended.error().code(), situ::errc::internal);
  EXPECT_EQ(ended.error().message(), "tick 12");
  const situ::guard_condition condition;
  executor.add(condition, []() -> situ::result<void, situ::error> {
    return situ::failure{situ::error(situ::errc::full, "no room")};
  });
  std::vector<std::string> told;
  executor.on_error([&](situ::source_id from, const situ::error& what) {
    told.push_back((from == id ? "ticks: " : "condition: ") + what.message());
    return what.code() != situ::errc::full;
  });
  publisher.publish(Tick{.count = 13});
  publisher.publish(Tick{.count = 1});
  while (executor.spin_once(0s)) {
  }
  condition.trigger();
  EXPECT_EQ(error_of([&] { executor.spin(); }).code(), situ::errc::full);
  EXPECT_EQ(told, (std::vector<std::string>{"ticks: tick 13", "condition: no room"}));
}

situ::executor*& spinning() {
  static situ::executor* executor = nullptr;
  return executor;
}

TEST_F(Bus, an_executor_is_stopped_by_callbacks_threads_and_signals) {
  const auto on = node("n");
  situ::executor executor(on);
  const situ::guard_condition condition;
  executor.add(condition, [&] {
    EXPECT_EQ(error_of([&] { executor.spin(); }).code(), situ::errc::busy);
    executor.stop();
  });
  for (const std::size_t threads : {1U, 4U}) {
    condition.trigger();
    executor.spin(threads);
    executor.stop();
    executor.spin(threads);
    std::thread stops([&] {
      std::this_thread::sleep_for(10ms);
      executor.stop();
    });
    executor.spin(threads);
    stops.join();
  }
  spinning() = &executor;
  std::signal(SIGUSR1, [](int) { spinning()->stop(); });
  const auto waiting = ::pthread_self();
  std::thread sends([waiting] {
    std::this_thread::sleep_for(10ms);
    ::pthread_kill(waiting, SIGUSR1);
  });
  executor.spin(2);
  sends.join();
  EXPECT_EQ(error_of([&] { executor.spin(0); }).code(), situ::errc::invalid_argument);
}

/// Runs callbacks of a group on four threads. Returns how many ran at once.
int most_at_once(situ::executor& executor, const situ::callback_group& group) {
  std::array<situ::guard_condition, 8> conditions;
  std::atomic<int> running{0};
  std::atomic<int> most{0};
  std::atomic<int> done{0};
  std::vector<situ::source_id> added;
  for (const auto& condition : conditions) {
    added.push_back(executor.add(group, condition, [&] {
      const int now = ++running;
      for (int known = most; known < now && !most.compare_exchange_weak(known, now);) {
      }
      std::this_thread::sleep_for(10ms);
      --running;
      if (++done == 8) executor.stop();
    }));
    condition.trigger();
  }
  executor.spin(4);
  for (const auto id : added) executor.remove(id);
  return most;
}

TEST_F(Bus, groups_decide_which_callbacks_run_at_once) {
  situ::executor executor(node("n"));
  EXPECT_EQ(most_at_once(executor, situ::callback_group::mutually_exclusive()), 1);
  EXPECT_GT(most_at_once(executor, situ::callback_group::reentrant()), 1);
}

TEST_F(Bus, a_parallel_callback_gets_each_message_once) {
  const auto on = node("n");
  situ::executor executor(on);
  auto publisher = on.publisher<Tick>("ticks", {.depth = 64});
  std::atomic<std::uint64_t> sum{0};
  std::atomic<int> count{0};
  executor.subscribe_parallel(on.subscriber<Tick>("ticks"), [&](const situ::sample<Tick>& tick) {
    sum += tick->count;
    std::this_thread::sleep_for(1ms);
    if (++count == 40) executor.stop();
  });
  for (std::uint64_t tick = 1; tick <= 40; ++tick) publisher.publish(Tick{.count = tick});
  executor.spin(4);
  EXPECT_EQ(sum.load(), 820U);
}

TEST_F(Bus, no_callback_starves_another) {
  const auto on = node("n");
  situ::executor executor(on);
  std::array<int, 3> counts{};
  std::vector<std::unique_ptr<situ::publisher<Tick>>> publishers;
  for (std::size_t index = 0; index < 2; ++index) {
    const std::string topic = "ticks/" + std::to_string(index);
    auto* publisher =
        publishers.emplace_back(std::make_unique<situ::publisher<Tick>>(on.publisher<Tick>(topic))).get();
    // The topic always has messages.
    executor.subscribe(on.subscriber<Tick>(topic), [&counts, index, publisher](situ::sample<Tick>) {
      ++counts[index];
      publisher->publish(Tick{.count = 1});
    });
    for (int first = 0; first < 3; ++first) publisher->publish(Tick{.count = 1});
  }
  const situ::guard_condition condition;
  condition.trigger();
  executor.add(condition, [&] {
    if (++counts[2] == 500) executor.stop();
    condition.trigger();
  });
  executor.spin();
  for (const int count : counts) EXPECT_NEAR(count, 500, 5);
}

TEST_F(Bus, another_event_loop_runs_an_executor) {
  const auto on = node("n");
  situ::executor executor(on);
  std::uint64_t last = 0;
  executor.subscribe(on.subscriber<Tick>("ticks"), [&](situ::sample<Tick> tick) { last = tick->count; });
  auto publisher = on.publisher<Tick>("ticks");
  pollfd watched{executor.fd(), POLLIN, 0};
  while (executor.spin_some() > 0) {
  }
  for (std::uint64_t count = 1; count <= 20; ++count) {
    publisher.publish(Tick{.count = count});
    while (last != count) {
      ASSERT_EQ(::poll(&watched, 1, 20'000), 1);
      while (executor.spin_some() > 0) {
      }
    }
  }
}

}  // namespace
}  // namespace bus_test
