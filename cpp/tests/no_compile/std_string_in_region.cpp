// A std::string keeps its text outside of the region.
// EXPECT: only numbers, enums, region containers, std::array of these, and structs
#include <string>

#include "situ/region.hpp"

struct Sample {
#ifdef SITU_RIGHT
  situ::region_string name;
#else
  std::string name;
#endif
};
SITU_REGION(Sample, name)

void set(situ::region<Sample>& r) { r->name = "a"; }
situ::region<Sample> r;
