// The memory within a region: a bitmap of granules with ctz and clz scans, behind small caches by size. Its
// state lies outside the image. It is therefore neither sent nor trusted.
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <bit>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "situ/region/image/format.hpp"
#include "situ/region/memory/poison.hpp"
#include "situ/region/memory/reached.hpp"

namespace situ::region_detail {

/// Freed blocks of up to this number of granules are kept in caches.
inline constexpr std::uint32_t cached_sizes = 8;
inline constexpr std::uint32_t cache_depth = 7;

/// Extends a region that is full: `larger` makes room for `wanted` bytes after the region's memory, which
/// does not move. Returns false if there is no more memory.
struct growth {
  bool (*larger)(growth* self);
};

/// The bitmap of a region: one bit per granule of the image, set if the granule is in use. All bits from the
/// image's end on are clear. Its first word lies directly in front of the state, and each other word in front
/// of the one before. The state and the words of a small image are therefore neighbours of each other and, in
/// a window, of the image, whatever the size of the bitmap is.
class granule_bits {
 public:
  explicit granule_bits(std::byte* state) noexcept : end_(reinterpret_cast<std::uint64_t*>(state)) {}
  [[nodiscard]] std::uint64_t& operator[](std::size_t word) const noexcept {
    return *(end_ - 1 - static_cast<std::ptrdiff_t>(word));
  }

 private:
  std::uint64_t* end_;
};

/// The allocator state of the process that edits a region. The bitmap lies in front of it.
struct state {
  /// Extends the region's memory. Null if the memory is fixed.
  struct growth* growth;
  /// Clear bits below the image's end.
  std::uint32_t free_granules;
  /// No bit is clear in the words before this one.
  std::uint32_t first_word;
  /// While no block is freed, every run of clear bits is shorter than this.
  std::uint32_t no_run;
  /// Memory beyond the image is zero from this offset on. Memory before this offset becomes zero when it is
  /// taken.
  std::uint32_t clean_from;
  /// The new capacity of a full container, in percent of the old one.
  std::uint16_t growth_percent;
  bool zero_on_free;
  /// 0 for the bitmap's own allocator, otherwise a number in the `allocator_table`.
  std::uint8_t allocator;
  /// The size of the last block that found no room after the region last got more memory, or 0.
  std::uint32_t wanted;
  /// The number of the `reached_marks` of this region, or 0.
  std::uint64_t marks;
  /// Freed blocks of one, two ... granules, still marked as in use.
  struct cache {
    std::uint32_t count;
    std::uint32_t block[cache_depth];
  } caches[cached_sizes];

