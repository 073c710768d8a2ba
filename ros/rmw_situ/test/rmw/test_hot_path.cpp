// What a message costs besides its copies: no system call and no allocation, except one call to wake a
// sleeper.
#include <gtest/gtest.h>
#include <malloc.h>
#include <sys/resource.h>

#include <sensor_msgs/msg/image.hpp>
#include <test_msgs/msg/basic_types.hpp>
#include <test_msgs/srv/basic_types.hpp>

#include "rmw/counting.hpp"
#include "rmw/session.hpp"

namespace {

thread_local size_t made = 0;

}  // namespace

size_t rmw_situ_test::allocations() { return made; }

#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
// In place of those of the C library, for all libraries of this program.
extern "C" {
void* __libc_malloc(size_t size);
void* __libc_calloc(size_t count, size_t size);
void* __libc_realloc(void* memory, size_t size);
void* __libc_memalign(size_t alignment, size_t size);

void* malloc(size_t size) {
  ++made;
  return __libc_malloc(size);
}
void* calloc(size_t count, size_t size) {
  ++made;
  return __libc_calloc(count, size);
}
void* realloc(void* memory, size_t size) {
  ++made;
  return __libc_realloc(memory, size);
}
void* memalign(size_t alignment, size_t size) {
  ++made;
  return __libc_memalign(alignment, size);
}
void* aligned_alloc(size_t alignment, size_t size) {
  ++made;
  return __libc_memalign(alignment, size);
}
int posix_memalign(void** memory, size_t alignment, size_t size) {
  ++made;
  *memory = __libc_memalign(alignment, size);
  return *memory == nullptr ? ENOMEM : 0;
}
}
#endif

using namespace rmw_situ_test;
using sensor_msgs::msg::Image;
using test_msgs::msg::BasicTypes;

namespace {

// Calls a function many times, first to warm up. Then it makes no system call, and so many allocations.
void expect_costs(const std::function<void()>& function, size_t allocations_each) {
  constexpr int rounds = 100;
  size_t made_before = 0, made_after = 0;
  const int calls_made = system_calls_of([&] {
    for (int i = 0; i < rounds; ++i) function();
    made_before = allocations();
    calls = 0;
    for (int i = 0; i < rounds; ++i) function();
    made_after = allocations();
  });
  EXPECT_EQ(calls_made, 0) << "the last is number " << last_call;
  if (counts_allocations) EXPECT_EQ(made_after - made_before, rounds * allocations_each);
}

template <class Message>
const rosidl_message_type_support_t* support() {
  return rosidl_typesupport_cpp::get_message_type_support_handle<Message>();
}

Image make_image() {
  Image image;
  image.header.frame_id = "a frame with a name of more than fifteen characters";
  image.encoding = "rgb8";
  image.data.resize(100'000);
  return image;
}

void take_loan(const Session::Subscription& subscription) {
  void* loan = nullptr;
  bool taken = false;
  check(rmw_take_loaned_message(subscription.get(), &loan, &taken, nullptr));
  if (!taken) throw std::runtime_error("there is no message");
  check(rmw_return_loaned_message_from_subscription(subscription.get(), loan));
}

// A publisher and a subscription, and a wait set that waits for it. The first message looks for a sleeper, so
// it is published before.
template <class Message>
struct Ends {
  Session session;
  Session::Publisher publisher = session.publisher<Message>("/topic");
  Session::Subscription subscription = session.subscription<Message>("/topic");
  rmw_wait_set_t* set = check(rmw_create_wait_set(&session.context, 1));

  explicit Ends(const Message& message) {
    for (int i = 0; i < 100; ++i) {
      check(rmw_publish(publisher.get(), &message, nullptr));
      wait();
      take_loan(subscription);
    }
  }
  ~Ends() { std::ignore = rmw_destroy_wait_set(set); }

  void wait() {
    void* subscribers[] = {subscription->data};
    rmw_subscriptions_t subscriptions = {1, subscribers};
    const rmw_time_t limit = {60, 0};
    check(rmw_wait(&subscriptions, nullptr, nullptr, nullptr, nullptr, set, &limit));
  }
};

TEST(HotPath, PublishingWaitingAndTaking) {
  const BasicTypes message;
  Ends<BasicTypes> ends(message);
  BasicTypes taken;
  expect_costs(
      [&] {
        check(rmw_publish(ends.publisher.get(), &message, nullptr));
        ends.wait();
        if (!take(ends.subscription, taken)) throw std::runtime_error("there is no message");
      },
      0);
}

TEST(HotPath, LoansOfAPlainMessage) {
  Ends<BasicTypes> ends(BasicTypes{});
  expect_costs(
      [&] {
        void* loan = nullptr;
        check(rmw_borrow_loaned_message(ends.publisher.get(), support<BasicTypes>(), &loan));
        check(rmw_publish_loaned_message(ends.publisher.get(), loan, nullptr));
        ends.wait();
        take_loan(ends.subscription);
      },
      0);
}

TEST(HotPath, AnImageThatIsCopied) {
  const Image image = make_image();
  Ends<Image> ends(image);
  Image taken;
  expect_costs(
      [&] {
        check(rmw_publish(ends.publisher.get(), &image, nullptr));
        ends.wait();
        if (!take(ends.subscription, taken)) throw std::runtime_error("there is no message");
      },
      0);
}

TEST(HotPath, AnImageThatIsLentToTheSubscription) {
  const Image image = make_image();
  Ends<Image> ends(image);
  expect_costs(
      [&] {
        check(rmw_publish(ends.publisher.get(), &image, nullptr));
        ends.wait();
        take_loan(ends.subscription);
      },
      0);
}

// A subscription that sleeps goes to sleep once for each message, and publishing makes one call to wake it.
TEST(HotPath, OneSleepAndOneCallToWake) {
  const BasicTypes message;
  Ends<BasicTypes> ends(message);
  // No look before the sleep.
  constexpr int messages = 50;
  std::atomic<int> received = 0;
  long sleeps = 0;
  std::thread receiver([&] {
    BasicTypes taken;
    rusage before, after;
    getrusage(RUSAGE_THREAD, &before);
    while (received < messages) {
      ends.wait();
      while (take(ends.subscription, taken)) ++received;
    }
    getrusage(RUSAGE_THREAD, &after);
    sleeps = after.ru_nvcsw - before.ru_nvcsw;
  });
  for (int i = 0; i < messages; ++i) {
    // Longer than a wait looks before it sleeps.
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
    check(rmw_publish(ends.publisher.get(), &message, nullptr));
  }
  receiver.join();
  // Each second it wakes by itself, and locks may be taken.
  EXPECT_GE(sleeps, messages / 2);
  EXPECT_LE(sleeps, messages + 10);
}

TEST(HotPath, PublishingWakesByOneCall) {
  const BasicTypes message;
  Ends<BasicTypes> ends(message);
  std::atomic<bool> waits = false;
  std::thread receiver([&] {
    waits = true;
    ends.wait();
  });
  while (!waits) std::this_thread::yield();
  std::this_thread::sleep_for(std::chrono::milliseconds(200));
  // The call is counted and not made, so the receiver sleeps on.
  const int first = system_calls_of([&] { check(rmw_publish(ends.publisher.get(), &message, nullptr)); });
  EXPECT_EQ(first, 1);
  EXPECT_EQ(last_call, SYS_futex);
  // It was told already.
  const int second = system_calls_of([&] { check(rmw_publish(ends.publisher.get(), &message, nullptr)); });
  EXPECT_EQ(second, 0);
  receiver.join();
}

}  // namespace
