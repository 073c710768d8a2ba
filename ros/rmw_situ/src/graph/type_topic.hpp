// Topics and services whose endpoints have several types.
//
// In ROS, endpoints of different types may have the same topic, and do not match. A topic of Situ has one
// type. So the first type has the topic of the name. Every other type has one of its own, whose name ends
// with its hash: "camera/image@0123456789abcdef". In ROS, all of them have the same name.
#pragma once

#include <rcutils/logging_macros.h>
#include <rmw/error_handling.h>
#include <situ.h>

#include <string>

#include "graph/graph.hpp"

namespace rmw_situ {

// The name of the topic that a type has for itself.
std::string type_topic(const std::string& bus_name, uint64_t schema_hash);
// Removes the hash from the name of such a topic. Returns the hash, or 0 for other names.
uint64_t remove_type(std::string& bus_name);

// Makes an endpoint by `create(name, error)`, on the topic or service where its type is.
template <class Create>
situ_status create_where_type_is(Graph& graph, const std::string& bus_name, bool is_service,
                                 uint64_t schema_hash, situ_error* error, Create&& create) {
  const std::string own = type_topic(bus_name, schema_hash);
  // Endpoints follow those that came before, even if the first type has gone meanwhile. If it goes between
  // this look and the next step, they miss each other.
  if (graph.has_type_topic(bus_name, is_service, schema_hash)) return create(own.c_str(), error);
  const situ_status status = create(bus_name.c_str(), error);
  if (status != SITU_ERROR_TYPE) return status;
  situ_error ignored;
  if (create(own.c_str(), &ignored) != SITU_OK) return status;
  graph.forget_recent();
  RCUTILS_LOG_WARN_NAMED("rmw_situ", "an endpoint does not match others of its name: %s", error->text);
  return SITU_OK;
}

}  // namespace rmw_situ
