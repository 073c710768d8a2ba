// A generated appendable type, in a program without the new members.
#include "profile_before.hpp"

#include <gtest/gtest.h>

#include <span>
#include <string>
#include <vector>

#include "situ/region.hpp"
#include "support/vectors.hpp"

namespace {

using game::Profile;
using situ_test::vector_image;

TEST(ProfileBefore, the_bytes_are_those_of_the_vectors) {
  situ::region<Profile> r;
  r->id = 5;
  r->name = "the name of this profile";
  r->best.emplace(900, 1'700'000'000);
  const auto canonical = vector_image("game_profile.before.canonical.bin").granules;
  const auto bytes = std::as_bytes(std::span(canonical));
  EXPECT_EQ(r.canonical(), std::vector<std::byte>(bytes.begin(), bytes.end()));
}

TEST(ProfileBefore, a_newer_image_shows_what_is_known_of_it) {
  for (const char* form : {"canonical", "live"}) {
    const auto after = vector_image(std::string("game_profile.after.") + form + ".bin").granules;
    const auto image = std::as_bytes(std::span(after));
    const auto seen = situ::view_region<Profile>(image);
    ASSERT_TRUE(seen) << seen.error().message();
    EXPECT_EQ((*seen)->name, "the name of this profile");
    EXPECT_EQ((*seen)->best->when, 1'700'000'000U);
    const auto taken = situ::region<Profile>::adopt(image);
    ASSERT_TRUE(taken) << taken.error().message();
    const auto canonical = vector_image("game_profile.before.canonical.bin").granules;
    const auto bytes = std::as_bytes(std::span(canonical));
    EXPECT_EQ(taken->canonical(), std::vector<std::byte>(bytes.begin(), bytes.end()));
  }
}

}  // namespace
