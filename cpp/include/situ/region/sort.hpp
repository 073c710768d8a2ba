// Sorts elements of a region in place: situ::sort(v), situ::sort(v, less, projection), situ::sort(first,
// last).
#pragma once

#include <concepts>
#include <functional>
#include <iterator>
#include <memory>
#include <ranges>

#include "situ/region/detail/vector_order.hpp"

namespace situ {

/// Sorts elements of a region, which may be part of a vector or array. Equal elements keep their order. The
/// arguments are those of std::ranges::sort. If a comparison throws, the order is unchanged. Takes slightly
/// more than 4 bytes of the heap per element, and none of the region.
template <std::contiguous_iterator It, class Compare = std::less<>, class Projection = std::identity>
requires region_detail::storable<std::iter_value_t<It>>
void sort(It first, It last, const Compare& compare = {}, const Projection& projection = {}) {
  region_detail::sort(std::to_address(first), static_cast<std::size_t>(last - first), compare, projection);
}
/// The same for a vector, an array or a span of elements.
template <std::ranges::contiguous_range R, class Compare = std::less<>, class Projection = std::identity>
requires region_detail::storable<std::ranges::range_value_t<R>>
void sort(R&& range, const Compare& compare = {}, const Projection& projection = {}) {
  region_detail::sort(std::ranges::data(range), static_cast<std::size_t>(std::ranges::size(range)), compare,
                      projection);
}
/// The same as `sort`, which is stable.
template <std::contiguous_iterator It, class Compare = std::less<>, class Projection = std::identity>
requires region_detail::storable<std::iter_value_t<It>>
void stable_sort(It first, It last, const Compare& compare = {}, const Projection& projection = {}) {
  situ::sort(first, last, compare, projection);
}
template <std::ranges::contiguous_range R, class Compare = std::less<>, class Projection = std::identity>
requires region_detail::storable<std::ranges::range_value_t<R>>
void stable_sort(R&& range, const Compare& compare = {}, const Projection& projection = {}) {
  situ::sort(range, compare, projection);
}

}  // namespace situ
