// Finds the name of the field that exceeded its bound.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <utility>

#include "situ/layout/message.hpp"
#include "situ/support/path.hpp"

namespace situ {
namespace detail {

/// Finds the part of a value that contains an address.
class locator {
 public:
  explicit locator(const void* address) : address_(address) {}

  /// The path from `value` to the innermost part that contains the address. Returns nothing if the address
  /// lies outside the value.
  template <class T>
  std::optional<field_path> find(const T& value) const {
    std::optional<field_path> found;
    if constexpr (message<T>) {
      for_each_member(value, [&](const member_info& info, const auto& member) {
        found = find(member);
        if (found) found->enter_member(info.name);
        return !found;
      });
    } else if constexpr (message_union<T>) {
      value.visit_active([&](auto index, const auto& member) {
        found = find(member);
        if (found) found->enter_member(T::situ_cases[decltype(index)::value].name);
        return true;
      });
    } else if constexpr (optional<T>) {
      if (value.has_value()) found = find(*value);
    } else if constexpr (sequence<T> || array<T> || map<T>) {
      std::size_t index = 0;
      for (const auto& element : value) {
        if (found = find_element(element); found) {
          found->enter_element(index);
          break;
        }
        ++index;
      }
    }
    if (!found && within(std::addressof(value), sizeof(T))) found.emplace();
    return found;
  }

 private:
  template <class E>
  std::optional<field_path> find_element(const E& element) const {
    if constexpr (scalar<E>) {
      return std::nullopt;
    } else if constexpr (requires { element.first; }) {
      std::optional<field_path> found = find(element.first);
      return found ? found : find(element.second);
    } else {
      return find(element);
    }
  }
  bool within(const void* first, std::size_t size) const {
    const auto* begin = static_cast<const std::byte*>(first);
    return !std::less<>()(address_, static_cast<const void*>(begin)) &&
           std::less<>()(address_, static_cast<const void*>(begin + size));
  }

  const void* address_;
};

}  // namespace detail

/// The path of the member of `value` that an error refers to, such as `fields[3].name`. Empty if it is not a
/// member of `value`.
template <message T>
[[nodiscard]] std::string field_of(const T& value, const bound_error& error) {
  const auto found = detail::locator(error.container()).find(value);
  return found ? found->text() : std::string();
}

#if SITU_HAS_EXCEPTIONS
/// Calls `edit(value)`. Adds the member's name to a `bound_error` of one of the value's members:
/// `situ::edit(*loan, [&](auto& image) { image.encoding = name; })`.
template <message T, class Edit>
decltype(auto) edit(T& value, Edit&& edit) {
  try {
    return std::forward<Edit>(edit)(value);
  } catch (const bound_error& error) {
    if (!error.field().empty()) throw;
    throw bound_error(field_of(value, error), error.bound(), error.size(), error.container());
  }
}
#endif

}  // namespace situ
