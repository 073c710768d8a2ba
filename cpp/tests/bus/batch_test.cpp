// Several messages published by one call, and several taken by one call.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <stdexcept>
#include <vector>

#include "bus/messages.hpp"
#include "bus/scratch.hpp"

namespace bus_test {
namespace {

/// Fails at once when a reliable subscriber has no room for a fifth message.
constexpr situ::publisher_qos four{
    .reliability = situ::reliability::reliable, .depth = 4, .block = std::chrono::nanoseconds(0)};
constexpr situ::subscriber_qos reliable{.reliability = situ::reliability::reliable};

using Numbers = std::vector<std::uint64_t>;

template <class Loans>
void lend(situ::publisher<Tick>& publisher, Loans& loans, std::uint64_t count) {
  for (std::uint64_t number = 0; number < count; ++number) {
    loans.push_back(publisher.loan());
    loans.back()->count = 10 * number;
  }
}

Numbers counts(const std::vector<situ::sample<Tick>>& samples) {
  Numbers found;
  for (const auto& sample : samples) found.push_back(sample->count);
  return found;
}

TEST_F(Bus, a_batch_is_taken_in_order) {
  const auto on = node("n");
  auto publisher = on.publisher<Tick>("ticks");
  auto subscriber = on.subscriber<Tick>("ticks");
  std::vector<situ::loan<Tick>> loans;
  EXPECT_EQ(publisher.publish_all(loans), std::nullopt);
  lend(publisher, loans, 8);
  EXPECT_EQ(publisher.publish_all(loans), 7U);
  EXPECT_TRUE(loans.empty());
  std::vector<situ::sample<Tick>> samples;
  EXPECT_EQ(subscriber.take_many(0, samples), 0U);
  EXPECT_EQ(subscriber.take_many(3, samples), 3U);
  EXPECT_EQ(subscriber.take().value()->count, 30U);
  EXPECT_EQ(subscriber.take_many(100, samples), 4U);
  EXPECT_EQ(subscriber.take_many(100, samples), 0U);
  EXPECT_EQ(counts(samples), (Numbers{0, 10, 20, 40, 50, 60, 70}));
  EXPECT_EQ(samples.back().sequence(), 7U);
}

TEST_F(Bus, what_has_no_room_stays_with_the_caller) {
  const auto on = node("n");
  auto publisher = on.publisher<Tick>("ticks", four);
  auto subscriber = on.subscriber<Tick>("ticks", reliable);
  std::vector<situ::loan<Tick>> loans;
  lend(publisher, loans, 6);
  EXPECT_EQ(error_of([&] { publisher.publish_all(loans); }).code(), situ::errc::full);
  ASSERT_EQ(loans.size(), 2U);
  EXPECT_EQ(loans[0]->count, 40U);
  EXPECT_EQ(publisher.try_publish_all(loans).error().code(), situ::errc::full);
  EXPECT_EQ(loans.size(), 2U);
  std::vector<situ::sample<Tick>> samples;
  EXPECT_EQ(subscriber.take_many(100, samples), 4U);
  EXPECT_EQ(publisher.try_publish_all(loans).value(), 5U);
  EXPECT_EQ(subscriber.try_take_many(100, samples).value(), 2U);
  EXPECT_EQ(counts(samples), (Numbers{0, 10, 20, 30, 40, 50}));
}

TEST_F(Bus, loans_of_a_span_are_empty_once_they_are_published) {
  const auto on = node("n");
  auto publisher = on.publisher<Tick>("ticks", four);
  auto subscriber = on.subscriber<Tick>("ticks", reliable);
  std::array loans{publisher.loan(), publisher.loan(), publisher.loan(), publisher.loan(), publisher.loan()};
  loans[4]->count = 4;
  EXPECT_EQ(publisher.try_publish_all(std::span(loans)).error().code(), situ::errc::full);
  EXPECT_TRUE(!loans[0] && !loans[3] && loans[4]);
  // Now the first one is empty, and nothing is published.
  const auto refused = publisher.try_publish_all(std::span(loans).subspan(3));
  EXPECT_EQ(refused.error().code(), situ::errc::invalid_argument);
  EXPECT_TRUE(loans[4]);
  std::size_t taken = 0;
  EXPECT_EQ(subscriber.take_each(100, [&](situ::sample<Tick>&&) { ++taken; }), 4U);
  EXPECT_EQ(publisher.publish_all(std::span(loans).subspan(4)), 4U);
  EXPECT_EQ(subscriber.take().value()->count, 4U);
  EXPECT_EQ(taken, 4U);
}

TEST_F(Bus, a_function_ends_a_batch_by_an_error_or_an_exception) {
  const auto on = node("n");
  auto publisher = on.publisher<Tick>("ticks");
  auto subscriber = on.subscriber<Tick>("ticks");
  std::vector<situ::loan<Tick>> loans;
  lend(publisher, loans, 6);
  publisher.publish_all(loans);
  std::uint64_t last = 0;
  const auto fail_at = [&](std::uint64_t number) {
    return [&last, number](situ::sample<Tick> tick) -> situ::result<void, situ::error> {
      last = tick->count;
      if (last == number) return situ::failure{situ::error(situ::errc::busy, "enough")};
      return {};
    };
  };
  const auto failed = subscriber.try_take_each(100, fail_at(10));
  EXPECT_STREQ(failed.error().what(), "enough");
  EXPECT_EQ(last, 10U);
  EXPECT_EQ(error_of([&] { subscriber.take_each(100, fail_at(20)); }).code(), situ::errc::busy);
  EXPECT_EQ(last, 20U);
  const auto throwing = [](situ::sample<Tick>&&) { throw std::out_of_range("far"); };
  EXPECT_THROW(subscriber.take_each(100, throwing), std::out_of_range);
  EXPECT_EQ(subscriber.take().value()->count, 40U) << "the message at the exception was taken";
}

TEST_F(Bus, a_message_that_cannot_be_read_ends_a_batch_and_is_skipped) {
  const auto on = node("n");
  auto publisher = on.publisher<Scan>("scans");
  auto subscriber = on.subscriber<Scan>("scans");
  std::vector<situ::loan<Scan>> loans;
  for (std::uint32_t id = 0; id < 4; ++id) {
    loans.push_back(publisher.loan({.ranges = 10}));
    loans.back()->id = id;
  }
  // Its descriptor of the ranges leads out of the body.
  auto* const bytes = reinterpret_cast<unsigned char*>(&loans[1]->ranges);
  std::fill(bytes, bytes + sizeof(loans[1]->ranges), static_cast<unsigned char>(0xff));
  publisher.publish_all(loans);
  std::vector<situ::sample<Scan>> samples;
  EXPECT_EQ(error_of([&] { subscriber.take_many(100, samples); }).code(), situ::errc::malformed);
  ASSERT_EQ(samples.size(), 1U);
  EXPECT_EQ(subscriber.take_many(100, samples), 2U);
  EXPECT_EQ(samples[1]->id, 2U);
  EXPECT_EQ(samples[2].bulk(&Scan::ranges).size(), 10U);
}

}  // namespace
}  // namespace bus_test
