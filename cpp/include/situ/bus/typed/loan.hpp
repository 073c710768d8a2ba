// A loan: a message under construction, in the memory in which subscribers read it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <type_traits>
#include <utility>

#include "situ/bus/c_abi/error.hpp"
#include "situ/bus/raii/device.hpp"
#include "situ/bus/raii/raw_loan.hpp"
#include "situ/layout/bulk.hpp"
#include "situ/layout/message.hpp"

namespace situ {

/// A message under construction. It is published, or returned on destruction. Belongs to the thread of its
/// publisher, and may outlive the publisher.
template <message T>
class loan {
  static_assert(flat_message<T>, "only flat messages can be built in shared memory");

 public:
  [[nodiscard]] T& operator*() const noexcept { return *static_cast<T*>(raw_.head()); }
  [[nodiscard]] T* operator->() const noexcept { return static_cast<T*>(raw_.head()); }
  /// False once it is published or moved from.
  explicit operator bool() const noexcept { return raw_.head() != nullptr; }

  /// The elements of a bulk field, for writing: `cloud.bulk(&PointCloud2::data)`. They hold arbitrary old
  /// values.
  template <class U, std::size_t N>
  [[nodiscard]] std::span<U> bulk(bulk_ref<U, N> T::*member) const noexcept {
    return bulk((**this).*member);
  }
  /// The same for a field of a nested message: `cloud.bulk(cloud->inner.data)`.
  template <class U, std::size_t N>
  [[nodiscard]] std::span<U> bulk(const bulk_ref<U, N>& field) const noexcept {
    return field.try_span(raw_.body()).value_or(std::span<U>());
  }
  /// All bulk fields together.
  [[nodiscard]] std::span<std::byte> body() const noexcept { return raw_.body(); }

  /// The elements of a bulk field where a device can write them: `cloud.span(&PointCloud2::data)`.
  template <class U, std::size_t N>
  [[nodiscard]] device_span<U> span(bulk_ref<U, N> T::*member) {
    return span((**this).*member);
  }
  /// The same for a field of a nested message.
  template <class U, std::size_t N>
  [[nodiscard]] device_span<U> span(const bulk_ref<U, N>& field) {
    detail::failed why;
    const situ_span payload = raw_.span(false, why);
    detail::raise_if(why);
    return detail::part_of<U>(payload, field);
  }
  /// Places a message without bulk fields in its publisher's domain as a whole, and returns its place there.
  /// Bytes written to the loan itself stay in host memory, and only subscribers that take on a device see
  /// them.
  [[nodiscard]] device_span<T> span_of_message() {
    static_assert(std::is_same_v<typename T::bulk_lengths, no_bulk>,
                  "a message with bulk fields has a span for each of them: use span()");
    detail::failed why;
    const situ_span payload = raw_.span(true, why);
    detail::raise_if(why);
    return device_span<T>(payload);
  }
  /// Enqueues a copy of host bytes into the message's body at an offset. The bytes must not change until the
  /// stream has passed the copy.
  void write(const stream& work, std::span<const std::byte> bytes, std::uint64_t offset = 0) {
    detail::failed why;
    raw_.write(work, bytes, offset, why);
    detail::raise_if(why);
  }

  /// Publishes now. The message is complete once the stream has passed all work enqueued so far; the call
  /// does not wait for that, but subscribers do. After an exception the loan is still valid.
  std::uint64_t publish_on(const stream& work) {
    detail::failed why;
    const std::uint64_t sequence = raw_.publish_on(work, why);
    detail::raise_if(why);
    return sequence;
  }
  /// The fence that completes the body, for streams of other libraries: enqueue a write of `value` to
  /// the word after the work that fills the body, then call `publish_signalled`.
  [[nodiscard]] situ::fence fence() {
    detail::failed why;
    const situ::fence found = raw_.fence(why);
    detail::raise_if(why);
    return found;
  }
  std::uint64_t publish_signalled() {
    detail::failed why;
    const std::uint64_t sequence = raw_.publish_signalled(why);
    detail::raise_if(why);
    return sequence;
  }

  /// Publishes the message and returns its number in the topic's order, from 0. After an exception the loan
  /// is still valid.
  std::uint64_t publish() {
    detail::failed why;
    const std::uint64_t sequence = raw_.publish(why);
    detail::raise_if(why);
    return sequence;
  }
  /// As `publish`, without an exception.
  [[nodiscard]] result<std::uint64_t, error> try_publish() {
    detail::failed why;
    std::uint64_t sequence = raw_.publish(why);
    return detail::result_of(std::move(sequence), std::move(why));
  }

 private:
  template <message>
  friend class publisher;
  loan() noexcept = default;

  detail::raw_loan raw_;
};

}  // namespace situ
