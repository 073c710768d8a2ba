// Nodes: each is a node of Situ.
#include "node.hpp"

#include <rcutils/strdup.h>
#include <rmw/allocators.h>
#include <rmw/rmw.h>
#include <rmw/validate_namespace.h>
#include <rmw/validate_node_name.h>

#include "context.hpp"
#include "support/endpoint_data.hpp"

using namespace rmw_situ;

namespace {

bool check_names(const char* name, const char* node_namespace) {
  int result = RMW_NODE_NAME_VALID;
  if (rmw_validate_node_name(name, &result, nullptr) != RMW_RET_OK) return false;
  if (result != RMW_NODE_NAME_VALID) {
    RMW_SET_ERROR_MSG_WITH_FORMAT_STRING("invalid node name '%s': %s", name,
                                         rmw_node_name_validation_result_string(result));
    return false;
  }
  result = RMW_NAMESPACE_VALID;
  if (rmw_validate_namespace(node_namespace, &result, nullptr) != RMW_RET_OK) return false;
  if (result != RMW_NAMESPACE_VALID) {
    RMW_SET_ERROR_MSG_WITH_FORMAT_STRING("invalid node namespace '%s': %s", node_namespace,
                                         rmw_namespace_validation_result_string(result));
    return false;
  }
  return true;
}

void free_node(rmw_node_t* node) {
  const rcutils_allocator_t allocator = rcutils_get_default_allocator();
  allocator.deallocate(const_cast<char*>(node->name), allocator.state);
  allocator.deallocate(const_cast<char*>(node->namespace_), allocator.state);
  rmw_node_free(node);
}

rmw_node_t* create_node(rmw_context_t* context, const char* name, const char* node_namespace) {
  rmw_context_impl_s& impl = *context->impl;
  const std::vector<uint8_t> data = write_enclave(impl.enclave);
  const situ_node_options options = {&impl.root, node_namespace, data.data(), data.size()};
  situ_node* made;
  situ_error error;
  if (situ_node_create_with(name, &options, &made, &error) != SITU_OK) {
    failed("cannot create node", name, error);
    return nullptr;
  }
  auto node = std::make_unique<Node>(Node{NodeHandle(made), nullptr});
  const situ_node* own;
  if (impl.get_own_node(&own, &error) != SITU_OK) {
    failed("cannot create node", name, error);
    return nullptr;
  }
  const int descriptor = impl.graph.descriptor();
  if (descriptor < 0 ||
      impl.listener.start(own, descriptor, [&graph = impl.graph] { graph.changed(); }) != RMW_RET_OK) {
    return nullptr;
  }
  node->graph_condition = make_guard_condition(context);
  if (node->graph_condition == nullptr) return nullptr;

  rmw_node_t* const result = rmw_node_allocate();
  if (result == nullptr) {
    destroy_guard_condition(node->graph_condition);
    throw std::bad_alloc();
  }
  *result = {};
  result->name = rcutils_strdup(name, rcutils_get_default_allocator());
  result->namespace_ = rcutils_strdup(node_namespace, rcutils_get_default_allocator());
  if (result->name == nullptr || result->namespace_ == nullptr) {
    destroy_guard_condition(node->graph_condition);
    free_node(result);
    throw std::bad_alloc();
  }
  result->implementation_identifier = identifier;
  result->context = context;
  impl.graph.add(static_cast<GuardCondition*>(node->graph_condition->data));
  {
    const std::lock_guard lock(impl.nodes_mutex);
    impl.nodes.emplace(situ_node_id(made), made);
  }
  result->data = node.release();
  return result;
}

}  // namespace

extern "C" {

rmw_node_t* rmw_create_node(rmw_context_t* context, const char* name, const char* namespace_) {
  SITU_CHECK_HANDLE_OR_NULL(context);
  RMW_CHECK_FOR_NULL_WITH_MSG(context->impl, "expected initialized context", return nullptr);
  RMW_CHECK_ARGUMENT_FOR_NULL(name, nullptr);
  RMW_CHECK_ARGUMENT_FOR_NULL(namespace_, nullptr);
  if (context->impl->is_shut_down) {
    RMW_SET_ERROR_MSG("context has been shutdown");
    return nullptr;
  }
  if (!check_names(name, namespace_)) return nullptr;
  return guarded(static_cast<rmw_node_t*>(nullptr), [&] { return create_node(context, name, namespace_); });
}

rmw_ret_t rmw_destroy_node(rmw_node_t* node) {
  SITU_CHECK_HANDLE(node);
  const std::unique_ptr<Node> owned(static_cast<Node*>(node->data));
  rmw_context_impl_s& impl = *node->context->impl;
  impl.graph.remove(static_cast<GuardCondition*>(owned->graph_condition->data));
  destroy_guard_condition(owned->graph_condition);
  {
    const std::lock_guard lock(impl.nodes_mutex);
    impl.nodes.erase(situ_node_id(owned->handle.get()));
  }
  free_node(node);
  return RMW_RET_OK;
}

const rmw_guard_condition_t* rmw_node_get_graph_guard_condition(const rmw_node_t* node) {
  SITU_CHECK_HANDLE_OR_NULL(node);
  return static_cast<Node*>(node->data)->graph_condition;
}

}  // extern "C"
