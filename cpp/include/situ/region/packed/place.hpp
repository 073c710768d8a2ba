// The numbers of packed images: links and lengths.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>

#include "situ/region/image/format.hpp"

namespace situ::region_detail {

/// The size of a link.
inline constexpr std::uint32_t packed_link_size = 4;
/// The link of an empty container in an optional that has a value. No link leads to a place so near.
inline constexpr std::uint32_t packed_empty = 1;
/// The weak link to a value that begins with this link. No other value begins so near.
inline constexpr std::uint32_t packed_itself = 1;
/// The longest text that lies in the place of its link, and the mark of such text in the last byte. No link
/// has it.
inline constexpr std::uint32_t packed_short = 3;
inline constexpr std::uint8_t packed_tag = 0x80;
/// The offset of the table of versions in a packed image, or of the root: the size of the header.
inline constexpr std::uint32_t packed_first = 32;
/// The form of packed images in their header.
inline constexpr std::uint8_t packed_form_number = 2;

constexpr std::uint64_t aligned_to(std::uint64_t offset, std::uint32_t align) noexcept {
  return (offset + (align - 1)) / align * align;
}

inline std::uint32_t packed_word(const std::byte* at) noexcept {
  std::uint32_t word;
  std::memcpy(&word, at, sizeof(word));
  return word;
}

/// The target of the link at `at`, which is not 0. A link to a shared value may lead backwards.
inline const std::byte* packed_target(const std::byte* at) noexcept {
  return at + static_cast<std::int32_t>(packed_word(at));
}

/// The target of the weak link at `at`, which is not 0.
inline const std::byte* packed_weak_target(const std::byte* at) noexcept {
  return packed_word(at) == packed_itself ? at : packed_target(at);
}

/// A length, and the place behind it. `behind` is null if the bytes before `end` are none, or not the
/// shortest ones.
struct packed_length {
  std::uint32_t length = 0;
  const std::byte* behind = nullptr;
};

inline packed_length read_packed_length(const std::byte* at, const std::byte* end) noexcept {
  std::uint32_t length = 0;
  for (std::uint32_t i = 0; i < 5 && at != end; ++i, ++at) {
    const auto byte = std::to_integer<std::uint32_t>(*at);
    length |= (byte & 0x7F) << (7 * i);
    if (byte >= 0x80) continue;
    // Five bytes have room for more than the 31 bits of a length.
    if ((byte == 0 && i != 0) || (i == 4 && byte >= 8)) break;
    return {length, at + 1};
  }
  return {};
}

/// The place behind the length of a container of a checked image, and the length, given the place of its
/// link.
inline packed_length packed_counted(const std::byte* at) noexcept {
  if (packed_word(at) <= packed_empty) return {0, at};
  const std::byte* const block = packed_target(at);
  if (const auto first = std::to_integer<std::uint32_t>(*block); first < 0x80) return {first, block + 1};
  return read_packed_length(block, block + 5);
}

/// The first place at a multiple of `align`. Images lie at multiples of 16.
inline const std::byte* packed_aligned(const std::byte* at, std::uint32_t align) noexcept {
  const auto address = reinterpret_cast<std::uintptr_t>(at);
  return at + (aligned_to(address, align) - address);
}

/// The text of a string of a checked image.
inline std::string_view packed_text(const std::byte* at) noexcept {
  const auto last = std::to_integer<std::uint8_t>(at[packed_short]);
  if ((last & packed_tag) != 0) return {reinterpret_cast<const char*>(at), std::size_t{last} & packed_short};
  const packed_length counted = packed_counted(at);
  return {reinterpret_cast<const char*>(counted.behind), counted.length};
}

}  // namespace situ::region_detail