  [[nodiscard]] granule_bits bits() noexcept { return granule_bits(reinterpret_cast<std::byte*>(this)); }
};
static_assert(sizeof(state) % alignof(std::uint64_t) == 0);

/// The number of bytes of the bitmap for an image of up to `capacity` bytes.
constexpr std::uint64_t bitmap_size(std::uint64_t capacity) noexcept {
  return (capacity / granule + 63) / 64 * 8;
}
/// The same with the state.
constexpr std::uint64_t state_size(std::uint64_t capacity) noexcept {
  return sizeof(state) + bitmap_size(capacity);
}

inline state* state_of(header* h) noexcept {
  return h->state == 0 ? nullptr : reinterpret_cast<state*>(bytes_of(h) + h->state);
}

/// The state of a region that is known to have one.
inline state* own_state(header* h) noexcept { return reinterpret_cast<state*>(bytes_of(h) + h->state); }

/// The first bit from `from` on that is set (or, with `Clear`, clear), or `end`.
template <bool Clear, class Bits>
std::uint32_t next_bit(const Bits& bits, std::uint32_t from, std::uint32_t end) noexcept {
  const auto word = [&bits](std::uint32_t i) { return Clear ? ~bits[i] : bits[i]; };
  if (from >= end) return end;
  std::uint32_t i = from / 64;
  std::uint64_t here = word(i) & (~std::uint64_t{0} << (from % 64));
  while (here == 0) {
    if (++i * 64 >= end) return end;
    here = word(i);
  }
  return std::min(end, i * 64 + static_cast<std::uint32_t>(std::countr_zero(here)));
}

/// The position after the last set bit below `end`, or 0.
template <class Bits>
std::uint32_t behind_last_bit(const Bits& bits, std::uint32_t end) noexcept {
  while (end != 0) {
    const std::uint32_t i = (end - 1) / 64;
    const std::uint64_t here = bits[i] & (~std::uint64_t{0} >> (63 - (end - 1) % 64));
    if (here != 0) return i * 64 + 64 - static_cast<std::uint32_t>(std::countl_zero(here));
    end = i * 64;
  }
  return 0;
}

/// Sets (or, with `Clear`, clears) `count` bits from `from` on.
template <bool Clear, class Bits>
void mark_bits(const Bits& bits, std::uint32_t from, std::uint32_t count) noexcept {
  while (count != 0) {
    const std::uint32_t shift = from % 64;
    const std::uint32_t here = std::min(count, 64 - shift);
    const std::uint64_t mask = (~std::uint64_t{0} >> (64 - here)) << shift;
    if constexpr (Clear) {
      bits[from / 64] &= ~mask;
    } else {
      bits[from / 64] |= mask;
    }
    from += here;
    count -= here;
  }
}

/// Sets `count` bits from `from` on if all are clear. Returns false if they are not; then some may be set.
inline bool take_bits(std::uint64_t* bits, std::uint32_t from, std::uint32_t count) noexcept {
  while (count != 0) {
    const std::uint32_t shift = from % 64;
    const std::uint32_t here = std::min(count, 64 - shift);
    const std::uint64_t mask = (~std::uint64_t{0} >> (64 - here)) << shift;
    const std::uint64_t before = bits[from / 64];
    if ((before & mask) != 0) return false;
    bits[from / 64] = before | mask;
    from += here;
    count -= here;
  }
  return true;
}

/// Lets the image end after the last granule in use.
inline void shrink_end(header* h, state* s) noexcept {
  const std::uint32_t end = h->size / granule;
  const std::uint32_t used = behind_last_bit(s->bits(), end);
  s->free_granules -= end - used;
  s->clean_from = std::max(s->clean_from, h->size);
  h->size = used * granule;
}

inline void give_back(header* h, state* s, std::uint32_t from, std::uint32_t count) noexcept {
  mark_bits<true>(s->bits(), from, count);
  s->free_granules += count;
  s->first_word = std::min(s->first_word, from / 64);
  s->no_run = ~std::uint32_t{0};
  if ((from + count) * granule == h->size) shrink_end(h, s);
}

/// Empties the caches, so that neighbouring free blocks merge.
inline void flush_caches(header* h, state* s) noexcept {
  for (std::uint32_t i = 0; i < cached_sizes; ++i) {
    state::cache& cache = s->caches[i];
    while (cache.count != 0) give_back(h, s, cache.block[--cache.count] / granule, i + 1);
  }
}

/// A run of `count` clear bits, or 0.
inline std::uint32_t take_run(header* h, state* s, std::uint32_t count) noexcept {
  if (s->free_granules < count || count >= s->no_run) return 0;
  const granule_bits bits = s->bits();
  const std::uint32_t end = h->size / granule;
  std::uint32_t from = next_bit<true>(bits, s->first_word * 64, end);
  s->first_word = from / 64;
  while (end - from >= count) {
    const std::uint32_t used = next_bit<false>(bits, from, from + count);
    if (used == from + count) {
      mark_bits<false>(s->bits(), from, count);
      s->free_granules -= count;
      return from;
    }
    from = next_bit<true>(bits, used, end);
  }
  s->no_run = count;
  return 0;
}

/// Extends the image by `count` granules, all zero except the first `written` bytes. 0 when there is no room.
inline std::uint32_t take_end(header* h, state* s, std::uint32_t count, std::uint32_t written) noexcept {
  if ((h->capacity - h->size) / granule < count) return 0;
  const std::uint32_t from = h->size / granule;
  const std::uint32_t to = h->size + count * granule;
  unpoison(bytes_of(h) + h->size, std::size_t{count} * granule);
  if (h->size + written < s->clean_from) {
    std::memset(bytes_of(h) + h->size + written, 0, std::min(to, s->clean_from) - (h->size + written));
  }
  mark_bits<false>(s->bits(), from, count);
  h->size = to;
  return from;
}

}  // namespace situ::region_detail

namespace situ {

/// The granules of a region's image, of 16 bytes each, and which of them are in use. Allocators work on this.
class region_granules {
 public:
  region_granules(region_detail::header* h, region_detail::state* s) noexcept : header_(h), state_(s) {}

