// The storage policies: situ::flat keeps variable-length parts inside the message, situ::heap in standard
// containers, and situ::in_region (region/policy.hpp) in the region that contains the message.
#pragma once

#include <concepts>
#include <cstddef>
#include <initializer_list>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <type_traits>
#include <vector>

#include "situ/layout/bounded_map.hpp"
#include "situ/layout/bounded_string.hpp"
#include "situ/layout/bounded_vector.hpp"
#include "situ/layout/bulk.hpp"
#include "situ/layout/inline_optional.hpp"

namespace situ {

/// The place of the variable-length parts of a message.
enum class storage_kind { heap, flat, region };

/// Bounded, inline, plain memory: the same bytes in every process and language.
struct flat {
  static constexpr storage_kind kind = storage_kind::flat;

  template <std::size_t N>
  using string = bounded_string<N, inline_allocator<char>>;
  template <std::size_t N>
  using wstring = bounded_wstring<N, inline_allocator<char16_t>>;
  template <class T, std::size_t N>
  using sequence = bounded_vector<T, N, inline_allocator<T>>;
  template <class K, class V, std::size_t N>
  using map = bounded_map<K, V, N, inline_allocator<map_entry<K, V>>>;
  template <class T>
  using optional = inline_optional<T>;
  template <class T, std::size_t N = unbounded>
  using bulk = bulk_ref<T, N>;
};

/// Vectors, strings and maps on the heap. Such a message is serialized to be sent.
struct heap {
  static constexpr storage_kind kind = storage_kind::heap;

  template <std::size_t N>
  using string = bounded_string<N>;
  template <std::size_t N>
  using wstring = bounded_wstring<N>;
  template <class T, std::size_t N>
  using sequence = bounded_vector<T, N>;
  template <class K, class V, std::size_t N>
  using map = bounded_map<K, V, N>;
  template <class T>
  using optional = std::optional<T>;

  using unbounded_string = std::string;
  using unbounded_wstring = std::u16string;
  /// std::vector, except for booleans: std::vector<bool> has no addressable booleans.
  template <class T>
  using unbounded_sequence =
      std::conditional_t<std::is_same_v<T, bool>, bounded_vector<T, unbounded>, std::vector<T>>;
  template <class K, class V>
  using unbounded_map = std::map<K, V, key_less<K>>;

  template <class T, std::size_t N = unbounded>
  using bulk = std::conditional_t<N == unbounded, std::vector<T>, bounded_vector<T, N>>;
};

/// Strings, sequences and maps that grow in the region that contains the message: see `situ/region.hpp`.
struct in_region;

/// A storage policy.
template <class S>
concept storage_policy = std::same_as<S, in_region> || requires {
  { S::kind } -> std::convertible_to<storage_kind>;
};

/// A storage policy for strings, sequences and maps without a bound. `situ::flat` is not one: a message with
/// such a member needs `situ::heap`, or a bound (or `@bulk`) for the member in its schema.
template <class S>
concept unbounded_storage = std::same_as<S, in_region> ||
    (storage_policy<S>&& requires { typename S::unbounded_string; });

/// `string<N>` of a schema, with storage S.
template <class S, std::size_t N>
using string = typename S::template string<N>;
/// `wstring<N>`.
template <class S, std::size_t N>
using wstring = typename S::template wstring<N>;
/// `sequence<T, N>`.
template <class S, class T, std::size_t N>
using sequence = typename S::template sequence<T, N>;
/// `map<K, V, N>`.
template <class S, class K, class V, std::size_t N>
using map = typename S::template map<K, V, N>;
/// `@optional T`.
template <class S, class T>
using optional = typename S::template optional<T>;
/// `@bulk sequence<T>` or `@bulk sequence<T, N>`.
template <class S, class T, std::size_t N = unbounded>
using bulk = typename S::template bulk<T, N>;
/// `string`.
template <class S>
using unbounded_string = typename S::unbounded_string;
/// `wstring`.
template <class S>
using unbounded_wstring = typename S::unbounded_wstring;
/// `sequence<T>`.
template <class S, class T>
using unbounded_sequence = typename S::template unbounded_sequence<T>;
/// `map<K, V>`.
template <class S, class K, class V>
using unbounded_map = typename S::template unbounded_map<K, V>;

namespace detail {
/// The types of members that a schema marks `@set`, `@hash`, `@ordered`, `@external` or `@shared`. The marks
/// apply in regions; other storages ignore them.
template <class T>
struct hashed {
  using type = T;
};
template <class T>
struct ordered {
  using type = T;
};
template <class T>
struct linked {
  using type = T;
};
template <class T>
struct shared {
  using type = T;
};
template <class T>
struct as_set {
  using type = T;
};
}  // namespace detail

/// `@hash map<K, V>` or `@set @hash sequence<K>`, from the type without `@hash`.
template <class T>
using hashed = typename detail::hashed<T>::type;
/// `@ordered map<K, V>` or `@set @ordered sequence<K>`, from the type without `@ordered`.
template <class T>
using ordered = typename detail::ordered<T>::type;
/// `@optional @external T`, from the type without `@external`.
template <class T>
using linked = typename detail::linked<T>::type;
/// `@optional @shared T`, from the type without `@shared`.
template <class T>
using shared = typename detail::shared<T>::type;
/// Stands for a weak link in storages that have none: all but regions.
struct no_weak_link {
  friend bool operator==(no_weak_link, no_weak_link) = default;
};
namespace detail {
template <class S, class T>
struct weak {
  using type = no_weak_link;
};
}  // namespace detail
/// `@optional @weak T`.
template <class S, class T>
using weak = typename detail::weak<S, T>::type;
/// `@set sequence<K>`, from the type without `@set`.
template <class T>
using as_set = typename detail::as_set<T>::type;

/// The base of structs that can be appended to in regions: there their alignment is 8, regardless of their
/// members.
template <class S>
struct appended {
  friend bool operator==(const appended&, const appended&) = default;
};
/// In a region the alignment is 8.
template <>
struct alignas(8) appended<in_region> {
  friend bool operator==(const appended&, const appended&) = default;
};

/// The default of a text member. In a region it has up to 11 bytes.
template <class T, class Text>
constexpr T default_text(const Text& text) {
  if constexpr (requires { T(text); }) {
    return T(text);
  } else if constexpr (requires { T::situ_short(text); }) {
    return T::situ_short(text);
  } else {
    return T();
  }
}
/// The default of a sequence. In a region it is empty.
template <class T, class Element>
constexpr T default_list(std::initializer_list<Element> elements) {
  if constexpr (requires { T(elements); }) {
    return T(elements);
  } else {
    return T();
  }
}

}  // namespace situ
