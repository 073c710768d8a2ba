// region_ordered_set<K>: a B-tree of keys within a region.
#pragma once

#include <cstdint>
#include <utility>

#include "situ/region/detail/map_interface.hpp"
#include "situ/region/detail/tree_image.hpp"
#include "situ/region/detail/tree_iterator.hpp"

namespace situ {

/// A set in ascending order, with the interface of std::set, for sets that are too large to move all keys on
/// insertion. The next insertion or erasure invalidates iterators.
template <class K>
class region_ordered_set : public region_detail::set_interface<region_ordered_set<K>, K> {
  using tree = region_detail::tree<K, K, region_detail::key_is_slot>;
  using interface = region_detail::set_interface<region_ordered_set, K>;

 public:
  using size_type = std::size_t;
  using const_iterator = region_detail::tree_iterator<tree, const K&>;
  using iterator = const_iterator;
  using reverse_iterator = std::reverse_iterator<iterator>;
  using const_reverse_iterator = std::reverse_iterator<const_iterator>;
  using key_view = typename interface::key_view;
  using situ_region_container = region_ordered_set;
  using situ_tree = tree;
  SITU_REGION_ASSIGNMENTS(region_ordered_set)

  [[nodiscard]] size_type size() const noexcept { return tree_.size(); }
  [[nodiscard]] const_iterator begin() const noexcept { return {tree_, tree_.front()}; }
  [[nodiscard]] const_iterator end() const noexcept { return {tree_, {}}; }
  [[nodiscard]] const_iterator find(key_view key) const noexcept { return {tree_, tree_.find(key)}; }
  [[nodiscard]] const_iterator lower_bound(key_view key) const noexcept {
    return {tree_, tree_.template bound<false>(key)};
  }
  [[nodiscard]] const_iterator upper_bound(key_view key) const noexcept {
    return {tree_, tree_.template bound<true>(key)};
  }

  size_type erase(key_view key) noexcept { return tree_.erase(key); }
  const_iterator erase(const_iterator at) noexcept { return {tree_, tree_.erase_at(at.place())}; }
  const_iterator erase(const_iterator first, const_iterator last) noexcept {
    auto here = first.place();
    for (auto count = std::ranges::distance(first, last); count != 0; --count) here = tree_.erase_at(here);
    return {tree_, here};
  }
  void clear() noexcept { tree_.situ_release(); }
  /// Trims all nodes.
  void shrink_to_fit() noexcept { tree_.shrink(); }

  // The interface for walks over a region.
  template <class Predicate>
  size_type situ_erase_if(const Predicate& is_gone) {
    return region_detail::erase_each_if(*this, is_gone);
  }
  [[nodiscard]] std::pair<const_iterator, bool> situ_insert(key_view key) {
    bool is_new = false;
    const auto place = tree_.insert(key, is_new, [key](K& slot) { return region_detail::store(slot, key); });
    return {const_iterator(tree_, place), is_new};
  }
  [[nodiscard]] region_detail::header* situ_region() noexcept { return tree_.situ_region(); }
  void situ_attach(region_detail::header* h) noexcept { tree_.situ_attach(h); }
  void situ_moved(std::int32_t distance) noexcept { tree_.situ_moved(distance); }
  template <class Walk>
  void situ_compact(Walk& walk) noexcept {
    tree_.situ_compact(walk);
  }
  void situ_release() noexcept { tree_.situ_release(); }
  template <class Writer>
  void situ_write(Writer& writer, std::uint32_t at) const {
    tree_.situ_write(writer, at);
  }
  template <class Check>
  [[nodiscard]] bool situ_check(Check& check, std::uint32_t at) const {
    return tree_.situ_check(check, at);
  }
  static std::string situ_kind() { return "ordered_set"; }

 private:
  tree tree_;
};

}  // namespace situ
