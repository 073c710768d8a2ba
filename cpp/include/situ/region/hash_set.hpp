// region_hash_set<K>: a hash set within a region.
#pragma once

#include <cstdint>
#include <iterator>
#include <utility>

#include "situ/region/hash_table.hpp"

namespace situ {
namespace region_detail {

/// Goes over the occupied slots of a table; `Reference` is made of a slot.
template <class Table, class Reference>
class hash_iterator {
 public:
  using iterator_category = std::input_iterator_tag;
  using value_type = std::remove_cvref_t<Reference>;
  using difference_type = std::ptrdiff_t;
  using pointer = void;
  using reference = Reference;

  hash_iterator() noexcept = default;
  hash_iterator(Table* table, std::uint32_t slot) noexcept : table_(table), slot_(slot) {}
  [[nodiscard]] Reference operator*() const noexcept { return make(*table_->slot(slot_)); }
  [[nodiscard]] auto operator->() const noexcept {
    if constexpr (std::is_reference_v<Reference>) {
      return &**this;
    } else {
      return **this;
    }
  }
  hash_iterator& operator++() noexcept {
    slot_ = table_->next_full(slot_ + 1);
    return *this;
  }
  hash_iterator operator++(int) noexcept {
    hash_iterator before = *this;
    ++*this;
    return before;
  }
  friend bool operator==(const hash_iterator& a, const hash_iterator& b) noexcept {
    return a.slot_ == b.slot_;
  }
  /// Which slot of the table it is.
  [[nodiscard]] std::uint32_t slot() const noexcept { return slot_; }

 private:
  template <class Slot>
  static Reference make(Slot& slot) noexcept {
    if constexpr (std::is_reference_v<Reference>) {
      return slot;
    } else {
      return {slot.first, slot.second};
    }
  }

  Table* table_ = nullptr;
  std::uint32_t slot_ = 0;
};

}  // namespace region_detail

/// A set with the interface of std::unordered_set. Hash, seed and order are fixed by the format. Strings are
/// looked up by string_view.
template <class K>
class region_hash_set {
  using table = region_detail::hash_table<K, K, region_detail::key_is_slot>;

 public:
  using key_type = K;
  using value_type = K;
  using size_type = std::size_t;
  using const_iterator = region_detail::hash_iterator<const table, const K&>;
  using iterator = const_iterator;
  /// What keys are looked up by: the key itself, or a string_view.
  using key_view = typename table::view;
  using situ_region_container = region_hash_set;

  region_hash_set() noexcept = default;
  region_hash_set(const region_hash_set&) = delete;
  region_hash_set& operator=(const region_hash_set& other) {
    if (!situ_store(other)) table_.situ_raise();
    return *this;
  }
  /// Copies the keys of another range, such as a standard one. Where there is no room for all, some are
  /// there.
  template <class R>
  requires(!std::is_same_v<R, region_hash_set>) &&
      std::ranges::input_range<const R> region_hash_set& operator=(const R& range) {
    if (!situ_store(range)) table_.situ_raise();
    return *this;
  }

  [[nodiscard]] size_type size() const noexcept { return table_.size(); }
  [[nodiscard]] size_type capacity() const noexcept { return table_.capacity(); }
  [[nodiscard]] bool empty() const noexcept { return size() == 0; }
  [[nodiscard]] const_iterator begin() const noexcept { return {&table_, table_.next_full(0)}; }
  [[nodiscard]] const_iterator end() const noexcept { return {&table_, table_.capacity()}; }
  [[nodiscard]] const_iterator find(key_view key) const noexcept {
    const std::uint32_t slot = table_.find(key);
    return slot == table::none ? end() : const_iterator(&table_, slot);
  }
  [[nodiscard]] bool contains(key_view key) const noexcept { return table_.find(key) != table::none; }
  [[nodiscard]] size_type count(key_view key) const noexcept { return contains(key) ? 1 : 0; }

  /// Whether the key is in the set now; false when there is no room.
  [[nodiscard]] bool try_insert(key_view key) {
    bool is_new = false;
    return add(key, is_new) != table::none;
  }
  /// The key in the set, and whether it is new.
  std::pair<const_iterator, bool> insert(key_view key) {
    bool is_new = false;
    const std::uint32_t slot = add(key, is_new);
    if (slot == table::none) table_.situ_raise();
    return {const_iterator(&table_, slot), is_new};
  }
  size_type erase(key_view key) noexcept {
    const std::uint32_t slot = table_.find(key);
    if (slot == table::none) return 0;
    table_.erase(slot);
    return 1;
  }
  void clear() noexcept { table_.clear(); }
  [[nodiscard]] bool try_reserve(size_type count) { return table_.try_reserve(count); }
  void reserve(size_type count) {
    if (!try_reserve(count)) table_.situ_raise();
  }
  /// The smallest capacity; unchanged when there is no room for the smaller table beside the old one.
  void shrink_to_fit() { table_.shrink(); }

  friend bool operator==(const region_hash_set& a, const region_hash_set& b) {
    if (a.size() != b.size()) return false;
    for (const K& key : a) {
      if (!b.contains(region_detail::key_traits<K>::of(key))) return false;
    }
    return true;
  }

  // What the walks over a region call.
  static consteval bool has_links() { return true; }
  void situ_attach(region_detail::header* h) noexcept { table_.situ_attach(h); }
  void situ_moved(std::int32_t distance) noexcept { table_.situ_moved(distance); }
  void situ_release() noexcept { table_.situ_release(); }
  template <class R>
  [[nodiscard]] bool situ_store(const R& range) {
    if constexpr (std::is_same_v<R, region_hash_set>) {
      if (&range == this) return true;
    }
    clear();
    for (const auto& key : range) {
      if (!try_insert(key)) return false;
    }
    return true;
  }
  template <class Writer>
  void situ_write(Writer& writer, std::uint32_t at) const {
    table_.situ_write(writer, at);
  }
  template <class Check>
  [[nodiscard]] bool situ_check(Check& check, std::uint32_t at) const {
    return table_.situ_check(check, at);
  }

 private:
  std::uint32_t add(key_view key, bool& is_new) {
    return table_.insert(key, is_new, [key](K& slot) { return region_detail::store(slot, key); });
  }

  table table_;
};

}  // namespace situ
