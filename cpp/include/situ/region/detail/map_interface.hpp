// The common interface of all maps of a region, and that of all sets.
#pragma once

#include <algorithm>
#include <cstddef>
#include <initializer_list>
#include <iterator>
#include <optional>
#include <ranges>
#include <string>
#include <utility>

#include "situ/region/detail/argument.hpp"
#include "situ/region/detail/key.hpp"
#include "situ/region/detail/ranges.hpp"
#include "situ/region/detail/swap.hpp"
#include "situ/support/iteration.hpp"

namespace situ::region_detail {

/// Replaces a set or map by the elements of a range. `insert(container, element)` adds one element and
/// returns whether there was room. Of elements with the same key the first is used, as for std::map. The
/// result is built beside the old container, because the range may be part of it; a failure changes nothing.
template <class Self, class R, class Insert>
[[nodiscard]] bool replace_by(Self& self, R& range, const Insert& insert) {
  auto at = std::ranges::begin(range);
  const auto end = std::ranges::end(range);
  if (at == end) {  // for which no memory is needed
    self.clear();
    return true;
  }
  staged_value<Self> fresh(self.situ_region());
  const bool made = fresh.make([&](Self& to) {
    // If all elements have different keys, the number of entries is known.
    if constexpr (std::ranges::sized_range<R> && requires(std::size_t count) {
                    typename std::remove_const_t<R>::key_type;
                    to.try_reserve(count);
                  }) {
      if (!to.try_reserve(static_cast<std::size_t>(std::ranges::size(range)))) return false;
    }
    for (; at != end; ++at) {
      if (!insert(to, *at)) return false;
    }
    return true;
  });
  if (!made) return false;
  self.situ_release();
  fresh.move_to(&self);
  return true;
}

/// Adds the elements of a range with new keys: all of them or none. `insert(container, element)` returns
/// whether there was room. New elements are first collected outside the container.
template <class Self, class R, class KeyOf, class Insert>
[[nodiscard]] bool insert_all(Self& self, R& range, const KeyOf& key_of, const Insert& insert) {
  const auto is_new = [&](const auto& element) { return !self.contains(key_of(element)); };
  if (std::ranges::none_of(range, is_new)) return true;  // for which no memory is needed
  staged_value<Self> fresh(self.situ_region());
  const bool gathered = fresh.make([&](Self& to) {
    for (const auto& element : range) {
      if (is_new(element) && !insert(to, element)) return false;
    }
    return true;
  });
  if (!gathered) return false;
  for (const auto& element : std::as_const(*fresh)) {
    if (insert(self, element)) continue;
    for (const auto& added : std::as_const(*fresh)) self.erase(key_of(added));
    return false;
  }
  return true;
}

/// The range of a key, as the result of `equal_range`.
template <class C, class View>
[[nodiscard]] auto places_of(C& container, const View& key) noexcept {
  if constexpr (requires { container.lower_bound(key); }) {
    return std::pair(container.lower_bound(key), container.upper_bound(key));
  } else {
    const auto first = container.find(key);
    auto last = first;
    if (first != container.end()) ++last;
    return std::pair(first, last);
  }
}

/// Erases each element for which `is_gone` is true, and returns their number.
template <class Self, class Predicate>
std::size_t erase_each_if(Self& self, const Predicate& is_gone) {
  std::size_t gone = 0;
  for (auto at = self.begin(); at != self.end();) {
    if (is_gone(*at)) {
      at = self.erase(at);
      ++gone;
    } else {
      ++at;
    }
  }
  return gone;
}

/// The common part of the interfaces of maps and sets: it follows from `size`, `find`, `situ_insert` and
/// `try_insert_range` of `Self`.
template <class Self, class K>
class keyed_interface : public detail::iteration<Self> {
 public:
  using key_type = K;
  using size_type = std::size_t;
  /// The type for lookup: the key itself, or a string_view.
  using key_view = region_detail::key_view<K>;

  keyed_interface() noexcept = default;
  keyed_interface(const keyed_interface&) = delete;
  keyed_interface& operator=(const keyed_interface&) = delete;

