// Stand-in for Lyrical's header of the same name.
#pragma once

#include <rmw/service_endpoint_info_array.h>

extern "C" {

rmw_ret_t rmw_get_clients_info_by_service(const rmw_node_t*, rcutils_allocator_t*, const char*, bool,
                                          rmw_service_endpoint_info_array_t*);
rmw_ret_t rmw_get_servers_info_by_service(const rmw_node_t*, rcutils_allocator_t*, const char*, bool,
                                          rmw_service_endpoint_info_array_t*);
}
