// Endpoints and nodes that come and go: nothing is exhausted. ROS_CHURN says how often.
#include <cstdlib>
#include <std_msgs/msg/string.hpp>
#include <test_msgs/srv/empty.hpp>

#include "support.hpp"

using namespace rmw_testing;
using String = std_msgs::msg::String;

namespace {

size_t rounds() {
  const char* const value = std::getenv("ROS_CHURN");
  return value ? std::strtoul(value, nullptr, 10) : 300;
}

struct Usage {
  explicit Usage(const Root& root)
      : memory(root.memory()),
        files(root.files()),
        descriptors(rmw_testing::descriptors()),
        mappings(rmw_testing::mappings()) {}
  uint64_t memory;
  size_t files, descriptors, mappings;
};

// The usage after many rounds is that after some, up to what allocators keep.
template <class Round>
void expect_no_growth(const Root& root, Round&& round) {
  for (int i = 0; i < 50; ++i) round();
  const Usage before(root);
  for (size_t i = 0; i < rounds(); ++i) round();
  const Usage after(root);
  EXPECT_LE(after.memory, before.memory + (256 << 10));
  EXPECT_LE(after.files, before.files + 2);
  // Threads of the library may start late, with a few descriptors. A leak would be one for each round.
  EXPECT_LE(after.descriptors, before.descriptors + 10);
  EXPECT_LE(after.mappings, before.mappings + 20);
}

TEST(Churn, SubscriptionsComeAndGo) {
  const Root root;
  Context context;
  Node node(context);
  const auto qos = make_qos(10, RMW_QOS_POLICY_RELIABILITY_RELIABLE);
  const auto publisher = node.publisher<String>("/topic", qos);
  ASSERT_TRUE(publisher) << take_error();
  String sent, received;
  sent.data = "a text that is longer than a short one";
  expect_no_growth(root, [&] {
    const auto subscription = node.subscription<String>("/topic", qos);
    ASSERT_TRUE(subscription) << take_error();
    ASSERT_EQ(rmw_publish(publisher.get(), &sent, nullptr), RMW_RET_OK) << take_error();
    bool taken = false;
    received.data.clear();
    ASSERT_EQ(rmw_take(subscription.get(), &received, &taken, nullptr), RMW_RET_OK) << take_error();
    ASSERT_TRUE(taken);
    ASSERT_EQ(received.data, sent.data);
  });
}

TEST(Churn, ClientsAndServicesComeAndGo) {
  const Root root;
  Context context;
  Node node(context);
  expect_no_growth(root, [&] {
    const auto service = node.service<test_msgs::srv::Empty>("/empty");
    const auto client = node.client<test_msgs::srv::Empty>("/empty");
    ASSERT_TRUE(service && client) << take_error();
  });
}

TEST(Churn, NodesComeAndGo) {
  const Root root;
  Context context;
  Node observer(context, "observer");
  expect_no_growth(root, [&] {
    Node node(context, "guest");
    const auto publisher = node.publisher<String>("/topic", rmw_qos_profile_default);
    ASSERT_TRUE(publisher) << take_error();
    ASSERT_EQ(observer.names(), (std::vector<std::string>{"guest", "observer"}));
  });
}

// Also the first node of a context, while wait sets of the context exist.
TEST(Churn, NoNodeStaysInTheGraph) {
  const Root root;
  Context others;
  Node observer(others, "observer");
  Context context;
  auto first = std::make_unique<Node>(context, "first");
  auto second = std::make_unique<Node>(context, "second");
  Waiter waiter(context);
  waiter.add(rmw_node_get_graph_guard_condition(observer.get()));
  waiter.wait(std::chrono::milliseconds(1));
  EXPECT_EQ(observer.names(), (std::vector<std::string>{"first", "observer", "second"}));
  first.reset();
  EXPECT_EQ(observer.names(), (std::vector<std::string>{"observer", "second"}));
  second.reset();
  EXPECT_EQ(observer.names(), (std::vector<std::string>{"observer"}));
}

}  // namespace
