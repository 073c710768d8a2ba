// Publishing and taking within one process: in place, by copy, and between storages.
#include <gtest/gtest.h>

#include <cstdint>
#include <memory>
#include <numeric>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "bus/messages.hpp"
#include "bus/scratch.hpp"

namespace bus_test {
namespace {

using namespace std::chrono_literals;

HeapScan heap_scan() {
  HeapScan scan;
  scan.id = 7;
  scan.name = "front";
  scan.levels = {1, 2, 3};
  scan.ranges = {0.5F, 1.5F, 2.5F, 3.5F, 4.5F};
  return scan;
}

TEST_F(Bus, a_message_is_built_and_read_in_place) {
  const auto camera = node("camera");
  const auto viewer = node("viewer");
  auto publisher = camera.publisher<Scan>("scans");
  auto subscriber = viewer.subscriber<Scan>("scans");
  EXPECT_FALSE(subscriber.take().has_value());

  const auto copies = situ::copies();
  const auto before = std::chrono::steady_clock::now();
  auto loan = publisher.loan({.ranges = 1000});
  EXPECT_EQ(loan->id, 0U);
  EXPECT_EQ(loan->name, "");
  loan->id = 42;
  loan->name = "front";
  loan->levels = {5, 6};
  ASSERT_EQ(loan.bulk(&Scan::ranges).size(), 1000U);
  std::iota(loan.bulk(&Scan::ranges).begin(), loan.bulk(&Scan::ranges).end(), 1.0F);
  EXPECT_EQ(loan.publish(), 0U);
  EXPECT_FALSE(loan);

  auto sample = subscriber.take();
  ASSERT_TRUE(sample.has_value());
  EXPECT_EQ((*sample)->id, 42U);
  EXPECT_EQ((*sample)->name, "front");
  EXPECT_EQ(std::vector<int>((*sample)->levels.begin(), (*sample)->levels.end()), (std::vector<int>{5, 6}));
  const auto ranges = sample->bulk(&Scan::ranges);
  ASSERT_EQ(ranges.size(), 1000U);
  EXPECT_EQ(std::accumulate(ranges.begin(), ranges.end(), 0.0), 500500.0);
  EXPECT_EQ(sample->bulk((*sample)->ranges).data(), ranges.data());
  EXPECT_EQ(sample->sequence(), 0U);
  EXPECT_EQ(sample->publisher_id(), camera.id());
  EXPECT_GE(sample->published_at(), before);
  EXPECT_LE(sample->published_at(), std::chrono::steady_clock::now());
  EXPECT_FALSE(sample->is_copy());
  EXPECT_EQ(situ::copies().copies, copies.copies);
  EXPECT_FALSE(subscriber.take().has_value());
  EXPECT_EQ(subscriber.statistics().taken, 1U);
  EXPECT_EQ(subscriber.statistics().publishers, 1U);
  EXPECT_EQ(publisher.statistics().subscribers, 1U);
}

TEST_F(Bus, a_loan_costs_what_its_bulk_fields_hold) {
  const auto on = node("n");
  auto publisher = on.publisher<Scan>("scans");
  auto subscriber = on.subscriber<Scan>("scans");
  publisher.loan().publish();
  publisher.loan({.ranges = 3}).publish();
  EXPECT_EQ(subscriber.take()->bulk(&Scan::ranges).size(), 0U);
  EXPECT_EQ(subscriber.take()->bulk(&Scan::ranges).size(), 3U);
  const auto too_much = error_of([&] { (void)publisher.loan({.ranges = SIZE_MAX}); });
  EXPECT_EQ(too_much.code(), situ::errc::invalid_argument);
  EXPECT_STREQ(too_much.what(),
               "test::Scan cannot be lent: a bulk length exceeds its bound or the address space");
}

TEST_F(Bus, free_memory_goes_back_when_asked_for) {
  const auto on = node("n");
  auto publisher = on.publisher<Scan>("scans");
  auto subscriber = on.subscriber<Scan>("scans");
  publisher.loan({.ranges = 100000}).publish();
  const auto held = subscriber.take();
  { const auto unused = publisher.loan({.ranges = 1000000}); }
  const auto before = publisher.statistics().memory_bytes;
  EXPECT_GE(before, 4400000U);
  const auto given = publisher.trim();
  EXPECT_GE(given, 4000000U);
  EXPECT_LE(publisher.statistics().memory_bytes, before - given);
  EXPECT_EQ(held->bulk(&Scan::ranges).size(), 100000U);
  EXPECT_EQ(publisher.trim(), 0U);

  auto frugal = on.publisher<Scan>("others", {.trim_above = 1000000});
  { const auto unused = frugal.loan({.ranges = 1000000}); }
  EXPECT_LE(frugal.statistics().memory_bytes, 500000U);
}

TEST_F(Bus, a_loan_that_is_not_published_is_returned) {
  const auto on = node("n");
  auto publisher = on.publisher<Tick>("ticks");
  auto subscriber = on.subscriber<Tick>("ticks");
  {
    auto one = publisher.loan();
    auto two = std::move(one);
    EXPECT_FALSE(one);  // NOLINT(bugprone-use-after-move)
    EXPECT_TRUE(two);
    one = std::move(two);
    EXPECT_TRUE(one);
    EXPECT_EQ(publisher.statistics().slots_in_use, 1U);
  }
  EXPECT_EQ(publisher.statistics().slots_in_use, 0U);
  EXPECT_FALSE(subscriber.take().has_value());
}

TEST_F(Bus, a_loan_cannot_be_published_twice) {
  const auto on = node("n");
  auto publisher = on.publisher<Tick>("ticks");
  auto loan = publisher.loan();
  EXPECT_EQ(loan.publish(), 0U);
  const auto again = loan.try_publish();
  ASSERT_FALSE(again);
  EXPECT_EQ(again.error().code(), situ::errc::invalid_argument);
  EXPECT_STREQ(again.error().what(),
               "`loan` holds no loan: it was published or discarded before, or never lent");
}

TEST_F(Bus, a_loan_may_outlive_its_publisher_and_node) {
  const auto viewer = node("viewer");
  auto subscriber = viewer.subscriber<Tick>("ticks");
  std::optional<situ::loan<Tick>> loan;
  std::optional<situ::loan<Tick>> dropped;
  {
    const auto camera = node("camera");
    auto publisher = camera.publisher<Tick>("ticks");
    loan = publisher.loan();
    dropped = publisher.loan();
  }
  dropped.reset();
  EXPECT_EQ(subscriber.statistics().publishers, 1U);
  (*loan)->count = 9;
  EXPECT_EQ(loan->publish(), 0U);
  EXPECT_EQ(subscriber.statistics().publishers, 0U);
  EXPECT_EQ((*subscriber.take())->count, 9U);
}

TEST_F(Bus, a_sample_outlives_everything_it_came_from) {
  std::optional<situ::sample<Scan>> sample;
  {
    const auto on = node("n");
    auto publisher = on.publisher<Scan>("scans");
    auto subscriber = on.subscriber<Scan>("scans");
    auto loan = publisher.loan({.ranges = 2});
    loan->name = "kept";
    loan.bulk(&Scan::ranges)[1] = 2.5F;
    loan.publish();
    sample = subscriber.take();
    for (int i = 0; i < 50; ++i) publisher.loan({.ranges = 2}).publish();
  }
  ASSERT_TRUE(sample.has_value());
  auto moved = std::move(*sample);
  std::thread([&moved] {
    EXPECT_EQ(moved->name, "kept");
    EXPECT_EQ(moved.bulk(&Scan::ranges)[1], 2.5F);
  }).join();
}

TEST_F(Bus, a_taken_message_cannot_be_written) {
  const auto on = node("n");
  auto publisher = on.publisher<Page>("pages");
  auto subscriber = on.subscriber<Page>("pages");
  publisher.publish(Page{.count = 1});
  const auto sample = subscriber.take();
  ASSERT_TRUE(sample.has_value());
  EXPECT_DEATH(const_cast<Page&>(**sample).count = 2, "");
}

TEST_F(Bus, a_small_taken_message_is_a_copy_of_its_own) {
  const auto on = node("n");
  auto publisher = on.publisher<Tick>("ticks");
  auto subscriber = on.subscriber<Tick>("ticks");
  auto other = on.subscriber<Tick>("ticks");
  publisher.publish(Tick{.count = 1});
  const auto sample = subscriber.take();
  ASSERT_TRUE(sample.has_value());
  const_cast<Tick&>(**sample).count = 2;
  const auto theirs = other.take();
  ASSERT_TRUE(theirs.has_value());
  EXPECT_EQ((*theirs)->count, 1U);
}

TEST_F(Bus, no_files_are_left) {
  {
    const auto on = node("n");
    auto publisher = on.publisher<Scan>("scans");
    auto subscriber = on.subscriber<Scan>("scans");
    publisher.loan({.ranges = 10}).publish();
    const auto sample = subscriber.take();
    EXPECT_FALSE(leftovers().empty());
  }
  EXPECT_EQ(leftovers(), std::vector<std::string>());
}

TEST_F(Bus, a_flat_value_is_copied_into_shared_memory) {
  const auto on = node("n");
  auto publisher = on.publisher<Tick>("ticks");
  auto subscriber = on.subscriber<Tick>("ticks");
  const auto before = situ::copies();
  for (std::uint64_t i = 0; i < 5; ++i) EXPECT_EQ(publisher.publish(Tick{.count = i * i}), i);
  EXPECT_EQ(situ::copies().copies - before.copies, 5U);
  EXPECT_EQ(situ::copies().bytes - before.bytes, 40U);
  for (std::uint64_t i = 0; i < 5; ++i) {
    const auto sample = subscriber.take();
    ASSERT_TRUE(sample.has_value());
    EXPECT_EQ((*sample)->count, i * i);
    EXPECT_EQ(sample->sequence(), i);
  }
}

TEST_F(Bus, a_message_on_the_heap_is_serialized_and_decoded) {
  const auto on = node("n");
  auto publisher = on.publisher<HeapScan>("scans");
  auto subscriber = on.subscriber<HeapScan>("scans");
  EXPECT_EQ(publisher.publish(heap_scan()), 0U);
  const auto sample = subscriber.take();
  ASSERT_TRUE(sample.has_value());
  EXPECT_EQ(**sample, heap_scan());
  EXPECT_TRUE(sample->is_copy());
  EXPECT_EQ(sample->bulk(&HeapScan::ranges)[4], 4.5F);
  EXPECT_EQ(sample->publisher_id(), on.id());
}

TEST_F(Bus, a_decoded_message_does_not_hold_shared_memory) {
  const auto on = node("n");
  auto publisher = on.publisher<HeapScan>("scans", {.depth = 1});
  auto subscriber = on.subscriber<HeapScan>("scans");
  std::vector<situ::sample<HeapScan>> kept;
  for (int i = 0; i < 64; ++i) {
    publisher.publish(heap_scan());
    kept.push_back(*subscriber.take());
  }
  EXPECT_LT(publisher.statistics().slots_in_use, 8U);
  EXPECT_EQ(*kept.front(), heap_scan());
}

TEST_F(Bus, a_subscriber_on_the_heap_reads_flat_messages) {
  const auto on = node("n");
  auto publisher = on.publisher<Scan>("scans");
  auto subscriber = on.subscriber<HeapScan>("scans");
  auto loan = publisher.loan({.ranges = 5});
  loan->id = 7;
  loan->name = "front";
  loan->levels = {1, 2, 3};
  const auto ranges = loan.bulk(&Scan::ranges);
  for (std::size_t i = 0; i < ranges.size(); ++i) ranges[i] = static_cast<float>(i) + 0.5F;
  loan.publish();
  const auto sample = subscriber.take();
  ASSERT_TRUE(sample.has_value());
  EXPECT_EQ(**sample, heap_scan());
  EXPECT_TRUE(sample->is_copy());
}

TEST_F(Bus, a_flat_subscriber_reads_serialized_messages) {
  const auto on = node("n");
  auto publisher = on.publisher<HeapScan>("scans");
  auto subscriber = on.subscriber<Scan>("scans");
  publisher.publish(heap_scan());
  const auto sample = subscriber.take();
  ASSERT_TRUE(sample.has_value());
  EXPECT_EQ((*sample)->id, 7U);
  EXPECT_EQ((*sample)->name, "front");
  ASSERT_EQ(sample->bulk(&Scan::ranges).size(), 5U);
  EXPECT_EQ(sample->bulk(&Scan::ranges)[3], 3.5F);
  EXPECT_TRUE(sample->is_copy());
}

TEST_F(Bus, a_flat_publisher_publishes_a_message_of_the_heap) {
  const auto on = node("n");
  auto publisher = on.publisher<Scan>("scans");
  auto subscriber = on.subscriber<Scan>("scans");
  publisher.publish(heap_scan());
  const auto sample = subscriber.take();
  ASSERT_TRUE(sample.has_value());
  EXPECT_FALSE(sample->is_copy());
  EXPECT_EQ((*sample)->name, "front");
  ASSERT_EQ(sample->bulk(&Scan::ranges).size(), 5U);
  EXPECT_EQ(sample->bulk(&Scan::ranges)[0], 0.5F);
}

TEST_F(Bus, quality_of_service_arrives) {
  const auto on = node("n");
  auto publisher = on.publisher<Tick>(
      "ticks", {.durability = situ::durability::transient_local, .depth = 3, .lifespan = 1h, .stamps = true});
  for (std::uint64_t i = 0; i < 5; ++i) publisher.publish(Tick{.count = i});
  auto late = on.subscriber<Tick>("ticks", {.durability = situ::durability::transient_local});
  std::vector<std::uint64_t> found;
  while (const auto sample = late.take()) found.push_back((*sample)->count);
  ASSERT_GE(found.size(), 3U);
  EXPECT_EQ(found.back(), 4U);

  auto newest = on.subscriber<Tick>("ticks", {.keep_last = 1});
  publisher.publish(Tick{.count = 10});
  publisher.publish(Tick{.count = 11});
  EXPECT_EQ((*newest.take())->count, 11U);
  EXPECT_EQ(newest.statistics().skipped, 1U);
}

TEST_F(Bus, old_messages_expire_and_deadlines_are_counted) {
  const auto on = node("n");
  auto publisher = on.publisher<Tick>("ticks", {.deadline = 5ms, .lifespan = 1ms});
  auto subscriber = on.subscriber<Tick>("ticks", {.deadline = 5ms});
  publisher.publish(Tick{});
  std::this_thread::sleep_for(12ms);
  EXPECT_FALSE(subscriber.take().has_value());
  EXPECT_EQ(subscriber.statistics().expired, 1U);
  EXPECT_GE(subscriber.statistics().deadlines_missed, 2U);
  EXPECT_GE(publisher.statistics().deadlines_missed, 2U);
}

TEST_F(Bus, messages_without_stamps_have_no_time) {
  const auto on = node("n");
  auto publisher = on.publisher<Tick>("ticks", {.stamps = false});
  auto subscriber = on.subscriber<Tick>("ticks");
  publisher.publish(Tick{});
  EXPECT_EQ(subscriber.take()->published_at().time_since_epoch(), 0ns);
}

TEST_F(Bus, nodes_and_topics_are_listed) {
  const auto on = node("lister");
  auto publisher = on.publisher<Tick>("ticks");
  auto one = on.subscriber<Tick>("ticks");
  auto two = on.subscriber<Tick>("ticks");
  publisher.publish(Tick{});
  const auto topics = situ::topics(root_);
  ASSERT_EQ(topics.size(), 1U);
  EXPECT_EQ(topics[0].name, "ticks");
  EXPECT_EQ(topics[0].type_name, "test::Tick");
  EXPECT_EQ(topics[0].schema, Tick::schema);
  EXPECT_EQ(topics[0].schema_hash, 0x71c4U);
  EXPECT_EQ(topics[0].published, 1U);
  EXPECT_EQ(topics[0].publishers, 1U);
  EXPECT_EQ(topics[0].subscribers, 2U);
  const auto nodes = situ::nodes(root_);
  ASSERT_EQ(nodes.size(), 1U);
  EXPECT_EQ(nodes[0].name, "lister");
  EXPECT_EQ(nodes[0].id, on.id());
  EXPECT_EQ(nodes[0].pid, static_cast<std::uint32_t>(::getpid()));
  EXPECT_TRUE(nodes[0].alive);
  EXPECT_EQ(on.name(), "lister");
}

}  // namespace
}  // namespace bus_test
