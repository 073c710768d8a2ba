// Content filters: whether a message satisfies an expression in the SQL-like language of DDS.
#pragma once

#include <rosidl_runtime_c/message_type_support_struct.h>

#include <memory>
#include <string>
#include <vector>

namespace rmw_situ {

// Immutable. Evaluating allocates nothing.
//
// The language is that of DDS 1.4, annex B, as Fast DDS extends it: elements `a[3]` of arrays and sequences,
// `!=`, and MATCH with a regular expression. `%` and `*` of LIKE stand for any characters, `_` and `?` for
// one. Unlike in Fast DDS, NOT binds stronger than AND, and AND stronger than OR, as in SQL; strings are as
// long as they are; wide strings can be compared; numbers are compared by their exact values, and NaN equals
// nothing. A comparison with an element that a sequence does not have is unknown, as in SQL, and then the
// message does not pass unless the rest of the expression makes it true.
class ContentFilter {
 public:
  virtual ~ContentFilter() = default;
  // Parses an expression for a type. With an empty expression everything passes. NULL, with rmw's error state
  // set, if the expression is not valid, names a field that the type does not have, or uses a parameter that
  // is not given. Parameters are literals: strings have quotes. There may be more of them than the expression
  // uses.
  static std::unique_ptr<ContentFilter> make(const rosidl_message_type_support_t* support,
                                             const std::string& expression,
                                             const std::vector<std::string>& parameters);
  // Whether the message passes. `message` has the type of `support`.
  virtual bool passes(const void* message) const = 0;
};

}  // namespace rmw_situ
