// Stand-in for Lyrical's headers of service endpoints: what rmw_situ uses of them. For tests on older
// releases.
#pragma once

#include <rcutils/allocator.h>
#include <rmw/types.h>
#include <rosidl_runtime_c/type_hash.h>

#define RMW_ENDPOINT_CLIENT static_cast<rmw_endpoint_type_t>(RMW_ENDPOINT_SUBSCRIPTION + 1)
#define RMW_ENDPOINT_SERVER static_cast<rmw_endpoint_type_t>(RMW_ENDPOINT_SUBSCRIPTION + 2)

extern "C" {

typedef struct rmw_service_endpoint_info_s {
  const char* node_name;
  const char* node_namespace;
  const char* service_type;
  rosidl_type_hash_t service_type_hash;
  rmw_endpoint_type_t endpoint_type;
  size_t endpoint_count;
  uint8_t (*endpoint_gids)[RMW_GID_STORAGE_SIZE];
  rmw_qos_profile_t* qos_profiles;
} rmw_service_endpoint_info_t;

typedef struct rmw_service_endpoint_info_array_s {
  size_t size;
  rmw_service_endpoint_info_t* info_array;
} rmw_service_endpoint_info_array_t;

rmw_service_endpoint_info_t rmw_get_zero_initialized_service_endpoint_info(void);
rmw_ret_t rmw_service_endpoint_info_set_node_name(rmw_service_endpoint_info_t*, const char*,
                                                  rcutils_allocator_t*);
rmw_ret_t rmw_service_endpoint_info_set_node_namespace(rmw_service_endpoint_info_t*, const char*,
                                                       rcutils_allocator_t*);
rmw_ret_t rmw_service_endpoint_info_set_service_type(rmw_service_endpoint_info_t*, const char*,
                                                     rcutils_allocator_t*);
rmw_ret_t rmw_service_endpoint_info_set_service_type_hash(rmw_service_endpoint_info_t*,
                                                          const rosidl_type_hash_t*);
rmw_ret_t rmw_service_endpoint_info_set_endpoint_type(rmw_service_endpoint_info_t*, rmw_endpoint_type_t);
rmw_ret_t rmw_service_endpoint_info_set_endpoint_count(rmw_service_endpoint_info_t*, size_t);
rmw_ret_t rmw_service_endpoint_info_set_gids(rmw_service_endpoint_info_t*, const uint8_t*, size_t, size_t,
                                             rcutils_allocator_t*);
rmw_ret_t rmw_service_endpoint_info_set_qos_profiles(rmw_service_endpoint_info_t*, const rmw_qos_profile_t*,
                                                     size_t, rcutils_allocator_t*);

rmw_service_endpoint_info_array_t rmw_get_zero_initialized_service_endpoint_info_array(void);
rmw_ret_t rmw_service_endpoint_info_array_check_zero(rmw_service_endpoint_info_array_t*);
rmw_ret_t rmw_service_endpoint_info_array_init_with_size(rmw_service_endpoint_info_array_t*, size_t,
                                                         rcutils_allocator_t*);
rmw_ret_t rmw_service_endpoint_info_array_fini(rmw_service_endpoint_info_array_t*, rcutils_allocator_t*);
}
