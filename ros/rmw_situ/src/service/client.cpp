// Calling services.
#include "service/client.hpp"

#include <rcutils/strdup.h>
#include <rmw/allocators.h>
#include <rmw/rmw.h>

#include <algorithm>
#include <cstring>
#include <rmw_dds_common/qos.hpp>
#include <utility>

#include "graph/type_topic.hpp"
#include "node.hpp"
#include "support/endpoint_data.hpp"
#include "support/qos.hpp"
#include "topic/topic.hpp"
#include "types/transfer.hpp"

namespace rmw_situ {
namespace {

// As many calls as Situ allows. A client of ROS may forget its calls.
constexpr uint64_t max_calls = 32768;
// The first number of requests that are not sent.
constexpr int64_t first_unsent = int64_t{1} << 62;

}  // namespace

Client::Client(rmw_context_impl_s& context, const ServiceType& type_, ClientHandle handle_,
               rmw_qos_profile_t qos_)
    : type(type_),
      qos(qos_),
      handle(std::move(handle_)),
      context_(context),
      kept_(qos),
      unsent_(first_unsent) {}

Client::~Client() {
  context_.listener.remove(*this);
  detach();
}

rmw_ret_t Client::send(const void* request, int64_t* sequence_id) {
  const MessageType& message = type.request();
  const std::lock_guard lock(mutex_);
  if (!has_server()) {
    *sequence_id = unsent_++;
    return RMW_RET_OK;
  }
  const auto lend = [&](size_t head, size_t body, situ_loan* loan, situ_error* error) {
    return situ_client_loan(handle.get(), head, 64, body, loan, error);
  };
  situ_loan loan;
  const rmw_ret_t ret = write_message(message, request, lend, situ_loan_discard, &loan);
  if (ret != RMW_RET_OK) return ret;
  for (;;) {
    uint64_t call;
    situ_error error;
    // Servers that have no room get time to make some, as a writer of DDS gives it.
    switch (situ_request_send(&loan, SITU_FOREVER, 100'000'000, &call, &error)) {
      case SITU_OK:
        under_way_.push_back(call);
        *sequence_id = static_cast<int64_t>(call);
        return RMW_RET_OK;
      case SITU_ERROR_TOO_MANY_CALLS:
        if (under_way_.empty()) break;
        // The oldest call was most likely forgotten.
        (void)situ_client_cancel(handle.get(), under_way_.front(), nullptr);
        under_way_.pop_front();
        continue;
      case SITU_ERROR_NO_SERVER:
        situ_loan_discard(&loan);
        *sequence_id = unsent_++;
        return RMW_RET_OK;
      default:
        break;
    }
    situ_loan_discard(&loan);
    return failed("cannot send a request of type", message.ros_name().c_str(), error);
  }
}

void Client::collect() {
  while (kept_.has_room()) {
    situ_reply reply = {};
    const situ_status status = situ_client_take(handle.get(), &reply, nullptr);
    // After other errors, the reply was skipped.
    if (status == SITU_EMPTY || status == SITU_ERROR_HELD || status == SITU_ERROR_FORKED ||
        status == SITU_ERROR_REMOVED || status == SITU_ERROR_INTERNAL) {
      return;
    }
    std::erase(under_way_, reply.call);
    // After an error, there is no reply: the client waits in vain, as with any middleware.
    if (status != SITU_OK || reply.sample.head == nullptr) {
      if (status == SITU_OK) situ_sample_release(&reply.sample);
      continue;
    }
    kept_.push(reply);
  }
}

rmw_ret_t Client::take(rmw_service_info_t* info, void* response, bool* taken) {
  *taken = false;
  situ_reply reply;
  bool was_full;
  {
    const std::lock_guard lock(mutex_);
    collect();
    if (kept_.is_empty()) return RMW_RET_OK;
    was_full = !kept_.has_room();
    reply = kept_.pop();
  }
  // A reply that had no room gets one.
  if (was_full) context_.listener.tell(*this);
  const std::unique_ptr<situ_sample, void (*)(situ_sample*)> owner(&reply.sample, situ_sample_release);
  const rmw_ret_t ret = read_message(type.response(), reply.sample, response);
  if (ret != RMW_RET_OK) return ret;
  write_times(reply.sample.published_at_ns, info);
  situ_client_id(handle.get(), info->request_id.writer_guid);
  info->request_id.sequence_number = static_cast<int64_t>(reply.call);
  *taken = true;
  return RMW_RET_OK;
}

rmw_ret_t Client::set_callback(rmw_event_callback_t callback, const void* user_data) {
  return context_.listener.set(*this, callback, user_data);
}

situ_status Client::attach(situ_wait_set* set, uint64_t* id, situ_error* error) {
  return situ_wait_set_attach_client(set, handle.get(), id, error);
}

bool Client::has_kept() {
  const std::lock_guard lock(mutex_);
  return !kept_.is_empty();
}

bool Client::confirm() {
  const std::lock_guard lock(mutex_);
  collect();
  return !kept_.is_empty();
}

situ_status Client::listen(situ_wait_set* set, uint64_t* id, situ_error* error) {
  const std::lock_guard lock(mutex_);
  int descriptor;
  const situ_status status = situ_client_fd(handle.get(), &descriptor, error);
  return status == SITU_OK ? situ_wait_set_attach_descriptor(set, descriptor, SITU_READABLE, id, error)
                           : status;
}

size_t Client::count_new() {
  const std::lock_guard lock(mutex_);
  situ_client_clear_fd(handle.get());
  collect();
  return kept_.tell();
}

namespace {

rmw_client_t* create_client(const rmw_node_t* node, const rosidl_service_type_support_t* type_support,
                            const char* service_name, rmw_qos_profile_t qos) {
  if (!check_topic_name(service_name, qos)) return nullptr;
  const ServiceType* const type = ServiceType::find(type_support);
  if (type == nullptr) return nullptr;
  qos = rmw_dds_common::qos_profile_update_best_available_for_services(qos);
  if (!resolve_service(qos)) return nullptr;
  const auto data =
      EndpointData{type->hash(), qos.history, qos.avoid_ros_namespace_conventions, qos.depth}.write();
  situ_service_options options = to_service_options(qos);
  options.max_calls = max_calls;
  options.user_data = data.data();
  options.user_data_size = data.size();
  situ_client* made;
  situ_error error;
  const auto create = [&](const char* name, situ_error* why) {
    return situ_client_create(static_cast<Node*>(node->data)->handle.get(), name, &type->bus_type(), &options,
                              &made, why);
  };
  if (create_where_type_is(node->context->impl->graph, topic_bus_name(service_name, qos), true,
                           type->request().bus_type().schema_hash, &error, create) != SITU_OK) {
    failed("cannot make a client of service", service_name, error);
    return nullptr;
  }
  auto client = std::make_unique<Client>(*node->context->impl, *type, Client::ClientHandle(made), qos);
  rmw_client_t* const result = rmw_client_allocate();
  if (result == nullptr) throw std::bad_alloc();
  *result = {};
  result->service_name = rcutils_strdup(service_name, rcutils_get_default_allocator());
  if (result->service_name == nullptr) {
    rmw_client_free(result);
    throw std::bad_alloc();
  }
  result->implementation_identifier = identifier;
  result->data = client.release();
  return result;
}

Client& of(const rmw_client_t* client) { return *static_cast<Client*>(client->data); }

}  // namespace
}  // namespace rmw_situ

