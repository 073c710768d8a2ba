// Exchanges and reorders values of a region: two of them, or the elements of a vector. It copies no value,
// and needs no memory of the region.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <type_traits>

#include "situ/region/detail/reflect.hpp"

namespace situ::region_detail {

/// The bytes of a value that left its place, while another value takes that place.
template <class T>
class lifted_value {
 public:
  explicit lifted_value(const T* from) noexcept : from_(bytes_of(from)) {
    std::memcpy(bytes_, static_cast<const void*>(from), sizeof(T));
  }
  /// Writes the value to a place in the same region.
  void put(T* to) const noexcept {
    std::memcpy(static_cast<void*>(to), bytes_, sizeof(T));
    moved(*to, static_cast<std::int32_t>(from_ - bytes_of(to)));
  }

 private:
  const std::byte* from_;
  alignas(T) std::byte bytes_[sizeof(T)];
};

/// Exchanges two values of one region, neither of which lies within the other.
template <class T>
void exchange(T& a, T& b) noexcept {
  if (&a == &b) return;
  const lifted_value<T> kept(&a);
  relocate(&a, &b, 1);
  kept.put(&b);
}

/// As std::rotate: the elements from `middle` on come first.
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

/// Reorders the elements from `first` on: place `i` receives the element at `order[i]`. Each element moves
/// once. `order` is overwritten.
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
