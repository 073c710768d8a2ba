// region_ordered_map<K, V>: a B-tree of entries within a region.
#pragma once

#include <string>
#include <utility>

#include "situ/region/detail/tree_container.hpp"

namespace situ {

/// A map in ascending order of its keys, with the interface of std::map, for maps that are too large to move
/// all entries on insertion. Iterators give references to key and value. The next insertion or erasure
/// invalidates iterators and references.
template <class K, class V>
class region_ordered_map
    : public region_detail::map_interface<region_ordered_map<K, V>, K, V>,
      public region_detail::tree_container<region_ordered_map<K, V>, region_detail::map_tree<K, V>,
                                           region_detail::entry_reference<K, V>,
                                           region_detail::entry_reference<K, const V>> {
  using interface = region_detail::map_interface<region_ordered_map, K, V>;
  using container = typename region_ordered_map::tree_container;

 public:
  using size_type = std::size_t;
  using typename container::iterator;
  using key_view = typename interface::key_view;
  using situ_region_container = region_ordered_map;
  SITU_REGION_ASSIGNMENTS(region_ordered_map)

  // The interface for walks over a region.
  template <class... Args>
  [[nodiscard]] std::pair<iterator, bool> situ_insert(key_view key, const Args&... args) {
    bool is_new = false;
    const auto place = slots_.insert(key, is_new, [&](region_entry<K, V>& slot) {
      return region_detail::store(slot.first, key) && region_detail::store_all(slot.second, args...);
    });
    return {iterator(slots_, place), is_new};
  }
  static std::string situ_kind() { return "ordered_map"; }

 private:
  friend region_detail::over_slots<region_ordered_map>;
  region_detail::map_tree<K, V> slots_;
};

}  // namespace situ
