// The hash table of region_hash_set and region_hash_map: entries in a row, in the order of insertion, and an
// index of them behind it.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <iterator>
#include <memory>
#include <new>
#include <numeric>
#include <utility>
#include <vector>

#include "situ/region/detail/hash_index.hpp"
#include "situ/region/detail/key.hpp"
#include "situ/region/detail/later.hpp"
#include "situ/region/detail/over_slots.hpp"
#include "situ/region/detail/reflect.hpp"
#include "situ/region/detail/staged.hpp"

namespace situ::region_detail {

/// The block holds `capacity` slots, of which the first `size` are in use, and then the index, if the
/// capacity is more than 8. `Key::of` finds the key of a `Slot`.
template <class Slot, class K, class KeyOf>
class hash_table {
 public:
  using traits = key_traits<K>;
  using view = typename traits::view;
  static constexpr std::uint32_t none = hash_index::none;

  hash_table() noexcept = default;
  hash_table(const hash_table&) = delete;
  hash_table& operator=(const hash_table&) = delete;

  [[nodiscard]] std::uint32_t size() const noexcept { return len_; }
  [[nodiscard]] std::uint32_t capacity() const noexcept { return cap_; }
  [[nodiscard]] Slot* slot(std::uint32_t index) noexcept { return slots() + index; }
  [[nodiscard]] const Slot* slot(std::uint32_t index) const noexcept { return slots() + index; }

  [[nodiscard]] std::uint32_t find(view key) const noexcept {
    hash_index::missing unused;
    return locate(key, unused);
  }

  /// Returns the slot of a key. If the key is new, `make` constructs the slot's content in the given memory,
  /// and returns whether there was room. If there was none, the result is `none` and nothing changes.
  template <class Make>
  [[nodiscard]] std::uint32_t insert(view key, bool& is_new, const Make& make) {
    is_new = false;
    hash_index::missing missing;
    if (const std::uint32_t at = locate(key, missing); at != none) return at;
    staged_value<Slot> fresh(region());
    if (!fresh.make(make)) return none;
    if (len_ == cap_) {
      if (!grow()) return none;
      static_cast<void>(locate(traits::of(KeyOf::of(*fresh)), missing));
    }
    const std::uint32_t at = len_;
    fresh.move_to(slot(at));
    if (hash_index::is_needed(cap_) && !index().add(missing, at) && !reseed(at + 1)) {
      release(*slot(at));
      std::memset(static_cast<void*>(slot(at)), 0, sizeof(Slot));
      return none;
    }
    ++len_;
    is_new = true;
    return at;
  }

  /// Erases a slot. The last one takes its place.
  void erase(std::uint32_t at) noexcept {
    const std::uint32_t last = len_ - 1;
    if (hash_index::is_needed(cap_)) {
      hash_index in = index();
      const auto hash = hash_with(in.seed());
      in.remove(at, hash);
      if (at != last) in.renumber(last, hash(last), at);
    }
    release(*slot(at));
    if (at != last) relocate(slot(at), slot(last), 1);
    std::memset(static_cast<void*>(slot(last)), 0, sizeof(Slot));
    note_cut(this, at);
    len_ = last;
  }

  /// Erases a key if it exists. Returns the number of erased keys.
  std::size_t erase_key(view key) noexcept {
    const std::uint32_t at = find(key);
    if (at == none) return 0;
    erase(at);
    return 1;
  }

  /// Erases the slots from `first` to before `last`. Returns the slot that is now at `first`: slots that were
  /// after them come next.
  std::uint32_t erase_between(std::uint32_t first, std::uint32_t last) noexcept {
    while (last != first) erase(--last);
    return first;
  }

  /// Erases each slot for which `is_gone` is true, and returns their number.
  template <class Predicate>
  std::size_t erase_if(const Predicate& is_gone) {
    const std::uint32_t before = len_;
    for (std::uint32_t at = 0; at < len_;) {
      // The slot that takes the place was not visited yet.
      if (is_gone(*slot(at))) {
        erase(at);
      } else {
        ++at;
      }
    }
    return before - len_;
  }

