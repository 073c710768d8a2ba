// What programs do with values of regions every day, beside types of the standard library: copies, sums of
// strings, loops over maps, sorting, and printing.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <sstream>
#include <string>
#include <string_view>
#include <type_traits>
#include <unordered_map>
#include <vector>

#include "situ/region.hpp"
#include "situ/region/to_std.hpp"
#include "situ/time.hpp"

namespace situ_everyday {

struct Skill {
  std::uint32_t id, level;
};
SITU_REGION(Skill, id, level)

struct Hero {
  situ::region_string name;
  situ::region_vector<std::uint32_t> numbers;
  situ::region_vector<situ::region_vector<situ::region_string>> words;
  situ::region_sorted_map<std::uint64_t, Skill> skills;
  situ::region_ordered_map<situ::region_string, situ::region_string> titles;
  situ::region_hash_map<situ::region_string, std::uint32_t> counts;
  situ::region_hash_set<std::uint32_t> tags;
  situ::region_sorted_set<situ::region_string> places;
  situ::region_optional<situ::region_string> motto;
  situ::region_unique<Skill> best;
};
SITU_REGION(Hero, name, numbers, words, skills, titles, counts, tags, places, motto, best)

std::string given(const std::string& text) { return text; }

TEST(RegionEveryday, StringsBecomeStringsOfTheLibraryAndAreAdded) {
  situ::region<Hero> r;
  r->name = "a name of many letters";
  const std::string copy = r->name;
  std::string assigned;
  assigned = r->name;
  assigned += r->name;
  EXPECT_EQ(copy, "a name of many letters");
  EXPECT_EQ(assigned, copy + copy);
  EXPECT_EQ(given(r->name), copy);
  EXPECT_EQ("<" + r->name + ">", "<" + copy + ">");
  EXPECT_EQ(r->name + ">", copy + ">");
  EXPECT_EQ(std::string("<") + r->name, "<" + copy);
  EXPECT_EQ(r->name + r->name, copy + copy);
  EXPECT_EQ(std::string_view(r->name), copy);
  EXPECT_STREQ(r->name.str().c_str(), "a name of many letters");
  std::ostringstream out;
  out << r->name;
  EXPECT_EQ(out.str(), copy);
  static_assert(std::is_same_v<decltype("a" + r->name), std::string>);
}

TEST(RegionEveryday, MapsAreWalkedAndVectorsSorted) {
  situ::region<Hero> r;
  r->skills.emplace(7, Skill{1, 2});
  r->counts.emplace("one", 1U);
  for (auto&& [key, skill] : r->skills) skill.level += static_cast<std::uint32_t>(key);
  for (auto&& [key, count] : r->counts) count += static_cast<std::uint32_t>(key.size());
  EXPECT_EQ(r->skills.at(7).level, 9U);
  EXPECT_EQ(r->counts.at("one"), 4U);
  r->numbers = {3U, 1U, 2U};
  std::sort(r->numbers.begin(), r->numbers.end());
  EXPECT_EQ(situ::to_std(r->numbers), (std::vector<std::uint32_t>{1, 2, 3}));
}

TEST(RegionEveryday, ContainersAreCopiedIntoThoseOfTheLibrary) {
  situ::region<Hero> r;
  r->name = "Hero";
  r->words.emplace_back().emplace_back("a word of many letters");
  r->words.emplace_back();
  r->skills.emplace(3, Skill{30, 31});
  r->skills.emplace(1, Skill{10, 11});
  r->titles.emplace("king", "of all the land that there is");
  r->counts.emplace("a key of many letters", 5U);
  r->tags.insert(8U);
  r->tags.insert(9U);
  r->places.insert("here");
  const auto name = situ::to_std(r->name);
  static_assert(std::is_same_v<decltype(name), const std::string>);
  EXPECT_EQ(name, "Hero");
  const std::vector<std::vector<std::string>> words = situ::to_std(r->words);
  EXPECT_EQ(words, (std::vector<std::vector<std::string>>{{"a word of many letters"}, {}}));
  const std::map<std::uint64_t, Skill> skills = situ::to_std(r->skills);
  ASSERT_EQ(skills.size(), 2U);
  EXPECT_EQ(skills.begin()->first, 1U);
  EXPECT_EQ(skills.at(3).level, 31U);
  const std::map<std::string, std::string> titles = situ::to_std(r->titles);
  EXPECT_EQ(titles, (std::map<std::string, std::string>{{"king", "of all the land that there is"}}));
  const std::unordered_map<std::string, std::uint32_t> counts = situ::to_std(r->counts);
  EXPECT_EQ(counts, (std::unordered_map<std::string, std::uint32_t>{{"a key of many letters", 5}}));
  EXPECT_EQ(situ::to_std(r->tags).count(9), 1U);
  EXPECT_EQ(situ::to_std(r->places), (std::set<std::string>{"here"}));
  EXPECT_EQ(situ::to_std(r->motto), std::nullopt);
  r->motto.emplace() = "to the end of the world";
  EXPECT_EQ(situ::to_std(r->motto), std::optional<std::string>("to the end of the world"));
  EXPECT_FALSE(situ::to_std(r->best).has_value());
}

}  // namespace situ_everyday
