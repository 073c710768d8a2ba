// Times and durations of messages: carries, negative values, ranges, and std::chrono.
#include "situ/time.hpp"

#include <gtest/gtest.h>

#include <array>
#include <chrono>
#include <cstdint>
#include <limits>

namespace {

using namespace std::chrono_literals;
namespace time_of = situ::time;

/// As generated code and ROS's have it.
struct moment {
  std::int32_t sec = 0;
  std::uint32_t nanosec = 0;
  bool operator==(const moment&) const = default;
};
struct span {
  std::int32_t sec;
  std::uint32_t nanosec;
};

constexpr std::int32_t kFirst = std::numeric_limits<std::int32_t>::min();
constexpr std::int32_t kLast = std::numeric_limits<std::int32_t>::max();

TEST(Time, nanoseconds_count_forward_from_the_seconds) {
  struct pair {
    std::int64_t nanos;
    moment time;
  };
  // The pairs of tests/generated/tests/time.rs.
  constexpr std::array<pair, 9> pairs{{{0, {0, 0}},
                                       {1, {0, 1}},
                                       {999'999'999, {0, 999'999'999}},
                                       {1'000'000'000, {1, 0}},
                                       {-1, {-1, 999'999'999}},
                                       {-500'000'000, {-1, 500'000'000}},
                                       {-1'000'000'000, {-1, 0}},
                                       {-2'147'483'648'000'000'000, {kFirst, 0}},
                                       {2'147'483'647'999'999'999, {kLast, 999'999'999}}}};
  for (const auto& [nanos, time] : pairs) {
    EXPECT_EQ(time_of::from_nanos<moment>(nanos), time);
    EXPECT_EQ(time_of::to_nanos(time), nanos);
  }
  for (const std::int64_t nanos :
       {2'147'483'648'000'000'000, -2'147'483'648'000'000'001, std::numeric_limits<std::int64_t>::min(),
        std::numeric_limits<std::int64_t>::max()}) {
    try {
      static_cast<void>(time_of::from_nanos<moment>(nanos));
      FAIL() << nanos;
    } catch (const situ::time_error& error) {
      EXPECT_EQ(error.value().count(), nanos);
    }
  }
}

TEST(Time, sums_carry_and_end_at_the_range) {
  const moment time{10, 800'000'000};
  EXPECT_EQ(time_of::plus(time, 300ms), (moment{11, 100'000'000}));
  EXPECT_EQ(time_of::minus(time, 900ms), (moment{9, 900'000'000}));
  EXPECT_EQ(time_of::minus(time, 11s), (moment{-1, 800'000'000}));
  EXPECT_EQ(time_of::plus(time, span{-1, 500'000'000}), (moment{10, 300'000'000}));
  EXPECT_EQ(time_of::minus(time, span{-1, 500'000'000}), (moment{11, 300'000'000}));
  EXPECT_EQ(time_of::since(time, moment{11, 0}), -200ms);
  const moment last{kLast, 999'999'999};
  EXPECT_THROW(static_cast<void>(time_of::plus(last, 1ns)), situ::time_error);
  EXPECT_THROW(static_cast<void>(time_of::plus(time, std::chrono::hours::max())), situ::time_error);
  EXPECT_THROW(static_cast<void>(time_of::minus(time, std::chrono::nanoseconds::min())), situ::time_error);
  EXPECT_EQ(time_of::since(last, moment{kFirst, 0}).count(), 4'294'967'295'999'999'999);
  EXPECT_EQ(time_of::to_nanos(moment{kLast, 4'294'967'295}), 2'147'483'651'294'967'295);
  EXPECT_EQ(time_of::convert<moment>(span{1, 2'500'000'000}), (moment{3, 500'000'000}));
}

TEST(Time, standard_times_and_durations_convert) {
  using std::chrono::system_clock;
  const std::chrono::time_point<system_clock, std::chrono::nanoseconds> system{-1750ms};
  EXPECT_EQ(time_of::from_system<moment>(system), (moment{-2, 250'000'000}));
  EXPECT_EQ(time_of::to_system(moment{-2, 250'000'000}), system);
  EXPECT_EQ(time_of::from_std<moment>(3s + 7ns), (moment{3, 7}));
  EXPECT_EQ(time_of::to_std(span{-1, 999'999'999}), -1ns);
  const auto late =
      std::chrono::time_point<system_clock, std::chrono::seconds>(std::chrono::seconds(1LL << 31));
  EXPECT_THROW(static_cast<void>(time_of::from_system<moment>(late)), situ::time_error);
}

TEST(Time, now_is_the_system_clock_and_steady_now_the_steady_one) {
  const auto before = std::chrono::system_clock::now();
  const auto now = time_of::to_system(time_of::now<moment>());
  EXPECT_LE(before, now);
  EXPECT_LE(now, std::chrono::system_clock::now());
  const auto steady_before = std::chrono::steady_clock::now().time_since_epoch();
  const auto steady = time_of::to_std(time_of::steady_now<moment>());
  EXPECT_LE(steady_before, steady);
  EXPECT_LE(steady, std::chrono::steady_clock::now().time_since_epoch());
}

}  // namespace
