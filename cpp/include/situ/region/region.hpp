// region<T>: a value and all its parts in one piece of memory, which grows and can be sent unchanged.
#pragma once

#include <algorithm>
#include <cassert>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <new>
#include <optional>
#include <ranges>
#include <span>
#include <utility>
#include <vector>

#include "situ/region/image/canonical.hpp"
#include "situ/region/image/check.hpp"
#include "situ/region/image/signature.hpp"
#include "situ/region/memory/address_window.hpp"
#include "situ/region/memory/allocator.hpp"
#include "situ/region/memory/compact.hpp"
#include "situ/support/result.hpp"

namespace situ {

/// How a region allocates memory.
struct region_options {
  /// The maximum size of the region in bytes, up to 2 GiB. This reserves address space, not memory. For
  /// movable regions it is also a limit. The region may always grow to at least this size, and to the size of
  /// the image with which it starts.
  std::uint32_t limit = region_detail::default_limit;
  /// The new capacity of a full container, in percent of the old one: 200 doubles it, 100 adds only the
  /// needed size.
  std::uint16_t growth_percent = 200;
  /// Whether freed bytes become zero, so that no image contains erased data.
  bool zero_on_free = true;
  /// The number of bytes that are made ready at once, instead of one page at a time on first use.
  std::uint32_t preallocate = 0;
  /// The allocator of blocks.
  region_allocation allocation = {};
};

namespace region_detail {

/// The memory for a region: the place of its state, and the parts that are already zero.
struct room {
  std::uint64_t capacity = 0;
  /// In front of it there is room for the bitmap.
  std::byte* state = nullptr;
  /// From this offset on, the memory for the image is zero.
  std::uint32_t clean_from = 0;
  /// The memory for the state's bitmap is zero.
  bool clean_bits = false;
};

/// The schema hash in images of a type. An appendable type has none, because its schema changes.
template <class T>
std::uint64_t schema_hash_in() {
  if constexpr (has<T, appendable_structs>) {
    static_cast<void>(versions_of<T>());  // refuses types with two structs of one name
    return 0;
  } else {
    return schema_hash_of<T>();
  }
}

/// The minimum size of an image of a type.
template <class T>
std::uint64_t min_size() {
  return root_offset + in_granules(sizeof(T)) + in_granules(version_table_size<T>());
}

inline bool is_aligned(const std::byte* memory) noexcept {
  return reinterpret_cast<std::uintptr_t>(memory) % granule == 0;
}

/// Starts the allocator state of an image whose size is in its header.
inline void begin_memory(header* h, const room& in, const region_options& options) noexcept {
  auto* s = reinterpret_cast<state*>(in.state);
  if (!in.clean_bits) std::memset(in.state - bitmap_size(in.capacity), 0, bitmap_size(in.capacity));
  begin_state(h, s, static_cast<std::uint32_t>(in.capacity), in.clean_from);
  s->growth_percent = std::max<std::uint16_t>(options.growth_percent, 100);
  s->zero_on_free = options.zero_on_free;
  s->allocator = options.allocation.number();
}

/// Starts an empty region in memory. Its first bytes become the header.
template <class T>
void begin_region(std::byte* image, const room& in, const region_options& options) noexcept {
  const auto first = root_offset + static_cast<std::uint32_t>(in_granules(sizeof(T)));
  std::memset(image, 0, std::min(first, in.clean_from));
  auto* h = reinterpret_cast<header*>(image);
  h->magic = magic;
  h->version = version;
  h->form = region_form::live;
  h->schema_hash = schema_hash_in<T>();
  h->layout_hash = layout_hash<T>();
  h->size = first;
  h->root = root_offset;
  begin_memory(h, in, options);
  begin<T>(h, image + root_offset);
  if constexpr (has<T, appendable_structs>) {
    const auto& table = version_table<T>();
    // There is room: see `min_size`.
    auto* const block = static_cast<std::byte*>(allocate(h, table.size(), table.size()));
    std::memcpy(block, table.data(), table.size());
    h->versions = static_cast<std::uint32_t>(block - image);
  }
}

/// Continues with a checked image in place. `bits` is the bitmap of granules in use of a live image, and null
/// for a canonical one. Unused bytes become zero.
inline void resume_region(std::byte* image, const room& in, const region_options& options,
                          const std::uint64_t* bits) noexcept {
  auto* h = reinterpret_cast<header*>(image);
  const std::uint32_t end = h->size / granule;
  h->form = region_form::live;
  h->refused = 0;
  std::memset(h->unused, 0, sizeof(h->unused));
  if (bits == nullptr) return begin_memory(h, in, options);

  room from_here = in;
  from_here.clean_from = std::max(in.clean_from, h->size);
  const std::uint32_t used = behind_last_bit(bits, end);
  h->size = used * granule;
  begin_memory(h, from_here, options);
  state* s = own_state(h);
  for (std::uint32_t i = 0; i < (used + 63) / 64; ++i) s->bits()[i] = bits[i];
  for (std::uint32_t at = next_bit<true>(bits, 0, used); at < used;) {
    const std::uint32_t to = next_bit<false>(bits, at, used);
    std::memset(image + std::size_t{at} * granule, 0, std::size_t{to - at} * granule);
    s->free_granules += to - at;
    at = next_bit<true>(bits, to, used);
  }
  s->first_word = 0;
}

/// Checks an image of unknown origin. `bits` becomes the bitmap of a live one.
template <class T>
bool check_image(std::span<const std::byte> image, check_bitmap& bits, image_versions& versions,
                 region_invalid& error) {
  if (!check_header<T>(image.data(), image.size(), schema_hash_in<T>(), layout_hash<T>(), error))
    return false;
  header h;
  std::memcpy(&h, image.data(), sizeof(h));
  if (h.form == region_form::live) bits.begin(h.size);
  return check_root<T>(image.data(), bits.words(), versions, error);
}

/// Memory at a multiple of 16.
struct alignas(granule) image_granule {
  std::byte bytes[granule];
};
/// A canonical image in this program's version, from a checked image in another version.
template <class T>
std::vector<image_granule> rewritten(std::span<const std::byte> image, const image_versions& versions) {
  const auto* const h = reinterpret_cast<const header*>(image.data());
  const T& root = *reinterpret_cast<const T*>(image.data() + root_offset);
  std::vector<image_granule> copy(canonical_bound(h, root, &versions) / granule);
  copy.resize(write_canonical(h, root, copy.data()->bytes, &versions) / granule);
  return copy;
}

}  // namespace region_detail

/// Returns the value of an image, read in place, after the whole image has been checked. `image` begins at a
/// multiple of 16. It must stay allocated and unchanged as long as the value is used.
template <class T>
[[nodiscard]] result<const T*, region_invalid> view_region(std::span<const std::byte> image) {
  std::vector<std::uint64_t> for_large;
  region_detail::check_bitmap bits(for_large);
  region_invalid error{};
  region_detail::image_versions versions;
  if (!region_detail::check_image<T>(image, bits, versions, error) ||
      !region_detail::refuse_version(versions.fewer, error)) {
    return failure{std::move(error)};
  }
  return reinterpret_cast<const T*>(image.data() + region_detail::root_offset);
}
/// Refuses temporary images, such as the result of `canonical()`.
template <class T, std::ranges::range R>
requires(!std::ranges::borrowed_range<R>) result<const T*, region_invalid> view_region(R&& image)
= delete;

/// A value of type T, with its strings, vectors and maps, in one piece of memory that grows in place.
/// References into it stay valid until the container of the referenced value moves it. T is a struct that
/// `SITU_REGION` describes. Only one thread may change a region at a time.
///
/// A copy is a region in a window of its own. Copy assignment keeps the region's own memory; a move, and so
/// `std::swap`, hands the memory over. A moved-from region is empty and has an empty image. It may only be
/// assigned to, copied and destroyed.
template <class T>
class region {
 public:
  using value_type = T;

