// A generated appendable type, in a program with the new members.
#include "profile.hpp"

#include <gtest/gtest.h>

#include <span>
#include <string>
#include <vector>

#include "situ/region.hpp"
#include "support/vectors.hpp"

namespace {

using game::Profile;
using situ_test::vector_image;

std::vector<std::byte> bytes_of(const std::vector<situ_test::granule>& image) {
  const auto bytes = std::as_bytes(std::span(image));
  return {bytes.begin(), bytes.end()};
}

TEST(Profile, the_bytes_are_those_of_the_vectors) {
  situ::region<Profile> r;
  r->id = 5;
  r->name = "the name of this profile";
  r->best.emplace(900, 1'700'000'000, "somebody with a long name");
  r->level = 7;
  r->tags.insert("with a longer name");
  r->tags.insert("quick");
  r->rival.emplace(901, 1'700'000'001, "me");
  const auto canonical = vector_image("game_profile.after.canonical.bin").granules;
  EXPECT_EQ(r.canonical(), bytes_of(canonical));
  const auto live = vector_image("game_profile.after.live.bin").granules;
  const auto taken = situ::region<Profile>::adopt(std::as_bytes(std::span(live)));
  ASSERT_TRUE(taken) << taken.error().message();
  EXPECT_EQ(taken->canonical(), r.canonical());
  situ::rebind<Profile, situ::heap> heap;
  ASSERT_TRUE(situ::convert(*r, heap));
  EXPECT_EQ(heap.rival->by, "me");
  situ::region<Profile> back;
  ASSERT_TRUE(situ::convert(heap, *back));
  EXPECT_EQ(back.canonical(), r.canonical());
}

TEST(Profile, an_older_image_gets_the_defaults_of_new_members) {
  const auto live = vector_image("game_profile.before.live.bin").granules;
  const auto image = std::as_bytes(std::span(live));
  const auto seen = situ::view_region<Profile>(image);
  ASSERT_FALSE(seen);
  EXPECT_NE(seen.error().message().find("2 members of game::Record, this program 3"), std::string::npos)
      << seen.error().message();
  const auto taken = situ::region<Profile>::adopt(image);
  ASSERT_TRUE(taken) << taken.error().message();
  EXPECT_EQ((*taken)->name, "the name of this profile");
  EXPECT_EQ((*taken)->level, 3);
  EXPECT_TRUE((*taken)->tags.empty());
  EXPECT_FALSE((*taken)->rival);
  EXPECT_EQ((*taken)->best->by, "");
  EXPECT_EQ((*taken)->best->score, 900U);
}

}  // namespace