  /// The number of granules of the image.
  [[nodiscard]] std::uint32_t end() const noexcept { return header_->size / region_detail::granule; }
  /// The first free granule from `from` on, or the end.
  [[nodiscard]] std::uint32_t next_free(std::uint32_t from) const noexcept {
    return region_detail::next_bit<true>(state_->bits(), from, end());
  }
  /// The first granule in use from `from` on, or the end.
  [[nodiscard]] std::uint32_t next_used(std::uint32_t from) const noexcept {
    return region_detail::next_bit<false>(state_->bits(), from, end());
  }
  /// Takes `count` granules from `from` on, if all are free and within the image. Returns the first, or 0.
  [[nodiscard]] std::uint32_t take(std::uint32_t from, std::uint32_t count) noexcept {
    if (count == 0 || from > end() || count > end() - from || next_used(from) < from + count) return 0;
    region_detail::mark_bits<false>(state_->bits(), from, count);
    state_->free_granules -= count;
    return from;
  }
  /// Extends the image by `count` zeroed granules and takes them. Returns the first, or 0 when there is no
  /// room.
  [[nodiscard]] std::uint32_t grow(std::uint32_t count) noexcept {
    return region_detail::take_end(header_, state_, count, 0);
  }

 private:
  region_detail::header* header_;
  region_detail::state* state_;
};

/// Decides which granules a block takes: `take` returns the first of `count` granules that it took with
/// `region_granules::take` or `grow`, or 0. Freed granules are free again. An optional `freed` is called with
/// them. An allocator is a type without state. It has access only to the granules.
template <class A>
concept region_allocator = requires(region_granules& granules, std::uint32_t count) {
  { A::take(granules, count) }
  noexcept->std::same_as<std::uint32_t>;
};

/// Takes each block after the last one, and reuses no freed block. This takes the fewest instructions, for
/// regions that are built, sent and discarded. Freed memory at the end is reused. Other freed memory is
/// reclaimed when the region is compacted.
struct monotonic_allocator {
  static std::uint32_t take(region_granules& granules, std::uint32_t count) noexcept {
    return granules.grow(count);
  }
};

namespace region_detail {

/// The allocators of this process. A region's state refers to its allocator by a number, because the state
/// may lie in memory that other processes can write. A pointer to a function would not be safe there.
class allocator_table {
 public:
  struct entry {
    std::uint32_t (*take)(region_granules&, std::uint32_t) noexcept;
    void (*freed)(region_granules&, std::uint32_t, std::uint32_t) noexcept;
  };
  static allocator_table& instance() noexcept {
    static allocator_table table;
    return table;
  }
  /// Adds an entry and returns its number, or 0, the bitmap's own allocator, when there are too many.
  std::uint8_t add(const entry& added) noexcept {
    const std::uint32_t number = next_.fetch_add(1, std::memory_order_relaxed);
    if (number >= entries_.size()) return 0;
    entries_[number] = added;
    return static_cast<std::uint8_t>(number);
  }
  [[nodiscard]] const entry& operator[](std::uint8_t number) const noexcept { return entries_[number]; }

 private:
  std::array<entry, 256> entries_{};
  std::atomic<std::uint32_t> next_{1};
};

/// Allocates with the allocator of number `s->allocator`.
inline std::uint32_t take_otherwise(header* h, state* s, std::uint32_t count) noexcept {
  const auto take = allocator_table::instance()[s->allocator].take;
  region_granules granules(h, s);
  return take == nullptr ? 0 : take(granules, count);
}
inline void freed_otherwise(header* h, state* s, std::uint32_t from, std::uint32_t count) noexcept {
  give_back(h, s, from, count);
  region_granules granules(h, s);
  if (const auto freed = allocator_table::instance()[s->allocator].freed; freed != nullptr)
    freed(granules, from, count);
}

}  // namespace region_detail

/// The allocator of a region. By default, freed blocks of up to 128 bytes are reused at once, seven of each
/// size. Larger blocks take the first run of free granules that is long enough.
class region_allocation {
 public:
  constexpr region_allocation() noexcept = default;
  /// Another allocator, such as `monotonic_allocator`.
  template <region_allocator A>
  [[nodiscard]] static region_allocation of() noexcept {
    static const std::uint8_t number = region_detail::allocator_table::instance().add(entry_of<A>());
    return region_allocation(number);
  }
  explicit constexpr region_allocation(std::uint8_t number) noexcept : number_(number) {}
  [[nodiscard]] constexpr std::uint8_t number() const noexcept { return number_; }
  friend constexpr bool operator==(const region_allocation&, const region_allocation&) = default;

