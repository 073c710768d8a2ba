// A message with members without a bound has no flat storage.
// EXPECT: unbounded_storage
#include "kitchen.hpp"

#ifdef SITU_RIGHT
kitchen::Growing_<situ::heap> message;
#else
kitchen::Growing_<situ::flat> message;
#endif
