// Quality of service of publishers and subscribers, and its form in C.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "situ.h"

namespace situ {

/// No time limit.
inline constexpr std::chrono::nanoseconds forever = std::chrono::nanoseconds::max();

/// Whether messages may be lost between a publisher and a subscriber.
enum class reliability : std::uint32_t {
  best_effort =
      SITU_BEST_EFFORT,      ///< a publisher never waits; a slow subscriber loses messages, which are counted
  reliable = SITU_RELIABLE,  ///< a publisher waits for reliable subscribers that keep all messages
};

/// Which earlier messages a subscriber receives when it joins.
enum class durability : std::uint32_t {
  volatile_ = SITU_VOLATILE,              ///< none
  transient_local = SITU_TRANSIENT_LOCAL  ///< the last messages that publishers keep
};

/// How a publisher shows that it is alive.
enum class liveliness : std::uint32_t {
  automatic = SITU_AUTOMATIC,  ///< it is alive as long as its process is
  /// it also has to publish, or to call `assert_liveliness`, within each lease
  manual_by_topic = SITU_MANUAL_BY_TOPIC,
};

/// The profiles of ROS 2: see `situ_qos_profile` in situ.h.
enum class qos_profile : std::uint32_t {
  default_ = SITU_PROFILE_DEFAULT,
  sensor_data = SITU_PROFILE_SENSOR_DATA,
  services = SITU_PROFILE_SERVICES,
  parameters = SITU_PROFILE_PARAMETERS,
  parameter_events = SITU_PROFILE_PARAMETER_EVENTS,
  system_default = SITU_PROFILE_SYSTEM_DEFAULT,
  best_available = SITU_PROFILE_BEST_AVAILABLE,
};

/// The quality of service that a publisher offers:
/// `{.reliability = situ::reliability::reliable, .depth = 4}`.
struct publisher_qos {
  situ::reliability reliability = situ::reliability::best_effort;
  situ::durability durability = situ::durability::volatile_;
  /// The number of last messages that stay available. A reliable publisher is ahead of its reliable
  /// subscribers by at most this number.
  std::size_t depth = 8;
  /// The longest time that publishing waits for a reliable subscriber. Zero: publishing fails at once.
  std::chrono::nanoseconds block = std::chrono::seconds(1);
  /// The publisher promises to publish at least this often. Zero: no promise.
  std::chrono::nanoseconds deadline{0};
  /// Messages older than this are no longer delivered. Zero: no limit.
  std::chrono::nanoseconds lifespan{0};
  /// False: messages carry no time stamps, and publishing does not read the clock.
  bool stamps = true;
  /// When a slot becomes free and more than this number of bytes are free, the publisher at once returns free
  /// memory to the system, down to half of this number. Otherwise memory returns to the system after some
  /// seconds without use, and when `trim` is called.
  std::uint64_t trim_above = UINT64_MAX;
  /// Up to SITU_MAX_USER_DATA bytes that all participants can read (`situ::graph`).
  std::vector<std::byte> user_data{};
  /// How it shows that it is alive.
  situ::liveliness liveliness = situ::liveliness::automatic;
  /// With manual liveliness, the longest time between two signs of life. Zero: no lease.
  std::chrono::nanoseconds lease{0};
  /// Offers what present subscribers request: reliability, durability, deadline, liveliness and lease are
  /// chosen on creation.
  bool best_available = false;

