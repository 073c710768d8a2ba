// Tokens of a filter expression.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "value.hpp"

namespace rmw_situ::filter {

enum class TokenKind {
  End,
  Name,
  Literal,
  Parameter,
  Open,
  Close,
  OpenIndex,
  CloseIndex,
  Dot,
  Equal,
  NotEqual,
  Less,
  LessOrEqual,
  Greater,
  GreaterOrEqual,
  And,
  Or,
  Not,
  Between,
  Like,
  Match,
};

struct Token {
  TokenKind kind = TokenKind::End;
  size_t position = 0;
  // Its characters in the expression.
  std::string_view text;
  // Of a literal. A string points into the expression.
  Value value;
  // Of a parameter: 0 to 99.
  size_t parameter = 0;
};

// Reads one token after the other. Throws `FilterError`.
class Lexer {
 public:
  explicit Lexer(std::string_view expression) : all_(expression) { advance(); }
  const Token& current() const { return current_; }
  // Returns the current token and goes on to the next.
  Token take();
  // What errors say about a token: `the end`, or its characters in quotes.
  static std::string describe(const Token& token);

 private:
  void advance();
  void read_name();
  void read_number();
  void read_quoted();
  void read_parameter();
  void read_symbol();
  void finish(TokenKind kind, size_t end);
  // The character at a distance from the current place, or zero behind the end.
  char peek(size_t distance = 0) const;

  std::string_view all_;
  size_t at_ = 0;
  Token current_;
};

}  // namespace rmw_situ::filter
