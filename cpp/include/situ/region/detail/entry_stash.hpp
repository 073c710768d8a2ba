// The reference that an iterator over a map gives: a pair of references, which the iterator keeps, so that
// loops bind it by `auto&` too.
#pragma once

#include <compare>
#include <cstddef>
#include <iterator>
#include <memory>
#include <type_traits>
#include <utility>

namespace situ::region_detail {

/// The references to key and value. Entries of a region are not pairs.
template <class K, class V>
using entry_reference = std::pair<const K&, V&>;
/// The result of `->` of an iterator over a map.
template <class Reference>
class entry_pointer {
 public:
  explicit entry_pointer(const Reference& to) noexcept : to_(to) {}
  [[nodiscard]] const Reference* operator->() const noexcept { return &to_; }

 private:
  Reference to_;
};

/// The pair to which the reference of an iterator leads. It stays valid until the same iterator is
/// dereferenced again, changed or destroyed; what the pair refers to stays valid longer. A temporary iterator
/// gives the pair by value: `*std::ranges::prev(it)`. Copies of an iterator do not share the pair.
template <class Pair>
class entry_stash {
  static_assert(std::is_trivially_destructible_v<Pair>);

 public:
  entry_stash() noexcept : none_() {}
  entry_stash(const entry_stash&) noexcept : none_() {}
  entry_stash& operator=(const entry_stash&) noexcept { return *this; }
  ~entry_stash() = default;

  [[nodiscard]] const Pair& put(const Pair& pair) const noexcept { return *std::construct_at(&pair_, pair); }

 private:
  union {
    char none_;
    mutable Pair pair_;
  };
};

/// The base of an iterator over slots: what it makes of a slot. For sets, a reference to the slot.
template <class Reference>
class slot_reference {
 protected:
  using reference = Reference;
  template <class Slot>
  [[nodiscard]] static Reference make(Slot& slot) noexcept {
    return slot;
  }
  template <class Slot>
  [[nodiscard]] static reference to(Slot& slot) noexcept {
    return slot;
  }
  template <class Slot>
  [[nodiscard]] static auto* pointer_to(Slot& slot) noexcept {
    return &static_cast<Reference>(slot);
  }
};
/// For maps, a pair of references.
template <class K, class V>
class slot_reference<std::pair<K, V>> {
 public:
  using situ_stash = entry_stash<std::pair<K, V>>;

 protected:
  using reference = const std::pair<K, V>&;
  template <class Slot>
  [[nodiscard]] static std::pair<K, V> make(Slot& slot) noexcept {
    return {slot.first, slot.second};
  }
  template <class Slot>
  [[nodiscard]] reference to(Slot& slot) const noexcept {
    return stash_.put(make(slot));
  }
  template <class Slot>
  [[nodiscard]] static entry_pointer<std::pair<K, V>> pointer_to(Slot& slot) noexcept {
    return entry_pointer<std::pair<K, V>>(make(slot));
  }

 private:
  situ_stash stash_;
};

/// Iterators that give references into themselves.
template <class It>
concept stashing = requires {
  typename It::situ_stash;
};

}  // namespace situ::region_detail

/// The primary template would give a reference into an iterator that ends with the call.
template <class It>
requires situ::region_detail::stashing<It>
class std::reverse_iterator<It> {
 public:
  using iterator_type = It;
  using iterator_concept = typename It::iterator_concept;
  using iterator_category = typename It::iterator_category;
  using value_type = std::iter_value_t<It>;
  using difference_type = std::iter_difference_t<It>;
  using pointer = typename It::pointer;
  using reference = std::iter_reference_t<It>;
  using situ_stash = typename It::situ_stash;

  reverse_iterator() noexcept = default;
  explicit reverse_iterator(It at) noexcept : at_(at) {}
  template <class Other>
  requires(!std::is_same_v<Other, It> && std::is_convertible_v<const Other&, It>)
      // NOLINTNEXTLINE(google-explicit-constructor): as the primary template.
      reverse_iterator(const reverse_iterator<Other>& other)
  noexcept : at_(other.base()) {}

  [[nodiscard]] It base() const noexcept { return at_; }
  [[nodiscard]] reference operator*() const& noexcept { return stash_.put(here()); }
  [[nodiscard]] value_type operator*() const&& noexcept { return here(); }
  [[nodiscard]] pointer operator->() const noexcept { return pointer(here()); }
  [[nodiscard]] reference operator[](difference_type step) const& noexcept {
    return stash_.put(*(*this + step));
  }
  [[nodiscard]] value_type operator[](difference_type step) const&& noexcept { return *(*this + step); }
  reverse_iterator& operator++() noexcept {
    --at_;
    return *this;
  }
  reverse_iterator operator++(int) noexcept { return reverse_iterator(at_--); }
  reverse_iterator& operator--() noexcept {
    ++at_;
    return *this;
  }
  reverse_iterator operator--(int) noexcept { return reverse_iterator(at_++); }
  reverse_iterator& operator+=(difference_type step) noexcept {
    at_ -= step;
    return *this;
  }
  reverse_iterator& operator-=(difference_type step) noexcept {
    at_ += step;
    return *this;
  }
  [[nodiscard]] reverse_iterator operator+(difference_type step) const noexcept {
    return reverse_iterator(at_ - step);
  }
  [[nodiscard]] reverse_iterator operator-(difference_type step) const noexcept {
    return reverse_iterator(at_ + step);
  }

 private:
  [[nodiscard]] value_type here() const noexcept {
    It at = at_;
    return *It(--at);
  }

  It at_{};
  [[no_unique_address]] situ_stash stash_;
};
