// Aligned memory for images of regions, in granules of 16 bytes.
#pragma once

#include <cstddef>
#include <cstring>
#include <span>
#include <vector>

namespace situ_test {

struct alignas(16) granule {
  std::byte bytes[16];
};

/// Returns a copy of an image. The last granule is padded with zeros.
inline std::vector<granule> granules_of(std::span<const std::byte> image) {
  std::vector<granule> copy((image.size() + sizeof(granule) - 1) / sizeof(granule));
  if (!image.empty()) std::memcpy(copy.data(), image.data(), image.size());
  return copy;
}

/// Memory of any size that begins at a multiple of 16.
struct aligned_bytes {
  explicit aligned_bytes(std::size_t count) : granules((count + 15) / 16), count_(count) {}
  explicit aligned_bytes(std::span<const std::byte> from)
      : granules(granules_of(from)), count_(from.size()) {}
  std::span<std::byte> span() { return std::as_writable_bytes(std::span(granules)).first(count_); }

  std::vector<granule> granules;
  std::size_t count_;
};

}  // namespace situ_test
