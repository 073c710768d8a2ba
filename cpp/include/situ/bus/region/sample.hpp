// The sample of a region: checked once, then read in the slot in which it was built.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "situ.h"
#include "situ/bus/typed/sample.hpp"
#include "situ/region.hpp"

namespace situ {
namespace detail {

struct region_opener;

}  // namespace detail

/// A region that was taken: checked once, read-only, and unchanged until the sample is destroyed. May outlive
/// its subscriber and move to other threads. Several threads may read it at once.
///
/// After the check, reading follows links without further checks. The image therefore lies in memory that
/// does not change: messages that other users may write are copied to private memory before the check
/// (`situ::trust` of the subscriber). Only a hostile process of the same user can change messages that are
/// read in place. Where such a process may run, subscribe with `situ::trust::nobody`.
template <region_message T>
class sample<T> {
 public:
  sample(sample&& other) noexcept { take(other); }
  sample& operator=(sample&& other) noexcept {
    if (this != &other) {
      if (raw_.head != nullptr) situ_sample_release(&raw_);
      take(other);
    }
    return *this;
  }
  ~sample() {
    if (raw_.head != nullptr) situ_sample_release(&raw_);
  }

  [[nodiscard]] const T& operator*() const noexcept { return *value_; }
  [[nodiscard]] const T* operator->() const noexcept { return value_; }
  [[nodiscard]] std::span<const std::byte> bytes() const noexcept { return image_; }
  /// A region of this process, to keep and edit: a copy of the bytes, checked once more.
  [[nodiscard]] result<region<T>, region_invalid> copy(const region_options& options = {}) const {
    situ_count_copy(image_.size());
    std::vector<granule> own((image_.size() + sizeof(granule) - 1) / sizeof(granule));
    std::memcpy(own.data(), image_.data(), image_.size());
    return region<T>::adopt(std::as_bytes(std::span(own)), options);
  }

  /// The message's number in the topic's order, from 0.
  [[nodiscard]] std::uint64_t sequence() const noexcept { return raw_.sequence; }
  /// The time of publication, or the clock's epoch if the publisher omits time stamps.
  [[nodiscard]] std::chrono::steady_clock::time_point published_at() const noexcept {
    using clock = std::chrono::steady_clock;
    return clock::time_point(std::chrono::duration_cast<clock::duration>(
        std::chrono::nanoseconds(static_cast<std::int64_t>(raw_.published_at_ns))));
  }
  /// The number of the node that published it.
  [[nodiscard]] std::uint64_t publisher_id() const noexcept { return raw_.publisher; }
  /// Whether the message was stored in a region of this process, or copied because its publisher is not
  /// trusted (`situ::trust`). Otherwise it is read in place.
  [[nodiscard]] bool is_copy() const noexcept { return own_ != nullptr || situ_sample_is_copy(&raw_) != 0; }

 private:
  template <message>
  friend class subscriber;
  friend struct detail::region_opener;
  struct alignas(region_detail::granule) granule {
    std::byte bytes[region_detail::granule];
  };

  sample() noexcept { forget(); }
  void forget() noexcept {
    raw_.head = nullptr;
    raw_.state_ = 0;
  }
  void take(sample& other) noexcept {
    value_ = std::exchange(other.value_, nullptr);
    image_ = std::exchange(other.image_, {});
    own_ = std::move(other.own_);
    if (other.raw_.head == nullptr) return forget();
    raw_ = other.raw_;
    other.forget();
  }

  situ_sample raw_;
  std::span<const std::byte> image_;
  const T* value_ = nullptr;
  std::unique_ptr<region<T>> own_;
};

}  // namespace situ
