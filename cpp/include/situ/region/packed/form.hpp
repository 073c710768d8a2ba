// The packed form of types: its size and alignment, and how values are written, checked and read. Here: types
// without links, arrays, and structs. The files beside this one have the containers.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>

#include "situ/region/detail/reflect.hpp"
#include "situ/region/image/check.hpp"
#include "situ/region/packed/reader.hpp"
#include "situ/region/packed/writer.hpp"

namespace situ {

/// A value of a packed image, to be read in place. A number, and any other type without containers, is a
/// reference to it instead: see `packed_t`.
template <class T>
class packed_ref;

namespace region_detail {

/// Types that have the same bytes in all forms.
template <class T>
concept packed_same = !has_links<T> && !appendable<T>;

/// The packed form of a type.
///
/// | | |
/// |---|---|
/// | `view` | what a reader gets |
/// | `size`, `align` | in the image |
/// | `is_link` | the value is a link that is 0 for an empty container |
/// | `put(writer, at, value)` | writes a value over zeros |
/// | `check(check, at)` | checks the value at an offset |
/// | `unpack(reader, to, at)` | reads a value over a new one of a region; false without room |
template <class T>
struct packed_form;

template <class T>
using packed_view = typename packed_form<T>::view;

/// The forms of types with links.
template <class T>
struct packed_linked_form {
  using view = packed_ref<T>;
  static constexpr bool is_link = false;
  static constexpr std::uint32_t size = packed_link_size;
  static constexpr std::uint32_t align = 1;
  static view see(const std::byte* at) noexcept { return view(at); }
};

#if defined(__GNUC__) && !defined(__clang__)
// GCC considers the target of a link to be part of the member that contains the link, and warns that the
// member is too small.
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wstringop-overflow"
#endif
template <class T>
requires packed_same<T>
struct packed_form<T> {
  using view = const T&;
  static constexpr bool is_link = false;
  static constexpr std::uint32_t size = sizeof(T);
  static constexpr std::uint32_t align = alignof(T);

  static view see(const std::byte* at) noexcept { return *reinterpret_cast<const T*>(at); }
  static void put(packed_writer& writer, std::uint32_t at, const T& value) {
    if constexpr (is_dense<T>) {
      writer.put_bytes(at, &value, sizeof(T));
    } else if constexpr (array<T>) {
      for (std::size_t i = 0; i < value.size(); ++i) {
        using element = packed_form<typename array_traits<T>::element>;
        element::put(writer, at + static_cast<std::uint32_t>(i * element::size), value[i]);
      }
    } else {
      for_each_member<T>([&](const auto& m) {
        using M = decltype(type_of(m));
        packed_form<M>::put(writer, at + static_cast<std::uint32_t>(m.offset), m.of(value));
        return true;
      });
    }
  }
  [[nodiscard]] static bool check(checker<true>& check, std::uint32_t at) {
    return check.value(see(check.at(at)), at);
  }
  [[nodiscard]] static bool unpack(packed_reader& /*reader*/, T& to, const std::byte* from) {
    std::memcpy(static_cast<void*>(&to), from, sizeof(T));
    return true;
  }
};
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic pop
#endif

/// Writes, checks and reads consecutive values.
template <class T>
void put_packed(packed_writer& writer, std::uint32_t at, const T* values, std::size_t count) {
  if constexpr (packed_same<T> && is_dense<T>) {
    writer.put_bytes(at, values, count * sizeof(T));
  } else {
    for (std::size_t i = 0; i < count; ++i) {
      packed_form<T>::put(writer, at + static_cast<std::uint32_t>(i * packed_form<T>::size), values[i]);
    }
  }
}
template <class T>
[[nodiscard]] bool check_packed_elements(checker<true>& check, std::uint32_t at, std::uint32_t count) {
  if constexpr (packed_same<T>) {
    return check.elements(reinterpret_cast<const T*>(check.at(at)), count, at);
  } else {
    for (std::uint32_t i = 0; i < count; ++i) {
      if (!packed_form<T>::check(check, at + i * packed_form<T>::size)) return check.enter_element(i);
    }
    return true;
  }
}
template <class T>
[[nodiscard]] bool unpack_elements(packed_reader& reader, T* to, const std::byte* from, std::uint32_t count) {
  if constexpr (packed_same<T>) {
    if (count != 0) std::memcpy(static_cast<void*>(to), from, count * sizeof(T));
  } else {
    for (std::uint32_t i = 0; i < count; ++i) {
      if (!packed_form<T>::unpack(reader, to[i], from + std::size_t{i} * packed_form<T>::size)) return false;
    }
  }
  return true;
}

/// Arrays of values with links.
template <class T, std::size_t N>
requires(!packed_same<std::array<T, N>>) struct packed_form<std::array<T, N>>
    : packed_linked_form<std::array<T, N>> {
  static constexpr std::uint32_t size = packed_form<T>::size * static_cast<std::uint32_t>(N);
  static constexpr std::uint32_t align = packed_form<T>::align;

  static void put(packed_writer& writer, std::uint32_t at, const std::array<T, N>& value) {
    put_packed(writer, at, value.data(), N);
  }
  [[nodiscard]] static bool check(checker<true>& check, std::uint32_t at) {
    return check_packed_elements<T>(check, at, N);
  }
  [[nodiscard]] static bool unpack(packed_reader& reader, std::array<T, N>& to, const std::byte* from) {
    return unpack_elements(reader, to.data(), from, N);
  }
};

/// The places of a struct's members: those with the greatest alignment first, or in an appendable struct in
/// the order of their declaration.
template <described T>
struct packed_places {
  static constexpr std::size_t count = member_count<T>;
  struct layout {
    std::array<std::uint32_t, count> places{};
    std::uint32_t end = 0;
    std::uint32_t align = 1;
  };