  /// In a window of its own.
  region() : region(region_options{}) {}
  explicit region(const region_options& options) {
    const region_detail::room in = open_window(options);
    if (in.capacity == 0) detail::raise(region_error(region_fault::full, options.limit));
    begin(in, options);
  }
  /// In a buffer of the caller, which must outlive the region and does not grow. The image lies at the front
  /// of the buffer, the state of the memory at its end.
  explicit region(std::span<std::byte> buffer, const region_options& options = {}) {
    const region_detail::room in = open_buffer(buffer);
    if (in.capacity == 0) {
      if (!region_detail::is_aligned(buffer.data())) detail::raise(region_error(region_fault::misaligned, 0));
      detail::raise(region_error(region_fault::small, min_buffer(), buffer.size()));
    }
    begin(in, options);
  }
  /// The same without exceptions. Returns nothing if there is no memory, or if the buffer is too small or not
  /// aligned to 16.
  [[nodiscard]] static std::optional<region> try_open(const region_options& options = {}) {
    region made(no_memory{});
    const region_detail::room in = made.open_window(options);
    if (in.capacity == 0) return std::nullopt;
    made.begin(in, options);
    return made;
  }
  [[nodiscard]] static std::optional<region> try_open(std::span<std::byte> buffer,
                                                      const region_options& options = {}) {
    region made(no_memory{});
    const region_detail::room in = made.open_buffer(buffer);
    if (in.capacity == 0) return std::nullopt;
    made.begin(in, options);
    return made;
  }
  /// A compact copy in a window of its own.
  region(const region& other) : region(no_memory{}) {
    if (!try_assign(other)) detail::raise(region_error(region_fault::full, other.options().limit));
  }
  /// Becomes a compact copy in its own memory, with its own options. Invalidates references into the region.
  /// Without room for the copy, nothing changes.
  region& operator=(const region& other) {
    if (!try_assign(other)) detail::raise(region_error(region_fault::full, capacity()));
    return *this;
  }
  /// The same without exceptions. Returns nothing, or false with the region unchanged, if there is no memory.
  [[nodiscard]] std::optional<region> try_copy() const {
    region made(no_memory{});
    if (header_ == nullptr) return made;
    const std::vector<std::byte> compacted = canonical();
    const region_options same = options();
    const region_detail::room in = made.open_window(same);
    if (in.capacity < compacted.size()) {
      made.release_window();
      return std::nullopt;
    }
    made.take(compacted, in, same, nullptr);
    return made;
  }
  [[nodiscard]] bool try_assign(const region& other) {
    if (this == &other) return true;
    if (header_ == nullptr || other.header_ == nullptr) {
      std::optional<region> copy = other.try_copy();
      if (!copy) return false;
      *this = std::move(*copy);
      return true;
    }
    const std::vector<std::byte> compacted = other.canonical();
    if (compacted.size() > header_->capacity) return false;
    assign_image(compacted);
    return true;
  }
  region(region&& other) noexcept
      : header_(std::exchange(other.header_, nullptr)), window_(std::exchange(other.window_, {})) {}
  /// Exchanges the contents.
  region& operator=(region&& other) noexcept {
    std::swap(header_, other.header_);
    std::swap(window_, other.window_);
    return *this;
  }
  ~region() {
    if (window_.begin == nullptr) {  // the buffer may be gone
      region_detail::unpoison(header_, window_.size);
      region_detail::note_gone(header_, window_.size);
    }
    leave_window();
  }

