// The keys of a map lie in the region, too.
// EXPECT: the keys of sets and maps in a region are numbers, booleans, characters, enums, strings, and
#include <string>

#include "situ/region.hpp"

struct Sample {
#ifdef SITU_RIGHT
  situ::region_ordered_map<situ::region_string, int> names;
#else
  situ::region_ordered_map<std::string, int> names;
#endif
};
SITU_REGION(Sample, names)

void set(situ::region<Sample>& r) { r->names["a"] = 1; }
situ::region<Sample> r;
