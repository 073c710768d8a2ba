// A sample: a message that was taken, read where its publisher wrote it.
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

/// A message that was taken: read-only, and unchanged until the sample is destroyed, whatever its publisher
/// does. May outlive its subscriber, move to other threads, and be read by several at once.
template <message T>
class sample {
  /// Only a subscriber has it.
  struct key {
    explicit key() = default;
  };

 public:
  // What is not held is not initialized either: the hot path has better things to do.
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
  /// The same for a field further inside: `cloud.bulk(cloud->inner.data)`.
  template <class U, std::size_t N>
  [[nodiscard]] std::span<const U> bulk(const bulk_ref<U, N>& field) const noexcept {
    return field.try_span(body()).value_or(std::span<const U>());
  }
  /// The same for a message on the heap, where the field is a vector.
  template <detail::sequence V>
  [[nodiscard]] std::span<const typename V::value_type> bulk(V T::*member) const noexcept {
    return value_->*member;
  }

  /// The elements of a bulk field where the subscriber takes them: `cloud.span(&PointCloud2::data)`.
  template <class U, std::size_t N>
  [[nodiscard]] device_span<const U> span(bulk_ref<U, N> T::*member) const {
    return span(value_->*member);
  }
  /// The same for a field further inside.
  template <class U, std::size_t N>
  [[nodiscard]] device_span<const U> span(const bulk_ref<U, N>& field) const {
    return detail::part_of<const U>(payload(), field);
  }
  /// A message without bulk fields, as a whole, where the subscriber takes it.
  [[nodiscard]] device_span<const T> span_of_message() const { return device_span<const T>(payload()); }
  /// Enqueues a copy of the message's body to host memory, from an offset. Nobody may use that until the
  /// stream has passed.
  void read(const stream& work, std::span<std::byte> bytes, std::uint64_t offset = 0) const {
    situ_error raw;
    detail::failed why;
    const situ_status status =
        situ_stream_read(work.handle(), &raw_, offset, bytes.data(), bytes.size(), &raw);
    detail::succeeded(status, raw, why);
    detail::raise_if(why);
  }

  /// Whether it is complete.
  [[nodiscard]] fence_state state() const noexcept {
    return static_cast<fence_state>(copy_ ? SITU_COMPLETE : situ_sample_state(&raw_));
  }
  /// When it is complete, for streams that Situ knows nothing of; a null word: it is.
  [[nodiscard]] situ::fence fence() const {
    situ_error raw;
    detail::failed why;
    situ::fence found{};
    detail::succeeded(situ_sample_fence(&raw_, &found, &raw), raw, why);
    detail::raise_if(why);
    return found;
  }
  /// Waits until it is complete. False if the time is over; throws if it never will be.
  bool synchronize(std::chrono::nanoseconds timeout = forever) const {
    situ_error raw;
    return waited(situ_sample_synchronize(&raw_, detail::limit_of(timeout), &raw), raw);
  }
  /// Has work that is enqueued on the stream from now on wait until it is complete. The call itself waits
  /// only where the device cannot: then false if the time is over.
  bool wait_on(const stream& work, std::chrono::nanoseconds timeout = forever) const {
    situ_error raw;
    return waited(situ_sample_wait_on(&raw_, work.handle(), detail::limit_of(timeout), &raw), raw);
  }

  /// Gives it back when the stream has passed everything that is enqueued on it so far, instead of when it is
  /// destroyed: for kernels that still read it (on CUDA, when something is next enqueued there, or
  /// somebody synchronizes with it). Nothing may be read through this sample afterwards. Throws if
  /// the stream cannot be told; the message then stays until this process ends, because the device may still
  /// be reading it.
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
  /// When it was published; the clock's epoch if its publisher leaves out time stamps.
  [[nodiscard]] std::chrono::steady_clock::time_point published_at() const noexcept {
    using clock = std::chrono::steady_clock;
    return clock::time_point(std::chrono::duration_cast<clock::duration>(
        std::chrono::nanoseconds(static_cast<std::int64_t>(raw_.published_at_ns))));
  }
  /// The number of the node that published it.
  [[nodiscard]] std::uint64_t publisher_id() const noexcept { return raw_.publisher; }
  /// Whether it had to be decoded or converted, or its publisher is not trusted (`situ::trust`); otherwise it
  /// is read where it was written.
  [[nodiscard]] bool is_copy() const noexcept { return copy_ != nullptr || situ_sample_is_copy(&raw_) != 0; }

 private:
  template <message>
  friend class subscriber;

  /// A message that is not read in place.
  struct copy {
    T value;
    std::vector<std::byte> body;
  };

  [[nodiscard]] std::span<const std::byte> body() const noexcept {
    if (copy_) return copy_->body;
    // On a device it has a size, but no address.
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
