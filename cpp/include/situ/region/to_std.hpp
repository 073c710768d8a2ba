// to_std: a copy of what lies in a region, as types of the standard library.
//
//   std::map<std::uint64_t, std::string> names = situ::to_std(r->names);
//   auto items = situ::to_std<std::vector<PlainItem>>(r->items);
//
// A string becomes a std::string, a vector a std::vector, a set or map that of the same kind, an optional or
// unique link a std::optional, a shared link a std::shared_ptr, and a union a std::variant that begins with
// std::monostate. Numbers, enums and structs without containers are copied. A generated struct or union
// becomes the one on the heap. A struct with SITU_REGION that holds containers becomes a std::tuple of its
// members, or the struct with the same members in the same order that the caller names.
#pragma once

#include <array>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <stdexcept>
#include <string>
#include <tuple>
#include <type_traits>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <variant>
#include <vector>

#include "situ/region/convert.hpp"
#include "situ/region/detail/standard.hpp"

namespace situ {

/// A copy of a string, container or struct of a region, with all that it holds, as types of the standard
/// library. Links that lead to one value become shared pointers to one copy. Throws `std::length_error` if a
/// generated struct cannot be converted to the heap, because its values are nested too deep. Values within
/// each other are copied, and later destroyed, by recursion.
template <class T>
requires region_detail::has_standard<T>
[[nodiscard]] auto to_std(const T& value) {
  if constexpr (region_detail::finite_standard<T>) {
    region_detail::standard_copier copier;
    return copier.copy<region_detail::standard_t<T>>(value);
  } else {
    static_assert(
        region_detail::finite_standard<T>,
        "a struct that contains itself has no type in the standard library: name a struct with the same "
        "members, situ::to_std<Plain>(value)");
  }
}

/// The same as another type: a container of the library whose elements convert, or a struct with the same
/// members in the same order, at any depth. Unique links and optionals may become a std::unique_ptr. A member
/// without a counterpart is an error at compile time.
template <class To, class T>
requires region_detail::storable<T>
[[nodiscard]] To to_std(const T& value) {
  region_detail::standard_copier copier;
  return copier.copy<To>(value);
}

}  // namespace situ
