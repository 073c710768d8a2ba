// What the maps of a region have in common, whatever they are made of; and what the sets have.
#pragma once

#include <cstddef>
#include <optional>
#include <ranges>
#include <utility>

#include "situ/region/key.hpp"
#include "situ/region/staged.hpp"

namespace situ::region_detail {

/// Becomes a set or map of what a range holds, which `insert(container, element)` adds one by one, and says
/// whether there was room. It is built beside the old one, of which the range may be made; a failure changes
/// nothing.
template <class Self, class R, class Insert>
[[nodiscard]] bool replace_by(Self& self, const R& range, const Insert& insert) {
  auto at = std::ranges::begin(range);
  const auto end = std::ranges::end(range);
  if (at == end) {  // for which no memory is needed
    self.clear();
    return true;
  }
  staged_value<Self> fresh(self.situ_region());
  const bool made = fresh.make([&](Self& to) {
    // Where each element has a key of its own, it is known how many there will be.
    if constexpr (std::ranges::sized_range<const R> && requires(std::size_t count) {
                    typename R::key_type;
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

/// The interface of std::map that follows from three operations of `Self`: `find`, `erase` and
/// `situ_insert(key, args...)`, which gives the entry's iterator, or the end when there is no room, and
/// whether it is new. Iterators have `address()`.
template <class Self, class K, class V>
class map_interface {
 public:
  using key_type = K;
  using mapped_type = V;
  using value_type = region_entry<K, V>;
  using size_type = std::size_t;
  /// What keys are looked up by: the key itself, or a string_view.
  using key_view = region_detail::key_view<K>;

  map_interface() noexcept = default;
  map_interface(const map_interface&) = delete;
  map_interface& operator=(const map_interface&) = delete;

  [[nodiscard]] bool empty() const noexcept { return self().size() == 0; }
  [[nodiscard]] bool contains(key_view key) const noexcept { return self().find(key) != self().end(); }
  [[nodiscard]] size_type count(key_view key) const noexcept { return contains(key) ? 1 : 0; }
  [[nodiscard]] V& at(key_view key) {
    const auto found = self().find(key);
    if (found == self().end()) detail::raise_out_of_range("no such key in the map of a region");
    return found.address()->second;
  }
  [[nodiscard]] const V& at(key_view key) const { return const_cast<map_interface*>(this)->at(key); }

  /// The value of a key, made from the arguments if the key is new; null, and unchanged, when there is no
  /// room. And whether it is new.
  template <class... Args>
  [[nodiscard]] std::pair<V*, bool> try_insert(key_view key, const Args&... args) {
    const auto [place, is_new] = self().situ_insert(key, args...);
    return {place == self().end() ? nullptr : &place.address()->second, is_new};
  }
  /// As std::map: nothing happens when the key is there. The value is made from the arguments.
  template <class... Args>
  auto try_emplace(key_view key, const Args&... args) {
    const auto done = self().situ_insert(key, args...);
    if (done.first != self().end()) return done;
    return *in_larger(&self(), self().situ_region(), [&](auto& here, const auto&) {
      auto again = here.situ_insert(key, args...);
      return again.first == here.end() ? std::nullopt : std::optional(again);
    });
  }
  template <class... Args>
  auto emplace(key_view key, const Args&... args) {
    return try_emplace(key, args...);
  }
  template <class U>
  [[nodiscard]] bool try_insert_or_assign(key_view key, const U& value) {
    const auto [place, is_new] = try_insert(key, value);
    return place != nullptr && (is_new || store(*place, value));
  }
  template <class U>
  void insert_or_assign(key_view key, const U& value) {
    if (try_insert_or_assign(key, value)) return;
    in_larger(&self(), self().situ_region(),
              [&](auto& here, const auto&) { return here.try_insert_or_assign(key, value); });
  }
  V& operator[](key_view key) {
    V* const value = try_insert(key).first;
    if (value != nullptr) return *value;
    return *in_larger(&self(), self().situ_region(),
                      [&](auto& here, const auto&) { return here.try_insert(key).first; });
  }

  friend bool operator==(const Self& a, const Self& b) {
    if (a.size() != b.size()) return false;
    for (const auto& [key, value] : a) {
      const auto other = b.find(key_traits<K>::of(key));
      if (other == b.end() || !equal(other.address()->second, value)) return false;
    }
    return true;
  }

  // What the walks over a region call.
  static consteval bool has_links() { return true; }
  template <class R>
  [[nodiscard]] bool situ_store(const R& range) {
    if constexpr (std::is_same_v<R, Self>) {
      if (&range == &self()) return true;
    }
    return replace_by(self(), range, [](Self& to, const auto& element) {
      const auto& [key, value] = element;
      return to.try_insert_or_assign(key, value);
    });
  }

 private:
  [[nodiscard]] Self& self() noexcept { return static_cast<Self&>(*this); }
  [[nodiscard]] const Self& self() const noexcept { return static_cast<const Self&>(*this); }
};

/// The same for sets.
template <class Self, class K>
class set_interface {
 public:
  using key_type = K;
  using value_type = K;
  using size_type = std::size_t;
  /// What keys are looked up by: the key itself, or a string_view.
  using key_view = region_detail::key_view<K>;

  set_interface() noexcept = default;
  set_interface(const set_interface&) = delete;
  set_interface& operator=(const set_interface&) = delete;

  [[nodiscard]] bool empty() const noexcept { return self().size() == 0; }
  [[nodiscard]] bool contains(key_view key) const noexcept { return self().find(key) != self().end(); }
  [[nodiscard]] size_type count(key_view key) const noexcept { return contains(key) ? 1 : 0; }

  /// The key in the set (null, and unchanged, when there is no room), and whether it is new.
  [[nodiscard]] std::pair<const K*, bool> try_insert(key_view key) {
    const auto [place, is_new] = self().situ_insert(key);
    return {place == self().end() ? nullptr : &*place, is_new};
  }
  auto insert(key_view key) {
    const auto done = self().situ_insert(key);
    if (done.first != self().end()) return done;
    return *in_larger(&self(), self().situ_region(), [&](auto& here, const auto&) {
      auto again = here.situ_insert(key);
      return again.first == here.end() ? std::nullopt : std::optional(again);
    });
  }
  auto emplace(key_view key) { return insert(key); }

  friend bool operator==(const Self& a, const Self& b) {
    if (a.size() != b.size()) return false;
    for (const K& key : a) {
      if (!b.contains(key_traits<K>::of(key))) return false;
    }
    return true;
  }

  // What the walks over a region call.
  static consteval bool has_links() { return true; }
  template <class R>
  [[nodiscard]] bool situ_store(const R& range) {
    if constexpr (std::is_same_v<R, Self>) {
      if (&range == &self()) return true;
    }
    return replace_by(self(), range,
                      [](Self& to, const auto& key) { return to.try_insert(key).first != nullptr; });
  }

 private:
  [[nodiscard]] Self& self() noexcept { return static_cast<Self&>(*this); }
  [[nodiscard]] const Self& self() const noexcept { return static_cast<const Self&>(*this); }
};

}  // namespace situ::region_detail

/// What assigning to a set or map of a region means: copying what another one or any range holds, which may
/// be part of this very one. Where there is no room for all, it is as it was.
#define SITU_REGION_ASSIGNMENTS(Self)                                                                       \
  Self() noexcept = default;                                                                                \
  Self(const Self&) = delete;                                                                               \
  Self& operator=(const Self& other) {                                                                      \
    if (this->situ_store(other)) return *this;                                                              \
    return *region_detail::in_larger(this, this->situ_region(), [&](auto& here, const auto& moved) {        \
      return here.situ_store(moved(other)) ? &here : nullptr;                                               \
    });                                                                                                     \
  }                                                                                                         \
  template <class R>                                                                                        \
  requires(!std::is_same_v<R, Self>) && std::ranges::input_range<const R> Self& operator=(const R& range) { \
    if (this->situ_store(range)) return *this;                                                              \
    return *region_detail::in_larger(this, this->situ_region(), [&](auto& here, const auto&) {              \
      return here.situ_store(range) ? &here : nullptr;                                                      \
    });                                                                                                     \
  }
