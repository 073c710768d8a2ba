// The reason that an image of a region is refused.
#pragma once

#include <cstddef>
#include <span>
#include <string>

#include "situ/region.hpp"
#include "support/memory.hpp"

namespace situ_test {

/// Returns the reason, or "accepted".
template <class T>
std::string refused(std::span<const std::byte> image) {
  aligned_bytes copy(image);
  const auto viewed = situ::view_region<T>(copy.span());
  return viewed ? "accepted" : viewed.error().message();
}

}  // namespace situ_test
