// The iterators of a container that follow from its first two.
#pragma once

#include <iterator>

namespace situ::detail {

/// Whether iterators can also move backwards.
template <class C>
concept both_ways = requires {
  typename C::reverse_iterator;
};

/// Base of `Self`, a container: the iterators that follow from `begin` and `end`, with reverse ones where
/// there is an order. It has no state and adds no bytes.
template <class Self>
class iteration {
 public:
  [[nodiscard]] auto cbegin() const noexcept { return self().begin(); }
  [[nodiscard]] auto cend() const noexcept { return self().end(); }
  template <both_ways C = Self>
  [[nodiscard]] auto rbegin() noexcept {
    return std::reverse_iterator(self().end());
  }
  template <both_ways C = Self>
  [[nodiscard]] auto rend() noexcept {
    return std::reverse_iterator(self().begin());
  }
  template <both_ways C = Self>
  [[nodiscard]] auto rbegin() const noexcept {
    return std::reverse_iterator(self().end());
  }
  template <both_ways C = Self>
  [[nodiscard]] auto rend() const noexcept {
    return std::reverse_iterator(self().begin());
  }
  template <both_ways C = Self>
  [[nodiscard]] auto crbegin() const noexcept {
    return rbegin();
  }
  template <both_ways C = Self>
  [[nodiscard]] auto crend() const noexcept {
    return rend();
  }

 protected:
  [[nodiscard]] Self& self() noexcept { return static_cast<Self&>(*this); }
  [[nodiscard]] const Self& self() const noexcept { return static_cast<const Self&>(*this); }
};

}  // namespace situ::detail
