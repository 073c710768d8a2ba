// Parses filter expressions, by recursive descent with a limited depth.
//
// The grammar is that of DDS 1.4, annex B, with what Fast DDS adds: indices of arrays and sequences, `!=`,
// MATCH. NOT binds stronger than AND, and AND stronger than OR, as in SQL.
//
//   expression = [ or ]
//   or         = and { OR and }
//   and        = not { AND not }
//   not        = NOT not | "(" or ")" | predicate
//   predicate  = operand ( "=" | "<>" | "!=" | "<" | "<=" | ">" | ">=" | LIKE | MATCH ) operand
//              | field [ NOT ] BETWEEN value AND value
//   operand    = field | value
//   field      = name [ "[" digits "]" ] { "." name [ "[" digits "]" ] }
//   value      = literal | "%" digit [ digit ]
#include <charconv>
#include <optional>
#include <system_error>

#include "condition.hpp"
#include "filter_error.hpp"
#include "lexer.hpp"

namespace rmw_situ::filter {

namespace {

// Of parentheses and NOT within each other.
constexpr size_t MAX_DEPTH = 100;
constexpr size_t MAX_EXPRESSION = 64 * 1024;
constexpr size_t MAX_PARAMETERS = 100;

class Parser {
 public:
  Parser(const Introspection& type, std::string_view expression, const std::vector<std::string>& parameters)
      : type_(type), lexer_(expression), parameters_(parameters) {}

  Conditions parse() {
    if (lexer_.current().kind == TokenKind::End) return {};
    result_.root = parse_or(0);
    if (lexer_.current().kind != TokenKind::End) fail_expecting("AND, OR or the end");
    return std::move(result_);
  }

 private:
  // An operand, and what its type was found to be.
  struct Typed {
    Operand operand;
    Kind kind = Kind::Unsigned;
    size_t position = 0;
  };

  [[noreturn]] void fail_expecting(const std::string& what) const {
    const Token& found = lexer_.current();
    throw FilterError(found.position, "expected " + what + ", found " + Lexer::describe(found));
  }

  bool skip(TokenKind kind) {
    if (lexer_.current().kind != kind) return false;
    lexer_.take();
    return true;
  }

  void expect(TokenKind kind, const char* what) {
    if (!skip(kind)) fail_expecting(what);
  }

  size_t add(Condition condition) {
    result_.all.push_back(std::move(condition));
    return result_.all.size() - 1;
  }

  size_t parse_or(size_t depth) {
    return parse_list(TokenKind::Or, Condition::Kind::Or, [&] { return parse_and(depth); });
  }

  size_t parse_and(size_t depth) {
    return parse_list(TokenKind::And, Condition::Kind::And, [&] { return parse_not(depth); });
  }

  template <class ParsePart>
  size_t parse_list(TokenKind separator, Condition::Kind kind, ParsePart parse_part) {
    const size_t first = parse_part();
    if (lexer_.current().kind != separator) return first;
    Condition list;
    list.kind = kind;
    list.parts.push_back(first);
    while (skip(separator)) list.parts.push_back(parse_part());
    return add(std::move(list));
  }

  size_t parse_not(size_t depth) {
    if (depth == MAX_DEPTH) {
      throw FilterError(lexer_.current().position,
                        "more than " + std::to_string(MAX_DEPTH) + " parentheses and NOTs within each other");
    }
    if (skip(TokenKind::Not)) return negate(parse_not(depth + 1));
    if (skip(TokenKind::Open)) {
      const size_t inner = parse_or(depth + 1);
      expect(TokenKind::Close, "AND, OR or ')'");
      return inner;
    }
    return parse_predicate();
  }

  size_t negate(size_t part) {
    Condition condition;
    condition.kind = Condition::Kind::Not;
    condition.parts = {part};
    return add(std::move(condition));
  }

  size_t parse_predicate() {
    const Typed left = parse_operand();
    const Token operation = lexer_.current();
    switch (operation.kind) {
      case TokenKind::Equal:
        return parse_comparison(left, Condition::Operator::Equal);
      case TokenKind::NotEqual:
        return parse_comparison(left, Condition::Operator::NotEqual);
      case TokenKind::Less:
        return parse_comparison(left, Condition::Operator::Less);
      case TokenKind::LessOrEqual:
        return parse_comparison(left, Condition::Operator::LessOrEqual);
      case TokenKind::Greater:
        return parse_comparison(left, Condition::Operator::Greater);
      case TokenKind::GreaterOrEqual:
        return parse_comparison(left, Condition::Operator::GreaterOrEqual);
      case TokenKind::Like:
        return parse_like(left);
      case TokenKind::Match:
        return parse_match(left);
      case TokenKind::Between:
        return parse_between(left);
      case TokenKind::Not:
        lexer_.take();
        if (lexer_.current().kind != TokenKind::Between) fail_expecting("BETWEEN");
        return negate(parse_between(left));
      default:
        fail_expecting("one of = <> != < <= > >= BETWEEN, NOT BETWEEN, LIKE, MATCH");
    }
  }

  size_t parse_comparison(const Typed& left, Condition::Operator comparison) {
    lexer_.take();
    const Typed right = parse_operand();
    check_comparable(left, right);
    Condition condition;
    condition.comparison = comparison;
    condition.operands[0] = rounded(left, right);
    condition.operands[1] = rounded(right, left);
    return add(std::move(condition));
  }

  size_t parse_between(const Typed& field) {
    lexer_.take();
    const Typed least = parse_operand();
    expect(TokenKind::And, "AND and the upper bound");
    const Typed most = parse_operand();
    if (!field.operand.is_field || least.operand.is_field || most.operand.is_field) {
      throw FilterError(field.position,
                        "BETWEEN has a field on its left, and literals or parameters on its right");
    }
    check_comparable(field, least);
    check_comparable(field, most);
    Condition condition;
    condition.kind = Condition::Kind::Between;
    condition.operands[0] = field.operand;
    condition.operands[1] = rounded(least, field);
    condition.operands[2] = rounded(most, field);
    return add(std::move(condition));
  }

