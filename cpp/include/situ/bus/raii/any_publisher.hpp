// The part of a publisher that does not depend on its message type.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "situ.h"
#include "situ/bus/c_abi/error.hpp"
#include "situ/bus/c_abi/handle.hpp"
#include "situ/bus/c_abi/qos.hpp"
#include "situ/bus/c_abi/type.hpp"
#include "situ/bus/raii/device.hpp"
#include "situ/bus/raii/event.hpp"
#include "situ/bus/raii/interrupt.hpp"
#include "situ/bus/raii/node.hpp"
#include "situ/memory.h"

namespace situ {

/// The statistics of a publisher: see situ.h.
using publisher_statistics = situ_publisher_statistics;

/// What became of the wishes for a publisher's pages: see situ/memory.h.
using pages = situ_pages;

/// Base of all publishers: memory, interruption, events and statistics.
class any_publisher {
 public:
  /// Sets an interrupter that ends this publisher's waits for subscribers without room: publishing then fails
  /// with `errc::interrupted`, and a loan stays valid. Null removes it.
  void set_interrupter(const interrupter* stop) noexcept {
    situ_publisher_set_interrupter(handle_.get(), stop != nullptr ? stop->handle() : nullptr);
  }

  /// Gives memory to `messages` messages of at most `bytes` bytes each, head and body together. The next
  /// loans then make no system call, and writing them makes no page fault; see situ_publisher_reserve.
  void reserve(std::size_t messages, std::size_t bytes) {
    detail::failed why;
    reserve(messages, bytes, why);
    detail::raise_if(why);
  }
  /// As `reserve`, without an exception.
  [[nodiscard]] result<void, error> try_reserve(std::size_t messages, std::size_t bytes) {
    detail::failed why;
    reserve(messages, bytes, why);
    if (why.has_value()) return failure{*std::move(why)};
    return {};
  }
  /// What the kernel answered to `placement::huge_pages` and `placement::numa_node`.
  [[nodiscard]] situ::pages pages() const noexcept { return situ_publisher_pages(handle_.get()); }

  /// Gives the memory of free slots back to the system, and returns the number of bytes; see
  /// situ_publisher_trim.
  std::uint64_t trim() noexcept { return situ_publisher_trim(handle_.get()); }

  /// Shows that the publisher is alive. Publishing shows it too. Without a lease, or with automatic
  /// liveliness, it does nothing.
  void assert_liveliness() noexcept { situ_publisher_assert_liveliness(handle_.get()); }

  /// A subscriber that matches has come or gone.
  [[nodiscard]] event<matched_status> matched_event() const { return make_event<matched_status>(); }
  /// A subscriber has come that requests more than this publisher offers.
  [[nodiscard]] event<incompatible_qos_status> incompatible_qos_event() const {
    return make_event<incompatible_qos_status>();
  }
  /// It has not published within its deadline.
  [[nodiscard]] event<deadline_missed_status> deadline_missed_event() const {
    return make_event<deadline_missed_status>();
  }
  /// It has not shown within its lease that it is alive.
  [[nodiscard]] event<liveliness_lost_status> liveliness_lost_event() const {
    return make_event<liveliness_lost_status>();
  }

  /// Memory in use, subscribers, and missed deadlines.
  [[nodiscard]] publisher_statistics statistics() const noexcept {
    return situ_publisher_get_statistics(handle_.get());
  }
  /// Its id, under which the graph lists it.
  [[nodiscard]] endpoint_id id() const noexcept {
    endpoint_id made{};
    situ_publisher_id(handle_.get(), made.data());
    return made;
  }
  /// The handle for the C interface.
  [[nodiscard]] situ_publisher* handle() const noexcept { return handle_.get(); }

 protected:
  any_publisher() = default;
  any_publisher(any_publisher&&) noexcept = default;
  any_publisher& operator=(any_publisher&&) noexcept = default;
  ~any_publisher() = default;

  void create(const node& on, const std::string& topic, const publisher_qos& qos, const placement& where,
              detail::type_description type, detail::failed& why) {
    situ_error raw;
    situ_publisher* made = nullptr;
    const situ_publisher_qos terms = detail::to_c(qos);
    const situ_placement place = detail::to_c(where);
    const situ_memory_options memory = detail::memory_of(where);
    const situ_status status = situ_publisher_create_with(on.handle(), topic.c_str(), type.get(), &terms,
                                                          &place, &memory, &made, &raw);
    if (detail::succeeded(status, raw, why)) handle_.reset(made);
  }

 private:
  void reserve(std::size_t messages, std::size_t bytes, detail::failed& why) {
    situ_error raw;
    detail::succeeded(situ_publisher_reserve(handle_.get(), messages, bytes, &raw), raw, why);
  }

  template <class Status>
  event<Status> make_event() const {
    return detail::event_from<Status>(&situ_publisher_event, handle_.get());
  }

  detail::owner<situ_publisher> handle_;
};

}  // namespace situ
