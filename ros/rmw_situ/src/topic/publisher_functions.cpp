// rmw's functions for publishers.
#include <rcutils/strdup.h>
#include <rmw/allocators.h>
#include <rmw/get_network_flow_endpoints.h>
#include <rmw/get_topic_endpoint_info.h>
#include <rmw/rmw.h>
#include <rmw/validate_full_topic_name.h>

#include <rmw_dds_common/qos.hpp>

#include "graph/type_topic.hpp"
#include "node.hpp"
#include "support/endpoint_data.hpp"
#include "support/names.hpp"
#include "support/qos.hpp"
#include "topic/publisher.hpp"
#include "topic/topic.hpp"

using namespace rmw_situ;

namespace {

rmw_publisher_t* create_publisher(const rmw_node_t* node, const rosidl_message_type_support_t* type_support,
                                  const char* topic_name, rmw_qos_profile_t qos,
                                  const rmw_publisher_options_t* options) {
  if (!check_topic_name(topic_name, qos)) return nullptr;
  if (options->require_unique_network_flow_endpoints == RMW_UNIQUE_NETWORK_FLOW_ENDPOINTS_STRICTLY_REQUIRED) {
    RMW_SET_ERROR_MSG("rmw_situ has no network flows: messages stay in shared memory");
    return nullptr;
  }
  const MessageType* const type = MessageType::find(type_support);
  if (type == nullptr) return nullptr;
  if (rmw_dds_common::qos_profile_get_best_available_for_topic_publisher(
          node, topic_name, &qos, rmw_get_subscriptions_info_by_topic) != RMW_RET_OK ||
      !resolve_publisher(qos)) {
    return nullptr;
  }
  const auto data =
      EndpointData{type->hash(), qos.history, qos.avoid_ros_namespace_conventions, qos.depth}.write();
  situ_publisher_qos offered = to_publisher_qos(qos);
  offered.user_data = data.data();
  offered.user_data_size = data.size();

  Node& owner = *static_cast<Node*>(node->data);
  const std::optional<std::string> domain = read_domain(options->rmw_specific_publisher_payload);
  StreamHandle stream;
  if (!domain || !make_stream(owner.handle.get(), *domain, stream)) return nullptr;
  // Plain messages are on the host: their bytes are the user's struct.
  if (type->is_plain()) stream.reset();
  const situ_placement placement = placement_in(type->is_plain() ? "" : domain->c_str());

  situ_publisher* made;
  situ_error error;
  const auto create = [&](const char* name, situ_error* why) {
    return situ_publisher_create_in(owner.handle.get(), name, &type->bus_type(), &offered, &placement, &made,
                                    why);
  };
  if (create_where_type_is(node->context->impl->graph, topic_bus_name(topic_name, qos), false,
                           type->bus_type().schema_hash, &error, create) != SITU_OK) {
    failed("cannot publish on topic", topic_name, error);
    return nullptr;
  }
  PublisherHandle handle(made);
  auto publisher = std::make_unique<Publisher>(*node->context->impl, *type, std::move(handle), qos);
  if (type->is_plain()) publisher->blank = type->make_blank();
  publisher->stream = std::move(stream);
  rmw_publisher_t* const result = rmw_publisher_allocate();
  if (result == nullptr) throw std::bad_alloc();
  *result = {};
  result->topic_name = rcutils_strdup(topic_name, rcutils_get_default_allocator());
  if (result->topic_name == nullptr) {
    rmw_publisher_free(result);
    throw std::bad_alloc();
  }
  result->implementation_identifier = identifier;
  result->options = *options;
  result->can_loan_messages = true;
  result->data = publisher.release();
  return result;
}

Publisher& of(const rmw_publisher_t* publisher) { return *static_cast<Publisher*>(publisher->data); }

}  // namespace

