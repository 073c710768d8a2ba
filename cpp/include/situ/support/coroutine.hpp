// Whether the compiler has the coroutines of C++20, and the header for them.
#pragma once

#if defined(__cpp_impl_coroutine)
#include <coroutine>
#define SITU_HAS_COROUTINES 1
#else
#define SITU_HAS_COROUTINES 0
#endif
