// region_hash_map<K, V>: a hash map within a region.
#pragma once

#include <cstdint>
#include <string>
#include <utility>

#include "situ/region/detail/hash_table.hpp"
#include "situ/region/detail/map_interface.hpp"

namespace situ {

/// A map with the interface of std::unordered_map. Iterates in the order of insertion; the last entry takes
/// the place of an erased one. Iterators give references to key and value. Strings are looked up by
/// string_view.
template <class K, class V>
class region_hash_map : public region_detail::map_interface<region_hash_map<K, V>, K, V>,
                        public region_detail::hash_container<region_hash_map<K, V>> {
  using entry = region_entry<K, V>;
  using table = region_detail::hash_table<entry, K, region_detail::key_is_first>;
  using interface = region_detail::map_interface<region_hash_map, K, V>;

 public:
  using size_type = std::size_t;
  using iterator = region_detail::hash_iterator<table, region_detail::entry_reference<K, V>>;
  using const_iterator =
      region_detail::hash_iterator<const table, region_detail::entry_reference<K, const V>>;
  using key_view = typename interface::key_view;
  using situ_region_container = region_hash_map;
  SITU_REGION_ASSIGNMENTS(region_hash_map)

  [[nodiscard]] iterator begin() noexcept { return {&slots_, 0}; }
  [[nodiscard]] iterator end() noexcept { return {&slots_, slots_.size()}; }
  [[nodiscard]] const_iterator begin() const noexcept { return {&slots_, 0}; }
  [[nodiscard]] const_iterator end() const noexcept { return {&slots_, slots_.size()}; }
  [[nodiscard]] iterator find(key_view key) noexcept {
    const std::uint32_t slot = slots_.find(key);
    return slot == table::none ? end() : iterator(&slots_, slot);
  }
  [[nodiscard]] const_iterator find(key_view key) const noexcept {
    const std::uint32_t slot = slots_.find(key);
    return slot == table::none ? end() : const_iterator(&slots_, slot);
  }
  size_type erase(key_view key) noexcept { return slots_.erase_key(key); }
  /// Returns the place of the erased one, where the last entry is now.
  iterator erase(const_iterator at) noexcept {
    const std::uint32_t slot = at.slot();
    slots_.erase(slot);
    return {&slots_, slot};
  }
  iterator erase(const_iterator first, const_iterator last) noexcept {
    return {&slots_, slots_.erase_between(first.slot(), last.slot())};
  }

  // The interface for walks over a region.
  template <class Predicate>
  size_type situ_erase_if(const Predicate& is_gone) {
    return slots_.erase_if([&is_gone](entry& each) {
      return is_gone(region_detail::entry_reference<K, V>{each.first, each.second});
    });
  }
  template <class... Args>
  [[nodiscard]] std::pair<iterator, bool> situ_insert(key_view key, const Args&... args) {
    bool is_new = false;
    const std::uint32_t slot = slots_.insert(key, is_new, [&](entry& made) {
      return region_detail::store(made.first, key) && region_detail::store_all(made.second, args...);
    });
    return {slot == table::none ? end() : iterator(&slots_, slot), is_new};
  }
  static std::string situ_kind() { return "hash_map"; }

 private:
  friend region_detail::over_slots<region_hash_map>;
  table slots_;
};

}  // namespace situ
