// Serving.
#include "service/server.hpp"

#include <rcutils/strdup.h>
#include <rmw/allocators.h>
#include <rmw/rmw.h>

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

// Requests that were never answered are forgotten beyond this number, the ones of the smallest keys first.
constexpr size_t max_unanswered = 1 << 16;

}  // namespace

Server::Server(rmw_context_impl_s& context, const ServiceType& type_, ServerHandle handle_,
               rmw_qos_profile_t qos_)
    : type(type_), qos(qos_), handle(std::move(handle_)), context_(context), kept_(qos) {}

Server::~Server() {
  context_.listener.remove(*this);
  detach();
}

void Server::collect() {
  while (kept_.has_room()) {
    situ_request request;
    const situ_status status = situ_server_take(handle.get(), &request, nullptr);
    if (status == SITU_OK) {
      kept_.push(request);
    } else if (status == SITU_ERROR_MALFORMED || status == SITU_ERROR_POISONED) {
      // It was skipped.
    } else {
      break;
    }
  }
}

rmw_ret_t Server::take(rmw_service_info_t* info, void* request, bool* taken) {
  *taken = false;
  situ_request next;
  bool was_full;
  {
    const std::lock_guard lock(mutex_);
    collect();
    if (kept_.is_empty()) return RMW_RET_OK;
    was_full = !kept_.has_room();
    next = kept_.pop();
    if (unanswered_.size() >= max_unanswered) unanswered_.erase(unanswered_.begin());
    unanswered_.insert_or_assign(Key{next.id.node, next.id.client, next.id.call}, next.id);
  }
  // A request that had no room gets one.
  if (was_full) context_.listener.tell(*this);
  const std::unique_ptr<situ_request, void (*)(situ_request*)> owner(&next, situ_request_release);
  const rmw_ret_t ret = read_message(type.request(), next.sample, request);
  if (ret != RMW_RET_OK) return ret;
  write_times(next.id.sent_at_ns, info);
  std::memcpy(info->request_id.writer_guid, &next.id.node, 8);
  std::memcpy(info->request_id.writer_guid + 8, &next.id.client, 8);
  info->request_id.sequence_number = static_cast<int64_t>(next.id.call);
  *taken = true;
  return RMW_RET_OK;
}

rmw_ret_t Server::respond(const rmw_request_id_t& id, const void* response) {
  Key key;
  std::memcpy(&std::get<0>(key), id.writer_guid, 8);
  std::memcpy(&std::get<1>(key), id.writer_guid + 8, 8);
  std::get<2>(key) = static_cast<uint64_t>(id.sequence_number);

  const std::lock_guard lock(mutex_);
  const auto found = unanswered_.find(key);
  if (found == unanswered_.end()) {
    RMW_SET_ERROR_MSG_WITH_FORMAT_STRING(
        "request %lld was not taken from this service, or is answered already",
        static_cast<long long>(id.sequence_number));
    return RMW_RET_ERROR;
  }
  const situ_request_id request = found->second;
  situ_status lent = SITU_OK;
  const auto lend = [&](size_t head, size_t body, situ_loan* loan, situ_error* error) {
    return lent = situ_server_loan(handle.get(), &request, head, 64, body, loan, error);
  };
  situ_loan loan;
  rmw_ret_t ret = write_message(type.response(), response, lend, situ_loan_discard, &loan);
  if (ret == RMW_RET_OK) {
    situ_error error;
    lent = situ_reply_send(&loan, 1, 100'000'000, &error);
    if (lent != SITU_OK) {
      situ_loan_discard(&loan);
      ret = failed("cannot send a response of type", type.response().ros_name().c_str(), error);
    }
  }
  // A client that has gone needs no response.
  if (lent == SITU_ERROR_CLIENT_GONE) {
    rmw_reset_error();
    ret = RMW_RET_OK;
  }
  if (ret == RMW_RET_OK) unanswered_.erase(found);
  return ret;
}

rmw_ret_t Server::set_callback(rmw_event_callback_t callback, const void* user_data) {
  return context_.listener.set(*this, callback, user_data);
}

situ_status Server::attach(situ_wait_set* set, uint64_t* id, situ_error* error) {
  return situ_wait_set_attach_server(set, handle.get(), id, error);
}

bool Server::has_kept() {
  const std::lock_guard lock(mutex_);
  return !kept_.is_empty();
}

bool Server::confirm() {
  const std::lock_guard lock(mutex_);
  collect();
  return !kept_.is_empty();
}

situ_status Server::listen(situ_wait_set* set, uint64_t* id, situ_error* error) {
  const std::lock_guard lock(mutex_);
  int descriptor;
  const situ_status status = situ_server_fd(handle.get(), &descriptor, error);
  return status == SITU_OK ? situ_wait_set_attach_descriptor(set, descriptor, SITU_READABLE, id, error)
                           : status;
}

size_t Server::count_new() {
  const std::lock_guard lock(mutex_);
  situ_server_clear_fd(handle.get());
  collect();
  return kept_.tell();
}

