// The hash table of region_hash_set and region_hash_map. Its bytes depend only on its content and capacity,
// not on the order of insertions and erasures.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <cstring>
#include <iterator>
#include <utility>
#include <vector>

#include "situ/region/detail/key.hpp"
#include "situ/region/detail/later.hpp"
#include "situ/region/detail/over_slots.hpp"
#include "situ/region/detail/reflect.hpp"
#include "situ/region/detail/staged.hpp"

namespace situ::region_detail {

/// Open addressing with linear probing. The block holds u32 hash[capacity], 0 for an empty slot, and then the
/// slots. Along a run of occupied slots the home slots ascend, and so do the keys within one home. An entry
/// that is farther from its home, or has the smaller key, comes first. `Key::of` finds the key of a `Slot`.
template <class Slot, class K, class KeyOf>
class hash_table {
 public:
  using traits = key_traits<K>;
  using view = typename traits::view;
  static constexpr std::uint32_t smallest = 4;
  static constexpr std::uint32_t none = ~std::uint32_t{0};

  hash_table() noexcept = default;
  hash_table(const hash_table&) = delete;
  hash_table& operator=(const hash_table&) = delete;

  [[nodiscard]] std::uint32_t size() const noexcept { return len_; }
  [[nodiscard]] std::uint32_t capacity() const noexcept { return cap_; }
  [[nodiscard]] bool is_full(std::uint32_t slot) const noexcept { return hashes()[slot] != 0; }
  [[nodiscard]] Slot* slot(std::uint32_t index) noexcept { return slots() + index; }
  [[nodiscard]] const Slot* slot(std::uint32_t index) const noexcept { return slots() + index; }
  /// The first occupied slot from `index` on, or the capacity.
  [[nodiscard]] std::uint32_t next_full(std::uint32_t index) const noexcept {
    while (index < cap_ && !is_full(index)) ++index;
    return index;
  }

  [[nodiscard]] std::uint32_t find(view key) const noexcept {
    if (cap_ == 0) return none;
    const position at = locate(hash_of(key), key);
    return at.found ? at.slot : none;
  }

  /// Returns the slot of a key. If the key is new, `make` constructs the slot's content in the given memory,
  /// and returns whether there was room. If there was none, the result is `none` and nothing changes.
  template <class Make>
  [[nodiscard]] std::uint32_t insert(view key, bool& is_new, const Make& make) {
    is_new = false;
    const std::uint32_t hash = hash_of(key);
    if (cap_ != 0) {
      const position at = locate(hash, key);
      if (at.found) return at.slot;
    }
    staged_value<Slot> fresh(region());
    if (!fresh.make(make)) return none;
    if (!fits(len_ + 1, cap_) && !change_capacity(std::max(smallest, cap_ * 2))) return none;
    const std::uint32_t at = locate(hash, traits::of(KeyOf::of(*fresh))).slot;
    make_gap(at);
    fresh.move_to(slot(at));
    hashes()[at] = hash;
    ++len_;
    is_new = true;
    return at;
  }

  /// Erases a slot, and moves later entries that are not in their home slot.
  void erase(std::uint32_t at) noexcept {
    release(*slot(at));
    std::uint32_t hole = at;
    for (;;) {
      const std::uint32_t behind = (hole + 1) & (cap_ - 1);
      if (hashes()[behind] == 0 || distance(behind) == 0) break;
      relocate(slot(hole), slot(behind), 1);
      hashes()[hole] = hashes()[behind];
      hole = behind;
    }
    hashes()[hole] = 0;
    std::memset(static_cast<void*>(slot(hole)), 0, sizeof(Slot));
    --len_;
  }

  /// Erases a key if it exists. Returns the number of erased keys.
  std::size_t erase_key(view key) noexcept {
    const std::uint32_t at = find(key);
    if (at == none) return 0;
    erase(at);
    return 1;
  }

