// Elements of protobuf: tags, varints, zigzag, and the errors of writing and reading.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>

#include "situ/support/platform.hpp"

#if defined(__GNUC__)
#define SITU_PROTOBUF_INLINE inline __attribute__((always_inline))
#define SITU_PROTOBUF_COLD __attribute__((noinline, cold))
#define SITU_PROTOBUF_OUT_OF_LINE __attribute__((noinline))
#else
#define SITU_PROTOBUF_INLINE inline
#define SITU_PROTOBUF_COLD
#define SITU_PROTOBUF_OUT_OF_LINE
#endif

namespace situ::protobuf {

/// The largest field number.
inline constexpr std::uint32_t max_field = (1U << 29) - 1;
/// The longest string, nested message or packed field, in bytes.
inline constexpr std::uint64_t max_length = 0x7fffffff;
/// The maximum nesting of messages below the first one. Readers commonly stop at 100.
inline constexpr std::uint32_t max_levels = 128;
/// The maximum depth of groups, and of messages within messages, that a reader follows.
inline constexpr std::uint32_t max_read_levels = 100;
/// The width of the length of a message that crosses chunks, in bytes; also the size of the smallest chunk in
/// which a message can begin.
inline constexpr std::size_t wide = 5;

/// The wire type of a field.
enum class wire_type : std::uint8_t {
  varint = 0,
  fixed64 = 1,
  bytes = 2,
  group = 3,
  group_end = 4,
  fixed32 = 5
};

/// A reason that a message could not be written. The writer stores the first error, and discards
/// all later fields.
enum class write_error : std::uint8_t {
  none,             ///< There is no error.
  full,             ///< There is no more memory; give the writer more, or memory that grows.
  chunk_too_small,  ///< A chunk has fewer than five bytes.
  invalid_field,    ///< Field numbers go from 1 to 2^29 - 1.
  too_deep,         ///< Messages nest deeper than max_levels.
  too_long,         ///< A field has more than 2^31 - 1 bytes.
  wrong_order,      ///< A message was written while a message in it was open; end the inner one first.
  finished,         ///< The message was finished before; call restart() for another.
  patch_list_full,  ///< The delegate had no room for a patch; give it more, or apply patches earlier.
};

/// The text of an error.
constexpr std::string_view describe(write_error error) noexcept {
  switch (error) {
    case write_error::none:
      return "there is no error";
    case write_error::full:
      return "the buffer is full; give the writer a larger one, or one that grows";
    case write_error::chunk_too_small:
      return "a chunk needs at least five bytes";
    case write_error::invalid_field:
      return "field numbers go from 1 to 536870911";
    case write_error::too_deep:
      return "messages nest deeper than 128";
    case write_error::too_long:
      return "a field is longer than 2147483647 bytes";
    case write_error::wrong_order:
      return "a message was written while a message in it was open; end the inner one first";
    case write_error::finished:
      return "the message is finished; call restart() for another";
    case write_error::patch_list_full:
      return "the patch list is full; give it more memory, or apply its patches earlier";
  }
  return "unknown";
}

/// A problem that a reader finds in a message.
enum class read_problem : std::uint8_t {
  none,                  ///< There is no problem.
  truncated,             ///< The message ends within a field.
  long_varint,           ///< A varint has more than ten bytes.
  invalid_tag,           ///< Field number 0, a wire type that does not exist, or more than 32 bits.
  unexpected_group_end,  ///< A group ends that has not begun.
  too_deep,              ///< Messages or groups nest deeper than max_read_levels.
  too_long,              ///< The message has more than 2^31 - 1 bytes.
};

/// The text of a problem.
constexpr std::string_view describe(read_problem problem) noexcept {
  switch (problem) {
    case read_problem::none:
      return "there is no problem";
    case read_problem::truncated:
      return "the message ends within a field";
    case read_problem::long_varint:
      return "a varint has more than ten bytes";
    case read_problem::invalid_tag:
      return "this is not a tag; check that the message is protobuf";
    case read_problem::unexpected_group_end:
      return "a group ends here that has not begun";
    case read_problem::too_deep:
      return "messages or groups nest deeper than 100";
    case read_problem::too_long:
      return "a message is longer than 2147483647 bytes";
  }
  return "unknown";
}

/// A problem, and its offset in the message that is read, which may be a nested one or a packed field. True
/// if there is a problem.
struct read_error {
  read_problem problem = read_problem::none;
  std::size_t at = 0;

