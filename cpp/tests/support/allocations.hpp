// Counts what a test's program takes from the heap: for one file of each program, since it replaces `operator
// new`.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdlib>
#include <new>

namespace situ_test {

/// How often the program has taken memory so far.
inline std::atomic<std::size_t> allocations{0};

/// How often it does so while this is done.
template <class Work>
std::size_t allocations_of(const Work& work) {
  const std::size_t before = allocations.load();
  work();
  return allocations.load() - before;
}

}  // namespace situ_test

// All forms that the standard's containers and algorithms use, since a sanitizer brings its own for each that
// is not replaced, and memory that its form lends must not come back through one of these. Not inlined, or
// the compiler takes malloc and delete for a mismatch.
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
