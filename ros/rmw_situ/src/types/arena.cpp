// Memory for one message at a time, which is kept for the next one.
#include "types/arena.hpp"

#include <algorithm>
#include <new>

namespace rmw_situ {

std::byte* Arena::take(size_t size, size_t alignment) {
  size_t begin = (used_ + alignment - 1) & ~(alignment - 1);
  if (chunks_.empty() || begin > chunks_.back().size || size > chunks_.back().size - begin) {
    // The memory of `new` is aligned to 16 bytes.
    static_assert(__STDCPP_DEFAULT_NEW_ALIGNMENT__ >= 16);
    size_t chunk_size = std::max(size, chunks_.empty() ? first_size_ : 2 * chunks_.back().size);
    chunks_.reserve(chunks_.size() + 1);
    chunks_.push_back({std::make_unique_for_overwrite<std::byte[]>(chunk_size), chunk_size});
    begin = 0;
  }
  used_ = begin + size;
  return chunks_.back().memory.get() + begin;
}

void Arena::reset() {
  used_ = 0;
  if (chunks_.size() < 2) return;
  // One chunk will do for a message like this one, whatever it loses at the ends of chunks.
  first_size_ = 0;
  for (const Chunk& chunk : chunks_) first_size_ += chunk.size;
  chunks_.clear();
}

}  // namespace rmw_situ
