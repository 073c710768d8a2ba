// The packed forms of sets and maps: all keys, then all values.
//
// Keys ascend. Those of a large hash table are in buckets by their hash, and ascend in each bucket. A bucket
// is searched by bisection, so keys with equal hashes cost no more than those of a sorted map.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <iterator>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "situ/region/containers/hash_map.hpp"
#include "situ/region/containers/hash_set.hpp"
#include "situ/region/containers/ordered_map.hpp"
#include "situ/region/containers/ordered_set.hpp"
#include "situ/region/containers/sorted_map.hpp"
#include "situ/region/containers/sorted_set.hpp"
#include "situ/region/packed/containers.hpp"

namespace situ {
namespace region_detail {

/// The value of a set's key.
struct packed_no_value {
  static constexpr std::uint32_t size = 0;
  static constexpr std::uint32_t align = 1;
};

/// The keys and values of a set or map, and whether it is a hash table.
template <class C>
struct packed_keyed;
template <class K, class V, bool Hashed>
struct packed_keyed_of {
  using key = K;
  using value = V;
  static constexpr bool is_hashed = Hashed;
};
template <class K>
struct packed_keyed<region_sorted_set<K>> : packed_keyed_of<K, void, false> {};
template <class K>
struct packed_keyed<region_ordered_set<K>> : packed_keyed_of<K, void, false> {};
template <class K>
struct packed_keyed<region_hash_set<K>> : packed_keyed_of<K, void, true> {};
template <class K, class V>
struct packed_keyed<region_sorted_map<K, V>> : packed_keyed_of<K, V, false> {};
template <class K, class V>
struct packed_keyed<region_ordered_map<K, V>> : packed_keyed_of<K, V, false> {};
template <class K, class V>
struct packed_keyed<region_hash_map<K, V>> : packed_keyed_of<K, V, true> {};

template <class C>
concept packed_set_or_map = requires {
  typename packed_keyed<C>::key;
};

/// The place of a part of a struct or array.
template <class K>
constexpr std::uint32_t packed_part_place(std::size_t part) noexcept {
  if constexpr (array<K>) {
    return static_cast<std::uint32_t>(part) * packed_form<typename array_traits<K>::element>::size;
  } else {
    return packed_places<K>::all.places[part];
  }
}

/// The key at a place of a checked image.
template <class K>
key_view<K> packed_key(const std::byte* at) noexcept {
  if constexpr (std::is_same_v<K, region_string>) {
    return packed_text(at);
  } else if constexpr (packed_same<K>) {
    K key;
    std::memcpy(static_cast<void*>(&key), at, sizeof(key));
    return key_traits<K>::of(key);
  } else {
    return [at]<std::size_t... I>(std::index_sequence<I...>) {
      return key_view<K>::situ_of(
          packed_key<typename key_parts<K>::template part<I>>(at + packed_part_place<K>(I))...);
    }
    (std::make_index_sequence<key_parts<K>::count>());
  }
}

/// The parts of a set or map, as offsets from an aligned place: the first key of each bucket as a number, the
/// keys, and the values.
template <class C>
struct packed_parts {
  using K = typename packed_keyed<C>::key;
  using V = typename packed_keyed<C>::value;
  static constexpr bool is_map = !std::is_void_v<V>;
  static constexpr bool is_hashed = packed_keyed<C>::is_hashed;
  using key_form = packed_form<K>;
  static constexpr std::uint32_t value_size = [] {
    if constexpr (is_map)
      return packed_form<V>::size;
    else
      return std::uint32_t{0};
  }();
  static constexpr std::uint32_t value_align = [] {
    if constexpr (is_map)
      return packed_form<V>::align;
    else
      return std::uint32_t{1};
  }();
  /// The greatest number of keys of a hash table without buckets, and the number of keys for each bucket.
  static constexpr std::uint32_t undivided = 8;
  static constexpr std::uint32_t per_bucket = 4;

  std::uint32_t count = 0;
  std::uint32_t buckets = 0;
  std::uint64_t starts = 0;
  std::uint64_t keys = 0;
  std::uint64_t values = 0;
  std::uint64_t end = 0;

