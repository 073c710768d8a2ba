// The index of a hash table: words that say which entry has a key. spec/region.md describes the bytes.
#pragma once

#include <sys/random.h>

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "situ/region/image/format.hpp"

namespace situ::region_detail {

/// A number that other processes cannot predict.
inline std::uint32_t random_seed() noexcept {
  std::uint32_t random = 0;
  if (getrandom(&random, sizeof(random), GRND_NONBLOCK) == sizeof(random)) return random;
  // A system that has no randomness yet has random addresses.
  return static_cast<std::uint32_t>(reinterpret_cast<std::uintptr_t>(&random) >> 4U);
}

/// The index in a block, after the entries: a seed, then words. It is searched from the home of a key on,
/// word by word. No word is far from the home of its entry. If keys would need that, because they were chosen
/// so or by chance, the index gets another seed. In the functions, `hash(entry)` is the hash of an entry's
/// key with the seed of the index.
class hash_index {
 public:
  /// No entry, or no word.
  static constexpr std::uint32_t none = ~std::uint32_t{0};
  /// Seeds from 0 on are tried for the index of a canonical table.
  static constexpr std::uint32_t seeds = 64;

  /// A key that an index does not have: the word to write, without the number of the entry, and the position
  /// of the empty word where it belongs. That is `none` if it would be too far from its home.
  struct missing {
    std::uint32_t tag = 0;
    std::uint32_t slot = none;
  };

  /// Whether a table of this capacity has an index. In a table without one, all keys are compared.
  [[nodiscard]] static constexpr bool is_needed(std::uint64_t cap) noexcept { return cap > 8; }
  [[nodiscard]] static constexpr std::uint64_t count_for(std::uint64_t cap) noexcept {
    return is_needed(cap) ? cap * 5 / 3 : 0;
  }
  /// The offset of the index in a block for `cap` entries of `size` bytes.
  [[nodiscard]] static constexpr std::uint64_t offset(std::uint64_t cap, std::uint64_t size) noexcept {
    return (cap * size + 3) / 4 * 4;
  }
  [[nodiscard]] static constexpr std::uint64_t block_bytes(std::uint64_t cap, std::uint64_t size) noexcept {
    return is_needed(cap) ? offset(cap, size) + 4 + 4 * count_for(cap) : cap * size;
  }

  /// The index in a block of this capacity, which needs one.
  hash_index(std::byte* block, std::uint64_t cap, std::uint64_t size) noexcept
      : seed_(reinterpret_cast<std::uint32_t*>(block + offset(cap, size))),
        count_(static_cast<std::uint32_t>(count_for(cap))),
        mask_(none >> static_cast<unsigned>(std::countl_zero(static_cast<std::uint32_t>(cap)))) {}

  [[nodiscard]] std::uint32_t seed() const noexcept { return *seed_; }
  [[nodiscard]] std::uint32_t count() const noexcept { return count_; }

  /// Returns the entry of a key with this hash for which `equal(entry)` is true, or `none`.
  template <class Equal>
  [[nodiscard]] std::uint32_t find(std::uint64_t hash, const Equal& equal,
                                   missing& not_there) const noexcept {
    const std::uint32_t tag = tag_of(hash);
    std::uint32_t slot = home(hash);
    for (std::uint32_t away = 0; away <= farthest; ++away, slot = next(slot)) {
      const std::uint32_t word = words()[slot];
      if (word == 0) {
        not_there = {tag, slot};
        return none;
      }
      if ((word & ~mask_) == tag && equal((word & mask_) - 1)) return (word & mask_) - 1;
    }
    not_there = {tag, none};
    return none;
  }

  /// Adds an entry whose key is missing. Returns false if its word would be too far from its home.
  [[nodiscard]] bool add(const missing& key, std::uint32_t entry) noexcept {
    if (key.slot == none) return false;
    words()[key.slot] = key.tag | (entry + 1);
    return true;
  }

  /// Removes the word of an entry. Words after it, up to an empty one, move nearer to their homes.
  template <class Hash>
  void remove(std::uint32_t entry, const Hash& hash) noexcept {
    std::uint32_t hole = slot_of(entry, hash(entry));
    for (std::uint32_t slot = next(hole); words()[slot] != 0; slot = next(slot)) {
      const std::uint32_t word = words()[slot];
      if (distance(home(hash((word & mask_) - 1)), slot) < distance(hole, slot)) continue;
      words()[hole] = word;
      hole = slot;
    }
    words()[hole] = 0;
  }
  /// Lets the word of an entry, whose key has this hash, lead to the place `to` among the entries.
  void renumber(std::uint32_t entry, std::uint64_t hash, std::uint32_t to) noexcept {
    std::uint32_t& word = words()[slot_of(entry, hash)];
    word = (word & ~mask_) | (to + 1);
  }

