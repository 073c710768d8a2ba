// Pointers do not lie in a region.
// EXPECT: only numbers, enums, region containers, std::array of these, and structs
#include "situ/region.hpp"

#ifdef SITU_RIGHT
using text = situ::region_string;
#else
using text = const char*;
#endif
struct Sample {
  situ::region_vector<text> names;
};
SITU_REGION(Sample, names)

situ::region<Sample> r;
