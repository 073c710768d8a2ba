// The common part of region_ordered_map and region_ordered_set.
#pragma once

#include <cstddef>
#include <iterator>

#include "situ/region/detail/map_interface.hpp"
#include "situ/region/detail/over_slots.hpp"
#include "situ/region/detail/tree_image.hpp"
#include "situ/region/detail/tree_iterator.hpp"

namespace situ::region_detail {

template <class K, class V>
using map_tree = tree<region_entry<K, V>, K, key_is_first>;
template <class K>
using set_tree = tree<K, K, key_is_slot>;

/// The common part of ordered sets and maps, over their tree `slots_`. Iterators give the two references.
template <class Self, class Tree, class Reference, class ConstReference>
class tree_container : public over_slots<Self> {
 public:
  using size_type = std::size_t;
  using iterator = tree_iterator<Tree, Reference>;
  using const_iterator = tree_iterator<Tree, ConstReference>;
  using reverse_iterator = std::reverse_iterator<iterator>;
  using const_reverse_iterator = std::reverse_iterator<const_iterator>;
  using key_view = typename Tree::view;
  using situ_tree = Tree;

  [[nodiscard]] size_type size() const noexcept { return slots().size(); }
  [[nodiscard]] iterator begin() noexcept { return {slots(), slots().front()}; }
  [[nodiscard]] iterator end() noexcept { return {slots(), {}}; }
  [[nodiscard]] const_iterator begin() const noexcept { return {slots(), slots().front()}; }
  [[nodiscard]] const_iterator end() const noexcept { return {slots(), {}}; }
  [[nodiscard]] iterator find(key_view key) noexcept { return {slots(), slots().find(key)}; }
  [[nodiscard]] const_iterator find(key_view key) const noexcept { return {slots(), slots().find(key)}; }
  [[nodiscard]] iterator lower_bound(key_view key) noexcept {
    return {slots(), slots().template bound<false>(key)};
  }
  [[nodiscard]] const_iterator lower_bound(key_view key) const noexcept {
    return {slots(), slots().template bound<false>(key)};
  }
  [[nodiscard]] iterator upper_bound(key_view key) noexcept {
    return {slots(), slots().template bound<true>(key)};
  }
  [[nodiscard]] const_iterator upper_bound(key_view key) const noexcept {
    return {slots(), slots().template bound<true>(key)};
  }

  size_type erase(key_view key) noexcept { return slots().erase(key); }
  iterator erase(const_iterator at) noexcept { return {slots(), slots().erase_at(at.place())}; }
  iterator erase(const_iterator first, const_iterator last) noexcept {
    auto here = first.place();
    for (auto count = std::ranges::distance(first, last); count != 0; --count) {
      here = slots().erase_at(here);
    }
    return {slots(), here};
  }
  void clear() noexcept { slots().situ_release(); }
  /// Trims all nodes.
  void shrink_to_fit() noexcept { slots().shrink(); }

  // The interface for walks over a region.
  template <class Predicate>
  size_type situ_erase_if(const Predicate& is_gone) {
    return erase_each_if(static_cast<Self&>(*this), is_gone);
  }

 private:
  using over_slots<Self>::slots;
};

}  // namespace situ::region_detail