using namespace rmw_situ;

extern "C" {

rmw_client_t* rmw_create_client(const rmw_node_t* node, const rosidl_service_type_support_t* type_support,
                                const char* service_name, const rmw_qos_profile_t* qos_policies) {
  SITU_CHECK_HANDLE_OR_NULL(node);
  RMW_CHECK_ARGUMENT_FOR_NULL(type_support, nullptr);
  RMW_CHECK_ARGUMENT_FOR_NULL(service_name, nullptr);
  RMW_CHECK_ARGUMENT_FOR_NULL(qos_policies, nullptr);
  return guarded(static_cast<rmw_client_t*>(nullptr),
                 [&] { return create_client(node, type_support, service_name, *qos_policies); });
}

rmw_ret_t rmw_destroy_client(rmw_node_t* node, rmw_client_t* client) {
  SITU_CHECK_HANDLE(node);
  SITU_CHECK_HANDLE(client);
  delete &of(client);
  const rcutils_allocator_t allocator = rcutils_get_default_allocator();
  allocator.deallocate(const_cast<char*>(client->service_name), allocator.state);
  rmw_client_free(client);
  return RMW_RET_OK;
}

rmw_ret_t rmw_send_request(const rmw_client_t* client, const void* ros_request, int64_t* sequence_id) {
  SITU_CHECK_HANDLE(client);
  SITU_CHECK_ARGUMENT(ros_request);
  SITU_CHECK_ARGUMENT(sequence_id);
  return guarded(RMW_RET_BAD_ALLOC, [&] { return of(client).send(ros_request, sequence_id); });
}

rmw_ret_t rmw_take_response(const rmw_client_t* client, rmw_service_info_t* request_header,
                            void* ros_response, bool* taken) {
  SITU_CHECK_HANDLE(client);
  SITU_CHECK_ARGUMENT(request_header);
  SITU_CHECK_ARGUMENT(ros_response);
  SITU_CHECK_ARGUMENT(taken);
  return guarded(RMW_RET_BAD_ALLOC, [&] { return of(client).take(request_header, ros_response, taken); });
}

rmw_ret_t rmw_client_request_publisher_get_actual_qos(const rmw_client_t* client, rmw_qos_profile_t* qos) {
  SITU_CHECK_HANDLE(client);
  SITU_CHECK_ARGUMENT(qos);
  *qos = of(client).qos;
  return RMW_RET_OK;
}

rmw_ret_t rmw_client_response_subscription_get_actual_qos(const rmw_client_t* client,
                                                          rmw_qos_profile_t* qos) {
  return rmw_client_request_publisher_get_actual_qos(client, qos);
}

rmw_ret_t rmw_get_gid_for_client(const rmw_client_t* client, rmw_gid_t* gid) {
  SITU_CHECK_HANDLE(client);
  SITU_CHECK_ARGUMENT(gid);
  gid->implementation_identifier = identifier;
  situ_client_id(of(client).handle.get(), gid->data);
  return RMW_RET_OK;
}

rmw_ret_t rmw_service_server_is_available(const rmw_node_t* node, const rmw_client_t* client,
                                          bool* is_available) {
  SITU_CHECK_HANDLE(node);
  SITU_CHECK_HANDLE(client);
  SITU_CHECK_ARGUMENT(is_available);
  *is_available = of(client).has_server();
  return RMW_RET_OK;
}

rmw_ret_t rmw_client_set_on_new_response_callback(rmw_client_t* client, rmw_event_callback_t callback,
                                                  const void* user_data) {
  SITU_CHECK_HANDLE(client);
  return guarded(RMW_RET_BAD_ALLOC, [&] { return of(client).set_callback(callback, user_data); });
}

}  // extern "C"
