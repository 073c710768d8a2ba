// Topics and services whose endpoints have several types: their names on the bus.
#include "graph/type_topic.hpp"

#include <charconv>
#include <cstdio>

namespace rmw_situ {
namespace {

// No name of ROS has this character.
constexpr char separator = '@';
constexpr size_t digits = 16;

}  // namespace

std::string type_topic(const std::string& bus_name, uint64_t schema_hash) {
  char hash[digits + 1];
  std::snprintf(hash, sizeof(hash), "%016llx", static_cast<unsigned long long>(schema_hash));
  return bus_name + separator + hash;
}

uint64_t remove_type(std::string& bus_name) {
  if (bus_name.size() <= digits + 1) return 0;
  const size_t at = bus_name.size() - digits - 1;
  if (bus_name[at] != separator) return 0;
  uint64_t hash = 0;
  const char* const end = bus_name.data() + bus_name.size();
  const auto result = std::from_chars(bus_name.data() + at + 1, end, hash, 16);
  if (result.ec != std::errc() || result.ptr != end) return 0;
  bus_name.resize(at);
  return hash;
}

}  // namespace rmw_situ
