// Measures and writes messages as little-endian XCDR1 by a plan.
#pragma once

#include <cstddef>
#include <span>
#include <string>

#include "types/plan.hpp"

namespace rmw_situ {

// With the encapsulation.
size_t measure_cdr(const Plan& plan, const void* message);

// Writes exactly `measure_cdr` bytes. False, with rmw's error state set, if the message is not valid, or `to`
// is too small. `ros_name` is for the error.
bool write_cdr(const Plan& plan, const std::string& ros_name, const void* message, std::span<std::byte> to);

}  // namespace rmw_situ
