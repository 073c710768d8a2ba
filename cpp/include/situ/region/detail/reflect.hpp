// The types that may lie in a region, the description of plain structs by their members, and the walks over
// them: attaching, relocating, releasing, storing.
#pragma once

#include <algorithm>
#include <array>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <iosfwd>
#include <memory>
#include <ranges>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>

#include "situ/region/detail/later.hpp"
#include "situ/region/error.hpp"
#include "situ/region/image/format.hpp"
#include "situ/region/memory/allocator.hpp"

namespace situ {

class region_string;

namespace region_detail {

template <auto Pointer>
struct member_type;
template <class T, class M, M T::*Pointer>
struct member_type<Pointer> {
  using type = M;
};
/// One member of a struct that `SITU_REGION` describes.
template <auto Pointer, std::size_t Offset>
struct member {
  std::string_view name;
  static constexpr std::size_t offset = Offset;
  template <class T>
  constexpr auto& of(T& object) const noexcept {
    return object.*Pointer;
  }
};

/// The type of a member that is a C array, which no region holds.
struct c_array {};
template <auto Pointer, std::size_t Offset>
constexpr auto type_of(const member<Pointer, Offset>&)
    -> std::conditional_t<std::is_array_v<typename member_type<Pointer>::type>, c_array,
                          typename member_type<Pointer>::type>;

/// Containers identify themselves by this member.
template <class T>
concept container = requires {
  typename T::situ_region_container;
};
/// Containers that select one of several members.
template <class T>
concept variant = container<T> && requires {
  typename T::discriminator_type;
};
/// A base class of a struct that `SITU_REGION_DERIVED` describes: its first member.
template <class Base>
struct base_member {
  std::string_view name = "base";
  static constexpr std::size_t offset = 0;
  template <class T>
  constexpr auto& of(T& object) const noexcept {
    return static_cast<std::conditional_t<std::is_const_v<T>, const Base&, Base&>>(object);
  }
};
template <class Base>
constexpr auto type_of(const base_member<Base>&) -> Base;

/// Structs that `SITU_REGION` describes.
template <class T>
concept described = requires(const T* type) {
  situ_region_name(type);
};
/// Structs that `SITU_REGION_APPENDABLE` describes.
template <class T>
concept appendable = described<T> && requires(const T* type) {
  situ_region_appendable(type);
};
/// The representation of an enum in a region: its declared integer, boolean or character type.
template <class T>
struct number_type {
  using type = T;
};
template <class T>
requires std::is_enum_v<T>
struct number_type<T> {
  using type = std::underlying_type_t<T>;
};
template <class T>
using number_of = typename number_type<T>::type;
template <class T>
concept boolean = std::is_same_v < number_of<T>,
bool > ;
/// Numbers that are the same on all platforms, booleans, and characters of one byte.
template <class T>
concept scalar = std::is_arithmetic_v<number_of<T>> && sizeof(T) <= 8 &&
                 !std::is_same_v<number_of<T>, long double> && !std::is_same_v<number_of<T>, wchar_t>;
template <class T>
struct array_traits : std::false_type {};
template <class T, std::size_t N>
struct array_traits<std::array<T, N>> : std::true_type {
  using element = T;
};
template <class T>
concept array = array_traits<T>::value;
/// Types that may lie in a region.
template <class T>
concept storable = scalar<T> || container<T> || described<T> || array<T>;

/// The descriptions of a struct's members. They lie outside of functions, so that they are not built where
/// only an error message needs them.
template <described T>
inline constexpr auto members_of = situ_region_members(static_cast<const T*>(nullptr));

/// Calls `visit` with each member's description until one call returns false.
template <described T, class Visit>
[[gnu::always_inline]] constexpr bool for_each_member(const Visit& visit) {
  return [&]<std::size_t... I>(std::index_sequence<I...>) __attribute__((always_inline)) {
    return (visit(std::get<I>(members_of<T>)) && ...);
  }
  (std::make_index_sequence<std::tuple_size_v<std::remove_const_t<decltype(members_of<T>)>>>());
}

template <described T>
inline constexpr std::uint32_t member_count = std::tuple_size_v<std::remove_const_t<decltype(members_of<T>)>>;

/// Whether no member of a struct is a C array, or an array without elements.
template <described T>
consteval bool has_no_c_array() {
  return for_each_member<T>([](const auto& m) { return !std::is_same_v<decltype(type_of(m)), c_array>; });
}
template <described T>
consteval bool has_no_empty_array() {
  return for_each_member<T>([](const auto& m) {
    using M = decltype(type_of(m));
    if constexpr (array<M>) return std::tuple_size_v<M> != 0;
    return true;
  });
}
/// Whether the named members are all members of a struct, in order, at the offsets of the format.
template <described T>
consteval bool members_fit() {
  std::size_t end = 0;
  const bool inside = for_each_member<T>([&end](const auto& m) {
    using M = decltype(type_of(m));
    const bool follows = m.offset == (end + alignof(M) - 1) / alignof(M) * alignof(M);
    end = m.offset + sizeof(M);
    return follows;
  });
  return inside && sizeof(T) == (end + alignof(T) - 1) / alignof(T) * alignof(T);
}

/// Whether values contain links, which change when the value moves.
template <class T>
consteval bool find_links() {
  if constexpr (container<T>) {
    return T::has_links();
  } else if constexpr (array<T>) {
    return find_links<typename array_traits<T>::element>();
  } else if constexpr (described<T>) {
    return !for_each_member<T>([](const auto& m) { return !find_links<decltype(type_of(m))>(); });
  } else {
    return false;
  }
}
template <class T>
inline constexpr bool has_links = find_links<T>();

/// Whether any bytes are a valid value.
template <class T>
consteval bool find_plain() {
  if constexpr (container<T> || boolean<T>) {
    return false;
  } else if constexpr (array<T>) {
    return find_plain<typename array_traits<T>::element>();
  } else if constexpr (described<T>) {
    return for_each_member<T>([](const auto& m) { return find_plain<decltype(type_of(m))>(); });
  } else {
    return true;
  }
}

/// Whether there is no padding between or after the members, at any depth.
template <class T>
consteval bool find_dense() {
  if constexpr (container<T>) {
    return false;
  } else if constexpr (array<T>) {
    return find_dense<typename array_traits<T>::element>();
  } else if constexpr (described<T>) {
    std::size_t end = 0;
    const bool inside = for_each_member<T>([&end](const auto& m) {
      using M = decltype(type_of(m));
      const bool follows = m.offset == end;
      end = m.offset + sizeof(M);
      return follows && find_dense<M>();
    });
    return inside && end == sizeof(T);
  } else {
    return true;
  }
}
/// Types that are copied as bytes, and are valid for any bytes.
template <class T>
inline constexpr bool is_plain = find_plain<T>();
template <class T>
inline constexpr bool is_dense = find_dense<T>();

/// Sets the link to the region's header in each container of a new value.
template <class T>
void attach(header* h, T& value) noexcept {
  if constexpr (has_links<T>) {
    if constexpr (container<T>) {
      value.situ_attach(h);
    } else if constexpr (array<T>) {
      for (auto& element : value) attach(h, element);
    } else {
      for_each_member<T>([h, &value](const auto& m) {
        attach(h, m.of(value));
        return true;
      });
    }
  }
}

/// Corrects the links of a value whose bytes moved by `-distance`.
template <class T>
void moved(T& value, std::int32_t distance) noexcept {
  if constexpr (has_links<T>) {
    if constexpr (container<T>) {
      value.situ_moved(distance);
    } else if constexpr (array<T>) {
      for (auto& element : value) moved(element, distance);
    } else {
      for_each_member<T>([&value, distance](const auto& m) {
        moved(m.of(value), distance);
        return true;
      });
    }
  }
}

/// Frees all blocks that a value holds. Afterwards the value itself is memory to be overwritten.
template <class T>
void release(T& value) noexcept {
  if constexpr (has_links<T>) {
    if constexpr (container<T>) {
      value.situ_release();
    } else if constexpr (array<T>) {
      for (auto& element : value) release(element);
    } else {
      for_each_member<T>([&value](const auto& m) {
        release(m.of(value));
        return true;
      });
    }
  }
}

#if defined(__GNUC__) && !defined(__clang__)
// GCC considers the target of a link to be part of the member that contains the link, and warns that the
// member is too small.
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wstringop-overflow"
#endif
/// Moves values within a region. The places may overlap. The bytes left behind are not touched.
template <class T>
void relocate(T* to, T* from, std::size_t count) noexcept {
  if (count == 0 || to == from) return;
  std::memmove(static_cast<void*>(to), static_cast<const void*>(from), count * sizeof(T));
  if constexpr (has_links<T>) {
    const auto distance = static_cast<std::int32_t>(bytes_of(from) - bytes_of(to));
    for (std::size_t i = 0; i < count; ++i) moved(to[i], distance);
  }
}
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic pop
#endif

/// Starts a value in zeroed memory of the region.
template <class T>
T* begin(header* h, void* at) noexcept {
  static_assert(storable<T>,
                "only numbers, enums, region containers, std::array of these, and structs described "
                "with SITU_REGION can lie in a region");
  static_assert(alignof(T) <= granule, "nothing in a region is aligned to more than 16");
  static_assert(std::is_trivially_destructible_v<T>, "what lies in a region has no destructor");
  T* value = ::new (at) T();
  attach(h, *value);
  return value;
}

/// The hash of the schema that declares a type, or 0.
template <class T>
consteval std::uint64_t schema_hash_of() {
  if constexpr (requires { T::schema_hash; }) {
    return T::schema_hash;
  } else {
    return 0;
  }
}

/// Containers that hold values, which may hold containers in turn.
template <class T>
concept holder = container<T> && !std::is_same_v<T, region_string>;

/// In how many containers within each other the copies of this thread are.
inline thread_local constinit std::uint32_t copy_depth = 0;
/// How deep a copy goes by recursion.
inline constexpr std::uint32_t max_copy_depth = 32;

/// Copies a container with all that it holds, without recursion; see image/copy.hpp.
template <holder T>
[[nodiscard]] bool copy_whole(T& to, const T& from);

/// Copies a container, by recursion unless it lies too deep.
template <holder T>
[[nodiscard]] bool store_deeper(T& to, const T& from) {
  if (copy_depth == max_copy_depth) return copy_whole(to, from);
  struct level {
    level() noexcept { ++copy_depth; }
    level(const level&) = delete;
    level& operator=(const level&) = delete;
    ~level() { --copy_depth; }
  } deeper;
  return to.situ_store(from);
}

/// Views of keys of type T, as which structs and arrays are looked up; see detail/key.hpp.
template <class U, class T>
concept view_of_key = requires {
  requires std::is_same_v<typename U::situ_key, T>;
};

/// Stores `from` as the value of `to`. Returns false if the region has no room; `to` then holds some valid
/// value.
template <class T, class U>
[[nodiscard]] bool store(T& to, const U& from) {
  if constexpr (view_of_key<U, T>) {
    return from.situ_put(to);
  } else if constexpr (holder<T> && std::is_same_v<T, U>) {
    return store_deeper(to, from);
  } else if constexpr (container<T>) {
    return to.situ_store(from);
  } else if constexpr (array<T>) {
    std::size_t i = 0;
    for (const auto& element : from) {
      if (i == to.size()) break;
      if (!store(to[i++], element)) return false;
    }
    return true;
  } else if constexpr (described<T>) {
    static_assert(std::is_same_v<T, U>, "a struct in a region is stored from one of the same type");
    if constexpr (is_dense<T> && std::is_trivially_copy_assignable_v<T>) {
      to = from;
      return true;
    }
    return for_each_member<T>([&to, &from](const auto& m) { return store(m.of(to), m.of(from)); });
  } else {
    to = static_cast<T>(from);
    return true;
  }
}

template <class T, std::size_t... I, class... Args>
[[nodiscard]] bool store_members(std::index_sequence<I...>, T& to, const Args&... from) {
  const auto members = situ_region_members(static_cast<const T*>(nullptr));
  return (store(std::get<I>(members).of(to), from) && ...);
}

/// Stores arguments as the first members of a struct, or the only argument as the value.
template <class T, class... Args>
[[nodiscard]] bool store_all(T& to, const Args&... from) {
  if constexpr (sizeof...(Args) == 0) {
    return true;
  } else if constexpr (described<T> &&
                       !(sizeof...(Args) == 1 && ((std::is_same_v<T, Args> || view_of_key<Args, T>)&&...))) {
    static_assert(
        sizeof...(Args) <= std::tuple_size_v<decltype(situ_region_members(static_cast<const T*>(nullptr)))>,
        "more arguments than the struct has members");
    return store_members(std::index_sequence_for<Args...>(), to, from...);
  } else {
    static_assert(sizeof...(Args) == 1, "one value is stored in a number or container");
    return (store(to, from) && ...);
  }
}

/// The comparison that this thread is in, with what it compares later. Null outside of comparisons.
inline thread_local constinit later_visits* comparison = nullptr;

/// The comparison of this thread becomes another one, until the end of a scope.
class comparison_scope {
 public:
  explicit comparison_scope(later_visits* other) noexcept : before_(std::exchange(comparison, other)) {}
  comparison_scope(const comparison_scope&) = delete;
  comparison_scope& operator=(const comparison_scope&) = delete;
  ~comparison_scope() { comparison = before_; }

