// How vectors, strings and sequences lie in memory, and whether they really do so in this process.
//
// Messages are read and written through these structs, because introspection would call functions for each
// container. A type whose containers lie otherwise is read and written by those functions, and has no
// shadows.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace rmw_situ {

// gnu::may_alias: the compiler has to expect that a vector or a string is the same memory.

// A sequence and a string of C.
struct [[gnu::may_alias]] SequenceC {
  void* data;
  size_t size;
  size_t capacity;
};

// std::vector<T>, T other than bool.
struct [[gnu::may_alias]] VectorCpp {
  std::byte* begin;
  std::byte* end;
  std::byte* end_of_memory;
};

// std::vector<bool>.
struct [[gnu::may_alias]] BitsCpp {
  uint64_t* begin;
  uint32_t begin_bit;
  uint64_t* end;
  uint32_t end_bit;
  uint64_t* end_of_memory;
};

// std::basic_string<Unit>: it owns no memory if `data` is the address of `local`.
template <class Unit>
struct [[gnu::may_alias]] StringCpp {
  static constexpr size_t kLocal = 16 / sizeof(Unit);

  Unit* data;
  size_t size;
  union {
    Unit local[kLocal];
    size_t capacity;
  };
};

// Whether strings and vectors of C++ lie in memory as the structs above. Verified once for each process.
bool cpp_layouts_hold();

struct Member;

// Whether the functions of a sequence see in a forged one what it should hold. `stride` is the size of an
// element.
bool sequence_layout_holds(const Member& member, size_t stride);

}  // namespace rmw_situ
