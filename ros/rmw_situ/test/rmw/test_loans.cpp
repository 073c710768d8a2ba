// A loan of a subscription points into the publisher's memory, for sequences of numbers of every width.
#include <gtest/gtest.h>

#include <cinttypes>
#include <cstdint>
#include <cstdio>
#include <fstream>
#include <sensor_msgs/msg/joint_state.hpp>
#include <std_msgs/msg/float64_multi_array.hpp>
#include <std_msgs/msg/int64_multi_array.hpp>
#include <string>
#include <test_msgs/msg/basic_types.hpp>

#include "rmw/session.hpp"

using namespace rmw_situ_test;

namespace {

// The file of the mapping in which an address lies, as the kernel names it.
std::string file_of(const void* address) {
  const auto wanted = reinterpret_cast<uintptr_t>(address);
  std::ifstream maps("/proc/self/maps");
  for (std::string line; std::getline(maps, line);) {
    uintptr_t begin = 0, end = 0;
    if (std::sscanf(line.c_str(), "%" SCNxPTR "-%" SCNxPTR, &begin, &end) != 2) continue;
    const size_t path = line.find('/');
    if (begin <= wanted && wanted < end) return path == std::string::npos ? "" : line.substr(path);
  }
  return "";
}

// Whether an address lies in the memory of a pool.
bool is_shared(const void* address) { return file_of(address).ends_with(".data"); }

// Publishes a message, takes it as a loan, and passes that on.
template <class Message, class Read>
void lend(const Message& message, Read read) {
  Session session;
  const auto publisher = session.publisher<Message>("/numbers");
  const auto subscription = session.subscription<Message>("/numbers");
  check(rmw_publish(publisher.get(), &message, nullptr));
  void* loan = nullptr;
  ASSERT_TRUE(becomes([&] {
    bool taken = false;
    check(rmw_take_loaned_message(subscription.get(), &loan, &taken, nullptr));
    return taken;
  }));
  EXPECT_EQ(*static_cast<const Message*>(loan), message);
  read(*static_cast<const Message*>(loan));
  check(rmw_return_loaned_message_from_subscription(subscription.get(), loan));
}

TEST(Loans, PointToSequencesOfDoubles) {
  // Wherever the numbers lie behind strings of other lengths.
  for (size_t length = 1; length <= 9; ++length) {
    sensor_msgs::msg::JointState state;
    state.header.frame_id = std::string(length, 'f');
    state.name = {"shoulder", "elbow"};
    state.position = {1.5, -2.5, 3.25};
    state.velocity.assign(1000, 0.125);
    lend(state, [](const sensor_msgs::msg::JointState& shown) {
      EXPECT_TRUE(is_shared(shown.position.data())) << file_of(shown.position.data());
      EXPECT_TRUE(is_shared(shown.velocity.data()));
      EXPECT_TRUE(shown.effort.empty());
    });
  }
}

TEST(Loans, PointToSequencesOf64Bits) {
  std_msgs::msg::Float64MultiArray doubles;
  doubles.layout.dim.resize(1);
  doubles.layout.dim[0].label = "x";
  doubles.data.assign(1 << 17, 0.5);
  lend(doubles, [](const auto& shown) { EXPECT_TRUE(is_shared(shown.data.data())); });
  std_msgs::msg::Int64MultiArray integers;
  integers.data = {INT64_MIN, 0, INT64_MAX};
  lend(integers, [](const auto& shown) { EXPECT_TRUE(is_shared(shown.data.data())); });
}

// A publisher with loans would stay on its topic, and its memory with it.
TEST(Loans, OfAPublisherEndWithIt) {
  Session session;
  const auto subscription = session.subscription<test_msgs::msg::BasicTypes>("/numbers");
  auto publisher = session.publisher<test_msgs::msg::BasicTypes>("/numbers");
  const auto* const type =
      rosidl_typesupport_cpp::get_message_type_support_handle<test_msgs::msg::BasicTypes>();
  void* loans[3] = {};
  for (void*& loan : loans) check(rmw_borrow_loaned_message(publisher.get(), type, &loan));
  const auto publishers = [&] {
    size_t count = 0;
    check(rmw_subscription_count_matched_publishers(subscription.get(), &count));
    return count;
  };
  ASSERT_TRUE(becomes([&] { return publishers() == 1; }));
  publisher.reset();
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(10);
  while (publishers() != 0 && std::chrono::steady_clock::now() < end) {
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
  }
  EXPECT_EQ(publishers(), 0u);
}

// Each loan is given back once, and to the endpoint that lent it.
TEST(Loans, AreReturnedOnceAndToTheirOwner) {
  using test_msgs::msg::BasicTypes;
  Session session;
  const auto* const type = rosidl_typesupport_cpp::get_message_type_support_handle<BasicTypes>();
  const auto publisher = session.publisher<BasicTypes>("/numbers"),
             other = session.publisher<BasicTypes>("/numbers");
  const auto subscription = session.subscription<BasicTypes>("/numbers");
  const auto other_subscription = session.subscription<BasicTypes>("/numbers");
  void* loan = nullptr;
  check(rmw_borrow_loaned_message(publisher.get(), type, &loan));
  const auto is_refused = [](rmw_ret_t ret) {
    rmw_reset_error();
    return ret == RMW_RET_INVALID_ARGUMENT || ret == RMW_RET_ERROR;
  };
  EXPECT_TRUE(is_refused(rmw_publish_loaned_message(other.get(), loan, nullptr)));
  EXPECT_TRUE(is_refused(rmw_return_loaned_message_from_publisher(other.get(), loan)));
  check(rmw_publish_loaned_message(publisher.get(), loan, nullptr));
  EXPECT_TRUE(is_refused(rmw_publish_loaned_message(publisher.get(), loan, nullptr)));
  EXPECT_TRUE(is_refused(rmw_return_loaned_message_from_publisher(publisher.get(), loan)));
  void* shown = nullptr;
  bool taken = false;
  check(rmw_take_loaned_message(subscription.get(), &shown, &taken, nullptr));
  ASSERT_TRUE(taken);
  EXPECT_TRUE(is_refused(rmw_return_loaned_message_from_subscription(other_subscription.get(), shown)));
  check(rmw_return_loaned_message_from_subscription(subscription.get(), shown));
  EXPECT_TRUE(is_refused(rmw_return_loaned_message_from_subscription(subscription.get(), shown)));
}

}  // namespace
