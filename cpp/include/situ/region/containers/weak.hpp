// region_weak<T>: a link to a shared value that does not own it: to a parent, or across a cycle.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <type_traits>

#include "situ/region/containers/shared.hpp"

namespace situ {

/// A link to the value of `region_shared` links, or to none, with the interface of std::weak_ptr. It does not
/// keep the value, so it may lead to a value that contains it. When the last shared link is gone, it leads to
/// none. A link to a value of another region leads to none, too, unless the value is copied with it.
///
///   struct Node {
///     situ::region_vector<situ::region_shared<Node>> children;
///     situ::region_weak<Node> parent;
///   };
template <class T>
class region_weak {
 public:
  using element_type = T;
  using situ_region_container = region_weak;
  using situ_shares = void;

  region_weak() noexcept = default;
  region_weak(const region_weak&) = delete;
  region_weak& operator=(const region_weak& other) noexcept {
    lead_to_value_of(other);
    return *this;
  }
  region_weak& operator=(const region_shared<T>& other) noexcept {
    lead_to_value_of(other);
    return *this;
  }
  region_weak& operator=(std::nullptr_t) noexcept {
    reset();
    return *this;
  }
  /// Makes the link lead to the value of another link. It needs no memory, so it always succeeds.
  bool try_assign(const region_weak& other) noexcept {
    lead_to_value_of(other);
    return true;
  }
  bool try_assign(const region_shared<T>& other) noexcept {
    lead_to_value_of(other);
    return true;
  }

  /// The value, or null if there is none, or none any more. It exists as long as shared links lead to it; to
  /// keep it, use `region_shared::share` with this link.
  [[nodiscard]] T* lock() noexcept {
    return use_count() == 0 ? nullptr
                            : reinterpret_cast<T*>(block() + region_detail::shared_block<T>::offset);
  }
  [[nodiscard]] const T* lock() const noexcept { return const_cast<region_weak*>(this)->lock(); }
  /// Whether there is no value, or none any more.
  [[nodiscard]] bool expired() const noexcept { return use_count() == 0; }
  /// The number of shared links to the value.
  [[nodiscard]] std::uint32_t use_count() const noexcept {
    return data_ == 0 ? 0 : counts(const_cast<region_weak*>(this)->block())->links;
  }
  void reset() noexcept {
    if (data_ == 0) return;
    std::byte* const led_to = block();
    data_ = 0;
    region_detail::shared_counts* const count = counts(led_to);
    if (--count->weak == 0 && count->links == 0) {
      region_detail::deallocate(region(), led_to, region_detail::granule);
    }
  }
  /// Exchanges two links of one region, as `situ::swap` does.
  void swap(region_weak& other) { situ::swap(*this, other); }

  /// Whether two links lead to the same value, or both to none.
  friend bool operator==(const region_weak& a, const region_weak& b) noexcept { return a.lock() == b.lock(); }
  friend bool operator==(const region_weak& a, const region_shared<T>& b) noexcept {
    return a.lock() == b.get();
  }

  // The interface for walks over a region.
  static consteval bool has_links() { return true; }
  void situ_attach(region_detail::header* h) noexcept { region_ = region_detail::link_from(this, h); }
  void situ_moved(std::int32_t distance) noexcept {
    if (data_ != 0) data_ += distance;
    region_ += distance;
  }
  /// The first walk makes links to expired blocks lead to none.
  template <class Walk>
  void situ_compact(Walk& walk) noexcept {
    if (walk.trims()) {
      if (expired()) reset();
    } else {
      walk.back_link(this, region_);
      if (data_ != 0) static_cast<void>(walk.link(data_));
    }
  }
  void situ_release() noexcept { reset(); }
  [[nodiscard]] region_detail::header* situ_region() noexcept { return region(); }
  /// The block of a value that exists; null if there is none.
  [[nodiscard]] void* situ_block() const noexcept {
    return expired() ? nullptr : const_cast<region_weak*>(this)->block();
  }
  /// Makes a new link lead to the block of a value of its region.
  void situ_link(void* to) noexcept {
    data_ = region_detail::link_from(this, to);
    ++counts(to)->weak;
  }
  template <class U>
  [[nodiscard]] bool situ_store(const U& from) noexcept {
    lead_to_value_of(from);
    return true;
  }
  template <class Writer>
  void situ_write(Writer& writer, std::uint32_t at) const {
    writer.put_u32(at, 0);
    writer.put_back_link(at, at + 4);
    if (!expired()) writer.put_weak(at, situ_block());
  }
  template <class Check>
  [[nodiscard]] bool situ_check(Check& check, std::uint32_t at) const {
    if (!check.back_link(at, region_)) return false;
    if (data_ != 0) check.template weak<T>(at, at + static_cast<std::uint32_t>(data_));
    return true;
  }
  static std::string situ_kind() { return "weak"; }
  template <class Lines>
  static void situ_lines(Lines& lines, const std::string& path) {
    lines.template add_linked<T>(path + "&", region_detail::shared_block<T>::offset);
  }
  /// Searches for what a value can contain do not follow the link.
  template <class Visit>
  static constexpr void situ_needs(Visit& visit) {
    if constexpr (!requires { typename Visit::situ_owned_only; }) visit.template need<T>();
  }

 private:
  [[nodiscard]] static region_detail::shared_counts* counts(void* block) noexcept {
    return static_cast<region_detail::shared_counts*>(block);
  }
  [[nodiscard]] region_detail::header* region() noexcept { return region_detail::header_at(this, region_); }
  [[nodiscard]] std::byte* block() noexcept { return region_detail::bytes_of(this) + data_; }
  template <class Link>
  void lead_to_value_of(const Link& other) noexcept {
    auto& source = const_cast<Link&>(other);
    void* to = nullptr;
    // 2 GiB have no room for links that the count could not count.
    if (region() != nullptr && source.situ_region() == region() && other.use_count() != 0)
      to = source.situ_block();
    // First: the old block of this link may be that of the new one.
    if (to != nullptr) ++counts(to)->weak;
    reset();
    if (to != nullptr) data_ = region_detail::link_from(this, to);
  }

  std::int32_t data_ = 0;
  std::int32_t region_ = 0;
};
static_assert(sizeof(region_weak<int>) == 8);

template <class T>
bool region_shared<T>::try_share(const region_weak<T>& other) {
  auto& source = const_cast<region_weak<T>&>(other);
  if (source.lock() == get()) return true;
  auto* const to = static_cast<std::byte*>(other.situ_block());
  if (to == nullptr) {
    reset();
    return true;
  }
  if (region() != nullptr && source.situ_region() == region()) return share_block(to);
  return try_emplace(*source.lock()) != nullptr;
}

}  // namespace situ
