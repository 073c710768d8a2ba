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

}  // namespace
