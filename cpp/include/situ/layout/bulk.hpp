// bulk_ref<T>: the place of a bulk field's elements in the body of a message.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <stdexcept>
#include <type_traits>

#include "situ/layout/allocator.hpp"
#include "situ/support/error.hpp"

namespace situ {

/// Each bulk field begins at a multiple of this number of bytes in the body.
inline constexpr std::size_t bulk_alignment = 64;

/// The elements of a bulk field do not lie within the given body.
class bulk_error : public std::out_of_range {
 public:
  explicit bulk_error(const char* what) : std::out_of_range(what) {}
};

template <class... Ts>
struct type_list;

namespace detail {

/// Whether a plain type contains booleans. Only booleans have invalid bytes among plain values.
template <class T>
struct has_bool : std::is_same<T, bool> {};
template <class T, std::size_t N>
struct has_bool<std::array<T, N>> : has_bool<T> {};
template <class... Ts>
struct has_bool<type_list<Ts...>> : std::disjunction<has_bool<Ts>...> {};
template <class T>
requires requires { typename T::situ_types; }
struct has_bool<T> : has_bool<typename T::situ_types> {};

/// Whether the bytes are a valid plain value.
template <class T>
bool is_plain_value(const T& value) noexcept {
  if constexpr (!has_bool<T>::value) {
    return true;
  } else if constexpr (std::is_same_v<T, bool>) {
    return *reinterpret_cast<const unsigned char*>(&value) <= 1;
  } else if constexpr (requires { typename T::situ_types; }) {
    return T::situ_members([](const auto& /*info*/, const auto& member) { return is_plain_value(member); },
                           value);
  } else {
    return std::all_of(value.begin(), value.end(),
                       [](const auto& element) { return is_plain_value(element); });
  }
}

}  // namespace detail

/// The part of a bulk field in the head: a byte offset from the start of the body, and a count of elements.
/// `span` applies it to a body and checks that the elements lie inside.
template <class T, std::size_t N = unbounded>
class bulk_ref {
  static_assert(
      std::is_trivially_copyable_v<T>,
      "a bulk field holds plain elements: numbers, booleans, characters, enums, bitmasks, and arrays and "
      "structs of them");

 public:
  using value_type = T;
  /// The largest number of elements.
  static constexpr std::size_t bound = N;

  bulk_ref() noexcept {}  // NOLINT(modernize-use-equals-default): see storage
  constexpr bulk_ref(std::uint64_t offset, std::uint64_t count) noexcept : offset_(offset), size_(count) {}

  /// The byte offset from the start of the body.
  [[nodiscard]] constexpr std::uint64_t offset() const noexcept { return offset_; }
  /// The number of elements.
  [[nodiscard]] constexpr std::uint64_t size() const noexcept { return size_; }
  [[nodiscard]] constexpr bool empty() const noexcept { return size_ == 0; }

  /// Whether the elements lie, aligned, within a body of `body_size` bytes.
  [[nodiscard]] constexpr bool fits(std::uint64_t body_size) const noexcept {
    return offset_ % alignof(T) == 0 && size_ <= N && offset_ <= body_size &&
           size_ <= (body_size - offset_) / sizeof(T);
  }

  /// The elements. Throws `bulk_error` if they do not lie within the body, or if a boolean is invalid.
  [[nodiscard]] std::span<const T> span(std::span<const std::byte> body) const {
    const auto found = try_span(body);
    if (!found)
      detail::raise(
          bulk_error("a bulk field lies outside its message's body, or its bytes are not valid elements"));
    return *found;
  }
  /// The elements, to be changed. Invalid booleans, which fresh memory may hold, become false.
  [[nodiscard]] std::span<T> span(std::span<std::byte> body) const {
    const auto found = try_span(body);
    if (!found) detail::raise(bulk_error("a bulk field lies outside its message's body"));
    return *found;
  }
  /// The same. Returns nothing instead of throwing.
  [[nodiscard]] std::optional<std::span<const T>> try_span(std::span<const std::byte> body) const noexcept {
    if (!inside(body.data(), body.size())) return std::nullopt;
    if (size_ == 0) return std::span<const T>();
    const std::span<const T> elements(reinterpret_cast<const T*>(body.data() + offset_), count());
    if constexpr (detail::has_bool<T>::value) {
      for (const T& element : elements) {
        if (!detail::is_plain_value(element)) return std::nullopt;
      }
    }
    return elements;
  }
  [[nodiscard]] std::optional<std::span<T>> try_span(std::span<std::byte> body) const noexcept {
    if (!inside(body.data(), body.size())) return std::nullopt;
    if (size_ == 0) return std::span<T>();
    const std::span<T> elements(reinterpret_cast<T*>(body.data() + offset_), count());
    if constexpr (detail::has_bool<T>::value) {
      for (T& element : elements) {
        if (!detail::is_plain_value(element)) element = T{};
      }
    }
    return elements;
  }

  /// Compares the descriptors, not the elements.
  friend constexpr bool operator==(const bulk_ref&, const bulk_ref&) = default;

 private:
  std::size_t count() const noexcept { return static_cast<std::size_t>(size_); }
  bool inside(const std::byte* body, std::size_t body_size) const noexcept {
    return fits(body_size) &&
           (size_ == 0 || (reinterpret_cast<std::uintptr_t>(body) + offset_) % alignof(T) == 0);
  }

  std::uint64_t offset_ = 0;
  std::uint64_t size_ = 0;
};

/// Lays out the bulk fields of a message one after the other in its body.
class body_layout {
 public:
  /// Places `count` elements and, unless `where` is null, stores their place. Returns false if they exceed
  /// the bound of the field or the address space.
  template <class T, std::size_t N>
  constexpr bool place(std::size_t count, bulk_ref<T, N>* where) noexcept {
    constexpr auto max_bytes = static_cast<std::size_t>(std::numeric_limits<std::ptrdiff_t>::max());
    if (count > N) return false;
    if (end_ > max_bytes - (bulk_alignment - 1)) return false;
    const std::size_t begin = (end_ + bulk_alignment - 1) / bulk_alignment * bulk_alignment;
    if (count > (max_bytes - begin) / sizeof(T)) return false;
    end_ = begin + count * sizeof(T);
    if (where != nullptr) *where = bulk_ref<T, N>(begin, count);
    return true;
  }
  /// The number of bytes placed so far.
  [[nodiscard]] constexpr std::size_t size() const noexcept { return end_; }

 private:
  std::size_t end_ = 0;
};

}  // namespace situ
