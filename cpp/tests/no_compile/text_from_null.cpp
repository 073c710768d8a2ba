// A null pointer is not a text.
// EXPECT: deleted
#include "situ/layout/bounded_string.hpp"

#ifdef SITU_RIGHT
situ::bounded_string<8> text = "";
#else
situ::bounded_string<8> text = nullptr;
#endif
