// The nodes and endpoints of a domain: read when they have changed.
#include "graph/graph.hpp"

#include <chrono>
#include <cstring>

#include "graph/type_topic.hpp"
#include "support/names.hpp"
#include "support/qos.hpp"
#include "wait/guard_condition.hpp"

namespace rmw_situ {
namespace {

// For how long it is enough to know the graph of before.
constexpr std::chrono::milliseconds kRecent(20);

// What the callbacks of situ_graph_read fill. They run in C, and may not throw.
struct Reading {
  GraphNodes nodes;
  bool is_out_of_memory = false;
  // Whether the endpoints that follow are those of a node that is not shown.
  bool is_hidden = false;
};

rmw_qos_profile_t qos_of(const situ_endpoint_info& info, const EndpointData& data) {
  rmw_qos_profile_t qos = {};
  qos.history = data.history != RMW_QOS_POLICY_HISTORY_UNKNOWN ? data.history
                : info.depth == 0                              ? RMW_QOS_POLICY_HISTORY_KEEP_ALL
                                                               : RMW_QOS_POLICY_HISTORY_KEEP_LAST;
  qos.depth = data.history != RMW_QOS_POLICY_HISTORY_UNKNOWN ? data.depth : info.depth;
  qos.reliability = info.reliability == SITU_RELIABLE ? RMW_QOS_POLICY_RELIABILITY_RELIABLE
                                                      : RMW_QOS_POLICY_RELIABILITY_BEST_EFFORT;
  qos.durability = info.durability == SITU_TRANSIENT_LOCAL ? RMW_QOS_POLICY_DURABILITY_TRANSIENT_LOCAL
                                                           : RMW_QOS_POLICY_DURABILITY_VOLATILE;
  qos.liveliness = info.liveliness == SITU_MANUAL_BY_TOPIC ? RMW_QOS_POLICY_LIVELINESS_MANUAL_BY_TOPIC
                                                           : RMW_QOS_POLICY_LIVELINESS_AUTOMATIC;
  qos.deadline = to_duration(info.deadline_ns);
  qos.lifespan = to_duration(info.lifespan_ns);
  qos.liveliness_lease_duration = to_duration(info.lease_ns);
  qos.avoid_ros_namespace_conventions = data.avoids_ros_names;
  return qos;
}

void visit_node(const situ_graph_node* node, void* context) {
  auto& reading = *static_cast<Reading*>(context);
  // A context's own, which has no endpoints. A program that is none of ROS may give its node this name, too.
  reading.is_hidden = node->user_data_size == 0 && std::strcmp(node->name, own_node_name) == 0;
  if (reading.is_hidden) return;
  try {
    std::string enclave = read_enclave(node->user_data, node->user_data_size);
    if (enclave.empty()) enclave.push_back('/');
    reading.nodes.push_back({node->name, node->node_namespace, std::move(enclave), {}});
  } catch (const std::bad_alloc&) {
    reading.is_out_of_memory = true;
  }
}

void visit_endpoint(const situ_graph_node*, const situ_endpoint_info* info, void* context) {
  auto& reading = *static_cast<Reading*>(context);
  if (reading.is_out_of_memory || reading.is_hidden || reading.nodes.empty()) return;
  try {
    EndpointData data;
    const bool is_of_ros = data.read(info->user_data, info->user_data_size);
    GraphEndpoint endpoint;
    std::string name = info->name;
    endpoint.own_topic_hash = is_of_ros ? remove_type(name) : 0;
    std::memcpy(endpoint.id.data(), info->id, endpoint.id.size());
    endpoint.role = info->role;
    endpoint.name = data.avoids_ros_names ? std::move(name) : ros_name(name);
    endpoint.type =
        is_service_role(info->role) ? ros_service_type(info->type_name) : ros_type(info->type_name);
    endpoint.hash = data.hash;
    endpoint.qos = qos_of(*info, data);
    reading.nodes.back().endpoints.push_back(std::move(endpoint));
  } catch (const std::bad_alloc&) {
    reading.is_out_of_memory = true;
  }
}

}  // namespace

bool Graph::watch() {
  if (watch_) return true;
  situ_graph_watch* watch;
  situ_error error;
  if (situ_graph_watch_create(&root_, &watch, &error) != SITU_OK) {
    failed("cannot watch", "graph", error);
    return false;
  }
  watch_.reset(watch);
  return true;
}

// The mutex is held.
void Graph::forget_if_changed() {
  // After an error, nothing is known.
  if (situ_graph_watch_take(watch_.get(), nullptr) == SITU_EMPTY) return;
  nodes_ = nullptr;
  for (GuardCondition* condition : conditions_) condition->trigger();
}

std::shared_ptr<const GraphNodes> Graph::nodes() {
  const std::lock_guard lock(mutex_);
  if (!watch()) return nullptr;
  forget_if_changed();
  if (nodes_) return nodes_;
  const auto read_at = std::chrono::steady_clock::now();
  Reading reading;
  situ_error error;
  if (situ_graph_read(&root_, visit_node, visit_endpoint, &reading, &error) != SITU_OK) {
    failed("cannot read", "graph", error);
    return nullptr;
  }
  if (reading.is_out_of_memory) throw std::bad_alloc();
  nodes_ = std::make_shared<const GraphNodes>(std::move(reading.nodes));
  recent_ = nodes_;
  read_at_ = read_at;
  return nodes_;
}

void Graph::forget_recent() {
  const std::lock_guard lock(mutex_);
  recent_ = nullptr;
}

bool Graph::has_type_topic(const std::string& bus_name, bool is_service, uint64_t schema_hash) {
  const std::string name = ros_name(bus_name);
  const auto is_in = [&](const GraphNodes& nodes) {
    for (const GraphNode& node : nodes) {
      for (const GraphEndpoint& endpoint : node.endpoints) {
        if (endpoint.own_topic_hash == schema_hash && is_service_role(endpoint.role) == is_service &&
            (endpoint.qos.avoid_ros_namespace_conventions ? endpoint.name == bus_name
                                                          : endpoint.name == name)) {
          return true;
        }
      }
    }
    return false;
  };
  std::shared_ptr<const GraphNodes> recent;
  {
    const std::lock_guard lock(mutex_);
    if (std::chrono::steady_clock::now() - read_at_ < kRecent) recent = recent_;
  }
  // "No" may be old. An endpoint that went to a topic for itself since then did so because the type of the
  // name's topic was another one. As long as it is, this endpoint cannot join that topic, and goes there,
  // too.
  if (recent && !is_in(*recent)) return false;
  const auto now = nodes();
  if (!now) {
    rmw_reset_error();
    return false;
  }
  return is_in(*now);
}

void Graph::add(GuardCondition* condition) {
  const std::lock_guard lock(mutex_);
  conditions_.insert(condition);
}

void Graph::remove(GuardCondition* condition) {
  const std::lock_guard lock(mutex_);
  conditions_.erase(condition);
}

int Graph::descriptor() {
  const std::lock_guard lock(mutex_);
  return watch() ? situ_graph_watch_fd(watch_.get()) : -1;
}

void Graph::changed() {
  const std::lock_guard lock(mutex_);
  if (watch_) forget_if_changed();
}

}  // namespace rmw_situ
