// With SITU_REGION_DEBUG defined, iterators of containers know whether the container changed since in a way
// that moved or freed their element. Without it, all of this is empty.
//
// What changed is recorded by this process, outside of regions: images and the memory of regions are the same
// with and without the macro. The macro changes types and inline functions, so it has to be the same in all
// files of a program.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <map>
#include <mutex>
#include <utility>
#include <vector>

namespace situ::region_detail {

#ifdef SITU_REGION_DEBUG
inline constexpr bool checks_iterators = true;
#else
inline constexpr bool checks_iterators = false;
#endif

/// The changes of what iterators were made of: the block of a vector's elements, or a tree or hash table.
/// Each change has a number. An iterator is stale if a later change than its own number concerns it.
class change_log {
 public:
  [[nodiscard]] static change_log& instance() {
    static change_log* const log =
        new change_log();  // regions with static duration may outlive other objects
    return *log;
  }

  /// The present number, for a new iterator.
  [[nodiscard]] std::uint64_t watch(const void* of) {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (const auto [at, is_new] = entries_.try_emplace(of); is_new) at->second.born = ++last_;
    return last_;
  }
  /// The elements from an index on moved, or are gone.
  void cut(const void* of, std::uint64_t from) {
    const std::lock_guard<std::mutex> lock(mutex_);
    const auto found = entries_.find(of);
    if (found == entries_.end()) return;
    auto& cuts = found->second.cuts;
    while (!cuts.empty() && cuts.back().second >= from) cuts.pop_back();
    cuts.emplace_back(++last_, from);
  }
  /// All memory in a range is freed or was moved.
  void forget(const void* from, std::size_t bytes) {
    const std::lock_guard<std::mutex> lock(mutex_);
    entries_.erase(entries_.lower_bound(from),
                   entries_.lower_bound(static_cast<const std::byte*>(from) + bytes));
  }
  [[nodiscard]] bool is_stale(const void* of, std::uint64_t index, std::uint64_t number) {
    const std::lock_guard<std::mutex> lock(mutex_);
    const auto found = entries_.find(of);
    if (found == entries_.end() || found->second.born > number) return true;
    const auto& cuts = found->second.cuts;
    return std::any_of(cuts.begin(), cuts.end(),
                       [&](const auto& cut) { return cut.first > number && index >= cut.second; });
  }

 private:
  struct entry {
    std::uint64_t born = 0;
    /// The number of each change, and the first index that it concerns; both ascend.
    std::vector<std::pair<std::uint64_t, std::uint64_t>> cuts;
  };

  std::mutex mutex_;
  std::map<const void*, entry, std::less<>> entries_;
  std::uint64_t last_ = 0;
};

/// Records that elements from an index on moved or are gone, or that memory is freed.
inline void note_cut([[maybe_unused]] const void* of, [[maybe_unused]] std::uint64_t from) noexcept {
  if constexpr (checks_iterators) change_log::instance().cut(of, from);
}
inline void note_gone([[maybe_unused]] const void* of, [[maybe_unused]] std::size_t bytes = 1) noexcept {
  if constexpr (checks_iterators) change_log::instance().forget(of, bytes);
}

/// Ends the program because a stale iterator is used. The signature names the container.
template <class Container>
[[noreturn]] void report_stale() noexcept {
  std::fprintf(
      stderr,
      "situ: an iterator is used after a change of its container that moved or freed its element: %s\n",
      __PRETTY_FUNCTION__);
  std::abort();
}

/// The part of an iterator that knows when it was made, and of what. Empty without checks.
template <bool Checks = checks_iterators>
class iterator_mark {
 public:
  iterator_mark() noexcept = default;
  explicit iterator_mark(const void* of) noexcept : of_(of), number_(change_log::instance().watch(of)) {}
  template <class Container>
  void check(std::uint64_t index = 0) const noexcept {
    if (of_ == nullptr || change_log::instance().is_stale(of_, index, number_)) report_stale<Container>();
  }

 private:
  const void* of_ = nullptr;
  std::uint64_t number_ = 0;
};
template <>
class iterator_mark<false> {
 public:
  iterator_mark() noexcept = default;
  explicit iterator_mark(const void* /*of*/) noexcept {}
  template <class Container>
  void check(std::uint64_t /*index*/ = 0) const noexcept {}
};

}  // namespace situ::region_detail
