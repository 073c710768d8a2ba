// region_flat_map<K, V>: a sorted vector of entries within a region.
#pragma once

#include <algorithm>
#include <cstdint>
#include <utility>

#include "situ/region/key.hpp"
#include "situ/region/vector.hpp"

namespace situ {

/// A map whose entries lie in ascending order of their keys, with the interface of std::map. Iterators give
/// references to key and value; strings are looked up by string_view. Best up to some hundred entries.
template <class K, class V>
class region_flat_map {
  using traits = region_detail::key_traits<K>;
  using entry = region_entry<K, V>;

 public:
  using key_type = K;
  using mapped_type = V;
  using value_type = entry;
  using size_type = std::size_t;
  using iterator = region_detail::flat_iterator<K, V>;
  using const_iterator = region_detail::flat_iterator<K, const V>;
  /// What keys are looked up by: the key itself, or a string_view.
  using key_view = typename traits::view;
  using situ_region_container = region_flat_map;

  region_flat_map() noexcept = default;
  region_flat_map(const region_flat_map&) = delete;
  region_flat_map& operator=(const region_flat_map& other) = default;
  /// Copies the entries of another range, such as a standard one. Where there is no room for all, some are
  /// there.
  template <class R>
  requires(!std::is_same_v<R, region_flat_map>) &&
      std::ranges::input_range<const R> region_flat_map& operator=(const R& range) {
    if (!situ_store(range)) raise();
    return *this;
  }

  [[nodiscard]] size_type size() const noexcept { return entries_.size(); }
  [[nodiscard]] bool empty() const noexcept { return entries_.empty(); }
  [[nodiscard]] iterator begin() noexcept { return iterator(entries_.begin()); }
  [[nodiscard]] iterator end() noexcept { return iterator(entries_.end()); }
  [[nodiscard]] const_iterator begin() const noexcept { return const_iterator(entries_.begin()); }
  [[nodiscard]] const_iterator end() const noexcept { return const_iterator(entries_.end()); }

  [[nodiscard]] iterator lower_bound(key_view key) noexcept {
    return iterator(entries_.begin() + place(key));
  }
  [[nodiscard]] const_iterator lower_bound(key_view key) const noexcept {
    return const_iterator(entries_.begin() + place(key));
  }
  [[nodiscard]] iterator find(key_view key) noexcept {
    const size_type at = place(key);
    return is_at(at, key) ? iterator(entries_.begin() + at) : end();
  }
  [[nodiscard]] const_iterator find(key_view key) const noexcept {
    return const_cast<region_flat_map*>(this)->find(key);
  }
  [[nodiscard]] bool contains(key_view key) const noexcept { return is_at(place(key), key); }
  [[nodiscard]] size_type count(key_view key) const noexcept { return contains(key) ? 1 : 0; }
  [[nodiscard]] V& at(key_view key) {
    const size_type where = place(key);
    if (!is_at(where, key)) detail::raise_out_of_range("region_flat_map::at: no such key");
    return entries_[where].second;
  }
  [[nodiscard]] const V& at(key_view key) const { return const_cast<region_flat_map*>(this)->at(key); }

  /// The value of a key, made from the arguments if the key is new; null when there is no room. And whether
  /// it is new.
  template <class... Args>
  [[nodiscard]] std::pair<V*, bool> try_insert(key_view key, const Args&... args) {
    const size_type where = place(key);
    if (is_at(where, key)) return {&entries_[where].second, false};
    entry* made = nullptr;
    if constexpr (sizeof...(Args) <= 1) {
      made = entries_.try_emplace(entries_.begin() + where, key, args...);
    } else {
      made = entries_.try_emplace(entries_.begin() + where, key);
      if (made != nullptr && !region_detail::store_all(made->second, args...)) {
        entries_.erase(made);
        made = nullptr;
      }
    }
    return {made == nullptr ? nullptr : &made->second, made != nullptr};
  }
  /// As std::map: nothing happens when the key is there. The value is made from the arguments.
  template <class... Args>
  std::pair<iterator, bool> try_emplace(key_view key, const Args&... args) {
    const auto [value, is_new] = try_insert(key, args...);
    if (value == nullptr) raise();
    return {find(key), is_new};
  }
  template <class... Args>
  std::pair<iterator, bool> emplace(key_view key, const Args&... args) {
    return try_emplace(key, args...);
  }
  template <class U>
  [[nodiscard]] bool try_insert_or_assign(key_view key, const U& value) {
    const auto [place_of, is_new] = try_insert(key, value);
    return place_of != nullptr && (is_new || region_detail::store(*place_of, value));
  }
  template <class U>
  void insert_or_assign(key_view key, const U& value) {
    if (!try_insert_or_assign(key, value)) raise();
  }
  V& operator[](key_view key) {
    V* value = try_insert(key).first;
    if (value == nullptr) raise();
    return *value;
  }
  iterator erase(iterator at) noexcept { return iterator(entries_.erase(at.address())); }
  size_type erase(key_view key) noexcept {
    const size_type where = place(key);
    if (!is_at(where, key)) return 0;
    entries_.erase(entries_.begin() + where);
    return 1;
  }
  void clear() noexcept { entries_.clear(); }
  void reserve(size_type count) { entries_.reserve(count); }
  void shrink_to_fit() noexcept { entries_.shrink_to_fit(); }

  friend bool operator==(const region_flat_map& a, const region_flat_map& b) {
    return std::equal(
        a.entries_.begin(), a.entries_.end(), b.entries_.begin(), b.entries_.end(),
        [](const entry& x, const entry& y) { return x.first == y.first && x.second == y.second; });
  }

  // What the walks over a region call.
  static consteval bool has_links() { return true; }
  void situ_attach(region_detail::header* h) noexcept { entries_.situ_attach(h); }
  void situ_moved(std::int32_t distance) noexcept { entries_.situ_moved(distance); }
  void situ_release() noexcept { entries_.situ_release(); }
  template <class R>
  [[nodiscard]] bool situ_store(const R& range) {
    if constexpr (std::is_same_v<R, region_flat_map>) {
      return entries_.try_assign_range(range.entries_);
    } else {
      clear();
      for (const auto& [key, value] : range) {
        if (!try_insert_or_assign(key, value)) return false;
      }
      return true;
    }
  }
  template <class Writer>
  void situ_write(Writer& writer, std::uint32_t at) const {
    entries_.situ_write(writer, at);
  }
  template <class Check>
  [[nodiscard]] bool situ_check(Check& check, std::uint32_t at) const {
    if (!entries_.situ_check(check, at)) return false;
    const size_type good =
        region_detail::first_not_ascending<region_detail::key_is_first>(entries_.data(), size());
    return good == size() || check.fail(region_problem::not_sorted, at, good);
  }

 private:
  [[nodiscard]] size_type place(key_view key) const noexcept {
    const entry* at = std::partition_point(entries_.begin(), entries_.end(),
                                           [key](const entry& each) { return traits::of(each.first) < key; });
    return static_cast<size_type>(at - entries_.begin());
  }
  [[nodiscard]] bool is_at(size_type where, key_view key) const noexcept {
    return where < size() && traits::of(entries_[where].first) == key;
  }
  [[noreturn]] void raise() { entries_.situ_raise(); }

  region_vector<entry> entries_;
};

}  // namespace situ
