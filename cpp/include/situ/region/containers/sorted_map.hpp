// region_sorted_map<K, V>: a sorted vector of entries within a region.
#pragma once

#include <algorithm>
#include <string>
#include <utility>

#include "situ/region/detail/map_interface.hpp"
#include "situ/region/detail/sorted_container.hpp"
#include "situ/region/detail/staged.hpp"

namespace situ {

/// A map whose entries lie in ascending order of their keys, with the interface of std::map. Iterators give
/// references to key and value. Strings are looked up by string_view. Best for up to a few hundred entries.
template <class K, class V>
class region_sorted_map
    : public region_detail::map_interface<region_sorted_map<K, V>, K, V>,
      public region_detail::sorted_container<region_sorted_map<K, V>, region_detail::key_is_first> {
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

  [[nodiscard]] iterator begin() noexcept { return iterator(slots_.begin()); }
  [[nodiscard]] iterator end() noexcept { return iterator(slots_.end()); }
  [[nodiscard]] const_iterator begin() const noexcept { return const_iterator(slots_.begin()); }
  [[nodiscard]] const_iterator end() const noexcept { return const_iterator(slots_.end()); }

  [[nodiscard]] iterator lower_bound(key_view key) noexcept { return iterator(slots_.begin() + place(key)); }
  [[nodiscard]] const_iterator lower_bound(key_view key) const noexcept {
    return const_iterator(slots_.begin() + place(key));
  }
  [[nodiscard]] iterator upper_bound(key_view key) noexcept {
    const size_type at = place(key);
    return iterator(slots_.begin() + (is_at(at, key) ? at + 1 : at));
  }
  [[nodiscard]] const_iterator upper_bound(key_view key) const noexcept {
    return const_cast<region_sorted_map*>(this)->upper_bound(key);
  }
  [[nodiscard]] iterator find(key_view key) noexcept {
    const size_type at = place(key);
    return is_at(at, key) ? iterator(slots_.begin() + at) : end();
  }
  [[nodiscard]] const_iterator find(key_view key) const noexcept {
    return const_cast<region_sorted_map*>(this)->find(key);
  }

  iterator erase(const_iterator at) noexcept { return iterator(slots_.erase(at.situ_place())); }
  iterator erase(const_iterator first, const_iterator last) noexcept {
    return iterator(slots_.erase(first.situ_place(), last.situ_place()));
  }
  size_type erase(key_view key) noexcept {
    const size_type where = place(key);
    if (!is_at(where, key)) return 0;
    slots_.erase(slots_.begin() + where);
    return 1;
  }

  // The interface for walks over a region.
  template <class Predicate>
  size_type situ_erase_if(const Predicate& is_gone) {
    return slots_.situ_erase_if([&is_gone](entry& each) {
      return is_gone(region_detail::entry_reference<K, V>{each.first, each.second});
    });
  }
  template <class... Args>
  [[nodiscard]] std::pair<iterator, bool> situ_insert(key_view key, const Args&... args) {
    // Keys often arrive in order. Then no search is needed.
    const bool last = !slots_.empty() && traits::of(slots_.back().first) < key;
    const size_type where = last ? slots_.size() : place(key);
    if (is_at(where, key)) return {iterator(slots_.begin() + where), false};
    typename region_vector<entry>::iterator made = nullptr;
    if constexpr (sizeof...(Args) <= 1) {
      made = slots_.try_emplace(slots_.begin() + where, key, args...);
    } else {
      // The arguments may be part of entries that move below.
      region_detail::staged_value<V> fresh(slots_.situ_region());
      if (!fresh.make([&args...](V& value) { return region_detail::store_all(value, args...); })) {
        return {end(), false};
      }
      made = slots_.try_emplace(slots_.begin() + where, key);
      if (made != nullptr) {
        region_detail::release(made->second);
        fresh.move_to(&made->second);
      }
    }
    return made == nullptr ? std::pair{end(), false} : std::pair{iterator(made), true};
  }
  template <class R>
  [[nodiscard]] bool situ_store(R&& range) {
    if constexpr (std::is_same_v<std::remove_cvref_t<R>, region_sorted_map>) {
      return slots_.try_assign_range(range.slots_);
    } else {
      return interface::situ_store(range);
    }
  }
  static std::string situ_kind() { return "flat_map"; }

 private:
  [[nodiscard]] size_type place(key_view key) const noexcept {
    return region_detail::lower_bound<region_detail::key_is_first>(slots_.data(), slots_.size(), key);
  }
  [[nodiscard]] bool is_at(size_type where, key_view key) const noexcept {
    return where < slots_.size() && traits::of(slots_[where].first) == key;
  }

  friend region_detail::over_slots<region_sorted_map>;
  region_vector<entry> slots_;
};

}  // namespace situ
