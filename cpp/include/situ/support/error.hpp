// The errors of Situ's containers when a bound is exceeded, with exceptions and without.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <stdexcept>
#include <string>
#include <string_view>

#if defined(__cpp_exceptions)
#define SITU_HAS_EXCEPTIONS 1
#else
#define SITU_HAS_EXCEPTIONS 0
#endif

namespace situ {

/// An operation would make a container hold more than its bound. The container cannot find the name of its
/// field. Code with access to the whole message (`situ::edit`, decoding, conversion) adds the field's path:
/// `header.frame_id`.
class bound_error : public std::length_error {
 public:
  bound_error(std::string_view field, std::size_t bound, std::size_t size, const void* container = nullptr)
      : std::length_error(describe(field, bound, size)),
        field_(field),
        bound_(bound),
        size_(size),
        container_(container) {}

  /// The path of the field, or an empty string.
  [[nodiscard]] const std::string& field() const noexcept { return field_; }
  /// The largest number of elements that the container can hold.
  [[nodiscard]] std::size_t bound() const noexcept { return bound_; }
  /// The number of elements that the operation requested.
  [[nodiscard]] std::size_t size() const noexcept { return size_; }
  /// The address of the container, for comparison only.
  [[nodiscard]] const void* container() const noexcept { return container_; }

 private:
  static std::string describe(std::string_view field, std::size_t bound, std::size_t size) {
    std::string text = "bound exceeded";
    if (!field.empty()) text.append(" in field '").append(field).append("'");
    return text.append(": ")
        .append(std::to_string(size))
        .append(" elements do not fit into a bound of ")
        .append(std::to_string(bound));
  }

  std::string field_;
  std::size_t bound_;
  std::size_t size_;
  const void* container_;
};

/// Called instead of throwing in programs compiled without exceptions, with a sentence that describes the
/// failure. When it returns, the program aborts.
using failure_handler = void (*)(const char* what);

namespace detail {

inline void print_failure(const char* what) { std::fprintf(stderr, "situ: %s\n", what); }

inline std::atomic<failure_handler>& current_failure_handler() noexcept {
  static std::atomic<failure_handler> handler{&print_failure};
  return handler;
}

template <class Error>
[[noreturn]] inline void raise(const Error& error) {
#if SITU_HAS_EXCEPTIONS
  throw error;
#else
  current_failure_handler().load()(error.what());
  std::abort();
#endif
}

[[noreturn]] inline void raise_bound(const void* container, std::size_t bound, std::size_t size) {
  raise(bound_error({}, bound, size, container));
}

[[noreturn]] inline void raise_out_of_range(const char* what) { raise(std::out_of_range(what)); }

}  // namespace detail

/// Sets the function that a program without exceptions calls before it aborts. The default prints to standard
/// error. Returns the previous handler. Programs with exceptions throw and never call it.
inline failure_handler set_failure_handler(failure_handler handler) noexcept {
  return detail::current_failure_handler().exchange(handler != nullptr ? handler : &detail::print_failure);
}

}  // namespace situ