  [[nodiscard]] bool try_reserve(std::uint64_t count) {
    if (count > max_size / sizeof(Slot)) return refuse_size(region());
    return count <= cap_ || change_capacity(count);
  }
  /// Reduces the capacity to the length. The index takes memory from the heap meanwhile; returns false
  /// without it.
  bool shrink() noexcept {
    if (len_ == cap_) return true;
    if (len_ == 0) {
      situ_release();
      return true;
    }
    std::unique_ptr<std::uint32_t[]> words;
    hash_index smaller(block(), len_, sizeof(Slot));
    std::uint32_t seed = 0;
    if (hash_index::is_needed(len_)) {
      words.reset(new (std::nothrow) std::uint32_t[smaller.count()]);
      if (words == nullptr) return false;
      seed = smaller.least_seed(words.get(), len_, hash_index::seeds, hash_with_any());
      if (seed == none) return false;
    }
    const std::uint64_t before = block_bytes(cap_);
    const std::uint64_t used = std::uint64_t{len_} * sizeof(Slot);
    std::memset(block() + used, 0, in_granules(block_bytes(len_)) - used);
    if (words != nullptr) smaller.put(seed, words.get());
    cap_ = len_;
    shorten(region(), block(), before, block_bytes(cap_));
    return true;
  }
  void clear() noexcept {
    for (std::uint32_t i = 0; i < len_; ++i) release(*slot(i));
    if (cap_ != 0) std::memset(block(), 0, block_bytes(cap_));
    note_cut(this, 0);
    len_ = 0;
  }

  static consteval bool has_links() { return true; }
  void situ_attach(header* h) noexcept { region_ = link_from(this, h); }
  void situ_moved(std::int32_t distance) noexcept {
    note_gone(bytes_of(this) + distance);
    if (data_ != 0) data_ += distance;
    region_ += distance;
  }
  template <class Walk>
  void situ_compact(Walk& walk) noexcept {
    if (walk.trims()) shrink();
    walk.back_link(this, region_);
    if (data_ == 0) return;
    auto* const first = reinterpret_cast<Slot*>(walk.link(data_));
    if constexpr (region_detail::has_links<Slot>) {
      walk.behind([&walk, first, count = len_] { walk.elements(first, count); });
    }
  }
  void situ_release() noexcept {
    note_gone(this);
    if (data_ == 0) return;
    const auto release_slots = [h = region(), first = slots(), count = len_, cap = cap_] {
      for (std::uint32_t i = 0; i < count; ++i) release(first[i]);
      deallocate(h, first, block_bytes(cap));
    };
    data_ = 0;
    len_ = 0;
    cap_ = 0;
    release_behind(release_slots);
  }
  [[nodiscard]] header* situ_region() noexcept { return region(); }
  template <class Writer>
  void situ_write(Writer& writer, std::uint32_t at) const {
    writer.put_container(at, len_, len_);
    if (len_ == 0) return;
    const std::uint32_t to = writer.place(at, block_bytes(len_));
    writer.behind([this, &writer, to] { write_slots(writer, to); });
  }
  template <class Check>
  [[nodiscard]] bool situ_check(Check& check, std::uint32_t at) const {
    if (!check.container(at, region_, len_, cap_, Check::canonical ? len_ : cap_)) return false;
    if (cap_ == 0)
      return data_ == 0 ||
             check.outside(at, std::uint64_t{at} + static_cast<std::uint64_t>(std::int64_t{data_}));
    std::uint32_t block_at = 0;
    if (!check.claim(at, data_, block_bytes(cap_), block_bytes(cap_), block_at)) return false;
    return check.deeper([this, &check, at, block_at] { return check_slots(check, at, block_at); });
  }

 private:
  /// The capacity of the first block.
  static constexpr std::uint64_t first_capacity = 4;

  static constexpr std::uint64_t block_bytes(std::uint64_t capacity) noexcept {
    return hash_index::block_bytes(capacity, sizeof(Slot));
  }
  [[nodiscard]] header* region() noexcept { return header_at(this, region_); }
  [[nodiscard]] std::byte* block() const noexcept { return const_cast<std::byte*>(bytes_of(this)) + data_; }
  [[nodiscard]] Slot* slots() noexcept { return reinterpret_cast<Slot*>(block()); }
  [[nodiscard]] const Slot* slots() const noexcept { return reinterpret_cast<const Slot*>(block()); }
  [[nodiscard]] view key_at(std::uint32_t index) const noexcept {
    return traits::of(KeyOf::of(*slot(index)));
  }
  [[nodiscard]] hash_index index() const noexcept { return {block(), cap_, sizeof(Slot)}; }
  [[nodiscard]] auto hash_with(std::uint32_t seed) const noexcept {
    return [this, seed](std::uint32_t entry) { return hash_of(key_at(entry), seed); };
  }
  [[nodiscard]] auto hash_with_any() const noexcept {
    return [this](std::uint32_t entry, std::uint32_t seed) { return hash_of(key_at(entry), seed); };
  }