  /// Erases the slots between two slots, in the order of iteration. Returns the slot after them.
  std::uint32_t erase_between(std::uint32_t first, std::uint32_t last) noexcept {
    if (first == last) return last;
    // Entries that move into a hole were not visited yet. Their number, counted from the slot where
    // `erase_if` begins, stays the same.
    std::uint32_t start = 0;
    while (is_full(start)) ++start;
    const auto full_between = [this](std::uint32_t from, std::uint32_t to) {
      std::uint32_t count = 0;
      for (std::uint32_t i = next_full(from); i < to; i = next_full(i + 1)) ++count;
      return count;
    };
    // The slots after the empty slot come first, then those before it.
    const std::uint32_t behind = full_between(start, cap_);
    const std::uint32_t gone_behind = full_between(std::max(first, start), last);
    const std::uint32_t from_behind = full_between(start, first);
    const std::uint32_t gone_before = full_between(first, std::min(last, start));
    const std::uint32_t from_before = behind + full_between(0, std::min(first, start));
    std::uint32_t number = 0;
    const auto is_gone = [&](const Slot&) {
      const std::uint32_t n = number++;
      return n - from_behind < gone_behind || n - from_before < gone_before;
    };
    if (last == cap_) {
      erase_if(is_gone);
      return cap_;
    }
    const typename traits::kept key(KeyOf::of(*slot(last)));
    erase_if(is_gone);
    return find(key.view());
  }

  /// Erases each slot for which `is_gone` is true, and returns their number.
  template <class Predicate>
  std::size_t erase_if(const Predicate& is_gone) {
    if (len_ == 0) return 0;
    // Starts after an empty slot and wraps around at the end. Entries that move into a hole were therefore
    // not visited yet.
    std::uint32_t start = 0;
    while (is_full(start)) ++start;
    const std::uint32_t mask = cap_ - 1;
    std::size_t gone = 0;
    for (std::uint32_t away = 1; away < cap_;) {
      const std::uint32_t at = (start + away) & mask;
      if (is_full(at) && is_gone(*slot(at))) {
        erase(at);
        ++gone;
      } else {
        ++away;
      }
    }
    return gone;
  }

  [[nodiscard]] bool try_reserve(std::uint64_t count) {
    if (count > max_size / slot_bytes) return refuse_size(region());
    const std::uint64_t capacity = capacity_for(count);
    return capacity <= cap_ || change_capacity(capacity);
  }
  /// Reduces the capacity to the smallest that the content needs.
  bool shrink() {
    if (len_ == 0) {
      situ_release();
      return true;
    }
    const std::uint64_t capacity = capacity_for(len_);
    return capacity == cap_ || change_capacity(capacity);
  }
  void clear() noexcept {
    for (std::uint32_t i = next_full(0); i < cap_; i = next_full(i + 1)) release(*slot(i));
    if (cap_ != 0) std::memset(block(), 0, block_bytes(cap_));
    len_ = 0;
  }

