// The allocators that decide where a container's elements lie: inside the container, or on a heap.
#pragma once

#include <cstddef>
#include <cstdlib>
#include <limits>
#include <memory>
#include <new>
#include <type_traits>

#include "situ/support/error.hpp"
#include "situ/support/platform.hpp"

namespace situ {

/// Marks a container with its elements inside the container itself. It has no `allocate`: a container that
/// calls it does not compile.
template <class T>
struct inline_allocator {
  using value_type = T;
  using is_always_equal = std::true_type;
  using size_type = std::size_t;
  using difference_type = std::ptrdiff_t;

  inline_allocator() = default;
  template <class U>
  constexpr inline_allocator(const inline_allocator<U>& /*other*/) noexcept {}

  friend constexpr bool operator==(inline_allocator /*a*/, inline_allocator /*b*/) noexcept { return true; }
};

/// Allocates with `calloc`: memory is zeroed, and the system never backs pages that are not written.
template <class T>
struct calloc_allocator {
  using value_type = T;
  using is_always_equal = std::true_type;
  using propagate_on_container_move_assignment = std::true_type;
  static_assert(alignof(T) <= alignof(std::max_align_t), "calloc cannot give memory of this alignment");

  calloc_allocator() = default;
  template <class U>
  constexpr calloc_allocator(const calloc_allocator<U>& /*other*/) noexcept {}

  [[nodiscard]] T* allocate(std::size_t count) {
    void* memory = std::calloc(count == 0 ? 1 : count, sizeof(T));
    if (memory == nullptr) detail::raise(std::bad_alloc());
    return static_cast<T*>(memory);
  }
  void deallocate(T* memory, std::size_t /*count*/) noexcept { std::free(memory); }

  friend constexpr bool operator==(calloc_allocator /*a*/, calloc_allocator /*b*/) noexcept { return true; }
};

namespace detail {

template <class Alloc>
struct is_inline_allocator : std::false_type {};
template <class T>
struct is_inline_allocator<inline_allocator<T>> : std::true_type {};

}  // namespace detail

/// True for allocators that place elements inside the container.
template <class Alloc>
inline constexpr bool is_inline_allocator_v = detail::is_inline_allocator<Alloc>::value;

/// The bound of a container that is limited only by memory.
inline constexpr std::size_t unbounded = std::numeric_limits<std::size_t>::max();

}  // namespace situ
