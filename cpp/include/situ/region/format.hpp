// Formats what lies in regions with std::format, where the standard library has it, and with fmt, if its
// header is included before this one: `std::format("{}", *r)`. The text is that of `operator<<`; see
// print.hpp.
#pragma once

#include <string_view>
#include <version>

#include "situ/region/policy.hpp"
#include "situ/region/print.hpp"

#ifdef __cpp_lib_format
#include <format>
#endif

namespace situ::region_detail {

/// What has the text of `operator<<`. Strings are formatted as text.
template <class T>
concept formatted = !std::is_same_v<T, region_string> &&
                    (printed_here<T> || region_message<T> || (container<T> && message_union<T>));

/// Text, with the format of a string_view.
template <class T>
[[nodiscard]] auto text_to_format(const T& value) {
  if constexpr (std::is_same_v<T, region_string>) {
    return value.view();
  } else {
    return situ::to_string(value);
  }
}

}  // namespace situ::region_detail

#ifdef __cpp_lib_format
template <class T>
requires situ::region_detail::formatted<T> || std::is_same_v<T, situ::region_string>
struct std::formatter<T, char> : std::formatter<std::string_view, char> {
  template <class Context>
  auto format(const T& value, Context& context) const {
    return std::formatter<std::string_view, char>::format(situ::region_detail::text_to_format(value),
                                                          context);
  }
};
#ifdef __cpp_lib_format_ranges
// Containers of regions are not formatted as any range.
template <situ::region_detail::container T>
constexpr std::range_format std::format_kind<T> = std::range_format::disabled;
#endif
#endif

#ifdef FMT_VERSION
template <class T>
requires situ::region_detail::formatted<T> || std::is_same_v<T, situ::region_string>
struct fmt::formatter<T, char> : fmt::formatter<fmt::string_view, char> {
  template <class Context>
  auto format(const T& value, Context& context) const {
    const auto text = situ::region_detail::text_to_format(value);
    return fmt::formatter<fmt::string_view, char>::format({text.data(), text.size()}, context);
  }
};
#endif