extern "C" {

rmw_publisher_t* rmw_create_publisher(const rmw_node_t* node,
                                      const rosidl_message_type_support_t* type_support,
                                      const char* topic_name, const rmw_qos_profile_t* qos_profile,
                                      const rmw_publisher_options_t* publisher_options) {
  SITU_CHECK_HANDLE_OR_NULL(node);
  RMW_CHECK_ARGUMENT_FOR_NULL(type_support, nullptr);
  RMW_CHECK_ARGUMENT_FOR_NULL(topic_name, nullptr);
  RMW_CHECK_ARGUMENT_FOR_NULL(qos_profile, nullptr);
  RMW_CHECK_ARGUMENT_FOR_NULL(publisher_options, nullptr);
  return guarded(static_cast<rmw_publisher_t*>(nullptr), [&] {
    return create_publisher(node, type_support, topic_name, *qos_profile, publisher_options);
  });
}

rmw_ret_t rmw_destroy_publisher(rmw_node_t* node, rmw_publisher_t* publisher) {
  SITU_CHECK_HANDLE(node);
  SITU_CHECK_HANDLE(publisher);
  delete &of(publisher);
  const rcutils_allocator_t allocator = rcutils_get_default_allocator();
  allocator.deallocate(const_cast<char*>(publisher->topic_name), allocator.state);
  rmw_publisher_free(publisher);
  return RMW_RET_OK;
}

rmw_ret_t rmw_publish(const rmw_publisher_t* publisher, const void* ros_message,
                      rmw_publisher_allocation_t*) {
  SITU_CHECK_HANDLE(publisher);
  SITU_CHECK_ARGUMENT(ros_message);
  return guarded(RMW_RET_BAD_ALLOC, [&] { return of(publisher).publish(ros_message); });
}

rmw_ret_t rmw_publish_serialized_message(const rmw_publisher_t* publisher,
                                         const rmw_serialized_message_t* serialized_message,
                                         rmw_publisher_allocation_t*) {
  SITU_CHECK_HANDLE(publisher);
  SITU_CHECK_ARGUMENT(serialized_message);
  return guarded(RMW_RET_BAD_ALLOC, [&] {
    return of(publisher).publish_cdr(
        std::as_bytes(std::span(serialized_message->buffer, serialized_message->buffer_length)));
  });
}

rmw_ret_t rmw_borrow_loaned_message(const rmw_publisher_t* publisher,
                                    const rosidl_message_type_support_t* type_support, void** ros_message) {
  SITU_CHECK_HANDLE(publisher);
  SITU_CHECK_ARGUMENT(type_support);
  SITU_CHECK_ARGUMENT(ros_message);
  if (*ros_message != nullptr) {
    RMW_SET_ERROR_MSG("ros_message must point to NULL");
    return RMW_RET_INVALID_ARGUMENT;
  }
  return guarded(RMW_RET_BAD_ALLOC, [&] { return of(publisher).borrow(ros_message); });
}

rmw_ret_t rmw_publish_loaned_message(const rmw_publisher_t* publisher, void* ros_message,
                                     rmw_publisher_allocation_t*) {
  SITU_CHECK_HANDLE(publisher);
  SITU_CHECK_ARGUMENT(ros_message);
  return guarded(RMW_RET_BAD_ALLOC, [&] { return of(publisher).publish_borrowed(ros_message); });
}

rmw_ret_t rmw_return_loaned_message_from_publisher(const rmw_publisher_t* publisher, void* loaned_message) {
  SITU_CHECK_HANDLE(publisher);
  SITU_CHECK_ARGUMENT(loaned_message);
  return guarded(RMW_RET_BAD_ALLOC, [&] { return of(publisher).give_back(loaned_message); });
}

rmw_ret_t rmw_publisher_count_matched_subscriptions(const rmw_publisher_t* publisher,
                                                    size_t* subscription_count) {
  SITU_CHECK_HANDLE(publisher);
  SITU_CHECK_ARGUMENT(subscription_count);
  return guarded(RMW_RET_BAD_ALLOC, [&] {
    Event* const matched = of(publisher).events.get(RMW_EVENT_PUBLICATION_MATCHED);
    if (matched == nullptr) return RMW_RET_ERROR;
    *subscription_count = matched->matched();
    return RMW_RET_OK;
  });
}

rmw_ret_t rmw_publisher_get_actual_qos(const rmw_publisher_t* publisher, rmw_qos_profile_t* qos) {
  SITU_CHECK_HANDLE(publisher);
  SITU_CHECK_ARGUMENT(qos);
  *qos = of(publisher).qos;
  return RMW_RET_OK;
}

rmw_ret_t rmw_publisher_assert_liveliness(const rmw_publisher_t* publisher) {
  SITU_CHECK_HANDLE(publisher);
  situ_publisher_assert_liveliness(of(publisher).handle.get());
  return RMW_RET_OK;
}

// A message that is published lies where its subscriptions read it: they have it already.
rmw_ret_t rmw_publisher_wait_for_all_acked(const rmw_publisher_t* publisher, rmw_time_t) {
  SITU_CHECK_HANDLE(publisher);
  return RMW_RET_OK;
}

rmw_ret_t rmw_get_gid_for_publisher(const rmw_publisher_t* publisher, rmw_gid_t* gid) {
  SITU_CHECK_HANDLE(publisher);
  SITU_CHECK_ARGUMENT(gid);
  gid->implementation_identifier = identifier;
  situ_publisher_id(of(publisher).handle.get(), gid->data);
  return RMW_RET_OK;
}

rmw_ret_t rmw_init_publisher_allocation(const rosidl_message_type_support_t*,
                                        const rosidl_runtime_c__Sequence__bound*,
                                        rmw_publisher_allocation_t*) {
  RMW_SET_ERROR_MSG("rmw_situ needs no allocations of publishers: messages lie in shared memory");
  return RMW_RET_UNSUPPORTED;
}

rmw_ret_t rmw_fini_publisher_allocation(rmw_publisher_allocation_t*) {
  RMW_SET_ERROR_MSG("rmw_situ needs no allocations of publishers: messages lie in shared memory");
  return RMW_RET_UNSUPPORTED;
}

rmw_ret_t rmw_publisher_get_network_flow_endpoints(const rmw_publisher_t* publisher, rcutils_allocator_t*,
                                                   rmw_network_flow_endpoint_array_t*) {
  SITU_CHECK_HANDLE(publisher);
  RMW_SET_ERROR_MSG("rmw_situ has no network flows: messages stay in shared memory");
  return RMW_RET_UNSUPPORTED;
}

}  // extern "C"