  /// Returns a region that starts as a copy of an image, canonical or live. The image is checked first. No
  /// data is decoded.
  [[nodiscard]] static result<region, region_invalid> adopt(std::span<const std::byte> image,
                                                            const region_options& options = {}) {
    using region_detail::root_offset;
    region_invalid error{};
    // All checks read from copies: the image may have any alignment, and may change meanwhile.
    alignas(region_detail::granule) std::byte front[root_offset];
    if (!image.empty()) std::memcpy(front, image.data(), std::min<std::size_t>(image.size(), root_offset));
    if (!region_detail::check_header<T>(front, image.size(), region_detail::schema_hash_in<T>(),
                                        region_detail::layout_hash<T>(), error)) {
      return failure{std::move(error)};
    }
    const std::uint32_t size = reinterpret_cast<const region_detail::header*>(front)->size;
    region made(no_memory{});
    region_options roomy = options;
    roomy.limit = std::max(options.limit, size);
    region_detail::room in = made.open_window(roomy);
    unbegun window{&made};
    if (in.capacity < size) return failure{no_memory_for(size, in.capacity, std::move(error))};
    window.used = size;
    std::memcpy(made.image(), front, root_offset);
    std::memcpy(made.image() + root_offset, image.data() + root_offset, size - root_offset);
    std::vector<std::uint64_t> for_large;
    region_detail::check_bitmap bits(for_large);
    region_detail::image_versions versions;
    if (made.header_->form == region_form::live) bits.begin(size);
    if (!region_detail::check_root<T>(made.image(), bits.words(), versions, error)) {
      return failure{std::move(error)};
    }
    if constexpr (region_detail::has<T, region_detail::appendable_structs>) {
      if (versions.differs) {
        const auto copy = region_detail::rewritten<T>({made.image(), size}, versions);
        const auto bytes = std::as_bytes(std::span(copy));
        if (in.capacity < bytes.size()) {
          return failure{no_memory_for(bytes.size(), in.capacity, std::move(error))};
        }
        in.clean_from = std::max(in.clean_from, size);
        made.take(bytes, in, options, nullptr);
        window.made = nullptr;
        return made;
      }
    }
    region_detail::resume_region(made.image(), in, options, bits.words());
    window.made = nullptr;
    return made;
  }
  /// Continues with the image at the front of a buffer. The image is checked first.
  [[nodiscard]] static result<region, region_invalid> adopt_in_place(std::span<std::byte> buffer,
                                                                     const region_options& options = {}) {
    std::vector<std::uint64_t> for_large;
    return adopt_in_place(buffer, for_large, options);
  }
  /// The same, with memory for the check of images of more than 64 KiB, which can be reused from image to
  /// image.
  [[nodiscard]] static result<region, region_invalid> adopt_in_place(std::span<std::byte> buffer,
                                                                     std::vector<std::uint64_t>& for_large,
                                                                     const region_options& options = {}) {
    region_detail::check_bitmap bits(for_large);
    region_invalid error{};
    region_detail::image_versions versions;
    if (!region_detail::check_image<T>(buffer, bits, versions, error) ||
        !region_detail::refuse_version(versions.differs, error)) {
      return failure{std::move(error)};
    }
    const std::size_t size = reinterpret_cast<const region_detail::header*>(buffer.data())->size;
    region made(no_memory{});
    const region_detail::room in = made.open_buffer(buffer);
    if (in.capacity < size) return failure{no_memory_for(size, in.capacity, std::move(error))};
    region_detail::resume_region(made.image(), in, options, bits.words());
    return made;
  }

