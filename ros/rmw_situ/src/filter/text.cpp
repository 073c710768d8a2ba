// Decoding, comparison and wildcards of texts, without allocation.
#include "text.hpp"

#include <algorithm>
#include <cstring>
#include <optional>

namespace rmw_situ::filter {

namespace {

constexpr char32_t REPLACEMENT = 0xFFFD;

bool is_any_characters(char32_t c) { return c == U'%' || c == U'*'; }
bool is_one_character(char32_t c) { return c == U'_' || c == U'?'; }

}  // namespace

char32_t TextCursor::next() { return text_.wide ? next_wide() : next_narrow(); }

char32_t TextCursor::next_wide() {
  const auto* units = static_cast<const uint16_t*>(text_.data);
  const char32_t unit = units[at_++];
  if (unit < 0xD800 || unit > 0xDFFF) return unit;
  if (unit > 0xDBFF || at_end()) return REPLACEMENT;
  const char32_t low = units[at_];
  if (low < 0xDC00 || low > 0xDFFF) return REPLACEMENT;
  ++at_;
  return 0x10000 + ((unit - 0xD800) << 10) + (low - 0xDC00);
}

char32_t TextCursor::next_narrow() {
  const auto* bytes = static_cast<const unsigned char*>(text_.data);
  const unsigned char first = bytes[at_++];
  if (first < 0x80) return first;
  const size_t more = first >= 0xF0 ? 3 : first >= 0xE0 ? 2 : 1;
  if (first < 0xC2 || first > 0xF4 || text_.size - at_ < more) return REPLACEMENT;
  char32_t c = first & (0x3F >> more);
  for (size_t i = 0; i < more; ++i) {
    if ((bytes[at_ + i] & 0xC0) != 0x80) return REPLACEMENT;
    c = c << 6 | (bytes[at_ + i] & 0x3F);
  }
  const bool too_long = (more == 2 && c < 0x800) || (more == 3 && c < 0x10000);
  if (too_long || c > 0x10FFFF || (c >= 0xD800 && c <= 0xDFFF)) return REPLACEMENT;
  at_ += more;
  return c;
}

int compare(const Text& left, const Text& right) {
  if (!left.wide && !right.wide) {
    // The order of UTF-8's bytes is that of the characters.
    const size_t common = std::min(left.size, right.size);
    const int order = common == 0 ? 0 : std::memcmp(left.data, right.data, common);
    if (order != 0) return order;
    return left.size < right.size ? -1 : left.size > right.size ? 1 : 0;
  }
  TextCursor a(left), b(right);
  while (!a.at_end() && !b.at_end()) {
    const char32_t of_a = a.next(), of_b = b.next();
    if (of_a != of_b) return of_a < of_b ? -1 : 1;
  }
  return a.at_end() ? (b.at_end() ? 0 : -1) : 1;
}

bool is_like(const Text& text, const Text& pattern) {
  // After a mismatch, only the last `%` needs to take one character more: whatever an earlier one could take
  // is also open to the last. So two places are remembered, and there is no recursion.
  struct Retry {
    TextCursor text, pattern;
  };
  TextCursor at(text), form(pattern);
  std::optional<Retry> retry;
  for (;;) {
    if (!form.at_end()) {
      TextCursor after = form;
      const char32_t wanted = after.next();
      if (is_any_characters(wanted)) {
        form = after;
        retry = Retry{at, form};
        continue;
      }
      if (!at.at_end()) {
        TextCursor rest = at;
        if (rest.next() == wanted || is_one_character(wanted)) {
          at = rest;
          form = after;
          continue;
        }
      }
    } else if (at.at_end()) {
      return true;
    }
    if (!retry || retry->text.at_end()) return false;
    retry->text.next();
    at = retry->text;
    form = retry->pattern;
  }
}

}  // namespace rmw_situ::filter
