// The types of services of this process, each found once by the handle of its introspection.
#include "types/service_type.hpp"

#include <rmw/error_handling.h>
#include <rosidl_typesupport_introspection_c/identifier.h>

#include <exception>
#include <map>
#include <memory>
#include <mutex>
#include <rosidl_typesupport_introspection_cpp/identifier.hpp>
#include <string_view>

namespace rmw_situ {
namespace {

const rosidl_service_type_support_t* find_introspection(const rosidl_service_type_support_t* support) {
  if (support == nullptr || support->func == nullptr) return nullptr;
  const char* const identifiers[] = {rosidl_typesupport_introspection_c__identifier,
                                     rosidl_typesupport_introspection_cpp::typesupport_identifier};
  for (const char* identifier : identifiers) {
    const rosidl_service_type_support_t* found = get_service_typesupport_handle(support, identifier);
    if (found != nullptr) return found;
    rcutils_reset_error();
  }
  return nullptr;
}

}  // namespace

const ServiceType* ServiceType::find(const rosidl_service_type_support_t* support) try {
  // Never destroyed: threads may use types while the process exits.
  static auto& types = *new std::map<const void*, std::unique_ptr<ServiceType>>();
  static std::mutex mutex;
  constexpr std::string_view kSuffix = "_Request";

  const rosidl_service_type_support_t* introspection = find_introspection(support);
  if (introspection == nullptr) {
    RMW_SET_ERROR_MSG(
        "there is no introspection of the service type: build its package with "
        "rosidl_typesupport_introspection_c "
        "and rosidl_typesupport_introspection_cpp, and make their libraries findable");
    return nullptr;
  }
  const MessageType* request = MessageType::find(introspection->request_typesupport);
  const MessageType* response =
      request == nullptr ? nullptr : MessageType::find(introspection->response_typesupport);
  if (response == nullptr) return nullptr;
  if (!request->ros_name().ends_with(kSuffix)) {
    RMW_SET_ERROR_MSG_WITH_FORMAT_STRING(
        "the service type cannot be used: its request is called '%s', which does not end with '_Request'",
        request->ros_name().c_str());
    return nullptr;
  }
  std::lock_guard lock(mutex);
  std::unique_ptr<ServiceType>& type = types[introspection->data];
  if (!type) {
    std::unique_ptr<ServiceType> made(new ServiceType());
    made->ros_name_ = request->ros_name().substr(0, request->ros_name().size() - kSuffix.size());
    made->request_ = request;
    made->response_ = response;
    made->bus_type_ = {&request->bus_type(), &response->bus_type()};
    const rosidl_type_hash_t* hash = introspection->get_type_hash_func == nullptr
                                         ? nullptr
                                         : introspection->get_type_hash_func(introspection);
    made->hash_ = hash == nullptr ? rosidl_get_zero_initialized_type_hash() : *hash;
    type = std::move(made);
  }
  return type.get();
} catch (const std::exception& error) {
  RMW_SET_ERROR_MSG_WITH_FORMAT_STRING("the service type cannot be used: %s", error.what());
  return nullptr;
}

}  // namespace rmw_situ
