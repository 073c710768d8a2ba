// What programs of Situ that are none of ROS, and hostile ones, can put on the topics of ROS.
#include <gtest/gtest.h>
#include <rmw/get_topic_endpoint_info.h>
#include <rmw/topic_endpoint_info_array.h>
#include <unistd.h>

#include <cstring>
#include <set>
#include <std_msgs/msg/bool.hpp>
#include <std_msgs/msg/string.hpp>
#include <test_msgs/msg/basic_types.hpp>
#include <vector>

#include "rmw/session.hpp"
#include "support/check.hpp"
#include "types/blank.hpp"
#include "types/shadow.hpp"
#include "types/transfer.hpp"

using namespace rmw_situ_test;
using rmw_situ::MessageType;
using std_msgs::msg::Bool;
using std_msgs::msg::String;
using test_msgs::msg::BasicTypes;

namespace {

template <class Message>
const MessageType& type_of() {
  return *check(MessageType::find(rosidl_typesupport_cpp::get_message_type_support_handle<Message>()));
}

// A node of Situ in the domain of the session, with a publisher that sends any bytes in any encoding.
class Program {
 public:
  Program(const MessageType& type, const char* topic, const char* name = "program") {
    const situ_root root = {nullptr, SITU_NO_GROUP, static_cast<uint32_t>(getpid())};
    situ_node* node;
    situ_error error;
    if (situ_node_create(name, &root, &node, &error) != SITU_OK) throw std::runtime_error(error.text);
    node_.reset(node);
    situ_publisher_qos qos = situ_publisher_qos_default();
    qos.reliability = SITU_RELIABLE;
    situ_publisher* publisher;
    if (situ_publisher_create(node, topic, &type.bus_type(), &qos, &publisher, &error) != SITU_OK)
      throw std::runtime_error(error.text);
    publisher_.reset(publisher);
  }

  void send(uint32_t encoding, const std::vector<std::byte>& body) {
    situ_loan loan;
    situ_error error;
    if (situ_publisher_loan(publisher_.get(), 0, 64, body.size(), &loan, &error) != SITU_OK)
      throw std::runtime_error(error.text);
    if (!body.empty()) std::memcpy(loan.body, body.data(), body.size());
    loan.encoding = encoding;
    if (situ_loan_publish(&loan, nullptr, &error) != SITU_OK) throw std::runtime_error(error.text);
  }

