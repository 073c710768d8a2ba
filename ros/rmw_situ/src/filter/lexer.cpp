// The lexical rules of DDS, annex B: names, keywords in either case, numbers, quoted texts, parameters.
#include "lexer.hpp"

#include <charconv>
#include <cmath>
#include <cstdint>
#include <system_error>

#include "filter_error.hpp"

namespace rmw_situ::filter {

namespace {

// Not those of the C library, which depend on the locale.
bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }
bool is_hex_digit(char c) { return is_digit(c) || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F'); }
bool is_space(char c) { return c == ' ' || (c >= '\t' && c <= '\r'); }
char to_upper(char c) { return c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c; }

bool is_keyword(std::string_view text, std::string_view keyword) {
  if (text.size() != keyword.size()) return false;
  for (size_t i = 0; i < text.size(); ++i) {
    if (to_upper(text[i]) != keyword[i]) return false;
  }
  return true;
}

std::string quoted(std::string_view text) {
  constexpr size_t MAX_SHOWN = 40;
  if (text.size() > MAX_SHOWN) return "'" + std::string(text.substr(0, MAX_SHOWN)) + "...'";
  return "'" + std::string(text) + "'";
}

// An integer without its prefix, which is not empty and has only digits of the base.
Value integer(std::string_view digits, int base, bool negative, std::string_view all, size_t position) {
  uint64_t number = 0;
  const auto end = digits.data() + digits.size();
  const auto result = std::from_chars(digits.data(), end, number, base);
  constexpr uint64_t MAX_NEGATIVE = uint64_t{1} << 63;
  if (result.ec != std::errc() || result.ptr != end || (negative && number > MAX_NEGATIVE)) {
    throw FilterError(position, "the integer " + quoted(all) + " does not fit into 64 bits");
  }
  if (!negative) return Value::of_unsigned(number);
  return Value::of_signed(static_cast<int64_t>(uint64_t{0} - number));
}

Value floating(std::string_view text, bool negative, std::string_view all, size_t position) {
  long double number = 0;
  const auto end = text.data() + text.size();
  const auto result = std::from_chars(text.data(), end, number);
  if (result.ec != std::errc() || result.ptr != end || !std::isfinite(number)) {
    throw FilterError(position, "the number " + quoted(all) + " is out of range");
  }
  return Value::of_floating(Kind::LongDouble, negative ? -number : number);
}

}  // namespace

char Lexer::peek(size_t distance) const { return all_.size() - at_ > distance ? all_[at_ + distance] : '\0'; }

Token Lexer::take() {
  Token taken = current_;
  advance();
  return taken;
}

std::string Lexer::describe(const Token& token) {
  return token.kind == TokenKind::End ? "the end" : quoted(token.text);
}

void Lexer::finish(TokenKind kind, size_t end) {
  current_.kind = kind;
  current_.text = all_.substr(at_, end - at_);
  at_ = end;
}

void Lexer::advance() {
  while (at_ < all_.size() && is_space(all_[at_])) ++at_;
  current_ = Token{};
  current_.position = at_;
  if (at_ == all_.size()) return;
  const char c = peek();
  const char after_sign = c == '+' || c == '-' ? peek(1) : c;
  if (is_letter(c)) {
    read_name();
  } else if (is_digit(after_sign) || (after_sign == '.' && is_digit(peek(c == after_sign ? 1 : 2)))) {
    read_number();
  } else if (c == '\'' || c == '`') {
    read_quoted();
  } else if (c == '%') {
    read_parameter();
  } else {
    read_symbol();
  }
}

void Lexer::read_name() {
  size_t end = at_;
  while (end < all_.size() && (is_letter(all_[end]) || is_digit(all_[end]))) ++end;
  finish(TokenKind::Name, end);
  const std::string_view text = current_.text;
  const auto word = [&](const char* keyword, TokenKind kind) {
    if (is_keyword(text, keyword)) current_.kind = kind;
  };
  word("AND", TokenKind::And);
  word("OR", TokenKind::Or);
  word("NOT", TokenKind::Not);
  word("BETWEEN", TokenKind::Between);
  word("LIKE", TokenKind::Like);
  word("MATCH", TokenKind::Match);
  for (const bool value : {false, true}) {
    if (!is_keyword(text, value ? "TRUE" : "FALSE")) continue;
    current_.kind = TokenKind::Literal;
    current_.value = Value::of_boolean(value);
  }
}

void Lexer::read_number() {
  const size_t begin = at_;
  const bool negative = peek() == '-';
  size_t at = begin + (negative || peek() == '+' ? 1 : 0);
  const auto here = [&](size_t distance) { return all_.size() - at > distance ? all_[at + distance] : '\0'; };
  const size_t digits = at;
  bool is_hex = false, is_floating = false;
  if (here(0) == '0' && (here(1) == 'x' || here(1) == 'X') && is_hex_digit(here(2))) {
    is_hex = true;
    at += 2;
    while (is_hex_digit(here(0))) ++at;
  } else {
    while (is_digit(here(0))) ++at;
    if (here(0) == '.' && is_digit(here(1))) {
      is_floating = true;
      ++at;
      while (is_digit(here(0))) ++at;
    }
    const bool has_sign = here(1) == '+' || here(1) == '-';
    if ((here(0) == 'e' || here(0) == 'E') && is_digit(here(has_sign ? 2 : 1))) {
      is_floating = true;
      at += has_sign ? 3 : 2;
      while (is_digit(here(0))) ++at;
    }
  }
  const std::string_view text = all_.substr(digits, at - digits);
  if (is_letter(here(0)) || here(0) == '.') {
    throw FilterError(begin, "a number ends with '" + std::string(1, here(0)) +
                                 "'; write digits, 0x and hexadecimal " +
                                 "digits, or digits with a point between them");
  }
  finish(TokenKind::Literal, at);
  if (is_hex) {
    current_.value = integer(text.substr(2), 16, negative, current_.text, begin);
  } else if (is_floating) {
    current_.value = floating(text, negative, current_.text, begin);
  } else {
    current_.value = integer(text, 10, negative, current_.text, begin);
  }
}

void Lexer::read_quoted() {
  const size_t content = at_ + 1;
  // One character between quotes, which may be a quote.
  if (peek(2) == '\'' && peek(1) != '\n' && peek(1) != '\r') {
    finish(TokenKind::Literal, at_ + 3);
    current_.value = Value::of_text(Kind::Character, Text{all_.data() + content, 1, false});
    return;
  }
  const size_t end = all_.find_first_of("'\r\n", content);
  if (end == std::string_view::npos || all_[end] != '\'') {
    throw FilterError(at_, "a text that begins here does not end with a quote (') in the same line");
  }
  finish(TokenKind::Literal, end + 1);
  current_.value = Value::of_text(Kind::String, Text{all_.data() + content, end - content, false});
}

void Lexer::read_parameter() {
  size_t end = at_ + 1;
  while (end < all_.size() && is_digit(all_[end])) ++end;
  const std::string_view digits = all_.substr(at_ + 1, end - at_ - 1);
  if (digits.empty() || digits.size() > 2) {
    throw FilterError(at_, "a parameter is %0 to %99, not " + quoted(all_.substr(at_, end - at_)));
  }
  finish(TokenKind::Parameter, end);
  current_.parameter = 0;
  for (const char digit : digits)
    current_.parameter = current_.parameter * 10 + static_cast<size_t>(digit - '0');
}

void Lexer::read_symbol() {
  const char next = peek(1);
  switch (peek()) {
    case '(':
      return finish(TokenKind::Open, at_ + 1);
    case ')':
      return finish(TokenKind::Close, at_ + 1);
    case '[':
      return finish(TokenKind::OpenIndex, at_ + 1);
    case ']':
      return finish(TokenKind::CloseIndex, at_ + 1);
    case '.':
      return finish(TokenKind::Dot, at_ + 1);
    case '=':
      return finish(TokenKind::Equal, at_ + 1);
    case '<':
      if (next == '=') return finish(TokenKind::LessOrEqual, at_ + 2);
      if (next == '>') return finish(TokenKind::NotEqual, at_ + 2);
      return finish(TokenKind::Less, at_ + 1);
    case '>':
      if (next == '=') return finish(TokenKind::GreaterOrEqual, at_ + 2);
      return finish(TokenKind::Greater, at_ + 1);
    case '!':
      if (next == '=') return finish(TokenKind::NotEqual, at_ + 2);
      break;
    default:
      break;
  }
  throw FilterError(at_, "no token begins with " + quoted(all_.substr(at_, 1)));
}

}  // namespace rmw_situ::filter
