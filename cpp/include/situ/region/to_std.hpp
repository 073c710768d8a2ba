// to_std: a copy of what lies in a region, as types of the standard library.
//
//   std::map<std::uint64_t, std::string> names = situ::to_std(r->names);
//
// A string becomes a std::string, a vector a std::vector, a set or map that of the same kind, an optional or
// unique link a std::optional. Numbers, enums and structs without containers are copied. A struct with
// containers has no type in the standard library: copy its members, or convert it into another storage
// (region/convert.hpp).
#pragma once

#include <array>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <type_traits>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "situ/region/containers/hash_map.hpp"
#include "situ/region/containers/hash_set.hpp"
#include "situ/region/containers/optional.hpp"
#include "situ/region/containers/ordered_map.hpp"
#include "situ/region/containers/ordered_set.hpp"
#include "situ/region/containers/sorted_map.hpp"
#include "situ/region/containers/sorted_set.hpp"
#include "situ/region/containers/string.hpp"
#include "situ/region/containers/unique.hpp"
#include "situ/region/containers/vector.hpp"

namespace situ {

namespace region_detail {

/// The type of the standard library for a type of regions: itself, if it has no links.
template <class T>
struct standard {
  using type = T;
  static const T& copy(const T& value) {
    static_assert(
        std::is_trivially_copyable_v<T>,
        "to_std copies strings, containers, and values without links; copy the members of other structs");
    return value;
  }
};

template <class T>
using standard_t = typename standard<T>::type;

/// Copies the elements of a container one by one.
template <class To, class From>
To copy_elements(const From& from) {
  To to;
  if constexpr (requires { to.reserve(from.size()); }) to.reserve(from.size());
  for (const auto& element : from) {
    to.insert(to.end(), standard<std::remove_cvref_t<decltype(element)>>::copy(element));
  }
  return to;
}

/// Copies the entries of a map one by one.
template <class K, class V, class To, class From>
To copy_entries(const From& from) {
  To to;
  if constexpr (requires { to.reserve(from.size()); }) to.reserve(from.size());
  for (const auto& [key, value] : from) {
    to.emplace_hint(to.end(), standard_t<K>(key), standard<V>::copy(value));
  }
  return to;
}

template <>
struct standard<region_string> {
  using type = std::string;
  static std::string copy(std::string_view text) { return std::string(text); }
};
// The keys of sets and maps of strings are seen as views.
template <>
struct standard<std::string_view> : standard<region_string> {};

template <class T>
struct standard<region_vector<T>> {
  using type = std::vector<standard_t<T>>;
  static type copy(const region_vector<T>& from) { return copy_elements<type>(from); }
};

template <class T, std::size_t N>
struct standard<std::array<T, N>> {
  using type = std::array<standard_t<T>, N>;
  static type copy(const std::array<T, N>& from) {
    return [&]<std::size_t... I>(std::index_sequence<I...>) { return type{standard<T>::copy(from[I])...}; }
    (std::make_index_sequence<N>());
  }
};

template <class K>
struct standard<region_sorted_set<K>> {
  using type = std::set<standard_t<K>>;
  static type copy(const region_sorted_set<K>& from) { return copy_elements<type>(from); }
};
template <class K>
struct standard<region_ordered_set<K>> {
  using type = std::set<standard_t<K>>;
  static type copy(const region_ordered_set<K>& from) { return copy_elements<type>(from); }
};
template <class K>
struct standard<region_hash_set<K>> {
  using type = std::unordered_set<standard_t<K>>;
  static type copy(const region_hash_set<K>& from) { return copy_elements<type>(from); }
};

template <class K, class V>
struct standard<region_sorted_map<K, V>> {
  using type = std::map<standard_t<K>, standard_t<V>>;
  static type copy(const region_sorted_map<K, V>& from) { return copy_entries<K, V, type>(from); }
};
template <class K, class V>
struct standard<region_ordered_map<K, V>> {
  using type = std::map<standard_t<K>, standard_t<V>>;
  static type copy(const region_ordered_map<K, V>& from) { return copy_entries<K, V, type>(from); }
};
template <class K, class V>
struct standard<region_hash_map<K, V>> {
  using type = std::unordered_map<standard_t<K>, standard_t<V>>;
  static type copy(const region_hash_map<K, V>& from) { return copy_entries<K, V, type>(from); }
};

template <class T>
struct standard<region_optional<T>> {
  using type = std::optional<standard_t<T>>;
  static type copy(const region_optional<T>& from) {
    return from.has_value() ? type(standard<T>::copy(*from)) : type();
  }
};
template <class T>
struct standard<region_unique<T>> {
  using type = std::optional<standard_t<T>>;
  static type copy(const region_unique<T>& from) { return from ? type(standard<T>::copy(*from)) : type(); }
};

template <class T>
concept has_standard = !std::is_same_v<standard_t<T>, T>;

}  // namespace region_detail

/// A copy of a string or container of a region, with all that it holds, as types of the standard library.
template <class T>
requires region_detail::has_standard<T>
[[nodiscard]] region_detail::standard_t<T> to_std(const T& value) {
  return region_detail::standard<T>::copy(value);
}

}  // namespace situ
