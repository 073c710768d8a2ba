// Wait sets: one wait for any number of topics, events, guard conditions, timers and descriptors.
#pragma once

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>

#include "situ.h"
#include "situ/bus/c_abi/error.hpp"
#include "situ/bus/c_abi/handle.hpp"
#include "situ/bus/c_abi/qos.hpp"
#include "situ/bus/raii/any_subscriber.hpp"
#include "situ/bus/raii/event.hpp"
#include "situ/bus/raii/node.hpp"
#include "situ/bus/raii/timer.hpp"
#include "situ/bus/service/any_client.hpp"
#include "situ/bus/service/any_server.hpp"
#include "situ/execute.h"
#include "situ/service.h"

namespace situ {

/// The name of an attached source, which is never used again.
enum class source_id : std::uint64_t {};

/// What a descriptor is ready for, or what to wait for.
enum class io : std::uint32_t {
  readable = SITU_READABLE,
  writable = SITU_WRITABLE,
  readable_or_writable = SITU_READABLE | SITU_WRITABLE,
};

/// A source that is ready.
class ready_source {
 public:
  ready_source() = default;
  explicit ready_source(const situ_ready& raw) noexcept : raw_(raw) {}

  /// What attaching returned.
  [[nodiscard]] source_id id() const noexcept { return source_id{raw_.id}; }
  /// Whether a descriptor can be read. True for other sources.
  [[nodiscard]] bool readable() const noexcept { return (raw_.io & SITU_READABLE) != 0; }
  /// Whether a descriptor can be written.
  [[nodiscard]] bool writable() const noexcept { return (raw_.io & SITU_WRITABLE) != 0; }
  /// Whether the other end of a descriptor is closed, or it has an error.
  [[nodiscard]] bool closed() const noexcept { return (raw_.io & SITU_CLOSED) != 0; }

 private:
  situ_ready raw_{};
};

static_assert(sizeof(ready_source) == sizeof(situ_ready));

/// Waits for any number of sources. The cost of a wait depends on the sources that are ready, and not on the
/// attached ones.
///
///   situ::wait_set set(node);
///   const auto scan = set.attach(scans);
///   const auto tick = set.attach(timer);
///   std::array<situ::ready_source, 16> ready;
///   for (const auto& source : set.wait(ready, 1s)) {
///     if (source.id() == scan) ...
///   }
///
/// All threads may attach and detach, also while a thread waits. One thread at a time may wait.
class wait_set {
 public:
  explicit wait_set(const node& on) {
    detail::failed why;
    create(on, why);
    detail::raise_if(why);
  }
  /// As the constructor, without an exception.
  [[nodiscard]] static result<wait_set, error> try_create(const node& on) {
    detail::failed why;
    wait_set made;
    made.create(on, why);
    return detail::result_of(std::move(made), std::move(why));
  }

  /// Attaches a subscriber, which is detached when it is destroyed.
  source_id attach(const any_subscriber& source) { return raised(try_attach(source)); }
  /// Attaches a client or a server. It may be attached to one set at a time. While a client has calls under
  /// way, it is also reported every few milliseconds: call its `dispatch`, which checks deadlines and
  /// servers.
  source_id attach(const any_client& source) { return raised(try_attach(source)); }
  source_id attach(const any_server& source) { return raised(try_attach(source)); }
  source_id attach(const guard_condition& source) { return raised(try_attach(source)); }
  source_id attach(const timer& source) { return raised(try_attach(source)); }
  /// Attaches an event, which is reported until its status is taken.
  template <class Status>
  source_id attach(const event<Status>& source) {
    return raised(try_attach(source));
  }
  /// Attaches a descriptor, which must stay open while it is attached.
  source_id attach(int fd, io wanted = io::readable) { return raised(try_attach(fd, wanted)); }