  /// `members` is the number of members that count, from the first one on.
  static constexpr layout of(std::size_t members) {
    layout made;
    std::array<std::uint32_t, count> sizes{};
    std::array<std::uint32_t, count> aligns{};
    std::size_t i = 0;
    for_each_member<T>([&](const auto& m) {
      using M = decltype(type_of(m));
      sizes[i] = packed_form<M>::size;
      aligns[i++] = packed_form<M>::align;
      return true;
    });
    const auto place = [&](std::size_t each) {
      made.places[each] = static_cast<std::uint32_t>(aligned_to(made.end, aligns[each]));
      made.end = made.places[each] + sizes[each];
      if (aligns[each] > made.align) made.align = aligns[each];
    };
    if constexpr (packed_same<T>) {
      i = 0;
      for_each_member<T>([&](const auto& m) {
        made.places[i++] = static_cast<std::uint32_t>(m.offset);
        return true;
      });
    } else if constexpr (appendable<T>) {
      for (std::size_t each = 0; each < members; ++each) place(each);
      made.align = 8;
    } else {
      for (std::uint32_t of_align = granule; of_align != 0; of_align /= 2) {
        for (std::size_t each = 0; each < members; ++each) {
          if (aligns[each] == of_align) place(each);
        }
      }
    }
    return made;
  }
  static constexpr layout all = of(count);
};

/// Calls `visit(member, place)` for each member, in the order of their declaration, until it returns false.
template <described T, class Visit>
[[gnu::always_inline]] inline bool for_each_packed(const Visit& visit) {
  return [&]<std::size_t... I>(std::index_sequence<I...>) __attribute__((always_inline)) {
    return (visit(std::get<I>(members_of<T>), packed_places<T>::all.places[I]) && ...);
  }
  (std::make_index_sequence<member_count<T>>());
}

/// Structs with links.
template <described T>
requires(!packed_same<T>) struct packed_form<T> : packed_linked_form<T> {
  static constexpr std::uint32_t align = packed_places<T>::all.align;
  static constexpr std::uint32_t size =
      static_cast<std::uint32_t>(aligned_to(packed_places<T>::all.end, align));

  static void put(packed_writer& writer, std::uint32_t at, const T& value) {
    for_each_packed<T>([&](const auto& m, std::uint32_t place) __attribute__((always_inline)) {
      using M = decltype(type_of(m));
      packed_form<M>::put(writer, at + place, m.of(value));
      return true;
    });
  }
  [[nodiscard]] static bool check(checker<true>& check, std::uint32_t at) {
    std::uint32_t left = ~std::uint32_t{0};
    std::uint32_t bytes = size;
    if constexpr (appendable<T>) {
      if (!check.template packed_version<T>(at, left, bytes)) return false;
    }
    const std::uint32_t members = left;
    std::uint32_t end = 0;
    const bool good =
        for_each_packed<T>([&](const auto& m, std::uint32_t place) __attribute__((always_inline)) {
          using M = decltype(type_of(m));
          if constexpr (appendable<T>) {
            if (left == 0) return true;
            --left;
            if (!check.zero(at + end, at + place)) return false;
          }
          if (place + packed_form<M>::size > end) end = place + packed_form<M>::size;
          return packed_form<M>::check(check, at + place) || check.enter_member(m.name);
        });
    // The image may have other members after those that this program knows.
    return good && ((members > member_count<T> && bytes != size) || check.zero(at + end, at + bytes));
  }
  [[nodiscard]] static bool unpack(packed_reader& reader, T& to, const std::byte* from) {
    [[maybe_unused]] std::uint32_t left = 0;
    if constexpr (appendable<T>) left = reader.template members_of<T>();
    return for_each_packed<T>([&](const auto& m, std::uint32_t place) __attribute__((always_inline)) {
      using M = decltype(type_of(m));
      if constexpr (appendable<T>) {
        if (left == 0) return true;
        --left;
      }
      return packed_form<M>::unpack(reader, m.of(to), from + place);
    });
  }
};

/// The position of a struct's member among all, given the pointer to it; their number if it is none.
template <auto Pointer, class Member>
struct is_packed_member : std::false_type {};
template <auto Pointer, std::size_t Offset>
struct is_packed_member<Pointer, member<Pointer, Offset>> : std::true_type {};
template <described T, auto Pointer>
consteval std::size_t packed_index_of() {
  return []<class... Ms>(const std::tuple<Ms...>&) {
    constexpr bool is[] = {is_packed_member<Pointer, Ms>::value...};
    std::size_t found = 0;
    while (found != sizeof...(Ms) && !is[found]) ++found;
    return found;
  }(members_of<T>);
}

}  // namespace region_detail

/// What a reader of a packed image gets for a value of this type: a reference to a number or to a struct
/// without containers, and a `packed_ref` of any other type.
template <class T>
using packed_t = region_detail::packed_view<T>;

/// A struct of a packed image. Its members are found by pointers: `character.get<&Character::name>()`.
template <class T>
class packed_ref {
  static_assert(region_detail::described<T>, "a type that lies in regions");

 public:
  explicit packed_ref(const std::byte* at) noexcept : at_(at) {}

  /// A member, also of a base.
  template <auto Member>
  [[nodiscard]] decltype(auto) get() const noexcept {
    constexpr std::size_t index = region_detail::packed_index_of<T, Member>();
    if constexpr (index != region_detail::member_count<T>) {
      return see<index>();
    } else {
      using first = decltype(type_of(std::get<0>(region_detail::members_of<T>)));
      static_assert(std::is_base_of_v<first, T>, "the struct has no such member");
      if constexpr (region_detail::packed_same<first>) {
        return (see<0>().*Member);
      } else {
        return see<0>().template get<Member>();
      }
    }
  }

 private:
  template <std::size_t I>
  [[nodiscard]] decltype(auto) see() const noexcept {
    using M = decltype(type_of(std::get<I>(region_detail::members_of<T>)));
    return region_detail::packed_form<M>::see(at_ + region_detail::packed_places<T>::all.places[I]);
  }

  const std::byte* at_;
};

}  // namespace situ
