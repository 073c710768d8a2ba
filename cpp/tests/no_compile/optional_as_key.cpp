// Of the containers, strings alone are keys.
// EXPECT: the keys of sets and maps in a region are numbers, booleans, characters, enums, strings, and
#include "situ/region.hpp"

struct Sample {
#ifdef SITU_RIGHT
  situ::region_sorted_set<situ::region_string> names;
#else
  situ::region_sorted_set<situ::region_optional<int>> names;
#endif
};
SITU_REGION(Sample, names)

situ::region<Sample> r;
