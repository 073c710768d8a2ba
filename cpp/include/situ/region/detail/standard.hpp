// The types of the standard library for those of regions, and copies from one to the other.
#pragma once

#include <array>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <stdexcept>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <variant>
#include <vector>

#include "situ/convert.hpp"
#include "situ/region/detail/needs.hpp"
#include "situ/region/policy.hpp"

namespace situ::region_detail {

/// A generated struct or union with storage in a region.
template <class T>
concept generated_in_region = requires {
  requires std::is_same_v<typename T::situ_storage, in_region>;
  typename T::template situ_rebind<heap>;
};

/// Where no type of the library exists.
struct no_standard {};

/// The type of the standard library for a type of regions: itself, if it has no links. `finite` is false if
/// the type would contain itself. `Above` are the structs that contain it.
template <class T, class... Above>
struct standard {
  static_assert(!container<T>, "to_std knows no type of the standard library for this container");
  using type = T;
  static constexpr bool finite = true;
};
template <class T, class... Above>
using standard_of = typename standard<T, Above...>::type;

template <class... Above>
struct standard<region_string, Above...> {
  using type = std::string;
  static constexpr bool finite = true;
};
template <class T, class... Above>
requires generated_in_region<T>
struct standard<T, Above...> {
  using type = typename T::template situ_rebind<heap>;
  static constexpr bool finite = true;
};

/// A struct with links: a tuple.
template <class T, class... Above>
struct standard_struct {
  template <std::size_t... I>
  static auto tuple_of(std::index_sequence<I...>)
      -> std::tuple<standard_of<decltype(type_of(std::get<I>(members_of<T>))), T, Above...>...>;
  template <std::size_t... I>
  static consteval bool all_finite(std::index_sequence<I...>) {
    return (standard<decltype(type_of(std::get<I>(members_of<T>))), T, Above...>::finite && ...);
  }
  using indices = std::make_index_sequence<member_count<T>>;
  using type = decltype(tuple_of(indices()));
  static constexpr bool finite = all_finite(indices());
};
struct endless_struct {
  using type = no_standard;
  static constexpr bool finite = false;
};
template <class T, class... Above>
requires(described<T> && !generated_in_region<T> && has_links<T>) struct standard<T, Above...>
    : std::conditional_t<(std::is_same_v<T, Above> || ...), std::type_identity<endless_struct>,
                         std::type_identity<standard_struct<T, Above...>>>::type {
};

/// A template of the library over the types for the parts.
template <template <class...> class To, class Above, class... Parts>
struct standard_holder;
template <template <class...> class To, class... Above, class... Parts>
struct standard_holder<To, std::tuple<Above...>, Parts...> {
  using type = To<standard_of<Parts, Above...>...>;
  static constexpr bool finite = (standard<Parts, Above...>::finite && ...);
};

template <class T, class... Above>
struct standard<region_vector<T>, Above...> : standard_holder<std::vector, std::tuple<Above...>, T> {};
template <class T, class... Above>
struct standard<region_optional<T>, Above...> : standard_holder<std::optional, std::tuple<Above...>, T> {};
template <class T, class... Above>
struct standard<region_unique<T>, Above...> : standard_holder<std::optional, std::tuple<Above...>, T> {};
template <class T, class... Above>
struct standard<region_shared<T>, Above...> : standard_holder<std::shared_ptr, std::tuple<Above...>, T> {};
template <class T, std::size_t N, class... Above>
requires has_links<T>
struct standard<std::array<T, N>, Above...> {
  using type = std::array<standard_of<T, Above...>, N>;
  static constexpr bool finite = standard<T, Above...>::finite;
};
template <region_name Name, class D, class... Cases, class... Above>
struct standard<region_union<Name, D, Cases...>, Above...> {
  using type = std::variant<std::monostate, standard_of<typename Cases::type, Above...>...>;
  static constexpr bool finite = (standard<typename Cases::type, Above...>::finite && ...);
};

/// The type for a key: structs become tuples, because these have an order.
template <class K>
struct standard_key : standard<K> {};
template <class K>
requires described<K>
struct standard_key<K> {
  template <std::size_t... I>
  static auto tuple_of(std::index_sequence<I...>)
      -> std::tuple<typename standard_key<decltype(type_of(std::get<I>(members_of<K>)))>::type...>;
  using type = decltype(tuple_of(std::make_index_sequence<member_count<K>>()));
};
template <class K, std::size_t N>
struct standard_key<std::array<K, N>> {
  using type = std::array<typename standard_key<K>::type, N>;
};
template <class K>
using standard_key_t = typename standard_key<K>::type;
template <class K>
concept hashed_by_std = std::is_default_constructible_v<std::hash<standard_key_t<K>>>;

template <class K, class... Above>
struct standard<region_sorted_set<K>, Above...> {
  using type = std::set<standard_key_t<K>>;
  static constexpr bool finite = true;
};
template <class K, class... Above>
struct standard<region_ordered_set<K>, Above...> : standard<region_sorted_set<K>> {};
/// Keys without a std::hash make a hash table a sorted one.
template <class K, class... Above>
struct standard<region_hash_set<K>, Above...> : standard<region_sorted_set<K>> {};
template <hashed_by_std K, class... Above>
struct standard<region_hash_set<K>, Above...> {
  using type = std::unordered_set<standard_key_t<K>>;
  static constexpr bool finite = true;
};
template <class K, class V, class... Above>
struct standard<region_sorted_map<K, V>, Above...> {
  using type = std::map<standard_key_t<K>, standard_of<V, Above...>>;
  static constexpr bool finite = standard<V, Above...>::finite;
};
template <class K, class V, class... Above>
struct standard<region_ordered_map<K, V>, Above...> : standard<region_sorted_map<K, V>, Above...> {};
template <class K, class V, class... Above>
struct standard<region_hash_map<K, V>, Above...> : standard<region_sorted_map<K, V>, Above...> {};
template <hashed_by_std K, class V, class... Above>
struct standard<region_hash_map<K, V>, Above...> {
  using type = std::unordered_map<standard_key_t<K>, standard_of<V, Above...>>;
  static constexpr bool finite = standard<V, Above...>::finite;
};

template <class T>
using standard_t = typename standard<T>::type;
template <class T>
concept has_standard = storable<T> && has_links<T>;
template <class T>
concept finite_standard = standard<T>::finite;

template <class T>
struct is_std_variant : std::false_type {};
template <class... Ts>
struct is_std_variant<std::variant<Ts...>> : std::true_type {};
/// Tuples and pairs.
template <class T>
concept std_tuple = !array<T> && requires {
  std::tuple_size<T>::value;
};
template <class T>
concept std_pointer = requires(T to) {
  typename T::element_type;
  to.reset();
};

/// Copies values to types of the standard library.
class standard_copier {
 public:
  template <class To, class From>
  [[nodiscard]] To copy(const From& from) {
    if constexpr (std::is_same_v<To, From> && !has_links<From>) {
      return from;
    } else if constexpr (scalar<From>) {
      return static_cast<To>(from);
    } else if constexpr (std::is_same_v<From, region_string>) {
      return To(from.view());
    } else if constexpr (generated_in_region<From>) {
      return on_heap<To>(from);
    } else if constexpr (array<From>) {
      return copy_array<To>(from, std::make_index_sequence<std::tuple_size_v<From>>());
    } else if constexpr (described<From>) {
      return copy_struct<To>(from, std::make_index_sequence<member_count<From>>());
    } else if constexpr (variant<From>) {
      return copy_union<To>(from);
    } else if constexpr (requires { from.use_count(); }) {
      return copy_shared<To>(from);
    } else if constexpr (requires { typename From::mapped_type; }) {
      return copy_entries<To>(from);
    } else if constexpr (requires { from.begin(); }) {
      return copy_elements<To>(from);
    } else {
      return copy_optional<To>(from);
    }
  }