  /// What a profile of ROS 2 offers.
  [[nodiscard]] static publisher_qos of(qos_profile profile) noexcept {
    const situ_publisher_qos raw = situ_publisher_qos_profile(static_cast<std::uint32_t>(profile));
    publisher_qos qos;
    qos.reliability = static_cast<situ::reliability>(raw.reliability);
    qos.depth = static_cast<std::size_t>(raw.depth);
    qos.best_available = raw.best_available != 0;
    return qos;
  }
};

/// Which publishers' messages a subscriber reads in place. All other messages are copied to private memory on
/// take, so that their publisher cannot change them after the check.
enum class trust : std::uint32_t {
  /// Messages in memory that only the user of this process and the superuser may write, and no group.
  same_user = SITU_SAME_USER,
  /// All messages, even if other users may write to their memory.
  everyone = SITU_EVERYONE,
  /// No messages: each is copied.
  nobody = SITU_NOBODY,
};

/// The quality of service that a subscriber requests.
struct subscriber_qos {
  situ::reliability reliability = situ::reliability::best_effort;
  situ::durability durability = situ::durability::volatile_;
  /// The number of newest messages to keep. Zero: all.
  std::size_t keep_last = 0;
  /// The subscriber expects a message at least this often. Zero: no expectation.
  std::chrono::nanoseconds deadline{0};
  /// Which publishers' messages the subscriber reads in place.
  situ::trust trust = situ::trust::same_user;
  /// The largest message in bytes, head and body together. Larger messages are an error.
  std::uint64_t max_message = std::uint64_t{4} << 30;
  /// The largest part of a publisher's memory that is mapped, in bytes. Messages beyond it are an error.
  std::uint64_t max_pool = std::uint64_t{256} << 30;
  /// The number of samples that the subscriber may hold at a time. A take beyond it is an error, and the
  /// message stays available.
  std::size_t max_held = 256;
  /// Up to SITU_MAX_USER_DATA bytes that all participants can read (`situ::graph`).
  std::vector<std::byte> user_data{};
  /// How publishers have to show that they are alive.
  situ::liveliness liveliness = situ::liveliness::automatic;
  /// The longest time between two signs of life of a publisher that it accepts. Zero: any.
  std::chrono::nanoseconds lease{0};
  /// Requests what present publishers offer: reliability, durability, deadline, liveliness and lease are
  /// chosen on creation.
  bool best_available = false;

  /// What a profile of ROS 2 requests.
  [[nodiscard]] static subscriber_qos of(qos_profile profile) noexcept {
    const situ_subscriber_qos raw = situ_subscriber_qos_profile(static_cast<std::uint32_t>(profile));
    subscriber_qos qos;
    qos.reliability = static_cast<situ::reliability>(raw.reliability);
    qos.keep_last = static_cast<std::size_t>(raw.keep_last);
    qos.best_available = raw.best_available != 0;
    return qos;
  }
};

namespace detail {

/// A time limit for C. A negative one has passed.
constexpr std::uint64_t limit_of(std::chrono::nanoseconds time) noexcept {
  if (time == forever) return SITU_FOREVER;
  return static_cast<std::uint64_t>(std::max<std::chrono::nanoseconds::rep>(time.count(), 0));
}

/// A period for C: zero if there is none.
constexpr std::uint64_t period_of(std::chrono::nanoseconds time) noexcept {
  return time == forever ? 0 : limit_of(time);
}

/// The quality of service for C. Valid as long as `qos`.
inline situ_publisher_qos to_c(const publisher_qos& qos) noexcept {
  situ_publisher_qos raw = situ_publisher_qos_default();
  raw.reliability = static_cast<std::uint32_t>(qos.reliability);
  raw.durability = static_cast<std::uint32_t>(qos.durability);
  raw.depth = qos.depth;
  raw.block_ns = limit_of(qos.block);
  raw.deadline_ns = period_of(qos.deadline);
  raw.lifespan_ns = period_of(qos.lifespan);
  raw.without_stamps = qos.stamps ? 0 : 1;
  raw.trim_above = qos.trim_above;
  raw.user_data = qos.user_data.data();
  raw.user_data_size = qos.user_data.size();
  raw.liveliness = static_cast<std::uint32_t>(qos.liveliness);
  raw.lease_ns = period_of(qos.lease);
  raw.best_available = qos.best_available ? 1 : 0;
  return raw;
}

/// The quality of service for C. Valid as long as `qos`.
inline situ_subscriber_qos to_c(const subscriber_qos& qos) noexcept {
  situ_subscriber_qos raw = situ_subscriber_qos_default();
  raw.reliability = static_cast<std::uint32_t>(qos.reliability);
  raw.durability = static_cast<std::uint32_t>(qos.durability);
  raw.keep_last = qos.keep_last;
  raw.max_held = qos.max_held;
  raw.deadline_ns = period_of(qos.deadline);
  raw.trust = static_cast<std::uint32_t>(qos.trust);
  raw.max_message = qos.max_message;
  raw.max_pool = qos.max_pool;
  raw.user_data = qos.user_data.data();
  raw.user_data_size = qos.user_data.size();
  raw.liveliness = static_cast<std::uint32_t>(qos.liveliness);
  raw.lease_ns = period_of(qos.lease);
  raw.best_available = qos.best_available ? 1 : 0;
  return raw;
}

}  // namespace detail
}  // namespace situ
