// Stand-in for the functions of Lyrical's librmw that fill the endpoints of a service.
#include <rcutils/strdup.h>
#include <rmw/service_endpoint_info_array.h>

#include <algorithm>
#include <cstring>

namespace {

rmw_ret_t set(const char*& place, const char* text, const rcutils_allocator_t& allocator) {
  place = rcutils_strdup(text, allocator);
  return place == nullptr ? RMW_RET_BAD_ALLOC : RMW_RET_OK;
}

}  // namespace

extern "C" {

rmw_service_endpoint_info_t rmw_get_zero_initialized_service_endpoint_info(void) { return {}; }

rmw_ret_t rmw_service_endpoint_info_set_node_name(rmw_service_endpoint_info_t* info, const char* text,
                                                  rcutils_allocator_t* allocator) {
  return set(info->node_name, text, *allocator);
}

rmw_ret_t rmw_service_endpoint_info_set_node_namespace(rmw_service_endpoint_info_t* info, const char* text,
                                                       rcutils_allocator_t* allocator) {
  return set(info->node_namespace, text, *allocator);
}

rmw_ret_t rmw_service_endpoint_info_set_service_type(rmw_service_endpoint_info_t* info, const char* text,
                                                     rcutils_allocator_t* allocator) {
  return set(info->service_type, text, *allocator);
}

rmw_ret_t rmw_service_endpoint_info_set_service_type_hash(rmw_service_endpoint_info_t* info,
                                                          const rosidl_type_hash_t* hash) {
  info->service_type_hash = *hash;
  return RMW_RET_OK;
}

rmw_ret_t rmw_service_endpoint_info_set_endpoint_type(rmw_service_endpoint_info_t* info,
                                                      rmw_endpoint_type_t type) {
  info->endpoint_type = type;
  return RMW_RET_OK;
}

rmw_ret_t rmw_service_endpoint_info_set_endpoint_count(rmw_service_endpoint_info_t* info, size_t count) {
  info->endpoint_count = count;
  return RMW_RET_OK;
}

rmw_ret_t rmw_service_endpoint_info_set_gids(rmw_service_endpoint_info_t* info, const uint8_t* gids,
                                             size_t count, size_t size, rcutils_allocator_t* allocator) {
  if (size > RMW_GID_STORAGE_SIZE) return RMW_RET_INVALID_ARGUMENT;
  void* const memory = allocator->zero_allocate(count, RMW_GID_STORAGE_SIZE, allocator->state);
  if (memory == nullptr) return RMW_RET_BAD_ALLOC;
  info->endpoint_gids = static_cast<uint8_t(*)[RMW_GID_STORAGE_SIZE]>(memory);
  for (size_t i = 0; i < count; ++i) std::memcpy(info->endpoint_gids[i], gids + i * size, size);
  return RMW_RET_OK;
}

rmw_ret_t rmw_service_endpoint_info_set_qos_profiles(rmw_service_endpoint_info_t* info,
                                                     const rmw_qos_profile_t* profiles, size_t count,
                                                     rcutils_allocator_t* allocator) {
  void* const memory = allocator->allocate(count * sizeof(rmw_qos_profile_t), allocator->state);
  if (memory == nullptr) return RMW_RET_BAD_ALLOC;
  info->qos_profiles = static_cast<rmw_qos_profile_t*>(memory);
  std::copy_n(profiles, count, info->qos_profiles);
  return RMW_RET_OK;
}

rmw_service_endpoint_info_array_t rmw_get_zero_initialized_service_endpoint_info_array(void) { return {}; }

rmw_ret_t rmw_service_endpoint_info_array_check_zero(rmw_service_endpoint_info_array_t* array) {
  if (array == nullptr) return RMW_RET_INVALID_ARGUMENT;
  return array->size == 0 && array->info_array == nullptr ? RMW_RET_OK : RMW_RET_ERROR;
}

rmw_ret_t rmw_service_endpoint_info_array_init_with_size(rmw_service_endpoint_info_array_t* array,
                                                         size_t size, rcutils_allocator_t* allocator) {
  void* const memory = allocator->allocate(size * sizeof(rmw_service_endpoint_info_t), allocator->state);
  if (memory == nullptr) return RMW_RET_BAD_ALLOC;
  *array = {size, static_cast<rmw_service_endpoint_info_t*>(memory)};
  return RMW_RET_OK;
}

rmw_ret_t rmw_service_endpoint_info_array_fini(rmw_service_endpoint_info_array_t* array,
                                               rcutils_allocator_t* allocator) {
  const auto free = [&](const void* memory) {
    allocator->deallocate(const_cast<void*>(memory), allocator->state);
  };
  for (size_t i = 0; i < array->size; ++i) {
    const rmw_service_endpoint_info_t& info = array->info_array[i];
    for (const char* text : {info.node_name, info.node_namespace, info.service_type}) free(text);
    free(info.endpoint_gids);
    free(info.qos_profiles);
  }
  free(array->info_array);
  *array = {};
  return RMW_RET_OK;
}

}  // extern "C"
