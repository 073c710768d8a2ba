// A region under construction in a loan: what loans of messages, requests and replies in regions have in
// common.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "situ.h"
#include "situ/bus/c_abi/error.hpp"
#include "situ/bus/raii/raw_loan.hpp"
#include "situ/convert.hpp"
#include "situ/region.hpp"

namespace situ::detail {

/// What a sender of regions keeps from one message to the next.
struct region_memory {
  /// Two pages, allocator state included. Only this much is touched; more can be mapped.
  static constexpr std::size_t min_room = 8192;

  /// The memory that the last messages needed.
  std::size_t hint = min_room;
  /// The bitmap of the last large message that was edited, kept for its memory.
  std::vector<std::uint64_t> for_large;

  /// Records the memory that an image needed. The hint rises at once, and falls by 1/8 of the difference.
  void learn(std::size_t needed) noexcept { hint = needed > hint ? needed : hint - (hint - needed) / 8; }
};

/// A region under construction, in the memory in which others will read it. The slot grows in place:
/// references into the region stay valid, as in a region in a window of its own, up to the maximum size of
/// the loan. `try_` operations use the memory that the slot has now, and fail if that is full.
template <region_message T>
class region_loan : region_detail::growth {
 public:
  region_loan(region_loan&& other) noexcept
      : growth{&widen},
        raw_(std::move(other.raw_)),
        memory_(other.memory_),
        region_(std::move(other.region_)) {
    other.region_.reset();
    grows();
  }
  region_loan& operator=(region_loan&& other) noexcept {
    raw_ = std::move(other.raw_);
    memory_ = other.memory_;
    region_ = std::move(other.region_);
    other.region_.reset();
    grows();
    return *this;
  }

  [[nodiscard]] T& operator*() noexcept { return **region_; }
  [[nodiscard]] T* operator->() noexcept { return region_->get(); }
  [[nodiscard]] const T& operator*() const noexcept { return **region_; }
  [[nodiscard]] const T* operator->() const noexcept { return region_->get(); }
  /// False once it is published, sent or moved from.
  explicit operator bool() const noexcept { return raw_.body().data() != nullptr; }

  /// Applies an operation that consists of `try_` operations to the value: `change([](Character& c) { return
  /// c.path.try_resize(10000); })`. While the operation returns false or null for lack of memory, the slot
  /// grows and the operation runs again. Other operations grow the slot by themselves.
  template <class Operation>
  auto change(const Operation& operation) {
    using outcome = std::invoke_result_t<const Operation&, T&>;
    if constexpr (std::is_convertible_v<outcome, bool>) {
      for (;;) {
        region_detail::own_state(header())->wanted = 0;
        auto done = operation(**this);
        if (done || !grow()) return done;
      }
    } else {
      return operation(**this);
    }
  }
  /// Allocates memory for an image of `bytes` bytes now. Returns false if there is not enough memory, or if
  /// the loan may not grow that far.
  [[nodiscard]] bool reserve(std::size_t bytes) {
    if (bytes <= region_->capacity()) return true;
    return bytes <= region_detail::max_size && grow_to(room_for(bytes));
  }

  /// The live image.
  [[nodiscard]] std::span<const std::byte> bytes() const noexcept { return region_->bytes(); }
  /// The canonical image: equal values have equal bytes.
  [[nodiscard]] std::vector<std::byte> canonical() const { return region_->canonical(); }
  /// Makes the live image as small as the canonical one: see `region::compact`. Invalidates references into
  /// the region.
  void compact() {
    if (!try_compact()) detail::raise(region_error(region_fault::full, region_->capacity()));
  }
  /// The same. Returns false and changes nothing if the slot has no room for it.
  [[nodiscard]] bool try_compact() {
    const bool done = region_->try_compact();
    grows();
    return done;
  }

  /// Closes the gaps between blocks in the slot: see `region::compact_in_place`. Invalidates references into
  /// the region. If this process dies meanwhile, no other process sees the slot, because it was never
  /// published.
  void compact_in_place() noexcept { region_->compact_in_place(); }