  /// Makes the words of `len` entries at `to`. Returns false if one would be too far from its home.
  template <class Hash>
  [[nodiscard]] bool fill(std::uint32_t* to, std::uint32_t len, const Hash& hash) const noexcept {
    std::memset(to, 0, std::size_t{count_} * 4);
    for (std::uint32_t entry = 0; entry < len; ++entry) {
      const std::uint64_t hashed = hash(entry);
      std::uint32_t slot = home(hashed);
      for (std::uint32_t away = 0; to[slot] != 0; slot = next(slot)) {
        if (away++ == farthest) return false;
      }
      to[slot] = tag_of(hashed) | (entry + 1);
    }
    return true;
  }
  /// Returns the least seed less than `end` with which no word is too far from its home, or `none`. Makes the
  /// words for it at `to`. `hash(entry, seed)` is the hash of an entry's key with a seed.
  template <class Hash>
  [[nodiscard]] std::uint32_t least_seed(std::uint32_t* to, std::uint32_t len, std::uint32_t end,
                                         const Hash& hash) const noexcept {
    for (std::uint32_t seed = 0; seed < end; ++seed) {
      if (fill(to, len, [&](std::uint32_t entry) { return hash(entry, seed); })) return seed;
    }
    return none;
  }
  /// Returns a random seed with which no word is too far from its home, or `none`. Makes the words for it.
  template <class Hash>
  [[nodiscard]] std::uint32_t other_seed(std::uint32_t* to, std::uint32_t len,
                                         const Hash& hash) const noexcept {
    for (std::uint32_t i = 0; i < seeds; ++i) {
      // Without randomness, the seeds are different ones at least.
      const std::uint32_t seed = random_seed() + i;
      if (fill(to, len, [&](std::uint32_t entry) { return hash(entry, seed); })) return seed;
    }
    return none;
  }
  /// Writes an index. The words may be its own.
  void put(std::uint32_t seed, const std::uint32_t* from) noexcept {
    *seed_ = seed;
    if (from != words()) std::memcpy(words(), from, std::size_t{count_} * 4);
  }
  [[nodiscard]] std::uint32_t* words() noexcept { return seed_ + 1; }
  [[nodiscard]] const std::uint32_t* words() const noexcept { return seed_ + 1; }

  /// Returns the first of `len` entries that is not found by its key, or is found as another one, or `none`.
  /// In a canonical index, an entry's word is the first one from its home on that no earlier entry has.
  template <bool Canonical, class Hash, class Equal>
  [[nodiscard]] std::uint32_t first_wrong(std::uint32_t len, const Hash& hash,
                                          const Equal& equal) const noexcept {
    for (std::uint32_t entry = 0; entry < len; ++entry) {
      const std::uint64_t hashed = hash(entry);
      const std::uint32_t tag = tag_of(hashed);
      std::uint32_t slot = home(hashed);
      for (std::uint32_t away = 0;; ++away, slot = next(slot)) {
        const std::uint32_t word = words()[slot];
        if (word == (tag | (entry + 1))) break;
        const std::uint32_t other = (word & mask_) - 1;
        // Keys of canonical tables ascend, so no two are equal.
        const bool is_wrong =
            Canonical ? other >= entry : other >= len || ((word & ~mask_) == tag && equal(other, entry));
        if (is_wrong || away == farthest) return entry;
      }
    }
    return none;
  }
  /// The number of words in use.
  [[nodiscard]] std::uint32_t occupied() const noexcept {
    std::uint32_t used = 0;
    for (std::uint32_t i = 0; i < count_; ++i) used += words()[i] != 0 ? 1U : 0U;
    return used;
  }

 private:
  /// The greatest number of words between the home of an entry and its word.
  static constexpr std::uint32_t farthest = 256;

  [[nodiscard]] std::uint32_t home(std::uint64_t hash) const noexcept {
    return static_cast<std::uint32_t>(((hash >> 32U) * count_) >> 32U);
  }
  [[nodiscard]] std::uint32_t tag_of(std::uint64_t hash) const noexcept {
    return static_cast<std::uint32_t>(hash) & ~mask_;
  }
  [[nodiscard]] std::uint32_t next(std::uint32_t slot) const noexcept {
    return slot + 1 == count_ ? 0 : slot + 1;
  }
  /// How many words after `from` the word at `to` is.
  [[nodiscard]] std::uint32_t distance(std::uint32_t from, std::uint32_t to) const noexcept {
    return to >= from ? to - from : to + count_ - from;
  }
  /// The position of the word of an entry that is in the index.
  [[nodiscard]] std::uint32_t slot_of(std::uint32_t entry, std::uint64_t hash) const noexcept {
    std::uint32_t slot = home(hash);
    while ((words()[slot] & mask_) != entry + 1) slot = next(slot);
    return slot;
  }

  std::uint32_t* seed_;
  /// The number of words.
  std::uint32_t count_;
  /// The bits of a word for the number of its entry, counted from 1. The others are of the key's hash.
  std::uint32_t mask_;
};

}  // namespace situ::region_detail
