// result<T, E>: a value or an error, for code that does not throw.
#pragma once

#include <memory>
#include <stdexcept>
#include <type_traits>
#include <utility>
#include <variant>

#include "situ/support/error.hpp"

namespace situ {

/// Wraps an error on its way into a `result`.
template <class E>
struct failure {
  E error;
};
template <class E>
failure(E) -> failure<E>;

/// The value was requested from a `result` that holds an error.
class bad_result_access : public std::logic_error {
 public:
  explicit bad_result_access(const std::string& what) : std::logic_error(what) {}
};

namespace detail {

template <class E>
[[noreturn]] void raise_bad_result(const E& error) {
  if constexpr (requires { error.message(); }) {
    raise(bad_result_access(error.message()));
  } else {
    raise(bad_result_access("the result holds an error"));
  }
}

}  // namespace detail

/// Either a value or an error. `value()` throws `bad_result_access` with the error's message. `operator*`
/// does not check.
template <class T, class E>
class [[nodiscard]] result {
 public:
  using value_type = T;
  using error_type = E;

  result(T value) : state_(std::in_place_index<0>, std::move(value)) {}
  template <class F>
  requires std::is_constructible_v<E, F&&> result(failure<F> failed)
      : state_(std::in_place_index<1>, std::move(failed.error)) {}

  [[nodiscard]] bool has_value() const noexcept { return state_.index() == 0; }
  explicit operator bool() const noexcept { return has_value(); }

  [[nodiscard]] T& value() & {
    check();
    return **this;
  }
  [[nodiscard]] const T& value() const& {
    check();
    return **this;
  }
  [[nodiscard]] T&& value() && {
    check();
    return std::move(**this);
  }
  template <class U>
  [[nodiscard]] T value_or(U&& otherwise) const& {
    return has_value() ? **this : static_cast<T>(std::forward<U>(otherwise));
  }
  [[nodiscard]] T& operator*() noexcept { return *std::get_if<0>(&state_); }
  [[nodiscard]] const T& operator*() const noexcept { return *std::get_if<0>(&state_); }
  [[nodiscard]] T* operator->() noexcept { return std::get_if<0>(&state_); }
  [[nodiscard]] const T* operator->() const noexcept { return std::get_if<0>(&state_); }

  /// The error. The result must hold one.
  [[nodiscard]] const E& error() const& noexcept { return *std::get_if<1>(&state_); }
  [[nodiscard]] E&& error() && noexcept { return std::move(*std::get_if<1>(&state_)); }

 private:
  void check() const {
    if (!has_value()) detail::raise_bad_result(error());
  }

  std::variant<T, E> state_;
};

/// Success, or an error.
template <class E>
class [[nodiscard]] result<void, E> {
 public:
  using value_type = void;
  using error_type = E;

  result() noexcept = default;
  template <class F>
  requires std::is_constructible_v<E, F&&> result(failure<F> failed)
      : error_(std::make_unique<E>(std::move(failed.error))) {}

  [[nodiscard]] bool has_value() const noexcept { return error_ == nullptr; }
  explicit operator bool() const noexcept { return has_value(); }
  void value() const {
    if (!has_value()) detail::raise_bad_result(*error_);
  }

  /// The error. The result must hold one.
  [[nodiscard]] const E& error() const& noexcept { return *error_; }
  [[nodiscard]] E&& error() && noexcept { return std::move(*error_); }

 private:
  /// On the heap, so that success is one null pointer.
  std::unique_ptr<E> error_;
};

}  // namespace situ
