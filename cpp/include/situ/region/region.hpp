// region<T>: a value with all that it holds in one piece of memory, which grows and can be sent as it is.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <new>
#include <span>
#include <utility>
#include <vector>

#include "situ/region/allocator.hpp"
#include "situ/region/canonical.hpp"
#include "situ/region/check.hpp"
#include "situ/region/signature.hpp"
#include "situ/region/window.hpp"
#include "situ/result.hpp"

namespace situ {

/// How a region takes memory.
struct region_options {
  /// The greatest size of the region, in bytes, up to 2 GiB; address space, not memory. For movable regions
  /// also a limit. At least this much is available.
  std::uint32_t limit = std::uint32_t{63} << 20;
  /// By how much a container that is full grows, in percent of its capacity: 200 doubles, 100 adds what is
  /// needed.
  std::uint16_t growth_percent = 200;
  /// Whether freed bytes become zero, so that no image holds what was erased.
  bool zero_on_free = true;
  /// So many bytes are made ready at once, instead of one page at a time when they are first touched.
  std::uint32_t preallocate = 0;
};

template <class T>
class movable_region;

namespace region_detail {

/// Begins an empty region in memory whose first bytes are to be the header.
template <class T>
header* begin_region(std::byte* image, std::uint64_t capacity, std::byte* state_at, bool clean,
                     const region_options& options) noexcept {
  const auto first = root_offset + static_cast<std::uint32_t>(in_granules(sizeof(T)));
  if (!clean) std::memset(image, 0, first);
  auto* h = reinterpret_cast<header*>(image);
  h->magic = magic;
  h->version = version;
  h->form = region_form::live;
  h->layout_hash = layout_hash<T>();
  h->size = first;
  h->root = root_offset;
  auto* s = reinterpret_cast<state*>(state_at);
  if (!clean) std::memset(state_at, 0, state_size(capacity));
  begin_state(h, s, static_cast<std::uint32_t>(capacity), clean && options.zero_on_free);
  s->growth_percent = std::max<std::uint16_t>(options.growth_percent, 100);
  s->zero_on_free = options.zero_on_free;
  return h;
}

/// Makes the state anew for an image whose granules in use `bits` says; bytes that are not in use become
/// zero.
inline void restore_state(header* h, const std::uint64_t* bits) noexcept {
  state* s = own_state(h);
  const std::uint32_t end = h->size / granule;
  const std::uint32_t used = bits == nullptr ? end : behind_last_bit(bits, end);
  if (bits != nullptr) {
    std::memcpy(s->bits(), bits, (end + 63) / 64 * 8);
    std::uint32_t free = 0;
    for (std::uint32_t at = next_bit<true>(bits, 0, end); at < end;) {
      const std::uint32_t to = next_bit<false>(bits, at, end);
      std::memset(bytes_of(h) + std::size_t{at} * granule, 0, std::size_t{to - at} * granule);
      free += to - at;
      at = next_bit<true>(bits, to, end);
    }
    s->free_granules = free - (end - used);
  } else {
    mark_bits<false>(s->bits(), 0, end);
  }
  h->size = used * granule;
  s->first_word = 0;
}

/// Checks an image that this program did not make. `bits` becomes the bitmap of a live one.
template <class T>
bool check_image(std::span<const std::byte> image, std::vector<std::uint64_t>& bits, region_invalid& error) {
  if (!check_header<T>(image.data(), image.size(), 0, layout_hash<T>(), error)) return false;
  header h;
  std::memcpy(&h, image.data(), sizeof(h));
  if (h.form == region_form::live) bits.assign((h.size / granule + 63) / 64, 0);
  return check_root<T>(image.data(), bits.data(), error);
}

}  // namespace region_detail

/// The value of an image, to be read where it lies, after everything in it has been checked. `image` begins
/// at a multiple of 16, and must stay and not change as long as the value is used.
template <class T>
[[nodiscard]] result<const T*, region_invalid> view_region(std::span<const std::byte> image) {
  std::vector<std::uint64_t> bits;
  region_invalid error{};
  if (!region_detail::check_image<T>(image, bits, error)) return failure{std::move(error)};
  return reinterpret_cast<const T*>(image.data() + region_detail::root_offset);
}

/// A value of type T, with its strings, vectors and maps, in one piece of memory that grows in place:
/// references to what lies in it stay valid until the container that holds it moves it. T is a struct that
/// `SITU_REGION` describes. A region is changed by one thread at a time.
template <class T>
class region {
 public:
  using value_type = T;

