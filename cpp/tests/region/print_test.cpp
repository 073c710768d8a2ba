// The text of values in regions.
#include <gtest/gtest.h>

#include <cstdint>
#include <sstream>
#include <string>

#if __has_include(<fmt/format.h>)
#define FMT_HEADER_ONLY
#include <fmt/format.h>
#endif

#include "situ/region.hpp"
#include "situ/region/format.hpp"

namespace situ_test {

enum class Rank : std::uint8_t { low, high };

struct Coin {
  std::uint32_t value;
  bool gold;
  char mark;
};
SITU_REGION(Coin, value, gold, mark)

struct Page {
  situ::region_string text;
  situ::region_unique<Page> next;
  situ::region_shared<Page> source;
};
SITU_REGION(Page, text, next, source)

/// Prints itself in its own way.
struct Secret {
  situ::region_string text;
};
SITU_REGION(Secret, text)
inline std::ostream& operator<<(std::ostream& out, const Secret& /*secret*/) { return out << "***"; }

using Note = situ::region_union<"Note", std::int32_t, situ::region_case<"number", double, 1>,
                                situ::region_case<"text", situ::region_string, 2>>;
struct Purse {
  situ::region_string owner;
  situ::region_vector<Coin> coins;
  situ::region_sorted_map<situ::region_string, std::uint32_t> sorted;
  situ::region_hash_map<std::uint8_t, situ::region_string> hash;
  situ::region_ordered_map<Rank, situ::region_vector<std::int16_t>> ordered;
  situ::region_sorted_set<situ::region_string> names;
  situ::region_hash_set<char> letters;
  situ::region_ordered_set<std::int8_t> numbers;
  situ::region_optional<Coin> lucky;
  situ::region_optional<situ::region_string> nickname;
  std::array<float, 2> scale;
  Note note;
  Page page;
};
SITU_REGION(Purse, owner, coins, sorted, hash, ordered, names, letters, numbers, lucky, nickname, scale, note,
            page)

}  // namespace situ_test

namespace {

using situ_test::Purse;

template <class T>
std::string shown(const T& value) {
  std::ostringstream out;
  out << value;
  return std::move(out).str();
}

struct Print : testing::Test {
  situ::region<Purse> r;
};

TEST_F(Print, ShowsEmptyContainers) {
  EXPECT_EQ(shown(*r),
            "Purse{owner: \"\", coins: [], sorted: {}, hash: {}, ordered: {}, names: {}, letters: {}, "
            "numbers: {}, lucky: none, nickname: none, scale: [0, 0], note: Note{}, "
            "page: Page{text: \"\", next: none, source: none}}");
}

TEST_F(Print, ShowsAllContainers) {
  r->owner = "a \"rich\" one\n";
  r->coins.emplace_back(5U, true, 'x');
  r->coins.emplace_back(7U, false, '\'');
  r->sorted = {{"b", 2}, {"a", 1}};
  r->hash = {{9, "nine"}};
  r->ordered[situ_test::Rank::high] = {-1, 2};
  r->names = {"y", "x"};
  r->letters = {'q'};
  r->numbers = {3, -3};
  r->lucky.emplace(1U, true, 'l');
  r->nickname = "nick";
  r->scale = {0.5F, 2};
  r->note.emplace<"text">(2, "written");
  EXPECT_EQ(shown(r->owner), "a \"rich\" one\n");  // a string prints as its text
  EXPECT_EQ(shown(r->coins),
            "[Coin{value: 5, gold: true, mark: 'x'}, Coin{value: 7, gold: false, mark: '\\''}]");
  EXPECT_EQ(shown(r->coins[0]), "Coin{value: 5, gold: true, mark: 'x'}");
  EXPECT_EQ(shown(r->sorted), "{\"a\": 1, \"b\": 2}");
  EXPECT_EQ(shown(r->hash), "{9: \"nine\"}");
  EXPECT_EQ(shown(r->ordered), "{(1): [-1, 2]}");
  EXPECT_EQ(shown(r->names), "{\"x\", \"y\"}");
  EXPECT_EQ(shown(r->letters), "{'q'}");
  EXPECT_EQ(shown(r->numbers), "{-3, 3}");
  EXPECT_EQ(shown(r->lucky), "Coin{value: 1, gold: true, mark: 'l'}");
  EXPECT_EQ(shown(r->nickname), "\"nick\"");
  EXPECT_EQ(shown(r->note), "Note{text: \"written\"}");
  EXPECT_EQ(situ::to_string(r->note), "Note{text: \"written\"}");
  EXPECT_EQ(situ::to_string(*r), shown(*r));
  EXPECT_NE(shown(*r).find("owner: \"a \\\"rich\\\" one\\n\", coins: [Coin{"), std::string::npos);
}

TEST_F(Print, PrefersAnOperatorOfTheStruct) {
  situ::region<situ_test::Secret> secret;
  secret->text = "hidden";
  EXPECT_EQ(shown(*secret), "***");
}

TEST_F(Print, CutsLongContainers) {
  for (std::int16_t i = 0; i < 100; ++i) r->ordered[situ_test::Rank::low].push_back(i);
  const std::string text = shown(r->ordered);
  EXPECT_NE(text.find(", 63, ... 36 more]"), std::string::npos) << text;
  EXPECT_EQ(text.find(", 64"), std::string::npos);
}

TEST_F(Print, ShowsSharedValuesOnce) {
  r->page.source.emplace("common");
  r->page.next.emplace().source.share(r->page.source);
  EXPECT_EQ(shown(r->page),
            "Page{text: \"\", next: Page{text: \"\", next: none, source: #1 Page{text: \"common\", "
            "next: none, source: none}}, source: #1}");
  // The numbers begin again.
  EXPECT_EQ(shown(r->page.source), "#1 Page{text: \"common\", next: none, source: none}");
  r->page.next.reset();
  EXPECT_EQ(shown(r->page.source), "Page{text: \"common\", next: none, source: none}");
}

TEST_F(Print, EndsInDeepChains) {
  situ_test::Page* last = &r->page;
  for (int i = 0; i < 100'000; ++i) last = &last->next.emplace();
  const std::string text = shown(r->page);
  EXPECT_NE(text.find("next: ..."), std::string::npos);
  EXPECT_LT(text.size(), 10'000U);
}

#ifdef FMT_VERSION
TEST_F(Print, IsFormattedByFmt) {
  r->owner = "me";
  r->numbers = {1, 2};
  EXPECT_EQ(fmt::format("{}:{}", r->owner, r->numbers), "me:{1, 2}");
  EXPECT_EQ(fmt::format("{:>4}|{}", r->owner, r->coins), "  me|[]");
  EXPECT_EQ(fmt::format("{}", *r), shown(*r));
}
#endif
#ifdef __cpp_lib_format
TEST_F(Print, IsFormattedByTheLibrary) {
  r->owner = "me";
  r->numbers = {1, 2};
  EXPECT_EQ(std::format("{:>4}:{}", r->owner, r->numbers), "  me:{1, 2}");
  EXPECT_EQ(std::format("{}", *r), shown(*r));
}
#endif

}  // namespace
