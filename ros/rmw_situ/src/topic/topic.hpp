// Names of topics.
#pragma once

#include <rmw/error_handling.h>
#include <rmw/types.h>
#include <rmw/validate_full_topic_name.h>

#include <string>

#include "support/names.hpp"

namespace rmw_situ {

// The name of a topic or service on the bus.
inline std::string topic_bus_name(const char* name, const rmw_qos_profile_t& qos) {
  return qos.avoid_ros_namespace_conventions ? std::string(name) : bus_name(name);
}

// False, with rmw's error state set, if the name of a topic or service is none.
inline bool check_topic_name(const char* name, const rmw_qos_profile_t& qos) {
  if (*name == '\0') {
    RMW_SET_ERROR_MSG("the name of a topic or service may not be empty");
    return false;
  }
  if (qos.avoid_ros_namespace_conventions) return true;
  int result = RMW_TOPIC_VALID;
  size_t index = 0;
  if (rmw_validate_full_topic_name(name, &result, &index) != RMW_RET_OK) return false;
  if (result == RMW_TOPIC_VALID) return true;
  RMW_SET_ERROR_MSG_WITH_FORMAT_STRING("'%s' is no name of a topic or service: %s, at character %zu", name,
                                       rmw_full_topic_name_validation_result_string(result), index);
  return false;
}

}  // namespace rmw_situ