  /// The parts of `count` keys behind `begin`.
  packed_parts(std::uint64_t begin, std::uint32_t count_of_keys) noexcept : count(count_of_keys) {
    if (is_hashed && count > undivided) buckets = count / per_bucket + (count % per_bucket != 0 ? 1 : 0);
    starts = buckets == 0 ? begin : aligned_to(begin, 4);
    keys = aligned_to(starts + std::uint64_t{buckets} * 4, key_form::align);
    values = aligned_to(keys + std::uint64_t{count} * key_form::size, value_align);
    end = values + std::uint64_t{count} * value_size;
  }
  [[nodiscard]] std::uint64_t key_at(std::uint32_t index) const noexcept {
    return keys + std::uint64_t{index} * key_form::size;
  }
  [[nodiscard]] std::uint64_t value_at(std::uint32_t index) const noexcept {
    return values + std::uint64_t{index} * value_size;
  }
  [[nodiscard]] std::uint32_t bucket(const key_view<K>& key) const noexcept {
    return static_cast<std::uint32_t>(((hash_of(key, 0) >> 32) * buckets) >> 32);
  }
};

/// The parts of a set or map of a checked image.
template <class C>
class packed_table {
 public:
  using parts = packed_parts<C>;
  using K = typename parts::K;

  explicit packed_table(const std::byte* at) noexcept : packed_table(packed_counted(at)) {}

  [[nodiscard]] std::uint32_t count() const noexcept { return parts_.count; }
  [[nodiscard]] key_view<K> key(std::uint32_t index) const noexcept {
    return packed_key<K>(base_ + parts_.key_at(index));
  }
  [[nodiscard]] const std::byte* value_at(std::uint32_t index) const noexcept {
    return base_ + parts_.value_at(index);
  }
  /// The position of a key; the number of keys if there is none.
  [[nodiscard]] std::uint32_t find(const key_view<K>& wanted) const noexcept {
    std::uint32_t low = 0;
    std::uint32_t high = count();
    if (parts_.buckets != 0) {
      const std::uint32_t bucket = parts_.bucket(wanted);
      low = start(bucket);
      high = start(bucket + 1);
    }
    while (low < high) {
      const std::uint32_t middle = low + (high - low) / 2;
      const key_view<K> found = key(middle);
      if (found < wanted) {
        low = middle + 1;
      } else if (wanted < found) {
        high = middle;
      } else {
        return middle;
      }
    }
    return count();
  }

 private:
  /// Counted from a multiple of 16 before it, the parts lie as they do from the header.
  explicit packed_table(const packed_length& counted) noexcept
      : base_(counted.behind - reinterpret_cast<std::uintptr_t>(counted.behind) % granule),
        parts_(static_cast<std::uint64_t>(counted.behind - base_), counted.length) {}

  [[nodiscard]] std::uint32_t start(std::uint32_t bucket) const noexcept {
    return bucket < parts_.buckets ? packed_word(base_ + parts_.starts + std::uint64_t{bucket} * 4) : count();
  }

  const std::byte* base_;
  parts parts_;
};

template <packed_set_or_map C>
struct packed_form<C> : packed_linked_form<C> {
  using parts = packed_parts<C>;
  using K = typename parts::K;
  using V = typename parts::V;
  static constexpr bool is_link = true;
  static constexpr bool is_map = parts::is_map;
  static constexpr bool has_deeper = [] {
    if constexpr (is_map)
      return has_links<K> || has_links<V>;
    else
      return has_links<K>;
  }();

  static bool is_empty(const C& value) noexcept { return value.empty(); }

  static void put(packed_writer& writer, std::uint32_t at, const C& value) {
    if (value.empty()) return;
    writer.counted(at, static_cast<std::uint32_t>(value.size()));
    const std::uint64_t begin = writer.end();
    const parts of(begin, static_cast<std::uint32_t>(value.size()));
    static_cast<void>(writer.room(of.end - begin, 1));
    if constexpr (has_deeper) {
      writer.behind([&writer, begin, from = &value] { put_entries(writer, begin, *from); });
    } else {
      put_entries(writer, begin, value);
    }
  }

  [[nodiscard]] static bool check(checker<true>& check, std::uint32_t at) {
    if (packed_word(check.at(at)) == 0) return true;
    std::uint32_t begin = 0;
    std::uint32_t count = 0;
    if (!check.packed_link(at, 1, begin) || !check.packed_length(1, count)) return false;
    begin = check.cursor();
    const parts of(begin, count);
    std::uint32_t place = 0;
    const auto zero = [&check](std::uint64_t from, std::uint64_t to) {
      return check.zero(static_cast<std::uint32_t>(from), static_cast<std::uint32_t>(to));
    };
    if (!check.packed_room(at, of.end - begin, 1, place) || !zero(begin, of.starts) ||
        !zero(of.starts + std::uint64_t{of.buckets} * 4, of.keys) || !zero(of.key_at(count), of.values)) {
      return false;
    }
    if constexpr (has_deeper) {
      return check.deeper([&check, at, begin, count] { return check_entries(check, at, begin, count); });
    } else {
      return check_entries(check, at, begin, count);
    }
  }

