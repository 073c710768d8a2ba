// rmw's functions for the endpoints of a topic.
#include <rmw/get_topic_endpoint_info.h>
#include <rmw/rmw.h>
#include <rmw/topic_endpoint_info_array.h>

#include <tuple>

#include "context.hpp"
#include "graph/graph.hpp"

using namespace rmw_situ;

namespace {

rmw_ret_t fill(const GraphNode& node, const GraphEndpoint& endpoint, rcutils_allocator_t* allocator,
               rmw_topic_endpoint_info_t* info) {
  const bool is_publisher = endpoint.role == SITU_ROLE_PUBLISHER;
  rmw_ret_t ret = rmw_topic_endpoint_info_set_node_name(info, node.name.c_str(), allocator);
  if (ret == RMW_RET_OK)
    ret = rmw_topic_endpoint_info_set_node_namespace(info, node.node_namespace.c_str(), allocator);
  if (ret == RMW_RET_OK) ret = rmw_topic_endpoint_info_set_topic_type(info, endpoint.type.c_str(), allocator);
  if (ret == RMW_RET_OK) ret = rmw_topic_endpoint_info_set_topic_type_hash(info, &endpoint.hash);
  if (ret == RMW_RET_OK) {
    ret = rmw_topic_endpoint_info_set_endpoint_type(
        info, is_publisher ? RMW_ENDPOINT_PUBLISHER : RMW_ENDPOINT_SUBSCRIPTION);
  }
  if (ret == RMW_RET_OK) ret = rmw_topic_endpoint_info_set_gid(info, endpoint.id.data(), endpoint.id.size());
  if (ret == RMW_RET_OK) ret = rmw_topic_endpoint_info_set_qos_profile(info, &endpoint.qos);
  return ret;
}

rmw_ret_t infos_by_topic(const rmw_node_t* node, rcutils_allocator_t* allocator, const char* topic_name,
                         uint32_t role, rmw_topic_endpoint_info_array_t* infos) {
  SITU_CHECK_HANDLE(node);
  RCUTILS_CHECK_ALLOCATOR_WITH_MSG(allocator, "allocator is not valid", return RMW_RET_INVALID_ARGUMENT);
  SITU_CHECK_ARGUMENT(topic_name);
  if (rmw_topic_endpoint_info_array_check_zero(infos) != RMW_RET_OK) return RMW_RET_INVALID_ARGUMENT;
  return guarded(RMW_RET_BAD_ALLOC, [&]() -> rmw_ret_t {
    const auto nodes = node->context->impl->graph.nodes();
    if (!nodes) return RMW_RET_ERROR;
    std::vector<std::pair<const GraphNode*, const GraphEndpoint*>> found;
    for (const GraphNode& each : *nodes) {
      for (const GraphEndpoint& endpoint : each.endpoints) {
        if (endpoint.role == role && endpoint.name == topic_name) found.emplace_back(&each, &endpoint);
      }
    }
    rmw_ret_t ret = rmw_topic_endpoint_info_array_init_with_size(infos, found.size(), allocator);
    if (ret != RMW_RET_OK) return ret;
    for (size_t i = 0; i < found.size(); ++i) {
      infos->info_array[i] = rmw_get_zero_initialized_topic_endpoint_info();
    }
    for (size_t i = 0; i < found.size() && ret == RMW_RET_OK; ++i) {
      ret = fill(*found[i].first, *found[i].second, allocator, &infos->info_array[i]);
    }
    if (ret != RMW_RET_OK) std::ignore = rmw_topic_endpoint_info_array_fini(infos, allocator);
    return ret;
  });
}

}  // namespace

extern "C" {

rmw_ret_t rmw_get_publishers_info_by_topic(const rmw_node_t* node, rcutils_allocator_t* allocator,
                                           const char* topic_name, bool,
                                           rmw_topic_endpoint_info_array_t* publishers_info) {
  return infos_by_topic(node, allocator, topic_name, SITU_ROLE_PUBLISHER, publishers_info);
}

rmw_ret_t rmw_get_subscriptions_info_by_topic(const rmw_node_t* node, rcutils_allocator_t* allocator,
                                              const char* topic_name, bool,
                                              rmw_topic_endpoint_info_array_t* subscriptions_info) {
  return infos_by_topic(node, allocator, topic_name, SITU_ROLE_SUBSCRIBER, subscriptions_info);
}

}  // extern "C"