  /// In a window of its own.
  region() : region(region_options{}) {}
  explicit region(const region_options& options) {
    if (!open_window(options)) detail::raise(region_error(region_fault::full, options.limit));
    begin(options);
  }
  /// In a buffer of the caller's, which must outlive the region and does not grow. The image lies at its
  /// front, the state of the memory at its end.
  explicit region(std::span<std::byte> buffer, const region_options& options = {}) {
    if (!open_buffer(buffer)) detail::raise(region_error(region_fault::full, buffer.size()));
    begin(options);
  }
  /// A copy in a window of its own, compact.
  region(const region& other) : region(other.options()) { assign_image(other.canonical()); }
  region& operator=(const region& other) {
    if (this != &other) *this = region(other);
    return *this;
  }
  region(region&& other) noexcept
      : header_(std::exchange(other.header_, nullptr)), window_(std::exchange(other.window_, {})) {}
  region& operator=(region&& other) noexcept {
    std::swap(header_, other.header_);
    std::swap(window_, other.window_);
    return *this;
  }
  ~region() {
    if (window_.begin == nullptr) return;
    const std::size_t used = region_detail::own_state(header_)->high;
    region_detail::window_pool::instance().give(window_, region_detail::state_size(used), image(), used);
  }

  /// A region that begins as a copy of an image, canonical or live, which is checked first. Nothing is
  /// decoded.
  [[nodiscard]] static result<region, region_invalid> adopt(std::span<const std::byte> image,
                                                            const region_options& options = {}) {
    std::vector<std::uint64_t> bits;
    region_invalid error{};
    if (!region_detail::check_image<T>(image, bits, error)) return failure{std::move(error)};
    region made(no_memory{});
    const std::size_t size = reinterpret_cast<const region_detail::header*>(image.data())->size;
    if (!made.open_window(options) || made.capacity_ < size) {
      error.problem = region_problem::no_memory;
      error.found = size;
      error.limit = made.capacity_;
      made.release_window();
      return failure{std::move(error)};
    }
    made.begin(options);
    made.take(image.first(size), bits);
    return made;
  }
  /// Goes on with the image that lies at the front of a buffer, which is checked first.
  [[nodiscard]] static result<region, region_invalid> adopt_in_place(std::span<std::byte> buffer,
                                                                     const region_options& options = {}) {
    std::vector<std::uint64_t> bits;
    region_invalid error{};
    if (!region_detail::check_image<T>(buffer, bits, error)) return failure{std::move(error)};
    region made(no_memory{});
    const std::uint32_t size = reinterpret_cast<const region_detail::header*>(buffer.data())->size;
    if (!made.open_buffer(buffer) || made.capacity_ < size) {
      error.problem = region_problem::no_memory;
      error.found = size;
      error.limit = made.capacity_;
      return failure{std::move(error)};
    }
    made.resume(options, bits);
    return made;
  }

  [[nodiscard]] T* get() noexcept { return reinterpret_cast<T*>(image() + region_detail::root_offset); }
  [[nodiscard]] const T* get() const noexcept { return const_cast<region*>(this)->get(); }
  [[nodiscard]] T* operator->() noexcept { return get(); }
  [[nodiscard]] const T* operator->() const noexcept { return get(); }
  [[nodiscard]] T& operator*() noexcept { return *get(); }
  [[nodiscard]] const T& operator*() const noexcept { return *get(); }

