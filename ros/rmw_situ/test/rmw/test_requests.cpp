// Requests of services: how many a server keeps, of how many its callback is told, and that nobody waits for
// it.
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <test_msgs/srv/basic_types.hpp>
#include <vector>

#include "rmw/session.hpp"

using namespace rmw_situ_test;
using test_msgs::srv::BasicTypes;

namespace {

rmw_qos_profile_t keep_last(size_t depth) {
  rmw_qos_profile_t qos = rmw_qos_profile_services_default;
  qos.depth = depth;
  return qos;
}

rmw_qos_profile_t keep_all() {
  rmw_qos_profile_t qos = rmw_qos_profile_services_default;
  qos.history = RMW_QOS_POLICY_HISTORY_KEEP_ALL;
  return qos;
}

int64_t send(const Session::Client& client, int64_t value) {
  BasicTypes::Request request;
  request.int64_value = value;
  int64_t sequence = 0;
  check(rmw_send_request(client.get(), &request, &sequence));
  return sequence;
}

bool take(const Session::Service& service, rmw_service_info_t& info, int64_t& value) {
  BasicTypes::Request request;
  bool taken = false;
  check(rmw_take_request(service.get(), &info, &request, &taken));
  value = request.int64_value;
  return taken;
}

// The values of all requests that are there. Each is answered with the same value.
std::vector<int64_t> serve(const Session::Service& service) {
  std::vector<int64_t> values;
  rmw_service_info_t info;
  int64_t value;
  while (take(service, info, value)) {
    values.push_back(value);
    BasicTypes::Response response;
    response.int64_value = value;
    check(rmw_send_response(service.get(), &info.request_id, &response));
  }
  return values;
}

// The values of all replies that are there.
std::vector<int64_t> replies(const Session::Client& client) {
  std::vector<int64_t> values;
  for (;;) {
    rmw_service_info_t info;
    BasicTypes::Response response;
    bool taken = false;
    check(rmw_take_response(client.get(), &info, &response, &taken));
    if (!taken) return values;
    values.push_back(response.int64_value);
  }
}

std::vector<int64_t> numbers(int64_t first, int64_t last) {
  std::vector<int64_t> values;
  for (int64_t value = first; value <= last; ++value) values.push_back(value);
  return values;
}

void add(const void* counter, size_t number) {
  *static_cast<std::atomic<size_t>*>(const_cast<void*>(counter)) += number;
}

using Values = std::vector<int64_t>;

TEST(Requests, AServerKeepsTheLastOfItsDepth) {
  Session session;
  const auto service = session.service<BasicTypes>("/do", keep_last(2));
  const auto client = session.client<BasicTypes>("/do", rmw_qos_profile_default);
  for (int64_t value = 1; value <= 5; ++value) send(client, value);
  EXPECT_EQ(serve(service), (Values{4, 5}));
  EXPECT_EQ(serve(service), Values{});
  EXPECT_EQ(replies(client), (Values{4, 5}));
  // It serves as before.
  send(client, 6);
  EXPECT_EQ(serve(service), Values{6});
  EXPECT_EQ(replies(client), Values{6});
}

TEST(Requests, TheDepthIsThatOfAllClientsTogether) {
  Session session;
  const auto service = session.service<BasicTypes>("/do", keep_last(3));
  const auto first = session.client<BasicTypes>("/do"), second = session.client<BasicTypes>("/do");
  for (int64_t value = 1; value <= 4; ++value) {
    send(first, value);
    send(second, -value);
  }
  EXPECT_EQ(serve(service), (Values{-3, 4, -4}));
  EXPECT_EQ(replies(first), Values{4});
  EXPECT_EQ(replies(second), (Values{-3, -4}));
}

TEST(Requests, EachServerKeepsItsOwn) {
  Session session;
  const auto two = session.service<BasicTypes>("/do", keep_last(2));
  const auto four = session.service<BasicTypes>("/do", keep_last(4));
  const auto client = session.client<BasicTypes>("/do");
  for (int64_t value = 1; value <= 5; ++value) send(client, value);
  EXPECT_EQ(serve(two), (Values{4, 5}));
  EXPECT_EQ(serve(four), (Values{2, 3, 4, 5}));
  // The first answer to a call counts.
  EXPECT_EQ(replies(client), (Values{4, 5, 2, 3}));
}

TEST(Requests, AServerThatTakesNothingHoldsNobodyBack) {
  Session session;
  const auto service = session.service<BasicTypes>("/do", keep_last(10));
  const auto client = session.client<BasicTypes>("/do");
  // The sending of each would wait, and then fail, if the requests had to be kept.
  for (int64_t value = 1; value <= 1000; ++value) send(client, value);
  EXPECT_EQ(serve(service), numbers(991, 1000));
  EXPECT_EQ(replies(client), numbers(991, 1000));
}

TEST(Requests, AClientThatTakesNothingHoldsNobodyBack) {
  Session session;
  const auto service = session.service<BasicTypes>("/do");
  const auto client = session.client<BasicTypes>("/do", keep_last(3));
  for (int64_t value = 1; value <= 1000; ++value) {
    send(client, value);
    ASSERT_EQ(serve(service), Values{value});
  }
  EXPECT_EQ(replies(client), (Values{998, 999, 1000}));
}

TEST(Requests, MoreThanAnEndpointMayHoldAreKept) {
  Session session;
  for (const rmw_qos_profile_t& qos : {keep_all(), keep_last(1000)}) {
    const auto service = session.service<BasicTypes>("/do", qos);
    const auto client = session.client<BasicTypes>("/do", qos);
    std::atomic<size_t> requests = 0, responses = 0;
    check(rmw_service_set_on_new_request_callback(service.get(), add, &requests));
    check(rmw_client_set_on_new_response_callback(client.get(), add, &responses));
    // Callbacks are told of each, also of those for which there is no room at first. What is taken before it
    // is told, is not told any more.
    constexpr size_t room = 400;
    for (int64_t value = 1; value <= 900; ++value) send(client, value);
    ASSERT_TRUE(becomes([&] { return requests == room; })) << requests;
    ASSERT_EQ(serve(service), numbers(1, 900));
    EXPECT_TRUE(becomes([&] { return requests == 900; })) << requests;
    ASSERT_TRUE(becomes([&] { return responses == room; })) << responses;
    ASSERT_EQ(replies(client), numbers(1, 900));
    EXPECT_TRUE(becomes([&] { return responses == 900; })) << responses;
  }
}

TEST(Requests, ACallbackIsToldOfEachOnce) {
  Session session;
  const auto service = session.service<BasicTypes>("/do", keep_last(3));
  const auto client = session.client<BasicTypes>("/do");
  std::atomic<size_t> first = 0, second = 0, third = 0;
  check(rmw_service_set_on_new_request_callback(service.get(), add, &first));
  send(client, 1);
  EXPECT_TRUE(becomes([&] { return first == 1; }));
  // The request was not taken, but it was told.
  check(rmw_service_set_on_new_request_callback(service.get(), add, &second));
  send(client, 2);
  EXPECT_TRUE(becomes([&] { return second == 1; }));
  check(rmw_service_set_on_new_request_callback(service.get(), nullptr, nullptr));
  for (int64_t value = 3; value <= 6; ++value) send(client, value);
  // Of four new ones, there are three.
  check(rmw_service_set_on_new_request_callback(service.get(), add, &third));
  EXPECT_EQ(third, 3u);
  EXPECT_EQ(first, 1u);
  EXPECT_EQ(second, 1u);
  EXPECT_EQ(serve(service), (Values{4, 5, 6}));
}

}  // namespace
