// Waiting makes no system call besides the sleep: neither with a wait set that is made anew, nor with one
// that is used again. And it starts no thread.
#include <gtest/gtest.h>
#include <rmw/event.h>

#include <cstdlib>
#include <filesystem>
#include <test_msgs/msg/basic_types.hpp>
#include <test_msgs/srv/empty.hpp>

#include "rmw/counting.hpp"
#include "rmw/session.hpp"

using namespace rmw_situ_test;
using test_msgs::msg::BasicTypes;

namespace {

// Waits that look for long before they sleep: these tests poll more often than a program does.
struct Patient {
  Patient() { setenv("RMW_SITU_SPIN_US", "1000000", 1); }
  ~Patient() { unsetenv("RMW_SITU_SPIN_US"); }
};

// One entity of each kind.
struct Entities {
  const Patient patient;
  Session session;
  Session::Publisher publisher = session.publisher<BasicTypes>("/topic");
  Session::Subscription subscription = session.subscription<BasicTypes>("/topic");
  Session::Service service = session.service<test_msgs::srv::Empty>("/do");
  Session::Client client = session.client<test_msgs::srv::Empty>("/do");
  rmw_guard_condition_t* condition = check(rmw_create_guard_condition(&session.context));
  rmw_event_t event = rmw_get_zero_initialized_event();

  Entities() { check(rmw_subscription_event_init(&event, subscription.get(), RMW_EVENT_MESSAGE_LOST)); }
  ~Entities() {
    std::ignore = rmw_event_fini(&event);
    std::ignore = rmw_destroy_guard_condition(condition);
  }

  rmw_ret_t wait(rmw_wait_set_t* set) {
    const rmw_time_t now = {0, 0};
    return wait(set, now);
  }

  rmw_ret_t wait(rmw_wait_set_t* set, const rmw_time_t& timeout) {
    const auto* const graph = rmw_node_get_graph_guard_condition(session.node);
    void* conditions[] = {condition->data, graph->data};
    void *subscribers[] = {subscription->data}, *services[] = {service->data}, *clients[] = {client->data};
    void* events[] = {&event};
    rmw_guard_conditions_t of_conditions = {2, conditions};
    rmw_subscriptions_t of_subscriptions = {1, subscribers};
    rmw_services_t of_services = {1, services};
    rmw_clients_t of_clients = {1, clients};
    rmw_events_t of_events = {1, events};
    return rmw_wait(&of_subscriptions, &of_conditions, &of_services, &of_clients, &of_events, set, &timeout);
  }

  // Publishes for the first time, and waits until nothing is ready any more: changes of the graph may come
  // late.
  void settle() {
    send_and_take();
    rmw_wait_set_t* const set = check(rmw_create_wait_set(&session.context, 8));
    EXPECT_TRUE(becomes([&] { return wait(set, {0, 200'000'000}) == RMW_RET_TIMEOUT; }));
    check(rmw_destroy_wait_set(set));
    // The first message after a sleep looks for a sleeper.
    send_and_take();
  }

  void send_and_take() {
    BasicTypes message;
    check(rmw_publish(publisher.get(), &message, nullptr));
    EXPECT_TRUE(take(subscription, message));
  }
};

TEST(WaitCosts, ANewWaitSetMakesNoSystemCall) {
  Entities entities;
  entities.settle();
  bool all_right = true;
  const int made = system_calls_of([&] {
    for (int i = 0; i < 10; ++i) {
      rmw_wait_set_t* const set = rmw_create_wait_set(&entities.session.context, 8);
      all_right = all_right && set != nullptr && entities.wait(set) == RMW_RET_TIMEOUT &&
                  rmw_destroy_wait_set(set) == RMW_RET_OK;
    }
  });
  EXPECT_TRUE(all_right);
  // The thread that looks for events drops, once a second, an endpoint that is not waited for at that
  // moment.
  EXPECT_LE(made, 1) << "the last is number " << last_call;
}

TEST(WaitCosts, AWaitSetThatIsUsedAgainMakesNoSystemCall) {
  Entities entities;
  entities.settle();
  rmw_wait_set_t* const set = check(rmw_create_wait_set(&entities.session.context, 8));
  ASSERT_EQ(entities.wait(set), RMW_RET_TIMEOUT);
  bool all_right = true;
  const int made = system_calls_of([&] {
    for (int i = 0; i < 100; ++i) all_right = all_right && entities.wait(set) == RMW_RET_TIMEOUT;
    // What is ready is found without a call too.
    const BasicTypes message;
    all_right = all_right && rmw_publish(entities.publisher.get(), &message, nullptr) == RMW_RET_OK;
    all_right = all_right && entities.wait(set, {60, 0}) == RMW_RET_OK;
    all_right = all_right && rmw_trigger_guard_condition(entities.condition) == RMW_RET_OK;
    all_right = all_right && entities.wait(set, {60, 0}) == RMW_RET_OK;
  });
  EXPECT_TRUE(all_right);
  EXPECT_EQ(made, 0) << "the last is number " << last_call;
  check(rmw_destroy_wait_set(set));
}

size_t threads() {
  size_t number = 0;
  for (const auto& thread : std::filesystem::directory_iterator("/proc/self/task")) number += thread.exists();
  return number;
}

// Threads that are started take the core from the one that waits, for milliseconds on a machine that is busy.
TEST(WaitCosts, TheFirstWaitStartsNoThread) {
  Entities entities;
  rmw_wait_set_t* const set = check(rmw_create_wait_set(&entities.session.context, 8));
  const size_t before = threads();
  std::ignore = entities.wait(set);
  EXPECT_EQ(threads(), before);
  check(rmw_destroy_wait_set(set));
}

// Two wait sets in turn, as programs have them that spin in several places.
TEST(WaitCosts, EntitiesThatMoveFromSetToSetMakeNoSystemCall) {
  Entities entities;
  entities.settle();
  rmw_wait_set_t* const one = check(rmw_create_wait_set(&entities.session.context, 8));
  rmw_wait_set_t* const other = check(rmw_create_wait_set(&entities.session.context, 8));
  bool all_right = true;
  const int made = system_calls_of([&] {
    for (int i = 0; i < 50; ++i) {
      all_right = all_right && entities.wait(one) == RMW_RET_TIMEOUT;
      all_right = all_right && entities.wait(other) == RMW_RET_TIMEOUT;
    }
  });
  EXPECT_TRUE(all_right);
  // The thread that looks for events drops, once a second, an endpoint that is not waited for at that
  // moment.
  EXPECT_LE(made, 1) << "the last is number " << last_call;
  check(rmw_destroy_wait_set(one));
  check(rmw_destroy_wait_set(other));
}

}  // namespace
