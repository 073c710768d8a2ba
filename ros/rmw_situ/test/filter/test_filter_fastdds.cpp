// Filters give the same answers as those of Fast DDS, through rmw_fastrtps_cpp, where both follow the
// standard.
//
// For each expression there is a subscription with it. All messages are published to it, and those that
// arrive are those that pass.
#include <rcutils/allocator.h>
#include <rcutils/strdup.h>
#include <rmw/rmw.h>
#include <rmw/subscription_content_filter_options.h>
#include <unistd.h>

#include <chrono>
#include <functional>
#include <set>
#include <test_msgs/msg/strings.hpp>
#include <test_msgs/msg/unbounded_sequences.hpp>
#include <thread>

#include "filter_testing.hpp"

namespace {

using rmw_situ::ContentFilter;
using rmw_situ::testing::Parameters;
using std::chrono::steady_clock;
using test_msgs::msg::Strings;
using test_msgs::msg::UnboundedSequences;

constexpr auto TIME_LIMIT = std::chrono::seconds(30);
// How long a message that should not pass has time to arrive.
constexpr auto GRACE = std::chrono::milliseconds(20);

bool wait_until(const std::function<bool()>& condition) {
  const auto end = steady_clock::now() + TIME_LIMIT;
  while (!condition()) {
    if (steady_clock::now() > end) return false;
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  return true;
}

class FastDds : public ::testing::Test {
 protected:
  void SetUp() override {
    options_ = rmw_get_zero_initialized_init_options();
    ASSERT_EQ(RMW_RET_OK, rmw_init_options_init(&options_, allocator_));
    options_.enclave = rcutils_strdup("/", allocator_);
    options_.domain_id = 1 + static_cast<size_t>(getpid()) % 100;
    options_.discovery_options.automatic_discovery_range = RMW_AUTOMATIC_DISCOVERY_RANGE_LOCALHOST;
    ASSERT_EQ(RMW_RET_OK, rmw_init(&options_, &context_)) << rmw_get_error_string().str;
    node_ = rmw_create_node(&context_, "filters", "/");
    ASSERT_NE(node_, nullptr) << rmw_get_error_string().str;
  }

  void TearDown() override {
    if (node_ != nullptr) {
      EXPECT_EQ(RMW_RET_OK, rmw_destroy_node(node_));
    }
    EXPECT_EQ(RMW_RET_OK, rmw_shutdown(&context_));
    EXPECT_EQ(RMW_RET_OK, rmw_context_fini(&context_));
    EXPECT_EQ(RMW_RET_OK, rmw_init_options_fini(&options_));
  }

  // The indices of the messages that arrive at a subscription with this filter.
  template <class Message>
  std::set<size_t> arriving(const std::vector<Message>& messages, const std::string& expression,
                            const Parameters& parameters, size_t expected) {
    const auto* support = rosidl_typesupport_cpp::get_message_type_support_handle<Message>();
    std::vector<const char*> texts;
    for (const std::string& parameter : parameters) texts.push_back(parameter.c_str());
    auto filter = rmw_get_zero_initialized_content_filter_options();
    EXPECT_EQ(RMW_RET_OK, rmw_subscription_content_filter_options_init(expression.c_str(), texts.size(),
                                                                       texts.data(), &allocator_, &filter));
    auto of_subscription = rmw_get_default_subscription_options();
    of_subscription.content_filter_options = &filter;
    rmw_qos_profile_t qos = rmw_qos_profile_default;
    qos.history = RMW_QOS_POLICY_HISTORY_KEEP_ALL;
    const std::string topic = "/filtered" + std::to_string(topics_++);
    const auto of_publisher = rmw_get_default_publisher_options();
    auto* publisher = rmw_create_publisher(node_, support, topic.c_str(), &qos, &of_publisher);
    auto* subscription = rmw_create_subscription(node_, support, topic.c_str(), &qos, &of_subscription);
    EXPECT_EQ(RMW_RET_OK, rmw_subscription_content_filter_options_fini(&filter, &allocator_));
    std::set<size_t> arrived;
    if (publisher == nullptr || subscription == nullptr) {
      ADD_FAILURE() << expression << ": " << rmw_get_error_string().str;
      rmw_reset_error();
    } else {
      EXPECT_TRUE(subscription->is_cft_enabled) << expression;
      EXPECT_TRUE(wait_until([&] {
        size_t writers = 0, readers = 0;
        return rmw_publisher_count_matched_subscriptions(publisher, &readers) == RMW_RET_OK &&
               rmw_subscription_count_matched_publishers(subscription, &writers) == RMW_RET_OK &&
               readers == 1 && writers == 1;
      })) << expression;
      for (const Message& message : messages) {
        EXPECT_EQ(RMW_RET_OK, rmw_publish(publisher, &message, nullptr));
      }
      const auto take = [&] {
        Message message;
        bool taken = true;
        while (taken) {
          EXPECT_EQ(RMW_RET_OK, rmw_take(subscription, &message, &taken, nullptr));
          if (taken) arrived.insert(static_cast<size_t>(index_of(message)));
        }
        return arrived.size() >= expected;
      };
      wait_until(take);
      std::this_thread::sleep_for(GRACE);
      take();
    }
    if (subscription != nullptr) {
      EXPECT_EQ(RMW_RET_OK, rmw_destroy_subscription(node_, subscription));
    }
    if (publisher != nullptr) {
      EXPECT_EQ(RMW_RET_OK, rmw_destroy_publisher(node_, publisher));
    }
    return arrived;
  }

  template <class Message>
  void compare(const std::vector<Message>& messages, const std::string& expression,
               const Parameters& parameters = {}) {
    const auto filter = ContentFilter::make(
        rosidl_typesupport_cpp::get_message_type_support_handle<Message>(), expression, parameters);
    ASSERT_TRUE(filter) << rmw_get_error_string().str;
    std::set<size_t> passing;
    for (const Message& message : messages) {
      if (filter->passes(&message)) passing.insert(static_cast<size_t>(index_of(message)));
    }
    EXPECT_EQ(arriving(messages, expression, parameters, passing.size()), passing) << expression;
  }

  static int64_t index_of(const UnboundedSequences& message) { return message.alignment_check; }
  static int64_t index_of(const Strings& message) { return std::stoll(message.string_value_default1); }

 private:
  rcutils_allocator_t allocator_ = rcutils_get_default_allocator();
  rmw_init_options_t options_;
  rmw_context_t context_ = rmw_get_zero_initialized_context();
  rmw_node_t* node_ = nullptr;
  size_t topics_ = 0;
};

TEST_F(FastDds, NumbersPassAlike) {
  std::vector<UnboundedSequences> messages;
  for (int i = -3; i <= 3; ++i) {
    UnboundedSequences message;
    message.bool_values = {i > 0};
    message.byte_values = {static_cast<uint8_t>(i + 3)};
    message.float32_values = {static_cast<float>(i) * 0.1F};
    message.float64_values = {i * 0.1};
    message.int8_values = {static_cast<int8_t>(i)};
    message.int32_values = {i};
    message.uint32_values = {static_cast<uint32_t>(i + 3)};
    message.int64_values = {i * (int64_t{1} << 40)};
    message.uint64_values = {static_cast<uint64_t>(i)};
    if (i == 0) message.int16_values = {7};
    message.alignment_check = i + 3;
    messages.push_back(message);
  }
  for (const std::string expression :
       {"int32_values[0] = 1",
        "int32_values[0] <> 1",
        "int32_values[0] != 1",
        "int32_values[0] < 1",
        "int32_values[0] <= 1",
        "int32_values[0] > 1",
        "int32_values[0] >= 1",
        "1 > int32_values[0]",
        "int32_values[0] BETWEEN -1 AND 2",
        "int32_values[0] NOT BETWEEN -1 AND 2",
        "int32_values[0] < 0.5",
        "float32_values[0] = 0.1",
        "float64_values[0] = 0.1",
        "float64_values[0] BETWEEN -0.15 AND 1.5e-1",
        "bool_values[0] = TRUE",
        "bool_values[0] = false",
        "bool_values[0] = 1",
        "byte_values[0] >= 4",
        "int8_values[0] = -2",
        "uint32_values[0] = 0x5",
        "int64_values[0] > 1099511627776",
        "int64_values[0] >= -0x20000000000",
        "uint64_values[0] > 9223372036854775807",
        "int8_values[0] < uint32_values[0]",
        "int8_values[0] = uint64_values[0]",
        "int32_values[0] = int8_values[0]",
        "NOT int32_values[0] = 1",
        "NOT (int32_values[0] = 1 OR int32_values[0] = 2)",
        "int16_values[0] = 7",
        "int16_values[0] <> 7",
        "int32_values[0] > 0 AND uint32_values[0] < 6",
        "int32_values[0] < 0 OR int32_values[0] > 1",
        "(int32_values[0] < 0 OR int32_values[0] > 1) AND (uint32_values[0] < 2 OR uint32_values[0] = 5)",
        "((int32_values[0] = 0))"}) {
    compare(messages, expression);
  }
  compare(messages, "int32_values[0] BETWEEN %0 AND %1", {"-2", "0"});
  compare(messages, "float32_values[0] = %1 OR bool_values[0] = %0", {"TRUE", "-0.2"});
}

TEST_F(FastDds, StringsPassAlike) {
  std::vector<Strings> messages;
  const std::vector<std::string> values = {"",  "a",           "ab",      "abc",  "aXc",
                                           "b", "camera_left", "lidar42", "it is"};
  for (size_t i = 0; i < values.size(); ++i) {
    Strings message;
    message.string_value = values[i];
    message.bounded_string_value = i % 2 == 0 ? values[i] : "b";
    message.string_value_default1 = std::to_string(i);
    messages.push_back(message);
  }
  for (const std::string expression : {"string_value = 'abc'",
                                       "string_value = `abc'",
                                       "string_value <> 'abc'",
                                       "string_value < 'abc'",
                                       "string_value >= 'b'",
                                       "string_value = 'a'",
                                       "string_value BETWEEN 'ab' AND 'b'",
                                       "string_value LIKE 'a%'",
                                       "string_value LIKE 'a_c'",
                                       "string_value LIKE 'a*c'",
                                       "string_value LIKE 'a?'",
                                       "string_value LIKE '%'",
                                       "string_value like 'camera%'",
                                       "string_value LIKE '%left'",
                                       "string_value MATCH '[a-z]+[0-9]{2}'",
                                       "string_value MATCH 'a(b|X)?c'",
                                       "string_value match '(ab?)+c*'",
                                       "string_value MATCH '.*'",
                                       "string_value = bounded_string_value",
                                       "string_value < bounded_string_value",
                                       "NOT string_value LIKE 'a%'"}) {
    compare(messages, expression);
  }
  compare(messages, "string_value = %0 OR string_value LIKE %1", {"'it is'", "'lid%'"});
}

}  // namespace
