// Content filters: whether a message satisfies an expression in the SQL-like language of DDS.
#pragma once

#include <rosidl_runtime_c/message_type_support_struct.h>

#include <memory>
#include <string>
#include <vector>

namespace rmw_situ {

// Immutable. Evaluating allocates nothing.
class ContentFilter {
 public:
  virtual ~ContentFilter() = default;
  // Parses an expression for a type. NULL, with rmw's error state set, if the expression is not valid, names a
  // field that the type does not have, or has another number of parameters.
  static std::unique_ptr<ContentFilter> make(const rosidl_message_type_support_t* support,
                                             const std::string& expression,
                                             const std::vector<std::string>& parameters);
  // Whether the message passes. `message` has the type of `support`.
  virtual bool passes(const void* message) const = 0;
};

}  // namespace rmw_situ
