// Replies of services: how many a client keeps, and of how many its callback is told.
#include <gtest/gtest.h>

#include <atomic>
#include <test_msgs/srv/empty.hpp>

#include "rmw/session.hpp"

using namespace rmw_situ_test;
using test_msgs::srv::Empty;

namespace {

void call(const Session::Client& client, const Session::Service& service) {
  const Empty::Request request;
  int64_t sequence = 0;
  check(rmw_send_request(client.get(), &request, &sequence));
  rmw_service_info_t info;
  Empty::Request taken_request;
  ASSERT_TRUE(becomes([&] {
    bool taken = false;
    check(rmw_take_request(service.get(), &info, &taken_request, &taken));
    return taken;
  }));
  Empty::Response response;
  check(rmw_send_response(service.get(), &info.request_id, &response));
}

size_t take_all(const Session::Client& client) {
  size_t count = 0;
  for (;; ++count) {
    rmw_service_info_t info;
    Empty::Response response;
    bool taken = false;
    check(rmw_take_response(client.get(), &info, &response, &taken));
    if (!taken) return count;
  }
}

void add(const void* counter, size_t number) {
  *static_cast<std::atomic<size_t>*>(const_cast<void*>(counter)) += number;
}

TEST(Replies, AClientKeepsTheLastOfItsDepth) {
  Session session;
  rmw_qos_profile_t qos = rmw_qos_profile_services_default;
  qos.depth = 2;
  const auto service = session.service<Empty>("/do");
  const auto client = session.client<Empty>("/do", qos);
  for (int i = 0; i < 5; ++i) call(client, service);
  EXPECT_EQ(take_all(client), 2u);
}

TEST(Replies, ACallbackIsToldOfEachOnce) {
  Session session;
  const auto service = session.service<Empty>("/do");
  const auto client = session.client<Empty>("/do");
  std::atomic<size_t> first = 0, second = 0, third = 0;
  check(rmw_client_set_on_new_response_callback(client.get(), add, &first));
  call(client, service);
  EXPECT_TRUE(becomes([&] { return first == 1; }));
  // The reply was not taken, but it was told.
  check(rmw_client_set_on_new_response_callback(client.get(), add, &second));
  call(client, service);
  EXPECT_TRUE(becomes([&] { return second == 1; }));
  check(rmw_client_set_on_new_response_callback(client.get(), nullptr, nullptr));
  call(client, service);
  call(client, service);
  check(rmw_client_set_on_new_response_callback(client.get(), add, &third));
  EXPECT_EQ(third, 2u);
  EXPECT_EQ(first, 1u);
  EXPECT_EQ(second, 1u);
  EXPECT_EQ(take_all(client), 4u);
}

}  // namespace
