// The type of a service: those of its requests and responses, and its name.
#pragma once

#include <rosidl_runtime_c/service_type_support_struct.h>
#include <situ.h>
#include <situ/service.h>

#include <string>

#include "types/message_type.hpp"

namespace rmw_situ {

// Immutable, and lives as long as the process.
class ServiceType {
 public:
  // The type of a handle, which may be one of C, of C++, or a dispatcher to introspection. NULL, with rmw's
  // error state set, if no introspection of the type can be loaded or the type is malformed.
  static const ServiceType* find(const rosidl_service_type_support_t* support);

  // "example_interfaces/srv/AddTwoInts".
  const std::string& ros_name() const { return ros_name_; }
  const MessageType& request() const { return *request_; }
  const MessageType& response() const { return *response_; }
  const situ_service_type& bus_type() const { return bus_type_; }
  // RIHS01 as rosidl has it; version 0 if it is not known.
  const rosidl_type_hash_t& hash() const { return hash_; }

 private:
  ServiceType() = default;

  std::string ros_name_;
  const MessageType* request_ = nullptr;
  const MessageType* response_ = nullptr;
  situ_service_type bus_type_{};
  rosidl_type_hash_t hash_{};
};

}  // namespace rmw_situ
