// The keys of sets and maps in a region: their order and their hash, which the format fixes, and the entries
// of maps.
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <iterator>
#include <string_view>
#include <type_traits>
#include <utility>

#include "situ/region/containers/string.hpp"

namespace situ {

/// An entry of a map, in its layout in a region.
template <class K, class V>
struct region_entry {
  K first;
  V second;
};

template <class K, class V>
constexpr std::string_view situ_region_name(const region_entry<K, V>*) {
  return "entry";
}
// Values with bases are not of standard layout; see SITU_REGION_AS.
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Winvalid-offsetof"
template <class K, class V>
constexpr auto situ_region_members(const region_entry<K, V>*) {
  using entry = region_entry<K, V>;
  return std::tuple{region_detail::member<&entry::first, offsetof(entry, first)>{"key"},
                    region_detail::member<&entry::second, offsetof(entry, second)>{"value"}};
}
#pragma GCC diagnostic pop

namespace region_detail {

/// The type by which a key is looked up, compared and hashed.
template <class K>
struct key_traits {
  static_assert(scalar<K> && std::is_integral_v<number_of<K>> && !boolean<K> &&
                    !std::is_same_v<number_of<K>, char>,
                "the keys of sets and maps in a region are integers, enums of integers, and strings");
  using view = K;
  static view of(const K& key) noexcept { return key; }
  /// A copy of a key, which stays valid when the key's place moves.
  class kept {
   public:
    explicit kept(const K& key) noexcept : key_(key) {}
    [[nodiscard]] K view() const noexcept { return key_; }

   private:
    K key_;
  };
};
template <>
struct key_traits<region_string> {
  using view = std::string_view;
  static view of(const region_string& key) noexcept { return key.view(); }
  /// Copies text that lies in the string itself. A block does not move.
  class kept {
   public:
    explicit kept(const region_string& key) noexcept : text_(key.view()) {
      if (text_.size() > sizeof(short_)) return;
      std::memcpy(short_, text_.data(), text_.size());
      text_ = {short_, text_.size()};
    }
    kept(const kept&) = delete;
    kept& operator=(const kept&) = delete;
    ~kept() = default;
    [[nodiscard]] std::string_view view() const noexcept { return text_; }

   private:
    std::string_view text_;
    char short_[region_string::inline_capacity];
  };
};
template <class K>
using key_view = typename key_traits<K>::view;

/// Returns the index of the first of `count` elements whose key is not greater than the key before it, or
/// `count` if all keys ascend. `KeyOf::of` finds the key of an element.
template <class KeyOf, class T>
std::size_t first_not_ascending(const T* elements, std::size_t count) noexcept {
  using K = std::remove_cvref_t<decltype(KeyOf::of(*elements))>;
  using traits = key_traits<K>;
  if constexpr (!std::is_same_v<K, region_string>) {
    // No branch per element, because nearly always all keys are in order.
    bool ascending = true;
    for (std::size_t i = 1; i < count; ++i) {
      ascending &= KeyOf::of(elements[i - 1]) < KeyOf::of(elements[i]);
    }
    if (ascending) return count;
  }
  std::size_t i = 1;
  while (i < count && traits::of(KeyOf::of(elements[i - 1])) < traits::of(KeyOf::of(elements[i]))) ++i;
  return i < count ? i : count;
}

/// The finalizer of SplitMix64: each bit of the result depends on each bit of the argument.
constexpr std::uint64_t mix(std::uint64_t x) noexcept {
  x = (x ^ (x >> 30)) * 0xBF58'476D'1CE4'E5B9U;
  x = (x ^ (x >> 27)) * 0x94D0'49BB'1331'11EBU;
  return x ^ (x >> 31);
}
/// The initial value of the hash with a seed: a multiple of the fraction of the golden ratio.
constexpr std::uint64_t hash_start(std::uint32_t seed) noexcept {
  return 0x9E37'79B9'7F4A'7C15U * (std::uint64_t{seed} + 1);
}

/// Returns the hash of a key, with the seed of a table.
template <class V>
std::uint64_t hash_of(const V& key, std::uint32_t seed) noexcept {
  if constexpr (std::is_same_v<V, std::string_view>) {
    std::uint64_t h = mix(hash_start(seed) + key.size());
    std::size_t done = 0;
    for (; done < key.size(); done += 8) {
      std::uint64_t word = 0;
      std::memcpy(&word, key.data() + done, key.size() - done < 8 ? key.size() - done : 8);
      h = mix(h ^ word);
    }
    return h;
  } else {
    return mix(hash_start(seed) + static_cast<std::uint64_t>(key));  // sign-extended
  }
}

/// Finds the keys of elements: of sets (`key_is_slot`) and of maps (`key_is_first`).
struct key_is_slot {
  template <class K>
  static const K& of(const K& slot) noexcept {
    return slot;
  }
};
struct key_is_first {
  template <class K, class V>
  static const K& of(const region_entry<K, V>& slot) noexcept {
    return slot.first;
  }
};

/// Returns the position of a key among sorted elements, or the position at which it belongs. The direction of
/// each step cannot be predicted, so the search is written for code without branches.
template <class KeyOf, class E, class V>
std::size_t lower_bound(const E* elements, std::size_t count, const V& key) noexcept {
  const auto is_less = [&key](const E& element) {
    const auto& own = KeyOf::of(element);
    return key_traits<std::remove_cvref_t<decltype(own)>>::of(own) < key;
  };
  const E* first = elements;
  while (count > 1) {
    const std::size_t half = count / 2;
    first = is_less(first[half - 1]) ? first + half : first;
    count -= half;
  }
  const auto index = static_cast<std::size_t>(first - elements);
  return count == 1 && is_less(*first) ? index + 1 : index;
}

/// The reference type of map iterators: a pair of references, because entries are not pairs.
template <class K, class V>
using entry_reference = std::pair<const K&, V&>;
/// The result of `->` of such an iterator.
template <class Reference>
class entry_pointer {
 public:
  explicit entry_pointer(const Reference& to) noexcept : to_(to) {}
  [[nodiscard]] const Reference* operator->() const noexcept { return &to_; }

