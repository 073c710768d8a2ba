// Memory for one message at a time, which is kept for the next one.
#pragma once

#include <cstddef>
#include <memory>
#include <vector>

namespace rmw_situ {

// Allocates nothing if a message needs no more than an earlier one.
class Arena {
 public:
  // Memory that is valid until `reset`. `alignment` is a power of two, at most 16. Throws std::bad_alloc.
  std::byte* take(size_t size, size_t alignment);
  // Makes all memory free for the next message.
  void reset();

 private:
  struct Chunk {
    std::unique_ptr<std::byte[]> memory;
    size_t size;
  };

  // The last one is in use, the others are full.
  std::vector<Chunk> chunks_;
  // Of the last chunk.
  size_t used_ = 0;
  // Of the first chunk, if there is none.
  size_t first_size_ = 4096;
};

}  // namespace rmw_situ
