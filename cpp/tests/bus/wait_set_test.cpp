// Wait sets: every kind of source, simulated time, their descriptor, changes while a thread waits.
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <csignal>
#include <cstdint>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include "bus/messages.hpp"
#include "bus/scratch.hpp"

namespace bus_test {
namespace {

using namespace std::chrono_literals;

using ids = std::vector<situ::source_id>;

bool readable(int fd, std::chrono::milliseconds timeout) {
  pollfd watched{fd, POLLIN, 0};
  return ::poll(&watched, 1, static_cast<int>(timeout.count())) == 1;
}

ids wait(situ::wait_set& set, std::chrono::nanoseconds timeout) {
  std::array<situ::ready_source, 64> room;
  ids found;
  for (const auto& source : set.wait(room, timeout)) found.push_back(source.id());
  return found;
}

TEST_F(Bus, a_set_reports_topics_conditions_and_timers) {
  const auto on = node("n");
  situ::wait_set set(on);
  auto subscriber = on.subscriber<Tick>("ticks");
  auto publisher = on.publisher<Tick>("ticks");
  const situ::guard_condition condition;
  const situ::simulated_clock time(100s);
  const situ::timer timer(10s, &time);
  const auto tick = set.attach(subscriber);
  const auto triggered = set.attach(condition);
  const auto due = set.attach(timer);
  EXPECT_EQ(set.size(), 3U);
  EXPECT_EQ(wait(set, 5ms), ids{});
  publisher.publish(Tick{.count = 5});
  EXPECT_EQ(wait(set, 20s), ids{tick});
  EXPECT_EQ(wait(set, 0s), ids{tick});
  EXPECT_EQ((*subscriber.take())->count, 5U);
  EXPECT_EQ(wait(set, 0s), ids{});
  condition.trigger();
  EXPECT_TRUE(condition.is_triggered());
  EXPECT_EQ(wait(set, 0s), ids{triggered});
  EXPECT_EQ(wait(set, 0s), ids{});
  time.advance(9s);
  EXPECT_EQ(wait(set, 0s), ids{});
  EXPECT_EQ(timer.left(), 1s);
  time.set(147s);
  EXPECT_EQ(wait(set, 0s), ids{due});
  const situ::timer_call call = timer.last_call();
  EXPECT_EQ(call.scheduled, 110s);
  EXPECT_EQ(call.reported, 147s);
  EXPECT_EQ(call.missed, 3U);
  EXPECT_EQ(timer.calls(), 1U);
  EXPECT_EQ(timer.missed(), 3U);
  EXPECT_EQ(timer.left(), 3s);
  timer.cancel();
  EXPECT_FALSE(timer.is_running());
  EXPECT_EQ(timer.left(), situ::forever);
  timer.set_period(1s);
  EXPECT_EQ(timer.period(), 1s);
  time.advance(1s);
  EXPECT_EQ(wait(set, 0s), ids{due});
  EXPECT_TRUE(time.is_paused());
  time.run(1000.0);
  EXPECT_EQ(wait(set, 20s), ids{due});
  time.pause();
  EXPECT_TRUE(set.detach(due));
  EXPECT_FALSE(set.detach(due));
  EXPECT_EQ(error_of([&] { (void)set.attach(condition); }).code(), situ::errc::invalid_argument);
  EXPECT_EQ(error_of([] { situ::timer zero(0s); }).code(), situ::errc::invalid_argument);
  EXPECT_FALSE(situ::timer::try_create(0s).has_value());
  // A steady timer ends a wait, too.
  const auto once = situ::timer::once(2ms);
  const auto shot = set.attach(once);
  EXPECT_EQ(wait(set, 20s), ids{shot});
  EXPECT_FALSE(once.is_running());
}

TEST_F(Bus, a_destroyed_subscriber_is_detached) {
  const auto on = node("n");
  situ::wait_set set(on);
  auto publisher = on.publisher<Tick>("ticks");
  {
    auto subscriber = on.subscriber<Tick>("ticks");
    (void)set.attach(subscriber);
    publisher.publish(Tick{.count = 1});
    EXPECT_EQ(wait(set, 0s).size(), 1U);
  }
  EXPECT_EQ(wait(set, 0s).size(), 0U);
  EXPECT_EQ(set.size(), 0U);
}

TEST_F(Bus, a_set_reports_descriptors_and_is_one_itself) {
  const auto on = node("n");
  situ::wait_set set(on);
  std::array<int, 2> pipe{};
  ASSERT_EQ(::pipe(pipe.data()), 0);
  const auto reads = set.attach(pipe[0]);
  auto subscriber = on.subscriber<Tick>("ticks");
  auto publisher = on.publisher<Tick>("ticks");
  const auto tick = set.attach(subscriber);
  const int fd = set.fd();
  EXPECT_EQ(wait(set, 0s), ids{});
  EXPECT_FALSE(readable(fd, 0ms));
  ASSERT_EQ(::write(pipe[1], "x", 1), 1);
  EXPECT_TRUE(readable(fd, 0ms));
  std::array<situ::ready_source, 4> room;
  const auto found = set.wait(room, 20s);
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0].id(), reads);
  EXPECT_TRUE(found[0].readable() && !found[0].writable() && !found[0].closed());
  char byte = 0;
  ASSERT_EQ(::read(pipe[0], &byte, 1), 1);
  EXPECT_EQ(wait(set, 0s), ids{});
  const auto writes = set.attach(pipe[1], situ::io::writable);
  EXPECT_EQ(wait(set, 0s), ids{writes});
  set.detach(writes);
  for (std::uint64_t count = 0; count < 20; ++count) {
    publisher.publish(Tick{.count = count});
    EXPECT_TRUE(readable(fd, 20s));
    EXPECT_EQ(wait(set, 20s), ids{tick});
    EXPECT_EQ((*subscriber.take())->count, count);
    while (!wait(set, 0s).empty()) {
    }
  }
  EXPECT_FALSE(set.try_attach(-1).has_value());
  EXPECT_FALSE(set.try_attach(pipe[0]).has_value());
  set.detach(reads);
  ::close(pipe[0]);
  ::close(pipe[1]);
}

