// bounded_map<K, V, N, Alloc>: std::map with a bound, kept as one sorted array.
#pragma once

#include <algorithm>
#include <compare>
#include <cstddef>
#include <functional>
#include <initializer_list>
#include <iterator>
#include <memory>
#include <tuple>
#include <type_traits>
#include <utility>

#include "situ/layout/bounded_vector.hpp"
#include "situ/support/iteration.hpp"
#include "situ/support/total_order.hpp"

namespace situ {

/// One entry of a bounded map, with C's layout of `struct { K key; V value; }`. A key inside a map must not
/// be changed.
template <class K, class V>
struct map_entry {
  K first{};
  V second{};

  friend bool operator==(const map_entry&, const map_entry&) = default;
  friend auto operator<=>(const map_entry& a, const map_entry& b) requires std::three_way_comparable<K> &&
      std::three_way_comparable<V> {
    using order = std::common_comparison_category_t<std::compare_three_way_result_t<K>,
                                                    std::compare_three_way_result_t<V>>;
    if (const order by_key = a.first <=> b.first; by_key != 0) return by_key;
    return order(a.second <=> b.second);
  }
};

/// At most N entries, unique and sorted by key, with the interface of std::map. With `inline_allocator` its
/// bytes are `{u32 length; struct { K key; V value; }[N]}`. Lookup is a binary search; insertion moves all
/// later entries. Unlike in std::map, inserting and erasing invalidate iterators.
template <class K, class V, std::size_t N, class Alloc = std::allocator<map_entry<K, V>>>
class bounded_map : public detail::iteration<bounded_map<K, V, N, Alloc>> {
  using vector_type = bounded_vector<map_entry<K, V>, N, Alloc>;
  friend struct detail::access;

 public:
  using key_type = K;
  using mapped_type = V;
  using value_type = map_entry<K, V>;
  using key_compare = key_less<K>;
  using allocator_type = typename vector_type::allocator_type;
  using size_type = std::size_t;
  using difference_type = std::ptrdiff_t;
  using reference = value_type&;
  using const_reference = const value_type&;
  using iterator = typename vector_type::iterator;
  using const_iterator = typename vector_type::const_iterator;
  using reverse_iterator = typename vector_type::reverse_iterator;
  using const_reverse_iterator = typename vector_type::const_reverse_iterator;

  /// The largest number of entries.
  static constexpr size_type bound = N;
  /// Whether the entries lie inside the map itself.
  static constexpr bool is_inline = vector_type::is_inline;

  bounded_map() {}  // NOLINT(modernize-use-equals-default): see storage
  explicit bounded_map(const allocator_type& allocator) : entries_(allocator) {}
  template <std::input_iterator It>
  bounded_map(It first, It last, const allocator_type& allocator = {}) : entries_(allocator) {
    insert(first, last);
  }
  bounded_map(std::initializer_list<value_type> entries, const allocator_type& allocator = {})
      : entries_(allocator) {
    insert(entries);
  }
  bounded_map& operator=(std::initializer_list<value_type> entries) {
    clear();
    insert(entries);
    return *this;
  }

  [[nodiscard]] allocator_type get_allocator() const noexcept { return entries_.get_allocator(); }

  [[nodiscard]] V& at(const K& key) {
    const iterator found = find(key);
    if (found == end()) detail::raise_out_of_range("situ::bounded_map::at: no such key");
    return found->second;
  }
  [[nodiscard]] const V& at(const K& key) const {
    const const_iterator found = find(key);
    if (found == end()) detail::raise_out_of_range("situ::bounded_map::at: no such key");
    return found->second;
  }
  V& operator[](const K& key) { return try_emplace(key).first->second; }
  V& operator[](K&& key) { return try_emplace(std::move(key)).first->second; }

  [[nodiscard]] iterator begin() noexcept { return entries_.begin(); }
  [[nodiscard]] const_iterator begin() const noexcept { return entries_.begin(); }
  [[nodiscard]] iterator end() noexcept { return entries_.end(); }
  [[nodiscard]] const_iterator end() const noexcept { return entries_.end(); }

  [[nodiscard]] bool empty() const noexcept { return entries_.empty(); }
  [[nodiscard]] bool full() const noexcept { return entries_.full(); }
  [[nodiscard]] size_type size() const noexcept { return entries_.size(); }
  [[nodiscard]] static constexpr size_type max_size() noexcept { return vector_type::max_size(); }
  void reserve(size_type count) { entries_.reserve(count); }
  void clear() noexcept { entries_.clear(); }

