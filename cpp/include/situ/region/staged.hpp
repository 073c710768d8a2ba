// A value that is made beside the place that it is to take, so that a failure changes nothing.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>

#include "situ/region/reflect.hpp"

namespace situ::region_detail {

/// A value on its way into a container: made first, because its arguments may be part of what is about to
/// move or end. Values with links are made in a block of the region, others in the staging object itself.
template <class T>
class staged_value {
 public:
  explicit staged_value(header* h) noexcept : header_(h) {}
  staged_value(const staged_value&) = delete;
  staged_value& operator=(const staged_value&) = delete;
  ~staged_value() {
    if (value_ == nullptr) return;
    release(*value_);
    end();
  }

  /// Makes the value; `make` gets it and says whether there was room. False when there was not.
  template <class Make>
  [[nodiscard]] bool make(const Make& make) {
    void* at = here_;
    if constexpr (has_links<T>) {
      at = allocate(header_, sizeof(T));
      if (at == nullptr) return false;
    }
    value_ = begin<T>(header_, at);
    return make(*value_);
  }
  [[nodiscard]] T& operator*() noexcept { return *value_; }
  /// Puts the value where it belongs.
  void move_to(T* place) noexcept {
    relocate(place, value_, 1);
    end();
    value_ = nullptr;
  }
  /// Puts the value where it belongs, and takes the one that is there in exchange.
  void exchange(T* place) noexcept {
    alignas(T) std::byte kept[sizeof(T)];
    std::memcpy(kept, static_cast<const void*>(place), sizeof(T));
    relocate(place, value_, 1);
    std::memcpy(static_cast<void*>(value_), kept, sizeof(T));
    moved(*value_, static_cast<std::int32_t>(bytes_of(place) - bytes_of(value_)));
  }

 private:
  void end() noexcept {
    if constexpr (has_links<T>) deallocate(header_, value_, sizeof(T));
  }

  header* header_;
  T* value_ = nullptr;
  alignas(T) std::byte here_[has_links<T> ? 1 : sizeof(T)] = {};
};

}  // namespace situ::region_detail
