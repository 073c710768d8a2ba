// Values of a region change places: two of them, or the elements of a vector. None is copied, and no memory
// of the region is needed.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <type_traits>

#include "situ/region/detail/reflect.hpp"

namespace situ::region_detail {

/// The bytes of a value that lay at some place, while that place is taken by another one.
template <class T>
class lifted_value {
 public:
  explicit lifted_value(const T* from) noexcept : from_(bytes_of(from)) {
    std::memcpy(bytes_, static_cast<const void*>(from), sizeof(T));
  }
  /// Puts it down, in the region in which it lay.
  void put(T* to) const noexcept {
    std::memcpy(static_cast<void*>(to), bytes_, sizeof(T));
    moved(*to, static_cast<std::int32_t>(from_ - bytes_of(to)));
  }

 private:
  const std::byte* from_;
  alignas(T) std::byte bytes_[sizeof(T)];
};

/// Exchanges two values of one region, of which none lies within the other.
template <class T>
void exchange(T& a, T& b) noexcept {
  if (&a == &b) return;
  const lifted_value<T> kept(&a);
  relocate(&a, &b, 1);
  kept.put(&b);
}

/// As std::rotate: what begins at `middle` comes before the others.
template <class T>
void rotate(T* first, T* middle, T* last) noexcept {
  if (first == middle || middle == last) return;
  struct place {
    alignas(T) std::byte bytes[sizeof(T)];
  };
  const auto as_places = [](T* at) { return reinterpret_cast<place*>(at); };
  std::rotate(as_places(first), as_places(middle), as_places(last));
  if constexpr (has_links<T>) {
    const auto down = static_cast<std::int32_t>(bytes_of(middle) - bytes_of(first));
    const auto up = static_cast<std::int32_t>(bytes_of(last) - bytes_of(middle));
    T* const between = first + (last - middle);
    for (T* each = first; each != last; ++each) moved(*each, each < between ? down : -up);
  }
}

/// Brings the elements from `first` on into an order: to place `i` comes the one at `order[i]`. Each is moved
/// once. `order` is used up.
template <class T>
void arrange(T* first, std::span<std::uint32_t> order) noexcept {
  for (std::uint32_t begin = 0; begin < order.size(); ++begin) {
    if (order[begin] == begin) continue;
    const lifted_value<T> kept(first + begin);
    std::uint32_t to = begin;
    for (std::uint32_t from = order[to]; from != begin; from = order[to]) {
      relocate(first + to, first + from, 1);
      order[to] = to;
      to = from;
    }
    kept.put(first + to);
    order[to] = to;
  }
}

}  // namespace situ::region_detail
