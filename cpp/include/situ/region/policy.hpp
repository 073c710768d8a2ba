// Storage in regions: the policy `situ::in_region`, and the description of generated structs for regions.
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <type_traits>

#include "situ/layout/message.hpp"
#include "situ/layout/policy.hpp"
#include "situ/region/containers/hash_map.hpp"
#include "situ/region/containers/hash_set.hpp"
#include "situ/region/containers/optional.hpp"
#include "situ/region/containers/ordered_map.hpp"
#include "situ/region/containers/ordered_set.hpp"
#include "situ/region/containers/shared.hpp"
#include "situ/region/containers/sorted_map.hpp"
#include "situ/region/containers/sorted_set.hpp"
#include "situ/region/containers/string.hpp"
#include "situ/region/containers/union.hpp"
#include "situ/region/containers/unique.hpp"
#include "situ/region/containers/vector.hpp"
#include "situ/region/containers/weak.hpp"
#include "situ/region/region.hpp"

namespace situ {

/// Strings, sequences and maps that grow in the region that contains the message. Bounds are checked when a
/// message is converted to another storage.
struct in_region {
  static constexpr storage_kind kind = storage_kind::region;

  template <std::size_t N>
  using string = region_string;
  template <std::size_t N>
  using wstring = region_vector<char16_t>;
  template <class T, std::size_t N>
  using sequence = region_vector<T>;
  template <class K, class V, std::size_t N>
  using map = region_sorted_map<K, V>;
  template <class T>
  using optional = region_optional<T>;
  template <class T, std::size_t N = unbounded>
  using bulk = region_vector<T>;

  using unbounded_string = region_string;
  using unbounded_wstring = region_vector<char16_t>;
  template <class T>
  using unbounded_sequence = region_vector<T>;
  template <class K, class V>
  using unbounded_map = region_sorted_map<K, V>;
};

namespace detail {
template <class K, class V>
struct hashed<region_sorted_map<K, V>> {
  using type = region_hash_map<K, V>;
};
template <class K>
struct hashed<region_sorted_set<K>> {
  using type = region_hash_set<K>;
};
template <class K, class V>
struct ordered<region_sorted_map<K, V>> {
  using type = region_ordered_map<K, V>;
};
template <class K>
struct ordered<region_sorted_set<K>> {
  using type = region_ordered_set<K>;
};
template <class T>
struct linked<region_optional<T>> {
  using type = region_unique<T>;
};
template <class T>
struct shared<region_optional<T>> {
  using type = region_shared<T>;
};
template <class T>
struct weak<in_region, T> {
  using type = region_weak<T>;
};
template <class D, class Cases, class... Ts>
struct union_in<in_region, D, Cases, Ts...> {
  using type = basic_region_union<generated_cases<Cases>, D, Ts...>;
};
template <class K>
struct as_set<region_vector<K>> {
  using type = region_sorted_set<K>;
};
}  // namespace detail

/// A generated struct with storage in a region.
template <class T>
concept region_message = message<T> && std::same_as<typename T::situ_storage, in_region>;

/// The region form of a message in any storage.
template <message T>
using in_region_form = rebind<T, in_region>;
/// A region of a message in any storage.
template <message T>
using region_of = region<in_region_form<T>>;

namespace detail {
/// A generated struct as it lies in regions. A struct of numbers is one type in all storages.
template <class T>
concept generated_for_regions = message<T> && std::same_as<rebind<T, in_region>, T>;
}  // namespace detail

/// The description of a generated struct for regions: its name in the schema, and its members.
template <detail::generated_for_regions T>
constexpr std::string_view situ_region_name(const T* /*type*/) {
  return T::situ_name;
}
/// Structs marked `@region @appendable`.
template <detail::generated_for_regions T>
requires(T::situ_appended) constexpr bool situ_region_appendable(const T* /*type*/) { return true; }
template <detail::generated_for_regions T>
constexpr auto situ_region_members(const T* /*type*/) {
  return T::template situ_region_parts<region_detail::member>();
}

}  // namespace situ