 private:
  template <class A>
  static region_detail::allocator_table::entry entry_of() noexcept {
    if constexpr (requires(region_granules & granules) { A::freed(granules, 0U, 0U); }) {
      return {&A::take, &A::freed};
    } else {
      return {&A::take, nullptr};
    }
  }
  std::uint8_t number_ = 0;
};

}  // namespace situ

namespace situ::region_detail {

/// Returns a block of `bytes` for the container at `place`, or null if the region is full, frozen or absent.
/// The block is zero, except the first `written` bytes, which the caller writes. (The talk's mallocN.)
inline void* allocate_for(const void* place, header* h, std::uint64_t bytes,
                          std::uint64_t written = 0) noexcept {
  state* s = h == nullptr ? nullptr : state_of(h);
  if (s == nullptr || bytes == 0 || bytes > max_size) return nullptr;
  const auto count = static_cast<std::uint32_t>(in_granules(bytes) / granule);
  std::uint32_t from = 0;
  bool reused = true;
  if (s->allocator != 0) [[unlikely]] {
    const std::uint32_t end = h->size / granule;
    from = take_otherwise(h, s, count);
    reused = from < end;
  } else if (count <= cached_sizes && s->caches[count - 1].count != 0) {
    state::cache& cache = s->caches[count - 1];
    from = cache.block[--cache.count] / granule;
  } else {
    from = take_run(h, s, count);
    if (from == 0) {
      from = take_end(h, s, count, static_cast<std::uint32_t>(written));
      reused = false;
    }
    if (from == 0) {
      flush_caches(h, s);
      from = take_run(h, s, count);
      reused = true;
      if (from == 0) {
        from = take_end(h, s, count, static_cast<std::uint32_t>(written));
        reused = false;
      }
    }
  }
  h->refused = 0;
  if (from == 0) {
    s->wanted = static_cast<std::uint32_t>(bytes);
    return nullptr;
  }
  if (s->marks != 0) [[unlikely]]
    reached_marks::taken(h, s->marks, place, from, count);
  std::byte* block = bytes_of(h) + std::size_t{from} * granule;
  unpoison(block, std::size_t{count} * granule);
  if (reused && !s->zero_on_free) std::memset(block + written, 0, std::size_t{count} * granule - written);
  return block;
}
/// The same for an unknown container.
inline void* allocate(header* h, std::uint64_t bytes, std::uint64_t written = 0) noexcept {
  return allocate_for(nullptr, h, bytes, written);
}
/// Ends the `reached_marks` of a region: blocks move without their containers, or containers change places.
inline void end_marks(header* h) noexcept {
  if (state* const s = h == nullptr ? nullptr : state_of(h); s != nullptr) s->marks = 0;
}

/// Refuses sizes that no region can have, so that larger memory is not tried.
inline bool refuse_size(header* h) noexcept {
  if (state* s = h == nullptr ? nullptr : state_of(h); s != nullptr) {
    h->refused = 0;
    s->wanted = 0;
  }
  return false;
}

/// Frees a block of `bytes` that `allocate` returned. (The talk's freeN.)
inline void deallocate(header* h, void* block, std::uint64_t bytes) noexcept {
  state* s = state_of(h);
  if (s == nullptr) return;
  const auto count = static_cast<std::uint32_t>(in_granules(bytes) / granule);
  unpoison(block, std::size_t{count} * granule);
  if (s->zero_on_free) std::memset(block, 0, std::size_t{count} * granule);
  poison(block, std::size_t{count} * granule);
  note_gone(block, std::size_t{count} * granule);
  const auto from = static_cast<std::uint32_t>(bytes_of(block) - bytes_of(h)) / granule;
  if (s->allocator != 0) [[unlikely]]
    return freed_otherwise(h, s, from, count);
  if (count <= cached_sizes && s->caches[count - 1].count < cache_depth) {
    state::cache& cache = s->caches[count - 1];
    cache.block[cache.count++] = from * granule;
    return;
  }
  give_back(h, s, from, count);
}

/// Makes a block longer in place, with zeroed bytes. Returns false if another block follows.
inline bool extend(header* h, void* block, std::uint64_t old_bytes, std::uint64_t new_bytes) noexcept {
  state* s = state_of(h);
  if (s == nullptr || new_bytes > max_size) return false;
  const auto begin = static_cast<std::uint32_t>(bytes_of(block) - bytes_of(h)) / granule;
  const std::uint32_t from = begin + static_cast<std::uint32_t>(in_granules(old_bytes) / granule);
  const std::uint32_t to = begin + static_cast<std::uint32_t>(in_granules(new_bytes) / granule);
  const std::uint32_t end = h->size / granule;
  if (to <= from) return true;
  if (next_bit<false>(s->bits(), from, std::min(to, end)) != std::min(to, end)) return false;
  const std::uint32_t inside = std::min(to, end) - std::min(from, end);
  if (to > end && take_end(h, s, to - end, 0) == 0) return false;
  mark_bits<false>(s->bits(), from, inside);
  s->free_granules -= inside;
  unpoison(bytes_of(h) + std::size_t{from} * granule, std::size_t{inside} * granule);
  if (s->marks != 0) [[unlikely]]
    reached_marks::taken(h, s->marks, block, from, to - from);
  if (!s->zero_on_free)
    std::memset(bytes_of(h) + std::size_t{from} * granule, 0, std::size_t{inside} * granule);
  return true;
}

/// Frees the end of a block.
inline void shorten(header* h, void* block, std::uint64_t old_bytes, std::uint64_t new_bytes) noexcept {
  const std::uint64_t keep = in_granules(new_bytes);
  if (keep < in_granules(old_bytes)) {
    deallocate(h, bytes_of(block) + keep, in_granules(old_bytes) - keep);
  }
}

/// Returns the new capacity, in elements of `element` bytes, of a container with the given `capacity` that
/// needs `needed`: as the growth policy requires, in whole granules.
inline std::uint64_t next_capacity(header* h, std::uint64_t capacity, std::uint64_t needed,
                                   std::uint64_t element) noexcept {
  const state* s = h == nullptr ? nullptr : state_of(h);
  const std::uint64_t percent = s == nullptr ? 100 : s->growth_percent;
  return in_granules(std::max(needed, capacity * percent / 100) * element) / element;
}

/// Calls `take(capacity)` with the capacity of the growth policy for a container with room for `capacity`
/// elements that needs `needed`. While `take` returns false, tries less, down to the needed size, so that a
/// value that fits is not refused because twice its size does not fit.
template <class Take>
[[nodiscard]] bool with_room(header* h, std::uint64_t capacity, std::uint64_t needed, std::uint64_t element,
                             const Take& take) {
  const std::uint64_t max_count = max_size / element;
  if (needed > max_count) return refuse_size(h);
  const std::uint64_t min_count = in_granules(needed * element) / element;
  for (std::uint64_t wanted = std::min(next_capacity(h, capacity, needed, element), max_count);;) {
    if (take(wanted)) return true;
    if (wanted <= min_count) return false;
    wanted = min_count + (wanted - min_count) / 2;
  }
}

/// Removes the marks of all unused memory; see poison.hpp.
inline void unpoison_all(header* h) noexcept {
  if constexpr (poisons) {
    const state* const s = h == nullptr ? nullptr : state_of(h);
    // Blocks at the end that were freed lie beyond the image.
    if (s != nullptr) unpoison(h, std::max(h->size, s->clean_from));
  }
}

/// All iterators into a region are stale from now on.
inline void note_all_gone(header* h) noexcept {
  if constexpr (checks_iterators) note_gone(h, std::max(h->size, own_state(h)->clean_from));
}

/// Starts the state of an image of `h->size` bytes, all in use. Its bitmap is zero. From `clean_from` on, the
/// memory is zero.
inline void begin_state(header* h, state* s, std::uint32_t capacity, std::uint32_t clean_from) noexcept {
  h->capacity = capacity;
  h->state = link_from(h, s);
  std::memset(static_cast<void*>(s), 0, sizeof(state));
  s->no_run = ~std::uint32_t{0};
  s->clean_from = clean_from;
  s->growth_percent = 200;
  s->zero_on_free = true;
  mark_bits<false>(s->bits(), 0, h->size / granule);
  s->first_word = h->size / granule / 64;
}

}  // namespace situ::region_detail