 private:
  Reference to_;
};

/// Iterates over the entries of a sorted map. `V` is const for const maps.
template <class K, class V>
class flat_iterator {
  using entry = std::conditional_t<std::is_const_v<V>, const region_entry<K, std::remove_const_t<V>>,
                                   region_entry<K, V>>;

 public:
  using iterator_concept = std::random_access_iterator_tag;
  using iterator_category = std::input_iterator_tag;
  using value_type = entry_reference<K, V>;
  using difference_type = std::ptrdiff_t;
  using pointer = entry_pointer<value_type>;
  using reference = value_type;

  flat_iterator() noexcept = default;
  explicit flat_iterator(entry* at) noexcept : at_(at) {}
  operator flat_iterator<K, const V>() const noexcept requires(!std::is_const_v<V>) {
    return flat_iterator<K, const V>(at_);
  }

  reference operator*() const noexcept { return {at_->first, at_->second}; }
  pointer operator->() const noexcept { return pointer(**this); }
  reference operator[](difference_type step) const noexcept { return *(*this + step); }
  flat_iterator& operator++() noexcept { return *this += 1; }
  flat_iterator operator++(int) noexcept { return flat_iterator(at_++); }
  flat_iterator& operator--() noexcept { return *this -= 1; }
  flat_iterator operator--(int) noexcept { return flat_iterator(at_--); }
  flat_iterator& operator+=(difference_type step) noexcept {
    at_ += step;
    return *this;
  }
  flat_iterator& operator-=(difference_type step) noexcept {
    at_ -= step;
    return *this;
  }
  flat_iterator operator+(difference_type step) const noexcept { return flat_iterator(at_ + step); }
  flat_iterator operator-(difference_type step) const noexcept { return flat_iterator(at_ - step); }
  friend flat_iterator operator+(difference_type step, const flat_iterator& at) noexcept { return at + step; }
  difference_type operator-(const flat_iterator& other) const noexcept { return at_ - other.at_; }
  friend bool operator==(const flat_iterator& a, const flat_iterator& b) noexcept { return a.at_ == b.at_; }
  friend auto operator<=>(const flat_iterator& a, const flat_iterator& b) noexcept { return a.at_ <=> b.at_; }
  /// The address of the entry.
  [[nodiscard]] entry* address() const noexcept { return at_; }

 private:
  entry* at_ = nullptr;
};

}  // namespace region_detail
}  // namespace situ