  /// The live image: the region as it stands.
  [[nodiscard]] std::span<const std::byte> bytes() const noexcept {
    return {reinterpret_cast<const std::byte*>(header_), header_->size};
  }
  /// The canonical image: equal values have equal bytes.
  [[nodiscard]] std::vector<std::byte> canonical() const {
    std::vector<std::byte> bytes(header_->size);
    bytes.resize(region_detail::write_canonical(header_, *get(), bytes.data()));
    return bytes;
  }
  /// The same into memory of at least `bytes().size()`; the size of the image, or 0 when there is too little.
  [[nodiscard]] std::size_t canonical_to(std::span<std::byte> bytes) const {
    if (bytes.size() < header_->size) return 0;
    std::memset(bytes.data(), 0, header_->size);
    return region_detail::write_canonical(header_, *get(), bytes.data());
  }

  /// Bytes of the live image.
  [[nodiscard]] std::size_t size() const noexcept { return header_->size; }
  /// What the live image may grow to.
  [[nodiscard]] std::size_t capacity() const noexcept { return header_->capacity; }
  /// Bytes within the live image that hold nothing, those kept for the next blocks of the same size left out.
  [[nodiscard]] std::size_t free_bytes() const noexcept {
    return std::size_t{region_detail::own_state(header_)->free_granules} * region_detail::granule;
  }

  /// Gives the free memory at the end back: blocks kept for reuse become free, and the image ends behind the
  /// last one in use.
  void trim() noexcept {
    region_detail::flush_caches(header_, region_detail::own_state(header_));
    region_detail::shrink_end(header_, region_detail::own_state(header_));
  }
  /// Becomes the canonical arrangement of itself, without free memory. References into the region end.
  void compact() {
    const std::vector<std::byte> compacted = canonical();
    assign_image(compacted);
  }
  /// Makes the memory of the next `more` bytes ready. A window takes its pages from the system now.
  void preallocate(std::size_t more) noexcept {
    std::byte* const end = image() + header_->size;
    const std::size_t room = std::min<std::size_t>(more, header_->capacity - header_->size);
    for (std::size_t at = 0; at < room; at += 4096) {
      volatile std::byte* const page = end + at;
      *page = *page;
    }
  }

 private:
  friend class movable_region<T>;
  struct no_memory {};
  explicit region(no_memory) noexcept {}

  [[nodiscard]] std::byte* image() noexcept { return reinterpret_cast<std::byte*>(header_); }

