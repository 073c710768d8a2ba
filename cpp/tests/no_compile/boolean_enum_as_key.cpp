// An enum is a key by its declared number. Booleans and characters are not keys.
// EXPECT: the keys of sets and maps in a region are integers, enums of integers, and strings
#include "situ/region.hpp"

#ifdef SITU_RIGHT
enum class Side : unsigned char { left, right };
#else
enum class Side : bool { left, right };
#endif
struct Sample {
  situ::region_sorted_set<Side> sides;
};
SITU_REGION(Sample, sides)

situ::region<Sample> r;
