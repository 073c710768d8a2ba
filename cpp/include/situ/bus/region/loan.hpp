// The loan of a region: a message that grows while it is built, in the slot in which subscribers read it.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <type_traits>
#include <utility>
#include <vector>

#include "situ/bus/c_abi/error.hpp"
#include "situ/bus/raii/raw_loan.hpp"
#include "situ/bus/typed/loan.hpp"
#include "situ/bus/typed/publisher.hpp"
#include "situ/region.hpp"

namespace situ {

/// A region under construction in the memory in which subscribers read it. It is published, or returned on
/// destruction. Belongs to the thread of its publisher, which must outlive it.
///
/// `loan->skills.emplace_back(1054, 3)` works in the slot that was lent. The slot grows in place: references
/// into the region stay valid, as in a region in a window of its own, up to the maximum size of the loan.
/// `try_` operations use the memory that the slot has now, and fail if that is full.
template <region_message T>
class loan<T> : region_detail::growth {
 public:
  loan(loan&& other) noexcept
      : growth{&widen},
        publisher_(other.publisher_),
        raw_(std::move(other.raw_)),
        region_(std::move(other.region_)) {
    other.region_.reset();
    grows();
  }
  loan& operator=(loan&& other) noexcept {
    publisher_ = other.publisher_;
    raw_ = std::move(other.raw_);
    region_ = std::move(other.region_);
    other.region_.reset();
    grows();
    return *this;
  }

  [[nodiscard]] T& operator*() noexcept { return **region_; }
  [[nodiscard]] T* operator->() noexcept { return region_->get(); }
  [[nodiscard]] const T& operator*() const noexcept { return **region_; }
  [[nodiscard]] const T* operator->() const noexcept { return region_->get(); }
  /// False once it is published or moved from.
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
  /// the region. If this process dies meanwhile, no subscriber sees the slot, because it was never published.
  void compact_in_place() noexcept { region_->compact_in_place(); }

  /// Publishes the live image of the region, and returns the message's number in the topic's order. After an
  /// exception the loan is still valid.
  std::uint64_t publish() {
    detail::failed why;
    const std::uint64_t sequence = publish(why);
    detail::raise_if(why);
    return sequence;
  }
  /// As `publish`, without an exception.
  [[nodiscard]] result<std::uint64_t, error> try_publish() {
    detail::failed why;
    std::uint64_t sequence = publish(why);
    return detail::result_of(std::move(sequence), std::move(why));
  }

 private:
  template <message>
  friend class publisher;
  explicit loan(publisher<T>& of) noexcept : growth{&widen}, publisher_(&of) {}

  [[nodiscard]] region_detail::header* header() noexcept {
    return reinterpret_cast<region_detail::header*>(const_cast<std::byte*>(region_->bytes().data()));
  }
  /// Makes operations that find no room in the region grow the slot.
  [[gnu::noinline]] void grows() noexcept {  // Inlined, GCC 12 warns of an access that does not happen.
    if (region_) region_detail::own_state(header())->growth = this;
  }
  static bool widen(region_detail::growth* self) { return static_cast<loan*>(self)->grow(); }

  /// The memory for an image of `bytes` bytes together with its allocator state.
  static std::size_t room_for(std::size_t bytes) noexcept {
    // The bitmap also covers its own memory.
    return bytes + region_detail::state_size(bytes + bytes / 64) + region_detail::granule * 2;
  }
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
    detail::failed why;
    return room <= region_detail::max_size && room > raw_.body().size() && raw_.grow(room, why) &&
           region_->widen(raw_.body());
  }
  std::uint64_t publish(detail::failed& why) {
    region_->trim();
    const std::size_t size = region_->size();
    raw_.shrink(size);
    const std::uint64_t sequence = raw_.publish(why);
    if (!why) {
      region_.reset();
      publisher_->learn(room_for(size) + size / 4);
    }
    return sequence;
  }

  publisher<T>* publisher_;
  detail::raw_loan raw_;
  std::optional<region<T>> region_;
};

}  // namespace situ
