// Values that are made outside their final place, so that a failure changes no other value.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>
#include <utility>

#include "situ/region/detail/permute.hpp"
#include "situ/region/image/copy.hpp"

namespace situ::region_detail {

/// A value that will be moved into a container. It is made first, because its arguments may be part of values
/// that are moved or released next. Values with links are made in a block of the region, others in the
/// staging object itself.
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

  /// Makes the value. `make` fills it and returns whether there was room. This function returns the same.
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
  /// Moves the value to its final place.
  void move_to(T* place) noexcept {
    relocate(place, value_, 1);
    end();
    value_ = nullptr;
  }
  /// Exchanges the value with the one at its final place.
  void exchange(T* place) noexcept { region_detail::exchange(*place, *value_); }

 private:
  void end() noexcept {
    if constexpr (has_links<T>) deallocate(header_, value_, sizeof(T));
  }

  header* header_;
  T* value_ = nullptr;
  alignas(T) std::byte here_[has_links<T> ? 1 : sizeof(T)] = {};
};

/// A value under construction in its final place. Unless it is kept, the blocks that it holds are freed, and
/// its own block is freed or its bytes become zero. This also happens if its source throws.
template <class T>
class unfinished {
 public:
  unfinished(header* h, void* at) noexcept : value_(begin<T>(h, at)) {}
  unfinished(header* h, void* at, void* block, std::uint64_t bytes) noexcept
      : header_(h), value_(begin<T>(h, at)), block_(block), bytes_(bytes) {}
  unfinished(const unfinished&) = delete;
  unfinished& operator=(const unfinished&) = delete;
  ~unfinished() {
    if (value_ == nullptr) return;
    release(*value_);
    if (block_ == nullptr) {
      std::memset(static_cast<void*>(value_), 0, sizeof(T));
    } else {
      deallocate(header_, block_, bytes_);
    }
  }

  [[nodiscard]] T& operator*() noexcept { return *value_; }
  T* keep() noexcept { return std::exchange(value_, nullptr); }

 private:
  header* header_ = nullptr;
  T* value_;
  void* block_ = nullptr;
  std::uint64_t bytes_ = 0;
};

/// Makes a value with `make(value)` and replaces the value at `to`, in the region of `h`, by it. Returns
/// false and changes nothing if there is no room.
template <class T, class Make>
[[nodiscard]] bool replace_whole(header* h, T& to, const Make& make) {
  staged_value<T> fresh(h);
  if (!fresh.make(make)) return false;
  release(to);
  fresh.move_to(&to);
  return true;
}

/// Stores as `store` does, but all or nothing. Containers do this by themselves. Structs and arrays, which
/// are stored member by member, are made outside their place. The source may be part of the old value.
template <class T, class U>
[[nodiscard]] bool store_whole(header* h, T& to, const U& from) {
  if constexpr (container<T> || !has_links<T>) {
    return store(to, from);
  } else {
    return replace_whole(h, to, [&from](T& made) { return store(made, from); });
  }
}

/// The header of the region of a value's containers, or null.
template <class T>
[[nodiscard]] header* header_of(T& value) noexcept {
  header* found = nullptr;
  if constexpr (container<T>) {
    found = value.situ_region();
  } else if constexpr (array<T>) {
    found = header_of(value[0]);
  } else if constexpr (described<T>) {
    for_each_member<T>([&value, &found](const auto& m) {
      found = header_of(m.of(value));
      return found == nullptr;
    });
  }
  return found;
}

}  // namespace situ::region_detail

namespace situ {

/// Assigns without exceptions: `try_assign(*region, *other)`, `try_assign(r->equips[1], r->equips[0])`.
/// Returns false and changes nothing if there is no room. Structs and arrays are assigned as a whole, so both
/// the old and the new value need room; `to = from` assigns member by member. `from` is any value that can be
/// stored in `to`, in any region, or part of `to`. (A copy of a struct does not share its links to values if
/// their type can contain links to its own kind: see `region_shared`.)
template <region_detail::storable T, class U>
requires(!region_detail::described<T> || std::is_same_v<T, U>)
    [[nodiscard]] bool try_assign(T& to, const U& from) {
  if constexpr (region_detail::container<T>) {
    return to.try_assign(from);
  } else {
    return region_detail::store_whole(region_detail::header_of(to), to, from);
  }
}
/// The same. Throws `region_error` if there is no room.
template <region_detail::storable T, class U>
requires(!region_detail::described<T> || std::is_same_v<T, U>) void assign(T& to, const U& from) {
  if (try_assign(to, from)) return;
  region_detail::in_larger(region_detail::header_of(to), [&to, &from] { return try_assign(to, from); });
}

}  // namespace situ
