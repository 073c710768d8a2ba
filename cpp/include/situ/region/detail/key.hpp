// The keys of sets and maps in a region: their order and their hash, which the format fixes, and the entries
// of maps.
#pragma once

#include <bit>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <iterator>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>

#include "situ/region/containers/string.hpp"
#include "situ/region/detail/element_iterator.hpp"
#include "situ/region/detail/entry_stash.hpp"
#include "situ/support/total_order.hpp"

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

/// A key that is looked up by a copy of it, which stays valid when the key's place moves.
template <class K, class View>
struct copied_key {
  using view = View;
  static view of(const K& key) noexcept { return key; }
  class kept {
   public:
    explicit kept(const K& key) noexcept : key_(key) {}
    [[nodiscard]] view view_of() const noexcept { return key_; }

   private:
    K key_;
  };
};

/// A floating-point number or a character as a key. Two are equal if their bits are. Numbers are in the total
/// order of IEEE 754, and characters in that of their bytes.
template <class T>
class ordered_number {
 public:
  using bits = std::conditional_t<sizeof(T) == 8, std::uint64_t,
                                  std::conditional_t<sizeof(T) == 4, std::uint32_t, std::uint8_t>>;

  // NOLINTNEXTLINE(google-explicit-constructor): keys are looked up by numbers.
  constexpr ordered_number(T number) noexcept : number_(number) {}
  explicit constexpr operator T() const noexcept { return number_; }

  [[nodiscard]] constexpr bits as_bits() const noexcept { return std::bit_cast<bits>(number_); }
  friend constexpr bool operator==(ordered_number a, ordered_number b) noexcept {
    return a.as_bits() == b.as_bits();
  }
  friend constexpr std::strong_ordering operator<=>(ordered_number a, ordered_number b) noexcept {
    return a.rank() <=> b.rank();
  }

 private:
  /// A number in whose order the keys are.
  [[nodiscard]] constexpr bits rank() const noexcept {
    if constexpr (sizeof(T) == 1) {
      return as_bits();
    } else {
      return detail::total_rank(number_);
    }
  }

  T number_;
};

/// The type by which a key is looked up, compared and hashed.
template <class K>
struct key_traits : copied_key<K, K> {};
template <class K>
requires(std::is_floating_point_v<K> || std::is_same_v<number_of<K>, char>) struct key_traits<K>
    : copied_key<K, ordered_number<K>> {
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
    [[nodiscard]] std::string_view view_of() const noexcept { return text_; }

   private:
    std::string_view text_;
    char short_[region_string::inline_capacity];
  };
};
template <class K>
using key_view = typename key_traits<K>::view;

/// The types of the views of a struct's or array's parts, and functions with these.
template <class K>
struct key_parts;
template <described K>
struct key_parts<K> {
  static constexpr std::size_t count = member_count<K>;
  template <std::size_t I>
  using part = decltype(type_of(std::get<I>(members_of<K>)));
  template <std::size_t I, class T>
  static auto& get(T& key) noexcept {
    return std::get<I>(members_of<K>).of(key);
  }
};
template <array K>
struct key_parts<K> {
  static constexpr std::size_t count = std::tuple_size_v<K>;
  template <std::size_t I>
  using part = typename array_traits<K>::element;
  template <std::size_t I, class T>
  static auto& get(T& key) noexcept {
    return std::get<I>(key);
  }
};

/// A struct or an array as a key: the views of its parts, which are compared in order.
template <class K, class Places = std::make_index_sequence<key_parts<K>::count>>
class parts_key;
template <class K, std::size_t... I>
class parts_key<K, std::index_sequence<I...>> {
  using parts = key_parts<K>;
  template <std::size_t N>
  using traits = key_traits<typename parts::template part<N>>;
  using views = std::tuple<typename traits<I>::view...>;

 public:
  /// The struct or array that such a view can be stored in.
  using situ_key = K;

  // NOLINTNEXTLINE(google-explicit-constructor): keys are looked up by keys.
  parts_key(const K& key) noexcept : views_(traits<I>::of(parts::template get<I>(key))...) {}
  /// From values of all members: `map.find({7, "name"})`.
  template <class... Values>
  requires(sizeof...(Values) == sizeof...(I) && sizeof...(I) > 1 &&
           (std::is_convertible_v<const Values&, typename traits<I>::view> && ...))
      parts_key(const Values&... values)
  noexcept : views_(static_cast<typename traits<I>::view>(values)...) {}

  /// From the views of all parts.
  [[nodiscard]] static parts_key situ_of(const typename traits<I>::view&... of) noexcept {
    return parts_key(views(of...), nullptr);
  }
  /// Stores the key. Returns false if there is no room for a string in it.
  [[nodiscard]] bool situ_put(K& key) const {
    return (store(parts::template get<I>(key), std::get<I>(views_)) && ...);
  }
  /// Calls `visit` with the view of each part.
  template <class Visit>
  void situ_each(const Visit& visit) const {
    (visit(std::get<I>(views_)), ...);
  }
  friend bool operator==(const parts_key&, const parts_key&) noexcept = default;
  friend auto operator<=>(const parts_key&, const parts_key&) noexcept = default;

