// Waiting for one topic, for several, and by descriptor; and waiting with two threads.
#include <gtest/gtest.h>
#include <poll.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <csignal>
#include <cstdint>
#include <thread>

#include "bus/messages.hpp"
#include "bus/scratch.hpp"

namespace bus_test {
namespace {

using namespace std::chrono_literals;
using clock = std::chrono::steady_clock;

bool readable(int fd, std::chrono::milliseconds timeout) {
  pollfd watched{fd, POLLIN, 0};
  return ::poll(&watched, 1, static_cast<int>(timeout.count())) == 1;
}

TEST_F(Bus, waiting_ends_with_a_message_or_with_the_time) {
  const auto on = node("n");
  auto publisher = on.publisher<Tick>("ticks");
  auto subscriber = on.subscriber<Tick>("ticks");
  EXPECT_FALSE(subscriber.wait(0ns));
  EXPECT_FALSE(subscriber.wait(-5ms));
  const auto start = clock::now();
  EXPECT_FALSE(subscriber.wait(20ms));
  EXPECT_GE(clock::now() - start, 20ms);
  EXPECT_FALSE(subscriber.receive(1ms).has_value());

  std::thread later([&publisher] {
    std::this_thread::sleep_for(20ms);
    publisher.publish(Tick{.count = 5});
  });
  const auto sample = subscriber.receive();
  later.join();
  ASSERT_TRUE(sample.has_value());
  EXPECT_EQ((*sample)->count, 5U);
}

situ::interrupter& stop() {
  static situ::interrupter made;
  return made;
}

TEST_F(Bus, a_thread_ends_anothers_waits) {
  const auto on = node("n");
  auto publisher = on.publisher<Tick>("ticks");
  auto tick = on.subscriber<Tick>("ticks");
  auto tock = on.subscriber<Tick>("tocks");
  std::thread later([] {
    std::this_thread::sleep_for(20ms);
    stop().interrupt();
  });
  EXPECT_EQ(tick.wait({.stop = &stop()}), situ::waited::interrupted);
  later.join();
  publisher.publish(Tick{.count = 5});
  EXPECT_EQ(tick.wait({.stop = &stop()}), situ::waited::interrupted);
  EXPECT_EQ(situ::wait_any({.stop = &stop()}, tock, tick), std::nullopt);
  EXPECT_FALSE(tick.receive({.stop = &stop()}).has_value());
  EXPECT_TRUE(stop().interrupted());
  stop().reset();
  EXPECT_EQ(tick.wait({.stop = &stop()}), situ::waited::ready);
  EXPECT_EQ(situ::wait_any({.stop = &stop()}, tock, tick), 1U);
  EXPECT_TRUE(tick.receive({.stop = &stop()}).has_value());
  EXPECT_EQ(tick.wait({.timeout = 1ms, .stop = &stop()}), situ::waited::timed_out);
}

TEST_F(Bus, a_signal_ends_a_wait_by_its_handler_or_on_request) {
  const auto on = node("n");
  auto tick = on.subscriber<Tick>("ticks");
  std::signal(SIGALRM, [](int) { stop().interrupt(); });
  stop().reset();
  ::ualarm(20'000, 0);
  EXPECT_FALSE(tick.receive({.stop = &stop()}).has_value());
  EXPECT_TRUE(stop().interrupted());
  stop().reset();
  // Repeated signals, because a signal just before the wait does not end it.
  ::ualarm(20'000, 20'000);
  EXPECT_EQ(tick.wait({.until_a_signal = true}), situ::waited::interrupted);
  EXPECT_FALSE(tick.wait(60ms)) << "otherwise the wait continues";
  ::ualarm(0, 0);
  std::signal(SIGALRM, SIG_DFL);
  stop().reset();
}

TEST_F(Bus, a_thread_ends_anothers_wait_for_room) {
  const auto on = node("n");
  auto tick = on.subscriber<Tick>("ticks", {.reliability = situ::reliability::reliable});
  auto publisher = on.publisher<Tick>(
      "ticks", {.reliability = situ::reliability::reliable, .depth = 1, .block = situ::forever});
  publisher.set_interrupter(&stop());
  publisher.publish(Tick{});
  std::thread later([] {
    std::this_thread::sleep_for(20ms);
    stop().interrupt();
  });
  EXPECT_EQ(error_of([&] { publisher.publish(Tick{}); }).code(), situ::errc::interrupted);
  later.join();
  stop().reset();
}

TEST_F(Bus, a_wait_for_room_is_listed_with_both_nodes) {
  const auto sends = node("sender"), receives = node("receiver");
  auto tick = receives.subscriber<Tick>("ticks", {.reliability = situ::reliability::reliable});
  auto publisher =
      sends.publisher<Tick>("ticks", {.reliability = situ::reliability::reliable, .depth = 1, .block = 60s});
  publisher.publish(Tick{.count = 1});
  EXPECT_TRUE(situ::waits(root_).empty());
  std::thread sender([&publisher] { publisher.publish(Tick{.count = 2}); });
  const auto look = [this] {
    const auto end = clock::now() + 20s;
    auto found = situ::waits(root_);
    for (; found.empty() && clock::now() < end; found = situ::waits(root_)) std::this_thread::sleep_for(1ms);
    return found;
  };
  const auto first = look();
  std::this_thread::sleep_for(20ms);
  const auto second = look();
  EXPECT_EQ(first.size(), 1U);
  EXPECT_EQ(second.size(), 1U);
  for (const auto& wait : first) {
    EXPECT_EQ(wait.topic, "ticks");
    EXPECT_EQ(wait.publisher, sends.id());
    EXPECT_EQ(wait.subscriber, receives.id());
    EXPECT_GE(second.front().waited - wait.waited, 20ms);
    EXPECT_LT(second.front().waited, 60s);
  }
  for (std::uint64_t count = 1; count <= 2; ++count) {
    const auto taken = tick.receive({.timeout = 20s});
    EXPECT_TRUE(taken.has_value() && (*taken)->count == count);
  }
  sender.join();
  EXPECT_TRUE(situ::waits(root_).empty());
}

TEST_F(Bus, a_wait_with_an_interrupter_ends_with_a_message_or_the_time) {
  const auto on = node("n");
  auto publisher = on.publisher<Tick>("ticks");
  auto tick = on.subscriber<Tick>("ticks");
  auto tock = on.subscriber<Tick>("tocks");
  situ::interrupter never;
  const auto start = clock::now();
  EXPECT_EQ(tick.wait({.timeout = 20ms, .stop = &never}), situ::waited::timed_out);
  EXPECT_EQ(situ::wait_any({.timeout = 20ms, .stop = &never}, tock, tick), std::nullopt);
  EXPECT_FALSE(tick.receive({.timeout = 20ms, .stop = &never}).has_value());
  EXPECT_GE(clock::now() - start, 60ms);
  const auto in_a_while = [&publisher](std::uint64_t count) {
    return std::thread([&publisher, count] {
      std::this_thread::sleep_for(20ms);
      publisher.publish(Tick{.count = count});
    });
  };
  auto later = in_a_while(1);
  const auto taken = tick.receive({.timeout = 20s, .stop = &never});
  later.join();
  EXPECT_TRUE(taken.has_value() && (*taken)->count == 1);
  later = in_a_while(2);
  EXPECT_EQ(situ::wait_any({.timeout = 20s, .stop = &never}, tock, tick), 1U);
  later.join();
  EXPECT_FALSE(never.interrupted());
}

TEST_F(Bus, waiting_for_any_names_the_first_that_is_ready) {
  const auto on = node("n");
  auto ticks = on.publisher<Tick>("ticks");
  auto scans = on.publisher<Scan>("scans");
  auto tick = on.subscriber<Tick>("ticks");
  auto scan = on.subscriber<Scan>("scans");
  EXPECT_EQ(situ::wait_any(1ms, tick, scan), std::nullopt);
  std::thread later([&scans] {
    std::this_thread::sleep_for(10ms);
    scans.loan().publish();
  });
  EXPECT_EQ(situ::wait_any(10s, tick, scan), 1U);
  later.join();
  ticks.publish(Tick{});
  const std::array<situ::any_subscriber*, 2> both{&scan, &tick};
  EXPECT_EQ(situ::wait_any(0ns, both), 0U);
  EXPECT_TRUE(scan.take().has_value());
  EXPECT_EQ(situ::wait_any(0ns, both), 1U);
  const auto nothing = error_of([] { (void)situ::wait_any(0ns, std::span<situ::any_subscriber* const>()); });
  EXPECT_EQ(nothing.code(), situ::errc::invalid_argument);
}

TEST_F(Bus, a_descriptor_is_readable_when_messages_are_available) {
  const auto on = node("n");
  auto publisher = on.publisher<Tick>("ticks");
  auto subscriber = on.subscriber<Tick>("ticks");
  const int fd = subscriber.fd();
  EXPECT_EQ(subscriber.try_fd().value(), fd);
  EXPECT_FALSE(readable(fd, 5ms));
  for (std::uint64_t round = 0; round < 3; ++round) {
    publisher.publish(Tick{.count = round});
    ASSERT_TRUE(readable(fd, 10s));
    subscriber.clear_fd();
    const auto sample = subscriber.take();
    ASSERT_TRUE(sample.has_value());
    EXPECT_EQ((*sample)->count, round);
    EXPECT_FALSE(readable(fd, 0ms));
  }
}

TEST_F(Bus, two_threads_pass_every_message_in_order) {
  constexpr std::uint64_t count = 20000;
  const auto on = node("n");
  auto publisher = on.publisher<Tick>("ticks", {.reliability = situ::reliability::reliable, .depth = 16});
  auto subscriber = on.subscriber<Tick>("ticks", {.reliability = situ::reliability::reliable});
  std::thread sender([publisher = std::move(publisher)]() mutable {
    for (std::uint64_t i = 0; i < count; ++i) {
      auto loan = publisher.loan();
      loan->count = i * 3;
      loan.publish();
    }
  });
  for (std::uint64_t i = 0; i < count; ++i) {
    const auto sample = subscriber.receive(10s);
    ASSERT_TRUE(sample.has_value());
    ASSERT_EQ((*sample)->count, i * 3);
    ASSERT_EQ(sample->sequence(), i);
  }
  sender.join();
  EXPECT_EQ(subscriber.statistics().lost, 0U);
}

}  // namespace
}  // namespace bus_test
