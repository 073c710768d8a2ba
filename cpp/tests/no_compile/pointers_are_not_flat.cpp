// A type with pointers is not flat.
// EXPECT: not self-contained
#include <string>

#include "situ/layout/message.hpp"

#ifdef SITU_RIGHT
using element = situ::bounded_string<8, situ::inline_allocator<char>>;
#else
using element = std::string;
#endif
static_assert(situ::is_flat_v<situ::flat::sequence<element, 4>>, "not self-contained");
