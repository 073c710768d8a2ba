// Parses a regular expression into the states of Glushkov's construction: one for each character of it.
//
// Each part of an expression is described by the states it can begin with, the states it can end with, and
// whether it can be empty. Joining two parts leads from each end of the first to each begin of the second; a
// repetition leads from its ends to its own begins. There are no states that wait for nothing, so a step of
// the machine is: of all states that may come next, keep those that accept the character.
#include "pattern.hpp"

#include <algorithm>
#include <limits>
#include <optional>
#include <string>

#include "filter_error.hpp"

namespace rmw_situ::filter {

namespace {

constexpr char32_t MAX_CHARACTER = 0x10FFFF;
constexpr size_t MAX_DEPTH = 50;
constexpr uint32_t UNLIMITED = std::numeric_limits<uint32_t>::max();

}  // namespace

class PatternCompiler {
 public:
  PatternCompiler(const Text& pattern, std::vector<Pattern::State>& states) : states_(states) {
    TextCursor cursor(pattern);
    while (!cursor.at_end()) characters_.push_back(cursor.next());
    states_.emplace_back();
  }

  void compile() {
    const Part all = alternatives(0);
    if (at_ != characters_.size()) fail("')' closes no group");
    states_[0].next = all.first;
    states_[0].is_end = all.is_optional;
    for (size_t i = 1; i < states_.size(); ++i) states_[i].is_end = all.last[i];
  }

 private:
  using States = Pattern::States;
  using Range = Pattern::Range;

  struct Part {
    States first, last;
    bool is_optional = true;
  };

  [[noreturn]] void fail(const std::string& text) const {
    throw FilterError(at_, "regular expression, character " + std::to_string(at_ + 1) + ": " + text);
  }
  bool at_end() const { return at_ == characters_.size(); }
  bool looks_at(char32_t c) const { return !at_end() && characters_[at_] == c; }
  bool skip(char32_t c) {
    if (!looks_at(c)) return false;
    ++at_;
    return true;
  }

  Part alternatives(size_t depth) {
    if (depth > MAX_DEPTH) fail("more than " + std::to_string(MAX_DEPTH) + " groups within each other");
    Part all = sequence(depth);
    while (skip(U'|')) {
      const Part other = sequence(depth);
      all.first |= other.first;
      all.last |= other.last;
      all.is_optional = all.is_optional || other.is_optional;
    }
    return all;
  }

  Part sequence(size_t depth) {
    Part all;
    while (!at_end() && !looks_at(U'|') && !looks_at(U')')) all = join(all, repeated(depth));
    return all;
  }

  Part join(const Part& left, const Part& right) {
    lead(left.last, right.first);
    Part all;
    all.first = left.is_optional ? left.first | right.first : left.first;
    all.last = right.is_optional ? left.last | right.last : right.last;
    all.is_optional = left.is_optional && right.is_optional;
    return all;
  }

  void lead(const States& from, const States& to) {
    for (size_t i = 1; i < states_.size(); ++i) {
      if (from[i]) states_[i].next |= to;
    }
  }

  Part repeated(size_t depth) {
    const size_t begin = at_;
    const size_t first_state = states_.size();
    Part part = atom(depth);
    const auto count = repetition();
    if (!count) return part;
    if (looks_at(U'*') || looks_at(U'+') || looks_at(U'{')) fail("a repetition follows a repetition");
    const auto [least, most] = *count;
    // What is repeated is parsed again for each time that is written out. One without states needs none.
    const size_t after = at_;
    const bool has_states = states_.size() != first_state;
    const auto again = [&] {
      at_ = begin;
      const Part copy = atom(depth);
      at_ = after;
      return copy;
    };
    if (!has_states) return part;
    if (most == 0) return Part{};
    Part all = part;
    if (least == 0) all.is_optional = true;
    for (uint32_t i = 1; i < least; ++i) {
      part = again();
      all = join(all, part);
    }
    if (most == UNLIMITED) {
      // The last one may come again. Its states, and no earlier ones, lead back.
      lead(part.last, part.first);
      return all;
    }
    for (uint32_t i = std::max(least, 1U); i < most; ++i) {
      Part more = again();
      more.is_optional = true;
      all = join(all, more);
    }
    return all;
  }

  struct Count {
    uint32_t least, most;
  };

  std::optional<Count> repetition() {
    Count count{0, UNLIMITED};
    if (skip(U'*')) {
    } else if (skip(U'+')) {
      count.least = 1;
    } else if (skip(U'?')) {
      count.most = 1;
    } else if (skip(U'{')) {
      count.least = count.most = number();
      if (skip(U',')) count.most = looks_at(U'}') ? UNLIMITED : number();
      if (!skip(U'}')) fail("a count is {n}, {n,} or {n,m}");
      if (count.most < count.least) fail("the count's second number is smaller than its first");
    } else {
      return std::nullopt;
    }
    // How much a repetition prefers to take makes no difference to whether all of the text matches.
    skip(U'?');
    return count;
  }

  uint32_t number() {
    uint32_t value = 0;
    const size_t begin = at_;
    while (!at_end() && characters_[at_] >= U'0' && characters_[at_] <= U'9') {
      value = value * 10 + static_cast<uint32_t>(characters_[at_++] - U'0');
      if (value > Pattern::MAX_STATES) fail("a count is at most " + std::to_string(Pattern::MAX_STATES));
    }
    if (at_ == begin) fail("a count is {n}, {n,} or {n,m}");
    return value;
  }

