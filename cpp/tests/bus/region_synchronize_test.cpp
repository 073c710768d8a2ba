// Regions in sets of a synchronizer, beside messages of another storage. They wait without copies.
#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <tuple>

#include "bus/scratch.hpp"
#include "region.hpp"
#include "situ/synchronize.hpp"

namespace bus_test {
namespace {

using namespace std::chrono_literals;
using game::Character;
using game::Pantry;
using flat_bounded = situ::rebind<game::Bounded, situ::flat>;

/// A time of a message, as generated code has it.
struct Time {
  std::int32_t sec = 0;
  std::uint32_t nanosec = 0;
};

/// The stamp of a character is its number, and that of a bounded message the number of its samples, in
/// nanoseconds.
TEST_F(Bus, regions_come_in_sets_by_their_stamps) {
  const auto on = node("n");
  auto characters = on.publisher<Character>("characters");
  auto bounded = on.publisher<flat_bounded>("bounded");
  auto pantries = on.publisher<Pantry>("pantries");
  situ::synchronizer sets(
      situ::exact_time{.queue_size = 3},
      situ::stamped(
          on.subscriber<Character>("characters"),
          [](const auto& it) { return situ::time::from_nanos<Time>(static_cast<std::int64_t>(it->id)); }),
      situ::stamped(on.subscriber<flat_bounded>("bounded"),
                    [](const auto& it) {
                      return Time{0, static_cast<std::uint32_t>(it->samples.size())};
                    }),
      situ::stamped(on.subscriber<Pantry>("pantries"), [](const auto& it) {
        return Time{0, static_cast<std::uint32_t>(it->ratio)};
      }));
  const auto copies = situ::copies().copies;
  for (const std::uint64_t stamp : {1U, 2U, 3U, 5U}) {
    auto character = characters.loan();
    character->id = stamp;
    // Larger than the first memory of a loan.
    for (std::uint64_t key = 0; key < 1000 * stamp; ++key) character->items.emplace(key, 1, 2, key * 7);
    character.publish();
  }
  for (const std::size_t stamp : {2U, 4U, 5U}) bounded.loan({.samples = stamp}).publish();
  EXPECT_FALSE(sets.take().has_value()) << "there is no pantry yet";
  for (const unsigned stamp : {1U, 2U, 4U, 5U}) {
    auto pantry = pantries.loan();
    pantry->ratio = stamp;
    pantry->long_text = "a text of more than eleven bytes";
    pantry.publish();
  }
  for (const std::uint64_t stamp : {2U, 5U}) {
    const auto set = sets.receive(20s);
    ASSERT_TRUE(set.has_value());
    const auto& [character, flat, pantry] = *set;
    EXPECT_EQ(character->id, stamp);
    EXPECT_EQ(flat.bulk(&flat_bounded::samples).size(), stamp);
    EXPECT_EQ(pantry->ratio, static_cast<double>(stamp));
    EXPECT_EQ(character->items.size(), 1000 * stamp);
    EXPECT_EQ(character->items.at(999).uuid, 999U * 7);
    EXPECT_EQ(pantry->long_text, "a text of more than eleven bytes");
    EXPECT_FALSE(character.is_copy() || flat.is_copy() || pantry.is_copy());
  }
  EXPECT_FALSE(sets.take().has_value());
  // 1 and 3 of the characters, 4 of the bounded ones, 1 and 4 of the pantries.
  EXPECT_EQ(sets.counts(), (situ::synchronizer_counts{.sets = 2, .unmatched = 5}));
  EXPECT_EQ(situ::copies().copies, copies);
}

/// The time of publication needs no member of the region.
TEST_F(Bus, regions_come_in_sets_by_the_times_of_publication) {
  const auto on = node("n");
  auto characters = on.publisher<Character>("characters");
  auto pantries = on.publisher<Pantry>("pantries");
  const auto published = [](const auto& one) { return one.published_at(); };
  situ::synchronizer pairs(situ::approximate_time{},
                           situ::stamped(on.subscriber<Character>("characters"), published),
                           situ::stamped(on.subscriber<Pantry>("pantries"), published));
  for (std::uint32_t level = 0; level < 3; ++level) {
    auto character = characters.loan();
    character->level = level;
    character.publish();
    auto pantry = pantries.loan();
    pantry->small = static_cast<std::int8_t>(level);
    pantry.publish();
  }
  const auto pair = pairs.take();
  ASSERT_TRUE(pair.has_value());
  // The first pantry is between two characters; either may be the nearer one.
  EXPECT_LE(std::get<0>(*pair)->level, 1U);
  EXPECT_EQ(std::get<1>(*pair)->small, 0);
}

}  // namespace
}  // namespace bus_test