 private:
  /// Converts to the type of the member that it initializes.
  template <class From>
  class member_copy {
   public:
    member_copy(standard_copier& by, const From& from) noexcept : by_(by), from_(from) {}
    template <class To>
    // NOLINTNEXTLINE(google-explicit-constructor): for the members of an aggregate.
    operator To() const {
      return by_.copy<To>(from_);
    }

   private:
    standard_copier& by_;
    const From& from_;
  };

  template <class To, class From>
  static To on_heap(const From& from) {
    To to;
    situ::detail::converter converter({}, {});
    if (!converter.convert(from, to))
      situ::detail::raise(std::length_error("to_std: " + converter.take_error().message()));
    return to;
  }
  template <class To, class From, std::size_t... I>
  To copy_array(const From& from, std::index_sequence<I...>) {
    return To{copy<typename To::value_type>(from[I])...};
  }
  template <class To, class From, std::size_t... I>
  To copy_struct(const From& from, std::index_sequence<I...>) {
    const auto& members = members_of<From>;
    if constexpr (std_tuple<To>) {
      static_assert(std::tuple_size_v<To> == sizeof...(I), "to_std: the tuple has a part for each member");
      return To{copy<std::tuple_element_t<I, To>>(std::get<I>(members).of(from))...};
    } else {
      static_assert(
          std::is_aggregate_v<To>,
          "to_std: a struct becomes a tuple, or an aggregate with the same members in the same order");
      return To{member_copy(*this, std::get<I>(members).of(from))...};
    }
  }
  template <class To, class From>
  To copy_union(const From& from) {
    static_assert(is_std_variant<To>::value,
                  "to_std: a union becomes a std::variant that begins with monostate");
    To to;
    from.visit_active([this, &to](auto index, const auto& member) {
      constexpr std::size_t at = decltype(index)::value + 1;
      to.template emplace<at>(this->template copy<std::variant_alternative_t<at, To>>(member));
      return true;
    });
    return to;
  }
  template <class To, class From>
  To copy_shared(const From& from) {
    if (!from) return To();
    if constexpr (std::is_same_v<To, std::shared_ptr<typename To::element_type>>) {
      // One value may become copies of several types.
      const std::pair<const void*, const char*> key(&*from, &type_mark<To>);
      if (const auto found = shared_.find(key); found != shared_.end())
        return std::static_pointer_cast<typename To::element_type>(found->second);
      auto made = std::make_shared<typename To::element_type>(copy<typename To::element_type>(*from));
      shared_.emplace(key, made);
      return made;
    } else {
      return To(std::make_unique<typename To::element_type>(copy<typename To::element_type>(*from)));
    }
  }
  template <class To, class From>
  To copy_optional(const From& from) {
    if (!from) return To();
    if constexpr (std_pointer<To>) {
      return To(std::make_unique<typename To::element_type>(copy<typename To::element_type>(*from)));
    } else {
      return To(copy<typename To::value_type>(*from));
    }
  }
  template <class To, class From>
  To copy_elements(const From& from) {
    To to;
    if constexpr (requires { to.reserve(from.size()); }) to.reserve(from.size());
    for (const auto& element : from) to.insert(to.end(), copy<typename To::value_type>(element));
    return to;
  }
  template <class To, class From>
  To copy_entries(const From& from) {
    To to;
    if constexpr (requires { to.reserve(from.size()); }) to.reserve(from.size());
    for (const auto& [key, value] : from) {
      to.emplace_hint(to.end(), copy<typename To::key_type>(key), copy<typename To::mapped_type>(value));
    }
    return to;
  }

  std::map<std::pair<const void*, const char*>, std::shared_ptr<void>> shared_;
};

}  // namespace situ::region_detail
