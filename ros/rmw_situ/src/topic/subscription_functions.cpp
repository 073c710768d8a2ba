// rmw's functions for subscriptions.
#include <rcutils/strdup.h>
#include <rmw/allocators.h>
#include <rmw/dynamic_message_type_support.h>
#include <rmw/get_network_flow_endpoints.h>
#include <rmw/get_topic_endpoint_info.h>
#include <rmw/message_sequence.h>
#include <rmw/rmw.h>
#include <rosidl_dynamic_typesupport/api/dynamic_data.h>

#include <rmw_dds_common/qos.hpp>

#include "graph/type_topic.hpp"
#include "node.hpp"
#include "support/endpoint_data.hpp"
#include "support/qos.hpp"
#include "support/release.hpp"
#include "topic/subscription.hpp"
#include "topic/topic.hpp"

using namespace rmw_situ;

namespace {

rmw_subscription_t* create_subscription(const rmw_node_t* node,
                                        const rosidl_message_type_support_t* type_support,
                                        const char* topic_name, rmw_qos_profile_t qos,
                                        const rmw_subscription_options_t* options) {
  if (!check_topic_name(topic_name, qos)) return nullptr;
  if (options->require_unique_network_flow_endpoints == RMW_UNIQUE_NETWORK_FLOW_ENDPOINTS_STRICTLY_REQUIRED) {
    RMW_SET_ERROR_MSG("rmw_situ has no network flows: messages stay in shared memory");
    return nullptr;
  }
  const MessageType* const type = MessageType::find(type_support);
  if (type == nullptr) return nullptr;
  if (rmw_dds_common::qos_profile_get_best_available_for_topic_subscription(
          node, topic_name, &qos, rmw_get_publishers_info_by_topic) != RMW_RET_OK ||
      !resolve_subscription(qos)) {
    return nullptr;
  }
  const auto data =
      EndpointData{type->hash(), qos.history, qos.avoid_ros_namespace_conventions, qos.depth}.write();
  situ_subscriber_qos requested = to_subscriber_qos(qos);
  requested.user_data = data.data();
  requested.user_data_size = data.size();

  Node& owner = *static_cast<Node*>(node->data);
  const std::optional<std::string> domain = read_domain(options->rmw_specific_subscription_payload);
  StreamHandle stream;
  if (!domain || !make_stream(owner.handle.get(), *domain, stream)) return nullptr;
  // Plain messages are on the host: their bytes are the user's struct.
  if (type->is_plain()) stream.reset();
  const situ_placement placement = placement_in(type->is_plain() ? "" : domain->c_str());

  situ_subscriber* made;
  situ_error error;
  const auto create = [&](const char* name, situ_error* why) {
    return situ_subscriber_create_in(owner.handle.get(), name, &type->bus_type(), &requested, &placement,
                                     &made, why);
  };
  if (create_where_type_is(node->context->impl->graph, topic_bus_name(topic_name, qos), false,
                           type->bus_type().schema_hash, &error, create) != SITU_OK) {
    failed("cannot subscribe to topic", topic_name, error);
    return nullptr;
  }
  auto subscription = std::make_unique<Subscription>(*node->context->impl, *type, SubscriberHandle(made), qos,
                                                     options->ignore_local_publications);
  subscription->type_support = type_support;
  subscription->stream = std::move(stream);
  if (options->content_filter_options != nullptr &&
      subscription->set_filter(*options->content_filter_options) != RMW_RET_OK) {
    return nullptr;
  }
  rmw_subscription_t* const result = rmw_subscription_allocate();
  if (result == nullptr) throw std::bad_alloc();
  *result = {};
  result->topic_name = rcutils_strdup(topic_name, rcutils_get_default_allocator());
  if (result->topic_name == nullptr) {
    rmw_subscription_free(result);
    throw std::bad_alloc();
  }
  result->implementation_identifier = identifier;
  result->options = *options;
  result->can_loan_messages = type->is_plain() || type->make_shadow() != nullptr;
  rmw_reset_error();
  result->is_cft_enabled = subscription->has_filter();
  release::set_supports_filters(*result);
  result->data = subscription.release();
  return result;
}

Subscription& of(const rmw_subscription_t* subscription) {
  return *static_cast<Subscription*>(subscription->data);
}

// Takes the next message by a function of a subscription.
template <class Take>
rmw_ret_t take(const rmw_subscription_t* subscription, const void* message, bool* taken, Take&& take) {
  SITU_CHECK_ARGUMENT(subscription);
  SITU_CHECK_ARGUMENT(message);
  SITU_CHECK_ARGUMENT(taken);
  SITU_CHECK_HANDLE(subscription);
  return guarded(RMW_RET_BAD_ALLOC, [&] { return take(of(subscription)); });
}

}  // namespace

