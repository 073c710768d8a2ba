// Evaluates conditions for a message. The depth of the tree is limited by the parser.
#include "condition.hpp"

#include <algorithm>

namespace rmw_situ::filter {

namespace {

Truth truth(bool value) { return value ? Truth::True : Truth::False; }

bool holds(Condition::Operator comparison, std::partial_ordering order) {
  switch (comparison) {
    case Condition::Operator::Equal:
      return order == 0;
    case Condition::Operator::NotEqual:
      return order != 0;
    case Condition::Operator::Less:
      return order < 0;
    case Condition::Operator::LessOrEqual:
      return order <= 0;
    case Condition::Operator::Greater:
      return order > 0;
    case Condition::Operator::GreaterOrEqual:
      return order >= 0;
  }
  return false;
}

}  // namespace

bool Conditions::passes(const void* message) const {
  return all.empty() || evaluate(root, message) == Truth::True;
}

bool Conditions::read(const Operand& operand, const void* message, Value& value) const {
  if (operand.is_field) return fields[operand.index].read(message, value);
  value = literals[operand.index];
  return true;
}

Truth Conditions::evaluate(size_t index, const void* message) const {
  const Condition& condition = all[index];
  Value first, second, third;
  switch (condition.kind) {
    case Condition::Kind::Compare:
      if (!read(condition.operands[0], message, first) || !read(condition.operands[1], message, second)) {
        return Truth::Unknown;
      }
      return truth(holds(condition.comparison, compare(first, second)));
    case Condition::Kind::Between:
      if (!read(condition.operands[0], message, first) || !read(condition.operands[1], message, second) ||
          !read(condition.operands[2], message, third)) {
        return Truth::Unknown;
      }
      return truth(compare(first, second) >= 0 && compare(first, third) <= 0);
    case Condition::Kind::Like:
      if (!read(condition.operands[0], message, first) || !read(condition.operands[1], message, second)) {
        return Truth::Unknown;
      }
      return truth(is_like(first.text, second.text));
    case Condition::Kind::Match:
      if (!read(condition.operands[0], message, first)) return Truth::Unknown;
      return truth(patterns[condition.pattern].matches(first.text));
    case Condition::Kind::Not: {
      const Truth part = evaluate(condition.parts[0], message);
      if (part == Truth::Unknown) return part;
      return truth(part == Truth::False);
    }
    case Condition::Kind::And: {
      Truth result = Truth::True;
      for (const size_t part : condition.parts) {
        result = std::min(result, evaluate(part, message));
        if (result == Truth::False) break;
      }
      return result;
    }
    case Condition::Kind::Or: {
      Truth result = Truth::False;
      for (const size_t part : condition.parts) {
        result = std::max(result, evaluate(part, message));
        if (result == Truth::True) break;
      }
      return result;
    }
  }
  return Truth::Unknown;
}

}  // namespace rmw_situ::filter
