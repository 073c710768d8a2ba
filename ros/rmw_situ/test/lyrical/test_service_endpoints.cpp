// The endpoints of services, for which Lyrical asks.
#include <gtest/gtest.h>
#include <rmw/get_service_endpoint_info.h>

#include <cstring>
#include <test_msgs/srv/empty.hpp>

#include "rmw/session.hpp"

using namespace rmw_situ_test;
using test_msgs::srv::Empty;

namespace {

// An array that ends by itself.
struct Infos {
  ~Infos() { std::ignore = rmw_service_endpoint_info_array_fini(&array, &allocator); }
  rmw_service_endpoint_info_array_t array = rmw_get_zero_initialized_service_endpoint_info_array();
  rcutils_allocator_t allocator = rcutils_get_default_allocator();
};

TEST(ServiceEndpoints, AreThoseOfTheService) {
  Session session;
  rmw_qos_profile_t qos = rmw_qos_profile_services_default;
  qos.depth = 7;
  const auto service = session.service<Empty>("/a/service", qos);
  const auto other = session.service<Empty>("/another");
  const auto client = session.client<Empty>("/a/service");
  const auto second = session.client<Empty>("/a/service");

  Infos servers;
  check(
      rmw_get_servers_info_by_service(session.node, &servers.allocator, "/a/service", false, &servers.array));
  ASSERT_EQ(servers.array.size, 1u);
  const rmw_service_endpoint_info_t& server = servers.array.info_array[0];
  EXPECT_STREQ(server.node_name, "node");
  EXPECT_STREQ(server.node_namespace, "/");
  EXPECT_STREQ(server.service_type, "test_msgs/srv/Empty");
  EXPECT_EQ(server.service_type_hash.version, 1);
  EXPECT_EQ(server.endpoint_type, RMW_ENDPOINT_SERVER);
  ASSERT_EQ(server.endpoint_count, 1u);
  EXPECT_EQ(server.qos_profiles[0].depth, 7u);
  EXPECT_EQ(server.qos_profiles[0].reliability, RMW_QOS_POLICY_RELIABILITY_RELIABLE);

  Infos clients;
  check(
      rmw_get_clients_info_by_service(session.node, &clients.allocator, "/a/service", false, &clients.array));
  ASSERT_EQ(clients.array.size, 2u);
  rmw_gid_t gid = {};
  check(rmw_get_gid_for_client(client.get(), &gid));
  int found = 0;
  for (size_t i = 0; i < 2; ++i) {
    const rmw_service_endpoint_info_t& info = clients.array.info_array[i];
    EXPECT_EQ(info.endpoint_type, RMW_ENDPOINT_CLIENT);
    found += std::memcmp(info.endpoint_gids[0], gid.data, 16) == 0;
  }
  EXPECT_EQ(found, 1);
}

TEST(ServiceEndpoints, OfNoServiceAreNone) {
  Session session;
  Infos infos;
  check(rmw_get_clients_info_by_service(session.node, &infos.allocator, "/none", false, &infos.array));
  EXPECT_EQ(infos.array.size, 0u);
  EXPECT_EQ(rmw_get_clients_info_by_service(session.node, &infos.allocator, nullptr, false, &infos.array),
            RMW_RET_INVALID_ARGUMENT);
  rmw_reset_error();
  EXPECT_EQ(rmw_get_servers_info_by_service(session.node, nullptr, "/none", false, &infos.array),
            RMW_RET_INVALID_ARGUMENT);
  rmw_reset_error();
}

}  // namespace
