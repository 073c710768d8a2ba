// Ranges that containers of regions create from their arguments: between two iterators, and one value
// repeated. (Clang 14 cannot compile the views of libstdc++.)
#pragma once

#include <cstddef>
#include <iterator>

namespace situ::region_detail {

/// The elements between two iterators.
template <class It>
class between {
 public:
  between(It first, It last) : first_(first), last_(last) {}
  [[nodiscard]] It begin() const { return first_; }
  [[nodiscard]] It end() const { return last_; }
  [[nodiscard]] std::size_t size() const requires std::random_access_iterator<It> {
    return static_cast<std::size_t>(last_ - first_);
  }

 private:
  It first_;
  It last_;
};

/// One value, `count` times.
template <class T>
class repeated {
 public:
  class iterator {
   public:
    using iterator_category = std::forward_iterator_tag;
    using value_type = T;
    using difference_type = std::ptrdiff_t;
    using pointer = const T*;
    using reference = const T&;

    iterator() noexcept = default;
    iterator(const T* value, std::size_t left) noexcept : value_(value), left_(left) {}
    [[nodiscard]] reference operator*() const noexcept { return *value_; }
    iterator& operator++() noexcept {
      --left_;
      return *this;
    }
    iterator operator++(int) noexcept {
      const iterator before = *this;
      ++*this;
      return before;
    }
    friend bool operator==(const iterator& a, const iterator& b) noexcept { return a.left_ == b.left_; }
    friend difference_type operator-(const iterator& a, const iterator& b) noexcept {
      return static_cast<difference_type>(b.left_ - a.left_);
    }

   private:
    const T* value_ = nullptr;
    std::size_t left_ = 0;
  };

  repeated(const T& value, std::size_t count) noexcept : value_(&value), count_(count) {}
  [[nodiscard]] iterator begin() const noexcept { return {value_, count_}; }
  [[nodiscard]] iterator end() const noexcept { return {value_, 0}; }
  [[nodiscard]] std::size_t size() const noexcept { return count_; }

 private:
  const T* value_;
  std::size_t count_;
};

}  // namespace situ::region_detail
