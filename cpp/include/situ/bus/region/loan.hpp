// The loan of a region: a message that grows while it is built, in the slot in which it will be read.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "situ/bus/c_abi/error.hpp"
#include "situ/bus/raii/raw_loan.hpp"
#include "situ/bus/typed/loan.hpp"
#include "situ/bus/typed/publisher.hpp"
#include "situ/region.hpp"

namespace situ {

/// A region under construction, in the memory where it will be read. It is published, or returned on
/// destruction. Belongs to the thread of its publisher, which must outlive it.
///
/// `loan->skills.emplace_back(1054, 3)` works in the slot that was lent, which grows in its place: references
/// into the region stay good, as in a region in a window of its own, up to the room that it was lent with.
/// `try_` operations take what memory the slot has now, and say that there is no room instead.
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

  /// Does something to the value that consists of `try_` operations, `change([](Character& c) { return
  /// c.path.try_resize(10000); })`: while it returns false or null for want of memory, the slot grows, and it
  /// is done again. Other operations need no help: they grow the slot by themselves.
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
  /// Finds memory for an image of so many bytes now, instead of when it is needed. False if there is none, or
  /// the loan has no such room.
  [[nodiscard]] bool reserve(std::size_t bytes) {
    if (bytes <= region_->capacity()) return true;
    return bytes <= region_detail::max_size && grow_to(room_for(bytes));
  }

  /// The live image.
  [[nodiscard]] std::span<const std::byte> bytes() const noexcept { return region_->bytes(); }
  /// The canonical image: equal values have equal bytes.
  [[nodiscard]] std::vector<std::byte> canonical() const { return region_->canonical(); }
  /// Makes the live image as small as the canonical one: see `region::compact`. References into the region
  /// end.
  void compact() {
    if (!try_compact()) detail::raise(region_error(region_fault::full, region_->capacity()));
  }
  /// The same; false, and unchanged, where the slot has no room for it.
  [[nodiscard]] bool try_compact() {
    const bool done = region_->try_compact();
    grows();
    return done;
  }

  /// Closes the gaps between blocks in the slot: see `region::compact_in_place`. References into the region
  /// end. If this process dies meanwhile, nobody sees the slot: it was never published.
  void compact_in_place() noexcept { region_->compact_in_place(); }

  /// Publishes the region as it stands, its live image, and gives its number in the topic's order. After an
  /// exception it is still lent.
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
  /// From now on, what finds no room in the region gets more memory.
  [[gnu::noinline]] void grows() noexcept {  // GCC 12 would warn of what is not there
    if (region_) region_detail::own_state(header())->growth = this;
  }
  static bool widen(region_detail::growth* self) { return static_cast<loan*>(self)->grow(); }

  /// What an image of so many bytes needs, together with what is known of its memory.
  static std::size_t room_for(std::size_t bytes) noexcept {
    // The bitmap has bits for its own memory, too.
    return bytes + region_detail::state_size(bytes + bytes / 64) + region_detail::granule * 2;
  }
  /// Gets memory for what found none, and as much again as there was, or what there is of that. False if it
  /// was not for want of room that something failed, if no region can be so large, or if there is no memory.
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