  std::pair<iterator, bool> insert(const value_type& entry) { return try_emplace(entry.first, entry.second); }
  std::pair<iterator, bool> insert(value_type&& entry) {
    return try_emplace(std::move(entry.first), std::move(entry.second));
  }
  template <std::input_iterator It>
  void insert(It first, It last) {
    for (; first != last; ++first) try_emplace(first->first, first->second);
  }
  void insert(std::initializer_list<value_type> entries) { insert(entries.begin(), entries.end()); }
  template <class... Args>
  std::pair<iterator, bool> emplace(Args&&... args) {
    return insert(value_type{std::forward<Args>(args)...});
  }
  /// Inserts unless the key exists. The value is constructed from `args` only if it is needed.
  template <class Key, class... Args>
  requires std::convertible_to<Key, K> std::pair<iterator, bool> try_emplace(Key&& key, Args&&... args) {
    const iterator place = lower_bound(key);
    if (place != end() && !before(key, place->first)) return {place, false};
    return {entries_.emplace(
                place, value_type{K(std::forward<Key>(key)), detail::make<V>(std::forward<Args>(args)...)}),
            true};
  }
  template <class Key, class Value>
  requires std::convertible_to<Key, K> std::pair<iterator, bool> insert_or_assign(Key&& key, Value&& value) {
    const iterator place = lower_bound(key);
    if (place != end() && !before(key, place->first)) {
      place->second = detail::as<V>(std::forward<Value>(value));
      return {place, false};
    }
    return {entries_.emplace(
                place, value_type{K(std::forward<Key>(key)), detail::make<V>(std::forward<Value>(value))}),
            true};
  }
  /// Inserts or assigns. Returns false if the key is new and the map is full.
  template <class Key, class Value>
  requires std::convertible_to<Key, K>
  [[nodiscard]] bool try_insert_or_assign(Key&& key, Value&& value) {
    if (full() && find(key) == end()) return false;
    insert_or_assign(std::forward<Key>(key), std::forward<Value>(value));
    return true;
  }

  iterator erase(const_iterator position) { return entries_.erase(position); }
  iterator erase(const_iterator first, const_iterator last) { return entries_.erase(first, last); }
  size_type erase(const K& key) {
    const iterator found = find(key);
    if (found == end()) return 0;
    entries_.erase(found);
    return 1;
  }

  template <class Key>
  [[nodiscard]] iterator find(const Key& key) {
    const iterator place = lower_bound(key);
    return place != end() && !before(key, place->first) ? place : end();
  }
  template <class Key>
  [[nodiscard]] const_iterator find(const Key& key) const {
    const const_iterator place = lower_bound(key);
    return place != end() && !before(key, place->first) ? place : end();
  }
  template <class Key>
  [[nodiscard]] bool contains(const Key& key) const {
    return find(key) != end();
  }
  template <class Key>
  [[nodiscard]] size_type count(const Key& key) const {
    return contains(key) ? 1 : 0;
  }
  template <class Key>
  [[nodiscard]] iterator lower_bound(const Key& key) {
    return std::lower_bound(begin(), end(), key,
                            [](const value_type& entry, const Key& k) { return before(entry.first, k); });
  }
  template <class Key>
  [[nodiscard]] const_iterator lower_bound(const Key& key) const {
    return std::lower_bound(begin(), end(), key,
                            [](const value_type& entry, const Key& k) { return before(entry.first, k); });
  }
  template <class Key>
  [[nodiscard]] iterator upper_bound(const Key& key) {
    return std::upper_bound(begin(), end(), key,
                            [](const Key& k, const value_type& entry) { return before(k, entry.first); });
  }
  template <class Key>
  [[nodiscard]] const_iterator upper_bound(const Key& key) const {
    return std::upper_bound(begin(), end(), key,
                            [](const Key& k, const value_type& entry) { return before(k, entry.first); });
  }
  template <class Key>
  [[nodiscard]] std::pair<iterator, iterator> equal_range(const Key& key) {
    return {lower_bound(key), upper_bound(key)};
  }
  template <class Key>
  [[nodiscard]] std::pair<const_iterator, const_iterator> equal_range(const Key& key) const {
    return {lower_bound(key), upper_bound(key)};
  }

  [[nodiscard]] key_compare key_comp() const { return {}; }
  void swap(bounded_map& other) noexcept { entries_.swap(other.entries_); }
  friend void swap(bounded_map& a, bounded_map& b) noexcept { a.swap(b); }

  [[nodiscard]] friend bool operator==(const bounded_map& a, const bounded_map& b) {
    return a.entries_ == b.entries_;
  }
  [[nodiscard]] friend auto operator<=>(const bounded_map& a,
                                        const bounded_map& b) requires std::three_way_comparable<value_type> {
    return a.entries_ <=> b.entries_;
  }

 private:
  /// Keys are also looked up by values of other types, such as texts.
  template <class A, class B>
  static bool before(const A& a, const B& b) {
    if constexpr (std::is_floating_point_v<K>) {
      return key_compare()(static_cast<K>(a), static_cast<K>(b));
    } else {
      return a < b;
    }
  }

  vector_type entries_;
};

template <class K, class V, std::size_t N, class A, class Predicate>
std::size_t erase_if(bounded_map<K, V, N, A>& map, Predicate predicate) {
  const auto rest = std::remove_if(map.begin(), map.end(), predicate);
  const auto count = static_cast<std::size_t>(map.end() - rest);
  map.erase(rest, map.end());
  return count;
}

}  // namespace situ
