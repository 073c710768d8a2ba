// Prints what lies in regions as readable text: `std::cout << *r`, `std::cout << r->skills`. Structs that
// SITU_REGION describes print as messages do: `Skill{id: 1054, level: 3}`.
//
// Long containers are cut, as those of messages are. A value to which several links lead is printed once,
// with a number, and as that number again (`#1`). Values that are nested very deeply are cut (`...`), because
// links may form chains of any length.
#pragma once

#include <cstddef>
#include <ostream>
#include <sstream>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

#include "situ/layout/print.hpp"
#include "situ/region/containers/string.hpp"
#include "situ/region/detail/reflect.hpp"

namespace situ {

namespace region_detail {

/// Values within values that are printed. What is nested deeper is cut.
inline constexpr std::size_t printed_depth = 64;

/// Structs that SITU_REGION describes, and no generated ones.
template <class T>
concept own_struct = described<T> && !message<T>;
/// Containers and links of regions, and structs with SITU_REGION: what `printing` is for.
template <class T>
concept printed_here = (container<T> && !message_union<T>) || own_struct<T>;

}  // namespace region_detail

namespace detail {

template <class E>
requires std::is_enum_v<E> &&(!requires(E value) { to_string(value); }) struct printing<E> {
  static void print(printer& by, E value) {
    by.out() << '(';
    by.print(static_cast<std::underlying_type_t<E>>(value));
    by.out() << ')';
  }
};

template <region_detail::printed_here T>
struct printing<T> {
  static void print(printer& by, const T& value) {
    if (by.depth() == region_detail::printed_depth) {
      by.out() << "...";
      return;
    }
    ++by.depth();
    print_whole(by, value);
    --by.depth();
  }

 private:
  static void print_whole(printer& by, const T& value) {
    if constexpr (std::is_same_v<T, region_string>) {
      by.print_text(value.view(), '"');
    } else if constexpr (region_detail::own_struct<T>) {
      print_struct(by, value);
    } else if constexpr (region_detail::variant<T>) {
      print_union(by, value);
    } else if constexpr (requires { value.use_count(), *value; }) {
      print_shared(by, value);
    } else if constexpr (requires { value.expired(); }) {
      // The value may contain the link.
      by.out() << (value.expired() ? "none" : "weak");
    } else if constexpr (requires { value.begin(), value.end(), value.size(); }) {
      print_elements(by, value);
    } else if constexpr (requires { *value, static_cast<bool>(value); }) {
      if (value) {
        by.print(*value);
      } else {
        by.out() << "none";
      }
    } else {
      by.out() << T::situ_kind();
    }
  }
  static void print_struct(printer& by, const T& value) {
    by.out() << situ_region_name(static_cast<const T*>(nullptr)) << '{';
    bool first = true;
    region_detail::for_each_member<T>([&](const auto& m) {
      if (!std::exchange(first, false)) by.out() << ", ";
      by.print_member(m.name, m.of(value));
      return true;
    });
    by.out() << '}';
  }
  static void print_union(printer& by, const T& value) {
    by.out() << T::situ_kind() << '{';
    value.visit_active([&by](auto index, const auto& member) {
      by.print_member(T::situ_name_of(decltype(index)::value), member);
      return true;
    });
    by.out() << '}';
  }
  static void print_shared(printer& by, const T& value) {
    if (!value) {
      by.out() << "none";
      return;
    }
    if (value.use_count() > 1) {
      const auto [number, is_new] = by.numbers().try_emplace(&*value, by.numbers().size() + 1);
      by.out() << '#' << number->second;
      if (!is_new) return;
      by.out() << ' ';
    }
    by.print(*value);
  }
  /// Elements in brackets; keys, and entries of maps, in braces.
  static void print_elements(printer& by, const T& value) {
    constexpr bool is_keyed = requires { typename T::key_type; };
    by.out() << (is_keyed ? '{' : '[');
    std::size_t printed = 0;
    for (const auto& element : value) {
      if (printed == printed_elements) {
        by.out() << ", ... " << value.size() - printed << " more";
        break;
      }
      if (printed++ != 0) by.out() << ", ";
      if constexpr (requires { typename T::mapped_type; }) {
        by.print(element.first);
        by.out() << ": ";
        by.print(element.second);
      } else {
        by.print(element);
      }
    }
    by.out() << (is_keyed ? '}' : ']');
  }
};

}  // namespace detail

namespace region_detail {

/// The body of `operator<<` of structs with SITU_REGION.
template <class T>
std::ostream& print(std::ostream& out, const T& value) {
  detail::printer(out).print(value);
  return out;
}

}  // namespace region_detail

/// Prints a container of a region. A string prints as its text, without quotes.
template <region_detail::container T>
requires(!message_union<T> && !std::is_same_v<T, region_string>) std::ostream& operator<<(std::ostream& out,
                                                                                          const T& value) {
  return region_detail::print(out, value);
}

/// The text that `operator<<` prints.
template <region_detail::printed_here T>
requires(!std::is_same_v<T, region_string>) [[nodiscard]] std::string to_string(const T& value) {
  std::ostringstream out;
  region_detail::print(out, value);
  return std::move(out).str();
}

}  // namespace situ
