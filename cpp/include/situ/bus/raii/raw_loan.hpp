// A loan from C, returned on destruction. Typed loans and loans of regions are built on it.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <type_traits>

#include "situ.h"
#include "situ/batch.h"
#include "situ/bus/c_abi/error.hpp"
#include "situ/bus/c_abi/qos.hpp"
#include "situ/bus/raii/device.hpp"
#include "situ/service.h"

namespace situ {
namespace detail {

/// Owns a `situ_loan` and returns it on destruction.
class raw_loan {
 public:
  // Leaves the other members uninitialized: this is the hot path.
  raw_loan() noexcept { forget(); }
  raw_loan(raw_loan&& other) noexcept { take(other); }
  raw_loan& operator=(raw_loan&& other) noexcept {
    if (this != &other) {
      situ_loan_discard(&raw_);
      take(other);
    }
    return *this;
  }
  ~raw_loan() {
    if (raw_.head != nullptr) situ_loan_discard(&raw_);
  }

  bool lend(situ_publisher* from, std::size_t head, std::size_t align, std::size_t body, failed& why) {
    situ_error raw;
    return succeeded(situ_publisher_loan(from, head, align, body, &raw_, &raw), raw, why);
  }
  bool lend_growing(situ_publisher* from, std::size_t body, std::size_t room, failed& why) {
    situ_error raw;
    return succeeded(situ_publisher_loan_growing(from, body, room, &raw_, &raw), raw, why);
  }
  bool lend(situ_client* from, std::size_t head, std::size_t align, std::size_t body, failed& why) {
    situ_error raw;
    return succeeded(situ_client_loan(from, head, align, body, &raw_, &raw), raw, why);
  }
  bool lend(situ_server* from, const situ_request_id& request, std::size_t head, std::size_t align,
            std::size_t body, failed& why) {
    situ_error raw;
    return succeeded(situ_server_loan(from, &request, head, align, body, &raw_, &raw), raw, why);
  }
  bool lend_growing(situ_client* from, std::size_t body, std::size_t room, failed& why) {
    situ_error raw;
    return succeeded(situ_client_loan_growing(from, body, room, &raw_, &raw), raw, why);
  }
  bool lend_growing(situ_server* from, const situ_request_id& request, std::size_t body, std::size_t room,
                    failed& why) {
    situ_error raw;
    return succeeded(situ_server_loan_growing(from, &request, body, room, &raw_, &raw), raw, why);
  }
  /// Sends a request, and returns the number of the call.
  std::uint64_t send(std::chrono::nanoseconds limit, std::chrono::nanoseconds block, const stream* on,
                     failed& why) {
    situ_error raw;
    std::uint64_t call = 0;
    const std::uint64_t limit_ns = limit_of(limit);
    const situ_status status =
        on != nullptr ? situ_request_send_on(&raw_, on->handle(), limit_ns, limit_of(block), &call, &raw)
                      : situ_request_send(&raw_, limit_ns, limit_of(block), &call, &raw);
    succeeded(status, raw, why);
    return call;
  }
  /// Sends a reply, or a part of one.
  bool reply(bool is_last, std::chrono::nanoseconds block, const stream* on, failed& why) {
    situ_error raw;
    const std::uint32_t last = is_last ? 1 : 0;
    const situ_status status = on != nullptr
                                   ? situ_reply_send_on(&raw_, on->handle(), last, limit_of(block), &raw)
                                   : situ_reply_send(&raw_, last, limit_of(block), &raw);
    return succeeded(status, raw, why);
  }
  /// Makes the body larger in place.
  bool grow(std::size_t body, failed& why) {
    situ_error raw;
    return succeeded(situ_loan_grow(&raw_, body, &raw), raw, why);
  }
  std::uint64_t publish(failed& why) {
    situ_error raw;
    std::uint64_t sequence = 0;
    succeeded(situ_loan_publish(&raw_, &sequence, &raw), raw, why);
    return sequence;
  }
  /// Publishes the loans of an array, and returns how many were published. `last` receives the number of the
  /// last one in the topic's order, if there is one.
  static std::size_t publish_all(raw_loan* first, std::size_t count, std::optional<std::uint64_t>& last,
                                 failed& why) {
    static_assert(std::is_standard_layout_v<raw_loan> && sizeof(raw_loan) == sizeof(situ_loan),
                  "an array of these is an array for C");
    situ_error raw;
    std::size_t published = 0;
    std::uint64_t sequence = 0;
    situ_loan* const loans = first != nullptr ? &first->raw_ : nullptr;
    succeeded(situ_loan_publish_all(loans, count, &published, &sequence, &raw), raw, why);
    if (published > 0) last = sequence;
    return published;
  }
  [[nodiscard]] void* head() const noexcept { return raw_.head; }
  [[nodiscard]] std::span<std::byte> body() const noexcept {
    // A body on a device has a size, but no address.
    if (raw_.body == nullptr) return {};
    return {static_cast<std::byte*>(raw_.body), raw_.body_size};
  }
  /// Reduces the body to the bytes that are needed.
  void shrink(std::size_t size) noexcept { raw_.body_size = std::min(raw_.body_size, size); }
  std::uint64_t publish_on(const stream& work, failed& why) {
    situ_error raw;
    std::uint64_t sequence = 0;
    succeeded(situ_loan_publish_on(&raw_, work.handle(), &sequence, &raw), raw, why);
    return sequence;
  }
  std::uint64_t publish_signalled(failed& why) {
    situ_error raw;
    std::uint64_t sequence = 0;
    succeeded(situ_loan_publish_signalled(&raw_, &sequence, &raw), raw, why);
    return sequence;
  }
  situ_span span(bool of_message, failed& why) {
    situ_error raw;
    situ_span found{};
    const auto find = of_message ? situ_loan_span_of_message : situ_loan_span;
    succeeded(find(&raw_, &found, &raw), raw, why);
    return found;
  }
  situ_fence fence(failed& why) {
    situ_error raw;
    situ_fence found{};
    succeeded(situ_loan_fence(&raw_, &found, &raw), raw, why);
    return found;
  }
  void write(const stream& work, std::span<const std::byte> bytes, std::uint64_t offset, failed& why) {
    situ_error raw;
    succeeded(situ_stream_write(work.handle(), bytes.data(), &raw_, offset, bytes.size(), &raw), raw, why);
  }

 private:
  void forget() noexcept {
    raw_.head = nullptr;
    raw_.state_ = 0;
  }
  void take(raw_loan& other) noexcept {
    if (other.raw_.head == nullptr) return forget();
    raw_ = other.raw_;
    other.forget();
  }

  situ_loan raw_;
};

}  // namespace detail
}  // namespace situ
