// Many threads use one context at once: what a race would break, the thread sanitizer sees.
#include <atomic>
#include <std_msgs/msg/string.hpp>
#include <test_msgs/srv/basic_types.hpp>
#include <thread>

#include "support.hpp"

using namespace rmw_testing;
using String = std_msgs::msg::String;
using Service = test_msgs::srv::BasicTypes;

namespace {

constexpr int ROUNDS = 200;

void count(const void* number, size_t events) {
  *static_cast<std::atomic<size_t>*>(const_cast<void*>(number)) += events;
}

TEST(Threads, PublishTakeCallAndLookAtOnce) {
  const Root root;
  Context context;
  Node node(context);
  const auto qos = make_qos(10, RMW_QOS_POLICY_RELIABILITY_RELIABLE);
  const auto publisher = node.publisher<String>("/topic", qos);
  const auto waiting = node.subscription<String>("/topic", qos);
  const auto called = node.subscription<String>("/topic", qos);
  const auto service = node.service<Service>("/service");
  const auto client = node.client<Service>("/service");
  ASSERT_TRUE(publisher && waiting && called && service && client) << take_error();
  std::atomic<size_t> events = 0;
  ASSERT_EQ(rmw_subscription_set_on_new_message_callback(called.get(), count, &events), RMW_RET_OK);

  std::atomic<bool> over = false;
  std::atomic<int> answered = 0;
  std::vector<std::thread> threads;
  const auto publish = [&] {
    String text;
    for (int i = 0; i < ROUNDS; ++i) {
      text.data = "a text that is long enough " + std::to_string(i);
      EXPECT_EQ(rmw_publish(publisher.get(), &text, nullptr), RMW_RET_OK) << take_error();
    }
  };
  threads.emplace_back(publish);
  threads.emplace_back(publish);
  // Two threads wait in sets of their own for the same subscription.
  for (int i = 0; i < 2; ++i) {
    threads.emplace_back([&] {
      Waiter waiter(context);
      waiter.add(waiting);
      while (!over) {
        waiter.wait(std::chrono::milliseconds(1));
        String text;
        bool taken = false;
        EXPECT_EQ(rmw_take(waiting.get(), &text, &taken, nullptr), RMW_RET_OK) << take_error();
        if (taken) EXPECT_TRUE(text.data.starts_with("a text that is long enough ")) << text.data;
      }
    });
  }
  threads.emplace_back([&] {
    Waiter waiter(context);
    waiter.add(service);
    while (!over) {
      waiter.wait(std::chrono::milliseconds(1));
      Service::Request request;
      Service::Response response;
      rmw_service_info_t info;
      bool taken = false;
      EXPECT_EQ(rmw_take_request(service.get(), &info, &request, &taken), RMW_RET_OK) << take_error();
      if (!taken) continue;
      response.int64_value = request.int64_value + 1;
      EXPECT_EQ(rmw_send_response(service.get(), &info.request_id, &response), RMW_RET_OK) << take_error();
    }
  });
  threads.emplace_back([&] {
    Waiter waiter(context);
    waiter.add(client);
    for (int i = 0; i < ROUNDS; ++i) {
      Service::Request request;
      request.int64_value = i;
      int64_t number;
      ASSERT_EQ(rmw_send_request(client.get(), &request, &number), RMW_RET_OK) << take_error();
      const bool came = eventually([&] {
        waiter.wait(std::chrono::milliseconds(1));
        Service::Response response;
        rmw_service_info_t info;
        bool taken = false;
        EXPECT_EQ(rmw_take_response(client.get(), &info, &response, &taken), RMW_RET_OK) << take_error();
        if (taken) EXPECT_EQ(response.int64_value, i + 1);
        return taken;
      });
      ASSERT_TRUE(came);
      ++answered;
    }
  });
  // The graph changes, and is read.
  threads.emplace_back([&] {
    for (int i = 0; i < ROUNDS / 10; ++i) {
      Node guest(context, "guest" + std::to_string(i));
      const auto subscription = guest.subscription<String>("/topic", qos);
      EXPECT_TRUE(subscription) << take_error();
      EXPECT_EQ(guest.names(), (std::vector<std::string>{"guest" + std::to_string(i), "node"}));
      size_t number = 0;
      EXPECT_EQ(rmw_publisher_count_matched_subscriptions(publisher.get(), &number), RMW_RET_OK);
      EXPECT_EQ(number, 3u);
    }
  });
  for (size_t i : {0, 1, 5, 6}) threads[i].join();
  over = true;
  for (auto& thread : threads) {
    if (thread.joinable()) thread.join();
  }
  EXPECT_EQ(answered, ROUNDS);
  EXPECT_GT(events, 0u);
}

}  // namespace