  [[nodiscard]] bool empty() const noexcept { return self().size() == 0; }
  [[nodiscard]] bool contains(key_view key) const noexcept { return self().find(key) != self().end(); }
  [[nodiscard]] size_type count(key_view key) const noexcept { return contains(key) ? 1 : 0; }
  [[nodiscard]] auto equal_range(key_view key) noexcept { return places_of(self(), key); }
  [[nodiscard]] auto equal_range(key_view key) const noexcept { return places_of(self(), key); }

  template <std::ranges::forward_range R>
  void insert_range(R&& range) {
    if (self().try_insert_range(range)) return;
    in_larger(self().situ_region(), [&] { return self().try_insert_range(range); });
  }
  template <std::forward_iterator It>
  [[nodiscard]] bool try_insert(It first, It last) {
    return self().try_insert_range(region_detail::between{first, last});
  }
  template <std::forward_iterator It>
  void insert(It first, It last) {
    insert_range(region_detail::between{first, last});
  }
  /// Exchanges two containers of one region, as `situ::swap` does.
  void swap(Self& other) { situ::swap(self(), other); }

  /// As std::erase_if: returns the number of erased entries.
  template <class Predicate>
  friend size_type erase_if(Self& container, const Predicate& is_gone) {
    return container.situ_erase_if(is_gone);
  }

  // The interface for walks over a region.
  static consteval bool has_links() { return true; }

 protected:
  using detail::iteration<Self>::self;

  /// `situ_insert`, in a larger region if there is no room in this one.
  template <class... Args>
  auto insert_new(key_view key, const Args&... args) {
    const auto done = self().situ_insert(key, args...);
    if (done.first != self().end()) return done;
    return *in_larger(self().situ_region(), [&] {
      auto again = self().situ_insert(key, args...);
      return again.first == self().end() ? std::nullopt : std::optional(again);
    });
  }
};

/// The argument for an entry of a map.
template <class E>
concept entry_like = requires(const E& entry) {
  entry.first;
  entry.second;
};
/// An iterator of a container.
template <class It, class C>
concept place_in = std::is_convertible_v<It, typename C::const_iterator>;

/// The parts of the interface of std::map that follow from three operations of `Self`: `find`, `erase` and
/// `situ_insert(key, args...)`. The last returns the entry's iterator (the end if there is no room) and
/// whether the entry is new. Iterators have `address()`.
template <class Self, class K, class V>
class map_interface : public keyed_interface<Self, K> {
  using common = keyed_interface<Self, K>;
  using common::self;

 public:
  using mapped_type = V;
  using typename common::key_view;
  /// The argument for entries, also in braces. Iterators give pairs of references.
  using value_type = std::pair<key_view, argument_of<V>>;

  using common::insert;
  using common::try_insert;

  [[nodiscard]] V& at(key_view key) {
    const auto found = self().find(key);
    if (found == self().end()) detail::raise_out_of_range("no such key in the map of a region");
    return found.address()->second;
  }
  [[nodiscard]] const V& at(key_view key) const { return const_cast<map_interface*>(this)->at(key); }
  /// Returns the value of a key, or null.
  [[nodiscard]] V* try_at(key_view key) noexcept {
    const auto found = self().find(key);
    return found == self().end() ? nullptr : &found.address()->second;
  }
  [[nodiscard]] const V* try_at(key_view key) const noexcept {
    return const_cast<map_interface*>(this)->try_at(key);
  }

