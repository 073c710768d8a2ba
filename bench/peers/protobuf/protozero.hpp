// Perfetto's ProtoZero as a system of table `protobuf`. In a file of its own, because mapbox's library has
// the same namespace.
#pragma once

#include <cstddef>
#include <cstdint>

#include "input.hpp"

struct ProtoZero {
  static constexpr const char* name = "protozero";

  static std::size_t simple(const Input& in, std::uint8_t* out, std::size_t size);
  static std::size_t nested(const Input& in, std::uint8_t* out, std::size_t size);
  static std::size_t packed(const Input& in, std::uint8_t* out, std::size_t size);
};
