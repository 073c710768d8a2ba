// Callbacks for new messages: which locks they may wait for, and what they may do.
#include <gtest/gtest.h>

#include <atomic>
#include <condition_variable>
#include <functional>
#include <mutex>
#include <std_msgs/msg/string.hpp>
#include <thread>
#include <vector>

#include "rmw/session.hpp"

using namespace rmw_situ_test;
using std_msgs::msg::String;

namespace {

// Calls a std::function.
void call(const void* function, size_t number) {
  (*static_cast<const std::function<void(size_t)>*>(function))(number);
}

void set(const Session::Subscription& subscription, const std::function<void(size_t)>* function) {
  check(
      rmw_subscription_set_on_new_message_callback(subscription.get(), function ? call : nullptr, function));
}

void publish(const Session::Publisher& publisher) {
  const String text;
  check(rmw_publish(publisher.get(), &text, nullptr));
}

class Signal {
 public:
  void set() {
    const std::lock_guard lock(mutex_);
    is_set_ = true;
    changed_.notify_all();
  }
  bool wait() {
    std::unique_lock lock(mutex_);
    return changed_.wait_for(lock, std::chrono::seconds(20), [&] { return is_set_; });
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  bool is_set_ = false;
};

// As with a program's lock that is held while a callback is set, and that another callback takes.
TEST(Callbacks, OneThatTakesLongDelaysNoOtherEndpoint) {
  Session session;
  const auto publisher = session.publisher<String>("/slow"),
             other_publisher = session.publisher<String>("/other");
  const auto slow = session.subscription<String>("/slow");
  auto other = session.subscription<String>("/other");
  Signal runs, goes_on;
  bool was_in_time = false;
  const std::function<void(size_t)> waiting = [&](size_t) {
    runs.set();
    was_in_time = goes_on.wait();
  };
  Signal called;
  const std::function<void(size_t)> signalling = [&](size_t) { called.set(); };
  set(slow, &waiting);
  publish(publisher);
  ASSERT_TRUE(runs.wait());
  // While it runs, others are set, called for what is there already, removed and destroyed.
  publish(other_publisher);
  set(other, &signalling);
  EXPECT_TRUE(called.wait());
  set(other, nullptr);
  other.reset();
  goes_on.set();
  // Waits for the callback.
  set(slow, nullptr);
  EXPECT_TRUE(was_in_time);
}

// After it was removed, it is not called any more: a callback that runs is waited for.
TEST(Callbacks, ARemovedOneHasEnded) {
  Session session;
  const auto publisher = session.publisher<String>("/text");
  for (int i = 0; i < 200; ++i) {
    auto subscription = session.subscription<String>("/text");
    auto alive = std::make_unique<std::atomic<bool>>(true);
    const std::function<void(size_t)> function = [&](size_t) { EXPECT_TRUE(*alive); };
    set(subscription, &function);
    publish(publisher);
    if (i % 2 == 0) {
      set(subscription, nullptr);
    } else {
      subscription.reset();
    }
    *alive = false;
  }
}

// A callback may replace itself, and destroy what it belongs to.
TEST(Callbacks, OneMayEndItself) {
  Session session;
  const auto publisher = session.publisher<String>("/text");
  auto replacing = session.subscription<String>("/text"), destroying = session.subscription<String>("/text");
  Signal replaced, destroyed;
  const std::function<void(size_t)> second = [&](size_t) { replaced.set(); };
  const std::function<void(size_t)> first = [&](size_t) { set(replacing, &second); };
  const std::function<void(size_t)> last = [&](size_t) {
    destroying.reset();
    destroyed.set();
  };
  set(replacing, &first);
  set(destroying, &last);
  publish(publisher);
  EXPECT_TRUE(destroyed.wait());
  // What the first was told of is told to no other one.
  publish(publisher);
  EXPECT_TRUE(replaced.wait());
}

// Two threads that set the callback of the same subscription at once leave one of them.
TEST(Callbacks, TheLastOfManyIsCalled) {
  Session session;
  const auto publisher = session.publisher<String>("/text");
  const auto subscription = session.subscription<String>("/text");
  std::atomic<int> calls = 0;
  const std::function<void(size_t)> function = [&](size_t) { ++calls; };
  std::vector<std::thread> threads;
  for (int i = 0; i < 2; ++i) {
    threads.emplace_back([&] {
      for (int j = 0; j < 300; ++j) set(subscription, j % 3 == 2 ? nullptr : &function);
      set(subscription, &function);
    });
  }
  for (std::thread& thread : threads) thread.join();
  calls = 0;
  publish(publisher);
  EXPECT_TRUE(becomes([&] { return calls != 0; }));
  set(subscription, nullptr);
  const int before = calls;
  publish(publisher);
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  EXPECT_EQ(calls, before);
}

}  // namespace
