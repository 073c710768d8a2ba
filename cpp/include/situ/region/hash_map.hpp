// region_hash_map<K, V>: a hash map within a region.
#pragma once

#include <cstdint>
#include <utility>

#include "situ/region/hash_set.hpp"

namespace situ {

/// A map with the interface of std::unordered_map. Hash, seed and order are fixed by the format. Iterators
/// give references to key and value; strings are looked up by string_view.
template <class K, class V>
class region_hash_map {
  using entry = region_entry<K, V>;
  using table = region_detail::hash_table<entry, K, region_detail::key_is_first>;

 public:
  using key_type = K;
  using mapped_type = V;
  using value_type = entry;
  using size_type = std::size_t;
  using iterator = region_detail::hash_iterator<table, region_detail::entry_reference<K, V>>;
  using const_iterator =
      region_detail::hash_iterator<const table, region_detail::entry_reference<K, const V>>;
  /// What keys are looked up by: the key itself, or a string_view.
  using key_view = typename table::view;
  using situ_region_container = region_hash_map;

  region_hash_map() noexcept = default;
  region_hash_map(const region_hash_map&) = delete;
  region_hash_map& operator=(const region_hash_map& other) {
    if (!situ_store(other)) table_.situ_raise();
    return *this;
  }
  /// Copies the entries of another range, such as a standard one. Where there is no room for all, some are
  /// there.
  template <class R>
  requires(!std::is_same_v<R, region_hash_map>) &&
      std::ranges::input_range<const R> region_hash_map& operator=(const R& range) {
    if (!situ_store(range)) table_.situ_raise();
    return *this;
  }

  [[nodiscard]] size_type size() const noexcept { return table_.size(); }
  [[nodiscard]] size_type capacity() const noexcept { return table_.capacity(); }
  [[nodiscard]] bool empty() const noexcept { return size() == 0; }
  [[nodiscard]] iterator begin() noexcept { return {&table_, table_.next_full(0)}; }
  [[nodiscard]] iterator end() noexcept { return {&table_, table_.capacity()}; }
  [[nodiscard]] const_iterator begin() const noexcept { return {&table_, table_.next_full(0)}; }
  [[nodiscard]] const_iterator end() const noexcept { return {&table_, table_.capacity()}; }
  [[nodiscard]] iterator find(key_view key) noexcept {
    const std::uint32_t slot = table_.find(key);
    return slot == table::none ? end() : iterator(&table_, slot);
  }
  [[nodiscard]] const_iterator find(key_view key) const noexcept {
    const std::uint32_t slot = table_.find(key);
    return slot == table::none ? end() : const_iterator(&table_, slot);
  }
  [[nodiscard]] bool contains(key_view key) const noexcept { return table_.find(key) != table::none; }
  [[nodiscard]] size_type count(key_view key) const noexcept { return contains(key) ? 1 : 0; }
  [[nodiscard]] V& at(key_view key) {
    const std::uint32_t slot = table_.find(key);
    if (slot == table::none) detail::raise_out_of_range("region_hash_map::at: no such key");
    return table_.slot(slot)->second;
  }
  [[nodiscard]] const V& at(key_view key) const { return const_cast<region_hash_map*>(this)->at(key); }

  /// The value of a key, made from the arguments if the key is new; null when there is no room. And whether
  /// it is new.
  template <class... Args>
  [[nodiscard]] std::pair<V*, bool> try_insert(key_view key, const Args&... args) {
    bool is_new = false;
    const std::uint32_t slot = add(key, is_new, args...);
    return {slot == table::none ? nullptr : &table_.slot(slot)->second, is_new};
  }
  /// As std::unordered_map: nothing happens when the key is there. The value is made from the arguments.
  template <class... Args>
  std::pair<iterator, bool> try_emplace(key_view key, const Args&... args) {
    bool is_new = false;
    const std::uint32_t slot = add(key, is_new, args...);
    if (slot == table::none) table_.situ_raise();
    return {iterator(&table_, slot), is_new};
  }
  template <class... Args>
  std::pair<iterator, bool> emplace(key_view key, const Args&... args) {
    return try_emplace(key, args...);
  }
  template <class U>
  [[nodiscard]] bool try_insert_or_assign(key_view key, const U& value) {
    const auto [place, is_new] = try_insert(key, value);
    return place != nullptr && (is_new || region_detail::store(*place, value));
  }
  template <class U>
  void insert_or_assign(key_view key, const U& value) {
    if (!try_insert_or_assign(key, value)) table_.situ_raise();
  }
  V& operator[](key_view key) {
    V* value = try_insert(key).first;
    if (value == nullptr) table_.situ_raise();
    return *value;
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

  friend bool operator==(const region_hash_map& a, const region_hash_map& b) {
    if (a.size() != b.size()) return false;
    for (const auto& [key, value] : a) {
      const const_iterator other = b.find(region_detail::key_traits<K>::of(key));
      if (other == b.end() || !(other->second == value)) return false;
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
    if constexpr (std::is_same_v<R, region_hash_map>) {
      if (&range == this) return true;
    }
    clear();
    for (const auto& [key, value] : range) {
      if (!try_insert_or_assign(key, value)) return false;
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
  template <class... Args>
  std::uint32_t add(key_view key, bool& is_new, const Args&... args) {
    return table_.insert(key, is_new, [&](entry& slot) {
      return region_detail::store(slot.first, key) && region_detail::store_all(slot.second, args...);
    });
  }

  table table_;
};

}  // namespace situ
