// Exchanges two values that lie in a region.
#pragma once

#include "situ/region/detail/permute.hpp"
#include "situ/region/detail/staged.hpp"
#include "situ/region/detail/within.hpp"

namespace situ {

namespace region_detail {

/// The reason that two values cannot be exchanged.
struct swap_refusal {
  bool is = false;
  region_fault fault{};
};
template <class T>
[[nodiscard]] swap_refusal refused_swap(T& a, T& b) {
  header* const h = header_of(a);
  if (h != header_of(b)) return {true, region_fault::apart};
  if (h == nullptr) return {true, region_fault::detached};
  if (lies_within(a, b) || lies_within(b, a)) return {true, region_fault::inside};
  return {};
}

}  // namespace region_detail

/// Exchanges two values of one region without a copy: strings, containers, or structs and arrays of these.
/// Returns false and changes nothing if they lie in two regions, or if one lies within the other.
template <class T>
requires region_detail::has_links<T>
[[nodiscard]] bool try_swap(T& a, T& b) {
  if (&a == &b) return true;
  if (region_detail::refused_swap(a, b).is) return false;
  region_detail::end_marks(region_detail::header_of(a));
  region_detail::exchange(a, b);
  return true;
}
/// The same. Throws `region_error`. `swap(a, b)` and `std::ranges::swap(a, b)` call it, too.
template <class T>
requires region_detail::has_links<T>
void swap(T& a, T& b) {
  if (&a == &b) return;
  if (const auto refusal = region_detail::refused_swap(a, b); refusal.is)
    detail::raise(region_error(refusal.fault, 0));
  region_detail::end_marks(region_detail::header_of(a));
  region_detail::exchange(a, b);
}

}  // namespace situ
