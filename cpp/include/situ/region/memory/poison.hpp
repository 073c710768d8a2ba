// Under AddressSanitizer, marks memory of a region that holds no value, so that a stale reference, pointer,
// iterator or span that is used is reported: freed blocks, and the unused capacity of vectors. In other
// builds these functions do nothing.
//
// Marks are of this process and of one address. The memory itself, and so the image, is the same with and
// without them: other processes, and other mappings of the same memory, read all bytes. In this process
// `bytes()`, whose result may be read as a whole, removes all marks of a region, and so does all that hands
// the memory on: `trim`, which precedes publishing, compaction in place, `continue_in`, and the region's end.
// What is freed later is marked again. So read the result of `bytes()` before the next change.
#pragma once

#include <cstddef>

#include "situ/region/memory/changes.hpp"

#if defined(__SANITIZE_ADDRESS__)
#define SITU_REGION_POISONS 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define SITU_REGION_POISONS 1
#endif
#endif

#ifdef SITU_REGION_POISONS
#include <sanitizer/asan_interface.h>
#endif

namespace situ::region_detail {

/// Whether this build marks memory.
#ifdef SITU_REGION_POISONS
inline constexpr bool poisons = true;
inline void poison(const void* from, std::size_t bytes) noexcept { __asan_poison_memory_region(from, bytes); }
inline void unpoison(const void* from, std::size_t bytes) noexcept {
  __asan_unpoison_memory_region(from, bytes);
}
#else
inline constexpr bool poisons = false;
inline void poison(const void* /*from*/, std::size_t /*bytes*/) noexcept {}
inline void unpoison(const void* /*from*/, std::size_t /*bytes*/) noexcept {}
#endif

/// Makes the whole capacity of a vector accessible while the vector changes. Afterwards the unused part is
/// marked, and iterators to elements that are gone are stale. Does nothing in builds without such checks.
template <class Vector>
class capacity_access {
 public:
  explicit capacity_access(Vector& vector) noexcept {
    if constexpr (poisons || checks_iterators) {
      vector_ = &vector;
      first_ = vector.data();
      size_ = vector.size();
    }
    if constexpr (poisons) vector.situ_mark_unused(false);
  }
  capacity_access(const capacity_access&) = delete;
  capacity_access& operator=(const capacity_access&) = delete;
  ~capacity_access() {
    if constexpr (poisons) vector_->situ_mark_unused(true);
    if constexpr (checks_iterators) {
      if (vector_->data() != first_) {
        note_gone(first_);
      } else if (vector_->size() < size_) {
        note_cut(first_, vector_->size());
      }
    }
  }

 private:
  Vector* vector_ = nullptr;
  const void* first_ = nullptr;
  std::size_t size_ = 0;
};

}  // namespace situ::region_detail
