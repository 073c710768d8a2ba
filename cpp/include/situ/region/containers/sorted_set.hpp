// region_sorted_set<K>: a sorted vector of keys within a region.
#pragma once

#include <algorithm>
#include <string>
#include <utility>

#include "situ/region/detail/map_interface.hpp"
#include "situ/region/detail/sorted_container.hpp"

namespace situ {

/// A set whose keys lie in ascending order, with the interface of std::set. Strings are looked up by
/// string_view.
template <class K>
class region_sorted_set
    : public region_detail::set_interface<region_sorted_set<K>, K>,
      public region_detail::sorted_container<region_sorted_set<K>, region_detail::key_is_slot> {
  using traits = region_detail::key_traits<K>;
  using interface = region_detail::set_interface<region_sorted_set, K>;

 public:
  using size_type = std::size_t;
  using const_iterator = region_detail::element_iterator<const K>;
  using iterator = const_iterator;
  using reverse_iterator = std::reverse_iterator<iterator>;
  using const_reverse_iterator = std::reverse_iterator<const_iterator>;
  using key_view = typename interface::key_view;
  using situ_region_container = region_sorted_set;
  SITU_REGION_ASSIGNMENTS(region_sorted_set)

  [[nodiscard]] const_iterator begin() const noexcept { return slots_.begin(); }
  [[nodiscard]] const_iterator end() const noexcept { return slots_.end(); }
  [[nodiscard]] const_iterator lower_bound(key_view key) const noexcept {
    return begin() +
           region_detail::lower_bound<region_detail::key_is_slot>(slots_.data(), slots_.size(), key);
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
    return slots_.erase(at);
  }
  const_iterator erase(const_iterator first, const_iterator last) noexcept {
    return slots_.erase(first, last);
  }
  size_type erase(key_view key) noexcept {
    const const_iterator at = find(key);
    if (at == end()) return 0;
    slots_.erase(at);
    return 1;
  }

  // The interface for walks over a region.
  template <class Predicate>
  size_type situ_erase_if(const Predicate& is_gone) {
    return slots_.situ_erase_if([&is_gone](const K& key) { return is_gone(key); });
  }
  [[nodiscard]] std::pair<const_iterator, bool> situ_insert(key_view key) {
    // Keys often arrive in order. Then no search is needed.
    const bool last = !slots_.empty() && traits::of(slots_.back()) < key;
    const const_iterator at = last ? end() : lower_bound(key);
    if (at != end() && traits::of(*at) == key) return {at, false};
    const const_iterator made = slots_.try_emplace(at, key);
    return made == nullptr ? std::pair{end(), false} : std::pair{made, true};
  }
  template <class R>
  [[nodiscard]] bool situ_store(R&& range) {
    if constexpr (std::is_same_v<std::remove_cvref_t<R>, region_sorted_set>) {
      return slots_.try_assign_range(range.slots_);
    } else {
      return interface::situ_store(range);
    }
  }
  static std::string situ_kind() { return "flat_set"; }

 private:
  friend region_detail::over_slots<region_sorted_set>;
  region_vector<K> slots_;
};

}  // namespace situ
