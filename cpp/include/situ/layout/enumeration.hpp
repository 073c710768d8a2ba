// Enums and bitmasks of generated code: printing, and the operators of a set of bits.
#pragma once

#include <concepts>
#include <ostream>
#include <string>
#include <string_view>
#include <type_traits>

namespace situ::detail {

/// Prints the name of the value, such as `RED`, or its number if it has no name.
template <class E>
std::string enum_text(E value, std::string_view name) {
  return name.empty() ? std::to_string(static_cast<std::underlying_type_t<E>>(value)) : std::string(name);
}

/// Prints `READ|WRITE`. Bits without a name are printed as a number, and an empty set as `0`.
template <class E>
std::string mask_text(E mask) {
  using bits = std::underlying_type_t<E>;
  std::string text;
  auto rest = static_cast<bits>(mask);
  for (bits bit = 1; bit != 0; bit = static_cast<bits>(bit << 1U)) {
    const std::string_view name =
        (rest & bit) != 0 ? enumerator_name(static_cast<E>(bit)) : std::string_view();
    if (name.empty()) continue;
    text.append(text.empty() ? "" : "|").append(name);
    rest = static_cast<bits>(rest & ~bit);
  }
  if (rest != 0 || text.empty()) text.append(text.empty() ? "" : "|").append(std::to_string(rest));
  return text;
}

}  // namespace situ::detail

/// Declares the printing of a generated enum, in its namespace.
#define SITU_PRINTED_ENUM(E)                                         \
  [[nodiscard]] inline std::string to_string(E value) {              \
    return ::situ::detail::enum_text(value, enumerator_name(value)); \
  }                                                                  \
  inline std::ostream& operator<<(std::ostream& out, E value) { return out << to_string(value); }

/// Declares the operators and the printing of a generated bitmask, in its namespace.
#define SITU_BITMASK(E)                                                                            \
  [[nodiscard]] constexpr E operator|(E a, E b) noexcept {                                         \
    return static_cast<E>(static_cast<std::underlying_type_t<E>>(a) |                              \
                          static_cast<std::underlying_type_t<E>>(b));                              \
  }                                                                                                \
  [[nodiscard]] constexpr E operator&(E a, E b) noexcept {                                         \
    return static_cast<E>(static_cast<std::underlying_type_t<E>>(a) &                              \
                          static_cast<std::underlying_type_t<E>>(b));                              \
  }                                                                                                \
  [[nodiscard]] constexpr E operator^(E a, E b) noexcept {                                         \
    return static_cast<E>(static_cast<std::underlying_type_t<E>>(a) ^                              \
                          static_cast<std::underlying_type_t<E>>(b));                              \
  }                                                                                                \
  [[nodiscard]] constexpr E operator~(E a) noexcept {                                              \
    return static_cast<E>(                                                                         \
        static_cast<std::underlying_type_t<E>>(~static_cast<std::underlying_type_t<E>>(a)));       \
  }                                                                                                \
  constexpr E& operator|=(E& a, E b) noexcept { return a = a | b; }                                \
  constexpr E& operator&=(E& a, E b) noexcept { return a = a & b; }                                \
  constexpr E& operator^=(E& a, E b) noexcept { return a = a ^ b; }                                \
  [[nodiscard]] inline std::string to_string(E value) { return ::situ::detail::mask_text(value); } \
  inline std::ostream& operator<<(std::ostream& out, E value) { return out << to_string(value); }

namespace situ {

/// Whether all flags of `wanted` are set in `mask`.
template <class E>
requires std::is_enum_v<E> && requires(E a) {
  { a& a } -> std::same_as<E>;
}
[[nodiscard]] constexpr bool has(E mask, E wanted) noexcept { return (mask & wanted) == wanted; }

}  // namespace situ