  [[nodiscard]] static bool unpack(packed_reader& reader, C& to, const std::byte* from) {
    const packed_table<C> table(from);
    if (table.count() == 0) return true;
    if constexpr (requires { to.try_reserve(table.count()); }) {
      if (!to.try_reserve(table.count())) return false;
    }
    for (std::uint32_t i = 0; i < table.count(); ++i) {
      const auto made = to.situ_insert(table.key(i));
      if (made.first == to.end()) return false;
      if constexpr (is_map) {
        if constexpr (packed_same<V>) {
          if (!packed_form<V>::unpack(reader, made.first.address()->second, table.value_at(i))) return false;
        }
      }
    }
    if constexpr (is_map) {
      if constexpr (!packed_same<V>) {
        return reader.behind([&reader, of = &to, from] { return unpack_values(reader, *of, from); });
      }
    }
    return true;
  }

 private:
  struct entry {
    std::uint32_t bucket;
    const K* key;
    const void* value;
    [[nodiscard]] key_view<K> view() const noexcept { return key_traits<K>::of(*key); }
  };
  static void put_entries(packed_writer& writer, std::uint64_t begin, const C& from) {
    const parts of(begin, static_cast<std::uint32_t>(from.size()));
    std::vector<entry> entries;
    entries.reserve(from.size());
    for (auto&& each : from) {
      if constexpr (is_map) {
        entries.push_back({0, &each.first, &each.second});
      } else {
        entries.push_back({0, &each, nullptr});
      }
    }
    if constexpr (parts::is_hashed) {
      if (of.buckets != 0) {
        for (entry& each : entries) each.bucket = of.bucket(each.view());
      }
      std::sort(entries.begin(), entries.end(), [](const entry& a, const entry& b) {
        return a.bucket != b.bucket ? a.bucket < b.bucket : a.view() < b.view();
      });
      std::uint32_t start = 0;
      for (std::uint32_t bucket = 0; bucket < of.buckets; ++bucket) {
        writer.put_u32(of.starts + std::uint64_t{bucket} * 4, start);
        while (start < of.count && entries[start].bucket == bucket) ++start;
      }
    }
    for (std::uint32_t i = 0; i < of.count; ++i) {
      packed_form<K>::put(writer, static_cast<std::uint32_t>(of.key_at(i)), *entries[i].key);
    }
    if constexpr (is_map) {
      for (std::uint32_t i = 0; i < of.count; ++i) {
        packed_form<V>::put(writer, static_cast<std::uint32_t>(of.value_at(i)),
                            *static_cast<const V*>(entries[i].value));
      }
    }
  }

  [[nodiscard]] static bool check_entries(checker<true>& check, std::uint32_t at, std::uint32_t begin,
                                          std::uint32_t count) {
    const parts of(begin, count);
    if constexpr (!(packed_same<K> && is_plain<K> && is_dense<K>)) {
      for (std::uint32_t i = 0; i < count; ++i) {
        if (packed_form<K>::check(check, static_cast<std::uint32_t>(of.key_at(i)))) continue;
        if constexpr (is_map) check.enter_member("key");
        return check.enter_element(i);
      }
    }
    if (!check_order(check, at, of)) return false;
    if constexpr (is_map) {
      if constexpr (packed_same<V> && is_plain<V> && is_dense<V>) {
        return true;
      } else {
        for (std::uint32_t i = 0; i < count; ++i) {
          if (packed_form<V>::check(check, static_cast<std::uint32_t>(of.value_at(i)))) continue;
          check.enter_member("value");
          return check.enter_element(i);
        }
      }
    }
    return true;
  }
  [[nodiscard]] static bool check_order(checker<true>& check, std::uint32_t at, const parts& of) {
    const auto key = [&](std::uint32_t index) {
      return packed_key<K>(check.at(static_cast<std::uint32_t>(of.key_at(index))));
    };
    if (of.buckets == 0) {
      for (std::uint32_t i = 1; i < of.count; ++i) {
        if (!(key(i - 1) < key(i))) return check.fail(region_problem::not_sorted, at, i);
      }
      return true;
    }
    const auto start = [&](std::uint32_t bucket) {
      return packed_word(check.at(static_cast<std::uint32_t>(of.starts + std::uint64_t{bucket} * 4)));
    };
    std::uint32_t next = 0;
    std::uint32_t before = 0;
    for (std::uint32_t i = 0; i < of.count; ++i) {
      const std::uint32_t bucket = of.bucket(key(i));
      const bool is_next = i == 0 || bucket > before || (bucket == before && key(i - 1) < key(i));
      // All buckets up to this one begin here.
      while (next <= bucket && is_next && start(next) == i) ++next;
      if (!is_next || next != bucket + 1) return check.fail(region_problem::not_hashed, at, i);
      before = bucket;
    }
    for (; next < of.buckets; ++next) {
      if (start(next) != of.count) return check.fail(region_problem::not_hashed, at, of.count);
    }
    return true;
  }

