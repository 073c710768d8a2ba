// The declarations of a generated message type, and walks over the members of any message.
#pragma once

#include <array>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <new>
#include <optional>
#include <stdexcept>
#include <string_view>
#include <type_traits>
#include <utility>

#include "situ/layout/policy.hpp"
#include "situ/layout/tagged_union.hpp"

namespace situ {

/// The ways in which a type may change over time. CDR encodes each one differently.
enum class extensibility { final, appendable, mutable_ };

/// The properties of a member in the schema, besides its type.
struct member_info {
  /// The name in the schema. The C++ member has the same name, with an underscore appended where C++ reserves
  /// the name.
  std::string_view name;
  /// The member id.
  std::uint32_t id = 0;
  /// Whether the member is part of the key.
  bool key = false;
  /// Whether a reader that does not know the member must refuse the message.
  bool must_understand = false;
};

/// A list of types.
template <class... Ts>
struct type_list {};

/// The bulk lengths of a message without bulk fields.
struct no_bulk {
  friend constexpr bool operator==(no_bulk, no_bulk) = default;
};

/// A generated struct.
template <class T>
concept message = requires {
  { T::situ_name } -> std::convertible_to<std::string_view>;
  { T::schema_hash } -> std::convertible_to<std::uint64_t>;
  typename T::situ_storage;
  typename T::situ_types;
  typename T::bulk_lengths;
};

/// A generated union.
template <class T>
concept message_union = requires {
  { T::situ_name } -> std::convertible_to<std::string_view>;
  typename T::discriminator_type;
  typename T::alternatives;
};

/// Calls `visit(info, member)` for each member of a message, inherited ones first. A visitor that returns a
/// bool ends the walk with `false`. Returns whether the walk visited all members.
template <class T, class Visitor>
requires message<std::remove_const_t<T>>
constexpr bool for_each_member(T& value, Visitor&& visit) {
  return std::remove_const_t<T>::situ_members(
      [&visit](const member_info& info, auto& member) {
        if constexpr (std::is_void_v<decltype(visit(info, member))>) {
          visit(info, member);
          return true;
        } else {
          return static_cast<bool>(visit(info, member));
        }
      },
      value);
}

/// The same message type with another storage: `rebind<PointCloud2, situ::heap>`.
template <message T, storage_policy S>
using rebind = typename T::template situ_rebind<S>;

namespace detail {

/// Access to private parts of containers, for code that reads bytes before they are checked.
struct access {
  template <class V>
  static const auto& stored_size(const V& vector) {
    return vector.size_;
  }
  template <class M>
  static const auto& entries(const M& map) {
    return map.entries_;
  }
  template <class T>
  static const std::uint8_t& presence(const inline_optional<T>& optional) {
    return optional.present_;
  }
  template <class U>
  static const auto& discriminator(const U& value) {
    return value.discriminator_;
  }
  template <class U>
  static const std::byte* payload(const U& value) {
    return value.bytes_;
  }
};

template <class T>
struct is_array : std::false_type {};
template <class T, std::size_t N>
struct is_array<std::array<T, N>> : std::true_type {};

template <class T>
struct is_string : std::false_type {};
template <class C, std::size_t N, class A>
struct is_string<basic_bounded_string<C, N, A>> : std::true_type {};
template <class C, class R, class A>
struct is_string<std::basic_string<C, R, A>> : std::true_type {};

template <class T>
struct is_sequence : is_bounded_vector<T> {};
template <class T, class A>
struct is_sequence<std::vector<T, A>> : std::true_type {};

template <class T>
struct is_map : std::false_type {};
template <class K, class V, std::size_t N, class A>
struct is_map<bounded_map<K, V, N, A>> : std::true_type {};
template <class K, class V, class C, class A>
struct is_map<std::map<K, V, C, A>> : std::true_type {};

template <class T>
struct is_optional : std::false_type {};
template <class T>
struct is_optional<inline_optional<T>> : std::true_type {};
template <class T>
struct is_optional<std::optional<T>> : std::true_type {};

template <class T>
struct is_bulk : std::false_type {};
template <class T, std::size_t N>
struct is_bulk<bulk_ref<T, N>> : std::true_type {};

template <class T>
concept scalar = std::is_arithmetic_v<T> || std::is_enum_v<T>;
template <class T>
concept array = is_array<T>::value;
template <class T>
concept string = is_string<T>::value;
template <class T>
concept sequence = is_sequence<T>::value;
template <class T>
concept map = is_map<T>::value;
template <class T>
concept optional = is_optional<T>::value;
template <class T>
concept bulk = is_bulk<T>::value;

template <class T>
struct is_flat : std::bool_constant<scalar<T>> {};
template <class T, std::size_t N>
struct is_flat<std::array<T, N>> : is_flat<T> {};
template <class C, std::size_t N>
struct is_flat<basic_bounded_string<C, N, inline_allocator<C>>> : std::true_type {};
template <class T, std::size_t N>
struct is_flat<bounded_vector<T, N, inline_allocator<T>>> : is_flat<T> {};
template <class K, class V>
struct is_flat<map_entry<K, V>> : std::conjunction<is_flat<K>, is_flat<V>> {};
template <class K, class V, std::size_t N, class T>
struct is_flat<bounded_map<K, V, N, inline_allocator<T>>> : is_flat<map_entry<K, V>> {};
template <class T>
struct is_flat<inline_optional<T>> : is_flat<T> {};
template <class T, std::size_t N>
struct is_flat<bulk_ref<T, N>> : is_flat<T> {};

template <class T>
struct all_flat;
template <class... Ts>
struct all_flat<type_list<Ts...>> : std::conjunction<is_flat<Ts>...> {};
template <class... Ts>
struct all_flat<std::tuple<Ts...>> : std::conjunction<is_flat<Ts>...> {};

/// A message on the heap without variable-length parts (a point, for example) is flat as well: both storages
/// have the same bytes.
template <message T>
struct is_flat<T> : std::conjunction<all_flat<typename T::situ_types>, std::is_standard_layout<T>,
                                     std::is_trivially_destructible<T>> {};
template <message_union T>
struct is_flat<T> : std::conjunction<all_flat<typename T::alternatives>, std::is_standard_layout<T>,
                                     std::is_trivially_destructible<T>> {};

}  // namespace detail

/// Whether a value is one self-contained block of plain memory: no pointers, nothing that has a meaning in
/// one process only, nothing to destroy. Only such types may lie in memory that other processes read.
template <class T>
inline constexpr bool is_flat_v = detail::is_flat<std::remove_cv_t<T>>::value;

/// A message that can be built in shared memory.
template <class T>
concept flat_message = message<T> && is_flat_v<T>;

/// The schema that a topic carries for a struct. Generated code specializes it.
template <class T>
struct schema_text;

/// A hash that applies to flat storage only.
template <storage_policy S>
[[nodiscard]] consteval std::uint64_t if_flat(std::uint64_t hash) noexcept {
  return S::kind == storage_kind::flat ? hash : 0;
}

/// Assigns one value to each element of an array, or of an array of arrays.
template <class T>
struct filled {
  T value;