  /// As `attach`, without an exception.
  [[nodiscard]] result<source_id, error> try_attach(const any_subscriber& source) {
    return attached([&](std::uint64_t* id, situ_error* raw) {
      return situ_wait_set_attach_subscriber(handle_.get(), source.handle(), id, raw);
    });
  }
  [[nodiscard]] result<source_id, error> try_attach(const any_client& source) {
    return attached([&](std::uint64_t* id, situ_error* raw) {
      return situ_wait_set_attach_client(handle_.get(), source.handle(), id, raw);
    });
  }
  [[nodiscard]] result<source_id, error> try_attach(const any_server& source) {
    return attached([&](std::uint64_t* id, situ_error* raw) {
      return situ_wait_set_attach_server(handle_.get(), source.handle(), id, raw);
    });
  }
  [[nodiscard]] result<source_id, error> try_attach(const guard_condition& source) {
    return attached([&](std::uint64_t* id, situ_error* raw) {
      return situ_wait_set_attach_guard_condition(handle_.get(), source.handle(), id, raw);
    });
  }
  [[nodiscard]] result<source_id, error> try_attach(const timer& source) {
    return attached([&](std::uint64_t* id, situ_error* raw) {
      return situ_wait_set_attach_timer(handle_.get(), source.handle(), id, raw);
    });
  }
  template <class Status>
  [[nodiscard]] result<source_id, error> try_attach(const event<Status>& source) {
    return attached([&](std::uint64_t* id, situ_error* raw) {
      return situ_wait_set_attach_event(handle_.get(), source.handle(), id, raw);
    });
  }
  [[nodiscard]] result<source_id, error> try_attach(int fd, io wanted = io::readable) {
    return attached([&](std::uint64_t* id, situ_error* raw) {
      return situ_wait_set_attach_descriptor(handle_.get(), fd, static_cast<std::uint32_t>(wanted), id, raw);
    });
  }

  /// Detaches a source. Returns whether it was attached.
  bool detach(source_id id) noexcept {
    return situ_wait_set_detach(handle_.get(), static_cast<std::uint64_t>(id)) != 0;
  }
  /// The number of attached sources.
  [[nodiscard]] std::size_t size() const noexcept { return situ_wait_set_size(handle_.get()); }

  /// Lets waits look for something ready for up to `limit` before they sleep. They look only if the last
  /// waits were shorter than the limit.
  void spin(std::chrono::nanoseconds limit) noexcept {
    situ_wait_set_spin(handle_.get(), detail::limit_of(limit));
  }

  /// Waits until a source is ready, and returns the part of `room` that holds the ready ones. If there are
  /// more than it has room for, the next wait returns the others first. Returns nothing if the timeout passes
  /// first. A topic is reported at each wait until its messages are taken, a condition and a timer once.
  [[nodiscard]] std::span<const ready_source> wait(std::span<ready_source> room,
                                                   std::chrono::nanoseconds timeout = forever) {
    detail::failed why;
    const auto found = wait_into(room, timeout, why);
    detail::raise_if(why);
    return found;
  }
  /// As `wait`, without an exception.
  [[nodiscard]] result<std::span<const ready_source>, error> try_wait(
      std::span<ready_source> room, std::chrono::nanoseconds timeout = forever) {
    detail::failed why;
    auto found = wait_into(room, timeout, why);
    return detail::result_of(std::move(found), std::move(why));
  }

  /// A descriptor that is readable while something is ready, for epoll, asio, Qt. The set owns it. When it is
  /// readable, wait with a timeout of zero until there is nothing.
  [[nodiscard]] int fd() {
    detail::failed why;
    const int made = make_fd(why);
    detail::raise_if(why);
    return made;
  }
  /// As `fd`, without an exception.
  [[nodiscard]] result<int, error> try_fd() {
    detail::failed why;
    int made = make_fd(why);
    return detail::result_of(std::move(made), std::move(why));
  }

  /// The handle for the C interface.
  [[nodiscard]] situ_wait_set* handle() const noexcept { return handle_.get(); }

 private:
  wait_set() = default;

  void create(const node& on, detail::failed& why) {
    situ_error raw;
    situ_wait_set* made = nullptr;
    if (detail::succeeded(situ_wait_set_create(on.handle(), &made, &raw), raw, why)) handle_.reset(made);
  }

  template <class Attach>
  static result<source_id, error> attached(Attach attach) {
    situ_error raw;
    detail::failed why;
    std::uint64_t id = 0;
    detail::succeeded(attach(&id, &raw), raw, why);
    return detail::result_of(source_id{id}, std::move(why));
  }

  static source_id raised(result<source_id, error> made) {
    if (!made) detail::raise(made.error());
    return *made;
  }

  std::span<const ready_source> wait_into(std::span<ready_source> room, std::chrono::nanoseconds timeout,
                                          detail::failed& why) {
    situ_error raw;
    std::size_t count = 0;
    auto* ready = reinterpret_cast<situ_ready*>(room.data());
    const situ_status status =
        situ_wait_set_wait(handle_.get(), detail::limit_of(timeout), ready, room.size(), &count, &raw);
    detail::succeeded(status, raw, why);
    return room.first(status == SITU_OK ? count : 0);
  }

  int make_fd(detail::failed& why) {
    situ_error raw;
    int made = -1;
    detail::succeeded(situ_wait_set_fd(handle_.get(), &made, &raw), raw, why);
    return made;
  }

  detail::owner<situ_wait_set> handle_;
};

}  // namespace situ
