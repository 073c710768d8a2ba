// region_ordered_set<K>: a B-tree of keys within a region.
#pragma once

#include <string>
#include <utility>

#include "situ/region/detail/tree_container.hpp"

namespace situ {

/// A set in ascending order, with the interface of std::set, for sets that are too large to move all keys on
/// insertion. The next insertion or erasure invalidates iterators.
template <class K>
class region_ordered_set
    : public region_detail::set_interface<region_ordered_set<K>, K>,
      public region_detail::tree_container<region_ordered_set<K>, region_detail::set_tree<K>, const K&,
                                           const K&> {
  using interface = region_detail::set_interface<region_ordered_set, K>;
  using container = typename region_ordered_set::tree_container;

 public:
  using size_type = std::size_t;
  using typename container::iterator;
  using key_view = typename interface::key_view;
  using situ_region_container = region_ordered_set;
  SITU_REGION_ASSIGNMENTS(region_ordered_set)

  // The interface for walks over a region.
  [[nodiscard]] std::pair<iterator, bool> situ_insert(key_view key) {
    bool is_new = false;
    const auto place = slots_.insert(key, is_new, [key](K& slot) { return region_detail::store(slot, key); });
    return {iterator(slots_, place), is_new};
  }
  static std::string situ_kind() { return "ordered_set"; }

 private:
  friend region_detail::over_slots<region_ordered_set>;
  region_detail::set_tree<K> slots_;
};

}  // namespace situ
