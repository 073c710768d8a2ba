// What is not the same on all platforms does not lie in a region, whether it is a member or in one.
// EXPECT: only numbers, enums, region containers, std::array of these, and structs
#include "situ/region.hpp"

#ifdef SITU_RIGHT
using number = double;
#else
using number = long double;
#endif
struct Sample {
  int id;
  number value;
};
SITU_REGION(Sample, id, value)

situ::region<Sample> r;