  class kept {
   public:
    explicit kept(const K& key) noexcept : parts_(parts::template get<I>(key)...) {}
    [[nodiscard]] parts_key view_of() const noexcept {
      return parts_key(views(std::get<I>(parts_).view_of()...), nullptr);
    }

   private:
    std::tuple<typename traits<I>::kept...> parts_;
  };

 private:
  parts_key(const views& of, std::nullptr_t) noexcept : views_(of) {}

  views views_;
};
template <class K>
requires described<K> || array<K>
struct key_traits<K> {
  using view = parts_key<K>;
  static view of(const K& key) noexcept { return view(key); }
  using kept = typename view::kept;
};

/// Returns the index of the first of `count` elements whose key is not greater than the key before it, or
/// `count` if all keys ascend. `KeyOf::of` finds the key of an element.
template <class KeyOf, class T>
std::size_t first_not_ascending(const T* elements, std::size_t count) noexcept {
  using K = std::remove_cvref_t<decltype(KeyOf::of(*elements))>;
  using traits = key_traits<K>;
  if constexpr (scalar<K>) {
    // No branch per element, because nearly always all keys are in order.
    bool ascending = true;
    for (std::size_t i = 1; i < count; ++i) {
      ascending &= traits::of(KeyOf::of(elements[i - 1])) < traits::of(KeyOf::of(elements[i]));
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

/// A number at any address.
template <class N>
N read_as(const char* at) noexcept {
  N number;
  std::memcpy(&number, at, sizeof(N));
  return number;
}
/// One to seven bytes as a number.
inline std::uint64_t few(const char* at, unsigned count) noexcept {
  const auto both = [at, count]<class N>(N first) {
    const auto last = std::uint64_t{read_as<N>(at + (count - sizeof(N)))};
    return first | last << (8 * (count - sizeof(N)));
  };
  if (count >= 4) return both(read_as<std::uint32_t>(at));
  if (count >= 2) return both(read_as<std::uint16_t>(at));
  return static_cast<unsigned char>(*at);
}

/// Returns the hash of a key, with the seed of a table.
template <class V>
std::uint64_t hash_of(const V& key, std::uint32_t seed) noexcept {
  if constexpr (std::is_same_v<V, std::string_view>) {
    std::uint64_t h = mix(hash_start(seed) + key.size());
    const char* const end = key.data() + key.size();
    const char* at = key.data();
    for (; end - at >= 8; at += 8) h = mix(h ^ read_as<std::uint64_t>(at));
    const auto rest = static_cast<unsigned>(end - at);
    if (rest == 0) return h;
    // Reads that may overlap, because a copy of so few bytes is a call. In longer text: the last eight bytes,
    // without those of the word before.
    return mix(h ^ (key.size() >= 8 ? read_as<std::uint64_t>(end - 8) >> (64 - 8 * rest) : few(at, rest)));
  } else if constexpr (requires { key.as_bits(); }) {
    return mix(hash_start(seed) + key.as_bits());
  } else if constexpr (requires { typename V::situ_key; }) {
    std::uint64_t h = mix(hash_start(seed) + key_parts<typename V::situ_key>::count);
    key.situ_each([&h, seed](const auto& part) { h = mix(h ^ hash_of(part, seed)); });
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

/// Iterates over the entries of a sorted map. `V` is const for const maps.
template <class K, class V>
class flat_iterator {
  using entry = std::conditional_t<std::is_const_v<V>, const region_entry<K, std::remove_const_t<V>>,
                                   region_entry<K, V>>;

 public:
  using iterator_concept = std::random_access_iterator_tag;
  using iterator_category = std::random_access_iterator_tag;
  using value_type = entry_reference<K, V>;
  using difference_type = std::ptrdiff_t;
  using pointer = entry_pointer<value_type>;
  using reference = const value_type&;
  using situ_stash = entry_stash<value_type>;

  flat_iterator() noexcept = default;
  explicit flat_iterator(element_iterator<entry> at) noexcept : at_(at) {}
  operator flat_iterator<K, const V>() const noexcept requires(!std::is_const_v<V>) {
    return flat_iterator<K, const V>(at_);
  }

  reference operator*() const& noexcept { return stash_.put({at_->first, at_->second}); }
  value_type operator*() const&& noexcept { return {at_->first, at_->second}; }
  pointer operator->() const noexcept { return pointer({at_->first, at_->second}); }
  reference operator[](difference_type step) const& noexcept { return stash_.put(*(*this + step)); }
  value_type operator[](difference_type step) const&& noexcept { return *(*this + step); }
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
  [[nodiscard]] entry* address() const noexcept { return std::to_address(at_); }
  [[nodiscard]] element_iterator<entry> situ_place() const noexcept { return at_; }

 private:
  element_iterator<entry> at_ = nullptr;
  situ_stash stash_;
};

}  // namespace region_detail
}  // namespace situ
