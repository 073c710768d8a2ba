// Quality of service: from ROS to Situ, and back.
#pragma once

#include <rmw/types.h>
#include <situ.h>
#include <situ/service.h>

namespace rmw_situ {

// Replaces what a profile leaves to the middleware: by DDS's defaults, publishers are reliable and
// subscriptions are best effort, history keeps the last message, nothing expires. False, with rmw's error
// state set, for values that are no policy.
bool resolve_publisher(rmw_qos_profile_t& profile);
bool resolve_subscription(rmw_qos_profile_t& profile);
bool resolve_service(rmw_qos_profile_t& profile);

// What is left to do for resolved profiles.
situ_publisher_qos to_publisher_qos(const rmw_qos_profile_t& profile);
situ_subscriber_qos to_subscriber_qos(const rmw_qos_profile_t& profile);

// The options of a client or a server.
situ_service_options to_service_options(const rmw_qos_profile_t& profile);
// How many messages that were not taken by the user a client or a server keeps. Beyond it the oldest are
// dropped; with KEEP_ALL, the others wait on the bus.
size_t kept_of(const rmw_qos_profile_t& profile);

// Nanoseconds as Situ has them, where 0 is without a limit.
rmw_time_t to_duration(uint64_t limit_ns);

}  // namespace rmw_situ