  Part atom(size_t depth) {
    const char32_t c = characters_[at_++];
    switch (c) {
      case U'(': {
        if (skip(U'?') && !skip(U':')) fail("of the groups that begin with (? there is only (?:");
        const Part group = alternatives(depth + 1);
        if (!skip(U')')) fail("a group is not closed");
        return group;
      }
      case U'[':
        return one(character_class());
      case U'.': {
        Pattern::State any;
        any.ranges = {{U'\n', U'\n'}, {U'\r', U'\r'}, {0x2028, 0x2029}};
        any.is_negated = true;
        return one(any);
      }
      case U'^':
        if (at_ != 1) fail("'^' is possible at the begin only; write \\^ for the character");
        return Part{};
      case U'$':
        if (!at_end()) fail("'$' is possible at the end only; write \\$ for the character");
        return Part{};
      case U'*':
      case U'+':
      case U'?':
      case U'{':
        --at_;
        fail("a repetition follows nothing that it could repeat");
      case U'\\': {
        Pattern::State set;
        set.is_negated = escape(set.ranges);
        return one(set);
      }
      default: {
        Pattern::State set;
        set.ranges = {{c, c}};
        return one(set);
      }
    }
  }

  Part one(const Pattern::State& state) {
    if (states_.size() == Pattern::MAX_STATES) {
      fail("more than " + std::to_string(Pattern::MAX_STATES - 1) + " characters, counts written out");
    }
    Part part;
    part.first.set(states_.size());
    part.last.set(states_.size());
    part.is_optional = false;
    states_.push_back(state);
    return part;
  }

  // What follows a backslash. Whether the set is what it does not contain.
  bool escape(std::vector<Range>& ranges) {
    if (at_end()) fail("nothing follows the last backslash");
    const char32_t c = characters_[at_++];
    const auto add = [&](char32_t first, char32_t last) { ranges.push_back({first, last}); };
    switch (c) {
      case U'd':
      case U'D':
        add(U'0', U'9');
        return c == U'D';
      case U'w':
      case U'W':
        add(U'0', U'9');
        add(U'A', U'Z');
        add(U'_', U'_');
        add(U'a', U'z');
        return c == U'W';
      case U's':
      case U'S':
        add(U'\t', U'\r');
        add(U' ', U' ');
        add(0xA0, 0xA0);
        add(0x2028, 0x2029);
        return c == U'S';
      default:
        add(escaped_character(c), escaped_character(c));
        return false;
    }
  }

  char32_t escaped_character(char32_t c) const {
    switch (c) {
      case U't':
        return U'\t';
      case U'n':
        return U'\n';
      case U'r':
        return U'\r';
      case U'f':
        return U'\f';
      case U'v':
        return U'\v';
      default:
        break;
    }
    const bool is_letter = (c >= U'a' && c <= U'z') || (c >= U'A' && c <= U'Z');
    const bool is_digit = c >= U'0' && c <= U'9';
    if (is_letter || is_digit) fail("back references, assertions and this escape are not supported");
    return c;
  }

  Pattern::State character_class() {
    Pattern::State set;
    set.is_negated = skip(U'^');
    while (!looks_at(U']')) {
      if (at_end()) fail("a class of characters is not closed");
      const auto first = class_member(set.ranges);
      // A minus before the end is itself.
      const bool is_range = looks_at(U'-') && at_ + 1 < characters_.size() && characters_[at_ + 1] != U']';
      if (!is_range) {
        if (first) set.ranges.push_back({*first, *first});
        continue;
      }
      ++at_;
      const auto last = class_member(set.ranges);
      if (!first || !last || *last < *first)
        fail("a range of characters goes from a smaller one to a larger one");
      set.ranges.push_back({*first, *last});
    }
    ++at_;
    return set;
  }

  // One character of a class, or nothing after an escape that stands for several, which is added to `ranges`.
  std::optional<char32_t> class_member(std::vector<Range>& ranges) {
    const char32_t c = characters_[at_++];
    if (c == U'[' && (looks_at(U':') || looks_at(U'.') || looks_at(U'='))) {
      fail("named classes are not supported; use \\d, \\w, \\s or a range");
    }
    if (c != U'\\') return c;
    std::vector<Range> escaped;
    const bool is_negated = escape(escaped);
    if (!is_negated && escaped.size() == 1 && escaped[0].first == escaped[0].last) return escaped[0].first;
    if (!is_negated) {
      ranges.insert(ranges.end(), escaped.begin(), escaped.end());
      return std::nullopt;
    }
    // The gaps between the ranges, which are in order.
    char32_t from = 0;
    for (const Range& range : escaped) {
      if (range.first > from) ranges.push_back({from, range.first - 1});
      from = range.last + 1;
    }
    ranges.push_back({from, MAX_CHARACTER});
    return std::nullopt;
  }

  std::vector<Pattern::State>& states_;
  std::u32string characters_;
  size_t at_ = 0;
};

Pattern::Pattern(const Text& pattern) { PatternCompiler(pattern, states_).compile(); }

bool Pattern::State::accepts(char32_t c) const {
  const bool is_in = std::any_of(ranges.begin(), ranges.end(),
                                 [c](const Range& range) { return c >= range.first && c <= range.last; });
  return is_in != is_negated;
}

bool Pattern::matches(const Text& text) const {
  States current;
  current.set(0);
  for (TextCursor cursor(text); !cursor.at_end();) {
    const char32_t c = cursor.next();
    States candidates;
    for (size_t i = 0; i < states_.size(); ++i) {
      if (current[i]) candidates |= states_[i].next;
    }
    for (size_t i = 1; i < states_.size(); ++i) {
      if (candidates[i] && !states_[i].accepts(c)) candidates.reset(i);
    }
    if (candidates.none()) return false;
    current = candidates;
  }
  for (size_t i = 0; i < states_.size(); ++i) {
    if (current[i] && states_[i].is_end) return true;
  }
  return false;
}

}  // namespace rmw_situ::filter
