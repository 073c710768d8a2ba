// Operations that change the order of a vector's elements.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <numeric>
#include <vector>

#include "situ/region/detail/element_iterator.hpp"
#include "situ/region/detail/std_sort.hpp"
#include "situ/region/detail/swap.hpp"

namespace situ::region_detail {

/// Sorts elements where they lie, without memory of the region. If a comparison throws, the order is
/// unchanged.
template <class T, class Compare, class Projection>
void sort(T* first, std::size_t count, const Compare& compare, const Projection& projection) {
  const T* const read = first;
  std::vector<std::uint32_t> order(count);
  std::iota(order.begin(), order.end(), 0U);
  std::stable_sort(order.begin(), order.end(), [&](std::uint32_t a, std::uint32_t b) {
    return static_cast<bool>(
        std::invoke(compare, std::invoke(projection, read[a]), std::invoke(projection, read[b])));
  });
  arrange(first, order);
}

/// The reordering operations of `Vector`, a vector of a region. Elements move in place, so no memory of the
/// region is needed. (std::sort would move them out of the region.)
template <class Vector, class T>
class vector_order {
 public:
  vector_order() noexcept = default;
  vector_order(const vector_order&) = delete;
  vector_order& operator=(const vector_order&) = delete;

  /// Exchanges the elements with those of another vector of this region, as `situ::swap` does.
  void swap(Vector& other) { situ::swap(self(), other); }
  /// Exchanges two elements.
  void swap(std::size_t i, std::size_t j) noexcept { exchange(self().data()[i], self().data()[j]); }
  /// Sorts. Equal elements keep their order. The arguments are those of std::ranges::sort. If a comparison
  /// throws, the order is unchanged. Takes slightly more than 4 bytes of the heap per element.
  template <class Compare = std::less<>, class Projection = std::identity>
  void sort(const Compare& compare = {}, const Projection& projection = {}) {
    region_detail::sort(self().data(), self().size(), compare, projection);
  }
  void reverse() noexcept {
    if (self().empty()) return;
    for (T *i = self().data(), *j = i + self().size() - 1; i < j; ++i, --j) exchange(*i, *j);
  }
  /// As std::rotate: moves the elements from `middle` on before those from `first` on. Returns the new place
  /// of the latter.
  auto rotate(element_iterator<const T> first, element_iterator<const T> middle,
              element_iterator<const T> last) noexcept {
    T* const elements = self().data();
    const auto place = [&](const auto& at) {
      check_fresh(at);
      return elements + (at - self().cbegin());
    };
    region_detail::rotate(place(first), place(middle), place(last));
    return iterator_at(elements, static_cast<std::size_t>(first - self().cbegin() + (last - middle)));
  }

 private:
  [[nodiscard]] Vector& self() noexcept { return static_cast<Vector&>(*this); }
};

}  // namespace situ::region_detail
