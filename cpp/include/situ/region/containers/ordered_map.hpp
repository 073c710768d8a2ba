// region_ordered_map<K, V>: a B-tree of entries within a region.
#pragma once

#include <cstdint>
#include <utility>

#include "situ/region/detail/map_interface.hpp"
#include "situ/region/detail/tree_image.hpp"
#include "situ/region/detail/tree_iterator.hpp"

namespace situ {

/// A map in ascending order of its keys, with the interface of std::map, for maps that are too large to move
/// all entries on insertion. Iterators give references to key and value. The next insertion or erasure
/// invalidates iterators and references.
template <class K, class V>
class region_ordered_map : public region_detail::map_interface<region_ordered_map<K, V>, K, V> {
  using entry = region_entry<K, V>;
  using tree = region_detail::tree<entry, K, region_detail::key_is_first>;
  using interface = region_detail::map_interface<region_ordered_map, K, V>;

 public:
  using size_type = std::size_t;
  using iterator = region_detail::tree_iterator<tree, region_detail::entry_reference<K, V>>;
  using const_iterator = region_detail::tree_iterator<tree, region_detail::entry_reference<K, const V>>;
  using reverse_iterator = std::reverse_iterator<iterator>;
  using const_reverse_iterator = std::reverse_iterator<const_iterator>;
  using key_view = typename interface::key_view;
  using situ_region_container = region_ordered_map;
  using situ_tree = tree;
  SITU_REGION_ASSIGNMENTS(region_ordered_map)

  [[nodiscard]] size_type size() const noexcept { return tree_.size(); }
  [[nodiscard]] iterator begin() noexcept { return {tree_, tree_.front()}; }
  [[nodiscard]] iterator end() noexcept { return {tree_, {}}; }
  [[nodiscard]] const_iterator begin() const noexcept { return {tree_, tree_.front()}; }
  [[nodiscard]] const_iterator end() const noexcept { return {tree_, {}}; }
  [[nodiscard]] iterator find(key_view key) noexcept { return {tree_, tree_.find(key)}; }
  [[nodiscard]] const_iterator find(key_view key) const noexcept { return {tree_, tree_.find(key)}; }
  [[nodiscard]] iterator lower_bound(key_view key) noexcept {
    return {tree_, tree_.template bound<false>(key)};
  }
  [[nodiscard]] const_iterator lower_bound(key_view key) const noexcept {
    return {tree_, tree_.template bound<false>(key)};
  }
  [[nodiscard]] iterator upper_bound(key_view key) noexcept {
    return {tree_, tree_.template bound<true>(key)};
  }
  [[nodiscard]] const_iterator upper_bound(key_view key) const noexcept {
    return {tree_, tree_.template bound<true>(key)};
  }

  size_type erase(key_view key) noexcept { return tree_.erase(key); }
  iterator erase(const_iterator at) noexcept { return {tree_, tree_.erase_at(at.place())}; }
  iterator erase(const_iterator first, const_iterator last) noexcept {
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
  template <class... Args>
  [[nodiscard]] std::pair<iterator, bool> situ_insert(key_view key, const Args&... args) {
    bool is_new = false;
    const auto place = tree_.insert(key, is_new, [&](entry& slot) {
      return region_detail::store(slot.first, key) && region_detail::store_all(slot.second, args...);
    });
    return {iterator(tree_, place), is_new};
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
  static std::string situ_kind() { return "ordered_map"; }

 private:
  tree tree_;
};

}  // namespace situ