  /// Returns the value of a key, made from the arguments if the key is new, and whether it is new. Returns
  /// null and changes nothing if there is no room.
  template <class... Args>
  [[nodiscard]] std::pair<V*, bool> try_insert(key_view key, const Args&... args) {
    const auto [place, is_new] = self().situ_insert(key, args...);
    return {place == self().end() ? nullptr : &place.address()->second, is_new};
  }
  /// As for std::map: does nothing when the key exists. The value is made from the arguments.
  template <class... Args>
  auto try_emplace(key_view key, const Args&... args) {
    return this->insert_new(key, args...);
  }
  template <class... Args>
  auto emplace(key_view key, const Args&... args) {
    return try_emplace(key, args...);
  }
  /// Inserts an entry, or any value with `first` and `second`. Does nothing when the key exists.
  template <entry_like Entry>
  auto insert(const Entry& entry) {
    return try_emplace(entry.first, entry.second);
  }
  auto insert(const value_type& entry) { return try_emplace(entry.first, entry.second); }
  template <entry_like Entry>
  [[nodiscard]] std::pair<V*, bool> try_insert(const Entry& entry) {
    return try_insert(key_view_of(entry.first), entry.second);
  }
  [[nodiscard]] std::pair<V*, bool> try_insert(const value_type& entry) {
    return try_insert(entry.first, entry.second);
  }
  /// The same with a hint, as for std::map. The hint is ignored.
  template <class Hint, entry_like Entry>
  requires place_in<Hint, Self>
  auto insert(const Hint& /*hint*/, const Entry& entry) { return insert(entry).first; }
  template <class Hint>
  requires place_in<Hint, Self>
  auto insert(const Hint& /*hint*/, const value_type& entry) { return insert(entry).first; }
  template <class Hint, class... Args>
  requires place_in<Hint, Self>
  auto emplace_hint(const Hint& /*hint*/, key_view key, const Args&... args) {
    return try_emplace(key, args...).first;
  }
  /// Inserts the entries of a range whose keys are new. Without room for all of them, nothing changes.
  template <std::ranges::forward_range R>
  [[nodiscard]] bool try_insert_range(R&& range) {
    return insert_all(
        self(), range, [](const auto& entry) { return key_view_of(entry.first); },
        [](Self& to, const auto& entry) {
          return to.try_insert(key_view_of(entry.first), entry.second).first != nullptr;
        });
  }
  template <class U>
  [[nodiscard]] bool try_insert_or_assign(key_view key, const U& value) {
    return situ_insert_or_assign(key, value).has_value();
  }
  [[nodiscard]] bool try_insert(std::initializer_list<value_type> entries) {
    return try_insert_range(entries);
  }
  void insert(std::initializer_list<value_type> entries) { this->insert_range(entries); }
  /// As for std::map: the entry, and whether it is new.
  template <class U>
  auto insert_or_assign(key_view key, const U& value) {
    const auto done = situ_insert_or_assign(key, value);
    if (done) return *done;
    return *in_larger(self().situ_region(), [&] { return self().situ_insert_or_assign(key, value); });
  }
  V& operator[](key_view key) {
    V* const value = try_insert(key).first;
    if (value != nullptr) return *value;
    return *in_larger(self().situ_region(), [&] { return self().try_insert(key).first; });
  }
  friend bool operator==(const Self& a, const Self& b) {
    if (a.size() != b.size()) return false;
    for (const auto& [key, value] : a) {
      const auto other = b.find(key_traits<K>::of(key));
      if (other == b.end() || !equal(other.address()->second, value)) return false;
    }
    return true;
  }

  // The interface for walks over a region.
  template <class R>
  [[nodiscard]] bool situ_store(R&& range) {
    if constexpr (std::is_same_v<std::remove_cvref_t<R>, Self>) {
      if (&range == &self()) return true;
    }
    return replace_by(self(), range, [](Self& to, const auto& element) {
      const auto& [key, value] = element;
      return to.try_insert(key_view_of(key), value).first != nullptr;
    });
  }
  /// Returns the entry, and whether it is new. Returns nothing and changes nothing if there is no room.
  template <class U>
  [[nodiscard]] auto situ_insert_or_assign(key_view key, const U& value) {
    const auto [place, is_new] = self().situ_insert(key, value);
    const bool done = place != self().end() &&
                      (is_new || store_whole(self().situ_region(), place.address()->second, value));
    return done ? std::optional(std::pair(place, is_new)) : std::nullopt;
  }
  template <class Lines>
  static void situ_lines(Lines& lines, const std::string& path) {
    lines.template add_entry<region_entry<K, V>>(path + "[]");
  }
  template <class Visit>
  static constexpr void situ_needs(Visit& visit) {
    visit.template need<K>();
    visit.template need<V>();
  }

 private:
  template <class Key>
  [[nodiscard]] static key_view key_view_of(const Key& key) noexcept {
    return static_cast<key_view>(key);
  }
};

/// The same for sets.
template <class Self, class K>
class set_interface : public keyed_interface<Self, K> {
  using common = keyed_interface<Self, K>;
  using common::self;

