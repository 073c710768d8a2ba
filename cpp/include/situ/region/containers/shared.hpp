// region_shared<T>: a link to a value that other links may share.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <type_traits>
#include <unordered_map>
#include <utility>

#include "situ/region/detail/later.hpp"
#include "situ/region/detail/staged.hpp"
#include "situ/region/detail/swap.hpp"
#include "situ/region/image/check.hpp"
#include "situ/region/memory/reached.hpp"

namespace situ {

template <class T>
class region_weak;

namespace region_detail {

/// The numbers of links and of weak links to a shared value, at the beginning of its block.
struct shared_counts {
  std::uint32_t links;
  std::uint32_t weak;
};
/// The block of a shared value.
template <class T>
struct shared_block {
  static constexpr std::uint32_t offset =
      std::max<std::uint32_t>(sizeof(shared_counts), static_cast<std::uint32_t>(alignof(T)));
  static constexpr std::uint64_t bytes = std::uint64_t{offset} + sizeof(T);

  /// Frees the block, whose value is released. If weak links lead to it, its first granule stays.
  static void expire(header* h, std::byte* block) noexcept {
    auto* const counts = reinterpret_cast<shared_counts*>(block);
    counts->links = 0;
    if (counts->weak == 0) {
      deallocate(h, block, bytes);
    } else {
      std::memset(block + sizeof(*counts), 0, granule - sizeof(*counts));
      shorten(h, block, bytes, granule);
    }
  }
};

}  // namespace region_detail

/// A link to a value, or none, with the interface of std::shared_ptr. The value lives as long as a link leads
/// to it. Links of one region share values; a link of another region gets a copy. No value can contain a link
/// to itself: `share` and assignment refuse it. If values of type T can contain links to other values of type
/// T, only `share` and assignment make links share, and only links in place:
/// `children.emplace_back().share(other)`.
template <class T>
class region_shared {
 public:
  using element_type = T;
  using situ_region_container = region_shared;
  using situ_shares = void;

  region_shared() noexcept = default;
  region_shared(const region_shared&) = delete;
  region_shared& operator=(const region_shared& other) {
    share(other);
    return *this;
  }

  region_shared& operator=(std::nullptr_t) noexcept {
    reset();
    return *this;
  }

  /// For a link, as `try_share`. For any other argument, makes a new value from it.
  template <class U>
  [[nodiscard]] bool try_assign(const U& from) {
    if constexpr (std::is_same_v<U, region_shared>) {
      return try_share(from);
    } else {
      return try_emplace(from) != nullptr;
    }
  }

  [[nodiscard]] T* get() noexcept { return data_ == 0 ? nullptr : reinterpret_cast<T*>(block() + offset()); }
  [[nodiscard]] const T* get() const noexcept { return const_cast<region_shared*>(this)->get(); }
  explicit operator bool() const noexcept { return data_ != 0; }
  [[nodiscard]] T& operator*() noexcept { return *get(); }
  [[nodiscard]] const T& operator*() const noexcept { return *get(); }
  [[nodiscard]] T* operator->() noexcept { return get(); }
  [[nodiscard]] const T* operator->() const noexcept { return get(); }
  /// Returns the number of links to the value, or 0 without a value.
  [[nodiscard]] std::uint32_t use_count() const noexcept {
    return data_ == 0 ? 0 : *const_cast<region_shared*>(this)->links();
  }

  /// Makes a new value for this link, which leaves its old value. Returns null and changes nothing if there
  /// is no room.
  template <class... Args>
  [[nodiscard]] T* try_emplace(const Args&... args) {
    auto* const made_block =
        static_cast<std::byte*>(region_detail::allocate_for(this, region(), block_bytes()));
    if (made_block == nullptr) return nullptr;
    region_detail::unfinished<T> made(region(), made_block + offset(), made_block, block_bytes());
    if (!region_detail::store_all(*made, args...)) return nullptr;
    reset();
    lead_to(made_block);
    return made.keep();
  }
  template <class... Args>
  T& emplace(const Args&... args) {
    T* made = try_emplace(args...);
    if (made == nullptr)
      made = region_detail::in_larger(region(), [&] { return this->try_emplace(args...); });
    return *made;
  }
  /// Makes this link lead to the value of another link. Returns false and changes nothing if that value would
  /// then contain a link to itself, or if it lies in another region and there is no room for a copy.
  [[nodiscard]] bool try_share(const region_shared& other) {
    if (get() == other.get()) return true;
    if (other.data_ == 0) {
      reset();
      return true;
    }
    region_shared& source = const_cast<region_shared&>(other);
    if (region() == nullptr || source.region() != region()) return copy_of(other);
    return share_block(source.block());
  }
  /// The same for the value of a weak link. Without one, this link leads to none.
  [[nodiscard]] bool try_share(const region_weak<T>& other);
  void share(const region_shared& other) {
    if (try_share(other)) return;
    region_detail::in_larger(region(), [&] { return this->try_share(other); });
  }
  void share(const region_weak<T>& other) {
    if (try_share(other)) return;
    region_detail::in_larger(region(), [&] { return this->try_share(other); });
  }
  void reset() noexcept {
    if (data_ == 0) return;
    std::byte* const led_to = block();
    data_ = 0;
    auto* const count = reinterpret_cast<std::uint32_t*>(led_to);
    if (*count > 1) {
      --*count;
      return;
    }
    // The block counts one link until its value is released, so that weak links in the value do not free it.
    region_detail::release_behind([h = region(), led_to] {
      region_detail::release(*reinterpret_cast<T*>(led_to + offset()));
      region_detail::shared_block<T>::expire(h, led_to);
    });
  }
  /// Exchanges two links of one region, as `situ::swap` does.
  void swap(region_shared& other) { situ::swap(*this, other); }