 protected:
  explicit region_loan(region_memory& memory) noexcept : growth{&widen}, memory_(&memory) {}
  ~region_loan() = default;

  /// Lends memory with `lend(raw_loan&, body, room, failed&)` for a new value. It has the memory that the
  /// last messages needed, and at least `bytes`.
  template <class Lend>
  void begin(std::size_t bytes, const Lend& lend, failed& why) {
    if (bytes > region_detail::max_size) {
      why.emplace(errc::no_memory, std::string(T::situ_name) + ": " + std::to_string(bytes) +
                                       " bytes are more than a region can have");
      return;
    }
    const std::size_t room = room_for(std::max(bytes, region_detail::min_size<T>()));
    if (lend_memory(std::max({room, memory_->hint, region_memory::min_room}), lend, why)) {
      region_.emplace(raw_.body());
      grows();
    }
  }
  template <class Lend>
  bool lend_memory(std::size_t bytes, const Lend& lend, failed& why) {
    constexpr std::size_t max_room = region_detail::max_size + std::size_t{region_detail::max_size} / 64;
    return lend(raw_, bytes, std::clamp(bytes * 8, std::size_t{SITU_GROWING_ROOM}, max_room), why);
  }
  /// Stores the value of a message on the heap.
  bool store(const rebind<T, heap>& value, failed& why) {
    const bool stored = change([&](T& to) {
      auto done = convert(value, to);
      if (done) return true;
      if (done.error().bound != convert_error::no_room) {
        why.emplace(errc::invalid_argument, std::string(T::situ_name) + ": " + done.error().message());
      }
      return why.has_value();
    });
    if (!stored)
      why.emplace(errc::no_memory, std::string(T::situ_name) + " is too large for the available memory");
    if (!why) situ_count_copy(bytes().size());
    return !why;
  }
  /// Prepares the loan to be published or sent with its live image, and returns its size.
  std::size_t trim() {
    region_->trim();
    raw_.shrink(region_->size());
    return region_->size();
  }
  /// The loan is published or sent, with this size. Its memory may be gone.
  void finish(std::size_t size) {
    region_.reset();
    memory_->learn(room_for(size) + size / 4);
  }

  /// The memory for an image of `bytes` bytes together with its allocator state.
  static std::size_t room_for(std::size_t bytes) noexcept {
    // The bitmap also covers its own memory.
    return bytes + region_detail::state_size(bytes + bytes / 64) + region_detail::granule * 2;
  }

  /// Makes operations that find no room in the region grow the slot.
  [[gnu::noinline]] void grows() noexcept {  // Inlined, GCC 12 warns of an access that does not happen.
    if (region_) region_detail::own_state(header())->growth = this;
  }

  raw_loan raw_;
  region_memory* memory_;
  std::optional<region<T>> region_;

 private:
  [[nodiscard]] region_detail::header* header() noexcept {
    return reinterpret_cast<region_detail::header*>(const_cast<std::byte*>(region_->bytes().data()));
  }
  static bool widen(region_detail::growth* self) { return static_cast<region_loan*>(self)->grow(); }

  /// Grows the slot to twice its size or, if that fails, to the size that the failed operation needed.
  /// Returns false if the operation failed for another reason, if no region can be so large, or if there is
  /// no memory.
  [[nodiscard]] bool grow() {
    const std::size_t wanted = region_detail::own_state(header())->wanted;
    const std::size_t needed = room_for(region_->size() + region_detail::in_granules(wanted));
    const std::size_t twice = std::min<std::size_t>(raw_.body().size() * 2, region_detail::max_size);
    if (wanted == 0) return false;
    return (twice > needed && grow_to(twice)) || grow_to(needed);
  }
  [[nodiscard]] bool grow_to(std::size_t room) {
    failed why;
    return room <= region_detail::max_size && room > raw_.body().size() && raw_.grow(room, why) &&
           region_->widen(raw_.body());
  }
};

}  // namespace situ::detail