 public:
  using typename common::key_view;
  /// The argument for keys.
  using value_type = key_view;

  using common::insert;
  using common::try_insert;

  /// Returns the key in the set, and whether it is new. Returns null and changes nothing if there is no room.
  [[nodiscard]] std::pair<const K*, bool> try_insert(key_view key) {
    const auto [place, is_new] = self().situ_insert(key);
    return {place == self().end() ? nullptr : &*place, is_new};
  }
  auto insert(key_view key) { return this->insert_new(key); }
  auto emplace(key_view key) { return insert(key); }
  /// The same with a hint, as for std::set. The hint is ignored.
  template <class Hint>
  requires place_in<Hint, Self>
  auto insert(const Hint& /*hint*/, key_view key) { return insert(key).first; }
  template <class Hint>
  requires place_in<Hint, Self>
  auto emplace_hint(const Hint& /*hint*/, key_view key) { return insert(key).first; }
  /// Inserts the new keys of a range. Without room for all of them, nothing changes.
  template <std::ranges::forward_range R>
  [[nodiscard]] bool try_insert_range(R&& range) {
    return insert_all(
        self(), range, [](const auto& key) { return static_cast<key_view>(key); },
        [](Self& to, const auto& key) { return to.try_insert(static_cast<key_view>(key)).first != nullptr; });
  }
  void insert(std::initializer_list<key_view> keys) { this->insert_range(keys); }
  [[nodiscard]] bool try_insert(std::initializer_list<key_view> keys) { return try_insert_range(keys); }

  friend bool operator==(const Self& a, const Self& b) {
    if (a.size() != b.size()) return false;
    for (const K& key : a) {
      if (!b.contains(key_traits<K>::of(key))) return false;
    }
    return true;
  }

  // The interface for walks over a region.
  template <class R>
  [[nodiscard]] bool situ_store(R&& range) {
    if constexpr (std::is_same_v<std::remove_cvref_t<R>, Self>) {
      if (&range == &self()) return true;
    }
    return replace_by(self(), range,
                      [](Self& to, const auto& key) { return to.try_insert(key).first != nullptr; });
  }
  template <class Lines>
  static void situ_lines(Lines& lines, const std::string& path) {
    lines.template add_value<K>(path + "[]", 0);
  }
  template <class Visit>
  static constexpr void situ_needs(Visit& visit) {
    visit.template need<K>();
  }
};

}  // namespace situ::region_detail

/// The assignments of sets and maps of a region: they copy another container or any range, which may be part
/// of this container. Without room for all elements, nothing changes.
#define SITU_REGION_ASSIGNMENTS(Self)                                                           \
  Self() noexcept = default;                                                                    \
  Self(const Self&) = delete;                                                                   \
  Self& operator=(const Self& other) {                                                          \
    if (this->situ_store(other)) return *this;                                                  \
    return *region_detail::in_larger(this->situ_region(),                                       \
                                     [&] { return this->situ_store(other) ? this : nullptr; }); \
  }                                                                                             \
  /** The same without exceptions: false, and unchanged, where there is no room. */             \
  template <std::ranges::input_range R>                                                         \
  [[nodiscard]] bool try_assign(R&& range) {                                                    \
    return this->situ_store(range);                                                             \
  }                                                                                             \
  [[nodiscard]] bool try_assign(std::initializer_list<typename interface::value_type> list) {   \
    return this->situ_store(list);                                                              \
  }                                                                                             \
  Self& operator=(std::initializer_list<typename interface::value_type> list) {                 \
    return this->template operator=<decltype(list)&>(list);                                     \
  }                                                                                             \
  template <class R>                                                                            \
  requires(!std::is_same_v<std::remove_cvref_t<R>, Self>) &&                                    \
      std::ranges::input_range<R> Self& operator=(R&& range) {                                  \
    if (this->situ_store(range)) return *this;                                                  \
    return *region_detail::in_larger(this->situ_region(),                                       \
                                     [&] { return this->situ_store(range) ? this : nullptr; }); \
  }