  static consteval bool has_links() { return true; }
  void situ_attach(header* h) noexcept { region_ = link_from(this, h); }
  void situ_moved(std::int32_t distance) noexcept {
    if (data_ != 0) data_ += distance;
    region_ += distance;
  }
  /// Compaction keeps a table's capacity unless the table is empty: a smaller capacity has another order,
  /// which depends on keys.
  template <class Walk>
  void situ_compact(Walk& walk) noexcept {
    if (walk.trims() && len_ == 0) situ_release();
    walk.back_link(this, region_);
    if (data_ == 0) return;
    // The capacity is not trimmed. Slots are therefore found from the block's present place.
    auto* const hash = reinterpret_cast<std::uint32_t*>(walk.link(data_));
    auto* const first = reinterpret_cast<Slot*>(bytes_of(hash) + hashes_bytes(cap_));
    if constexpr (region_detail::has_links<Slot>) {
      walk.behind([&walk, hash, first, cap = cap_] {
        for (std::uint32_t i = 0; i < cap; ++i) {
          if (hash[i] != 0) walk.value(first[i]);
        }
      });
    }
  }
  void situ_release() noexcept {
    if (data_ == 0) return;
    const auto release_slots = [h = region(), hash = hashes(), first = slots(), cap = cap_] {
      for (std::uint32_t i = 0; i < cap; ++i) {
        if (hash[i] != 0) release(first[i]);
      }
      deallocate(h, hash, block_bytes(cap));
    };
    data_ = 0;
    len_ = 0;
    cap_ = 0;
    release_behind(release_slots);
  }
  [[nodiscard]] header* situ_region() noexcept { return region(); }
  template <class Writer>
  void situ_write(Writer& writer, std::uint32_t at) const {
    const auto trimmed = static_cast<std::uint32_t>(capacity_for(len_));
    writer.put_container(at, len_, trimmed);
    if (len_ == 0) return;
    const std::uint32_t to = writer.place(at, block_bytes(trimmed));
    writer.put_zeros(to, block_bytes(trimmed));
    writer.behind([this, &writer, to, trimmed] { write_slots(writer, to, trimmed); });
  }
  /// Writes the slots into a block for `trimmed` of them.
  template <class Writer>
  void write_slots(Writer& writer, std::uint32_t to, std::uint32_t trimmed) const {
    // Assigns each slot of the new table a slot of this one, by ordered insertion: see `locate`.
    const std::uint32_t mask = trimmed - 1;
    std::vector<std::uint32_t> order(trimmed, none);
    for (std::uint32_t i = next_full(0); i < cap_; i = next_full(i + 1)) {
      std::uint32_t carried = i;
      std::uint32_t here = hashes()[i] & mask;
      for (std::uint32_t away = 0; order[here] != none; ++away, here = (here + 1) & mask) {
        const std::uint32_t there_away = (here - (hashes()[order[here]] & mask)) & mask;
        if (there_away < away || (there_away == away && key_at(carried) < key_at(order[here]))) {
          std::swap(carried, order[here]);
          away = there_away;
        }
      }
      order[here] = carried;
    }
    for (std::uint32_t i = 0; i < trimmed; ++i) {
      if (order[i] != none) writer.put_u32(to + 4 * i, hashes()[order[i]]);
    }
    for (std::uint32_t i = 0; i < trimmed; ++i) {
      if (order[i] == none) continue;
      writer.put(to + hashes_bytes(trimmed) + i * std::uint32_t{sizeof(Slot)}, *slot(order[i]));
    }
  }
  template <class Check>
  [[nodiscard]] bool situ_check(Check& check, std::uint32_t at) const {
    const std::uint64_t trimmed = capacity_for(len_);
    if (!check.container(at, region_, len_, cap_, Check::canonical ? trimmed : cap_)) return false;
    if (cap_ == 0)
      return data_ == 0 ||
             check.outside(at, std::uint64_t{at} + static_cast<std::uint64_t>(std::int64_t{data_}));
    if (cap_ < smallest || !std::has_single_bit(cap_) || !fits(len_, cap_)) {
      return check.fail(region_problem::not_trimmed, at, cap_, trimmed);
    }
    std::uint32_t block_at = 0;
    if (!check.claim(at, data_, block_bytes(cap_), block_bytes(cap_), block_at)) return false;
    return check.deeper([this, &check, at, block_at] { return check_slots(check, at, block_at); });
  }

 private:
  struct position {
    std::uint32_t slot;
    bool found;
  };

  /// A slot and its hash.
  static constexpr std::uint64_t slot_bytes = 4 + sizeof(Slot);
  static constexpr std::uint32_t hashes_bytes(std::uint64_t capacity) noexcept {
    return static_cast<std::uint32_t>(capacity * 4);
  }
  static constexpr std::uint64_t block_bytes(std::uint64_t capacity) noexcept {
    return capacity * slot_bytes;
  }
  /// At most seven eighths are occupied, so that there is always an empty slot.
  static constexpr bool fits(std::uint64_t count, std::uint64_t capacity) noexcept {
    return count * 8 <= capacity * 7;
  }
  static constexpr std::uint64_t capacity_for(std::uint64_t count) noexcept {
    if (count == 0) return 0;
    std::uint64_t capacity = smallest;
    while (!fits(count, capacity)) capacity *= 2;
    return capacity;
  }

