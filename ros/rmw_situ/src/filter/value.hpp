// Values of a filter: what a field holds or a literal says, and how two of them compare.
#pragma once

#include <compare>
#include <cstdint>

#include "text.hpp"

namespace rmw_situ::filter {

// What a value is before it is compared. The names are those that errors show.
enum class Kind : uint8_t { Boolean, Signed, Unsigned, Float, Double, LongDouble, Character, String };

const char* name(Kind kind);
constexpr bool is_text(Kind kind) { return kind == Kind::Character || kind == Kind::String; }
constexpr bool is_floating(Kind kind) {
  return kind == Kind::Float || kind == Kind::Double || kind == Kind::LongDouble;
}

// A number or a text. Booleans are the unsigned numbers 0 and 1.
struct Value {
  Kind kind = Kind::Unsigned;
  // One of these is used, as the kind says.
  int64_t signed_number = 0;
  uint64_t unsigned_number = 0;
  long double floating = 0;
  Text text;

  static Value of_boolean(bool value);
  static Value of_signed(int64_t value);
  static Value of_unsigned(uint64_t value);
  static Value of_floating(Kind kind, long double value);
  static Value of_text(Kind kind, const Text& text);
};

// Whether values of the two kinds may stand on the two sides of an operator: two texts; two numbers, but a
// boolean only with integers and booleans.
bool are_comparable(Kind left, Kind right);

// A literal that is compared with a field of a floating type, rounded to that type: the field that was set to
// 3.14 equals 3.14, whether it has 32 or 64 bits.
Value round_to_field(const Value& literal, Kind field);

// The order of two comparable values. Numbers are compared by their exact values. NaN is unordered.
std::partial_ordering compare(const Value& left, const Value& right);

}  // namespace rmw_situ::filter