  [[nodiscard]] T* get() noexcept {
    assert(header_ != nullptr && "the region was moved from");
    return reinterpret_cast<T*>(image() + region_detail::root_offset);
  }
  [[nodiscard]] const T* get() const noexcept { return const_cast<region*>(this)->get(); }
  [[nodiscard]] T* operator->() noexcept { return get(); }
  [[nodiscard]] const T* operator->() const noexcept { return get(); }
  [[nodiscard]] T& operator*() noexcept { return *get(); }
  [[nodiscard]] const T& operator*() const noexcept { return *get(); }

  /// Continues in another buffer of the caller, which must outlive the region and must not overlap its
  /// present memory. The image and its allocator state move there. Invalidates references into the region.
  /// Returns false and changes nothing if the buffer has no room for the image or is not aligned to 16.
  [[nodiscard]] bool continue_in(std::span<std::byte> buffer) noexcept {
    const region_detail::room in = room_in(buffer);
    const std::uint32_t size = header_->size;
    if (in.capacity < size) return false;
    region_detail::unpoison_all(header_);
    region_detail::note_all_gone(header_);
    const std::size_t known = region_detail::bitmap_size(size);
    std::memset(in.state - region_detail::bitmap_size(in.capacity), 0,
                region_detail::bitmap_size(in.capacity) - known);
    std::memcpy(in.state - known, state_bytes() - known, known + sizeof(region_detail::state));
    std::memcpy(buffer.data(), header_, size);
    leave_window();
    window_.size = in.capacity;
    header_ = reinterpret_cast<region_detail::header*>(buffer.data());
    header_->capacity = static_cast<std::uint32_t>(in.capacity);
    header_->state = static_cast<std::int32_t>(in.state - image());
    region_detail::own_state(header_)->clean_from = in.clean_from;
    region_detail::own_state(header_)->wanted = 0;
    return true;
  }