  /// Returns the slot of a key, or `none` and what is missing.
  [[nodiscard]] std::uint32_t locate(view key, hash_index::missing& missing) const noexcept {
    if (!hash_index::is_needed(cap_)) {
      std::uint32_t at = 0;
      while (at < len_ && !(key_at(at) == key)) ++at;
      return at == len_ ? none : at;
    }
    const hash_index in = index();
    const auto equal = [this, key](std::uint32_t at) { return at < len_ && key_at(at) == key; };
    return in.find(hash_of(key, in.seed()), equal, missing);
  }
  /// Makes room for one more slot.
  [[nodiscard]] bool grow() {
    const state* s = region() == nullptr ? nullptr : state_of(region());
    const std::uint64_t percent = s == nullptr ? 100 : s->growth_percent;
    const std::uint64_t needed = std::uint64_t{cap_} + 1;
    return change_capacity(std::max({needed, cap_ * percent / 100, first_capacity})) ||
           change_capacity(needed);
  }
  /// Moves the slots to a block for `capacity` of them.
  [[nodiscard]] bool change_capacity(std::uint64_t capacity) {
    if (block_bytes(capacity) > max_size) return refuse_size(region());
    auto* const fresh = static_cast<std::byte*>(allocate_for(this, region(), block_bytes(capacity)));
    if (fresh == nullptr) return false;
    if (hash_index::is_needed(capacity)) {
      hash_index made(fresh, capacity, sizeof(Slot));
      std::uint32_t seed = hash_index::is_needed(cap_) ? index().seed() : 0;
      if (!made.fill(made.words(), len_, hash_with(seed))) {
        seed = made.other_seed(made.words(), len_, hash_with_any());
        if (seed == none) {
          deallocate(region(), fresh, block_bytes(capacity));
          return false;
        }
      }
      made.put(seed, made.words());
    }
    if (data_ != 0) {
      relocate(reinterpret_cast<Slot*>(fresh), slots(), len_);
      deallocate(region(), block(), block_bytes(cap_));
    }
    data_ = link_from(this, fresh);
    cap_ = static_cast<std::uint32_t>(capacity);
    return true;
  }
  /// Gives the index of `len` slots a random seed. Returns false and changes nothing if there is none that
  /// does.
  [[nodiscard]] bool reseed(std::uint32_t len) noexcept {
    hash_index in = index();
    const std::unique_ptr<std::uint32_t[]> words(new (std::nothrow) std::uint32_t[in.count()]);
    if (words == nullptr) return refuse_size(region());
    const std::uint32_t seed = in.other_seed(words.get(), len, hash_with_any());
    if (seed == none) return refuse_size(region());
    in.put(seed, words.get());
    return true;
  }

  /// Writes the slots in the order of their keys, and an index of them.
  template <class Writer>
  void write_slots(Writer& writer, std::uint32_t to) const {
    std::vector<std::uint32_t> order;
    if constexpr (Writer::writes) {
      if (first_not_ascending<KeyOf>(slots(), len_) != len_) {
        order.resize(len_);
        std::iota(order.begin(), order.end(), 0U);
        std::sort(order.begin(), order.end(),
                  [this](std::uint32_t a, std::uint32_t b) { return key_at(a) < key_at(b); });
      }
    }
    if (order.empty()) writer.put_elements(to, slots(), len_);
    for (std::uint32_t i = 0; i < order.size(); ++i) {
      writer.put(to + i * std::uint32_t{sizeof(Slot)}, *slot(order[i]));
    }
    if constexpr (Writer::writes) {
      if (!hash_index::is_needed(len_)) return;
      const auto index_at = static_cast<std::uint32_t>(to + hash_index::offset(len_, sizeof(Slot)));
      const auto entries_end = static_cast<std::uint32_t>(to + len_ * sizeof(Slot));
      writer.put_zeros(entries_end, index_at - entries_end);
      // Only what depends on the length is asked of this index.
      const hash_index made(nullptr, len_, 0);
      std::vector<std::uint32_t> words(made.count());
      const std::uint32_t seed = made.least_seed(
          words.data(), len_, hash_index::seeds, [this, &order](std::uint32_t entry, std::uint32_t tried) {
            return hash_of(key_at(order.empty() ? entry : order[entry]), tried);
          });
      // Keys for which none of these seeds does are out of reach in practice: spec/region.md, *The canonical
      // table*. A check refuses an image with them.
      writer.put_u32(index_at, std::min(seed, hash_index::seeds));
      writer.put_bytes(index_at + 4, words.data(), words.size() * 4);
    }
  }