 private:
  later_visits* before_;
};

/// Whether two containers are equal. What lies too deep in them counts as equal at first, and the comparison
/// that began first compares it at its end.
template <holder T>
[[nodiscard]] bool equal_deeper(const T& a, const T& b) {
  const auto compare = [&a, &b] { return a == b; };
  if (comparison != nullptr) return comparison->run(compare);
  walk_visits later;
  const comparison_scope scope(&later);
  return later.run(compare) && later.finish(1, [](std::uint32_t) {});
}

/// Whether two values are equal. Structs without an operator of their own compare by members.
template <class T>
[[nodiscard]] bool equal(const T& a, const T& b) {
  if constexpr (array<T>) {
    return std::equal(a.begin(), a.end(), b.begin(),
                      [](const auto& x, const auto& y) { return equal(x, y); });
  } else if constexpr (described<T> && !std::equality_comparable<T>) {
    return for_each_member<T>([&a, &b](const auto& m) { return equal(m.of(a), m.of(b)); });
  } else if constexpr (described<T> && has_links<T>) {
    // The operator may use a result in any way, so all results within it are final.
    const comparison_scope scope(nullptr);
    return a == b;
  } else if constexpr (holder<T>) {
    return equal_deeper(a, b);
  } else {
    return a == b;
  }
}

/// Throws the error of an operation that found no room.
[[noreturn]] inline void raise_fault(const header* h) {
  if (h == nullptr) detail::raise(region_error(region_fault::detached, 0));
  if (h->state == 0) detail::raise(region_error(region_fault::frozen, h->size));
  if (h->refused != 0) detail::raise(region_error(region_fault::cycle, h->capacity));
  detail::raise(region_error(region_fault::full, h->capacity));
}

/// Runs an operation that found no room again after the region got more memory in place. Throws if there is
/// no more, or if the operation failed for another reason.
template <class Operation>
[[gnu::cold, gnu::noinline]] auto in_larger(header* h, const Operation& operation) {
  for (;;) {
    const state* const s = h == nullptr ? nullptr : state_of(h);
    const bool grows = s != nullptr && s->growth != nullptr && s->wanted != 0 && h->refused == 0;
    if (!grows || !s->growth->larger(s->growth)) raise_fault(h);
    if (auto done = operation()) return done;
  }
}

/// Prints a value; see print.hpp.
template <class T>
std::ostream& print(std::ostream& out, const T& value);

}  // namespace region_detail

template <class T>
requires region_detail::has_links<T>
void swap(T& a, T& b);

}  // namespace situ

