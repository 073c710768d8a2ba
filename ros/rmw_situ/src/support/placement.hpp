// The memory domain that the options of a publisher or a subscription name (rmw_situ/domain.h).
#pragma once

#include <situ.h>

#include <optional>
#include <string>

#include "support/check.hpp"

namespace rmw_situ {

using StreamHandle = Handle<situ_stream, situ_stream_destroy>;

// The name of the domain as Situ has it; empty for the host, which is also the domain without a payload.
// None, with rmw's error state set, if the payload is not one of rmw_situ.
std::optional<std::string> read_domain(const void* payload);

// Where the messages of an endpoint lie. Valid as long as the name.
inline situ_placement placement_in(const char* domain) {
  situ_placement placement = {};
  placement.domain = *domain == '\0' ? nullptr : domain;
  placement.serialized = 1;
  return placement;
}

// A queue of copies from and to a domain; NULL for the host. False, with rmw's error state set, on failure.
bool make_stream(const situ_node* node, const std::string& domain, StreamHandle& stream);

}  // namespace rmw_situ
