// The common parts of the CDR writer and reader: the encodings, the numbers of spec/cdr.md, and the errors.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "situ/layout/message.hpp"
#include "situ/support/path.hpp"

namespace situ {

/// The version of the encoding.
enum class encoding {
  xcdr1,  ///< the encoding that ROS 2 writes
  xcdr2,  ///< the encoding of newer DDS
};

/// A reason that a message could not be encoded.
enum class encode_problem {
  no_room,       ///< the buffer of `limit` bytes is too small
  too_long,      ///< a length (`found`) or size does not fit into 32 bits
  not_utf8,      ///< the text is not UTF-8 from byte `found` on
  outside_body,  ///< a bulk field at `found` does not lie within the body of `limit` bytes
  bad_id,        ///< the member id `found` does not fit into the encoding
  too_deep,      ///< values are nested deeper than `limit`
};

/// A message could not be encoded.
struct encode_error {
  encode_problem problem;
  /// The member at fault.
  field_path path{};
  std::uint64_t found = 0;
  std::uint64_t limit = 0;

  /// The error as one sentence.
  [[nodiscard]] std::string message() const {
    const std::string f = std::to_string(found);
    const std::string l = std::to_string(limit);
    switch (problem) {
      case encode_problem::no_room:
        return path.shown() + ": the buffer of " + l + " bytes is too small; call encoded_size first";
      case encode_problem::too_long:
        return path.shown() + ": " + f + " elements or bytes are more than CDR can count";
      case encode_problem::not_utf8:
        return path.shown() + ": the text is not UTF-8 from byte " + f + " on";
      case encode_problem::outside_body:
        return path.shown() + ": bulk data at " + f + " lies outside the body of " + l + " bytes";
      case encode_problem::bad_id:
        return path.shown() + ": the member id " + f + " is too large for CDR";
      case encode_problem::too_deep:
        return path.shown() + ": values are nested more than " + l + " deep";
    }
    return "unknown problem";
  }
};

/// A reason that bytes could not be decoded.
enum class decode_problem {
  truncated,          ///< `found` bytes are needed, `limit` are left
  bad_encapsulation,  ///< Situ does not read the encapsulation id (`found`)
  wrong_kind,         ///< the encapsulation id (`found`) is for another extensibility than the type has
  not_a_bool,         ///< a boolean (`found`) is neither 0 nor 1
  not_utf8,           ///< the text is not UTF-8 from byte `found` on
  too_long,           ///< a length (`found`) exceeds the bound of the schema (`limit`)
  lying_length,       ///< a length (`found`) is greater than the `limit` remaining bytes can hold
  odd_length,         ///< a wide string's length in bytes (`found`) is odd
  not_a_unit,         ///< a unit of a wide string (`found`) has more than 16 bits
  wrong_member,       ///< the header of an optional member has the id `found` instead of `limit`
  bad_header,         ///< an extended parameter header has the length `found` instead of `limit`
  unknown_member,     ///< the unknown member `found` must be understood
  no_room,   ///< a bulk field of `found` bytes does not fit into the `limit` remaining bytes of the body
  too_deep,  ///< values are nested deeper than `limit`
  too_much_memory,  ///< the message would take more than `limit` bytes of memory
};

/// Bytes are not an encoded message of the type.
struct decode_error {
  decode_problem problem;
  /// The offset of the fault in bytes, counted from the beginning of the encapsulation header.
  std::size_t offset = 0;
  /// The member at fault.
  field_path path{};
  std::uint64_t found = 0;
  std::uint64_t limit = 0;

  /// The error as one sentence.
  [[nodiscard]] std::string message() const {
    return path.shown() + ", byte " + std::to_string(offset) + ": " + problem_text();
  }

 private:
  [[nodiscard]] std::string problem_text() const {
    const std::string f = std::to_string(found);
    const std::string l = std::to_string(limit);
    switch (problem) {
      case decode_problem::truncated:
        return f + " bytes are needed, but only " + l + " are left";
      case decode_problem::bad_encapsulation:
        return "the encapsulation id " + f + " is none of CDR's";
      case decode_problem::wrong_kind:
        return "the encapsulation id " + f + " does not fit the extensibility of the type";
      case decode_problem::not_a_bool:
        return f + " is not a boolean; only 0 and 1 are";
      case decode_problem::not_utf8:
        return "the text is not UTF-8 from byte " + f + " on";
      case decode_problem::too_long:
        return "length " + f + " exceeds its bound " + l;
      case decode_problem::lying_length:
        return "length " + f + " is more than the " + l + " bytes that are left can hold";
      case decode_problem::odd_length:
        return "a wide string cannot have " + f + " bytes";
      case decode_problem::not_a_unit:
        return "the unit " + f + " of a wide string has more than 16 bits";
      case decode_problem::wrong_member:
        return "member " + f + " stands where member " + l + " is expected";
      case decode_problem::bad_header:
        return "an extended parameter header has the length " + f + " instead of " + l;
      case decode_problem::unknown_member:
        return "member " + f + " is unknown, but must be understood";
      case decode_problem::no_room:
        return "bulk data of " + f + " bytes does not fit into the " + l + " bytes that the body has left";
      case decode_problem::too_deep:
        return "values are nested more than " + l + " deep";
      case decode_problem::too_much_memory:
        return "the message would take more than " + l + " bytes of memory";
    }
    return "unknown problem";
  }
};

namespace detail::cdr {

inline constexpr std::size_t header_size = 4;
inline constexpr unsigned max_depth = 128;

/// Parameter ids of XCDR1.
inline constexpr std::uint32_t pid_mask = 0x3FFF;
inline constexpr std::uint32_t pid_extended = 0x3F01;
inline constexpr std::uint32_t pid_list_end = 0x3F02;
inline constexpr std::uint32_t pid_ignore = 0x3F03;
inline constexpr std::uint32_t pid_last_short = 0x3F00;
inline constexpr std::uint32_t pid_vendor = 0x8000;
inline constexpr std::uint32_t pid_must_understand = 0x4000;

/// The bytes of an extended parameter header after its first word.
inline constexpr std::size_t long_header = 8;

/// Member ids have 28 bits; the bits above them are flags.
inline constexpr std::uint32_t id_mask = 0x0FFF'FFFF;
inline constexpr std::uint32_t vendor_v1 = 0x8000'0000;
inline constexpr std::uint32_t must_understand_v1 = 0x4000'0000;
inline constexpr std::uint32_t must_understand_v2 = 0x8000'0000;

/// The encapsulation id, without the bit for little endian.
constexpr unsigned encapsulation(encoding version, extensibility kind) noexcept {
  if (version == encoding::xcdr1) return kind == extensibility::mutable_ ? 0x02 : 0x00;
  switch (kind) {
    case extensibility::appendable:
      return 0x08;
    case extensibility::mutable_:
      return 0x0A;
    case extensibility::final:
      break;
  }
  return 0x06;
}

/// Whether a type is primitive as XTypes defines it: numbers, characters and booleans, but not enums and
/// bitmasks. Sequences of all other types have a delimiter in XCDR2.
template <class T>
inline constexpr bool is_primitive = std::is_arithmetic_v<T>;

/// The element of an array, of an array of arrays, and so on.
template <class T>
struct innermost {
  using type = T;
};
template <class T, std::size_t N>
struct innermost<std::array<T, N>> : innermost<T> {};
template <class T>
using innermost_t = typename innermost<T>::type;

/// Whether a run of T on the wire equals a run of T in memory, apart from byte order.
template <class T>
inline constexpr bool is_run = scalar<innermost_t<T>>;

}  // namespace detail::cdr
}  // namespace situ
