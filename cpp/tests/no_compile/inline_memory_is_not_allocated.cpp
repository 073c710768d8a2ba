// An inline allocator cannot allocate.
// EXPECT: allocate
#include "situ/layout/allocator.hpp"

#ifdef SITU_RIGHT
int* memory() { return situ::calloc_allocator<int>().allocate(1); }
#else
int* memory() { return situ::inline_allocator<int>().allocate(1); }
#endif
