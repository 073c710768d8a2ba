// storage<N, T, Alloc>: raw memory for up to N elements of T. The allocator alone decides whether it lies in
// place.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <new>
#include <type_traits>
#include <utility>

#include "situ/layout/allocator.hpp"

namespace situ {
namespace detail {

/// Access to private parts of containers, defined in message.hpp.
struct access;

/// A generated enum. Its default may differ from zero.
template <class T>
concept has_default_enumerator = std::is_enum_v<T> && requires(T value) {
  situ_default(value);
};

/// Converts a number to another type, as the caller requested. Returns other values unchanged.
template <class T, class U>
constexpr decltype(auto) as(U&& value) {
  if constexpr (std::is_arithmetic_v<T> && std::is_arithmetic_v<std::remove_cvref_t<U>>) {
    return static_cast<T>(value);
  } else {
    return std::forward<U>(value);
  }
}

/// Creates a T from `args`: an aggregate with braces, a generated enum without arguments as its default
/// enumerator.
template <class T, class... Args>
T make(Args&&... args) {
  if constexpr (has_default_enumerator<T> && sizeof...(Args) == 0) {
    return situ_default(T());
  } else if constexpr (std::is_constructible_v<T, Args...> &&
                       !(sizeof...(Args) == 0 && std::is_aggregate_v<T>)) {
    return T(as<T>(std::forward<Args>(args))...);
  } else {
    return T{std::forward<Args>(args)...};
  }
}

/// Constructs such a T at `place`.
template <class T, class... Args>
T* construct(void* place, Args&&... args) {
  if constexpr (has_default_enumerator<T> && sizeof...(Args) == 0) {
    return ::new (place) T(situ_default(T()));
  } else if constexpr (std::is_constructible_v<T, Args...> &&
                       !(sizeof...(Args) == 0 && std::is_aggregate_v<T>)) {
    return ::new (place) T(as<T>(std::forward<Args>(args))...);
  } else {
    return ::new (place) T{std::forward<Args>(args)...};
  }
}

template <class T>
void destroy(T* first, std::size_t count) noexcept {
  if constexpr (!std::is_trivially_destructible_v<T>) {
    for (std::size_t i = 0; i < count; ++i) first[i].~T();
  }
}

/// Moves `count` elements into raw memory and destroys the originals. The two ranges do not overlap.
template <class T>
void relocate(T* from, std::size_t count, T* to) noexcept {
  if constexpr (std::is_trivially_copyable_v<T>) {
    if (count != 0) std::memcpy(static_cast<void*>(to), static_cast<const void*>(from), count * sizeof(T));
  } else {
    for (std::size_t i = 0; i < count; ++i) {
      ::new (static_cast<void*>(to + i)) T(std::move(from[i]));
      from[i].~T();
    }
  }
}

/// The unsigned type of a container's length: 32 bits wherever a bound is known.
template <std::size_t N>
using length_t = std::conditional_t<(N <= 0xFFFF'FFFFU), std::uint32_t, std::size_t>;

/// The number of elements, limited to the bound. Memory in place may be shared with a process that breaks the
/// rules: no length that it writes leads out of the container.
template <std::size_t N, class Alloc>
constexpr std::size_t stored_count(length_t<N> stored) noexcept {
  if constexpr (is_inline_allocator_v<Alloc>) {
    return stored < N ? stored : N;
  } else {
    return stored;
  }
}

}  // namespace detail

/// Memory for up to N elements on the allocator's heap, which grows on demand. The container that owns the
/// storage counts the live elements, and passes their number where it is needed (`used`). Moving a storage
/// moves the elements and leaves none.
template <std::size_t N, class T, class Alloc>
class storage {
  using traits = typename std::allocator_traits<Alloc>::template rebind_traits<T>;

 public:
  using allocator_type = typename traits::allocator_type;
  using size_type = std::size_t;
  static constexpr bool is_inline = false;

  storage() noexcept(noexcept(allocator_type())) {}
  explicit storage(const allocator_type& allocator) noexcept : allocator_(allocator) {}
  storage(storage&& other, size_type /*used*/) noexcept
      : data_(std::exchange(other.data_, nullptr)),
        capacity_(std::exchange(other.capacity_, 0)),
        allocator_(std::move(other.allocator_)) {}
  storage(const storage&) = delete;
  storage& operator=(const storage&) = delete;
  ~storage() { release(); }

  /// Takes over the elements of `other`, and destroys the `mine` live elements of this storage. Returns false
  /// if the two allocators cannot exchange memory; then nothing changes.
  [[nodiscard]] bool take(storage&& other, size_type mine, size_type /*theirs*/) noexcept {
    if constexpr (!traits::propagate_on_container_move_assignment::value && !traits::is_always_equal::value) {
      if (!(allocator_ == other.allocator_)) return false;
    }
    detail::destroy(data_, mine);
    release();
    data_ = std::exchange(other.data_, nullptr);
    capacity_ = std::exchange(other.capacity_, 0);
    if constexpr (traits::propagate_on_container_move_assignment::value)
      allocator_ = std::move(other.allocator_);
    return true;
  }

