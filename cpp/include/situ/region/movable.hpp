// movable_region<T>: a region on the heap that grows by moving, and is accessed through handles.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>
#include <optional>
#include <ranges>
#include <span>
#include <type_traits>
#include <utility>
#include <vector>

#include "situ/region/region.hpp"

namespace situ {

/// A region in a buffer on the heap, for programs that cannot reserve address space. The buffer doubles and
/// moves when it is full. Programs therefore have no references into it: a handle is the region and an
/// offset. `change` runs operations that need memory, with one `try_` operation of a container:
///
///     movable_region<Character> r;
///     auto skills = r.root().member<&Character::skills>();
///     skills.change([](auto& list) { return list.try_emplace_back(1054, 3); });
template <class T>
class movable_region {
 public:
  using value_type = T;

  /// A value in the region. It stays valid when the region grows into other memory. It becomes invalid when
  /// the container of the value moves or erases it, and when the `movable_region` to which it points is moved
  /// from or destroyed.
  template <class M>
  class handle {
   public:
    /// Returns the value. Valid until the region next changes.
    [[nodiscard]] M& operator*() const noexcept {
      return *reinterpret_cast<M*>(const_cast<std::byte*>(region_->bytes().data()) + offset_);
    }
    [[nodiscard]] M* operator->() const noexcept { return &**this; }
    /// Returns a member of a struct.
    template <auto Pointer>
    [[nodiscard]] auto member() const noexcept {
      return region_->handle_of((**this).*Pointer);
    }
    /// An element of a vector or array. (`[]` of maps may insert: use `change([](auto& map) { ... })`.)
    [[nodiscard]] auto operator[](
        std::size_t index) const noexcept requires std::ranges::contiguous_range<M> {
      return region_->handle_of((**this)[index]);
    }

    /// Runs one `try_` operation. Without room, the operation returns false or null (or a pair that begins
    /// with it) and changes nothing. The region then grows and the operation runs again. Returns its last
    /// result: a failure only if the region cannot grow any more.
    template <class Operation>
    auto try_change(const Operation& operation) const {
      for (;;) {
        region_->ask_anew();
        auto done = operation(**this);
        if (succeeded(done) || !region_->grow()) return done;
      }
    }
    /// The same. Throws `region_error` if the region cannot grow any more.
    template <class Operation>
    auto change(const Operation& operation) const {
      auto done = try_change(operation);
      if (!succeeded(done)) detail::raise(region_error(region_fault::full, region_->options_.limit));
      return done;
    }

   private:
    friend class movable_region;
    handle(movable_region* of, std::uint32_t offset) noexcept : region_(of), offset_(offset) {}
    template <class R>
    static bool succeeded(const R& done) noexcept {
      if constexpr (requires { done.first == nullptr; }) {
        return done.first != nullptr;
      } else {
        return static_cast<bool>(done);
      }
    }

    movable_region* region_;
    std::uint32_t offset_;
  };

  movable_region() : movable_region(region_options{}) {}
  explicit movable_region(const region_options& options)
      : options_(options), buffer_(make(first_size(options))), region_(buffer_.span(), options) {}
  /// The same without exceptions. Returns nothing if there is no memory.
  [[nodiscard]] static std::optional<movable_region> try_open(const region_options& options = {}) {
    buffer memory = make(first_size(options));
    auto opened = region<T>::try_open(memory.span(), options);
    if (!opened) return std::nullopt;
    return movable_region(options, std::move(memory), std::move(*opened));
  }
  /// A compact copy in a buffer of its own.
  movable_region(const movable_region& other) : movable_region(other.copy()) {}
  movable_region& operator=(const movable_region& other) { return *this = movable_region(other); }
  /// The same without exceptions. Returns nothing if there is no memory.
  [[nodiscard]] std::optional<movable_region> try_copy() const {
    auto made = adopt(canonical(), options_);
    if (!made) return std::nullopt;
    return std::move(*made);
  }
  /// A moved-from region may only be assigned to and destroyed. Assignment exchanges the contents.
  movable_region(movable_region&&) noexcept = default;
  movable_region& operator=(movable_region&& other) noexcept {
    std::swap(options_, other.options_);
    std::swap(buffer_, other.buffer_);
    std::swap(region_, other.region_);
    return *this;
  }