  size_t parse_like(const Typed& left) {
    lexer_.take();
    const Typed right = parse_operand();
    check_texts("LIKE", left, right);
    Condition condition;
    condition.kind = Condition::Kind::Like;
    condition.operands[0] = left.operand;
    condition.operands[1] = right.operand;
    return add(std::move(condition));
  }

  size_t parse_match(const Typed& left) {
    lexer_.take();
    const Typed right = parse_operand();
    check_texts("MATCH", left, right);
    if (right.operand.is_field) {
      throw FilterError(right.position,
                        "the regular expression of MATCH is a literal or a parameter, not a field");
    }
    Condition condition;
    condition.kind = Condition::Kind::Match;
    condition.operands[0] = left.operand;
    condition.pattern = result_.patterns.size();
    try {
      result_.patterns.emplace_back(result_.literals[right.operand.index].text);
    } catch (const FilterError& error) {
      throw FilterError(right.position, error.message);
    }
    return add(std::move(condition));
  }

  static void check_comparable(const Typed& left, const Typed& right) {
    check_field(left, right);
    if (are_comparable(left.kind, right.kind)) return;
    throw FilterError(right.position,
                      std::string(name(right.kind)) + " cannot be compared with " + name(left.kind));
  }

  static void check_texts(const char* operation, const Typed& left, const Typed& right) {
    check_field(left, right);
    for (const Typed& side : {left, right}) {
      if (is_text(side.kind)) continue;
      throw FilterError(side.position,
                        std::string(operation) + " compares strings, and this is " + name(side.kind));
    }
  }

  static void check_field(const Typed& left, const Typed& right) {
    if (left.operand.is_field || right.operand.is_field) return;
    throw FilterError(left.position, "a comparison needs a field on one side at least");
  }

  // What is compared with the other side: a literal in the precision of a field.
  Operand rounded(const Typed& side, const Typed& other) {
    if (side.operand.is_field || !other.operand.is_field) return side.operand;
    Value& literal = result_.literals[side.operand.index];
    literal = round_to_field(literal, other.kind);
    return side.operand;
  }

  Typed parse_operand() {
    const Token token = lexer_.current();
    switch (token.kind) {
      case TokenKind::Name:
        return parse_field();
      case TokenKind::Literal:
        lexer_.take();
        return add_literal(token.value, token.position);
      case TokenKind::Parameter:
        lexer_.take();
        return add_literal(parameter(token), token.position);
      default:
        fail_expecting("a field, a literal or a parameter");
    }
  }

  Typed add_literal(const Value& value, size_t position) {
    result_.literals.push_back(value);
    return Typed{Operand{false, result_.literals.size() - 1}, value.kind, position};
  }

  Value parameter(const Token& token) const {
    if (token.parameter >= parameters_.size()) {
      throw FilterError(token.position, "there is no parameter " + std::string(token.text) +
                                            ": the filter has " + std::to_string(parameters_.size()) +
                                            " parameters");
    }
    const auto prefix = "the parameter " + std::string(token.text) + ": ";
    try {
      Lexer lexer(parameters_[token.parameter]);
      const Token literal = lexer.current();
      if (literal.kind != TokenKind::Literal) {
        throw FilterError(0, Lexer::describe(literal) + " is no literal; a string needs quotes: 'text'");
      }
      lexer.take();
      if (lexer.current().kind != TokenKind::End) {
        throw FilterError(0, Lexer::describe(lexer.current()) + " follows the literal");
      }
      return literal.value;
    } catch (const FilterError& error) {
      throw FilterError(token.position, prefix + error.message);
    }
  }

  Typed parse_field() {
    const size_t position = lexer_.current().position;
    std::vector<FieldPart> parts;
    do {
      if (lexer_.current().kind != TokenKind::Name) fail_expecting("the name of a field");
      const Token part_name = lexer_.take();
      FieldPart part{part_name.text, std::nullopt, part_name.position};
      if (skip(TokenKind::OpenIndex)) {
        part.index = parse_index();
        expect(TokenKind::CloseIndex, "']'");
      }
      parts.push_back(part);
    } while (skip(TokenKind::Dot));
    result_.fields.emplace_back(type_, parts);
    return Typed{Operand{true, result_.fields.size() - 1}, result_.fields.back().kind(), position};
  }

  uint64_t parse_index() {
    const Token token = lexer_.current();
    const bool is_index = token.kind == TokenKind::Literal && token.value.kind == Kind::Unsigned &&
                          token.text.find_first_not_of("0123456789") == std::string_view::npos;
    if (!is_index) fail_expecting("the index of an element, in digits");
    lexer_.take();
    return token.value.unsigned_number;
  }

  const Introspection& type_;
  Lexer lexer_;
  const std::vector<std::string>& parameters_;
  Conditions result_;
};

}  // namespace

Conditions parse(const Introspection& type, std::string_view expression,
                 const std::vector<std::string>& parameters) {
  if (expression.size() > MAX_EXPRESSION) {
    throw FilterError(0, "the expression has " + std::to_string(expression.size()) + " bytes, more than " +
                             std::to_string(MAX_EXPRESSION));
  }
  if (parameters.size() > MAX_PARAMETERS) {
    throw FilterError(0, "the filter has " + std::to_string(parameters.size()) + " parameters, more than " +
                             std::to_string(MAX_PARAMETERS));
  }
  return Parser(type, expression, parameters).parse();
}

}  // namespace rmw_situ::filter