  /// Continues in the same buffer after it has become larger at its end. References into the region stay
  /// valid. Returns false and changes nothing if the buffer is not larger.
  [[nodiscard]] bool widen(std::span<std::byte> buffer) noexcept {
    assert(buffer.data() == image() && "the region lies elsewhere");
    const region_detail::room in = room_in(buffer);
    if (in.capacity <= header_->capacity) return false;
    if (window_.begin == nullptr) window_.size = in.capacity;
    // The state moves to the new end, which may overlap its old place.
    const std::size_t known = region_detail::bitmap_size(header_->size);
    const std::size_t all = region_detail::bitmap_size(in.capacity);
    std::memmove(in.state - known, state_bytes() - known, known + sizeof(region_detail::state));
    std::memset(in.state - all, 0, all - known);
    header_->capacity = static_cast<std::uint32_t>(in.capacity);
    header_->state = static_cast<std::int32_t>(in.state - image());
    region_detail::own_state(header_)->clean_from = in.clean_from;
    region_detail::own_state(header_)->wanted = 0;
    return true;
  }

  /// Whether the values are equal. If they contain shared links, their canonical images are made and
  /// compared.
  friend bool operator==(const region& a, const region& b) {
    if constexpr (region_detail::has<T, region_detail::shared_links>) {
      return a.canonical() == b.canonical();
    } else {
      return region_detail::equal(*a, *b);
    }
  }

  /// Returns the live image: the region in its present state.
  [[nodiscard]] std::span<const std::byte> bytes() const noexcept {
    region_detail::unpoison_all(header_);
    return {reinterpret_cast<const std::byte*>(header_), size()};
  }
  /// Returns the canonical image: equal values have equal bytes.
  [[nodiscard]] std::vector<std::byte> canonical() const {
    std::vector<std::byte> bytes(region_detail::canonical_bound(header_, *get()));
    bytes.resize(region_detail::write_canonical(header_, *get(), bytes.data()));
    return bytes;
  }
  /// Returns the memory that `canonical_to` needs: `size()`, or slightly more with ordered maps and sets.
  [[nodiscard]] std::size_t canonical_bound() const {
    return region_detail::canonical_bound(header_, *get());
  }
  /// Writes the canonical image to memory of at least `canonical_bound()` bytes. Returns the size of the
  /// image, or 0 when the memory is too small.
  [[nodiscard]] std::size_t canonical_to(std::span<std::byte> bytes) const {
    if (bytes.size() < canonical_bound()) return 0;
    return region_detail::write_canonical(header_, *get(), bytes.data());
  }

  /// The number of bytes of the live image.
  [[nodiscard]] std::size_t size() const noexcept { return header_ == nullptr ? 0 : header_->size; }
  /// The maximum size of the live image.
  [[nodiscard]] std::size_t capacity() const noexcept { return header_ == nullptr ? 0 : header_->capacity; }
  /// Free bytes within the live image, without blocks that are kept for reuse.
  [[nodiscard]] std::size_t free_bytes() const noexcept {
    return std::size_t{region_detail::own_state(header_)->free_granules} * region_detail::granule;
  }

