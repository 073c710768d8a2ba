// Images of types that cannot lie in a region are not read either.
// EXPECT: only numbers, enums, region containers with keys of these or of strings
#include "situ/region.hpp"

struct Sample {
#ifdef SITU_RIGHT
  situ::region_sorted_set<int> names;
#else
  situ::region_sorted_set<situ::region_optional<int>> names;
#endif
};
SITU_REGION(Sample, names)

bool good(std::span<const std::byte> image) { return situ::view_region<Sample>(image).has_value(); }
