// One clear error for std::sort and its like over elements that hold strings or containers, in place of
// errors within the library. These templates are chosen for no other elements, and no call of them compiles.
#pragma once

#include "situ/region/detail/reflect.hpp"

namespace situ::region_detail {

/// Elements that the algorithms of the standard library would move out of their region.
template <class T>
concept bound_to_region = storable<T> && has_links<T>;

template <class T>
consteval void refuse_std_sort() {
  static_assert(
      !bound_to_region<T>,
      "std::sort would move strings or containers out of their region. Write v.sort(less, projection) "
      "for a vector, or situ::sort(first, last, less, projection)");
}

}  // namespace situ::region_detail

// The standard leaves such declarations in std undefined. Compilers treat them as any other overload.
namespace std {

template <situ::region_detail::bound_to_region T>
void sort(T*, T*) {
  situ::region_detail::refuse_std_sort<T>();
}
template <situ::region_detail::bound_to_region T, class Compare>
void sort(T*, T*, Compare) {
  situ::region_detail::refuse_std_sort<T>();
}
template <situ::region_detail::bound_to_region T>
void stable_sort(T*, T*) {
  situ::region_detail::refuse_std_sort<T>();
}
template <situ::region_detail::bound_to_region T, class Compare>
void stable_sort(T*, T*, Compare) {
  situ::region_detail::refuse_std_sort<T>();
}
template <situ::region_detail::bound_to_region T>
void partial_sort(T*, T*, T*) {
  situ::region_detail::refuse_std_sort<T>();
}
template <situ::region_detail::bound_to_region T, class Compare>
void partial_sort(T*, T*, T*, Compare) {
  situ::region_detail::refuse_std_sort<T>();
}
template <situ::region_detail::bound_to_region T>
void nth_element(T*, T*, T*) {
  situ::region_detail::refuse_std_sort<T>();
}
template <situ::region_detail::bound_to_region T, class Compare>
void nth_element(T*, T*, T*, Compare) {
  situ::region_detail::refuse_std_sort<T>();
}

}  // namespace std
