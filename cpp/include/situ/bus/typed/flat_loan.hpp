// What loans of messages, requests and replies have in common: access to the flat message that is built.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <type_traits>

#include "situ/bus/c_abi/error.hpp"
#include "situ/bus/raii/device.hpp"
#include "situ/bus/raii/raw_loan.hpp"
#include "situ/layout/bulk.hpp"
#include "situ/layout/message.hpp"

namespace situ::detail {

/// A flat message under construction, in the memory in which others will read it.
template <message T>
class flat_loan {
  static_assert(flat_message<T>, "only flat messages can be built in shared memory");

 public:
  [[nodiscard]] T& operator*() const noexcept { return *static_cast<T*>(raw_.head()); }
  [[nodiscard]] T* operator->() const noexcept { return static_cast<T*>(raw_.head()); }
  /// False once it is published, sent or moved from.
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

 protected:
  flat_loan() noexcept = default;

  raw_loan raw_;
};

}  // namespace situ::detail