  template <class Check>
  [[nodiscard]] bool check_slots(Check& check, std::uint32_t at, std::uint32_t block_at) const {
    if (!check.elements(slots(), len_, block_at)) return false;
    // All keys are valid here.
    const auto equal = [this](std::uint32_t a, std::uint32_t b) { return key_at(a) == key_at(b); };
    if constexpr (Check::canonical) {
      const std::size_t wrong = first_not_ascending<KeyOf>(slots(), len_);
      if (wrong < len_) return check.fail(region_problem::not_sorted, at, wrong);
    }
    if (!hash_index::is_needed(cap_)) {
      for (std::uint32_t i = 1; i < len_ && !Check::canonical; ++i) {
        for (std::uint32_t other = 0; other < i; ++other) {
          if (equal(other, i)) return check.fail(region_problem::not_hashed, at, i);
        }
      }
      return true;
    }
    const auto index_at = static_cast<std::uint32_t>(block_at + hash_index::offset(cap_, sizeof(Slot)));
    if (!check.zero(static_cast<std::uint32_t>(block_at + cap_ * sizeof(Slot)), index_at)) return false;
    const hash_index in = index();
    const std::uint32_t seed = in.seed();
    const std::uint32_t wrong = in.first_wrong<Check::canonical>(len_, hash_with(seed), equal);
    if (wrong != none) return check.fail(region_problem::not_hashed, at, wrong);
    if (const std::uint32_t used = in.occupied(); used != len_) {
      return check.fail(region_problem::wrong_count, at, len_, used);
    }
    if (Check::canonical && seed != 0) {
      std::vector<std::uint32_t> words(in.count());
      if (seed >= hash_index::seeds || in.least_seed(words.data(), len_, seed, hash_with_any()) != none) {
        return check.fail(region_problem::wrong_seed, at, seed);
      }
    }
    return true;
  }

  std::int32_t data_ = 0;
  std::uint32_t len_ = 0;
  std::uint32_t cap_ = 0;
  std::int32_t region_ = 0;
};

/// Iterates over the slots of a table. `Reference` is constructed from a slot.
template <class Table, class Reference>
class hash_iterator : public slot_reference<Reference> {
 public:
  using iterator_concept = std::forward_iterator_tag;
  using iterator_category = std::forward_iterator_tag;
  using value_type = std::remove_cvref_t<Reference>;
  using difference_type = std::ptrdiff_t;
  using pointer =
      std::conditional_t<std::is_reference_v<Reference>, const value_type*, entry_pointer<Reference>>;
  using reference = typename slot_reference<Reference>::reference;

  hash_iterator() noexcept = default;
  hash_iterator(Table* table, std::uint32_t slot) noexcept : table_(table), slot_(slot), mark_(table) {}
  /// A read-only iterator, from a mutable one.
  template <class OtherTable, class Other>
  requires(!std::is_same_v<Other, Reference> && std::is_convertible_v<Other, Reference>)
      hash_iterator(const hash_iterator<OtherTable, Other>& other)
  noexcept : table_(other.table_), slot_(other.slot_), mark_(other.mark_) {}
  [[nodiscard]] reference operator*() const& noexcept { return this->to(*address()); }
  [[nodiscard]] Reference operator*() const&& noexcept { return this->make(*address()); }
  [[nodiscard]] auto operator->() const noexcept { return this->pointer_to(*address()); }
  hash_iterator& operator++() noexcept {
    ++slot_;
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
  [[nodiscard]] auto* address() const noexcept { return table_->slot(slot()); }
  /// The number of the slot.
  [[nodiscard]] std::uint32_t slot() const noexcept {
    mark_.template check<Table>(slot_);
    return slot_;
  }

 private:
  template <class T, class R>
  friend class hash_iterator;

  Table* table_ = nullptr;
  std::uint32_t slot_ = 0;
  [[no_unique_address]] iterator_mark<> mark_;
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
  /// Reduces the capacity to the size. Returns false and changes nothing if there is no heap memory for that.
  [[nodiscard]] bool try_shrink_to_fit() { return slots().shrink(); }
  void shrink_to_fit() { static_cast<void>(try_shrink_to_fit()); }

 private:
  using over_slots<Self>::slots;
};

}  // namespace situ::region_detail