  /// Adopts the memory that a copy assignment from `other` uses from now on.
  void adopt_allocator(const storage& other, size_type& used) {
    if constexpr (traits::propagate_on_container_copy_assignment::value) {
      if constexpr (!traits::is_always_equal::value) {
        if (!(allocator_ == other.allocator_)) {
          detail::destroy(data_, std::exchange(used, 0));
          release();
        }
      }
      allocator_ = other.allocator_;
    }
  }

  [[nodiscard]] allocator_type allocator() const noexcept { return allocator_; }
  [[nodiscard]] allocator_type allocator_for_copy() const {
    return traits::select_on_container_copy_construction(allocator_);
  }

  [[nodiscard]] T* data() noexcept { return data_; }
  [[nodiscard]] const T* data() const noexcept { return data_; }
  [[nodiscard]] size_type capacity() const noexcept { return capacity_; }
  [[nodiscard]] static constexpr size_type max_size() noexcept {
    return std::min<size_type>(N, static_cast<size_type>(-1) / 2 / sizeof(T));
  }

  T& operator[](size_type index) noexcept { return data_[index]; }
  const T& operator[](size_type index) const noexcept { return data_[index]; }

  template <class... Args>
  T& construct_at(size_type index, Args&&... args) {
    return *detail::construct<T>(data_ + index, std::forward<Args>(args)...);
  }
  void destroy_at(size_type index) noexcept { detail::destroy(data_ + index, 1); }

  /// Makes room for at least `wanted` elements (at most N). At least doubles the room, so that appending
  /// stays cheap.
  void reserve(size_type wanted, size_type used) {
    if (wanted <= capacity_) return;
    reallocate(std::min(max_size(), std::max(wanted, static_cast<size_type>(capacity_) * 2)), used);
  }
  /// Makes room for exactly `wanted` elements, for a known final number.
  void reserve_exactly(size_type wanted, size_type used) {
    if (wanted > capacity_) reallocate(wanted, used);
  }
  void shrink(size_type used) {
    if (used == capacity_) return;
    if (used == 0) {
      release();
    } else {
      reallocate(used, used);
    }
  }

 private:
  void reallocate(size_type capacity, size_type used) {
    T* fresh = traits::allocate(allocator_, capacity);
    detail::relocate(data_, used, fresh);
    release();
    data_ = fresh;
    capacity_ = static_cast<detail::length_t<N>>(capacity);
  }
  void release() noexcept {
    if (data_ != nullptr) traits::deallocate(allocator_, data_, capacity_);
    data_ = nullptr;
    capacity_ = 0;
  }

  T* data_ = nullptr;
  detail::length_t<N> capacity_ = 0;
  [[no_unique_address]] allocator_type allocator_{};
};

/// Memory for N elements in place: `T[N]`. None of it is touched until an element is constructed there.
template <std::size_t N, class T, class U>
class storage<N, T, inline_allocator<U>> {
  static_assert(N != 0 && N <= 0xFFFF'FFFFU, "in place, a bound lies between 1 and 2^32 - 1");
  static_assert(sizeof(T) <= static_cast<std::size_t>(-1) / 2 / N,
                "this many elements exceed the address space");

 public:
  using allocator_type = inline_allocator<T>;
  using size_type = std::size_t;
  static constexpr bool is_inline = true;

  storage() noexcept {
  }  // NOLINT(modernize-use-equals-default): a defaulted one would let `storage()` zero the bytes
  explicit storage(const allocator_type& /*allocator*/) noexcept {}
  storage(storage&& other, size_type used) noexcept { detail::relocate(other.data(), used, data()); }
  storage(const storage&) = delete;
  storage& operator=(const storage&) = delete;

  /// Takes over the elements of `other`, and destroys the `mine` live elements of this storage. Always
  /// succeeds.
  [[nodiscard]] bool take(storage&& other, size_type mine, size_type theirs) noexcept {
    detail::destroy(data(), mine);
    detail::relocate(other.data(), theirs, data());
    return true;
  }
  void adopt_allocator(const storage& /*other*/, size_type& /*used*/) noexcept {}

  [[nodiscard]] allocator_type allocator() const noexcept { return {}; }
  [[nodiscard]] allocator_type allocator_for_copy() const noexcept { return {}; }

  [[nodiscard]] T* data() noexcept { return reinterpret_cast<T*>(bytes_); }
  [[nodiscard]] const T* data() const noexcept { return reinterpret_cast<const T*>(bytes_); }
  [[nodiscard]] static constexpr size_type capacity() noexcept { return N; }
  [[nodiscard]] static constexpr size_type max_size() noexcept { return N; }

  T& operator[](size_type index) noexcept { return data()[index]; }
  const T& operator[](size_type index) const noexcept { return data()[index]; }

  template <class... Args>
  T& construct_at(size_type index, Args&&... args) {
    return *detail::construct<T>(data() + index, std::forward<Args>(args)...);
  }
  void destroy_at(size_type index) noexcept { detail::destroy(data() + index, 1); }

  void reserve(size_type /*wanted*/, size_type /*used*/) noexcept {}
  void reserve_exactly(size_type /*wanted*/, size_type /*used*/) noexcept {}
  void shrink(size_type /*used*/) noexcept {}

 private:
  alignas(T) std::byte bytes_[sizeof(T) * N];
};

}  // namespace situ