situ::guard_condition& by_signal() {
  static situ::guard_condition made;
  return made;
}

TEST_F(Bus, threads_and_signals_wake_a_set) {
  const auto on = node("n");
  situ::wait_set set(on);
  const auto signalled = set.attach(by_signal());
  std::signal(SIGUSR2, [](int) { by_signal().trigger(); });
  const auto waiting = ::pthread_self();
  std::thread sends([waiting] {
    std::this_thread::sleep_for(10ms);
    ::pthread_kill(waiting, SIGUSR2);
  });
  EXPECT_EQ(wait(set, 20s), ids{signalled});
  sends.join();
  // A source that another thread attaches while this one waits.
  const situ::guard_condition later;
  situ::source_id added{};
  std::thread attaches([&] {
    std::this_thread::sleep_for(10ms);
    set.detach(signalled);
    added = set.attach(later);
    later.trigger();
  });
  const ids found = wait(set, 20s);
  attaches.join();
  EXPECT_EQ(found, ids{added});
}

TEST_F(Bus, ten_thousand_sources) {
  const auto on = node("n");
  situ::wait_set set(on);
  std::vector<situ::guard_condition> conditions(10'000);
  ids attached;
  for (const auto& condition : conditions) attached.push_back(set.attach(condition));
  std::vector<situ::ready_source> room(10'000);
  EXPECT_EQ(set.wait(room, 0s).size(), 0U);
  bool all = true;
  for (const std::size_t index : {9'999U, 0U, 1'234U}) {
    conditions[index].trigger();
    const auto found = set.wait(room, 0s);
    all = all && found.size() == 1 && found[0].id() == attached[index];
  }
  for (const auto& condition : conditions) condition.trigger();
  // The room decides how many a wait returns; the next one continues.
  all = all && set.wait(std::span(room).first(4'000), 0s).size() == 4'000;
  const auto rest = set.wait(room, 0s);
  all = all && rest.size() == 6'000 && rest[0].id() == attached[4'000];
  EXPECT_TRUE(all);
}

TEST_F(Bus, a_forked_childs_copy_of_a_set_does_nothing) {
  const auto on = node("n");
  situ::wait_set set(on);
  const situ::guard_condition condition;
  const auto id = set.attach(condition);
  const int fd = set.fd();
  EXPECT_EQ(wait(set, 0s), ids{});
  const pid_t child = ::fork();
  if (child == 0) {
    condition.trigger();
    std::array<situ::ready_source, 1> room;
    EXPECT_EQ(error_of([&] { (void)set.wait(room, 0s); }).code(), situ::errc::forked);
    EXPECT_EQ(error_of([&] { (void)set.attach(situ::guard_condition()); }).code(), situ::errc::forked);
    EXPECT_FALSE(set.detach(id));
    situ::executor executor(node("child"));
    executor.stop();
    executor.spin();
    ::_exit(HasFailure() ? 1 : 0);
  }
  int status = -1;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0) << "the child failed";
  EXPECT_FALSE(readable(fd, 0ms));
  condition.trigger();
  EXPECT_EQ(wait(set, 0s), ids{id});
}

}  // namespace
}  // namespace bus_test
