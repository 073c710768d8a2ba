// What a walk over a region visits later: the targets at the ends of long chains of links.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <new>
#include <type_traits>

namespace situ::region_detail {

/// Follows links by recursion, up to 64 of them in a chain. Then notes the target of the next link, to
/// visit it after everything else, with a chain that begins there. A chain may therefore have any length.
/// Checks and copies visit what they noted in the order in which they noted it, because the places of blocks
/// in canonical images follow from this order.
class later_visits {
 public:
  constexpr later_visits() noexcept = default;

  /// Visits one level deeper, or notes the visit. Returns what the visit returns, or true. `within` is kept
  /// with the visit. Without memory for a note, the walk goes on by recursion.
  template <class Visit>
  bool run(const Visit& visit, std::uint32_t within = 0) {
    if (depth_ == levels && note(visit, within)) return true;
    ++depth_;
    const bool good = visit();
    --depth_;
    return good;
  }
  /// Whether a walk is back at its beginning and has noted something.
  [[nodiscard]] bool is_due() const noexcept { return depth_ == 0 && count_ != 0; }
  [[nodiscard]] bool is_empty() const noexcept { return count_ == 0; }

  /// Runs all visits that were noted, also those noted meanwhile, at this depth, until one returns false.
  /// Calls `begin(within)` before each.
  template <class Begin>
  bool finish(std::uint32_t depth, const Begin& begin) {
    bool good = true;
    while (good && next_ != count_) {
      const noted now = items_[next_++];
      if (next_ == count_) next_ = count_ = 0;
      begin(now.within);
      depth_ = depth;
      good = now.run(now.visit);
    }
    depth_ = 0;
    end();
    return good;
  }
  void end() noexcept {
    std::free(items_);
    items_ = nullptr;
    next_ = count_ = room_ = 0;
  }

 private:
  static constexpr std::uint32_t levels = 64;

  struct noted {
    bool (*run)(const std::byte* visit);
    std::uint32_t within;
    alignas(8) std::byte visit[48];
  };

  template <class Visit>
  [[gnu::cold, gnu::noinline]] bool note(const Visit& visit, std::uint32_t within) noexcept {
    static_assert(std::is_trivially_copyable_v<Visit> && sizeof(Visit) <= sizeof(noted::visit) &&
                  alignof(Visit) <= 8);
    if (count_ == room_ && !make_room()) return false;
    noted& made = items_[count_++];
    made.run = [](const std::byte* from) {
      alignas(8) std::byte copy[sizeof(Visit)];
      std::memcpy(copy, from, sizeof(Visit));
      return (*std::launder(reinterpret_cast<const Visit*>(copy)))();
    };
    made.within = within;
    std::memcpy(made.visit, static_cast<const void*>(&visit), sizeof(Visit));
    return true;
  }
  [[nodiscard]] bool make_room() noexcept {
    if (next_ > count_ / 2) {
      std::memmove(items_, items_ + next_, (count_ - next_) * sizeof(noted));
      count_ -= next_;
      next_ = 0;
      return true;
    }
    const std::size_t more = room_ == 0 ? 16 : room_ * 2;
    auto* const larger = static_cast<noted*>(std::realloc(items_, more * sizeof(noted)));
    if (larger == nullptr) return false;
    items_ = larger;
    room_ = more;
    return true;
  }

  noted* items_ = nullptr;
  std::size_t next_ = 0;
  std::size_t count_ = 0;
  std::size_t room_ = 0;
  std::uint32_t depth_ = 0;
};

/// The same, for one walk.
class walk_visits : public later_visits {
 public:
  walk_visits() noexcept = default;
  walk_visits(const walk_visits&) = delete;
  walk_visits& operator=(const walk_visits&) = delete;
  ~walk_visits() { end(); }

  /// Runs all visits that were noted.
  void finish_all() {
    later_visits::finish(0, [](std::uint32_t) {});
  }
};

/// The releases of this thread. It owns no memory between releases.
inline thread_local constinit later_visits releases;

/// Releases the target of a link, and frees its block. The link no longer leads there.
template <class Visit>
void release_behind(const Visit& release) noexcept {
  releases.run([release] {
    release();
    return true;
  });
  if (releases.is_due()) releases.finish(1, [](std::uint32_t) {});
}

}  // namespace situ::region_detail
