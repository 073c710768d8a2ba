// Texts of filters: UTF-8 or UTF-16, in the memory of a message or of an expression, and their comparison.
#pragma once

#include <cstddef>
#include <cstdint>

namespace rmw_situ::filter {

// Code units that belong to a message or an expression.
struct Text {
  const void* data = nullptr;
  // The number of code units.
  size_t size = 0;
  // UTF-16 instead of UTF-8.
  bool wide = false;
};

// A place in a text that moves on by one character. A code unit that is part of no character counts as
// U+FFFD.
class TextCursor {
 public:
  explicit TextCursor(const Text& text) : text_(text) {}
  bool at_end() const { return at_ == text_.size; }
  // The next character; not at the end.
  char32_t next();

 private:
  char32_t next_wide();
  char32_t next_narrow();

  Text text_;
  size_t at_ = 0;
};

// Below zero, zero or above: by characters.
int compare(const Text& left, const Text& right);

// Whether all of `text` has the form of `pattern`: `%` and `*` stand for any characters, `_` and `?` for one.
bool is_like(const Text& text, const Text& pattern);

}  // namespace rmw_situ::filter
