// Comparing the vectors of regions, with each other and with other ranges.
#pragma once

#include <algorithm>
#include <compare>
#include <ranges>
#include <type_traits>

#include "situ/region/vector.hpp"

namespace situ {

/// Whether a range, such as a std::vector, holds the same.
template <class T, class R>
requires(!std::is_same_v<R, region_vector<T>> && std::ranges::input_range<const R>) bool operator==(
    const region_vector<T>& a, const R& b) {
  auto at = a.begin();
  for (const auto& each : b) {
    if (at == a.end() || !(*at == each)) return false;
    ++at;
  }
  return at == a.end();
}
/// As std::vector: by the first elements that differ.
template <std::three_way_comparable T>
auto operator<=>(const region_vector<T>& a, const region_vector<T>& b) {
  return std::lexicographical_compare_three_way(a.begin(), a.end(), b.begin(), b.end());
}

}  // namespace situ
