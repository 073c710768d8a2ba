// Serialization, and what is true of the middleware as a whole.
#include <dlfcn.h>
#include <rmw/dynamic_message_type_support.h>
#include <rmw/features.h>
#include <rmw/qos_profiles.h>
#include <rmw/rmw.h>

#include <cstring>
#include <rmw_dds_common/qos.hpp>

#include "support/check.hpp"
#include "types/message_type.hpp"

using namespace rmw_situ;

extern "C" {

rmw_ret_t rmw_serialize(const void* ros_message, const rosidl_message_type_support_t* type_support,
                        rmw_serialized_message_t* serialized_message) {
  SITU_CHECK_ARGUMENT(ros_message);
  SITU_CHECK_ARGUMENT(type_support);
  SITU_CHECK_ARGUMENT(serialized_message);
  return guarded(RMW_RET_BAD_ALLOC, [&]() -> rmw_ret_t {
    const MessageType* const type = MessageType::find(type_support);
    if (type == nullptr) return RMW_RET_ERROR;
    const size_t size = type->cdr_size(ros_message);
    if (serialized_message->buffer_capacity < size) {
      const rmw_ret_t ret = rmw_serialized_message_resize(serialized_message, size);
      if (ret != RMW_RET_OK) return ret;
    }
    if (!type->write_cdr(ros_message, std::as_writable_bytes(std::span(serialized_message->buffer, size)))) {
      return RMW_RET_ERROR;
    }
    serialized_message->buffer_length = size;
    return RMW_RET_OK;
  });
}

rmw_ret_t rmw_deserialize(const rmw_serialized_message_t* serialized_message,
                          const rosidl_message_type_support_t* type_support, void* ros_message) {
  SITU_CHECK_ARGUMENT(serialized_message);
  SITU_CHECK_ARGUMENT(type_support);
  SITU_CHECK_ARGUMENT(ros_message);
  return guarded(RMW_RET_BAD_ALLOC, [&]() -> rmw_ret_t {
    const MessageType* const type = MessageType::find(type_support);
    if (type == nullptr) return RMW_RET_ERROR;
    const std::span bytes(serialized_message->buffer, serialized_message->buffer_length);
    return type->read_cdr(std::as_bytes(bytes), ros_message) ? RMW_RET_OK : RMW_RET_ERROR;
  });
}

// How large a message can become is known only for types with bounds, and no caller needs it here: memory is
// lent for each message.
rmw_ret_t rmw_get_serialized_message_size(const rosidl_message_type_support_t*,
                                          const rosidl_runtime_c__Sequence__bound*, size_t*) {
  RMW_SET_ERROR_MSG("rmw_situ lends memory for each message: sizes are not known beforehand");
  return RMW_RET_UNSUPPORTED;
}

// Dynamic data need a library of their own. It is loaded if it is installed.
rmw_ret_t rmw_serialization_support_init(
    const char* serialization_lib_name, rcutils_allocator_t* allocator,
    rosidl_dynamic_typesupport_serialization_support_t* serialization_support) {
  SITU_CHECK_ARGUMENT(serialization_lib_name);
  SITU_CHECK_ARGUMENT(allocator);
  SITU_CHECK_ARGUMENT(serialization_support);
  return guarded(RMW_RET_BAD_ALLOC, [&]() -> rmw_ret_t {
    using InitImpl =
        rcutils_ret_t (*)(rcutils_allocator_t*, rosidl_dynamic_typesupport_serialization_support_impl_t*);
    using InitInterface = rcutils_ret_t (*)(rcutils_allocator_t*,
                                            rosidl_dynamic_typesupport_serialization_support_interface_t*);
    constexpr char library[] = "librosidl_dynamic_typesupport_fastrtps.so";
    void* const loaded = dlopen(library, RTLD_NOW | RTLD_LOCAL);
    const auto impl = loaded
                          ? reinterpret_cast<InitImpl>(dlsym(
                                loaded, "rosidl_dynamic_typesupport_fastdds_init_serialization_support_impl"))
                          : nullptr;
    const auto interface =
        loaded ? reinterpret_cast<InitInterface>(
                     dlsym(loaded, "rosidl_dynamic_typesupport_fastdds_init_serialization_support_interface"))
               : nullptr;
    if (impl == nullptr || interface == nullptr) {
      RMW_SET_ERROR_MSG_WITH_FORMAT_STRING(
          "dynamic messages need %s, which is not there: install the package "
          "rosidl_dynamic_typesupport_fastrtps",
          library);
      return RMW_RET_UNSUPPORTED;
    }
    rosidl_dynamic_typesupport_serialization_support_impl_t impls =
        rosidl_dynamic_typesupport_get_zero_initialized_serialization_support_impl();
    rosidl_dynamic_typesupport_serialization_support_interface_t methods =
        rosidl_dynamic_typesupport_get_zero_initialized_serialization_support_interface();
    if (impl(allocator, &impls) != RCUTILS_RET_OK || interface(allocator, &methods) != RCUTILS_RET_OK ||
        rosidl_dynamic_typesupport_serialization_support_init(&impls, &methods, allocator,
                                                              serialization_support) != RCUTILS_RET_OK) {
      RMW_SET_ERROR_MSG_WITH_FORMAT_STRING("%s cannot be initialized", library);
      return RMW_RET_ERROR;
    }
    return RMW_RET_OK;
  });
}

bool rmw_feature_supported(rmw_feature_t feature) {
  switch (feature) {
    case RMW_FEATURE_MESSAGE_INFO_PUBLICATION_SEQUENCE_NUMBER:
    case RMW_FEATURE_MESSAGE_INFO_RECEPTION_SEQUENCE_NUMBER:
    case RMW_MIDDLEWARE_CAN_TAKE_DYNAMIC_MESSAGE:
      return true;
    default:
      return false;
  }
}

rmw_ret_t rmw_qos_profile_check_compatible(const rmw_qos_profile_t publisher_profile,
                                           const rmw_qos_profile_t subscription_profile,
                                           rmw_qos_compatibility_type_t* compatibility, char* reason,
                                           size_t reason_size) {
  return rmw_dds_common::qos_profile_check_compatible(publisher_profile, subscription_profile, compatibility,
                                                      reason, reason_size);
}

rmw_ret_t rmw_compare_gids_equal(const rmw_gid_t* gid1, const rmw_gid_t* gid2, bool* result) {
  SITU_CHECK_HANDLE(gid1);
  SITU_CHECK_HANDLE(gid2);
  SITU_CHECK_ARGUMENT(result);
  *result = std::memcmp(gid1->data, gid2->data, RMW_GID_STORAGE_SIZE) == 0;
  return RMW_RET_OK;
}

// Situ has no log of its own: failures are told to the caller.
rmw_ret_t rmw_set_log_severity(rmw_log_severity_t severity) {
  switch (severity) {
    case RMW_LOG_SEVERITY_DEBUG:
    case RMW_LOG_SEVERITY_INFO:
    case RMW_LOG_SEVERITY_WARN:
    case RMW_LOG_SEVERITY_ERROR:
    case RMW_LOG_SEVERITY_FATAL:
      return RMW_RET_OK;
    default:
      RMW_SET_ERROR_MSG_WITH_FORMAT_STRING("%d is no severity", int(severity));
      return RMW_RET_INVALID_ARGUMENT;
  }
}

}  // extern "C"
