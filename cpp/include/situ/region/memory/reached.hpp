// What shared values can reach, while a region is edited: a new link to a value is then tested for a cycle
// without a walk through all that the value leads to.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <iterator>
#include <memory>
#include <unordered_map>

#include "situ/region/image/format.hpp"

namespace situ::region_detail {

/// A shared value that a check or a walk has met: its type, the number of links in its count and of those
/// found. It is open while it is being checked.
struct met_value {
  const char* type;
  std::uint32_t links;
  std::uint32_t found;
  bool open;
  /// The numbers of weak links in its count and of those found.
  std::uint32_t weak = 0;
  std::uint32_t weak_found = 0;
};

/// The marks of one region. A value that a link shall lead to is walked once; its granules, and those of all
/// that it leads to, are marked. If the new link lies in a granule that is not marked, no such value leads to
/// the place, so there is no cycle. The marks stay a superset of what the walked values reach:
///
/// * A new block is marked if its container lies in a marked granule, or if its container is not known.
/// * A link that is made in a marked granule leads to a value that was walked just before.
/// * Elements that move stay in a block of the same container. Where they do not, the marks end.
///
/// A thread has the marks of the region in which it last made such a link. The state of that region has their
/// number. A thread that takes a block and does not have these marks ends them: it sets the number to 0.
class reached_marks {
 public:
  reached_marks() noexcept = default;
  reached_marks(const reached_marks&) = delete;
  reached_marks& operator=(const reached_marks&) = delete;
  ~reached_marks() { std::free(bits_); }

  /// The marks of a region, which may be new. `number` is that of its state. Null without memory.
  [[nodiscard]] static reached_marks* of(header* h, std::uint64_t& number) {
    if (of_thread() == nullptr) of_thread() = std::make_unique<reached_marks>();
    reached_marks& marks = *of_thread();
    if (number == 0 || marks.number_ != number || marks.header_ != h) {
      static std::atomic<std::uint64_t> last{0};
      if (marks.words_ != 0) std::memset(marks.bits_, 0, marks.words_ * 8);
      marks.values_.clear();
      marks.header_ = h;
      marks.number_ = last.fetch_add(1, std::memory_order_relaxed) + 1;
      number = marks.number_;
    }
    return marks.cover(h->size / granule) ? &marks : nullptr;
  }
  /// A block of a region that has marks was taken, for the container at `place` or, with null, an unknown
  /// one.
  static void taken(header* h, std::uint64_t& number, const void* place, std::uint32_t from,
                    std::uint32_t count) noexcept {
    reached_marks* const marks = of_thread().get();
    if (marks == nullptr || marks->number_ != number || marks->header_ != h || !marks->cover(from + count)) {
      number = 0;
    } else {
      marks->take(place == nullptr || marks->has(place), from, count);
    }
  }

  /// Whether a place is marked. Places outside of the image are.
  [[nodiscard]] bool has(const void* place) const noexcept {
    const auto at = reinterpret_cast<std::uintptr_t>(place) - reinterpret_cast<std::uintptr_t>(header_);
    return at >= words_ * 64 * granule || ((bits_[at / granule / 64] >> (at / granule % 64)) & 1U) != 0;
  }
  [[nodiscard]] std::uint64_t* bits() noexcept { return bits_; }
  /// The values that were walked, by their blocks.
  [[nodiscard]] std::unordered_map<std::uint32_t, met_value>& values() noexcept { return values_; }
  /// The number of values that this thread walked to find cycles.
  [[nodiscard]] static std::uint64_t& walked() noexcept {
    static thread_local std::uint64_t count = 0;
    return count;
  }

 private:
  [[nodiscard]] static std::unique_ptr<reached_marks>& of_thread() noexcept {
    static thread_local std::unique_ptr<reached_marks> marks;
    return marks;
  }
  /// Has a bit for each of `granules`. Returns false without memory.
  [[nodiscard]] bool cover(std::uint64_t granules) noexcept {
    const std::uint64_t words = (granules + 63) / 64;
    if (words <= words_) return true;
    const std::uint64_t room = std::max(words, words_ * 2);
    auto* const larger = static_cast<std::uint64_t*>(std::realloc(bits_, room * 8));
    if (larger == nullptr) return false;
    std::memset(larger + words_, 0, (room - words_) * 8);
    bits_ = larger;
    words_ = room;
    return true;
  }
  void take(bool is_marked, std::uint32_t from, std::uint32_t count) noexcept {
    for (std::uint32_t i = from; i < from + count; ++i) {
      const std::uint64_t bit = std::uint64_t{1} << (i % 64);
      bits_[i / 64] = is_marked ? bits_[i / 64] | bit : bits_[i / 64] & ~bit;
    }
    // Values that lay there are gone.
    if (values_.size() < count) {
      for (auto at = values_.begin(); at != values_.end();) {
        at = at->first / granule - from < count ? values_.erase(at) : std::next(at);
      }
    } else {
      for (std::uint32_t i = from; i < from + count; ++i) values_.erase(i * granule);
    }
  }

  header* header_ = nullptr;
  std::uint64_t number_ = 0;
  std::uint64_t* bits_ = nullptr;
  std::uint64_t words_ = 0;
  std::unordered_map<std::uint32_t, met_value> values_;
};

}  // namespace situ::region_detail
