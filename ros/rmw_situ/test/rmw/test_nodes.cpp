// Nodes in the graph.
#include <gtest/gtest.h>
#include <rcutils/types/string_array.h>

#include <set>

#include "rmw/session.hpp"

using namespace rmw_situ_test;

namespace {

std::multiset<std::string> names_of_nodes(const Session& session) {
  rcutils_string_array_t names = rcutils_get_zero_initialized_string_array();
  rcutils_string_array_t namespaces = rcutils_get_zero_initialized_string_array();
  check(rmw_get_node_names(session.node, &names, &namespaces));
  std::multiset<std::string> all;
  for (size_t i = 0; i < names.size; ++i) all.insert(std::string(namespaces.data[i]) + names.data[i]);
  EXPECT_EQ(rcutils_string_array_fini(&names), RCUTILS_RET_OK);
  EXPECT_EQ(rcutils_string_array_fini(&namespaces), RCUTILS_RET_OK);
  return all;
}

// Neither the thread of the context nor a wait set keeps a node in the graph, nor do they show one of their
// own.
TEST(Nodes, TheGraphHasTheNodesOfTheProgramOnly) {
  Session session;
  rmw_guard_condition_t* const condition = check(rmw_create_guard_condition(&session.context));
  rmw_wait_set_t* const set = check(rmw_create_wait_set(&session.context, 1));
  void* conditions[] = {condition->data};
  rmw_guard_conditions_t of_conditions = {1, conditions};
  const rmw_time_t now = {0, 0};
  EXPECT_EQ(rmw_wait(nullptr, &of_conditions, nullptr, nullptr, nullptr, set, &now), RMW_RET_TIMEOUT);

  rmw_node_t* const first = session.node;
  session.node = check(rmw_create_node(&session.context, "second", "/"));
  EXPECT_EQ(names_of_nodes(session), (std::multiset<std::string>{"/node", "/second"}));
  check(rmw_destroy_node(first));
  EXPECT_TRUE(becomes([&] { return names_of_nodes(session) == std::multiset<std::string>{"/second"}; }));
  check(rmw_destroy_wait_set(set));
  check(rmw_destroy_guard_condition(condition));
}

}  // namespace
