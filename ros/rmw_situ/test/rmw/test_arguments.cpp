// Null pointers, handles of another middleware, and types that are none: errors, never a crash. The
// conformance suite has more of the first two; here are those that it leaves out.
#include <rmw/dynamic_message_type_support.h>
#include <rmw/get_topic_endpoint_info.h>
#include <rmw/topic_endpoint_info_array.h>

#include <std_msgs/msg/string.hpp>
#include <test_msgs/srv/empty.hpp>

#include "support.hpp"

using namespace rmw_testing;
using String = std_msgs::msg::String;
using test_msgs::srv::Empty;

namespace {

// Sets an identifier that is not this middleware's, for as long as it exists.
template <class Handle>
class Foreign {
 public:
  explicit Foreign(Handle* handle) : handle_(handle), own_(handle->implementation_identifier) {
    handle_->implementation_identifier = "rmw_of_somebody_else";
  }
  ~Foreign() { handle_->implementation_identifier = own_; }

 private:
  Handle* handle_;
  const char* own_;
};

class Arguments : public testing::Test {
 protected:
  void TearDown() override { take_error(); }
  void expect(rmw_ret_t expected, rmw_ret_t got, const char* call) {
    EXPECT_EQ(got, expected) << call;
    if (expected != RMW_RET_OK) EXPECT_NE(take_error(), "") << call;
  }

