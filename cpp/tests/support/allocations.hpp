// Counts heap allocations of a test program. Include it in one file of each program, because it replaces
// `operator new`.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdlib>
#include <new>

namespace situ_test {

/// The number of allocations so far.
inline std::atomic<std::size_t> allocations{0};

/// Returns the number of allocations during `work`.
template <class Work>
std::size_t allocations_of(const Work& work) {
  const std::size_t before = allocations.load();
  work();
  return allocations.load() - before;
}

}  // namespace situ_test

// Replaces all forms that the standard's containers and algorithms use. A sanitizer provides its own version
// of each form that is not replaced, and memory from its version must not be freed by one of these. Not
// inlined: otherwise the compiler reports malloc and delete as a mismatch.
[[gnu::noinline]] void* operator new(std::size_t size, const std::nothrow_t& /*tag*/) noexcept {
  situ_test::allocations.fetch_add(1, std::memory_order_relaxed);
  return std::malloc(size == 0 ? 1 : size);
}
[[gnu::noinline]] void* operator new(std::size_t size) {
  if (void* memory = operator new(size, std::nothrow)) return memory;
  throw std::bad_alloc();
}
[[gnu::noinline]] void* operator new[](std::size_t size) { return operator new(size); }
[[gnu::noinline]] void* operator new[](std::size_t size, const std::nothrow_t& tag) noexcept {
  return operator new(size, tag);
}
[[gnu::noinline]] void operator delete(void* memory) noexcept { std::free(memory); }
[[gnu::noinline]] void operator delete(void* memory, std::size_t /*size*/) noexcept { std::free(memory); }
[[gnu::noinline]] void operator delete(void* memory, const std::nothrow_t& /*tag*/) noexcept {
  std::free(memory);
}
[[gnu::noinline]] void operator delete[](void* memory) noexcept { std::free(memory); }
[[gnu::noinline]] void operator delete[](void* memory, std::size_t /*size*/) noexcept { std::free(memory); }
[[gnu::noinline]] void operator delete[](void* memory, const std::nothrow_t& /*tag*/) noexcept {
  std::free(memory);
}
