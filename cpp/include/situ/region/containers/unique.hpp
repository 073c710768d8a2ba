// region_unique<T>: a link to a value of its own within a region. Trees are built from it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <type_traits>

#include "situ/region/detail/later.hpp"
#include "situ/region/detail/staged.hpp"
#include "situ/region/detail/swap.hpp"

namespace situ {

/// A link that owns one value elsewhere in the region, or none, with the interface of std::unique_ptr. T may
/// be incomplete where the link is declared.
template <class T>
class region_unique {
 public:
  using element_type = T;
  using situ_region_container = region_unique;

  region_unique() noexcept = default;
  region_unique(const region_unique&) = delete;
  /// Copies the value, if there is one.
  region_unique& operator=(const region_unique& other) {
    if (situ_store(other)) return *this;
    return *region_detail::in_larger(region(), [&] { return this->situ_store(other) ? this : nullptr; });
  }

  region_unique& operator=(std::nullptr_t) noexcept {
    reset();
    return *this;
  }

  /// The same without exceptions, or with a new value made from another one. Returns false and changes
  /// nothing if there is no room.
  template <class U>
  [[nodiscard]] bool try_assign(const U& from) {
    return situ_store(from);
  }

  [[nodiscard]] T* get() noexcept {
    return data_ == 0 ? nullptr : reinterpret_cast<T*>(region_detail::bytes_of(this) + data_);
  }
  [[nodiscard]] const T* get() const noexcept { return const_cast<region_unique*>(this)->get(); }
  explicit operator bool() const noexcept { return data_ != 0; }
  [[nodiscard]] T& operator*() noexcept { return *get(); }
  [[nodiscard]] const T& operator*() const noexcept { return *get(); }
  [[nodiscard]] T* operator->() noexcept { return get(); }
  [[nodiscard]] const T* operator->() const noexcept { return get(); }

  /// Makes a new value in place of the old one. Returns null and changes nothing if there is no room.
  template <class... Args>
  [[nodiscard]] T* try_emplace(const Args&... args) {
    void* block = region_detail::allocate_for(this, region(), sizeof(T));
    if (block == nullptr) return nullptr;
    region_detail::unfinished<T> made(region(), block, block, sizeof(T));
    if (!region_detail::store_all(*made, args...)) return nullptr;
    reset();
    data_ = region_detail::link_from(this, block);
    return made.keep();
  }
  template <class... Args>
  T& emplace(const Args&... args) {
    T* made = try_emplace(args...);
    if (made == nullptr)
      made = region_detail::in_larger(region(), [&] { return this->try_emplace(args...); });
    return *made;
  }
  void reset() noexcept {
    if (data_ == 0) return;
    T* const value = get();
    data_ = 0;
    region_detail::release_behind([h = region(), value] {
      region_detail::release(*value);
      region_detail::deallocate(h, value, sizeof(T));
    });
  }
  /// Exchanges two links of one region, as `situ::swap` does.
  void swap(region_unique& other) { situ::swap(*this, other); }

  /// Whether the values are equal, or both are absent.
  friend bool operator==(const region_unique& a, const region_unique& b) {
    return static_cast<bool>(a) == static_cast<bool>(b) && (!a || region_detail::equal(*a, *b));
  }
  friend bool operator==(const region_unique& a, std::nullptr_t) noexcept { return !a; }

  // The interface for walks over a region.
  static consteval bool has_links() { return true; }
  void situ_attach(region_detail::header* h) noexcept { region_ = region_detail::link_from(this, h); }
  void situ_moved(std::int32_t distance) noexcept {
    if (data_ != 0) data_ += distance;
    region_ += distance;
  }
  template <class Walk>
  void situ_compact(Walk& walk) noexcept {
    walk.back_link(this, region_);
    if (data_ == 0) return;
    walk.behind([&walk, value = reinterpret_cast<T*>(walk.link(data_))] { walk.value(*value); });
  }
  void situ_release() noexcept { reset(); }
  [[nodiscard]] region_detail::header* situ_region() noexcept { return region(); }
  template <class U>
  [[nodiscard]] bool situ_store(const U& from) {
    if constexpr (std::is_same_v<U, region_unique>) {
      if (&from == this) return true;
      if (from) return try_emplace(*from) != nullptr;
      reset();
      return true;
    } else {
      return try_emplace(from) != nullptr;
    }
  }
  template <class Writer>
  void situ_write(Writer& writer, std::uint32_t at) const {
    writer.put_u32(at, 0);
    writer.put_back_link(at, at + 4);
    if (data_ == 0) return;
    writer.behind([&writer, to = writer.place(at, sizeof(T)), value = get()] { writer.put(to, *value); });
  }
  template <class Check>
  [[nodiscard]] bool situ_check(Check& check, std::uint32_t at) const {
    if (!check.back_link(at, region_)) return false;
    if (data_ == 0) return true;
    std::uint32_t block = 0;
    std::uint32_t bytes = 0;
    return check.template size_of<T>(at, bytes) && check.claim(at, data_, bytes, bytes, block) &&
           check.deeper(
               [&check, block] { return check.value(*reinterpret_cast<const T*>(check.at(block)), block); });
  }

  static std::string situ_kind() { return "unique"; }
  template <class Lines>
  static void situ_lines(Lines& lines, const std::string& path) {
    lines.template add_linked<T>(path + "*", 0);
  }
  template <class Visit>
  static constexpr void situ_needs(Visit& visit) {
    visit.template need<T>();
  }

 private:
  [[nodiscard]] region_detail::header* region() noexcept { return region_detail::header_at(this, region_); }

  std::int32_t data_ = 0;
  std::int32_t region_ = 0;
};
static_assert(sizeof(region_unique<int>) == 8);

}  // namespace situ