#define SITU_REGION_EXPAND(...) SITU_REGION_E3(SITU_REGION_E3(SITU_REGION_E3(SITU_REGION_E3(__VA_ARGS__))))
#define SITU_REGION_E3(...) SITU_REGION_E2(SITU_REGION_E2(SITU_REGION_E2(SITU_REGION_E2(__VA_ARGS__))))
#define SITU_REGION_E2(...) SITU_REGION_E1(SITU_REGION_E1(SITU_REGION_E1(SITU_REGION_E1(__VA_ARGS__))))
#define SITU_REGION_E1(...) SITU_REGION_E0(SITU_REGION_E0(SITU_REGION_E0(SITU_REGION_E0(__VA_ARGS__))))
#define SITU_REGION_E0(...) __VA_ARGS__
#define SITU_REGION_PARENS ()
#define SITU_REGION_NEXT() SITU_REGION_EACH
#define SITU_REGION_EACH(Type, name, ...)                                             \
  ::situ::region_detail::member<&Type::name, offsetof(Type, name)>{#name} __VA_OPT__( \
      , SITU_REGION_NEXT SITU_REGION_PARENS(Type, __VA_ARGS__))

/// Describes a plain struct, so that it can lie in a region: `SITU_REGION(Skill, id, level)`. It stands in
/// the namespace of the struct, after the struct, and names all members (256 at most) in the order of their
/// declaration.
#define SITU_REGION(Type, ...) SITU_REGION_AS(Type, SITU_REGION_EXPAND(SITU_REGION_EACH(Type, __VA_ARGS__)))

