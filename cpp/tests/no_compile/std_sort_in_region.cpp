// Elements that hold strings cannot leave their region, as std::sort would have it.
// EXPECT: situ::sort\(first, last, less, projection\)
#include <algorithm>

#include "situ/region.hpp"

void sort(situ::region_vector<situ::region_string>& names) {
#ifdef SITU_RIGHT
  names.sort();
  situ::sort(names.begin(), names.end());
#else
  std::sort(names.begin(), names.end());
#endif
}