extern "C" {

rmw_subscription_t* rmw_create_subscription(const rmw_node_t* node,
                                            const rosidl_message_type_support_t* type_support,
                                            const char* topic_name, const rmw_qos_profile_t* qos_policies,
                                            const rmw_subscription_options_t* subscription_options) {
  SITU_CHECK_HANDLE_OR_NULL(node);
  RMW_CHECK_ARGUMENT_FOR_NULL(type_support, nullptr);
  RMW_CHECK_ARGUMENT_FOR_NULL(topic_name, nullptr);
  RMW_CHECK_ARGUMENT_FOR_NULL(qos_policies, nullptr);
  RMW_CHECK_ARGUMENT_FOR_NULL(subscription_options, nullptr);
  return guarded(static_cast<rmw_subscription_t*>(nullptr), [&] {
    return create_subscription(node, type_support, topic_name, *qos_policies, subscription_options);
  });
}

rmw_ret_t rmw_destroy_subscription(rmw_node_t* node, rmw_subscription_t* subscription) {
  SITU_CHECK_HANDLE(node);
  SITU_CHECK_HANDLE(subscription);
  delete &of(subscription);
  const rcutils_allocator_t allocator = rcutils_get_default_allocator();
  allocator.deallocate(const_cast<char*>(subscription->topic_name), allocator.state);
  rmw_subscription_free(subscription);
  return RMW_RET_OK;
}

rmw_ret_t rmw_subscription_count_matched_publishers(const rmw_subscription_t* subscription,
                                                    size_t* publisher_count) {
  SITU_CHECK_HANDLE(subscription);
  SITU_CHECK_ARGUMENT(publisher_count);
  return guarded(RMW_RET_BAD_ALLOC, [&] {
    Event* const matched = of(subscription).events.get(RMW_EVENT_SUBSCRIPTION_MATCHED);
    if (matched == nullptr) return RMW_RET_ERROR;
    *publisher_count = matched->matched();
    return RMW_RET_OK;
  });
}

rmw_ret_t rmw_subscription_get_actual_qos(const rmw_subscription_t* subscription, rmw_qos_profile_t* qos) {
  SITU_CHECK_HANDLE(subscription);
  SITU_CHECK_ARGUMENT(qos);
  *qos = of(subscription).qos;
  return RMW_RET_OK;
}

rmw_ret_t rmw_subscription_set_content_filter(rmw_subscription_t* subscription,
                                              const rmw_subscription_content_filter_options_t* options) {
  SITU_CHECK_HANDLE(subscription);
  SITU_CHECK_ARGUMENT(options);
  return guarded(RMW_RET_BAD_ALLOC, [&] {
    const rmw_ret_t ret = of(subscription).set_filter(*options);
    subscription->is_cft_enabled = of(subscription).has_filter();
    return ret;
  });
}

rmw_ret_t rmw_subscription_get_content_filter(const rmw_subscription_t* subscription,
                                              rcutils_allocator_t* allocator,
                                              rmw_subscription_content_filter_options_t* options) {
  SITU_CHECK_HANDLE(subscription);
  SITU_CHECK_ARGUMENT(allocator);
  SITU_CHECK_ARGUMENT(options);
  return guarded(RMW_RET_BAD_ALLOC, [&] { return of(subscription).get_filter(*allocator, options); });
}

rmw_ret_t rmw_take(const rmw_subscription_t* subscription, void* ros_message, bool* taken,
                   rmw_subscription_allocation_t*) {
  return take(subscription, ros_message, taken,
              [&](Subscription& from) { return from.take(ros_message, taken, nullptr); });
}

rmw_ret_t rmw_take_with_info(const rmw_subscription_t* subscription, void* ros_message, bool* taken,
                             rmw_message_info_t* message_info, rmw_subscription_allocation_t*) {
  SITU_CHECK_ARGUMENT(message_info);
  return take(subscription, ros_message, taken,
              [&](Subscription& from) { return from.take(ros_message, taken, message_info); });
}

rmw_ret_t rmw_take_sequence(const rmw_subscription_t* subscription, size_t count,
                            rmw_message_sequence_t* message_sequence,
                            rmw_message_info_sequence_t* message_info_sequence, size_t* taken,
                            rmw_subscription_allocation_t*) {
  SITU_CHECK_ARGUMENT(subscription);
  SITU_CHECK_ARGUMENT(message_sequence);
  SITU_CHECK_ARGUMENT(message_info_sequence);
  SITU_CHECK_ARGUMENT(taken);
  SITU_CHECK_HANDLE(subscription);
  if (count == 0) {
    RMW_SET_ERROR_MSG("count cannot be 0");
    return RMW_RET_INVALID_ARGUMENT;
  }
  if (count > message_sequence->capacity || count > message_info_sequence->capacity) {
    RMW_SET_ERROR_MSG_WITH_FORMAT_STRING(
        "%zu messages are asked for, and there is room for %zu, and for %zu infos", count,
        message_sequence->capacity, message_info_sequence->capacity);
    return RMW_RET_INVALID_ARGUMENT;
  }
  return guarded(RMW_RET_BAD_ALLOC, [&] {
    *taken = 0;
    rmw_ret_t ret = RMW_RET_OK;
    while (*taken < count) {
      bool one = false;
      ret = of(subscription).take(message_sequence->data[*taken], &one, &message_info_sequence->data[*taken]);
      if (ret != RMW_RET_OK || !one) break;
      ++*taken;
    }
    message_sequence->size = *taken;
    message_info_sequence->size = *taken;
    return ret;
  });
}

rmw_ret_t rmw_take_serialized_message(const rmw_subscription_t* subscription,
                                      rmw_serialized_message_t* serialized_message, bool* taken,
                                      rmw_subscription_allocation_t*) {
  return take(subscription, serialized_message, taken,
              [&](Subscription& from) { return from.take_serialized(serialized_message, taken, nullptr); });
}

rmw_ret_t rmw_take_serialized_message_with_info(const rmw_subscription_t* subscription,
                                                rmw_serialized_message_t* serialized_message, bool* taken,
                                                rmw_message_info_t* message_info,
                                                rmw_subscription_allocation_t*) {
  SITU_CHECK_ARGUMENT(message_info);
  return take(subscription, serialized_message, taken, [&](Subscription& from) {
    return from.take_serialized(serialized_message, taken, message_info);
  });
}

rmw_ret_t rmw_take_dynamic_message_with_info(const rmw_subscription_t* subscription,
                                             rosidl_dynamic_typesupport_dynamic_data_t* dynamic_message,
                                             bool* taken, rmw_message_info_t* message_info,
                                             rmw_subscription_allocation_t* allocation) {
  SITU_CHECK_ARGUMENT(subscription);
  SITU_CHECK_ARGUMENT(dynamic_message);
  SITU_CHECK_ARGUMENT(taken);
  SITU_CHECK_ARGUMENT(message_info);
  SITU_CHECK_HANDLE(subscription);
  rmw_serialized_message_t bytes = rmw_get_zero_initialized_serialized_message();
  const rcutils_allocator_t allocator = rcutils_get_default_allocator();
  rmw_ret_t ret = rmw_serialized_message_init(&bytes, 0, &allocator);
  if (ret != RMW_RET_OK) return ret;
  ret = rmw_take_serialized_message_with_info(subscription, &bytes, taken, message_info, allocation);
  if (ret == RMW_RET_OK && *taken &&
      rosidl_dynamic_typesupport_dynamic_data_deserialize(dynamic_message, &bytes) != RCUTILS_RET_OK) {
    RMW_SET_ERROR_MSG("the serialization library cannot read the message into dynamic data");
    *taken = false;
    ret = RMW_RET_ERROR;
  }
  const rmw_ret_t end = rmw_serialized_message_fini(&bytes);
  return ret == RMW_RET_OK ? end : ret;
}

rmw_ret_t rmw_take_dynamic_message(const rmw_subscription_t* subscription,
                                   rosidl_dynamic_typesupport_dynamic_data_t* dynamic_message, bool* taken,
                                   rmw_subscription_allocation_t* allocation) {
  rmw_message_info_t info;
  return rmw_take_dynamic_message_with_info(subscription, dynamic_message, taken, &info, allocation);
}

rmw_ret_t rmw_take_loaned_message_with_info(const rmw_subscription_t* subscription, void** loaned_message,
                                            bool* taken, rmw_message_info_t* message_info,
                                            rmw_subscription_allocation_t*) {
  SITU_CHECK_ARGUMENT(message_info);
  return take(subscription, loaned_message, taken, [&](Subscription& from) -> rmw_ret_t {
    if (!subscription->can_loan_messages) {
      RMW_SET_ERROR_MSG("messages of this type cannot be lent");
      return RMW_RET_UNSUPPORTED;
    }
    if (*loaned_message != nullptr) {
      RMW_SET_ERROR_MSG("loaned_message must point to NULL");
      return RMW_RET_INVALID_ARGUMENT;
    }
    return from.take_loaned(loaned_message, taken, message_info);
  });
}

rmw_ret_t rmw_take_loaned_message(const rmw_subscription_t* subscription, void** loaned_message, bool* taken,
                                  rmw_subscription_allocation_t* allocation) {
  rmw_message_info_t info;
  return rmw_take_loaned_message_with_info(subscription, loaned_message, taken, &info, allocation);
}

rmw_ret_t rmw_return_loaned_message_from_subscription(const rmw_subscription_t* subscription,
                                                      void* loaned_message) {
  SITU_CHECK_HANDLE(subscription);
  SITU_CHECK_ARGUMENT(loaned_message);
  if (!subscription->can_loan_messages) {
    RMW_SET_ERROR_MSG("messages of this type cannot be lent");
    return RMW_RET_UNSUPPORTED;
  }
  return guarded(RMW_RET_BAD_ALLOC, [&] { return of(subscription).give_back(loaned_message); });
}

rmw_ret_t rmw_subscription_set_on_new_message_callback(rmw_subscription_t* subscription,
                                                       rmw_event_callback_t callback, const void* user_data) {
  SITU_CHECK_HANDLE(subscription);
  return guarded(RMW_RET_BAD_ALLOC, [&] { return of(subscription).set_callback(callback, user_data); });
}

rmw_ret_t rmw_init_subscription_allocation(const rosidl_message_type_support_t*,
                                           const rosidl_runtime_c__Sequence__bound*,
                                           rmw_subscription_allocation_t*) {
  RMW_SET_ERROR_MSG("rmw_situ needs no allocations of subscriptions: messages lie in shared memory");
  return RMW_RET_UNSUPPORTED;
}

rmw_ret_t rmw_fini_subscription_allocation(rmw_subscription_allocation_t*) {
  RMW_SET_ERROR_MSG("rmw_situ needs no allocations of subscriptions: messages lie in shared memory");
  return RMW_RET_UNSUPPORTED;
}

rmw_ret_t rmw_subscription_get_network_flow_endpoints(const rmw_subscription_t* subscription,
                                                      rcutils_allocator_t*,
                                                      rmw_network_flow_endpoint_array_t*) {
  SITU_CHECK_HANDLE(subscription);
  RMW_SET_ERROR_MSG("rmw_situ has no network flows: messages stay in shared memory");
  return RMW_RET_UNSUPPORTED;
}

}  // extern "C"
