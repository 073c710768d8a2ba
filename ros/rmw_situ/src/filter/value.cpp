// Comparison of numbers of different types by their exact values.
#include "value.hpp"

#include <cmath>
#include <limits>
#include <utility>

namespace rmw_situ::filter {

namespace {

long double as_floating(const Value& value) {
  // A long double holds every number of 64 bits exactly on x86-64 and arm64.
  if (is_floating(value.kind)) return value.floating;
  if (value.kind == Kind::Signed) return static_cast<long double>(value.signed_number);
  return static_cast<long double>(value.unsigned_number);
}

template <class Left, class Right>
std::partial_ordering compare_integers(Left left, Right right) {
  if (std::cmp_less(left, right)) return std::partial_ordering::less;
  if (std::cmp_less(right, left)) return std::partial_ordering::greater;
  return std::partial_ordering::equivalent;
}

}  // namespace

const char* name(Kind kind) {
  switch (kind) {
    case Kind::Boolean:
      return "a boolean";
    case Kind::Signed:
      return "a signed integer";
    case Kind::Unsigned:
      return "an unsigned integer";
    case Kind::Float:
    case Kind::Double:
    case Kind::LongDouble:
      return "a floating-point number";
    case Kind::Character:
      return "a character";
    case Kind::String:
      return "a string";
  }
  return "a value";
}

Value Value::of_boolean(bool value) {
  Value made = of_unsigned(value ? 1 : 0);
  made.kind = Kind::Boolean;
  return made;
}

Value Value::of_signed(int64_t value) {
  Value made;
  made.kind = Kind::Signed;
  made.signed_number = value;
  return made;
}

Value Value::of_unsigned(uint64_t value) {
  Value made;
  made.unsigned_number = value;
  return made;
}

Value Value::of_floating(Kind kind, long double value) {
  Value made;
  made.kind = kind;
  made.floating = value;
  return made;
}

Value Value::of_text(Kind kind, const Text& text) {
  Value made;
  made.kind = kind;
  made.text = text;
  return made;
}

bool are_comparable(Kind left, Kind right) {
  if (is_text(left) || is_text(right)) return is_text(left) && is_text(right);
  if (left == Kind::Boolean) return !is_floating(right);
  if (right == Kind::Boolean) return !is_floating(left);
  return true;
}

Value round_to_field(const Value& literal, Kind field) {
  if (!is_floating(field) || is_text(literal.kind)) return literal;
  long double number = as_floating(literal);
  // A number beyond the field's range stays what it is: it is larger than all that the field can hold.
  if (field == Kind::Float && std::fabs(number) <= std::numeric_limits<float>::max()) {
    number = static_cast<float>(number);
  } else if (field == Kind::Double && std::fabs(number) <= std::numeric_limits<double>::max()) {
    number = static_cast<double>(number);
  }
  return Value::of_floating(field, number);
}

std::partial_ordering compare(const Value& left, const Value& right) {
  if (is_text(left.kind)) return compare(left.text, right.text) <=> 0;
  if (is_floating(left.kind) || is_floating(right.kind)) return as_floating(left) <=> as_floating(right);
  if (left.kind == Kind::Signed) {
    if (right.kind == Kind::Signed) return compare_integers(left.signed_number, right.signed_number);
    return compare_integers(left.signed_number, right.unsigned_number);
  }
  if (right.kind == Kind::Signed) return compare_integers(left.unsigned_number, right.signed_number);
  return compare_integers(left.unsigned_number, right.unsigned_number);
}

}  // namespace rmw_situ::filter
