// Regular expressions of the operator MATCH, compiled to a machine with states.
#pragma once

#include <bitset>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "text.hpp"

namespace rmw_situ::filter {

// The part of ECMAScript's expressions that a machine without memory can decide: characters, `.`, classes,
// groups, alternatives, repetitions, `^` and `$`. Back references and assertions about what follows are
// errors. Matching takes time proportional to the text, allocates nothing and does not recurse.
class Pattern {
 public:
  // Throws `FilterError` whose position counts from the begin of `pattern`.
  explicit Pattern(const Text& pattern);
  // Whether all of the text has this form.
  bool matches(const Text& text) const;

 private:
  friend class PatternCompiler;

  // Repetitions with a count are written out, so this also limits them.
  static constexpr size_t MAX_STATES = 512;
  using States = std::bitset<MAX_STATES>;

  struct Range {
    char32_t first, last;
  };
  // A state waits for one character of a set, and leads to other states. State 0 is the begin: it waits for
  // nothing.
  struct State {
    std::vector<Range> ranges;
    bool is_negated = false;
    // States that may come next. The text may end here if `is_end`.
    States next;
    bool is_end = false;

    bool accepts(char32_t c) const;
  };
  std::vector<State> states_;
};

}  // namespace rmw_situ::filter
