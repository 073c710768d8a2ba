// A filter expression after it was parsed: conditions in a tree, with the fields and literals that they
// compare.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "field.hpp"
#include "pattern.hpp"
#include "value.hpp"

namespace rmw_situ::filter {

// The result of a condition. A comparison with the element of a sequence that is too short is unknown, as in
// SQL: so is its negation. A message passes if the whole expression is true.
enum class Truth { False, Unknown, True };

// One side of a comparison.
struct Operand {
  bool is_field = false;
  // Into `Conditions::fields` or `Conditions::literals`.
  size_t index = 0;
};

struct Condition {
  enum class Kind { Compare, Between, Like, Match, Not, And, Or };
  enum class Operator { Equal, NotEqual, Less, LessOrEqual, Greater, GreaterOrEqual };

  Kind kind = Kind::Compare;
  Operator comparison = Operator::Equal;
  // Left and right; field, least and most; text and pattern. MATCH has no second one.
  Operand operands[3];
  // Of MATCH: into `Conditions::patterns`.
  size_t pattern = 0;
  // Of NOT, AND, OR: into `Conditions::all`.
  std::vector<size_t> parts;
};

struct Conditions {
  std::vector<Condition> all;
  // Into `all`. Without conditions everything passes.
  size_t root = 0;
  std::vector<Field> fields;
  std::vector<Value> literals;
  std::vector<Pattern> patterns;

  bool passes(const void* message) const;

 private:
  Truth evaluate(size_t condition, const void* message) const;
  // False if the message has no such element.
  bool read(const Operand& operand, const void* message, Value& value) const;
};

// Parses an expression for a type. The texts of literals point into `expression` and `parameters`, which must
// outlive the result. Throws `FilterError`.
Conditions parse(const Introspection& type, std::string_view expression,
                 const std::vector<std::string>& parameters);

}  // namespace rmw_situ::filter