  [[nodiscard]] static bool unpack_values(packed_reader& reader, C& to, const std::byte* from) {
    const packed_table<C> table(from);
    std::uint32_t i = 0;
    // The entries are in the order of the image: that of the keys, or of insertion.
    for (auto&& each : to) {
      if (!packed_form<V>::unpack(reader, each.second, table.value_at(i++))) return false;
    }
    return true;
  }
};

/// Iterates over the keys of a set, or over pairs of keys and values.
template <class C>
class packed_keyed_iterator {
  using parts = packed_parts<C>;
  using table = packed_table<C>;

  template <bool IsMap, class P>
  struct element {
    using type = key_view<typename P::K>;
  };
  template <class P>
  struct element<true, P> {
    using type = std::pair<key_view<typename P::K>, packed_view<typename P::V>>;
  };

 public:
  using iterator_concept = std::bidirectional_iterator_tag;
  using iterator_category = std::input_iterator_tag;
  using value_type = typename element<parts::is_map, parts>::type;
  using difference_type = std::ptrdiff_t;
  using pointer = void;
  using reference = value_type;

  packed_keyed_iterator() noexcept = default;
  packed_keyed_iterator(const std::byte* at, std::uint32_t index) noexcept : at_(at), index_(index) {}

  [[nodiscard]] reference operator*() const noexcept {
    const table of(at_);
    if constexpr (parts::is_map) {
      return {of.key(index_), packed_form<typename parts::V>::see(of.value_at(index_))};
    } else {
      return of.key(index_);
    }
  }
  packed_keyed_iterator& operator++() noexcept {
    ++index_;
    return *this;
  }
  packed_keyed_iterator operator++(int) noexcept { return {at_, index_++}; }
  packed_keyed_iterator& operator--() noexcept {
    --index_;
    return *this;
  }
  packed_keyed_iterator operator--(int) noexcept { return {at_, index_--}; }
  friend bool operator==(const packed_keyed_iterator&, const packed_keyed_iterator&) noexcept = default;

 private:
  const std::byte* at_ = nullptr;
  std::uint32_t index_ = 0;
};

}  // namespace region_detail

/// A set or map of a packed image. Iteration gives keys, or pairs of keys and values; those of a hash table
/// in the order of the image, all others ascending.
template <region_detail::packed_set_or_map C>
class packed_ref<C> {
  using parts = region_detail::packed_parts<C>;
  using table = region_detail::packed_table<C>;

 public:
  using key_view = region_detail::key_view<typename parts::K>;
  using iterator = region_detail::packed_keyed_iterator<C>;
  using const_iterator = iterator;

  explicit packed_ref(const std::byte* at) noexcept : at_(at) {}

  [[nodiscard]] std::size_t size() const noexcept { return region_detail::packed_counted(at_).length; }
  [[nodiscard]] bool empty() const noexcept { return size() == 0; }
  [[nodiscard]] iterator begin() const noexcept { return {at_, 0}; }
  [[nodiscard]] iterator end() const noexcept { return {at_, static_cast<std::uint32_t>(size())}; }
  [[nodiscard]] iterator find(key_view key) const noexcept { return {at_, table(at_).find(key)}; }
  [[nodiscard]] bool contains(key_view key) const noexcept {
    const table of(at_);
    return of.find(key) != of.count();
  }
  /// The value of a key. Throws `std::out_of_range` if there is none.
  [[nodiscard]] decltype(auto) at(key_view key) const requires parts::is_map {
    const table of(at_);
    const std::uint32_t found = of.find(key);
    if (found == of.count()) detail::raise_out_of_range("no such key in the map of a packed image");
    return region_detail::packed_form<typename parts::V>::see(of.value_at(found));
  }

 private:
  const std::byte* at_;
};

}  // namespace situ
