// A message on the heap is not self-contained: its bytes have no meaning in another process.
// EXPECT: flat_message
#include "kitchen.hpp"
#include "situ/validate.hpp"

#ifdef SITU_RIGHT
bool check(const kitchen::Label& message) { return situ::validate(&message, 0).has_value(); }
#else
bool check(const kitchen::Label_<situ::heap>& message) { return situ::validate(&message, 0).has_value(); }
#endif
