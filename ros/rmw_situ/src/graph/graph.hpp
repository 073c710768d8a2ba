// The nodes and endpoints of a domain, as of now.
#pragma once

#include <rmw/types.h>
#include <situ.h>
#include <situ/graph.h>

#include <array>
#include <chrono>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <unordered_set>
#include <vector>

#include "support/check.hpp"
#include "support/endpoint_data.hpp"

namespace rmw_situ {

class GuardCondition;

struct GraphEndpoint {
  std::array<uint8_t, 16> id;
  // A situ_endpoint_role.
  uint32_t role;
  // In ROS: "/camera/image", "sensor_msgs/msg/Image".
  std::string name;
  std::string type;
  // Of the topic that the type has for itself (graph/type_topic.hpp), or 0.
  uint64_t own_topic_hash;
  rosidl_type_hash_t hash;
  rmw_qos_profile_t qos;
};

struct GraphNode {
  std::string name;
  std::string node_namespace;
  std::string enclave;
  std::vector<GraphEndpoint> endpoints;
};

inline bool is_service_role(uint32_t role) { return role == SITU_ROLE_CLIENT || role == SITU_ROLE_SERVER; }

// Sorted by namespace and name.
using GraphNodes = std::vector<GraphNode>;

// All threads may use it at once.
class Graph {
 public:
  explicit Graph(const situ_root& root) : root_(root) {}

  // The graph now. It is read again only if it has changed. NULL, with rmw's error state set, on failure.
  std::shared_ptr<const GraphNodes> nodes();

  // Whether an endpoint is on the topic that a type has for itself. False if the graph cannot be read, or if
  // it had none some milliseconds ago: otherwise each new endpoint would read the files of all nodes.
  bool has_type_topic(const std::string& bus_name, bool is_service, uint64_t schema_hash);

  // Has the next call of `has_type_topic` read the graph: an endpoint of this process is on such a topic.
  void forget_recent();

  // Guard conditions that are triggered at changes, after `changed` was called.
  void add(GuardCondition* condition);
  void remove(GuardCondition* condition);

  // A descriptor that is readable after a change until `changed` is called. -1, with rmw's error state set,
  // on failure.
  int descriptor();
  // Triggers the guard conditions if the graph has changed since the last call.
  void changed();

 private:
  bool watch();
  void forget_if_changed();

  const situ_root root_;
  std::mutex mutex_;
  Handle<situ_graph_watch, situ_graph_watch_destroy> watch_;
  std::shared_ptr<const GraphNodes> nodes_;
  // What was read last, though it may have changed, and when.
  std::shared_ptr<const GraphNodes> recent_;
  std::chrono::steady_clock::time_point read_at_;
  std::unordered_set<GuardCondition*> conditions_;
};

}  // namespace rmw_situ