  template <class E, std::size_t N>
  constexpr operator std::array<E, N>() const {
    std::array<E, N> array{};
    for (E& element : array) {
      if constexpr (std::is_same_v<E, T>) {
        element = value;
      } else {
        element = *this;
      }
    }
    return array;
  }
};
template <class T>
filled(T) -> filled<T>;

/// The lengths of the bulk fields of a message.
template <message T>
[[nodiscard]] constexpr typename T::bulk_lengths bulk_lengths_of(const T& value) {
  if constexpr (std::is_same_v<typename T::bulk_lengths, no_bulk>) {
    return {};
  } else {
    return T::situ_bulk_lengths(value);
  }
}

namespace detail {

/// Places a bulk field. On the heap, resizes it to `count` elements.
template <class T, std::size_t N>
constexpr bool place_elements(bulk_ref<T, N>* where, std::size_t count, body_layout& body) {
  return body.place(count, where);
}
template <sequence V>
bool place_elements(V* where, std::size_t count, body_layout& body) {
  using element = typename V::value_type;
  std::size_t bound = unbounded;
  if constexpr (is_bounded_vector<V>::value) bound = V::bound;
  if (count > bound || !body.place(count, static_cast<bulk_ref<element>*>(nullptr))) return false;
  if (where != nullptr) where->resize(count);
  return true;
}

/// Places the bulk fields of a member, or the member itself if it is one. Without a message it only measures.
template <class T, class M, class Lengths>
constexpr bool place_bulk(T* message, M T::*member, const Lengths& lengths, body_layout& body) {
  M* where = message != nullptr ? &(message->*member) : nullptr;
  if constexpr (situ::message<M>) {
    return M::situ_place_bulk(where, lengths, body);
  } else {
    return place_elements(where, lengths, body);
  }
}

template <message T>
constexpr std::optional<std::size_t> body_size(
    [[maybe_unused]] const typename T::bulk_lengths& lengths) noexcept {
  body_layout body;
  if constexpr (!std::is_same_v<typename T::bulk_lengths, no_bulk>) {
    if (!T::situ_place_bulk(nullptr, lengths, body)) return std::nullopt;
  }
  return body.size();
}

/// Constructs default values at `place`, with bulk fields of the given lengths. Sequences, strings and maps
/// write only their length: their unused elements are not touched.
template <message T>
T* init_at(void* place, [[maybe_unused]] const typename T::bulk_lengths& lengths) {
  T* made = ::new (place) T;
  if constexpr (!std::is_same_v<typename T::bulk_lengths, no_bulk>) {
    body_layout body;
    if (!T::situ_place_bulk(made, lengths, body)) {
      made->~T();
      raise(std::length_error(
          "the bulk fields exceed their bounds or the address space; call body_size first"));
    }
  }
  return made;
}

}  // namespace detail
}  // namespace situ
