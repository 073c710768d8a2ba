// The graph: namespaces, graph domains, endpoints with their user data, and waiting for changes.
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <csignal>
#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include "bus/messages.hpp"
#include "bus/scratch.hpp"

namespace bus_test {
namespace {

using namespace std::chrono_literals;

std::vector<std::byte> bytes(std::initializer_list<int> values) {
  std::vector<std::byte> made;
  for (const int value : values) made.push_back(static_cast<std::byte>(value));
  return made;
}

/// Takes the changes that the kernel reports later than it makes them.
void settle(const situ::graph_watch& watch) {
  while (watch.wait(30ms)) {
  }
}

TEST_F(Bus, the_graph_has_what_nodes_and_endpoints_say) {
  const situ::node on("planner", root_, {.node_namespace = "/robot", .user_data = bytes({1, 0, 255})});
  EXPECT_EQ(on.node_namespace(), "/robot");
  const auto publisher = on.publisher<Tick>("ticks", {.reliability = situ::reliability::reliable,
                                                      .durability = situ::durability::transient_local,
                                                      .depth = 4,
                                                      .deadline = 20ms,
                                                      .lifespan = 3s,
                                                      .user_data = bytes({7})});
  const auto subscriber = on.subscriber<Tick>("ticks", {.keep_last = 3});
  const auto nodes = situ::graph(root_);
  ASSERT_EQ(nodes.size(), 1U);
  const situ::graph_node& found = nodes[0];
  EXPECT_EQ(found.id, on.id());
  EXPECT_EQ(found.name, "planner");
  EXPECT_EQ(found.node_namespace, "/robot");
  EXPECT_EQ(found.user_data, bytes({1, 0, 255}));
  EXPECT_EQ(found.pid, static_cast<std::uint32_t>(::getpid()));
  ASSERT_EQ(found.endpoints.size(), 2U);
  const situ::endpoint_info& offer = found.endpoints[0];
  EXPECT_EQ(offer.id, publisher.id());
  EXPECT_EQ(offer.role, situ::endpoint_role::publisher);
  EXPECT_EQ(offer.name, "ticks");
  EXPECT_EQ(offer.domain, "host");
  EXPECT_EQ(offer.reliability, situ::reliability::reliable);
  EXPECT_EQ(offer.durability, situ::durability::transient_local);
  EXPECT_EQ(offer.depth, 4U);
  EXPECT_EQ(offer.deadline, 20ms);
  EXPECT_EQ(offer.lifespan, 3s);
  EXPECT_EQ(offer.user_data, bytes({7}));
  const situ::endpoint_info& request = found.endpoints[1];
  EXPECT_EQ(request.id, subscriber.id());
  EXPECT_NE(request.id, offer.id);
  EXPECT_EQ(request.role, situ::endpoint_role::subscriber);
  EXPECT_EQ(request.type_name, offer.type_name);
  EXPECT_EQ(request.schema_hash, offer.schema_hash);
  EXPECT_EQ(request.depth, 3U);
  EXPECT_EQ(request.deadline, 0ns);
  EXPECT_TRUE(request.user_data.empty());
}

TEST_F(Bus, graph_domains_do_not_meet) {
  auto seven = root_;
  seven.graph_domain = 7;
  const situ::node far("far", seven);
  const situ::node near("near", root_);
  auto publisher = far.publisher<Tick>("ticks");
  auto subscriber = near.subscriber<Tick>("ticks");
  publisher.publish(Tick{.count = 1});
  EXPECT_FALSE(subscriber.take());
  ASSERT_EQ(situ::graph(seven).size(), 1U);
  EXPECT_EQ(situ::graph(seven)[0].name, "far");
  EXPECT_EQ(situ::graph(root_)[0].name, "near");
}

TEST_F(Bus, names_and_user_data_have_limits) {
  const auto wrong = situ::node::try_create("n", root_, {.node_namespace = "robot"});
  ASSERT_FALSE(wrong);
  EXPECT_EQ(wrong.error().code(), situ::errc::invalid_argument);
  const std::vector<std::byte> long_data(SITU_MAX_USER_DATA + 1);
  EXPECT_FALSE(situ::node::try_create("n", root_, {.user_data = long_data}));
  const auto on = node("n");
  const auto refused = on.try_publisher<Tick>("ticks", {.user_data = long_data});
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code(), situ::errc::invalid_argument);
}

TEST_F(Bus, a_watch_tells_of_changes_and_of_deaths) {
  const auto on = node("watcher");
  const situ::graph_watch watch(root_);
  settle(watch);
  EXPECT_FALSE(watch.take());
  {
    const auto publisher = on.publisher<Tick>("ticks");
    EXPECT_TRUE(watch.wait(20s));
    settle(watch);
  }
  EXPECT_TRUE(watch.wait(20s)) << "the publisher is gone";
  settle(watch);
  situ::wait_set set(on);
  const auto id = set.attach(watch.fd());
  const pid_t child = ::fork();
  if (child == 0) {
    const auto killed = node("killed");
    while (true) ::pause();
  }
  std::array<situ::ready_source, 4> room;
  const auto is_there = [&] {
    const auto nodes = situ::graph(root_);
    return std::any_of(nodes.begin(), nodes.end(), [](const auto& node) { return node.name == "killed"; });
  };
  const auto until = std::chrono::steady_clock::now() + 20s;
  while (!is_there() && std::chrono::steady_clock::now() < until) {
    const auto ready = set.wait(room, 20s);
    ASSERT_EQ(ready.size(), 1U);
    EXPECT_EQ(ready[0].id(), id);
    (void)watch.take();
  }
  EXPECT_TRUE(is_there());
  settle(watch);
  ::kill(child, SIGKILL);
  EXPECT_TRUE(watch.wait(20s));
  EXPECT_FALSE(is_there());
  ::waitpid(child, nullptr, 0);
  EXPECT_EQ(situ::graph_watch::try_create({.path = "/proc/none"}).error().code(), situ::errc::system);
}

}  // namespace
}  // namespace bus_test
