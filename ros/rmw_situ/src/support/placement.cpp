// The memory domain that the options of a publisher or a subscription name.
#include "support/placement.hpp"

#include <cstring>

#include "rmw_situ/domain.h"

namespace rmw_situ {

std::optional<std::string> read_domain(const void* payload) {
  if (payload == nullptr) return "";
  // What belongs to another middleware may be smaller and lie at any address.
  rmw_situ_domain_t domain = {};
  std::memcpy(&domain.magic, payload, sizeof(domain.magic));
  if (domain.magic == RMW_SITU_DOMAIN_MAGIC) std::memcpy(&domain, payload, sizeof(domain));
  if (domain.name == nullptr) {
    RMW_SET_ERROR_MSG(
        "the payload of the options is none of rmw_situ: pass the address of what rmw_situ_domain returns "
        "(rmw_situ/domain.h), or no payload");
    return std::nullopt;
  }
  std::string name = domain.name;
  if (name == "host") return "";
  if (name.find(':') == std::string::npos) name += ":0";
  return name;
}

bool make_stream(const situ_node* node, const std::string& domain, StreamHandle& stream) {
  if (domain.empty()) return true;
  situ_stream* made;
  situ_error error;
  if (situ_stream_create(node, domain.c_str(), &made, &error) != SITU_OK) {
    failed("cannot use memory domain", domain.c_str(), error);
    return false;
  }
  stream.reset(made);
  return true;
}

}  // namespace rmw_situ
