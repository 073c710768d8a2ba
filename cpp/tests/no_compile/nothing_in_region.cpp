// Elements without bytes could not be counted. A struct in a region therefore has at least one member, and an
// array one element.
// EXPECT: an array of a region has at least one element
#include <array>
#include <cstdint>

#include "situ/region.hpp"

#ifdef SITU_RIGHT
struct Nothing {
  std::array<std::uint32_t, 1> values;
};
#else
struct Nothing {
  std::array<std::uint32_t, 0> values;
};
#endif
SITU_REGION(Nothing, values)

situ::region<Nothing> r;
