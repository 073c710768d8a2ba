// Finds whether a value lies within another one, in its blocks or behind its links.
#pragma once

#include <cstddef>
#include <cstdint>
#include <unordered_set>

#include "situ/region/detail/later.hpp"
#include "situ/region/detail/needs.hpp"

namespace situ::region_detail {

/// Searches for an address among all parts of a value. It has the interface of the writer of canonical
/// images.
class place_finder {
 public:
  static constexpr bool writes = false;

  explicit place_finder(const void* place) noexcept : place_(place) {}
  /// Whether the place lies in a value.
  template <class T>
  [[nodiscard]] bool finds_in(const T& value) {
    put(0, value);
    later_.finish_all();
    return found_;
  }

  void put_bytes(std::uint32_t, const void*, std::size_t) noexcept {}
  void put_zeros(std::uint32_t, std::size_t) noexcept {}
  void put_byte(std::uint32_t, std::uint8_t) noexcept {}
  void put_u32(std::uint32_t, std::uint32_t) noexcept {}
  void put_back_link(std::uint32_t, std::uint32_t) noexcept {}
  void put_container(std::uint32_t, std::uint32_t, std::uint32_t) noexcept {}
  [[nodiscard]] std::uint32_t place(std::uint32_t, std::uint64_t) noexcept { return 0; }
  template <class T>
  void put_shared(std::uint32_t, const void* block, std::uint32_t, const T& value) {
    if (seen_.insert(block).second) behind([this, &value] { put(0, value); });
  }
  /// Weak links do not lead to parts of a value.
  void put_weak(std::uint32_t, const void*) noexcept {}
  template <class Visit>
  void behind(const Visit& visit) {
    later_.run([visit] {
      visit();
      return true;
    });
  }
  template <class T>
  void put(std::uint32_t, const T& value) {
    if constexpr (has_links<T>) {
      found_ = found_ || static_cast<const void*>(&value) == place_;
      if (found_) return;
      if constexpr (container<T>) {
        value.situ_write(*this, 0);
      } else if constexpr (array<T>) {
        put_elements(0, value.data(), value.size());
      } else {
        for_each_member<T>([this, &value](const auto& m) {
          this->put(0, m.of(value));
          return !found_;
        });
      }
    }
  }
  template <class T>
  void put_elements(std::uint32_t, const T* elements, std::size_t count) {
    if constexpr (has_links<T>) {
      for (std::size_t i = 0; i < count && !found_; ++i) put(0, elements[i]);
    }
  }

 private:
  const void* place_;
  bool found_ = false;
  walk_visits later_;
  std::unordered_set<const void*> seen_;
};

/// Whether values of a type can contain other values of the type.
template <class T>
consteval bool may_hold_its_kind() {
  type_finder<only<T>> finder;
  if constexpr (container<T>) {
    T::situ_needs(finder);
  } else if constexpr (array<T>) {
    finder.template need<typename array_traits<T>::element>();
  } else if constexpr (described<T>) {
    for_each_member<T>([&finder](const auto& m) {
      finder.template need<decltype(type_of(m))>();
      return true;
    });
  }
  return finder.found();
}

/// Whether `part` lies within `whole`, which has the same type.
template <class T>
[[nodiscard]] bool lies_within([[maybe_unused]] const T& whole, [[maybe_unused]] const T& part) {
  if constexpr (may_hold_its_kind<T>()) {
    place_finder finder(&part);
    return finder.finds_in(whole);
  } else {
    return false;
  }
}

}  // namespace situ::region_detail
