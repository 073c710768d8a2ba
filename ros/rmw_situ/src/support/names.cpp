// Names of ROS and their names on the bus.
#include "names.hpp"

namespace rmw_situ {

std::string bus_name(std::string_view ros_name) {
  if (ros_name.starts_with('/')) ros_name.remove_prefix(1);
  return std::string(ros_name);
}

std::string ros_name(std::string_view bus_name) {
  std::string name;
  name.reserve(bus_name.size() + 1);
  name.push_back('/');
  return name.append(bus_name);
}

std::string ros_type(std::string_view bus_type) {
  std::string name;
  name.reserve(bus_type.size());
  for (size_t i = 0; i < bus_type.size(); ++i) {
    const bool separates = bus_type.substr(i, 2) == "::";
    name += separates ? '/' : bus_type[i];
    i += separates;
  }
  return name;
}

std::string ros_service_type(std::string_view bus_types) {
  std::string_view request = bus_types.substr(0, bus_types.find(" -> "));
  constexpr std::string_view suffix = "_Request";
  if (request.ends_with(suffix)) request.remove_suffix(suffix.size());
  return ros_type(request);
}

}  // namespace rmw_situ
