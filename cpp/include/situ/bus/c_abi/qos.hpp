// Quality of service, in the field's words.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>

#include "situ.h"

namespace situ {

/// A time without end.
inline constexpr std::chrono::nanoseconds forever = std::chrono::nanoseconds::max();

/// Whether messages may be lost between a publisher and a subscriber.
enum class reliability : std::uint32_t {
  best_effort =
      SITU_BEST_EFFORT,  ///< a publisher never waits; a slow subscriber loses messages and learns how many
  reliable = SITU_RELIABLE,  ///< a publisher waits for subscribers that are reliable and keep all
};

/// What a subscriber that comes late finds.
enum class durability : std::uint32_t {
  volatile_ = SITU_VOLATILE,              ///< only what is published from then on
  transient_local = SITU_TRANSIENT_LOCAL  ///< also the last messages that publishers keep
};

/// What a publisher offers: `{.reliability = situ::reliability::reliable, .depth = 4}`.
struct publisher_qos {
  situ::reliability reliability = situ::reliability::best_effort;
  situ::durability durability = situ::durability::volatile_;
  /// How many of its last messages stay available, and how far a reliable publisher runs ahead.
  std::size_t depth = 8;
  /// How long publishing may wait for a reliable subscriber; zero fails at once.
  std::chrono::nanoseconds block = std::chrono::seconds(1);
  /// It promises to publish at least this often; zero: no promise.
  std::chrono::nanoseconds deadline{0};
  /// Messages older than this are not delivered any more; zero: no limit.
  std::chrono::nanoseconds lifespan{0};
  /// Without time stamps, publishing does not read the clock.
  bool stamps = true;
  /// If more than so many bytes of its memory are free when a slot comes back, all but half as many go back
  /// to the system at once. Otherwise what was not needed for some seconds does, and what `trim` is called
  /// for.
  std::uint64_t trim_above = UINT64_MAX;
};

/// Whose messages a subscriber reads where they lie. All others are copied to private memory when they are
/// taken: what is checked then cannot be changed any more by the process that published it.
enum class trust : std::uint32_t {
  /// Those in memory that only this process' user, and the superuser, may write (not if it is open to a
  /// group).
  same_user = SITU_SAME_USER,
  /// All, whoever may write to them.
  everyone = SITU_EVERYONE,
  /// None.
  nobody = SITU_NOBODY,
};

/// What a subscriber asks for.
struct subscriber_qos {
  situ::reliability reliability = situ::reliability::best_effort;
  situ::durability durability = situ::durability::volatile_;
  /// How many of the newest messages it wants to find; zero: all.
  std::size_t keep_last = 0;
  /// It expects a message at least this often; zero: no expectation.
  std::chrono::nanoseconds deadline{0};
  /// Whose messages it reads where they lie.
  situ::trust trust = situ::trust::same_user;
  /// The most bytes that a message may have, head and body together; larger ones are an error.
  std::uint64_t max_message = std::uint64_t{4} << 30;
  /// How far into a publisher's memory messages may lie, in bytes. More of it is never mapped.
  std::uint64_t max_pool = std::uint64_t{256} << 30;
  /// How many samples it may hold at a time; a take beyond that is an error, and the message waits.
  std::size_t max_held = 256;
};

namespace detail {

/// A time limit for C; a negative one has passed.
constexpr std::uint64_t limit_of(std::chrono::nanoseconds time) noexcept {
  if (time == forever) return SITU_FOREVER;
  return static_cast<std::uint64_t>(std::max<std::chrono::nanoseconds::rep>(time.count(), 0));
}

/// A time for C that is zero if there is none.
constexpr std::uint64_t period_of(std::chrono::nanoseconds time) noexcept {
  return time == forever ? 0 : limit_of(time);
}

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
  return raw;
}

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
  return raw;
}

}  // namespace detail
}  // namespace situ