  constexpr explicit operator bool() const noexcept { return problem != read_problem::none; }
  friend constexpr bool operator==(const read_error&, const read_error&) = default;
};

/// The tag in front of a field.
constexpr std::uint32_t tag(std::uint32_t field, wire_type wire) noexcept {
  return field << 3U | static_cast<std::uint32_t>(wire);
}

/// Maps numbers of small magnitude to small ones.
constexpr std::uint32_t zigzag(std::int32_t value) noexcept {
  return static_cast<std::uint32_t>(value) << 1U ^ static_cast<std::uint32_t>(value >> 31);
}
constexpr std::uint64_t zigzag(std::int64_t value) noexcept {
  return static_cast<std::uint64_t>(value) << 1U ^ static_cast<std::uint64_t>(value >> 63);
}

/// The inverse of zigzag().
constexpr std::int32_t unzigzag(std::uint32_t value) noexcept {
  return static_cast<std::int32_t>(value >> 1U ^ (0U - (value & 1U)));
}
constexpr std::int64_t unzigzag(std::uint64_t value) noexcept {
  return static_cast<std::int64_t>(value >> 1U ^ (std::uint64_t{0} - (value & 1U)));
}

/// The length of a number as a varint: 1 to 10 bytes.
constexpr std::size_t varint_size(std::uint64_t value) noexcept {
  return (static_cast<std::size_t>(std::bit_width(value | 1)) + 6) / 7;
}

namespace detail {

inline constexpr std::size_t max_tag = 5;
inline constexpr std::size_t max_varint = 10;

/// Writes a varint, and returns the address behind it. There must be room for its bytes.
SITU_PROTOBUF_INLINE std::uint8_t* put_varint(std::uint8_t* at, std::uint64_t value) noexcept {
  while (value >= 0x80) {
    *at++ = static_cast<std::uint8_t>(value | 0x80U);
    value >>= 7U;
  }
  *at++ = static_cast<std::uint8_t>(value);
  return at;
}

/// Numbers below this have at most four bytes.
inline constexpr std::uint64_t few = std::uint64_t{1} << 28U;

/// Spreads 28 bits over four bytes, seven each.
SITU_PROTOBUF_INLINE std::uint32_t spread(std::uint32_t value) noexcept {
  value += 3 * (value & 0x0fffc000U);
  return value + (value & 0x3f803f80U);
}

/// Writes a varint below 2^28, and returns the address behind it. There must be room for four bytes.
SITU_PROTOBUF_INLINE std::uint8_t* put_few(std::uint8_t* at, std::uint32_t value) noexcept {
  std::uint32_t word = spread(value);
  // The position of the last byte, in bits. All bytes in front of it have the continuation bit.
  const int last = (31 - std::countl_zero(word | 1U)) & 24;
  word |= 0x00808080U & ((1U << last) - 1);
  std::memcpy(at, &word, sizeof word);
  return at + last / 8 + 1;
}

/// Writes the lowest 28 bits as four bytes with continuation bits, and removes them from the value.
SITU_PROTOBUF_INLINE std::uint8_t* put_four(std::uint8_t* at, std::uint64_t& value) noexcept {
  const std::uint32_t word = spread(static_cast<std::uint32_t>(value) & 0x0fffffffU) | 0x80808080U;
  std::memcpy(at, &word, sizeof word);
  value >>= 28U;
  return at + sizeof word;
}

/// Writes a varint, and returns the address behind it. There must be room for four bytes, or for ten if it
/// has more than four. It writes four bytes at a time, without a branch for each byte. It is not inlined, so
/// that its many callers stay small.
SITU_PROTOBUF_OUT_OF_LINE inline std::uint8_t* put_many(std::uint8_t* at, std::uint64_t value) noexcept {
  if (value >= few) {
    at = put_four(at, value);
    if (value >= few) {
      at = put_four(at, value);
      return put_varint(at, value);
    }
  }
  return put_few(at, static_cast<std::uint32_t>(value));
}

/// Writes a varint, and returns the address behind it. There must be room for ten bytes, or for five if it is
/// below 2^32. Numbers of one byte are written inline, and so are numbers of five bytes, which nearly all
/// large 32-bit numbers have.
SITU_PROTOBUF_INLINE std::uint8_t* put_number(std::uint8_t* at, std::uint64_t value) noexcept {
  if (value < 0x80) {
    *at = static_cast<std::uint8_t>(value);
    return at + 1;
  }
  if ((value >> 28U) - 1 < 0x7f) {
    at = put_four(at, value);
    *at = static_cast<std::uint8_t>(value);
    return at + 1;
  }
  return put_many(at, value);
}

/// Writes a varint of exactly `width` bytes, padded if it needs fewer.
inline void put_padded_varint(std::uint8_t* at, std::uint64_t value, std::size_t width) noexcept {
  for (std::size_t i = 0; i < width; ++i) {
    at[i] = static_cast<std::uint8_t>((value & 0x7fU) | (i + 1 < width ? 0x80U : 0U));
    value >>= 7U;
  }
}

}  // namespace detail
}  // namespace situ::protobuf
