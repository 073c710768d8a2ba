// region_optional<T>: a value within a region that may be absent, in place.
#pragma once

#include <compare>
#include <cstdint>
#include <optional>
#include <string>
#include <type_traits>

#include "situ/region/detail/argument.hpp"
#include "situ/region/detail/swap.hpp"

namespace situ {

/// A value, or none, with the interface of std::optional. The value lies in the optional itself.
template <class T>
class region_optional {
  template <class U>
  struct is_standard : std::false_type {};
  template <class U>
  struct is_standard<std::optional<U>> : std::true_type {};
  /// Neither an optional nor std::nullopt.
  template <class U>
  static constexpr bool is_value =
      !std::is_same_v<U, region_optional> && !std::is_same_v<U, std::nullopt_t> && !is_standard<U>::value;

 public:
  using value_type = T;
  using situ_region_container = region_optional;

  region_optional() noexcept = default;
  region_optional(const region_optional&) = delete;
  region_optional& operator=(const region_optional& other) {
    if (situ_store(other)) return *this;
    return *region_detail::in_larger(region(), [&] { return this->situ_store(other) ? this : nullptr; });
  }
  region_optional& operator=(std::nullopt_t) noexcept {
    reset();
    return *this;
  }
  template <class U>
  requires(!std::is_same_v<U, region_optional>) region_optional& operator=(const U& value) {
    if (situ_store(value)) return *this;
    return *region_detail::in_larger(region(), [&] { return this->situ_store(value) ? this : nullptr; });
  }

  /// The same without exceptions. Returns false and changes nothing if there is no room.
  template <class U>
  [[nodiscard]] bool try_assign(const U& value) {
    return situ_store(value);
  }

  [[nodiscard]] bool has_value() const noexcept { return present_ != 0; }
  explicit operator bool() const noexcept { return has_value(); }
  [[nodiscard]] T& operator*() noexcept { return *value_at(); }
  [[nodiscard]] const T& operator*() const noexcept {
    return *const_cast<region_optional*>(this)->value_at();
  }
  [[nodiscard]] T* operator->() noexcept { return value_at(); }
  [[nodiscard]] const T* operator->() const noexcept { return &**this; }
  [[nodiscard]] T& value() {
    if (!has_value()) detail::raise(std::bad_optional_access());
    return **this;
  }
  [[nodiscard]] const T& value() const { return const_cast<region_optional*>(this)->value(); }
  /// Returns the value, or null.
  [[nodiscard]] T* try_value() noexcept { return has_value() ? value_at() : nullptr; }
  [[nodiscard]] const T* try_value() const noexcept {
    return const_cast<region_optional*>(this)->try_value();
  }
  /// Returns a copy of the value, or of `otherwise` if there is none. For a string, returns a view of its
  /// text in place.
  [[nodiscard]] region_detail::argument_of<T> value_or(region_detail::argument_of<T> otherwise) const {
    if (has_value()) return **this;
    return otherwise;
  }

  /// Constructs a new value in place of the old one. Returns null and changes nothing if there is no room.
  template <class... Args>
  [[nodiscard]] T* try_emplace(const Args&... args) {
    region_detail::staged_value<T> fresh(region());
    if (!fresh.make([&args...](T& made) { return region_detail::store_all(made, args...); })) return nullptr;
    reset();
    fresh.move_to(value_at());
    present_ = 1;
    return value_at();
  }
  template <class... Args>
  T& emplace(const Args&... args) {
    T* made = try_emplace(args...);
    if (made == nullptr)
      made = region_detail::in_larger(region(), [&] { return this->try_emplace(args...); });
    return *made;
  }
  void reset() noexcept {
    if (present_ == 0) return;
    region_detail::release(**this);
    std::memset(value_, 0, sizeof(T));
    present_ = 0;
  }
  /// Exchanges two optionals of one region, as `situ::swap` does.
  void swap(region_optional& other) { situ::swap(*this, other); }

  friend bool operator==(const region_optional& a, const region_optional& b) {
    return a.has_value() == b.has_value() && (!a.has_value() || region_detail::equal(*a, *b));
  }
  template <class U>
  requires is_value<U>
  friend bool operator==(const region_optional& a, const U& b) { return a.has_value() && *a == b; }
  friend bool operator==(const region_optional& a, std::nullopt_t) noexcept { return !a.has_value(); }
  /// As for std::optional: an absent value comes before all values.
  template <std::same_as<T> U>
  requires std::three_way_comparable<U>
  friend std::compare_three_way_result_t<U> operator<=>(const region_optional& a,
                                                        const region_optional<U>& b) {
    if (a.has_value() && b.has_value()) return *a <=> *b;
    return a.has_value() <=> b.has_value();
  }
  template <class U>
  requires(is_value<U>&& requires(const T& a, const U& b) { a <=> b; }) friend auto operator<=>(
      const region_optional& a, const U& b) -> decltype(*a <=> b) {
    if (a.has_value()) return *a <=> b;
    return std::strong_ordering::less;
  }
  friend std::strong_ordering operator<=>(const region_optional& a, std::nullopt_t) noexcept {
    return a.has_value() <=> false;
  }

