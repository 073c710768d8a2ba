// Comparing the optionals of regions with those of the standard library.
#pragma once

#include <compare>
#include <optional>

#include "situ/region/optional.hpp"

namespace situ {

template <class T, class U>
bool operator==(const region_optional<T>& a, const std::optional<U>& b) {
  return a.has_value() == b.has_value() && (!a.has_value() || *a == *b);
}
/// As of std::optional: none comes before all values.
template <class T, class U>
auto operator<=>(const region_optional<T>& a, const std::optional<U>& b) -> decltype(*a <=> *b) {
  if (a.has_value() && b.has_value()) return *a <=> *b;
  return a.has_value() <=> b.has_value();
}

// Each by itself, as std::optional takes a region_optional for a value otherwise.
template <class T, class U>
bool operator==(const std::optional<U>& a, const region_optional<T>& b) {
  return b == a;
}
template <class T, class U>
bool operator<(const region_optional<T>& a, const std::optional<U>& b) {
  return (a <=> b) < 0;
}
template <class T, class U>
bool operator>(const region_optional<T>& a, const std::optional<U>& b) {
  return (a <=> b) > 0;
}
template <class T, class U>
bool operator<=(const region_optional<T>& a, const std::optional<U>& b) {
  return (a <=> b) <= 0;
}
template <class T, class U>
bool operator>=(const region_optional<T>& a, const std::optional<U>& b) {
  return (a <=> b) >= 0;
}
template <class T, class U>
bool operator<(const std::optional<U>& a, const region_optional<T>& b) {
  return b > a;
}
template <class T, class U>
bool operator>(const std::optional<U>& a, const region_optional<T>& b) {
  return b < a;
}
template <class T, class U>
bool operator<=(const std::optional<U>& a, const region_optional<T>& b) {
  return b >= a;
}
template <class T, class U>
bool operator>=(const std::optional<U>& a, const region_optional<T>& b) {
  return b <= a;
}

}  // namespace situ
