// The iterators of vectors, and of sorted sets: pointers, or with SITU_REGION_DEBUG pointers that are
// checked.
#pragma once

#include <compare>
#include <concepts>
#include <cstddef>
#include <iterator>
#include <memory>
#include <type_traits>

#include "situ/region/memory/changes.hpp"

namespace situ {
template <class T>
class region_vector;
}

namespace situ::region_detail {

/// A pointer to an element, which ends the program when it is used after the element moved.
template <class T>
class checked_iterator {
 public:
  using iterator_concept = std::contiguous_iterator_tag;
  using iterator_category = std::random_access_iterator_tag;
  using value_type = std::remove_cv_t<T>;
  using difference_type = std::ptrdiff_t;
  using pointer = T*;
  using reference = T&;

  checked_iterator() noexcept = default;
  // NOLINTNEXTLINE(google-explicit-constructor): operations without room return null.
  checked_iterator(std::nullptr_t) noexcept {}
  checked_iterator(T* first, std::size_t index) noexcept : first_(first), at_(first + index), mark_(first) {}
  // NOLINTNEXTLINE(google-explicit-constructor): a read-only iterator, from a mutable one.
  operator checked_iterator<const T>() const noexcept requires(!std::is_const_v<T>) {
    return checked_iterator<const T>(first_, at_, mark_);
  }

  explicit operator bool() const noexcept { return at_ != nullptr; }
  /// Ends the program if the iterator is stale.
  void situ_check() const noexcept {
    mark_.template check<region_vector<value_type>>(static_cast<std::uint64_t>(at_ - first_));
  }
  [[nodiscard]] T& operator*() const noexcept { return *operator->(); }
  [[nodiscard]] T* operator->() const noexcept {
    situ_check();
    return at_;
  }
  // Any integer, as for pointers.
  template <std::integral N>
  [[nodiscard]] T& operator[](N step) const noexcept {
    return *(*this + step);
  }
  checked_iterator& operator++() noexcept { return *this += 1; }
  checked_iterator operator++(int) noexcept {
    checked_iterator before = *this;
    ++*this;
    return before;
  }
  checked_iterator& operator--() noexcept { return *this -= 1; }
  checked_iterator operator--(int) noexcept {
    checked_iterator behind = *this;
    --*this;
    return behind;
  }
  template <std::integral N>
  checked_iterator& operator+=(N step) noexcept {
    at_ += static_cast<difference_type>(step);
    return *this;
  }
  template <std::integral N>
  checked_iterator& operator-=(N step) noexcept {
    at_ -= static_cast<difference_type>(step);
    return *this;
  }
  template <std::integral N>
  [[nodiscard]] friend checked_iterator operator+(checked_iterator at, N step) noexcept {
    return at += step;
  }
  template <std::integral N>
  [[nodiscard]] friend checked_iterator operator+(N step, checked_iterator at) noexcept {
    return at += step;
  }
  template <std::integral N>
  [[nodiscard]] friend checked_iterator operator-(checked_iterator at, N step) noexcept {
    return at -= step;
  }
  template <class U>
  [[nodiscard]] difference_type operator-(const checked_iterator<U>& other) const noexcept {
    return at_ - other.at_;
  }
  template <class U>
  [[nodiscard]] bool operator==(const checked_iterator<U>& other) const noexcept {
    return at_ == other.at_;
  }
  [[nodiscard]] bool operator==(std::nullptr_t) const noexcept { return at_ == nullptr; }
  template <class U>
  [[nodiscard]] auto operator<=>(const checked_iterator<U>& other) const noexcept {
    return at_ <=> other.at_;
  }

 private:
  template <class U>
  friend class checked_iterator;

  checked_iterator(T* first, T* at, const iterator_mark<true>& mark) noexcept
      : first_(first), at_(at), mark_(mark) {}

  T* first_ = nullptr;
  T* at_ = nullptr;
  iterator_mark<true> mark_;
};

template <class T>
using element_iterator = std::conditional_t<checks_iterators, checked_iterator<T>, T*>;

/// The iterator of an element of a row.
template <class T>
[[nodiscard]] element_iterator<T> iterator_at(T* first, std::size_t index) noexcept {
  if constexpr (checks_iterators) {
    return checked_iterator<T>(first, index);
  } else {
    return first + index;
  }
}
/// Ends the program if an iterator is stale, in programs that check them.
template <class It>
void check_fresh([[maybe_unused]] const It& at) noexcept {
  if constexpr (checks_iterators) at.situ_check();
}

}  // namespace situ::region_detail