  // The interface for walks over a region.
  static consteval bool has_links() { return true; }
  void situ_attach(region_detail::header* h) noexcept { region_ = region_detail::link_from(this, h); }
  void situ_moved(std::int32_t distance) noexcept {
    region_ += distance;
    if (present_ != 0) region_detail::moved(**this, distance);
  }
  template <class Walk>
  void situ_compact(Walk& walk) noexcept {
    walk.back_link(this, region_);
    if (present_ != 0) walk.value(**this);
  }
  void situ_release() noexcept { reset(); }
  [[nodiscard]] region_detail::header* situ_region() noexcept { return region(); }
  template <class U>
  [[nodiscard]] bool situ_store(const U& from) {
    if constexpr (std::is_same_v<U, std::nullopt_t>) {
      reset();
      return true;
    } else if constexpr (std::is_same_v<U, region_optional> || is_standard<U>::value) {
      if constexpr (std::is_same_v<U, region_optional>) {
        if (&from == this) return true;
      }
      if (from.has_value()) return store_value(*from);
      reset();
      return true;
    } else {
      return store_value(from);
    }
  }
  template <class Writer>
  void situ_write(Writer& writer, std::uint32_t at) const {
    writer.put_zeros(at, sizeof(region_optional));
    writer.put_back_link(at, at + 4);
    if (present_ == 0) return;
    writer.put_byte(at, 1);
    writer.put(at + offset, **this);
  }
  template <class Check>
  [[nodiscard, gnu::always_inline]] bool situ_check(Check& check, std::uint32_t at) const {
    if (present_ > 1) return check.fail(region_problem::not_a_bool, at, present_);
    if (!check.back_link(at, region_) || !check.zero(at + 1, at + 4) || !check.zero(at + 8, at + offset))
      return false;
    if (present_ == 0) return check.zero(at + offset, at + std::uint32_t{sizeof(region_optional)});
    return check.value(*reinterpret_cast<const T*>(value_), at + offset) &&
           check.zero(at + offset + std::uint32_t{sizeof(T)}, at + std::uint32_t{sizeof(region_optional)});
  }

  static std::string situ_kind() { return "optional"; }
  template <class Lines>
  static void situ_lines(Lines& lines, const std::string& path) {
    lines.template add_value<T>(path + "?", offset);
  }
  template <class Visit>
  static constexpr void situ_needs(Visit& visit) {
    visit.template need<T>();
  }

 private:
  /// The offset of the value.
  static constexpr std::uint32_t offset = alignof(T) > 8 ? alignof(T) : 8;

  [[nodiscard]] region_detail::header* region() noexcept { return region_detail::header_at(this, region_); }
  [[nodiscard]] T* value_at() noexcept { return std::launder(reinterpret_cast<T*>(value_)); }
  template <class U>
  [[nodiscard]] bool store_value(const U& from) {
    if (present_ != 0) return region_detail::store_whole(region(), **this, from);
    return try_emplace(from) != nullptr;
  }

  std::uint8_t present_ = 0;
  std::uint8_t zero_[3] = {};
  std::int32_t region_ = 0;
  alignas(T) std::byte value_[sizeof(T)] = {};
};

// Comparisons with the optionals of the standard library.
template <class T, class U>
bool operator==(const region_optional<T>& a, const std::optional<U>& b) {
  return a.has_value() == b.has_value() && (!a.has_value() || *a == *b);
}
/// As for std::optional: an absent value comes before all values.
template <class T, class U>
auto operator<=>(const region_optional<T>& a, const std::optional<U>& b) -> decltype(*a <=> *b) {
  if (a.has_value() && b.has_value()) return *a <=> *b;
  return a.has_value() <=> b.has_value();
}

// Each operator is written out, because std::optional otherwise treats a region_optional as a value.
template <class T, class U>
bool operator==(const std::optional<U>& a, const region_optional<T>& b) {
  return b == a;
}
template <class T, class U>
bool operator<(const region_optional<T>& a, const std::optional<U>& b) {
  return (a <=> b) < 0;
}
template <class T, class U>
bool operator>(const region_optional<T>& a, const std::optional<U>& b) {
  return (a <=> b) > 0;
}
template <class T, class U>
bool operator<=(const region_optional<T>& a, const std::optional<U>& b) {
  return (a <=> b) <= 0;
}
template <class T, class U>
bool operator>=(const region_optional<T>& a, const std::optional<U>& b) {
  return (a <=> b) >= 0;
}
template <class T, class U>
bool operator<(const std::optional<U>& a, const region_optional<T>& b) {
  return b > a;
}
template <class T, class U>
bool operator>(const std::optional<U>& a, const region_optional<T>& b) {
  return b < a;
}
template <class T, class U>
bool operator<=(const std::optional<U>& a, const region_optional<T>& b) {
  return b >= a;
}
template <class T, class U>
bool operator>=(const std::optional<U>& a, const region_optional<T>& b) {
  return b <= a;
}

}  // namespace situ