  [[nodiscard]] header* region() noexcept { return header_at(this, region_); }
  [[nodiscard]] std::byte* block() noexcept { return bytes_of(this) + data_; }
  [[nodiscard]] const std::byte* block() const noexcept { return bytes_of(this) + data_; }
  [[nodiscard]] std::uint32_t* hashes() noexcept { return reinterpret_cast<std::uint32_t*>(block()); }
  [[nodiscard]] const std::uint32_t* hashes() const noexcept {
    return reinterpret_cast<const std::uint32_t*>(block());
  }
  [[nodiscard]] Slot* slots() noexcept { return reinterpret_cast<Slot*>(block() + hashes_bytes(cap_)); }
  [[nodiscard]] const Slot* slots() const noexcept {
    return reinterpret_cast<const Slot*>(block() + hashes_bytes(cap_));
  }
  [[nodiscard]] view key_at(std::uint32_t index) const noexcept {
    return traits::of(KeyOf::of(*slot(index)));
  }
  /// The distance of an entry from its home.
  [[nodiscard]] std::uint32_t distance(std::uint32_t index) const noexcept {
    return (index - (hashes()[index] & (cap_ - 1))) & (cap_ - 1);
  }

  /// Returns the position of a key, or the position at which it belongs.
  [[nodiscard]] position locate(std::uint32_t hash, view key) const noexcept {
    const std::uint32_t mask = cap_ - 1;
    std::uint32_t here = hash & mask;
    for (std::uint32_t away = 0;; ++away, here = (here + 1) & mask) {
      const std::uint32_t there = hashes()[here];
      if (there == 0) return {here, false};
      const std::uint32_t there_away = (here - (there & mask)) & mask;
      if (there_away < away) return {here, false};
      if (there_away == away) {  // the same home
        if (there == hash && key_at(here) == key) return {here, true};
        if (key < key_at(here)) return {here, false};
      }
    }
  }
  /// Moves the run that begins at a slot by one, into the next empty slot.
  void make_gap(std::uint32_t at) noexcept {
    const std::uint32_t mask = cap_ - 1;
    std::uint32_t empty = at;
    while (hashes()[empty] != 0) empty = (empty + 1) & mask;
    while (empty != at) {
      const std::uint32_t before = (empty - 1) & mask;
      relocate(slot(empty), slot(before), 1);
      hashes()[empty] = hashes()[before];
      empty = before;
    }
  }
  [[nodiscard]] bool change_capacity(std::uint64_t capacity) {
    if (block_bytes(capacity) > max_size) return refuse_size(region());
    void* fresh = allocate(region(), block_bytes(capacity));
    if (fresh == nullptr) return false;
    std::byte* const old_block = data_ == 0 ? nullptr : block();
    const std::uint32_t old_cap = cap_;
    auto* const old_hashes = reinterpret_cast<std::uint32_t*>(old_block);
    auto* const old_slots =
        reinterpret_cast<Slot*>(old_block == nullptr ? nullptr : old_block + hashes_bytes(old_cap));
    data_ = link_from(this, fresh);
    cap_ = static_cast<std::uint32_t>(capacity);
    for (std::uint32_t i = 0; i < old_cap; ++i) {
      if (old_hashes[i] == 0) continue;
      const std::uint32_t at = locate(old_hashes[i], traits::of(KeyOf::of(old_slots[i]))).slot;
      make_gap(at);
      relocate(slot(at), old_slots + i, 1);
      hashes()[at] = old_hashes[i];
    }
    if (old_block != nullptr) deallocate(region(), old_block, block_bytes(old_cap));
    return true;
  }