  /// Releases free memory at the end: blocks kept for reuse become free, and the image ends after the last
  /// block in use.
  void trim() noexcept {
    region_detail::unpoison_all(header_);
    region_detail::flush_caches(header_, region_detail::own_state(header_));
    region_detail::shrink_end(header_, region_detail::own_state(header_));
  }
  /// Arranges the region as its canonical image, without free memory. Invalidates references into the region.
  /// Returns false and changes nothing if there is no room for it, which is possible only with trees in a
  /// full buffer.
  [[nodiscard]] bool try_compact() {
    const std::vector<std::byte> compacted = canonical();
    if (compacted.size() > header_->capacity) return false;
    assign_image(compacted);
    return true;
  }
  void compact() {
    if (!try_compact()) detail::raise(region_error(region_fault::full, header_->capacity));
  }
  /// Closes the gaps between blocks in place, without a second copy of the image: capacities are trimmed,
  /// blocks slide down in their order, and links follow. Invalidates references into the region. The value
  /// stays the same, and the size is that of the blocks in use. Freed memory is zero unless the region leaves
  /// freed bytes unchanged. The result is not the canonical arrangement, for which `compact` takes memory:
  /// trees keep their nodes. A hash table becomes smaller with the help of heap memory for its index; without
  /// it, the table keeps its capacity.
  ///
  /// For an image of more than a megabyte this takes 1/256 of its size from the heap. Without that memory, it
  /// takes longer.
  ///
  /// During compaction links already lead to the future places of blocks. If the process dies here, the image
  /// stays unusable. Memory that other processes can see is therefore compacted only while it is lent to one
  /// process, never after it is published. A process that finds such memory after its owner died discards it.
  void compact_in_place() noexcept { region_detail::compact_in_place(header_, *get()); }
  /// Makes the memory of the next `more` bytes ready. A window takes its pages from the system now.
  void preallocate(std::size_t more) noexcept {
    std::byte* const end = image() + header_->size;
    const std::size_t room = std::min<std::size_t>(more, header_->capacity - header_->size);
    region_detail::unpoison(end, room);
    for (std::size_t at = 0; at < room; at += 4096) {
      volatile std::byte* const page = end + at;
      *page = *page;
    }
  }

 private:
  struct no_memory {};
  explicit region(no_memory) noexcept {}

  [[nodiscard]] std::byte* image() noexcept { return reinterpret_cast<std::byte*>(header_); }
  [[nodiscard]] std::byte* state_bytes() noexcept { return image() + header_->state; }