 private:
  rmw_situ::NodeHandle node_;
  rmw_situ::PublisherHandle publisher_;
};

template <class Message>
std::vector<std::byte> serialize(const Message& message) {
  std::vector<std::byte> bytes(type_of<Message>().cdr_size(&message));
  EXPECT_TRUE(type_of<Message>().write_cdr(&message, bytes));
  return bytes;
}

// The result of a take of a loan, which may be NULL.
void* take_loan(const Session::Subscription& subscription, rmw_ret_t& ret) {
  void* loan = nullptr;
  bool taken = false;
  ret = rmw_take_loaned_message(subscription.get(), &loan, &taken, nullptr);
  EXPECT_EQ(taken, loan != nullptr);
  return loan;
}

// A message says itself how it is encoded, also on a topic whose type has another encoding.
TEST(OtherPrograms, ALoanOfAPlainTypeMayComeSerialized) {
  Session session;
  const auto subscription = session.subscription<BasicTypes>("/numbers");
  Program program(type_of<BasicTypes>(), "numbers");
  BasicTypes sent;
  sent.bool_value = true;
  sent.int64_value = -77;
  sent.float64_value = 0.25;
  for (const uint32_t encoding : {SITU_XCDR1, SITU_XCDR2}) {
    program.send(encoding, serialize(sent));
    rmw_ret_t ret;
    void* const loan = take_loan(subscription, ret);
    ASSERT_EQ(ret, RMW_RET_OK) << rmw_get_error_string().str;
    ASSERT_NE(loan, nullptr);
    EXPECT_EQ(*static_cast<const BasicTypes*>(loan), sent);
    check(rmw_return_loaned_message_from_subscription(subscription.get(), loan));
    EXPECT_NE(rmw_return_loaned_message_from_subscription(subscription.get(), loan), RMW_RET_OK);
    rmw_reset_error();
    // An ordinary take.
    program.send(encoding, serialize(sent));
    BasicTypes taken;
    ASSERT_TRUE(take(subscription, taken));
    EXPECT_EQ(taken, sent);
  }
}

TEST(OtherPrograms, ALoanOfAnotherTypeMaySayThatItIsXcdr2) {
  Session session;
  const auto subscription = session.subscription<String>("/text");
  Program program(type_of<String>(), "text");
  String sent;
  sent.data = "a text of more than fifteen characters";
  program.send(SITU_XCDR2, serialize(sent));
  rmw_ret_t ret;
  // The encapsulation says that it is XCDR1.
  void* const loan = take_loan(subscription, ret);
  ASSERT_EQ(ret, RMW_RET_OK) << rmw_get_error_string().str;
  EXPECT_EQ(*static_cast<const String*>(loan), sent);
  check(rmw_return_loaned_message_from_subscription(subscription.get(), loan));
}

TEST(OtherPrograms, WhatRosCannotReadIsAnError) {
  Session session;
  const auto texts = session.subscription<String>("/text");
  const auto numbers = session.subscription<BasicTypes>("/numbers");
  Program of_texts(type_of<String>(), "text"), of_numbers(type_of<BasicTypes>(), "numbers");
  const rcutils_allocator_t allocator = rcutils_get_default_allocator();
  for (const uint32_t encoding : {SITU_FLAT, SITU_REGION}) {
    for (const auto& [program, subscription] :
         {std::pair{&of_texts, &texts}, std::pair{&of_numbers, &numbers}}) {
      for (int i = 0; i < 3; ++i) program->send(encoding, std::vector<std::byte>(16));
      rmw_ret_t ret;
      EXPECT_EQ(take_loan(*subscription, ret), nullptr);
      EXPECT_EQ(ret, RMW_RET_ERROR);
      EXPECT_TRUE(rmw_error_is_set());
      rmw_reset_error();
      rmw_serialized_message_t bytes = rmw_get_zero_initialized_serialized_message();
      check(rmw_serialized_message_init(&bytes, 0, &allocator));
      bool taken = true;
      EXPECT_EQ(rmw_take_serialized_message(subscription->get(), &bytes, &taken, nullptr), RMW_RET_ERROR);
      EXPECT_FALSE(taken);
      EXPECT_TRUE(rmw_error_is_set()) << "of encoding " << encoding;
      rmw_reset_error();
      check(rmw_serialized_message_fini(&bytes));
      std::max_align_t message[16] = {};
      if (subscription == &texts) new (message) String;
      EXPECT_EQ(rmw_take(subscription->get(), message, &taken, nullptr), RMW_RET_ERROR);
      rmw_reset_error();
      if (subscription == &texts) reinterpret_cast<String*>(message)->~String();
    }
  }
}

// A serialized message without bytes.
TEST(OtherPrograms, AnEmptyMessageIsTakenAsBytes) {
  Session session;
  const auto subscription = session.subscription<String>("/text");
  Program program(type_of<String>(), "text");
  program.send(SITU_XCDR1, {});
  const rcutils_allocator_t allocator = rcutils_get_default_allocator();
  rmw_serialized_message_t bytes = rmw_get_zero_initialized_serialized_message();
  check(rmw_serialized_message_init(&bytes, 0, &allocator));
  bool taken = false;
  check(rmw_take_serialized_message(subscription.get(), &bytes, &taken, nullptr));
  EXPECT_TRUE(taken);
  EXPECT_EQ(bytes.buffer_length, 0u);
  check(rmw_serialized_message_fini(&bytes));
}

// A type that writes to the memory of the other process as soon as something was checked.
class HostileType final : public MessageType {
 public:
  HostileType(const MessageType& real, uint8_t& shared) : real_(real), shared_(shared) {}
  const std::string& ros_name() const override { return real_.ros_name(); }
  const situ_type& bus_type() const override { return real_.bus_type(); }
  bool is_plain() const override { return real_.is_plain(); }
  size_t size() const override { return real_.size(); }
  size_t alignment() const override { return real_.alignment(); }
  const rosidl_type_hash_t& hash() const override { return real_.hash(); }
  bool init(void* message) const override { return real_.init(message); }
  void fini(void* message) const override { real_.fini(message); }
  bool check_plain(std::span<const std::byte> head) const override {
    const bool is_valid = real_.check_plain(head);
    shared_ = 2;
    return is_valid;
  }
  void normalize_plain(void* message) const override { real_.normalize_plain(message); }
  size_t cdr_size(const void* message) const override { return real_.cdr_size(message); }
  bool write_cdr(const void* message, std::span<std::byte> to) const override {
    return real_.write_cdr(message, to);
  }
  size_t place_of_array(const void* message, size_t size, size_t alignment) const override {
    return real_.place_of_array(message, size, alignment);
  }
  size_t place_of_elements(const void* message, const void* elements) const override {
    return real_.place_of_elements(message, elements);
  }
  void forget_elements(void* message, const std::function<bool(const void*)>& is_wanted) const override {
    real_.forget_elements(message, is_wanted);
  }
  bool read_cdr(std::span<const std::byte> from, void* message) const override {
    return real_.read_cdr(from, message);
  }
  std::unique_ptr<rmw_situ::Blank> make_blank() const override { return real_.make_blank(); }
  std::unique_ptr<rmw_situ::Shadow> make_shadow() const override { return real_.make_shadow(); }

