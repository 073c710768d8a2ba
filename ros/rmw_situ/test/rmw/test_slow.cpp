// Subscriptions that are slower than the publisher.
#include <std_msgs/msg/int32.hpp>

#include "support.hpp"

using namespace rmw_testing;
using std_msgs::msg::Int32;
using Clock = std::chrono::steady_clock;

namespace {

std::vector<int> take_all(const Node::Subscription& subscription) {
  std::vector<int> numbers;
  for (bool taken = true; taken;) {
    Int32 message;
    EXPECT_EQ(rmw_take(subscription.get(), &message, &taken, nullptr), RMW_RET_OK) << take_error();
    if (taken) numbers.push_back(message.data);
  }
  return numbers;
}

// The publisher never waits for them, and each finds the last of its depth.
TEST(Slow, KeepLastFindsTheLast) {
  const Root root;
  Context context;
  Node node(context);
  for (const auto reliability :
       {RMW_QOS_POLICY_RELIABILITY_BEST_EFFORT, RMW_QOS_POLICY_RELIABILITY_RELIABLE}) {
    const auto publisher =
        node.publisher<Int32>("/numbers", make_qos(10, RMW_QOS_POLICY_RELIABILITY_RELIABLE));
    const auto shallow = node.subscription<Int32>("/numbers", make_qos(1, reliability));
    const auto deep = node.subscription<Int32>("/numbers", make_qos(10, reliability));
    ASSERT_TRUE(publisher && shallow && deep) << take_error();
    Int32 message;
    const auto began = Clock::now();
    for (message.data = 0; message.data < 1000; ++message.data) {
      ASSERT_EQ(rmw_publish(publisher.get(), &message, nullptr), RMW_RET_OK) << take_error();
    }
    // If each waited for max_blocking_time, they would take 100 s.
    EXPECT_LT(Clock::now() - began, std::chrono::seconds(50));
    EXPECT_EQ(take_all(shallow), (std::vector<int>{999}));
    EXPECT_EQ(take_all(deep), (std::vector<int>{990, 991, 992, 993, 994, 995, 996, 997, 998, 999}));
  }
}

// A reliable publisher with all its history waits for DDS's max_blocking_time, 100 ms, and then fails. It
// goes on when there is room.
TEST(Slow, KeepAllBlocks) {
  const Root root;
  Context context;
  Node node(context);
  const auto all = make_qos(0, RMW_QOS_POLICY_RELIABILITY_RELIABLE, RMW_QOS_POLICY_HISTORY_KEEP_ALL);
  const auto publisher = node.publisher<Int32>("/numbers", all);
  const auto subscription = node.subscription<Int32>("/numbers", all);
  ASSERT_TRUE(publisher && subscription) << take_error();
  Int32 message;
  message.data = 0;
  rmw_ret_t ret = RMW_RET_OK;
  std::chrono::nanoseconds last{};
  while (message.data < 20'000) {
    const auto began = Clock::now();
    ret = rmw_publish(publisher.get(), &message, nullptr);
    last = Clock::now() - began;
    if (ret != RMW_RET_OK) break;
    ++message.data;
  }
  EXPECT_EQ(ret, RMW_RET_TIMEOUT);
  EXPECT_NE(take_error().find("numbers"), std::string::npos);
  EXPECT_GE(last, std::chrono::milliseconds(100));
  const int fit = message.data;
  EXPECT_GE(fit, 5000);

  // None of those that were accepted is lost.
  std::vector<int> received = take_all(subscription);
  ASSERT_EQ(rmw_publish(publisher.get(), &message, nullptr), RMW_RET_OK) << take_error();
  for (const int number : take_all(subscription)) received.push_back(number);
  ASSERT_EQ(received.size(), size_t(fit) + 1);
  for (int i = 0; i <= fit; ++i) ASSERT_EQ(received[size_t(i)], i);
}

}  // namespace
