// Quality of service: from ROS to Situ, and back.
#include "qos.hpp"

#include <rmw/error_handling.h>
#include <rmw/time.h>

#include <algorithm>

namespace rmw_situ {
namespace {

constexpr rmw_time_t infinite = RMW_DURATION_INFINITE;
constexpr rmw_time_t unspecified = RMW_DURATION_UNSPECIFIED;

void resolve_duration(rmw_time_t& duration) {
  if (rmw_time_equal(duration, unspecified)) duration = infinite;
}

// A limit of Situ, where 0 is none.
uint64_t to_limit(rmw_time_t duration) {
  if (rmw_time_equal(duration, infinite) || rmw_time_equal(duration, unspecified)) return 0;
  // It saturates, at 292 years.
  const int64_t limit = rmw_time_total_nsec(duration);
  return limit == INT64_MAX ? 0 : static_cast<uint64_t>(limit);
}

bool resolve(rmw_qos_profile_t& profile, rmw_qos_reliability_policy_t reliability) {
  switch (profile.history) {
    case RMW_QOS_POLICY_HISTORY_SYSTEM_DEFAULT:
      profile.history = RMW_QOS_POLICY_HISTORY_KEEP_LAST;
      break;
    case RMW_QOS_POLICY_HISTORY_KEEP_LAST:
    case RMW_QOS_POLICY_HISTORY_KEEP_ALL:
      break;
    default:
      RMW_SET_ERROR_MSG_WITH_FORMAT_STRING("%d is no history policy of an endpoint", int(profile.history));
      return false;
  }
  if (profile.depth == RMW_QOS_POLICY_DEPTH_SYSTEM_DEFAULT) profile.depth = 1;
  switch (profile.reliability) {
    case RMW_QOS_POLICY_RELIABILITY_SYSTEM_DEFAULT:
      profile.reliability = reliability;
      break;
    case RMW_QOS_POLICY_RELIABILITY_RELIABLE:
    case RMW_QOS_POLICY_RELIABILITY_BEST_EFFORT:
      break;
    default:
      RMW_SET_ERROR_MSG_WITH_FORMAT_STRING("%d is no reliability policy of an endpoint",
                                           int(profile.reliability));
      return false;
  }
  switch (profile.durability) {
    case RMW_QOS_POLICY_DURABILITY_SYSTEM_DEFAULT:
      profile.durability = RMW_QOS_POLICY_DURABILITY_VOLATILE;
      break;
    case RMW_QOS_POLICY_DURABILITY_TRANSIENT_LOCAL:
    case RMW_QOS_POLICY_DURABILITY_VOLATILE:
      break;
    default:
      RMW_SET_ERROR_MSG_WITH_FORMAT_STRING("%d is no durability policy of an endpoint",
                                           int(profile.durability));
      return false;
  }
  switch (profile.liveliness) {
    case RMW_QOS_POLICY_LIVELINESS_SYSTEM_DEFAULT:
      profile.liveliness = RMW_QOS_POLICY_LIVELINESS_AUTOMATIC;
      break;
    case RMW_QOS_POLICY_LIVELINESS_AUTOMATIC:
    case RMW_QOS_POLICY_LIVELINESS_MANUAL_BY_TOPIC:
      break;
    default:
      RMW_SET_ERROR_MSG_WITH_FORMAT_STRING("%d is no liveliness policy of an endpoint",
                                           int(profile.liveliness));
      return false;
  }
  resolve_duration(profile.deadline);
  resolve_duration(profile.lifespan);
  resolve_duration(profile.liveliness_lease_duration);
  return true;
}

uint32_t reliability_of(const rmw_qos_profile_t& profile) {
  return profile.reliability == RMW_QOS_POLICY_RELIABILITY_RELIABLE ? SITU_RELIABLE : SITU_BEST_EFFORT;
}

uint32_t durability_of(const rmw_qos_profile_t& profile) {
  return profile.durability == RMW_QOS_POLICY_DURABILITY_TRANSIENT_LOCAL ? SITU_TRANSIENT_LOCAL
                                                                         : SITU_VOLATILE;
}

uint32_t liveliness_of(const rmw_qos_profile_t& profile) {
  return profile.liveliness == RMW_QOS_POLICY_LIVELINESS_MANUAL_BY_TOPIC ? SITU_MANUAL_BY_TOPIC
                                                                         : SITU_AUTOMATIC;
}

// How far a publisher that keeps all messages may be ahead of the slowest subscription, in messages: as far
// as DDS's usual limit of resources.
constexpr uint64_t all = 5000;
// What a volatile publisher keeps at least: subscriptions ask for a depth of their own, usually 10, and in
// DDS the publisher's does not limit it. It costs memory only while a subscription is late.
constexpr uint64_t least = 16;
// How many requests or replies are kept after they have been taken from the bus. Situ lets an endpoint hold
// 493 messages.
constexpr size_t max_kept = 400;
// DDS's default of the longest time that writing blocks.
constexpr uint64_t max_blocking_ns = 100'000'000;

}  // namespace

bool resolve_publisher(rmw_qos_profile_t& profile) {
  return resolve(profile, RMW_QOS_POLICY_RELIABILITY_RELIABLE);
}

bool resolve_subscription(rmw_qos_profile_t& profile) {
  return resolve(profile, RMW_QOS_POLICY_RELIABILITY_BEST_EFFORT);
}

bool resolve_service(rmw_qos_profile_t& profile) {
  return resolve(profile, RMW_QOS_POLICY_RELIABILITY_RELIABLE);
}

situ_publisher_qos to_publisher_qos(const rmw_qos_profile_t& profile) {
  situ_publisher_qos qos = situ_publisher_qos_default();
  qos.reliability = reliability_of(profile);
  qos.durability = durability_of(profile);
  const bool is_volatile = profile.durability == RMW_QOS_POLICY_DURABILITY_VOLATILE;
  qos.depth = profile.history == RMW_QOS_POLICY_HISTORY_KEEP_ALL ? all
              : is_volatile                                      ? std::max<uint64_t>(profile.depth, least)
                                                                 : profile.depth;
  qos.block_ns = max_blocking_ns;
  qos.deadline_ns = to_limit(profile.deadline);
  qos.lifespan_ns = to_limit(profile.lifespan);
  qos.liveliness = liveliness_of(profile);
  qos.lease_ns = to_limit(profile.liveliness_lease_duration);
  return qos;
}

situ_subscriber_qos to_subscriber_qos(const rmw_qos_profile_t& profile) {
  situ_subscriber_qos qos = situ_subscriber_qos_default();
  qos.reliability = reliability_of(profile);
  qos.durability = durability_of(profile);
  qos.keep_last = profile.history == RMW_QOS_POLICY_HISTORY_KEEP_ALL ? 0 : profile.depth;
  qos.deadline_ns = to_limit(profile.deadline);
  qos.liveliness = liveliness_of(profile);
  qos.lease_ns = to_limit(profile.liveliness_lease_duration);
  return qos;
}

size_t kept_of(const rmw_qos_profile_t& profile) {
  return profile.history == RMW_QOS_POLICY_HISTORY_KEEP_ALL ? max_kept : std::min(profile.depth, max_kept);
}

situ_service_options to_service_options(const rmw_qos_profile_t& profile) {
  situ_service_options options = situ_service_options_default();
  const bool keeps_all = profile.history == RMW_QOS_POLICY_HISTORY_KEEP_ALL;
  options.keep_last = keeps_all ? 0 : profile.depth;
  options.depth = keeps_all ? all : std::clamp<uint64_t>(profile.depth, options.depth, all);
  // Those that are kept, and some that the user has taken and is reading.
  options.max_held = max_kept + 93;
  return options;
}

rmw_time_t to_duration(uint64_t limit_ns) {
  return limit_ns == 0 ? infinite : rmw_time_from_nsec(static_cast<rmw_duration_t>(limit_ns));
}

}  // namespace rmw_situ
