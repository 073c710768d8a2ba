// What the tests of filters share: asking whether a message passes, in C++ and in C.
#pragma once

#include <gtest/gtest.h>
#include <rmw/error_handling.h>

#include <rosidl_typesupport_cpp/message_type_support.hpp>
#include <string>
#include <vector>

#include "filter/content_filter.hpp"

namespace rmw_situ::testing {

using Parameters = std::vector<std::string>;

// The error of an expression that is not valid, or an empty string if it is.
inline std::string error_of(const rosidl_message_type_support_t* support, const std::string& expression,
                            const Parameters& parameters = {}) {
  rmw_reset_error();
  if (ContentFilter::make(support, expression, parameters)) return "";
  EXPECT_TRUE(rmw_error_is_set()) << expression;
  std::string error = rmw_get_error_string().str;
  rmw_reset_error();
  return error;
}

template <class Message>
std::string error_for(const std::string& expression, const Parameters& parameters = {}) {
  return error_of(rosidl_typesupport_cpp::get_message_type_support_handle<Message>(), expression, parameters);
}

inline bool passes_handle(const rosidl_message_type_support_t* support, const void* message,
                          const std::string& expression, const Parameters& parameters = {}) {
  const auto filter = ContentFilter::make(support, expression, parameters);
  if (!filter) {
    ADD_FAILURE() << rmw_get_error_string().str;
    rmw_reset_error();
    return false;
  }
  return filter->passes(message);
}

template <class Message>
bool passes(const Message& message, const std::string& expression, const Parameters& parameters = {}) {
  return passes_handle(rosidl_typesupport_cpp::get_message_type_support_handle<Message>(), &message,
                       expression, parameters);
}

}  // namespace rmw_situ::testing
