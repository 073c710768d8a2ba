// Endpoints of several types with the same name: they exist beside each other and do not match, as in DDS.
#include <gtest/gtest.h>
#include <rmw/get_topic_endpoint_info.h>
#include <rmw/get_topic_names_and_types.h>
#include <rmw/names_and_types.h>
#include <rmw/topic_endpoint_info_array.h>

#include <set>
#include <test_msgs/msg/basic_types.hpp>
#include <test_msgs/msg/strings.hpp>
#include <test_msgs/srv/basic_types.hpp>
#include <test_msgs/srv/empty.hpp>

#include "rmw/session.hpp"

using namespace rmw_situ_test;
using test_msgs::msg::BasicTypes;
using test_msgs::msg::Strings;

namespace {

size_t matched(const Session::Publisher& publisher) {
  size_t count = 0;
  check(rmw_publisher_count_matched_subscriptions(publisher.get(), &count));
  return count;
}

size_t matched(const Session::Subscription& subscription) {
  size_t count = 0;
  check(rmw_subscription_count_matched_publishers(subscription.get(), &count));
  return count;
}

// The types of a topic as the graph has them.
std::set<std::string> types_of(const Session& session, const std::string& topic) {
  rcutils_allocator_t allocator = rcutils_get_default_allocator();
  rmw_names_and_types_t all = rmw_get_zero_initialized_names_and_types();
  check(rmw_get_topic_names_and_types(session.node, &allocator, false, &all));
  std::set<std::string> types;
  for (size_t i = 0; i < all.names.size; ++i) {
    const std::string name = all.names.data[i];
    EXPECT_EQ(name.find('@'), std::string::npos) << name;
    if (name != topic) continue;
    for (size_t j = 0; j < all.types[i].size; ++j) types.insert(all.types[i].data[j]);
  }
  check(rmw_names_and_types_fini(&all));
  return types;
}

std::multiset<std::string> types_of_publishers(const Session& session, const char* topic) {
  rcutils_allocator_t allocator = rcutils_get_default_allocator();
  rmw_topic_endpoint_info_array_t infos = rmw_get_zero_initialized_topic_endpoint_info_array();
  check(rmw_get_publishers_info_by_topic(session.node, &allocator, topic, false, &infos));
  std::multiset<std::string> types;
  for (size_t i = 0; i < infos.size; ++i) types.insert(infos.info_array[i].topic_type);
  check(rmw_topic_endpoint_info_array_fini(&infos, &allocator));
  return types;
}

TEST(TypesOfATopic, EachTypeMeetsItsOwn) {
  Session session;
  const auto numbers = session.publisher<BasicTypes>("/shared");
  const auto texts = session.subscription<Strings>("/shared");
  EXPECT_EQ(matched(numbers), 0u);
  EXPECT_EQ(matched(texts), 0u);

  const auto writer = session.publisher<Strings>("/shared");
  const auto reader = session.subscription<BasicTypes>("/shared");
  EXPECT_TRUE(becomes([&] { return matched(numbers) == 1 && matched(reader) == 1; }));
  EXPECT_TRUE(becomes([&] { return matched(writer) == 1 && matched(texts) == 1; }));

  BasicTypes number;
  number.int32_value = 42;
  check(rmw_publish(numbers.get(), &number, nullptr));
  Strings text;
  text.string_value = "forty-two";
  check(rmw_publish(writer.get(), &text, nullptr));
  BasicTypes number_read;
  ASSERT_TRUE(take(reader, number_read));
  EXPECT_EQ(number_read.int32_value, 42);
  EXPECT_FALSE(take(reader, number_read));
  Strings text_read;
  ASSERT_TRUE(take(texts, text_read));
  EXPECT_EQ(text_read.string_value, "forty-two");
  EXPECT_FALSE(take(texts, text_read));
}

TEST(TypesOfATopic, TheGraphHasAllUnderOneName) {
  Session session;
  const auto numbers = session.publisher<BasicTypes>("/shared");
  const auto texts = session.publisher<Strings>("/shared");
  const auto reader = session.subscription<Strings>("/shared");
  EXPECT_EQ(types_of(session, "/shared"),
            (std::set<std::string>{"test_msgs/msg/BasicTypes", "test_msgs/msg/Strings"}));
  EXPECT_EQ(types_of_publishers(session, "/shared"),
            (std::multiset<std::string>{"test_msgs/msg/BasicTypes", "test_msgs/msg/Strings"}));
  size_t count = 0;
  check(rmw_count_publishers(session.node, "/shared", &count));
  EXPECT_EQ(count, 2u);
  check(rmw_count_subscribers(session.node, "/shared", &count));
  EXPECT_EQ(count, 1u);
}

TEST(TypesOfATopic, LaterEndpointsFollowEarlierOnesOfTheirType) {
  Session session;
  auto numbers = session.publisher<BasicTypes>("/shared");
  const auto texts = session.publisher<Strings>("/shared");
  // Now the first type is gone, and the name is free.
  numbers.reset();
  const auto reader = session.subscription<Strings>("/shared");
  EXPECT_TRUE(becomes([&] { return matched(texts) == 1; }));
  const auto again = session.publisher<BasicTypes>("/shared");
  EXPECT_EQ(matched(again), 0u);
  EXPECT_EQ(types_of_publishers(session, "/shared").size(), 2u);
}

TEST(TypesOfATopic, NamesWithoutTheConventionsOfRosToo) {
  Session session;
  rmw_qos_profile_t qos = rmw_qos_profile_default;
  qos.avoid_ros_namespace_conventions = true;
  auto numbers = session.publisher<BasicTypes>("shared", qos);
  const auto texts = session.publisher<Strings>("shared", qos);
  EXPECT_EQ(types_of(session, "shared").size(), 2u);
  numbers.reset();
  const auto reader = session.subscription<Strings>("shared", qos);
  EXPECT_TRUE(becomes([&] { return matched(texts) == 1; }));
}

TEST(TypesOfATopic, ServicesToo) {
  Session session;
  const auto empty = session.service<test_msgs::srv::Empty>("/do");
  const auto caller = session.client<test_msgs::srv::BasicTypes>("/do");
  const auto matching = session.client<test_msgs::srv::Empty>("/do");
  bool available = false;
  EXPECT_TRUE(becomes([&] {
    check(rmw_service_server_is_available(session.node, matching.get(), &available));
    return available;
  }));
  check(rmw_service_server_is_available(session.node, caller.get(), &available));
  EXPECT_FALSE(available);
  const auto basic = session.service<test_msgs::srv::BasicTypes>("/do");
  EXPECT_TRUE(becomes([&] {
    check(rmw_service_server_is_available(session.node, caller.get(), &available));
    return available;
  }));
  size_t count = 0;
  check(rmw_count_services(session.node, "/do", &count));
  EXPECT_EQ(count, 2u);
}

}  // namespace
