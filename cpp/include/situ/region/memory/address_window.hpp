// Address windows, in which regions grow without moving. All windows are carved from one reservation per
// process.
#pragma once

#include <sys/mman.h>

#include <algorithm>
#include <atomic>
#include <bit>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <mutex>
#include <vector>

namespace situ::region_detail {

/// A range of writable memory that takes no memory until it is touched.
struct address_window {
  std::byte* begin = nullptr;
  std::size_t size = 0;
  /// A number that differs for each window of a size.
  std::uint32_t number = 0;
  /// The number of image bytes from the window's last use that may not be zero. All other bytes are zero.
  std::uint32_t dirty = 0;

  /// Where the state of a region lies, and behind it the image. In front of it there is room for the bitmap
  /// of the whole window: one bit for 16 bytes. The bits of a small image, its state and the image begin with
  /// a page, so that a region of up to three kilobytes takes one page. The number moves them by up to seven
  /// cache lines, so that the headers of many regions do not compete for the same ones.
  [[nodiscard]] std::byte* state() const noexcept {
    constexpr std::size_t near_bits = 128;
    return begin + size / 128 + near_bits + std::size_t{number % 8} * 64;
  }
};

/// One reservation. It is made inaccessible for the first window, and becomes writable from its front as
/// windows are carved. The kernel merges neighbours with the same access into one mapping: there are two
/// mappings, regardless of the number of windows. Memory is counted when it is touched (MAP_NORESERVE). Huge
/// pages are off, because each small region would occupy one.
class address_window_pool {
 public:
  static constexpr std::size_t smallest = std::size_t{1} << 20;
  static constexpr std::size_t largest = std::size_t{1} << 32;

  /// Never destroyed: regions with static duration may outlive all other objects.
  static address_window_pool& instance() {
    static address_window_pool* const pool = new address_window_pool();
    return *pool;
  }

  /// A window of at least `bytes`, or one without memory when there is none.
  address_window take(std::size_t bytes) noexcept {
    if (bytes > largest) return {};
    const std::size_t size = std::bit_ceil(bytes < smallest ? smallest : bytes);
    std::atomic<std::byte*>& spare = spare_[index(size)];
    // The exchange makes this thread the owner of the window until it is given back. Acquire: the writes of
    // the thread that gave it back are visible.
    if (spare.load(std::memory_order_relaxed) != nullptr) {
      if (const std::byte* at = spare.exchange(nullptr, std::memory_order_acquire)) {
        address_window found;
        std::memcpy(&found, at, sizeof(found));
        return found;
      }
    }
    const std::lock_guard<std::mutex> lock(mutex_);
    std::vector<address_window>& free = free_[index(size)];
    if (!free.empty()) {
      const address_window found = free.back();
      free.pop_back();
      return found;
    }
    if (begin_ == nullptr && !reserve()) return {};
    if (size > reserved_ - carved_) return {};
    // In steps, so that most windows need no system call.
    if (carved_ + size > writable_) {
      const std::size_t step = std::max({carved_ + size - writable_, writable_, least_step});
      const std::size_t more = std::min(step, reserved_ - writable_);
      if (!lock_as_used(begin_ + writable_, more)) return {};
      if (mprotect(begin_ + writable_, more, PROT_READ | PROT_WRITE) != 0) return {};
      writable_ += more;
    }
    const address_window made{begin_ + carved_, size, count_++, 0};
    carved_ += size;
    return made;
  }

  /// Takes a window back, in which `used` bytes of the image may not be zero. The bitmap is zero again.
  void give(address_window back, std::uint32_t used) noexcept {
    back.dirty = used;
    // Private anonymous memory is zero when it is touched again.
    if (used > keep_resident && madvise(back.begin, back.size, MADV_DONTNEED) == 0) back.dirty = 0;
    // The spare window's description lies where the next state begins.
    std::byte* none = nullptr;
    std::memcpy(back.state(), &back, sizeof(back));
    if (spare_[index(back.size)].compare_exchange_strong(none, back.state(), std::memory_order_release,
                                                         std::memory_order_relaxed)) {
      return;
    }
    const std::lock_guard<std::mutex> lock(mutex_);
    std::vector<address_window>& free = free_[index(back.size)];
    if (free.size() == free.capacity() && !make_room(free)) return;  // the window is lost, but nothing breaks
    free.push_back(back);
  }

 private:
  /// The minimum number of bytes that become writable at a time. At least as many bytes become writable as
  /// are writable already. No more do, because mlockall(MCL_CURRENT) allocates memory for all writable bytes.
  static constexpr std::size_t least_step = std::size_t{16} << 20;
  static constexpr std::uint32_t keep_resident = std::uint32_t{64} << 10;

  static std::size_t index(std::size_t size) noexcept {
    return static_cast<std::size_t>(std::countr_zero(size) - std::countr_zero(smallest));
  }

  /// If the range is locked as a whole, as mlockall(MCL_FUTURE) locks it, makes its pages locked only when
  /// they are used. Otherwise the kernel would allocate the whole range as soon as it becomes writable.
  static bool lock_as_used(std::byte* begin, std::size_t bytes) noexcept {
    // A request to invalidate private pages changes nothing. It is refused for locked pages.
    if (msync(begin, smallest, MS_INVALIDATE) == 0 || errno != EBUSY) return true;
#if defined(MLOCK_ONFAULT)
    if (mlock2(begin, bytes, MLOCK_ONFAULT) == 0) return true;
#endif
    return munlock(begin, bytes) == 0;
  }

  static bool make_room(std::vector<address_window>& free) noexcept {
#if defined(__cpp_exceptions)
    try {
      free.reserve(free.capacity() * 2 + 16);
    } catch (...) {
      return false;
    }
#else
    free.reserve(free.capacity() * 2 + 16);
#endif
    return true;
  }

  /// Reserves 16 TiB, an eighth of the address space, or as much as an address-space limit allows.
  bool reserve() noexcept {
    for (std::size_t size = std::size_t{1} << 44; size >= (std::size_t{1} << 28); size /= 2) {
      void* at = mmap(nullptr, size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
      if (at == MAP_FAILED) continue;
      madvise(at, size, MADV_NOHUGEPAGE);
      begin_ = static_cast<std::byte*>(at);
      reserved_ = size;
      return true;
    }
    return false;
  }

  std::mutex mutex_;
  std::byte* begin_ = nullptr;
  std::size_t reserved_ = 0;
  std::size_t writable_ = 0;
  std::size_t carved_ = 0;
  std::uint32_t count_ = 0;
  std::vector<address_window> free_[13];
  /// The last returned window of each size, so that a region that ends and another that starts need no lock.
  std::atomic<std::byte*> spare_[13] = {};
};

}  // namespace situ::region_detail
