// Compaction in place: blocks slide down over the gaps between them, in their order, and all links are
// updated.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <new>

#include "situ/region/detail/later.hpp"
#include "situ/region/detail/reflect.hpp"
#include "situ/region/image/versions.hpp"
#include "situ/region/memory/allocator.hpp"

namespace situ::region_detail {

/// The future places of granules: after all used granules before them. Counts of used granules are kept for
/// parts of the image. For an image of up to a megabyte they lie on the stack, and a part is a word of the
/// bitmap. For larger images they take 1/256 of the size from the heap; without that memory, parts are larger
/// and counting takes longer.
class compacted_places {
 public:
  compacted_places(granule_bits bits, std::uint32_t words) noexcept : bits_(bits) {
    std::uint32_t parts = min_parts;
    if (words > parts) {
      many_.reset(new (std::nothrow) std::uint32_t[words]);
      if (many_ != nullptr) parts = words;
    }
    before_ = many_ == nullptr ? few_.data() : many_.get();
    part_ = std::max((words + parts - 1) / parts, 1U);
    std::uint32_t used = 0;
    for (std::uint32_t i = 0; i < words; ++i) {
      if (i % part_ == 0) before_[i / part_] = used;
      used += ones(bits[i]);
    }
  }
  compacted_places(const compacted_places&) = delete;
  compacted_places& operator=(const compacted_places&) = delete;
  ~compacted_places() = default;

  /// The future place of the byte at `at`. Its granule is in use.
  [[nodiscard]] std::uint32_t of(std::uint32_t at) const noexcept {
    const std::uint32_t word = at / granule / 64;
    const std::uint32_t part = word / part_;
    std::uint32_t used = before_[part];
    for (std::uint32_t i = part * part_; i < word; ++i) used += ones(bits_[i]);
    used += ones(bits_[word] & ((std::uint64_t{1} << (at / granule % 64)) - 1));
    return used * granule + at % granule;
  }

 private:
  static constexpr std::uint32_t min_parts = 1024;

  static std::uint32_t ones(std::uint64_t word) noexcept {
    return static_cast<std::uint32_t>(std::popcount(word));
  }

  granule_bits bits_;
  std::array<std::uint32_t, min_parts> few_;
  std::unique_ptr<std::uint32_t[]> many_;
  std::uint32_t* before_;
  std::uint32_t part_;
};

/// A walk over all links of a region. The first walk trims capacities. The second walk, which has places,
/// sets each link to its value after all blocks have slid down. It reads no keys, because they may lie behind
/// links that already have their future value.
class compaction_walk {
 public:
  compaction_walk(header* h, const compacted_places* places) noexcept : header_(h), places_(places) {}

  [[nodiscard]] bool trims() const noexcept { return places_ == nullptr; }
  /// The present place of a link's target. The second walk also updates the link.
  [[nodiscard]] std::byte* link(std::int32_t& link) noexcept {
    std::byte* const to = bytes_of(&link) + link;
    if (places_ != nullptr) link = static_cast<std::int32_t>(place(to) - place(&link));
    return to;
  }
  /// Updates the link of a container back to the header.
  void back_link(const void* at, std::int32_t& link) noexcept {
    if (places_ != nullptr) link = static_cast<std::int32_t>(0U - place(at));
  }
  /// Whether this walk meets a shared value for the first time. The value's block begins with its count. The
  /// first walk sets the highest bit of the count, the second clears it. No count reaches that bit, because 2
  /// GiB have no room for that number of links.
  [[nodiscard]] bool meets(std::byte* block) noexcept {
    constexpr std::uint32_t met = std::uint32_t{1} << 31U;
    auto& count = *reinterpret_cast<std::uint32_t*>(block);
    if (((count & met) == 0) != trims()) return false;
    count ^= met;
    return true;
  }
  /// Visits a value with everything that it holds.
  template <class T>
  void whole(T& at) noexcept {
    value(at);
    later_.finish_all();
  }
  /// Visits the target of a link with `visit()`.
  template <class Visit>
  void behind(const Visit& visit) noexcept {
    later_.run([visit] {
      visit();
      return true;
    });
  }
  template <class T>
  void value(T& at) noexcept {
    if constexpr (has_links<T>) {
      if constexpr (container<T>) {
        at.situ_compact(*this);
      } else if constexpr (array<T>) {
        elements(at.data(), at.size());
      } else {
        for_each_member<T>([this, &at](const auto& m) {
          this->value(m.of(at));
          return true;
        });
      }
    }
  }
  template <class T>
  void elements(T* first, std::size_t count) noexcept {
    if constexpr (has_links<T>) {
      for (std::size_t i = 0; i < count; ++i) value(first[i]);
    }
  }

 private:
  [[nodiscard]] std::uint32_t place(const void* at) const noexcept {
    return places_->of(static_cast<std::uint32_t>(bytes_of(at) - bytes_of(header_)));
  }

  header* header_;
  const compacted_places* places_;
  walk_visits later_;
};

/// Moves used granules down over free ones, in order. The image then ends after the last one, and the bytes
/// after it become zero. The caches are empty.
inline void close_gaps(header* h, state* s) noexcept {
  std::byte* const image = bytes_of(h);
  const std::uint32_t end = h->size / granule;
  std::uint32_t to = 0;
  for (std::uint32_t from = next_bit<false>(s->bits(), 0, end); from < end;) {
    const std::uint32_t behind = next_bit<true>(s->bits(), from, end);
    if (from != to) {
      std::memmove(image + std::size_t{to} * granule, image + std::size_t{from} * granule,
                   std::size_t{behind - from} * granule);
    }
    to += behind - from;
    from = next_bit<false>(s->bits(), behind, end);
  }
  std::memset(image + std::size_t{to} * granule, 0, std::size_t{end - to} * granule);
  mark_bits<true>(s->bits(), 0, end);
  mark_bits<false>(s->bits(), 0, to);
  s->clean_from = std::max(s->clean_from, h->size);
  s->free_granules = 0;
  s->first_word = to / 64;
  s->no_run = ~std::uint32_t{0};
  h->size = to * granule;
}

/// Compacts the region with this root.
template <class T>
void compact_in_place(header* h, T& root) noexcept {
  state* const s = own_state(h);
  end_marks(h);
  compaction_walk(h, nullptr).whole(root);
  flush_caches(h, s);
  const compacted_places places(s->bits(), (h->size / granule + 63) / 64);
  if constexpr (has<T, appendable_structs>) h->versions = places.of(h->versions);
  compaction_walk(h, &places).whole(root);
  unpoison_all(h);
  note_all_gone(h);
  close_gaps(h, s);
}

}  // namespace situ::region_detail
