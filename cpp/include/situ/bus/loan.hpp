// A loan: a message under construction, in the memory where it will be read.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>

#include "situ/bulk.hpp"
#include "situ/bus/error.hpp"
#include "situ/message.hpp"

namespace situ {
namespace detail {

/// What is lent, and returned on destruction.
class raw_loan {
 public:
  // What is not lent is not initialized either: the hot path has better things to do.
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
  std::uint64_t publish(failed& why) {
    situ_error raw;
    std::uint64_t sequence = 0;
    succeeded(situ_loan_publish(&raw_, &sequence, &raw), raw, why);
    return sequence;
  }
  [[nodiscard]] void* head() const noexcept { return raw_.head; }
  [[nodiscard]] std::span<std::byte> body() const noexcept {
    return {static_cast<std::byte*>(raw_.body), raw_.body_size};
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

/// A message under construction. It is published, or returned on destruction. Belongs to the thread of its
/// publisher, and may outlive it.
template <message T>
class loan {
  static_assert(flat_message<T>, "only flat messages can be built in shared memory");

 public:
  [[nodiscard]] T& operator*() const noexcept { return *static_cast<T*>(raw_.head()); }
  [[nodiscard]] T* operator->() const noexcept { return static_cast<T*>(raw_.head()); }
  /// False once it is published or moved from.
  explicit operator bool() const noexcept { return raw_.head() != nullptr; }

  /// The elements of a bulk field, for writing; they are whatever was there before:
  /// `cloud.bulk(&PointCloud2::data)`.
  template <class U, std::size_t N>
  [[nodiscard]] std::span<U> bulk(bulk_ref<U, N> T::*member) const noexcept {
    return bulk((**this).*member);
  }
  /// The same for a field further inside: `cloud.bulk(cloud->inner.data)`.
  template <class U, std::size_t N>
  [[nodiscard]] std::span<U> bulk(const bulk_ref<U, N>& field) const noexcept {
    return field.try_span(raw_.body()).value_or(std::span<U>());
  }
  /// All bulk fields together.
  [[nodiscard]] std::span<std::byte> body() const noexcept { return raw_.body(); }

  /// Publishes the message and gives its number in the topic's order, from 0. After an exception it is still
  /// lent.
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
