// Memory for images in the tests of regions.
#pragma once

#include <cstddef>
#include <cstring>
#include <span>
#include <string>
#include <vector>

#include "situ/region.hpp"

namespace situ_test {

/// Memory at a multiple of 16.
struct aligned_bytes {
  explicit aligned_bytes(std::size_t count) : granules((count + 15) / 16), count_(count) {}
  explicit aligned_bytes(std::span<const std::byte> from) : aligned_bytes(from.size()) {
    std::memcpy(granules.data(), from.data(), from.size());
  }
  std::span<std::byte> span() { return std::as_writable_bytes(std::span(granules)).first(count_); }
  struct alignas(16) granule {
    std::byte bytes[16];
  };
  std::vector<granule> granules;
  std::size_t count_;
};

/// Why an image is refused, or "accepted".
template <class T>
std::string refused(std::span<const std::byte> image) {
  aligned_bytes copy(image);
  const auto viewed = situ::view_region<T>(copy.span());
  return viewed ? "accepted" : viewed.error().message();
}

}  // namespace situ_test