namespace {

rmw_service_t* create_service(const rmw_node_t* node, const rosidl_service_type_support_t* type_support,
                              const char* service_name, rmw_qos_profile_t qos) {
  if (!check_topic_name(service_name, qos)) return nullptr;
  const ServiceType* const type = ServiceType::find(type_support);
  if (type == nullptr) return nullptr;
  qos = rmw_dds_common::qos_profile_update_best_available_for_services(qos);
  if (!resolve_service(qos)) return nullptr;
  const auto data =
      EndpointData{type->hash(), qos.history, qos.avoid_ros_namespace_conventions, qos.depth}.write();
  situ_service_options options = to_service_options(qos);
  options.user_data = data.data();
  options.user_data_size = data.size();
  situ_server* made;
  situ_error error;
  const auto create = [&](const char* name, situ_error* why) {
    return situ_server_create(static_cast<Node*>(node->data)->handle.get(), name, &type->bus_type(), &options,
                              &made, why);
  };
  if (create_where_type_is(node->context->impl->graph, topic_bus_name(service_name, qos), true,
                           type->request().bus_type().schema_hash, &error, create) != SITU_OK) {
    failed("cannot serve service", service_name, error);
    return nullptr;
  }
  auto server = std::make_unique<Server>(*node->context->impl, *type, Server::ServerHandle(made), qos);
  rmw_service_t* const result = rmw_service_allocate();
  if (result == nullptr) throw std::bad_alloc();
  *result = {};
  result->service_name = rcutils_strdup(service_name, rcutils_get_default_allocator());
  if (result->service_name == nullptr) {
    rmw_service_free(result);
    throw std::bad_alloc();
  }
  result->implementation_identifier = identifier;
  result->data = server.release();
  return result;
}

Server& of(const rmw_service_t* service) { return *static_cast<Server*>(service->data); }

}  // namespace
}  // namespace rmw_situ

using namespace rmw_situ;

extern "C" {

rmw_service_t* rmw_create_service(const rmw_node_t* node, const rosidl_service_type_support_t* type_support,
                                  const char* service_name, const rmw_qos_profile_t* qos_profile) {
  SITU_CHECK_HANDLE_OR_NULL(node);
  RMW_CHECK_ARGUMENT_FOR_NULL(type_support, nullptr);
  RMW_CHECK_ARGUMENT_FOR_NULL(service_name, nullptr);
  RMW_CHECK_ARGUMENT_FOR_NULL(qos_profile, nullptr);
  return guarded(static_cast<rmw_service_t*>(nullptr),
                 [&] { return create_service(node, type_support, service_name, *qos_profile); });
}

rmw_ret_t rmw_destroy_service(rmw_node_t* node, rmw_service_t* service) {
  SITU_CHECK_HANDLE(node);
  SITU_CHECK_HANDLE(service);
  delete &of(service);
  const rcutils_allocator_t allocator = rcutils_get_default_allocator();
  allocator.deallocate(const_cast<char*>(service->service_name), allocator.state);
  rmw_service_free(service);
  return RMW_RET_OK;
}

rmw_ret_t rmw_take_request(const rmw_service_t* service, rmw_service_info_t* request_header,
                           void* ros_request, bool* taken) {
  SITU_CHECK_HANDLE(service);
  SITU_CHECK_ARGUMENT(request_header);
  SITU_CHECK_ARGUMENT(ros_request);
  SITU_CHECK_ARGUMENT(taken);
  return guarded(RMW_RET_BAD_ALLOC, [&] { return of(service).take(request_header, ros_request, taken); });
}

rmw_ret_t rmw_send_response(const rmw_service_t* service, rmw_request_id_t* request_header,
                            void* ros_response) {
  SITU_CHECK_HANDLE(service);
  SITU_CHECK_ARGUMENT(request_header);
  SITU_CHECK_ARGUMENT(ros_response);
  return guarded(RMW_RET_BAD_ALLOC, [&] { return of(service).respond(*request_header, ros_response); });
}

rmw_ret_t rmw_service_request_subscription_get_actual_qos(const rmw_service_t* service,
                                                          rmw_qos_profile_t* qos) {
  SITU_CHECK_HANDLE(service);
  SITU_CHECK_ARGUMENT(qos);
  *qos = of(service).qos;
  return RMW_RET_OK;
}

rmw_ret_t rmw_service_response_publisher_get_actual_qos(const rmw_service_t* service,
                                                        rmw_qos_profile_t* qos) {
  return rmw_service_request_subscription_get_actual_qos(service, qos);
}

rmw_ret_t rmw_service_set_on_new_request_callback(rmw_service_t* service, rmw_event_callback_t callback,
                                                  const void* user_data) {
  SITU_CHECK_HANDLE(service);
  return guarded(RMW_RET_BAD_ALLOC, [&] { return of(service).set_callback(callback, user_data); });
}

}  // extern "C"