  /// The image lies behind the state.
  [[nodiscard]] region_detail::room open_window(const region_options& options) noexcept {
    const std::uint64_t limit = std::min<std::uint64_t>(options.limit, region_detail::max_size);
    const std::uint64_t wanted = std::max<std::uint64_t>(limit, 4096 + region_detail::min_size<T>());
    window_ = region_detail::address_window_pool::instance().take(wanted + wanted / 128 + 16384);
    if (window_.begin == nullptr) return {};
    std::byte* const at = window_.state() + (sizeof(region_detail::state) + 63) / 64 * 64;
    header_ = reinterpret_cast<region_detail::header*>(at);
    const auto room = static_cast<std::uint64_t>(window_.begin + window_.size - at);
    const std::uint64_t capacity = std::min<std::uint64_t>(room, region_detail::max_size) / 16 * 16;
    return {capacity, window_.state(), window_.dirty, true};
  }
  /// Gives back a window without a region, in which up to `used` bytes of an image may have been written.
  void release_window(std::uint32_t used = 0) noexcept {
    if (window_.begin == nullptr) return;
    region_detail::address_window_pool::instance().give(window_, std::max(window_.dirty, used));
    window_ = {};
  }
  /// Gives the window back on destruction, unless a region was started in it.
  struct unbegun {
    region* made;
    std::uint32_t used = 0;
    ~unbegun() {
      if (made != nullptr) made->release_window(used);
    }
  };
  /// Gives the window back, if the region lies in one.
  void leave_window() noexcept {
    if (window_.begin == nullptr) return;
    region_detail::unpoison_all(header_);
    region_detail::note_all_gone(header_);
    const region_detail::state* s = region_detail::own_state(header_);
    const std::uint32_t used = std::max(header_->size, s->clean_from);
    // The next region overwrites the state itself in any case.
    const std::size_t known = region_detail::bitmap_size(used);
    std::memset(state_bytes() - known, 0, known);
    region_detail::address_window_pool::instance().give(window_, used);
    window_ = {};
  }
  /// Returns the memory that a region has in a buffer. There is no capacity if the buffer is too small or not
  /// aligned.
  [[nodiscard]] static region_detail::room room_in(std::span<std::byte> buffer) noexcept {
    if (!region_detail::is_aligned(buffer.data())) return {};
    const std::uint64_t size = std::min<std::uint64_t>(buffer.size(), region_detail::max_size);
    const std::uint64_t state_bytes = region_detail::state_size(size);
    const std::uint64_t min_image = region_detail::min_size<T>();
    if (size < state_bytes + min_image + region_detail::granule) return {};
    const std::uint64_t capacity = (size - state_bytes) / region_detail::granule * region_detail::granule;
    std::byte* const state = buffer.data() + capacity + region_detail::bitmap_size(capacity);
    return {capacity, state, static_cast<std::uint32_t>(capacity), false};
  }
  /// The least size of a buffer for an empty region.
  [[nodiscard]] static std::uint64_t min_buffer() {
    const std::uint64_t image = region_detail::min_size<T>() + region_detail::granule;
    std::uint64_t size = image;
    while (size < image + region_detail::state_size(size)) size = image + region_detail::state_size(size);
    return size;
  }
  [[nodiscard]] region_detail::room open_buffer(std::span<std::byte> buffer) noexcept {
    const region_detail::room in = room_in(buffer);
    if (in.capacity != 0) header_ = reinterpret_cast<region_detail::header*>(buffer.data());
    window_.size = in.capacity;
    return in;
  }
  void begin(const region_detail::room& in, const region_options& options) {
    region_detail::begin_region<T>(image(), in, options);
    if (options.preallocate != 0) preallocate(options.preallocate);
  }
  static region_invalid no_memory_for(std::size_t size, std::size_t capacity, region_invalid&& error) {
    error.problem = region_problem::no_memory;
    error.found = size;
    error.limit = capacity;
    return std::move(error);
  }
  /// Starts with a copy of a checked image.
  void take(std::span<const std::byte> from, const region_detail::room& in, const region_options& options,
            const std::uint64_t* bits) noexcept {
    std::memcpy(image(), from.data(), from.size());
    region_detail::resume_region(image(), in, options, bits);
  }
  /// Replaces the value with a canonical image of the same type.
  void assign_image(std::span<const std::byte> canonical_image) noexcept {
    const region_options same = options();
    region_detail::unpoison_all(header_);
    region_detail::note_all_gone(header_);
    region_detail::state* s = region_detail::own_state(header_);
    const std::uint32_t before = header_->size;
    region_detail::room in{header_->capacity, reinterpret_cast<std::byte*>(s),
                           std::max(s->clean_from, before), true};
    region_detail::mark_bits<true>(s->bits(), 0, before / region_detail::granule);
    take(canonical_image, in, same, nullptr);
  }
  [[nodiscard]] region_options options() const noexcept {
    const region_detail::state* s = region_detail::own_state(header_);
    // The maximum image in a window of the same size.
    const std::uint64_t limit =
        window_.begin == nullptr ? header_->capacity : window_.size - window_.size / 64;
    return {static_cast<std::uint32_t>(std::min<std::uint64_t>(limit, region_detail::max_size)),
            s->growth_percent, s->zero_on_free, 0, region_allocation(s->allocator)};
  }

  region_detail::header* header_ = nullptr;
  /// Of a region in a buffer, only the size: the most bytes that the image can have.
  region_detail::address_window window_{};
};

/// A region of a type that cannot lie in one: a reason, and no further errors behind it.
template <class T>
requires region_detail::unfit<T>
class region<T> {
  static constexpr region_detail::unfit_type reason = region_detail::find_unfit<T>();
  static_assert(reason != region_detail::unfit_type::member,
                "only numbers, enums, region containers, std::array of these, and structs described with "
                "SITU_REGION can lie in a region");
  static_assert(reason != region_detail::unfit_type::no_elements,
                "an array of a region has at least one element");
  static_assert(
      reason != region_detail::unfit_type::key,
      "the keys of sets and maps in a region are numbers, booleans, characters, enums, strings, and "
      "structs and arrays of these");

 public:
  template <class... Args>
  explicit region(const Args&...) noexcept {}
  T* operator->() noexcept;
  T& operator*() noexcept;
};

}  // namespace situ
