// Blackboards: values and versions of keys, and errors.
#include <gtest/gtest.h>

#include <cstdint>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "bus/messages.hpp"
#include "bus/scratch.hpp"

namespace bus_test {
namespace {

TEST_F(Bus, a_blackboard_keeps_the_last_value_of_each_key) {
  const auto on = node("n");
  situ::blackboard_writer<Page> writer(on, "pages", {"first", "second"});
  const situ::blackboard_reader<Page> reader(node("other"), "pages");
  ASSERT_EQ(reader.key_count(), 2U);
  EXPECT_EQ(reader.key(1), "second");
  EXPECT_EQ(reader.position("second"), 1U);
  EXPECT_EQ(reader.position("third"), std::nullopt);
  EXPECT_FALSE(reader.get(0).has_value());
  Page page{.count = 7};
  page.rest[14] = 8;
  EXPECT_EQ(writer.set(0, page), 1U);
  page.count = 9;
  EXPECT_EQ(writer.try_set(0, page).value(), 2U);
  const auto found = reader.get(0);
  ASSERT_TRUE(found.has_value());
  EXPECT_EQ(found->value, page);
  EXPECT_EQ(found->version, 2U);
  EXPECT_TRUE(reader.changed_since(0, 1) && !reader.changed_since(0, 2));
  EXPECT_EQ(reader.changes(), 2U);
  EXPECT_EQ(reader.writer(), situ::writer_state::alive);
}

TEST_F(Bus, mistakes_with_blackboards_are_errors) {
  const auto on = node("n");
  const auto missing = error_of([&] { situ::blackboard_reader<Tick>(on, "ticks"); });
  EXPECT_EQ(missing.code(), situ::errc::empty);
  EXPECT_STREQ(missing.what(), "there is no blackboard \"ticks\": start its writer first");
  std::optional<situ::blackboard_writer<Tick>> writer(std::in_place, on, "ticks",
                                                      std::vector<std::string>{"a"});
  const auto second = situ::blackboard_writer<Tick>::try_create(on, "ticks", {"a"});
  EXPECT_EQ(second.error().code(), situ::errc::busy);
  const auto other = situ::blackboard_reader<Page>::try_create(on, "ticks");
  EXPECT_EQ(other.error().code(), situ::errc::type);
  const situ::blackboard_reader<Tick> reader(on, "ticks");
  EXPECT_EQ(writer->try_set(1, Tick{}).error().code(), situ::errc::invalid_argument);
  EXPECT_EQ(reader.try_get(1).error().code(), situ::errc::invalid_argument);
  writer->set(0, Tick{.count = 3});
  writer.reset();
  EXPECT_EQ(reader.writer(), situ::writer_state::left);
  EXPECT_EQ(reader.get(0)->value.count, 3U);
}

TEST_F(Bus, readers_in_other_threads_see_whole_values) {
  const auto on = node("n");
  situ::blackboard_writer<Page> writer(on, "pages", {"a"});
  const situ::blackboard_reader<Page> reader(on, "pages");
  constexpr std::uint64_t last = 20'000;
  std::thread reading([&] {
    std::uint64_t seen = 0;
    while (seen < last) {
      const auto found = reader.try_get(0);
      // The writer may replace the value during every attempt.
      if (!found || !found->has_value()) continue;
      const auto& [page, version] = **found;
      ASSERT_EQ(page.count, version);
      ASSERT_EQ(page.rest[14], 3 * version);
      ASSERT_GE(version, seen);
      seen = version;
    }
  });
  Page page;
  for (std::uint64_t count = 1; count <= last; ++count) {
    page.count = count;
    page.rest[14] = 3 * count;
    writer.set(0, page);
  }
  reading.join();
}

}  // namespace
}  // namespace bus_test
