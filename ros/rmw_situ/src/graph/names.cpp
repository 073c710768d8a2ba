// rmw's functions for names in the graph: nodes, and topics and services with their types.
#include <rcutils/strdup.h>
#include <rcutils/types/string_array.h>
#include <rmw/convert_rcutils_ret_to_rmw_ret.h>
#include <rmw/get_node_info_and_types.h>
#include <rmw/get_service_names_and_types.h>
#include <rmw/get_topic_names_and_types.h>
#include <rmw/names_and_types.h>
#include <rmw/rmw.h>
#include <rmw/sanity_checks.h>
#include <rmw/validate_full_topic_name.h>
#include <rmw/validate_namespace.h>
#include <rmw/validate_node_name.h>

#include <algorithm>
#include <map>
#include <set>
#include <tuple>

#include "context.hpp"
#include "graph/graph.hpp"

using namespace rmw_situ;

namespace {

using NamesAndTypes = std::map<std::string, std::set<std::string>>;

// Copies a text into a place of an array of C.
void put(char** place, const std::string& text, const rcutils_allocator_t& allocator) {
  *place = rcutils_strdup(text.c_str(), allocator);
  if (*place == nullptr) throw std::bad_alloc();
}

// Fills rmw's structure, which was checked to be empty. On failure, it is empty again.
rmw_ret_t fill(const NamesAndTypes& from, rcutils_allocator_t* allocator, rmw_names_and_types_t* to) {
  if (from.empty()) return RMW_RET_OK;
  rmw_ret_t ret = rmw_names_and_types_init(to, from.size(), allocator);
  if (ret != RMW_RET_OK) return ret;
  try {
    size_t i = 0;
    for (const auto& [name, types] : from) {
      put(&to->names.data[i], name, *allocator);
      if (rcutils_string_array_init(&to->types[i], types.size(), allocator) != RCUTILS_RET_OK)
        throw std::bad_alloc();
      size_t j = 0;
      for (const std::string& type : types) put(&to->types[i].data[j++], type, *allocator);
      ++i;
    }
    return RMW_RET_OK;
  } catch (const std::bad_alloc&) {
    std::ignore = rmw_names_and_types_fini(to);
    throw;
  }
}

void add(const GraphNode& node, auto&& is_wanted, NamesAndTypes& to) {
  for (const GraphEndpoint& endpoint : node.endpoints) {
    if (is_wanted(endpoint.role)) to[endpoint.name].insert(endpoint.type);
  }
}

rmw_ret_t all_names_and_types(const rmw_node_t* node, rcutils_allocator_t* allocator, bool services,
                              rmw_names_and_types_t* to) {
  SITU_CHECK_HANDLE(node);
  RCUTILS_CHECK_ALLOCATOR_WITH_MSG(allocator, "allocator is not valid", return RMW_RET_INVALID_ARGUMENT);
  if (rmw_names_and_types_check_zero(to) != RMW_RET_OK) return RMW_RET_INVALID_ARGUMENT;
  return guarded(RMW_RET_BAD_ALLOC, [&]() -> rmw_ret_t {
    const auto nodes = node->context->impl->graph.nodes();
    if (!nodes) return RMW_RET_ERROR;
    NamesAndTypes found;
    for (const GraphNode& each : *nodes) {
      add(
          each, [&](uint32_t role) { return is_service_role(role) == services; }, found);
    }
    return fill(found, allocator, to);
  });
}

rmw_ret_t names_and_types_by_node(const rmw_node_t* node, rcutils_allocator_t* allocator,
                                  const char* node_name, const char* node_namespace, uint32_t role,
                                  rmw_names_and_types_t* to) {
  SITU_CHECK_HANDLE(node);
  RCUTILS_CHECK_ALLOCATOR_WITH_MSG(allocator, "allocator is not valid", return RMW_RET_INVALID_ARGUMENT);
  SITU_CHECK_ARGUMENT(node_name);
  SITU_CHECK_ARGUMENT(node_namespace);
  int result = RMW_NODE_NAME_VALID;
  if (rmw_validate_node_name(node_name, &result, nullptr) != RMW_RET_OK) return RMW_RET_INVALID_ARGUMENT;
  if (result != RMW_NODE_NAME_VALID) {
    RMW_SET_ERROR_MSG_WITH_FORMAT_STRING("invalid node name '%s': %s", node_name,
                                         rmw_node_name_validation_result_string(result));
    return RMW_RET_INVALID_ARGUMENT;
  }
  result = RMW_NAMESPACE_VALID;
  if (rmw_validate_namespace(node_namespace, &result, nullptr) != RMW_RET_OK) return RMW_RET_INVALID_ARGUMENT;
  if (result != RMW_NAMESPACE_VALID) {
    RMW_SET_ERROR_MSG_WITH_FORMAT_STRING("invalid node namespace '%s': %s", node_namespace,
                                         rmw_namespace_validation_result_string(result));
    return RMW_RET_INVALID_ARGUMENT;
  }
  if (rmw_names_and_types_check_zero(to) != RMW_RET_OK) return RMW_RET_INVALID_ARGUMENT;
  return guarded(RMW_RET_BAD_ALLOC, [&]() -> rmw_ret_t {
    const auto nodes = node->context->impl->graph.nodes();
    if (!nodes) return RMW_RET_ERROR;
    bool exists = false;
    NamesAndTypes found;
    for (const GraphNode& each : *nodes) {
      if (each.name != node_name || each.node_namespace != node_namespace) continue;
      exists = true;
      add(
          each, [&](uint32_t its) { return its == role; }, found);
    }
    if (!exists) {
      RMW_SET_ERROR_MSG_WITH_FORMAT_STRING("there is no node '%s' in namespace '%s'", node_name,
                                           node_namespace);
      return RMW_RET_NODE_NAME_NON_EXISTENT;
    }
    return fill(found, allocator, to);
  });
}

// `enclaves` may be NULL.
rmw_ret_t node_names_and(const rmw_node_t* node, rcutils_string_array_t* node_names,
                         rcutils_string_array_t* node_namespaces, rcutils_string_array_t* enclaves) {
  if (rmw_check_zero_rmw_string_array(node_names) != RMW_RET_OK ||
      rmw_check_zero_rmw_string_array(node_namespaces) != RMW_RET_OK) {
    return RMW_RET_INVALID_ARGUMENT;
  }
  return guarded(RMW_RET_BAD_ALLOC, [&]() -> rmw_ret_t {
    const auto nodes = node->context->impl->graph.nodes();
    if (!nodes) return RMW_RET_ERROR;
    const rcutils_allocator_t allocator = rcutils_get_default_allocator();
    const auto make = [&](rcutils_string_array_t* array, const std::string GraphNode::*member) {
      if (array == nullptr) return;
      if (rcutils_string_array_init(array, nodes->size(), &allocator) != RCUTILS_RET_OK)
        throw std::bad_alloc();
      for (size_t i = 0; i < nodes->size(); ++i) put(&array->data[i], (*nodes)[i].*member, allocator);
    };
    try {
      make(node_names, &GraphNode::name);
      make(node_namespaces, &GraphNode::node_namespace);
      make(enclaves, &GraphNode::enclave);
    } catch (const std::bad_alloc&) {
      for (rcutils_string_array_t* array : {node_names, node_namespaces, enclaves}) {
        if (array != nullptr && array->data != nullptr) std::ignore = rcutils_string_array_fini(array);
      }
      throw;
    }
    return RMW_RET_OK;
  });
}

rmw_ret_t count(const rmw_node_t* node, const char* name, uint32_t role, size_t* number) {
  SITU_CHECK_HANDLE(node);
  SITU_CHECK_ARGUMENT(name);
  SITU_CHECK_ARGUMENT(number);
  int result = RMW_TOPIC_VALID;
  if (rmw_validate_full_topic_name(name, &result, nullptr) != RMW_RET_OK) return RMW_RET_ERROR;
  if (result != RMW_TOPIC_VALID) {
    RMW_SET_ERROR_MSG_WITH_FORMAT_STRING("'%s' is no name of a topic or service: %s", name,
                                         rmw_full_topic_name_validation_result_string(result));
    return RMW_RET_INVALID_ARGUMENT;
  }
  return guarded(RMW_RET_BAD_ALLOC, [&]() -> rmw_ret_t {
    const auto nodes = node->context->impl->graph.nodes();
    if (!nodes) return RMW_RET_ERROR;
    *number = 0;
    for (const GraphNode& each : *nodes) {
      *number += std::ranges::count_if(each.endpoints, [&](const GraphEndpoint& endpoint) {
        return endpoint.role == role && endpoint.name == name;
      });
    }
    return RMW_RET_OK;
  });
}

}  // namespace

