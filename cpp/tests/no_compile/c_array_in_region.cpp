// C arrays cannot be assigned like values, so they may not lie in a region.
// EXPECT: an array in a region is a std::array
#include <array>

#include "situ/region.hpp"

struct Sample {
#ifdef SITU_RIGHT
  std::array<int, 3> values;
#else
  int values[3];
#endif
};
SITU_REGION(Sample, values)

situ::region<Sample> r;
