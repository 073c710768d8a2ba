// A request that a server has taken.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <utility>

#include "situ.h"
#include "situ/bus/service/form.hpp"
#include "situ/bus/typed/sample.hpp"
#include "situ/layout/message.hpp"
#include "situ/service.h"

namespace situ {

/// What a reply needs to know of its request: see situ/service.h. It may be copied, and used when the request
/// is gone.
using request_id = situ_request_id;

/// A request that was taken: read-only, and unchanged until it is destroyed. May outlive its server, go to
/// other threads, and come back to be answered.
template <message Q>
class request {
  /// Only servers can make one.
  struct key {
    explicit key() = default;
  };

 public:
  /// Takes the message and the rest out of what C took. It is opened before it is moved.
  request(key /*from*/, const situ_request& taken) noexcept : sample_(detail::no_sample<Q>()), raw_(taken) {
    detail::raw_of(sample_) = taken.sample;
    raw_.sample.head = nullptr;
    raw_.sample.state_ = 0;
  }
  request(request&& other) noexcept : sample_(std::move(other.sample_)), raw_(other.raw_) {
    other.raw_.state_ = 0;
  }
  request& operator=(request&& other) noexcept {
    if (this != &other) {
      situ_request_release(&raw_);
      sample_ = std::move(other.sample_);
      raw_ = other.raw_;
      other.raw_.state_ = 0;
    }
    return *this;
  }
  ~request() {
    if (raw_.state_ != 0) situ_request_release(&raw_);
  }

  [[nodiscard]] const Q& operator*() const noexcept { return *sample_; }
  [[nodiscard]] const Q* operator->() const noexcept { return sample_.operator->(); }
  /// The message, with its bulk fields and its properties.
  [[nodiscard]] const situ::sample<Q>& sample() const noexcept { return sample_; }

  /// What a reply needs to know of it. The functions of a server take the request itself as well.
  [[nodiscard]] const request_id& id() const noexcept { return raw_.id; }
  // NOLINTNEXTLINE(google-explicit-constructor): a request stands for its id.
  operator const request_id&() const noexcept { return raw_.id; }

  /// When its client stops waiting. Nothing: it waits until there is no server.
  [[nodiscard]] std::optional<std::chrono::steady_clock::time_point> deadline() const noexcept {
    using clock = std::chrono::steady_clock;
    if (raw_.deadline_ns == 0) return std::nullopt;
    return clock::time_point(std::chrono::duration_cast<clock::duration>(
        std::chrono::nanoseconds(static_cast<std::int64_t>(raw_.deadline_ns))));
  }
  /// Whether its client needs no reply any more: it has cancelled the call, has ended, or the call's time is
  /// over. A cancellation is known when the server has taken what clients sent since: see `server::collect`.
  [[nodiscard]] bool is_cancelled() const noexcept { return situ_request_is_cancelled(&raw_) != 0; }

 private:
  template <message, message>
  friend class basic_server;

  situ::sample<Q> sample_;
  situ_request raw_;
};

}  // namespace situ
