// A struct that contains itself has no type in the standard library.
// EXPECT: situ::to_std<Plain>\(value\)
#include <string>
#include <vector>

#include "situ/region.hpp"
#include "situ/region/to_std.hpp"

struct Knot {
  situ::region_string name;
  situ::region_vector<Knot> children;
};
SITU_REGION(Knot, name, children)

struct Plain {
  std::string name;
  std::vector<Plain> children;
};

void copy(const Knot& knot) {
#ifdef SITU_RIGHT
  static_cast<void>(situ::to_std<Plain>(knot));
#else
  static_cast<void>(situ::to_std(knot));
#endif
}