/// The same for a struct with a base class, which `SITU_REGION` describes: `SITU_REGION_DERIVED(Equip, Item,
/// level)`. In the format the base is a first member called `base`.
#define SITU_REGION_DERIVED(Type, Base, ...)                           \
  SITU_REGION_AS(                                                      \
      Type, ::situ::region_detail::base_member<Base> {} __VA_OPT__(, ) \
                SITU_REGION_EXPAND(SITU_REGION_EACH(Type, __VA_ARGS__)))

/// The same for a struct that may get more members at its end, while programs with and without them continue
/// to work together: `struct alignas(8) Profile { ... };`. It may be the root of a region or the target of a
/// unique or shared link, and nothing else.
#define SITU_REGION_APPENDABLE(Type, ...)                                                            \
  static_assert(alignof(Type) == 8, "a struct that can be appended to is declared with alignas(8)"); \
  [[maybe_unused]] constexpr bool situ_region_appendable(const Type*) { return true; }               \
  SITU_REGION(Type, __VA_ARGS__)

// Structs with bases, and structs that contain them, are not of standard layout. The offsets of their members
// are known nevertheless, and checked. `swap` and `<<` are found in the namespace of the struct. An `<<` of
// the struct's own, which is no template, is preferred.
#define SITU_REGION_AS(Type, ...)                                                                        \
  _Pragma("GCC diagnostic push") _Pragma("GCC diagnostic ignored \"-Winvalid-offsetof\"")                \
      [[maybe_unused]] constexpr ::std::string_view                                                      \
      situ_region_name(const Type*) {                                                                    \
    return #Type;                                                                                        \
  }                                                                                                      \
  [[maybe_unused]] constexpr auto situ_region_members(const Type*) { return ::std::tuple{__VA_ARGS__}; } \
  template <::std::same_as<Type> SituType>                                                               \
  requires ::situ::region_detail::has_links<SituType>                                                    \
  void swap(SituType& a, SituType& b) { ::situ::swap(a, b); }                                            \
  template <::std::same_as<Type> SituType>                                                               \
  ::std::ostream& operator<<(::std::ostream& out, const SituType& value) {                               \
    return ::situ::region_detail::print(out, value);                                                     \
  }                                                                                                      \
  _Pragma("GCC diagnostic pop") static_assert(::situ::region_detail::has_no_c_array<Type>(),             \
                                              "an array in a region is a std::array");                   \
  static_assert(::situ::region_detail::has_no_empty_array<Type>(),                                       \
                "an array of a region has at least one element");                                        \
  static_assert(                                                                                         \
      !::situ::region_detail::has_no_c_array<Type>() || ::situ::region_detail::members_fit<Type>(),      \
      "SITU_REGION names all members of " #Type                                                          \
      " in the order of their declaration; and none lies in the padding of a base class, or is "         \
      "aligned more than its type is");
