// region_sorted_map<K, V>: a sorted vector of entries within a region.
#pragma once

#include <algorithm>
#include <cstdint>
#include <utility>

#include "situ/region/containers/vector.hpp"
#include "situ/region/detail/map_interface.hpp"
#include "situ/region/detail/staged.hpp"

namespace situ {

/// A map whose entries lie in ascending order of their keys, with the interface of std::map. Iterators give
/// references to key and value. Strings are looked up by string_view. Best for up to a few hundred entries.
template <class K, class V>
class region_sorted_map : public region_detail::map_interface<region_sorted_map<K, V>, K, V> {
  using traits = region_detail::key_traits<K>;
  using entry = region_entry<K, V>;
  using interface = region_detail::map_interface<region_sorted_map, K, V>;

 public:
  using size_type = std::size_t;
  using iterator = region_detail::flat_iterator<K, V>;
  using const_iterator = region_detail::flat_iterator<K, const V>;
  using reverse_iterator = std::reverse_iterator<iterator>;
  using const_reverse_iterator = std::reverse_iterator<const_iterator>;
  using key_view = typename interface::key_view;
  using situ_region_container = region_sorted_map;
  SITU_REGION_ASSIGNMENTS(region_sorted_map)

  [[nodiscard]] size_type size() const noexcept { return entries_.size(); }
  [[nodiscard]] size_type capacity() const noexcept { return entries_.capacity(); }
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
  [[nodiscard]] iterator upper_bound(key_view key) noexcept {
    const size_type at = place(key);
    return iterator(entries_.begin() + (is_at(at, key) ? at + 1 : at));
  }
  [[nodiscard]] const_iterator upper_bound(key_view key) const noexcept {
    return const_cast<region_sorted_map*>(this)->upper_bound(key);
  }
  [[nodiscard]] iterator find(key_view key) noexcept {
    const size_type at = place(key);
    return is_at(at, key) ? iterator(entries_.begin() + at) : end();
  }
  [[nodiscard]] const_iterator find(key_view key) const noexcept {
    return const_cast<region_sorted_map*>(this)->find(key);
  }

  iterator erase(const_iterator at) noexcept { return iterator(entries_.erase(at.address())); }
  iterator erase(const_iterator first, const_iterator last) noexcept {
    return iterator(entries_.erase(first.address(), last.address()));
  }
  size_type erase(key_view key) noexcept {
    const size_type where = place(key);
    if (!is_at(where, key)) return 0;
    entries_.erase(entries_.begin() + where);
    return 1;
  }
  void clear() noexcept { entries_.clear(); }
  [[nodiscard]] bool try_reserve(size_type count) { return entries_.try_reserve(count); }
  void reserve(size_type count) { entries_.reserve(count); }
  void shrink_to_fit() noexcept { entries_.shrink_to_fit(); }

  // The interface for walks over a region.
  template <class Predicate>
  size_type situ_erase_if(const Predicate& is_gone) {
    return entries_.situ_erase_if([&is_gone](entry& each) { return is_gone(*iterator(&each)); });
  }
  template <class... Args>
  [[nodiscard]] std::pair<iterator, bool> situ_insert(key_view key, const Args&... args) {
    // Keys often arrive in order. Then no search is needed.
    const bool last = !entries_.empty() && traits::of(entries_.back().first) < key;
    const size_type where = last ? size() : place(key);
    if (is_at(where, key)) return {iterator(entries_.begin() + where), false};
    entry* made = nullptr;
    if constexpr (sizeof...(Args) <= 1) {
      made = entries_.try_emplace(entries_.begin() + where, key, args...);
    } else {
      // The arguments may be part of entries that move below.
      region_detail::staged_value<V> fresh(situ_region());
      if (!fresh.make([&args...](V& value) { return region_detail::store_all(value, args...); })) {
        return {end(), false};
      }
      made = entries_.try_emplace(entries_.begin() + where, key);
      if (made != nullptr) {
        region_detail::release(made->second);
        fresh.move_to(&made->second);
      }
    }
    return made == nullptr ? std::pair{end(), false} : std::pair{iterator(made), true};
  }
  [[nodiscard]] region_detail::header* situ_region() noexcept { return entries_.situ_region(); }
  void situ_attach(region_detail::header* h) noexcept { entries_.situ_attach(h); }
  void situ_moved(std::int32_t distance) noexcept { entries_.situ_moved(distance); }
  template <class Walk>
  void situ_compact(Walk& walk) noexcept {
    entries_.situ_compact(walk);
  }
  void situ_release() noexcept { entries_.situ_release(); }
  template <class R>
  [[nodiscard]] bool situ_store(R&& range) {
    if constexpr (std::is_same_v<std::remove_cvref_t<R>, region_sorted_map>) {
      return entries_.try_assign_range(range.entries_);
    } else {
      return interface::situ_store(range);
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
  static std::string situ_kind() { return "flat_map"; }

 private:
  [[nodiscard]] size_type place(key_view key) const noexcept {
    return region_detail::lower_bound<region_detail::key_is_first>(entries_.data(), entries_.size(), key);
  }
  [[nodiscard]] bool is_at(size_type where, key_view key) const noexcept {
    return where < size() && traits::of(entries_[where].first) == key;
  }

  region_vector<entry> entries_;
};

}  // namespace situ