extern "C" {

rmw_ret_t rmw_get_node_names_with_enclaves(const rmw_node_t* node, rcutils_string_array_t* node_names,
                                           rcutils_string_array_t* node_namespaces,
                                           rcutils_string_array_t* enclaves) {
  SITU_CHECK_HANDLE(node);
  if (rmw_check_zero_rmw_string_array(enclaves) != RMW_RET_OK) return RMW_RET_INVALID_ARGUMENT;
  return node_names_and(node, node_names, node_namespaces, enclaves);
}

rmw_ret_t rmw_get_node_names(const rmw_node_t* node, rcutils_string_array_t* node_names,
                             rcutils_string_array_t* node_namespaces) {
  SITU_CHECK_HANDLE(node);
  return node_names_and(node, node_names, node_namespaces, nullptr);
}

rmw_ret_t rmw_get_topic_names_and_types(const rmw_node_t* node, rcutils_allocator_t* allocator, bool,
                                        rmw_names_and_types_t* topic_names_and_types) {
  return all_names_and_types(node, allocator, false, topic_names_and_types);
}

rmw_ret_t rmw_get_service_names_and_types(const rmw_node_t* node, rcutils_allocator_t* allocator,
                                          rmw_names_and_types_t* service_names_and_types) {
  return all_names_and_types(node, allocator, true, service_names_and_types);
}

rmw_ret_t rmw_get_subscriber_names_and_types_by_node(const rmw_node_t* node, rcutils_allocator_t* allocator,
                                                     const char* node_name, const char* node_namespace, bool,
                                                     rmw_names_and_types_t* topic_names_and_types) {
  return names_and_types_by_node(node, allocator, node_name, node_namespace, SITU_ROLE_SUBSCRIBER,
                                 topic_names_and_types);
}

rmw_ret_t rmw_get_publisher_names_and_types_by_node(const rmw_node_t* node, rcutils_allocator_t* allocator,
                                                    const char* node_name, const char* node_namespace, bool,
                                                    rmw_names_and_types_t* topic_names_and_types) {
  return names_and_types_by_node(node, allocator, node_name, node_namespace, SITU_ROLE_PUBLISHER,
                                 topic_names_and_types);
}

rmw_ret_t rmw_get_service_names_and_types_by_node(const rmw_node_t* node, rcutils_allocator_t* allocator,
                                                  const char* node_name, const char* node_namespace,
                                                  rmw_names_and_types_t* service_names_and_types) {
  return names_and_types_by_node(node, allocator, node_name, node_namespace, SITU_ROLE_SERVER,
                                 service_names_and_types);
}

rmw_ret_t rmw_get_client_names_and_types_by_node(const rmw_node_t* node, rcutils_allocator_t* allocator,
                                                 const char* node_name, const char* node_namespace,
                                                 rmw_names_and_types_t* service_names_and_types) {
  return names_and_types_by_node(node, allocator, node_name, node_namespace, SITU_ROLE_CLIENT,
                                 service_names_and_types);
}

rmw_ret_t rmw_count_publishers(const rmw_node_t* node, const char* topic_name, size_t* number) {
  return count(node, topic_name, SITU_ROLE_PUBLISHER, number);
}

rmw_ret_t rmw_count_subscribers(const rmw_node_t* node, const char* topic_name, size_t* number) {
  return count(node, topic_name, SITU_ROLE_SUBSCRIBER, number);
}

rmw_ret_t rmw_count_clients(const rmw_node_t* node, const char* service_name, size_t* number) {
  return count(node, service_name, SITU_ROLE_CLIENT, number);
}

rmw_ret_t rmw_count_services(const rmw_node_t* node, const char* service_name, size_t* number) {
  return count(node, service_name, SITU_ROLE_SERVER, number);
}

}  // extern "C"
