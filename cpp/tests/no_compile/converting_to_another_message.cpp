// A message converts to the same message with another storage, and to no other.
// EXPECT: no matching function|constraint
#include "kitchen.hpp"
#include "situ/convert.hpp"

#ifdef SITU_RIGHT
using target = kitchen::Label_<situ::heap>;
#else
using target = kitchen::Optionals_<situ::heap>;
#endif
bool convert(const kitchen::Label& from, target& to) { return situ::convert(from, to).has_value(); }
