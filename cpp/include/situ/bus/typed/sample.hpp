// A sample: a message that was taken, read in the memory into which its publisher wrote it.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "situ.h"
#include "situ/bus/c_abi/error.hpp"
#include "situ/bus/raii/device.hpp"
#include "situ/layout/bulk.hpp"
#include "situ/layout/message.hpp"

namespace situ {
namespace detail {

struct opener;

}  // namespace detail

/// A message that was taken: read-only, and unchanged until the sample is destroyed. May outlive its
/// subscriber and move to other threads. Several threads may read it at once.
template <message T>
class sample {
  /// Only subscribers can make one.
  struct key {
    explicit key() = default;
  };

 public:
  // Leaves the other members uninitialized: this is the hot path.
  explicit sample(key /*from*/) noexcept { forget(); }
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

  /// The elements of a bulk field: `cloud.bulk(&PointCloud2::data)`.
  template <class U, std::size_t N>
  [[nodiscard]] std::span<const U> bulk(bulk_ref<U, N> T::*member) const noexcept {
    return bulk(value_->*member);
  }
  /// The same for a field of a nested message: `cloud.bulk(cloud->inner.data)`.
  template <class U, std::size_t N>
  [[nodiscard]] std::span<const U> bulk(const bulk_ref<U, N>& field) const noexcept {
    return field.try_span(body()).value_or(std::span<const U>());
  }
  /// The same for a message on the heap. Its field is a vector.
  template <detail::sequence V>
  [[nodiscard]] std::span<const typename V::value_type> bulk(V T::*member) const noexcept {
    return value_->*member;
  }

  /// The elements of a bulk field in the subscriber's domain: `cloud.span(&PointCloud2::data)`.
  template <class U, std::size_t N>
  [[nodiscard]] device_span<const U> span(bulk_ref<U, N> T::*member) const {
    return span(value_->*member);
  }
  /// The same for a field of a nested message.
  template <class U, std::size_t N>
  [[nodiscard]] device_span<const U> span(const bulk_ref<U, N>& field) const {
    return detail::part_of<const U>(payload(), field);
  }
  /// A message without bulk fields, as a whole, in the subscriber's domain.
  [[nodiscard]] device_span<const T> span_of_message() const { return device_span<const T>(payload()); }
  /// Enqueues a copy of the message's body to host memory, from an offset. The memory must not be used until
  /// the stream has passed the copy.
  void read(const stream& work, std::span<std::byte> bytes, std::uint64_t offset = 0) const {
    situ_error raw;
    detail::failed why;
    const situ_status status =
        situ_stream_read(work.handle(), &raw_, offset, bytes.data(), bytes.size(), &raw);
    detail::succeeded(status, raw, why);
    detail::raise_if(why);
  }

  /// Whether the message is complete.
  [[nodiscard]] fence_state state() const noexcept {
    return static_cast<fence_state>(copy_ ? SITU_COMPLETE : situ_sample_state(&raw_));
  }
  /// The fence that completes the message, for streams of other libraries. A null word: it is complete.
  [[nodiscard]] situ::fence fence() const {
    situ_error raw;
    detail::failed why;
    situ::fence found{};
    detail::succeeded(situ_sample_fence(&raw_, &found, &raw), raw, why);
    detail::raise_if(why);
    return found;
  }
  /// Waits until the message is complete. Returns false if the timeout passes first. Throws if the message
  /// never becomes complete.
  bool synchronize(std::chrono::nanoseconds timeout = forever) const {
    situ_error raw;
    return waited(situ_sample_synchronize(&raw_, detail::limit_of(timeout), &raw), raw);
  }
  /// Makes work that is enqueued on the stream from now on wait until the message is complete. If the device
  /// cannot wait, the call waits itself, and returns false if the timeout passes first.
  bool wait_on(const stream& work, std::chrono::nanoseconds timeout = forever) const {
    situ_error raw;
    return waited(situ_sample_wait_on(&raw_, work.handle(), detail::limit_of(timeout), &raw), raw);
  }

  /// Releases the message once the stream has passed all work enqueued so far, instead of on destruction: for
  /// kernels that still read it. On CUDA the release happens when work is next enqueued on the stream, or
  /// when a thread synchronizes with it. The sample must not be read afterwards. Throws if the stream
  /// refuses; the message then stays until this process ends, because the device may still read it.
  void release_on(const stream& work) && {
    situ_error raw;
    detail::failed why;
    value_ = nullptr;
    copy_.reset();
    detail::succeeded(situ_sample_release_on(&raw_, work.handle(), &raw), raw, why);
    detail::raise_if(why);
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
  /// Whether the message was decoded or converted, or copied because its publisher is not trusted
  /// (`situ::trust`). Otherwise it is read in place.
  [[nodiscard]] bool is_copy() const noexcept { return copy_ != nullptr || situ_sample_is_copy(&raw_) != 0; }

 private:
  template <message>
  friend class subscriber;
  friend struct detail::opener;

  /// A message that is not read in place.
  struct copy {
    T value;
    std::vector<std::byte> body;
  };

  [[nodiscard]] std::span<const std::byte> body() const noexcept {
    if (copy_) return copy_->body;
    // A body on a device has a size, but no address.
    if (raw_.body == nullptr) return {};
    return {static_cast<const std::byte*>(raw_.body), raw_.body_size};
  }

  [[nodiscard]] situ_span payload() const {
    situ_error raw;
    detail::failed why;
    situ_span found{};
    detail::succeeded(situ_sample_span(&raw_, &found, &raw), raw, why);
    detail::raise_if(why);
    return found;
  }
  static bool waited(situ_status status, const situ_error& raw) {
    detail::failed why;
    detail::succeeded(status, raw, why);
    detail::raise_if(why);
    return status == SITU_OK;
  }

  void forget() noexcept {
    raw_.head = nullptr;
    raw_.state_ = 0;
  }
  void take(sample& other) noexcept {
    value_ = std::exchange(other.value_, nullptr);
    copy_ = std::move(other.copy_);
    if (value_ == nullptr) return forget();
    raw_ = other.raw_;
    other.forget();
  }

  situ_sample raw_;
  const T* value_ = nullptr;
  std::unique_ptr<copy> copy_;
};

}  // namespace situ
