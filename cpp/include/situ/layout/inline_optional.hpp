// inline_optional<T>: std::optional with a fixed layout, `{u8 present; T value}`.
#pragma once

#include <compare>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <type_traits>
#include <utility>

#include "situ/layout/storage.hpp"
#include "situ/support/error.hpp"

namespace situ {
namespace detail {

template <class T, bool Trivial = std::is_trivially_destructible_v<T>>
struct optional_data {
  optional_data() {}  // NOLINT(modernize-use-equals-default)
  optional_data(const optional_data&) = delete;
  optional_data& operator=(const optional_data&) = delete;
  ~optional_data() {
    if (present_ == 1) destroy(value(), 1);
  }
  T* value() noexcept { return reinterpret_cast<T*>(bytes_); }
  const T* value() const noexcept { return reinterpret_cast<const T*>(bytes_); }

  std::uint8_t present_ = 0;
  alignas(T) std::byte bytes_[sizeof(T)];
};

template <class T>
struct optional_data<T, true> {
  optional_data() {}  // NOLINT(modernize-use-equals-default)
  optional_data(const optional_data&) = delete;
  optional_data& operator=(const optional_data&) = delete;
  T* value() noexcept { return reinterpret_cast<T*>(bytes_); }
  const T* value() const noexcept { return reinterpret_cast<const T*>(bytes_); }

  std::uint8_t present_ = 0;
  alignas(T) std::byte bytes_[sizeof(T)];
};

}  // namespace detail

/// A value or nothing, in place, with the interface of std::optional. The bytes of an absent value are never
/// touched.
template <class T>
class inline_optional : private detail::optional_data<T> {
  using data_type = detail::optional_data<T>;
  friend struct detail::access;

 public:
  using value_type = T;

  inline_optional() noexcept {}  // NOLINT(modernize-use-equals-default): see storage
  inline_optional(std::nullopt_t /*none*/) noexcept {}
  inline_optional(const inline_optional& other) {
    if (other.has_value()) emplace(*other);
  }
  inline_optional(inline_optional&& other) noexcept(std::is_nothrow_move_constructible_v<T>) {
    if (other.has_value()) emplace(*std::move(other));
  }
  template <class U>
  inline_optional(const std::optional<U>& other) {
    if (other.has_value()) emplace(*other);
  }
  template <class U = T>
  requires std::is_constructible_v<T, U&&> &&(!std::same_as<std::remove_cvref_t<U>, inline_optional>)&&(
      !std::same_as<std::remove_cvref_t<U>, std::in_place_t>)explicit(!std::is_convertible_v<U&&, T>)
      inline_optional(U&& value) {
    emplace(std::forward<U>(value));
  }
  template <class... Args>
  explicit inline_optional(std::in_place_t /*tag*/, Args&&... args) {
    emplace(std::forward<Args>(args)...);
  }
  ~inline_optional() = default;

  inline_optional& operator=(std::nullopt_t /*none*/) noexcept {
    reset();
    return *this;
  }
  inline_optional& operator=(const inline_optional& other) {
    if (this != &other) assign(other);
    return *this;
  }
  inline_optional& operator=(inline_optional&& other) noexcept(std::is_nothrow_move_assignable_v<T>) {
    if (this != &other) assign(std::move(other));
    return *this;
  }
  template <class U>
  inline_optional& operator=(const std::optional<U>& other) {
    assign(other);
    return *this;
  }
  template <class U = T>
  requires std::is_constructible_v<T, U&&> && std::is_assignable_v<T&, U&&> &&
      (!std::same_as<std::remove_cvref_t<U>, inline_optional>)inline_optional&
      operator=(U&& value) {
    if (has_value()) {
      **this = detail::as<T>(std::forward<U>(value));
    } else {
      emplace(std::forward<U>(value));
    }
    return *this;
  }

  template <class... Args>
  T& emplace(Args&&... args) {
    reset();
    T* made = detail::construct<T>(static_cast<void*>(data_type::bytes_), std::forward<Args>(args)...);
    data_type::present_ = 1;
    return *made;
  }
  void reset() noexcept {
    if (has_value()) detail::destroy(data_type::value(), 1);
    data_type::present_ = 0;
  }

  [[nodiscard]] bool has_value() const noexcept { return data_type::present_ == 1; }
  explicit operator bool() const noexcept { return has_value(); }

  [[nodiscard]] T& operator*() & noexcept { return *data_type::value(); }
  [[nodiscard]] const T& operator*() const& noexcept { return *data_type::value(); }
  [[nodiscard]] T&& operator*() && noexcept { return std::move(*data_type::value()); }
  [[nodiscard]] T* operator->() noexcept { return data_type::value(); }
  [[nodiscard]] const T* operator->() const noexcept { return data_type::value(); }

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
  template <class U>
  [[nodiscard]] T value_or(U&& otherwise) && {
    return has_value() ? std::move(**this) : static_cast<T>(std::forward<U>(otherwise));
  }

  void swap(inline_optional& other) noexcept(std::is_nothrow_move_constructible_v<T>) {
    inline_optional mine(std::move(*this));
    *this = std::move(other);
    other = std::move(mine);
  }
  friend void swap(inline_optional& a, inline_optional& b) noexcept(noexcept(a.swap(b))) { a.swap(b); }

  [[nodiscard]] friend bool operator==(const inline_optional& a, const inline_optional& b) {
    return a.has_value() == b.has_value() && (!a.has_value() || *a == *b);
  }
  [[nodiscard]] friend bool operator==(const inline_optional& a, const std::optional<T>& b) {
    return a.has_value() == b.has_value() && (!a.has_value() || *a == *b);
  }
  [[nodiscard]] friend bool operator==(const inline_optional& a, std::nullopt_t /*none*/) noexcept {
    return !a.has_value();
  }
  [[nodiscard]] friend bool operator==(const inline_optional& a, const T& b) {
    return a.has_value() && *a == b;
  }
  [[nodiscard]] friend auto operator<=>(const inline_optional& a,
                                        const inline_optional& b) requires std::three_way_comparable<T> {
    if (a.has_value() && b.has_value()) return *a <=> *b;
    return static_cast<std::compare_three_way_result_t<T>>(a.has_value() <=> b.has_value());
  }

 private:
  template <class Other>
  void assign(Other&& other) {
    if (!other.has_value()) {
      reset();
    } else if (has_value()) {
      **this = *std::forward<Other>(other);
    } else {
      emplace(*std::forward<Other>(other));
    }
  }
  void check() const {
    if (!has_value()) detail::raise(std::bad_optional_access());
  }
};

}  // namespace situ
