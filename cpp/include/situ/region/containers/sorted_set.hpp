// region_sorted_set<K>: a sorted vector of keys within a region.
#pragma once

#include <algorithm>
#include <cstdint>
#include <utility>

#include "situ/region/containers/vector.hpp"
#include "situ/region/detail/map_interface.hpp"

namespace situ {

/// A set whose keys lie in ascending order, with the interface of std::set. Strings are looked up by
/// string_view.
template <class K>
class region_sorted_set : public region_detail::set_interface<region_sorted_set<K>, K> {
  using traits = region_detail::key_traits<K>;
  using interface = region_detail::set_interface<region_sorted_set, K>;

 public:
  using size_type = std::size_t;
  using const_iterator = const K*;
  using iterator = const_iterator;
  using reverse_iterator = std::reverse_iterator<iterator>;
  using const_reverse_iterator = std::reverse_iterator<const_iterator>;
  using key_view = typename interface::key_view;
  using situ_region_container = region_sorted_set;
  SITU_REGION_ASSIGNMENTS(region_sorted_set)

  [[nodiscard]] size_type size() const noexcept { return keys_.size(); }
  [[nodiscard]] size_type capacity() const noexcept { return keys_.capacity(); }
  [[nodiscard]] const_iterator begin() const noexcept { return keys_.begin(); }
  [[nodiscard]] const_iterator end() const noexcept { return keys_.end(); }
  [[nodiscard]] const_iterator lower_bound(key_view key) const noexcept {
    return begin() + region_detail::lower_bound<region_detail::key_is_slot>(begin(), size(), key);
  }
  [[nodiscard]] const_iterator upper_bound(key_view key) const noexcept {
    return std::partition_point(begin(), end(), [key](const K& each) { return !(key < traits::of(each)); });
  }
  [[nodiscard]] const_iterator find(key_view key) const noexcept {
    const const_iterator at = lower_bound(key);
    return at != end() && traits::of(*at) == key ? at : end();
  }

  /// (Of no other type: 0 is a key, not a position.)
  template <std::same_as<const_iterator> At>
  const_iterator erase(At at) noexcept {
    return keys_.erase(at);
  }
  const_iterator erase(const_iterator first, const_iterator last) noexcept {
    return keys_.erase(first, last);
  }
  size_type erase(key_view key) noexcept {
    const const_iterator at = find(key);
    if (at == end()) return 0;
    keys_.erase(at);
    return 1;
  }
  void clear() noexcept { keys_.clear(); }
  [[nodiscard]] bool try_reserve(size_type count) { return keys_.try_reserve(count); }
  void reserve(size_type count) { keys_.reserve(count); }
  void shrink_to_fit() noexcept { keys_.shrink_to_fit(); }

  // The interface for walks over a region.
  template <class Predicate>
  size_type situ_erase_if(const Predicate& is_gone) {
    return keys_.situ_erase_if([&is_gone](const K& key) { return is_gone(key); });
  }
  [[nodiscard]] std::pair<const_iterator, bool> situ_insert(key_view key) {
    // Keys often arrive in order. Then no search is needed.
    const bool last = !keys_.empty() && traits::of(keys_.back()) < key;
    const const_iterator at = last ? end() : lower_bound(key);
    if (at != end() && traits::of(*at) == key) return {at, false};
    const const_iterator made = keys_.try_emplace(at, key);
    return made == nullptr ? std::pair{end(), false} : std::pair{made, true};
  }
  [[nodiscard]] region_detail::header* situ_region() noexcept { return keys_.situ_region(); }
  void situ_attach(region_detail::header* h) noexcept { keys_.situ_attach(h); }
  void situ_moved(std::int32_t distance) noexcept { keys_.situ_moved(distance); }
  template <class Walk>
  void situ_compact(Walk& walk) noexcept {
    keys_.situ_compact(walk);
  }
  void situ_release() noexcept { keys_.situ_release(); }
  template <class R>
  [[nodiscard]] bool situ_store(R&& range) {
    if constexpr (std::is_same_v<std::remove_cvref_t<R>, region_sorted_set>) {
      return keys_.try_assign_range(range.keys_);
    } else {
      return interface::situ_store(range);
    }
  }
  template <class Writer>
  void situ_write(Writer& writer, std::uint32_t at) const {
    keys_.situ_write(writer, at);
  }
  template <class Check>
  [[nodiscard]] bool situ_check(Check& check, std::uint32_t at) const {
    if (!keys_.situ_check(check, at)) return false;
    const size_type good =
        region_detail::first_not_ascending<region_detail::key_is_slot>(keys_.data(), size());
    return good == size() || check.fail(region_problem::not_sorted, at, good);
  }
  static std::string situ_kind() { return "flat_set"; }

 private:
  region_vector<K> keys_;
};

}  // namespace situ