 private:
  const MessageType& real_;
  uint8_t& shared_;
};

// A bool that another process changes after the check does not become one of the reader.
TEST(OtherPrograms, ABoolThatChangesMeanwhileIsNotTaken) {
  uint8_t shared = 1;
  const HostileType type(type_of<Bool>(), shared);
  situ_sample sample = {};
  sample.encoding = SITU_FLAT;
  sample.head = &shared;
  sample.head_size = sizeof(Bool);
  uint8_t read[sizeof(Bool)] = {0};
  EXPECT_EQ(rmw_situ::read_message(type, sample, read), RMW_RET_OK);
  EXPECT_EQ(read[0], 1);
  EXPECT_EQ(rmw_situ::read_message(type, sample, read), RMW_RET_ERROR);
  rmw_reset_error();
  // What was refused is a valid message nevertheless.
  EXPECT_EQ(read[0], 0);
  sample.head_size = 0;
  read[0] = 1;
  EXPECT_EQ(rmw_situ::read_message(type, sample, read), RMW_RET_ERROR);
  EXPECT_EQ(read[0], 1);
  rmw_reset_error();
}

// The time of a message is what its publisher wrote.
TEST(OtherPrograms, AnyTimeIsConverted) {
  using rmw_situ::write_times;
  rmw_service_info_t info = {};
  for (const uint64_t time : {uint64_t{1}, uint64_t{1} << 62, uint64_t{1} << 63, UINT64_MAX,
                              situ_now_ns() + (uint64_t{1} << 63), situ_now_ns() + (uint64_t{1} << 63) + 1}) {
    write_times(time, &info);
  }
  // One that makes sense.
  write_times(situ_now_ns() - 5'000'000'000, &info);
  EXPECT_NEAR(static_cast<double>(info.received_timestamp - info.source_timestamp), 5e9, 1e9);
  write_times(0, &info);
  EXPECT_EQ(info.source_timestamp, 0);
}

// The nodes that have publishers of a topic.
std::multiset<std::string> publishing_nodes(const Session& session, const char* topic) {
  rcutils_allocator_t allocator = rcutils_get_default_allocator();
  rmw_topic_endpoint_info_array_t infos = rmw_get_zero_initialized_topic_endpoint_info_array();
  check(rmw_get_publishers_info_by_topic(session.node, &allocator, topic, false, &infos));
  std::multiset<std::string> names;
  for (size_t i = 0; i < infos.size; ++i) names.insert(infos.info_array[i].node_name);
  check(rmw_topic_endpoint_info_array_fini(&infos, &allocator));
  return names;
}

// A node with the name of those that contexts have for themselves gives its endpoints to no other node.
TEST(OtherPrograms, ANodeThatIsNotShownHasNoEndpointsInAnother) {
  Session session;
  // Nodes come in the order of their names.
  rmw_node_t* const before = check(rmw_create_node(&session.context, "A_before", "/"));
  Program seen(type_of<String>(), "seen", "program"), hidden(type_of<String>(), "hidden", "_rmw_situ");
  EXPECT_TRUE(becomes([&] { return publishing_nodes(session, "/seen").size() == 1; }));
  EXPECT_EQ(publishing_nodes(session, "/seen"), (std::multiset<std::string>{"program"}));
  EXPECT_EQ(publishing_nodes(session, "/hidden"), (std::multiset<std::string>{}));
  check(rmw_destroy_node(before));
}

}  // namespace
