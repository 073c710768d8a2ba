// What is wrong with a filter expression. Thrown while one is parsed, and caught in `ContentFilter::make`.
#pragma once

#include <cstddef>
#include <string>
#include <utility>

namespace rmw_situ::filter {

struct FilterError {
  FilterError(size_t at, std::string text) : position(at), message(std::move(text)) {}

  // The byte of the expression where the error was found.
  size_t position;
  std::string message;
};

}  // namespace rmw_situ::filter
