// Types that differ between platforms may not lie in a region, neither as members nor inside members.
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
