// The total order of IEEE 754, in which maps have their floating-point keys.
#pragma once

#include <bit>
#include <cstdint>
#include <functional>
#include <type_traits>

namespace situ {

namespace detail {

/// A number in whose order floating-point numbers are: negative ones come first, the greatest of their bits
/// first.
template <class F>
[[nodiscard]] constexpr auto total_rank(F number) noexcept {
  using bits = std::conditional_t<sizeof(F) == 8, std::uint64_t, std::uint32_t>;
  constexpr bits sign = bits{1} << (sizeof(F) * 8 - 1);
  const bits own = std::bit_cast<bits>(number);
  return (own & sign) != 0 ? static_cast<bits>(~own) : static_cast<bits>(own | sign);
}

}  // namespace detail

/// The order of floating-point keys, on the heap as in regions: negative NaNs, negative numbers, -0, +0,
/// positive numbers, positive NaNs. Two are the same key if, and only if, their bits are equal.
template <class F>
struct total_less {
  [[nodiscard]] constexpr bool operator()(F a, F b) const noexcept {
    return detail::total_rank(a) < detail::total_rank(b);
  }
};

/// The order of the keys of a map.
template <class K>
using key_less = std::conditional_t<std::is_floating_point_v<K>, total_less<K>, std::less<K>>;

}  // namespace situ