  template <class Check>
  [[nodiscard]] bool check_slots(Check& check, std::uint32_t at, std::uint32_t block_at) const {
    std::uint32_t full = 0;
    const std::uint32_t mask = cap_ - 1;
    for (std::uint32_t i = 0; i < cap_; ++i) {
      const std::uint32_t slot_at = block_at + hashes_bytes(cap_) + i * std::uint32_t{sizeof(Slot)};
      if (hashes()[i] == 0) {
        if (!check.zero(slot_at, slot_at + std::uint32_t{sizeof(Slot)})) return false;
        continue;
      }
      if (++full > len_) break;
      if (!check.value(*slot(i), slot_at)) return check.enter_element(i);
    }
    if (full != len_) return check.fail(region_problem::wrong_count, at, len_, full);
    // All keys are valid here. Each entry follows the entry that must precede it, so all keys are found, and
    // no key occurs twice.
    for (std::uint32_t i = 0; i < cap_; ++i) {
      if (hashes()[i] == 0) continue;
      const std::uint32_t away = distance(i);
      bool good = hashes()[i] == hash_of(key_at(i));
      if (good && away != 0) {
        const std::uint32_t before = (i - 1) & mask;
        good = hashes()[before] != 0 && distance(before) + 1 >= away &&
               (distance(before) + 1 != away || key_at(before) < key_at(i));
      }
      if (!good) return check.fail(region_problem::not_hashed, at, i);
    }
    return true;
  }

  std::int32_t data_ = 0;
  std::uint32_t len_ = 0;
  std::uint32_t cap_ = 0;
  std::int32_t region_ = 0;
};

/// Iterates over the occupied slots of a table. `Reference` is constructed from a slot.
template <class Table, class Reference>
class hash_iterator {
 public:
  using iterator_concept = std::forward_iterator_tag;
  using iterator_category = std::input_iterator_tag;
  using value_type = std::remove_cvref_t<Reference>;
  using difference_type = std::ptrdiff_t;
  using pointer = void;
  using reference = Reference;

  hash_iterator() noexcept = default;
  hash_iterator(Table* table, std::uint32_t slot) noexcept : table_(table), slot_(slot) {}
  /// A read-only iterator, from a mutable one.
  template <class OtherTable, class Other>
  requires(!std::is_same_v<Other, Reference> && std::is_convertible_v<Other, Reference>)
      hash_iterator(const hash_iterator<OtherTable, Other>& other)
  noexcept : table_(other.table_), slot_(other.slot_) {}
  [[nodiscard]] Reference operator*() const noexcept { return make(*table_->slot(slot_)); }
  [[nodiscard]] auto operator->() const noexcept {
    if constexpr (std::is_reference_v<Reference>) {
      return &**this;
    } else {
      return entry_pointer<Reference>(**this);
    }
  }
  hash_iterator& operator++() noexcept {
    slot_ = table_->next_full(slot_ + 1);
    return *this;
  }
  hash_iterator operator++(int) noexcept {
    hash_iterator before = *this;
    ++*this;
    return before;
  }
  friend bool operator==(const hash_iterator& a, const hash_iterator& b) noexcept {
    return a.slot_ == b.slot_;
  }
  /// The address of the slot.
  [[nodiscard]] auto* address() const noexcept { return table_->slot(slot_); }
  /// The number of the slot.
  [[nodiscard]] std::uint32_t slot() const noexcept { return slot_; }

 private:
  template <class T, class R>
  friend class hash_iterator;

  template <class Slot>
  static Reference make(Slot& slot) noexcept {
    if constexpr (std::is_reference_v<Reference>) {
      return slot;
    } else {
      return {slot.first, slot.second};
    }
  }

  Table* table_ = nullptr;
  std::uint32_t slot_ = 0;
};

/// The common part of hash sets and hash maps, over their table `slots_`.
template <class Self>
class hash_container : public over_slots<Self> {
 public:
  [[nodiscard]] std::size_t size() const noexcept { return slots().size(); }
  [[nodiscard]] std::size_t capacity() const noexcept { return slots().capacity(); }
  void clear() noexcept { slots().clear(); }
  [[nodiscard]] bool try_reserve(std::size_t count) { return slots().try_reserve(count); }
  void reserve(std::size_t count) {
    if (try_reserve(count)) return;
    in_larger(this->situ_region(), [this, count] { return this->try_reserve(count); });
  }
  /// Reduces the capacity to the smallest possible one. Returns false and changes nothing if there is no room
  /// for the smaller table beside the old one.
  [[nodiscard]] bool try_shrink_to_fit() { return slots().shrink(); }
  void shrink_to_fit() { static_cast<void>(try_shrink_to_fit()); }

 private:
  using over_slots<Self>::slots;
};

}  // namespace situ::region_detail
