// Appendable structs: images of older and newer programs, compared with the vectors.
#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <utility>

#include "region/market.hpp"
#include "region/refused.hpp"
#include "support/memory.hpp"
#include "support/vectors.hpp"

namespace {

using situ::region;
using situ_test::aligned_bytes;
using situ_test::refused;
using situ_test::vector_image;
namespace before = situ_test::before;
namespace after = situ_test::after;

/// A version with a record that changed in the middle, which makes it a different type.
namespace changed {
struct alignas(8) Record {
  std::uint32_t score;
  std::uint64_t moment;
};
SITU_REGION_APPENDABLE(Record, score, moment)
struct alignas(8) Profile {
  std::uint64_t id;
  situ::region_string name;
  situ::region_unique<Record> best;
};
SITU_REGION_APPENDABLE(Profile, id, name, best)
}  // namespace changed

/// Structs of a fixed layout that contain appendable ones.
namespace fixed_after {
struct All {
  situ::region_vector<situ::region_unique<after::Profile>> profiles;
};
SITU_REGION(All, profiles)
}  // namespace fixed_after
namespace fixed_before {
struct All {
  situ::region_vector<situ::region_unique<before::Profile>> profiles;
};
SITU_REGION(All, profiles)
}  // namespace fixed_before

TEST(RegionVersions, the_layout_hash_does_not_cover_appended_members) {
  EXPECT_EQ(situ::region_detail::layout_text<after::Profile>(),
            "region-v2 Profile\nProfile 0 0 0 appendable\n");
  EXPECT_EQ(situ::region_detail::layout_text<fixed_after::All>(),
            "region-v2 All\nAll 0 16 4 struct\nAll.profiles 0 16 4 vector\nAll.profiles[] 0 8 4 unique\n"
            "All.profiles[]* 0 0 0 Profile\nProfile 0 0 0 appendable\n");
}

TEST(RegionVersions, an_older_image_gets_the_new_members) {
  for (const char* form : {"canonical", "live"}) {
    aligned_bytes image = vector_image(std::string("profile.before.") + form + ".bin");
    auto r = region<after::Profile>::adopt(image.span());
    ASSERT_TRUE(r) << r.error().message();
    after::Profile& p = **r;
    EXPECT_EQ(p.id, 5U);
    EXPECT_EQ(p.name, "the name of this profile");
    EXPECT_EQ(p.best->score, 900U);
    EXPECT_EQ(p.best->by, "");
    EXPECT_EQ(p.level, 0U);
    EXPECT_TRUE(p.tags.empty());
    EXPECT_FALSE(p.rival);
    p.tags.insert("it goes on from here");
    EXPECT_EQ(refused<after::Profile>(r->bytes()), "accepted");
    EXPECT_EQ(refused<after::Profile>(r->canonical()), "accepted");
    // There is no room for the new members in place.
    const std::string problem =
        "message: the image has 3 members of Profile, this program 6; adopt a copy (at offset 0)";
    EXPECT_EQ(refused<after::Profile>(image.span()), problem);
    const auto in_place = region<after::Profile>::adopt_in_place(image.span());
    ASSERT_FALSE(in_place);
    EXPECT_EQ(in_place.error().message(), problem);
    auto moving = situ::movable_region<after::Profile>::adopt(image.span());
    ASSERT_TRUE(moving);
    EXPECT_EQ((*moving)->best->when, 1'700'000'000U);
  }
}

TEST(RegionVersions, a_newer_image_shows_what_is_known) {
  aligned_bytes older = vector_image("profile.before.canonical.bin");
  for (const char* form : {"canonical", "live"}) {
    aligned_bytes image = vector_image(std::string("profile.after.") + form + ".bin");
    const auto viewed = situ::view_region<before::Profile>(image.span());
    ASSERT_TRUE(viewed) << viewed.error().message();
    EXPECT_EQ((*viewed)->name, "the name of this profile");
    EXPECT_EQ((*viewed)->best->when, 1'700'000'000U);
    const auto in_place = region<before::Profile>::adopt_in_place(image.span());
    ASSERT_FALSE(in_place);
    EXPECT_EQ(in_place.error().problem, situ::region_problem::other_version);
    // A copy has this program's version, without the additional members.
    auto r = region<before::Profile>::adopt(image.span());
    ASSERT_TRUE(r) << r.error().message();
    const auto canonical = r->canonical();
    EXPECT_TRUE(std::equal(canonical.begin(), canonical.end(), older.span().begin(), older.span().end()));
    (*r)->name = "a name that is a bit longer";
    EXPECT_EQ(refused<before::Profile>(r->bytes()), "accepted");
  }
}

TEST(RegionVersions, changes_other_than_additions_are_refused_by_name) {
  for (const char* name : {"profile.before.canonical.bin", "profile.after.live.bin"}) {
    aligned_bytes image = vector_image(name);
    EXPECT_EQ(refused<changed::Profile>(image.span())
                  .find("message: the image has another Record: member 2, here moment, differs (at offset "),
              0U);
  }
  for (const auto& [at, flip] : {std::pair{60, 8}, {60, 0xF0}, {96, 3}, {100, 1}, {100, 200}, {104, 1}}) {
    aligned_bytes bad = vector_image("profile.before.canonical.bin");
    bad.span()[static_cast<std::size_t>(at)] ^= static_cast<std::byte>(flip);
    EXPECT_NE(refused<before::Profile>(bad.span()).find("the table of versions at offset"), std::string::npos)
        << at;
  }
}

/// Returns an image whose table of versions lacks one of its structs.
template <class T>
std::string without_key_of(aligned_bytes image, const char* name) {
  const std::uint64_t key = situ::region_detail::sha256_u64(std::string(name) + "\n");
  const auto bytes = image.span();
  std::size_t at = 0;
  while (std::memcmp(bytes.data() + at, &key, sizeof(key)) != 0) ++at;
  // Changes the key to that of another name, in the same position.
  bytes[at] ^= std::byte{1};
  return refused<T>(bytes);
}

/// The error names the place of the missing struct, or of the link to it.
TEST(RegionVersions, structs_that_are_not_in_the_table_are_refused) {
  for (const auto& [form, table] : {std::pair{"canonical", "128"}, {"live", "608"}}) {
    const auto newer = vector_image(std::string("profile.after.") + form + ".bin");
    const std::string words = std::string("the table of versions at offset ") + table + " is not good";
    EXPECT_EQ(without_key_of<before::Profile>(newer, "Profile"), "message: " + words + " (at offset 64)");
    EXPECT_EQ(without_key_of<before::Profile>(newer, "Record"), "best: " + words + " (at offset 88)");
  }
}

TEST(RegionVersions, vectors_of_links_hold_appendable_structs) {
  region<fixed_after::All> r;
  for (std::uint64_t i = 0; i < 3; ++i) {
    after::Profile& profile = r->profiles.emplace_back().emplace(i);
    profile.best.emplace(1, 2, "the one who was best");
    profile.tags.insert("a tag that is not known");
  }
  const auto canonical = r.canonical();
  for (const bool live : {true, false}) {
    aligned_bytes image(live ? r.bytes() : std::span<const std::byte>(canonical));
    const auto old = region<fixed_before::All>::adopt(image.span());
    ASSERT_TRUE(old) << old.error().message();
    aligned_bytes sent_on(old->canonical());
    const auto back = region<fixed_after::All>::adopt(sent_on.span());
    ASSERT_TRUE(back) << back.error().message();
    EXPECT_EQ((*back)->profiles.size(), 3U);
    EXPECT_EQ((*back)->profiles[2]->id, 2U);
    EXPECT_TRUE((*back)->profiles[2]->tags.empty());
  }
}

TEST(RegionVersions, every_spoilt_byte_is_refused_or_harmless) {
  for (const char* name : {"profile.before.canonical.bin", "profile.before.live.bin",
                           "profile.after.canonical.bin", "profile.after.live.bin"}) {
    aligned_bytes good = vector_image(name);
    for (std::size_t at = 0; at < good.span().size(); ++at) {
      for (const int flip : {1, 0x80, 0xFF}) {
        aligned_bytes bad(good.span());
        bad.span()[at] ^= static_cast<std::byte>(flip);
        if (const auto r = region<before::Profile>::adopt(bad.span())) {
          EXPECT_EQ(refused<before::Profile>(r->canonical()), "accepted");
        }
        if (const auto r = region<after::Profile>::adopt(bad.span())) {
          EXPECT_EQ(refused<after::Profile>(r->canonical()), "accepted");
        }
      }
    }
  }
}

}  // namespace