  /// Whether two links lead to the same value, as for pointers.
  friend bool operator==(const region_shared& a, const region_shared& b) noexcept {
    return a.get() == b.get();
  }
  friend bool operator==(const region_shared& a, std::nullptr_t) noexcept { return !a; }

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
    std::byte* const to = walk.link(data_);
    if (!walk.meets(to)) return;
    walk.behind([&walk, value = reinterpret_cast<T*>(to + offset())] { walk.value(*value); });
  }
  void situ_release() noexcept { reset(); }
  [[nodiscard]] region_detail::header* situ_region() noexcept { return region(); }
  /// The block of the value, and a new link's way to the block of another one of this region, which is known
  /// to make no cycle.
  [[nodiscard]] void* situ_block() noexcept { return block(); }
  void situ_link(void* to) noexcept {
    lead_to(static_cast<std::byte*>(to), false);
    ++*links();
  }
  template <class U>
  [[nodiscard]] bool situ_store(const U& from) {
    if constexpr (std::is_same_v<U, region_shared>) {
      if (from && const_cast<region_shared&>(from).region() == region() && may_hold_itself()) return refuse();
      return try_share(from);
    } else {
      return try_emplace(from) != nullptr;
    }
  }
  template <class Writer>
  void situ_write(Writer& writer, std::uint32_t at) const {
    writer.put_u32(at, 0);
    writer.put_back_link(at, at + 4);
    if (data_ != 0) writer.put_shared(at, const_cast<region_shared*>(this)->block(), offset(), **this);
  }
  template <class Check>
  [[nodiscard]] bool situ_check(Check& check, std::uint32_t at) const {
    if (!check.back_link(at, region_)) return false;
    std::uint32_t bytes = 0;
    return data_ == 0 ||
           (check.template size_of<T>(at, bytes) && check.template shared<T>(at, data_, offset(), bytes));
  }
  static std::string situ_kind() { return "shared"; }
  template <class Lines>
  static void situ_lines(Lines& lines, const std::string& path) {
    lines.template add_linked<T>(path + "&", offset());
  }
  template <class Visit>
  static constexpr void situ_needs(Visit& visit) {
    visit.template need<T>();
  }

 private:
  /// The offset of the value in its block.
  static constexpr std::uint32_t offset() noexcept { return region_detail::shared_block<T>::offset; }
  static constexpr std::uint64_t block_bytes() noexcept { return region_detail::shared_block<T>::bytes; }

  [[nodiscard]] region_detail::header* region() noexcept { return region_detail::header_at(this, region_); }
  [[nodiscard]] std::byte* block() noexcept { return region_detail::bytes_of(this) + data_; }
  [[nodiscard]] std::uint32_t* links() noexcept { return reinterpret_cast<std::uint32_t*>(block()); }
  void lead_to(std::byte* to, bool is_new = true) noexcept {
    data_ = region_detail::link_from(this, to);
    if (is_new) *links() = 1;
  }
  /// Makes this link lead to a value of its region.
  [[nodiscard]] bool share_block(std::byte* to) {
    if (may_hold_itself() && leads_here(to)) return refuse();
    ++*reinterpret_cast<std::uint32_t*>(to);  // first: when this link leaves its value, others may go with it
    reset();
    lead_to(to, false);
    return true;
  }
  /// Whether the value in a block leads to this link. True without memory to find out.
  [[nodiscard]] bool leads_here(const std::byte* to) {
    using region_detail::reached_marks;
    region_detail::header* const h = region();
    region_detail::state* const s = region_detail::state_of(h);
    if (s == nullptr) return true;
    reached_marks* const marks = reached_marks::of(h, s->marks);
    if (marks == nullptr) return true;
    // Unless the walk ends, no marks are left.
    const std::uint64_t number = std::exchange(s->marks, 0);
    const std::size_t before = marks->values().size();
    std::byte* const image = region_detail::bytes_of(h);
    const auto block = static_cast<std::uint32_t>(to - image);
    region_detail::checker<false> walk(image, h->size, marks->bits(), marks->values());
    const bool is_walked = walk.template walk_shared<T>(block, offset());
    reached_marks::walked() += marks->values().size() - before;
    if (!is_walked) return true;
    s->marks = number;
    if (!marks->has(this)) return false;
    std::unordered_map<std::uint32_t, region_detail::met_value> values;
    const auto here = static_cast<std::uint32_t>(region_detail::bytes_of(this) - image);
    region_detail::checker<false> search(image, h->size, here, values);
    const bool is_searched = search.template walk_shared<T>(block, offset());
    reached_marks::walked() += values.size();
    return !is_searched || search.found();
  }
  /// A value that several links lead to, also within the value of `other`, is copied once.
  [[nodiscard]] bool copy_of(const region_shared& other) {
    if constexpr (region_detail::has_links<T>) {
      return region_detail::copy_whole(*this, other);
    } else {
      return try_emplace(*other);
    }
  }
  bool refuse() noexcept {
    region()->refused = 1;
    return false;
  }
  /// Whether a value can contain links to values of its own type.
  static constexpr bool may_hold_itself() {
    return region_detail::has<T, region_detail::only<region_shared>>;
  }

  std::int32_t data_ = 0;
  std::int32_t region_ = 0;
};
static_assert(sizeof(region_shared<int>) == 8);

}  // namespace situ