  /// The state lies in front of the image, so that a small region touches few pages.
  [[nodiscard]] bool open_window(const region_options& options) noexcept {
    const std::uint64_t limit = std::min<std::uint64_t>(options.limit, region_detail::max_size);
    const std::uint64_t wanted = std::max<std::uint64_t>(limit, 4096);
    window_ = region_detail::window_pool::instance().take(wanted + wanted / 128 + 16384);
    if (window_.begin == nullptr) return false;
    const std::uint64_t state_bytes = (region_detail::state_size(window_.size) + 63) / 64 * 64;
    const std::uint64_t front = state_bytes + std::uint64_t{window_.number % 32} * 128;
    header_ = reinterpret_cast<region_detail::header*>(window_.begin + front);
    capacity_ = std::min<std::uint64_t>(window_.size - front, region_detail::max_size) / 16 * 16;
    state_ = window_.begin;
    return true;
  }
  void release_window() noexcept {
    if (window_.begin == nullptr) return;
    region_detail::window_pool::instance().give(window_, 0, nullptr, 0);
    window_ = {};
    header_ = nullptr;
  }
  [[nodiscard]] bool open_buffer(std::span<std::byte> buffer) noexcept {
    if (reinterpret_cast<std::uintptr_t>(buffer.data()) % region_detail::granule != 0) return false;
    const std::uint64_t size = std::min<std::uint64_t>(buffer.size(), region_detail::max_size);
    const std::uint64_t state_bytes = region_detail::state_size(size);
    const std::uint64_t least = region_detail::root_offset + region_detail::in_granules(sizeof(T));
    if (size < state_bytes + least + region_detail::granule) return false;
    capacity_ = (size - state_bytes) / region_detail::granule * region_detail::granule;
    header_ = reinterpret_cast<region_detail::header*>(buffer.data());
    state_ = buffer.data() + capacity_;
    return true;
  }
  void begin(const region_options& options) {
    header_ = region_detail::begin_region<T>(image(), capacity_, state_, window_.begin != nullptr, options);
    region_detail::begin<T>(header_, image() + region_detail::root_offset);
    if (options.preallocate != 0) preallocate(options.preallocate);
  }
  /// The image is there; only the state is made.
  void resume(const region_options& options, const std::vector<std::uint64_t>& bits) noexcept {
    auto* s = reinterpret_cast<region_detail::state*>(state_);
    std::memset(state_, 0, region_detail::state_size(capacity_));
    header_->form = region_form::live;
    std::memset(header_->reserved, 0, sizeof(header_->reserved));
    region_detail::begin_state(header_, s, static_cast<std::uint32_t>(capacity_), false);
    region_detail::mark_bits<true>(s->bits(), 0, header_->size / region_detail::granule);
    s->growth_percent = std::max<std::uint16_t>(options.growth_percent, 100);
    s->zero_on_free = options.zero_on_free;
    region_detail::restore_state(header_, bits.empty() ? nullptr : bits.data());
  }
  /// Replaces what the region holds with a checked image.
  void take(std::span<const std::byte> from, const std::vector<std::uint64_t>& bits) noexcept {
    const region_detail::header before = *header_;
    region_detail::state* s = region_detail::own_state(header_);
    region_detail::mark_bits<true>(s->bits(), 0, before.size / region_detail::granule);
    std::memset(s->caches, 0, sizeof(s->caches));
    s->no_run = ~std::uint32_t{0};
    s->free_granules = 0;
    const std::uint32_t old_size = before.size;
    std::memcpy(image(), from.data(), from.size());
    if (old_size > from.size()) std::memset(image() + from.size(), 0, old_size - from.size());
    header_->form = region_form::live;
    header_->capacity = before.capacity;
    header_->state = before.state;
    std::memset(header_->reserved, 0, sizeof(header_->reserved));
    s->high = std::max(s->high, header_->size);
    region_detail::restore_state(header_, bits.empty() ? nullptr : bits.data());
  }
  /// Goes on in a larger buffer, with the memory as it was.
  void move_to(std::span<std::byte> buffer) noexcept {
    const region_detail::header* const old = header_;
    region_detail::state* const old_state = region_detail::own_state(header_);
    if (!open_buffer(buffer)) return;
    auto* s = reinterpret_cast<region_detail::state*>(state_);
    std::memset(state_, 0, region_detail::state_size(capacity_));
    std::memcpy(static_cast<void*>(s), static_cast<const void*>(old_state),
                region_detail::state_size(old->size));
    std::memcpy(image(), old, old->size);
    header_->capacity = static_cast<std::uint32_t>(capacity_);
    header_->state = static_cast<std::int32_t>(state_ - image());
  }
  void assign_image(const std::vector<std::byte>& canonical_image) noexcept { take(canonical_image, {}); }
  [[nodiscard]] region_options options() const noexcept {
    const region_detail::state* s = region_detail::own_state(header_);
    // What fits into a window of the same size.
    const std::uint64_t limit =
        window_.begin == nullptr ? header_->capacity : window_.size - window_.size / 64;
    return {static_cast<std::uint32_t>(std::min<std::uint64_t>(limit, region_detail::max_size)),
            s->growth_percent, s->zero_on_free, 0};
  }

  region_detail::header* header_ = nullptr;
  region_detail::window window_{};
  // While a region is being opened: what it may use.
  std::uint64_t capacity_ = 0;
  std::byte* state_ = nullptr;
};

}  // namespace situ