  /// A region that starts as a copy of an image, canonical or live. The image is checked first.
  [[nodiscard]] static result<movable_region, region_invalid> adopt(std::span<const std::byte> image,
                                                                    const region_options& options = {}) {
    region_invalid error{};
    const std::size_t size = image.size() + region_detail::state_size(image.size()) * 2 + 64;
    buffer fresh = make(size);
    if (fresh.memory == nullptr) {
      error.problem = region_problem::no_memory;
      error.found = image.size();
      return failure{std::move(error)};
    }
    if (!image.empty()) std::memcpy(fresh.memory.get(), image.data(), image.size());
    const std::span<const std::byte> copy = fresh.span().first(image.size());
    if (!region_detail::check_header<T>(copy.data(), copy.size(), region_detail::schema_hash_in<T>(),
                                        region_detail::layout_hash<T>(), error)) {
      return failure{std::move(error)};
    }
    if constexpr (region_detail::has<T, region_detail::appendable_structs>) {
      std::vector<std::uint64_t> for_large;
      region_detail::check_bitmap bits(for_large);
      region_detail::image_versions versions;
      if (!region_detail::check_image<T>(copy, bits, versions, error)) return failure{std::move(error)};
      if (versions.differs) {
        const auto rewritten = region_detail::rewritten<T>(copy, versions);
        return adopt(std::as_bytes(std::span(rewritten)), options);
      }
    }
    auto adopted = region<T>::adopt_in_place(fresh.span(), options);
    if (!adopted) return failure{std::move(adopted).error()};
    return movable_region(options, std::move(fresh), std::move(*adopted));
  }

  [[nodiscard]] handle<T> root() noexcept { return {this, region_detail::root_offset}; }
  /// Returns the value. Valid until the region next changes.
  [[nodiscard]] const T& operator*() const noexcept { return *region_; }
  [[nodiscard]] const T* operator->() const noexcept { return region_.get(); }
  [[nodiscard]] std::span<const std::byte> bytes() const noexcept { return region_.bytes(); }
  [[nodiscard]] std::vector<std::byte> canonical() const { return region_.canonical(); }
  [[nodiscard]] std::size_t size() const noexcept { return region_.size(); }
  [[nodiscard]] std::size_t capacity() const noexcept { return region_.capacity(); }
  /// See `region`. A full buffer grows if the compact arrangement has no room in it.
  [[nodiscard]] bool try_compact() { return region_.try_compact() || (grow(1) && region_.try_compact()); }
  void compact() {
    if (!try_compact()) detail::raise(region_error(region_fault::full, options_.limit));
  }
  void compact_in_place() noexcept { region_.compact_in_place(); }
  void trim() noexcept { region_.trim(); }

 private:
  struct end_of_memory {
    void operator()(std::byte* memory) const noexcept {
      ::operator delete (memory, std::align_val_t{region_detail::granule});
    }
  };
  struct buffer {
    std::unique_ptr<std::byte, end_of_memory> memory;
    std::size_t size = 0;
    [[nodiscard]] std::span<std::byte> span() const noexcept { return {memory.get(), size}; }
  };

  movable_region(const region_options& options, buffer&& memory, region<T>&& in_it) noexcept
      : options_(options), buffer_(std::move(memory)), region_(std::move(in_it)) {}

  [[nodiscard]] movable_region copy() const {
    std::optional<movable_region> made = try_copy();
    if (!made) detail::raise(region_error(region_fault::full, options_.limit));
    return std::move(*made);
  }
  static std::size_t first_size(const region_options& options) noexcept {
    const std::size_t image = region_detail::min_size<T>() + options.preallocate + 512;
    return image + region_detail::state_size(image) + 64;
  }
  /// Returns memory of this size, or none and size 0 if there is no memory.
  static buffer make(std::size_t size) noexcept {
    size = region_detail::in_granules(size);
    std::unique_ptr<std::byte, end_of_memory> memory(static_cast<std::byte*>(
        ::operator new (size, std::align_val_t{region_detail::granule}, std::nothrow)));
    if (memory == nullptr) return {};
    return {std::move(memory), size};
  }
  [[nodiscard]] region_detail::header* header() noexcept {
    return reinterpret_cast<region_detail::header*>(buffer_.memory.get());
  }
  /// Clears the size that last found no room.
  void ask_anew() noexcept {
    header()->refused = 0;
    region_detail::own_state(header())->wanted = 0;
  }
  /// Returns a larger buffer for the size that found no room. Returns none if no buffer can have that size,
  /// or if the operation failed for another reason.
  [[nodiscard]] bool grow() noexcept {
    return header()->refused == 0 && grow(region_detail::own_state(header())->wanted);
  }
  [[nodiscard]] bool grow(std::size_t wanted) noexcept {
    if (wanted == 0 || wanted > options_.limit || region_.capacity() >= options_.limit ||
        region_.capacity() == region_detail::max_size) {
      return false;
    }
    std::size_t size = buffer_.size * 2;
    while (size < region_.size() + wanted && size < options_.limit) size *= 2;
    buffer larger = make(size);
    if (larger.memory == nullptr || !region_.continue_in(larger.span())) return false;
    buffer_ = std::move(larger);
    return true;
  }
  template <class M>
  [[nodiscard]] handle<M> handle_of(M& value) noexcept {
    return {this, static_cast<std::uint32_t>(region_detail::bytes_of(&value) - bytes().data())};
  }

  region_options options_;
  buffer buffer_;
  region<T> region_;
};

}  // namespace situ
