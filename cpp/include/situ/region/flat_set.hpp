// region_flat_set<K>: a sorted vector of keys within a region.
#pragma once

#include <algorithm>
#include <cstdint>
#include <utility>

#include "situ/region/key.hpp"
#include "situ/region/vector.hpp"

namespace situ {

/// A set whose keys lie in ascending order, with the interface of std::set. Strings are looked up by
/// string_view.
template <class K>
class region_flat_set {
  using traits = region_detail::key_traits<K>;

 public:
  using key_type = K;
  using value_type = K;
  using size_type = std::size_t;
  using const_iterator = const K*;
  using iterator = const_iterator;
  /// What keys are looked up by: the key itself, or a string_view.
  using key_view = typename traits::view;
  using situ_region_container = region_flat_set;

  region_flat_set() noexcept = default;
  region_flat_set(const region_flat_set&) = delete;
  region_flat_set& operator=(const region_flat_set& other) = default;
  /// Copies the keys of another range, such as a standard one. Where there is no room for all, some are
  /// there.
  template <class R>
  requires(!std::is_same_v<R, region_flat_set>) &&
      std::ranges::input_range<const R> region_flat_set& operator=(const R& range) {
    if (!situ_store(range)) keys_.situ_raise();
    return *this;
  }

  [[nodiscard]] size_type size() const noexcept { return keys_.size(); }
  [[nodiscard]] bool empty() const noexcept { return keys_.empty(); }
  [[nodiscard]] const_iterator begin() const noexcept { return keys_.begin(); }
  [[nodiscard]] const_iterator end() const noexcept { return keys_.end(); }
  [[nodiscard]] const_iterator lower_bound(key_view key) const noexcept {
    return std::partition_point(begin(), end(), [key](const K& each) { return traits::of(each) < key; });
  }
  [[nodiscard]] const_iterator find(key_view key) const noexcept {
    const const_iterator at = lower_bound(key);
    return at != end() && traits::of(*at) == key ? at : end();
  }
  [[nodiscard]] bool contains(key_view key) const noexcept { return find(key) != end(); }
  [[nodiscard]] size_type count(key_view key) const noexcept { return contains(key) ? 1 : 0; }

  /// The key in the set (null when there is no room), and whether it is new.
  [[nodiscard]] std::pair<const_iterator, bool> try_insert(key_view key) {
    const const_iterator at = lower_bound(key);
    if (at != end() && traits::of(*at) == key) return {at, false};
    const const_iterator made = keys_.try_emplace(at, key);
    return {made, made != nullptr};
  }
  std::pair<const_iterator, bool> insert(key_view key) {
    const auto inserted = try_insert(key);
    if (inserted.first == nullptr) keys_.emplace_back(key);  // fails for the same reason, and says it
    return inserted;
  }
  const_iterator erase(const_iterator at) noexcept { return keys_.erase(at); }
  size_type erase(key_view key) noexcept {
    const const_iterator at = find(key);
    if (at == end()) return 0;
    keys_.erase(at);
    return 1;
  }
  void clear() noexcept { keys_.clear(); }
  void reserve(size_type count) { keys_.reserve(count); }
  void shrink_to_fit() noexcept { keys_.shrink_to_fit(); }

  friend bool operator==(const region_flat_set& a, const region_flat_set& b) { return a.keys_ == b.keys_; }

  // What the walks over a region call.
  static consteval bool has_links() { return true; }
  void situ_attach(region_detail::header* h) noexcept { keys_.situ_attach(h); }
  void situ_moved(std::int32_t distance) noexcept { keys_.situ_moved(distance); }
  void situ_release() noexcept { keys_.situ_release(); }
  template <class R>
  [[nodiscard]] bool situ_store(const R& range) {
    if constexpr (std::is_same_v<R, region_flat_set>) {
      return keys_.try_assign_range(range.keys_);
    } else {
      clear();
      for (const auto& key : range) {
        if (try_insert(key).first == nullptr) return false;
      }
      return true;
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

 private:
  region_vector<K> keys_;
};

}  // namespace situ