  const Root root;
  Context context;
  Node node{context};
  const rmw_qos_profile_t qos = rmw_qos_profile_default;
  const Node::Publisher publisher = node.publisher<String>("/topic", qos);
  const Node::Subscription subscription = node.subscription<String>("/topic", qos);
  const Node::Client client = node.client<Empty>("/service");
  const Node::Service service = node.service<Empty>("/service");
  String message;
  bool taken = false;
};

#define EXPECT_RET(expected_, call_) expect(expected_, call_, #call_)
#define EXPECT_NULL(call_)       \
  do {                           \
    EXPECT_EQ(call_, nullptr);   \
    EXPECT_NE(take_error(), ""); \
  } while (0)

TEST_F(Arguments, NullPointers) {
  const auto invalid = RMW_RET_INVALID_ARGUMENT;
  rmw_message_info_t info;
  rmw_service_info_t service_info;
  rmw_request_id_t id = {};
  Empty::Request request;
  int64_t number;
  size_t count;
  rmw_qos_profile_t actual;
  rmw_gid_t gid;
  EXPECT_RET(invalid, rmw_publish(nullptr, &message, nullptr));
  EXPECT_RET(invalid, rmw_publish(publisher.get(), nullptr, nullptr));
  EXPECT_RET(invalid, rmw_publish_serialized_message(publisher.get(), nullptr, nullptr));
  EXPECT_RET(invalid, rmw_take(subscription.get(), nullptr, &taken, nullptr));
  EXPECT_RET(invalid, rmw_take(subscription.get(), &message, nullptr, nullptr));
  EXPECT_RET(invalid, rmw_take_with_info(subscription.get(), nullptr, &taken, &info, nullptr));
  EXPECT_RET(invalid, rmw_take_with_info(subscription.get(), &message, &taken, nullptr, nullptr));
  EXPECT_RET(invalid, rmw_take_serialized_message(subscription.get(), nullptr, &taken, nullptr));
  EXPECT_RET(invalid, rmw_take_loaned_message(subscription.get(), nullptr, &taken, nullptr));
  EXPECT_RET(invalid, rmw_return_loaned_message_from_subscription(subscription.get(), nullptr));
  EXPECT_RET(invalid, rmw_send_request(client.get(), nullptr, &number));
  EXPECT_RET(invalid, rmw_send_request(client.get(), &request, nullptr));
  EXPECT_RET(invalid, rmw_take_response(client.get(), nullptr, &request, &taken));
  EXPECT_RET(invalid, rmw_take_request(service.get(), &service_info, nullptr, &taken));
  EXPECT_RET(invalid, rmw_take_request(service.get(), &service_info, &request, nullptr));
  EXPECT_RET(invalid, rmw_send_response(service.get(), nullptr, &request));
  EXPECT_RET(invalid, rmw_send_response(service.get(), &id, nullptr));
  EXPECT_RET(invalid, rmw_publisher_count_matched_subscriptions(publisher.get(), nullptr));
  EXPECT_RET(invalid, rmw_publisher_get_actual_qos(nullptr, &actual));
  EXPECT_RET(invalid, rmw_subscription_get_actual_qos(subscription.get(), nullptr));
  EXPECT_RET(invalid, rmw_get_gid_for_publisher(publisher.get(), nullptr));
  EXPECT_RET(invalid, rmw_get_gid_for_client(nullptr, &gid));
  EXPECT_RET(invalid, rmw_count_publishers(node.get(), nullptr, &count));
  EXPECT_RET(invalid, rmw_count_services(node.get(), "/service", nullptr));
  EXPECT_RET(invalid, rmw_trigger_guard_condition(nullptr));
  EXPECT_RET(invalid, rmw_wait(nullptr, nullptr, nullptr, nullptr, nullptr, nullptr, nullptr));
  EXPECT_NULL(rmw_create_node(nullptr, "name", "/"));
  EXPECT_NULL(rmw_create_wait_set(nullptr, 1));
  EXPECT_NULL(rmw_create_guard_condition(nullptr));
  EXPECT_NULL(rmw_create_client(node.get(), nullptr, "/service", &qos));
  EXPECT_NULL(rmw_create_service(node.get(), nullptr, "/service", &qos));
}

TEST_F(Arguments, ForeignHandles) {
  const auto incorrect = RMW_RET_INCORRECT_RMW_IMPLEMENTATION;
  int64_t number;
  Empty::Request request;
  rmw_service_info_t info;
  size_t count;
  {
    const Foreign foreign(publisher.get());
    EXPECT_RET(incorrect, rmw_publish(publisher.get(), &message, nullptr));
    EXPECT_RET(incorrect, rmw_publisher_assert_liveliness(publisher.get()));
    EXPECT_RET(incorrect, rmw_destroy_publisher(node.get(), publisher.get()));
  }
  {
    const Foreign foreign(subscription.get());
    EXPECT_RET(incorrect, rmw_take(subscription.get(), &message, &taken, nullptr));
    EXPECT_RET(incorrect, rmw_destroy_subscription(node.get(), subscription.get()));
  }
  {
    const Foreign foreign(client.get());
    EXPECT_RET(incorrect, rmw_send_request(client.get(), &request, &number));
    EXPECT_RET(incorrect, rmw_take_response(client.get(), &info, &request, &taken));
  }
  {
    const Foreign foreign(service.get());
    EXPECT_RET(incorrect, rmw_take_request(service.get(), &info, &request, &taken));
    EXPECT_RET(incorrect, rmw_send_response(service.get(), &info.request_id, &request));
  }
  {
    const Foreign foreign(node.get());
    EXPECT_RET(incorrect, rmw_count_publishers(node.get(), "/topic", &count));
    EXPECT_NULL(node.publisher<String>("/topic", qos));
    EXPECT_NULL(node.service<Empty>("/service"));
    EXPECT_RET(incorrect, rmw_destroy_node(node.get()));
  }
}

TEST_F(Arguments, TypesThatAreNone) {
  // Of no middleware that the process has.
  const rosidl_message_type_support_t unknown = {
      "typesupport_of_nobody", nullptr, get_message_typesupport_handle_function, nullptr, nullptr, nullptr};
  const auto of_publisher = rmw_get_default_publisher_options();
  const auto of_subscription = rmw_get_default_subscription_options();
  EXPECT_EQ(rmw_create_publisher(node.get(), &unknown, "/other", &qos, &of_publisher), nullptr);
  EXPECT_NE(take_error(), "");
  EXPECT_EQ(rmw_create_subscription(node.get(), &unknown, "/other", &qos, &of_subscription), nullptr);
  EXPECT_NE(take_error(), "");
  rmw_serialized_message_t bytes = rmw_get_zero_initialized_serialized_message();
  EXPECT_NE(rmw_serialize(&message, &unknown, &bytes), RMW_RET_OK);
  EXPECT_NE(take_error(), "");
  EXPECT_NE(rmw_deserialize(&bytes, &unknown, &message), RMW_RET_OK);
  EXPECT_NE(take_error(), "");
}

// Bytes that are no message are not taken.
TEST_F(Arguments, SerializedMessagesThatAreNone) {
  for (const std::vector<uint8_t>& wrong :
       {std::vector<uint8_t>{}, {0}, {0, 1, 0}, {0, 1, 0, 0}, {0, 1, 0, 0, 255, 255, 255, 255, 'x'}}) {
    rmw_serialized_message_t bytes = rmw_get_zero_initialized_serialized_message();
    const auto allocator = rcutils_get_default_allocator();
    ASSERT_EQ(rmw_serialized_message_init(&bytes, 16, &allocator), RMW_RET_OK);
    std::copy(wrong.begin(), wrong.end(), bytes.buffer);
    bytes.buffer_length = wrong.size();
    const auto* type = rosidl_typesupport_cpp::get_message_type_support_handle<String>();
    EXPECT_NE(rmw_deserialize(&bytes, type, &message), RMW_RET_OK) << wrong.size();
    take_error();
    // Published or refused; either way no subscription gets it as a message.
    if (rmw_publish_serialized_message(publisher.get(), &bytes, nullptr) == RMW_RET_OK) {
      taken = false;
      EXPECT_FALSE(rmw_take(subscription.get(), &message, &taken, nullptr) == RMW_RET_OK && taken)
          << wrong.size();
    }
    take_error();
    ASSERT_EQ(rmw_serialized_message_fini(&bytes), RMW_RET_OK);
  }
  // And it goes on.
  message.data = "whole";
  ASSERT_EQ(rmw_publish(publisher.get(), &message, nullptr), RMW_RET_OK) << take_error();
  String received;
  ASSERT_TRUE(eventually([&] {
    if (rmw_take(subscription.get(), &received, &taken, nullptr) != RMW_RET_OK) take_error();
    return taken;
  }));
  EXPECT_EQ(received.data, "whole");
}

}  // namespace
