// rmw's functions for the clients and servers of a service, which Lyrical has.
#include "support/release.hpp"

#if RMW_SITU_HAS_SERVICE_ENDPOINTS

#include <rmw/rmw.h>
#include <rmw/service_endpoint_info_array.h>

#include <tuple>
#include <vector>

#include "context.hpp"
#include "graph/graph.hpp"

using namespace rmw_situ;

namespace {

rmw_ret_t fill(const GraphNode& node, const GraphEndpoint& endpoint, rcutils_allocator_t* allocator,
               rmw_service_endpoint_info_t* info) {
  // A client or a server is one endpoint here, while DDS has a writer and a reader.
  constexpr size_t endpoints = 1;
  rmw_ret_t ret = rmw_service_endpoint_info_set_node_name(info, node.name.c_str(), allocator);
  if (ret == RMW_RET_OK)
    ret = rmw_service_endpoint_info_set_node_namespace(info, node.node_namespace.c_str(), allocator);
  if (ret == RMW_RET_OK)
    ret = rmw_service_endpoint_info_set_service_type(info, endpoint.type.c_str(), allocator);
  if (ret == RMW_RET_OK) ret = rmw_service_endpoint_info_set_service_type_hash(info, &endpoint.hash);
  if (ret == RMW_RET_OK) {
    ret = rmw_service_endpoint_info_set_endpoint_type(
        info, endpoint.role == SITU_ROLE_CLIENT ? RMW_ENDPOINT_CLIENT : RMW_ENDPOINT_SERVER);
  }
  if (ret == RMW_RET_OK) ret = rmw_service_endpoint_info_set_endpoint_count(info, endpoints);
  if (ret == RMW_RET_OK) {
    ret = rmw_service_endpoint_info_set_gids(info, endpoint.id.data(), endpoints, endpoint.id.size(),
                                             allocator);
  }
  if (ret == RMW_RET_OK)
    ret = rmw_service_endpoint_info_set_qos_profiles(info, &endpoint.qos, endpoints, allocator);
  return ret;
}

rmw_ret_t infos_by_service(const rmw_node_t* node, rcutils_allocator_t* allocator, const char* service_name,
                           uint32_t role, rmw_service_endpoint_info_array_t* infos) {
  SITU_CHECK_HANDLE(node);
  RCUTILS_CHECK_ALLOCATOR_WITH_MSG(allocator, "allocator is not valid", return RMW_RET_INVALID_ARGUMENT);
  SITU_CHECK_ARGUMENT(service_name);
  if (rmw_service_endpoint_info_array_check_zero(infos) != RMW_RET_OK) return RMW_RET_INVALID_ARGUMENT;
  return guarded(RMW_RET_BAD_ALLOC, [&]() -> rmw_ret_t {
    const auto nodes = node->context->impl->graph.nodes();
    if (!nodes) return RMW_RET_ERROR;
    std::vector<std::pair<const GraphNode*, const GraphEndpoint*>> found;
    for (const GraphNode& each : *nodes) {
      for (const GraphEndpoint& endpoint : each.endpoints) {
        if (endpoint.role == role && endpoint.name == service_name) found.emplace_back(&each, &endpoint);
      }
    }
    // An array without elements is a zero-initialized one.
    if (found.empty()) return RMW_RET_OK;
    rmw_ret_t ret = rmw_service_endpoint_info_array_init_with_size(infos, found.size(), allocator);
    if (ret != RMW_RET_OK) return ret;
    for (size_t i = 0; i < found.size(); ++i) {
      infos->info_array[i] = rmw_get_zero_initialized_service_endpoint_info();
    }
    for (size_t i = 0; i < found.size() && ret == RMW_RET_OK; ++i) {
      ret = fill(*found[i].first, *found[i].second, allocator, &infos->info_array[i]);
    }
    if (ret != RMW_RET_OK) std::ignore = rmw_service_endpoint_info_array_fini(infos, allocator);
    return ret;
  });
}

}  // namespace

extern "C" {

rmw_ret_t rmw_get_clients_info_by_service(const rmw_node_t* node, rcutils_allocator_t* allocator,
                                          const char* service_name, bool,
                                          rmw_service_endpoint_info_array_t* clients_info) {
  return infos_by_service(node, allocator, service_name, SITU_ROLE_CLIENT, clients_info);
}

rmw_ret_t rmw_get_servers_info_by_service(const rmw_node_t* node, rcutils_allocator_t* allocator,
                                          const char* service_name, bool,
                                          rmw_service_endpoint_info_array_t* servers_info) {
  return infos_by_service(node, allocator, service_name, SITU_ROLE_SERVER, servers_info);
}

}  // extern "C"

#endif
