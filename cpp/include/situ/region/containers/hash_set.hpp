// region_hash_set<K>: a hash set within a region.
#pragma once

#include <cstdint>
#include <string>
#include <utility>

#include "situ/region/detail/hash_table.hpp"
#include "situ/region/detail/map_interface.hpp"

namespace situ {

/// A set with the interface of std::unordered_set. Iterates in the order of insertion; the last key takes
/// the place of an erased one. Strings are looked up by string_view.
template <class K>
class region_hash_set : public region_detail::set_interface<region_hash_set<K>, K>,
                        public region_detail::hash_container<region_hash_set<K>> {
  using table = region_detail::hash_table<K, K, region_detail::key_is_slot>;
  using interface = region_detail::set_interface<region_hash_set, K>;

 public:
  using size_type = std::size_t;
  using const_iterator = region_detail::hash_iterator<const table, const K&>;
  using iterator = const_iterator;
  using key_view = typename interface::key_view;
  using situ_region_container = region_hash_set;
  SITU_REGION_ASSIGNMENTS(region_hash_set)

  [[nodiscard]] const_iterator begin() const noexcept { return {&slots_, 0}; }
  [[nodiscard]] const_iterator end() const noexcept { return {&slots_, slots_.size()}; }
  [[nodiscard]] const_iterator find(key_view key) const noexcept {
    const std::uint32_t slot = slots_.find(key);
    return slot == table::none ? end() : const_iterator(&slots_, slot);
  }
  size_type erase(key_view key) noexcept { return slots_.erase_key(key); }
  /// Returns the place of the erased one, where the last key is now.
  const_iterator erase(const_iterator at) noexcept {
    const std::uint32_t slot = at.slot();
    slots_.erase(slot);
    return {&slots_, slot};
  }
  const_iterator erase(const_iterator first, const_iterator last) noexcept {
    return {&slots_, slots_.erase_between(first.slot(), last.slot())};
  }

  // The interface for walks over a region.
  template <class Predicate>
  size_type situ_erase_if(const Predicate& is_gone) {
    return slots_.erase_if([&is_gone](const K& key) { return is_gone(key); });
  }
  [[nodiscard]] std::pair<const_iterator, bool> situ_insert(key_view key) {
    bool is_new = false;
    const std::uint32_t slot =
        slots_.insert(key, is_new, [key](K& made) { return region_detail::store(made, key); });
    return {slot == table::none ? end() : const_iterator(&slots_, slot), is_new};
  }
  static std::string situ_kind() { return "hash_set"; }

 private:
  friend region_detail::over_slots<region_hash_set>;
  table slots_;
};

}  // namespace situ
