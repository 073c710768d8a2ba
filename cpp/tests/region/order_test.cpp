// Elements of a region change places like those of standard containers: random operations on both.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>
#include <random>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "region/refused.hpp"
#include "support/memory.hpp"

namespace situ_test {

/// Has containers that lie within it, have a block, or contain each other.
struct Article {
  std::uint8_t group;
  std::uint32_t number;
  situ::region_string name;
  situ::region_optional<situ::region_string> alias;
  situ::region_vector<situ::region_string> tags;
  situ::region_hash_map<std::uint32_t, situ::region_string> notes;
  situ::region_union<"Extra", std::uint8_t, situ::region_case<"none", std::uint8_t, 0>,
                     situ::region_case<"text", situ::region_string, 1>>
      extra;
};
SITU_REGION(Article, group, number, name, alias, tags, notes, extra)

struct Branch {
  std::uint32_t number;
  situ::region_unique<Branch> next;
  situ::region_vector<Branch> twigs;
};
SITU_REGION(Branch, number, next, twigs)

/// A value that can contain links to others of its type.
struct Ring {
  situ::region_string name;
  situ::region_shared<Ring> next;
};
SITU_REGION(Ring, name, next)

struct Shop {
  situ::region_vector<Article> articles;
  situ::region_vector<Article> sold;
  situ::region_vector<std::uint16_t> numbers;
  situ::region_string name;
  std::array<Article, 2> window;
  situ::region_sorted_map<std::uint32_t, Article> sorted_map;
  situ::region_sorted_map<std::uint32_t, Article> other_sorted_map;
  situ::region_ordered_map<std::uint32_t, situ::region_string> ordered_map;
  situ::region_ordered_map<std::uint32_t, situ::region_string> other_ordered_map;
  situ::region_hash_set<situ::region_string> hash_set;
  situ::region_hash_set<situ::region_string> other_hash_set;
  situ::region_unique<Article> best;
  Branch branch;
  situ::region_vector<situ::region_shared<Ring>> rings;
};
SITU_REGION(Shop, articles, sold, numbers, name, window, sorted_map, other_sorted_map, ordered_map,
            other_ordered_map, hash_set, other_hash_set, best, branch, rings)

}  // namespace situ_test

namespace {

using situ::region;
using situ_test::Article;
using situ_test::Shop;

/// The value of an article, for the standard containers.
struct Plain {
  std::uint8_t group = 0;
  std::uint32_t number = 0;
  std::string name;
};

/// Everything follows from a number. Some articles have blocks, and some have none.
Plain plain(std::uint32_t number) {
  return {static_cast<std::uint8_t>(number % 5), number,
          std::string(number * 7 % 31, 'n') + std::to_string(number)};
}
void make(Article& article, std::uint32_t number) {
  const Plain from = plain(number);
  article.group = from.group;
  article.number = from.number;
  article.name = from.name;
  if (number % 3 == 0) article.alias.emplace("alias " + from.name);
  for (std::uint32_t i = 0; i < number % 4; ++i) article.tags.emplace_back(from.name + std::to_string(i));
  for (std::uint32_t i = 0; i < number % 3; ++i) article.notes.emplace(i, from.name);
  if (number % 2 == 0) article.extra.emplace<"text">(1, "extra " + from.name);
}
void expect_made(const Article& article, std::uint32_t number) {
  const Plain from = plain(number);
  EXPECT_EQ(article.group, from.group);
  EXPECT_EQ(article.number, from.number);
  EXPECT_EQ(article.name, from.name);
  EXPECT_EQ(article.alias.has_value(), number % 3 == 0);
  if (article.alias) {
    EXPECT_EQ(*article.alias, "alias " + from.name);
  }
  ASSERT_EQ(article.tags.size(), number % 4);
  for (std::uint32_t i = 0; i < number % 4; ++i) EXPECT_EQ(article.tags[i], from.name + std::to_string(i));
  ASSERT_EQ(article.notes.size(), number % 3);
  for (std::uint32_t i = 0; i < number % 3; ++i) EXPECT_EQ(article.notes.at(i), from.name);
  if (number % 2 == 0) {
    EXPECT_EQ(article.extra.get<"text">(), "extra " + from.name);
  }
}
void expect_made(const situ::region_vector<Article>& articles, const std::vector<Plain>& model) {
  ASSERT_EQ(articles.size(), model.size());
  for (std::size_t i = 0; i < model.size(); ++i) expect_made(articles[i], model[i].number);
}
template <class T>
void expect_good(const region<T>& r) {
  EXPECT_EQ(situ_test::refused<T>(r.bytes()), "accepted");
}

TEST(RegionOrder, vectors) {
  region<Shop> r;
  std::vector<Plain> model;
  std::mt19937 random(1);
  const auto below = [&random](std::size_t end) { return random() % end; };
  for (std::uint32_t i = 0; i < 60; ++i) {
    make(r->articles.emplace_back(), i);
    model.push_back(plain(i));
  }
  auto& v = r->articles;
  auto& m = model;
  for (int step = 0; step < 400; ++step) {
    const std::size_t i = below(m.size());
    const std::size_t j = below(m.size());
    std::array<std::ptrdiff_t, 3> places{};
    for (auto& each : places) each = static_cast<std::ptrdiff_t>(below(m.size() + 1));
    std::sort(places.begin(), places.end());
    switch (below(12)) {
      case 0:
        v.swap(i, j);
        std::swap(m[i], m[j]);
        break;
      case 1: {
        using std::swap;
        swap(v[i], v[j]);
        swap(m[i], m[j]);
        break;
      }
      case 2:
        std::ranges::swap(v[i], v[j]);
        std::swap(m[i], m[j]);
        break;
      case 3:
        v.reverse();
        std::reverse(m.begin(), m.end());
        break;
      case 4: {
        const auto made = v.rotate(v.begin() + places[0], v.begin() + places[1], v.begin() + places[2]);
        const auto expected =
            std::rotate(m.begin() + places[0], m.begin() + places[1], m.begin() + places[2]);
        EXPECT_EQ(made - v.begin(), expected - m.begin());
        break;
      }
      case 5:
        // Many articles have the same group: their order stays the same.
        v.sort([](const Article& a, const Article& b) { return a.group > b.group; });
        std::stable_sort(m.begin(), m.end(),
                         [](const Plain& a, const Plain& b) { return a.group > b.group; });
        break;
      case 6:
        v.sort({}, &Article::name);
        std::stable_sort(m.begin(), m.end(), [](const Plain& a, const Plain& b) { return a.name < b.name; });
        break;
      case 7:
        v.sort(std::greater<>(), [](const Article& each) { return each.number % 10; });
        std::stable_sort(m.begin(), m.end(),
                         [](const Plain& a, const Plain& b) { return a.number % 10 > b.number % 10; });
        break;
      case 8:
        std::reverse(v.begin() + places[0], v.begin() + places[2]);
        std::reverse(m.begin() + places[0], m.begin() + places[2]);
        break;
      case 9: {
        std::mt19937 one(7);
        std::mt19937 other(7);
        std::shuffle(v.begin(), v.end(), one);
        std::shuffle(m.begin(), m.end(), other);
        break;
      }
      case 10: {
        const auto odd = [](const auto& each) { return each.number % 2 == 1; };
        EXPECT_EQ(std::partition(v.begin(), v.end(), odd) - v.begin(),
                  std::partition(m.begin(), m.end(), odd) - m.begin());
        break;
      }
      default:
        std::iter_swap(v.begin() + static_cast<std::ptrdiff_t>(i),
                       v.begin() + static_cast<std::ptrdiff_t>(j));
        std::swap(m[i], m[j]);
    }
    expect_made(v, m);
    if (step % 20 == 0) {
      expect_good(r);
      // Moved elements can grow and shrink in place.
      v[i].tags.emplace_back("a tag that is longer than others, and takes a block");
      v[i].tags.pop_back();
    }
  }
  v.clear();
  v.shrink_to_fit();
  r.compact_in_place();
  EXPECT_EQ(r.size(), region<Shop>().size());
}

TEST(RegionOrder, vectors_of_numbers_and_of_strings) {
  region<Shop> r;
  std::vector<std::uint16_t> numbers;
  std::mt19937 random(2);
  for (int i = 0; i < 1000; ++i) {
    numbers.push_back(static_cast<std::uint16_t>(random()));
    r->numbers.push_back(numbers.back());
  }
  r->numbers.sort();
  std::sort(numbers.begin(), numbers.end());
  EXPECT_TRUE(std::equal(r->numbers.begin(), r->numbers.end(), numbers.begin(), numbers.end()));
  r->numbers.sort(std::greater<>());
  r->numbers.swap(0, 999);
  EXPECT_EQ(r->numbers[0], numbers[0]);
  EXPECT_EQ(r->numbers[1], numbers[998]);
  std::sort(r->numbers.begin(), r->numbers.end());
  EXPECT_TRUE(std::equal(r->numbers.begin(), r->numbers.end(), numbers.begin(), numbers.end()));

  Article& article = r->articles.emplace_back();
  for (const char* each : {"pear", "an apple that takes a block", "quince", "fig"})
    article.tags.emplace_back(each);
  article.tags.sort();
  EXPECT_EQ(article.tags[0], "an apple that takes a block");
  EXPECT_EQ(article.tags[1], "fig");
  EXPECT_EQ(article.tags[2], "pear");
  EXPECT_EQ(article.tags[3], "quince");
  r->sold.sort({}, &Article::name);
  r->sold.reverse();
  EXPECT_TRUE(r->sold.empty());
  expect_good(r);
}

TEST(RegionOrder, a_comparison_that_throws_changes_nothing) {
  region<Shop> r;
  for (std::uint32_t i = 0; i < 20; ++i) make(r->articles.emplace_back(), i * 7 % 20);
  const auto before = r.canonical();
  int asked = 0;
  const auto compare = [&asked](const Article& a, const Article& b) {
    if (++asked == 30) throw std::runtime_error("enough");
    return a.number < b.number;
  };
  EXPECT_THROW(r->articles.sort(compare), std::runtime_error);
  EXPECT_EQ(r.canonical(), before);
}

TEST(RegionOrder, containers_are_exchanged) {
  region<Shop> r;
  Shop& s = *r;
  for (std::uint32_t i = 0; i < 5; ++i) make(s.articles.emplace_back(), i);
  make(s.sold.emplace_back(), 17);
  s.articles.swap(s.sold);
  expect_made(s.articles, {plain(17)});
  expect_made(s.sold, {plain(0), plain(1), plain(2), plain(3), plain(4)});
  swap(s.articles, s.articles);
  expect_made(s.articles, {plain(17)});

  make(s.sorted_map[8], 8);
  make(s.other_sorted_map[3], 3);
  make(s.other_sorted_map[9], 9);
  s.sorted_map.swap(s.other_sorted_map);
  EXPECT_EQ(s.sorted_map.size(), 2U);
  expect_made(s.sorted_map.at(9), 9);
  expect_made(s.other_sorted_map.at(8), 8);
  // Values of maps as well.
  situ::swap(s.sorted_map.at(9), s.other_sorted_map.at(8));
  expect_made(s.sorted_map.at(9), 8);
  expect_made(s.other_sorted_map.at(8), 9);

  for (std::uint32_t i = 0; i < 100; ++i) s.ordered_map[i] = "the value of number " + std::to_string(i);
  swap(s.ordered_map, s.other_ordered_map);
  EXPECT_TRUE(s.ordered_map.empty());
  EXPECT_EQ(s.other_ordered_map.at(99), "the value of number 99");
  s.hash_set.insert("one that takes a block");
  s.other_hash_set.insert("two");
  s.hash_set.swap(s.other_hash_set);
  EXPECT_TRUE(s.hash_set.contains("two"));
  EXPECT_TRUE(s.other_hash_set.contains("one that takes a block"));

  make(s.window[0], 12);
  make(s.window[1], 14);
  std::swap(s.window[0].group, s.window[1].group);
  std::swap(s.window[0].group, s.window[1].group);
  situ::swap(s.window[0], s.window[1]);
  expect_made(s.window[0], 14);
  // Different kinds of places: an element of an array and the target of a link.
  make(s.best.emplace(), 21);
  situ::swap(*s.best, s.window[0]);
  expect_made(*s.best, 14);
  expect_made(s.window[0], 21);
  s.window[0].alias.swap(s.window[1].alias);
  EXPECT_EQ(*s.window[1].alias, "alias " + plain(21).name);
  s.window[0].extra.swap(s.window[1].extra);
  EXPECT_EQ(s.window[0].extra.get<"text">(), "extra " + plain(12).name);
  s.name = "short";
  s.name.swap(s.articles[0].name);
  EXPECT_EQ(s.name, plain(17).name);
  EXPECT_EQ(s.articles[0].name, "short");
  expect_good(r);
}

TEST(RegionOrder, a_value_is_not_exchanged_with_one_within_it) {
  region<Shop> r;
  situ_test::Branch& branch = r->branch;
  branch.number = 1;
  branch.next.emplace(2).next.emplace(3);
  for (std::uint32_t i = 0; i < 3; ++i) branch.twigs.emplace_back(10 + i).twigs.emplace_back(20 + i);
  const auto before = r.canonical();
  const auto refused = [](const auto& operation) {
    try {
      operation();
    } catch (const situ::region_error& error) {
      return error.fault() == situ::region_fault::inside;
    }
    return false;
  };
  EXPECT_FALSE(situ::try_swap(branch, branch.twigs[1]));
  EXPECT_FALSE(situ::try_swap(branch.twigs[1].twigs[0], branch));
  EXPECT_FALSE(situ::try_swap(branch.next, branch.next->next));
  EXPECT_FALSE(situ::try_swap(branch.twigs, branch.twigs[0].twigs));
  EXPECT_TRUE(refused([&] { situ::swap(branch, *branch.next); }));
  EXPECT_TRUE(refused([&] { branch.next.swap(branch.next->next); }));
  EXPECT_TRUE(refused([&] { branch.twigs[0].twigs.swap(branch.twigs); }));
  EXPECT_EQ(r.canonical(), before);
  // Neither lies within the other.
  EXPECT_TRUE(situ::try_swap(branch.twigs[0], branch.twigs[2]));
  EXPECT_TRUE(situ::try_swap(branch.next->next, branch.twigs[1].next));
  EXPECT_TRUE(situ::try_swap(*branch.next, branch.twigs[0].twigs[0]));
  EXPECT_EQ(branch.twigs[0].number, 12U);
  EXPECT_EQ(branch.twigs[0].twigs[0].number, 2U);
  EXPECT_EQ(branch.twigs[1].next->number, 3U);
  EXPECT_EQ(branch.next->number, 22U);
  branch.twigs.sort({}, &situ_test::Branch::number);
  EXPECT_EQ(branch.twigs[2].twigs[0].number, 2U);
  expect_good(r);

  // The targets of links lie within the value, too, on any path.
  r->rings.resize(3);
  r->rings[0].emplace("outer").next.emplace("inner");
  r->rings[1].share(r->rings[0]->next);
  EXPECT_FALSE(situ::try_swap(r->rings[0], r->rings[0]->next));
  EXPECT_FALSE(situ::try_swap(*r->rings[0], *r->rings[1]));
  EXPECT_TRUE(situ::try_swap(r->rings[1], r->rings[2]));
  EXPECT_TRUE(situ::try_swap(r->rings[0], r->rings[2]));
  EXPECT_EQ(r->rings[0]->name, "inner");
  EXPECT_EQ(r->rings[2]->next.get(), r->rings[0].get());
  EXPECT_EQ(r->rings[0].use_count(), 2U);
  expect_good(r);
}

TEST(RegionOrder, values_of_two_regions_are_not_exchanged) {
  region<Shop> a;
  region<Shop> b;
  a->name = "a name that takes a block";
  make(a->articles.emplace_back(), 4);
  make(b->articles.emplace_back(), 5);
  const auto first = a.canonical();
  const auto second = b.canonical();
  EXPECT_FALSE(situ::try_swap(a->name, b->name));
  EXPECT_FALSE(situ::try_swap(*a, *b));
  EXPECT_FALSE(situ::try_swap(a->articles, b->articles));
  try {
    swap(a->articles[0], b->articles[0]);
    FAIL();
  } catch (const situ::region_error& error) {
    EXPECT_EQ(error.fault(), situ::region_fault::apart);
  }
  situ::region_string nowhere;
  situ::region_string elsewhere;
  EXPECT_FALSE(situ::try_swap(nowhere, elsewhere));
  EXPECT_FALSE(situ::try_swap(nowhere, a->name));
  EXPECT_THROW(nowhere.swap(elsewhere), situ::region_error);
  EXPECT_EQ(a.canonical(), first);
  EXPECT_EQ(b.canonical(), second);
}

/// In a region without any room.
TEST(RegionOrder, no_memory_of_the_region_is_needed) {
  situ_test::aligned_bytes memory(6000);
  region<Shop> r(memory.span());
  std::vector<Plain> model;
  for (std::uint32_t i = 0; i < 9; ++i) {
    make(r->articles.emplace_back(), 8 - i);
    model.push_back(plain(i));
  }
  r->articles.shrink_to_fit();
  while (r->name.try_append("nnnnnnnnnnnnnnnn")) {
  }
  r->articles.sort({}, &Article::number);
  expect_made(r->articles, model);
  EXPECT_TRUE(situ::try_swap(r->articles, r->sold));
  r->sold.rotate(r->sold.begin(), r->sold.begin() + 3, r->sold.end());
  std::rotate(model.begin(), model.begin() + 3, model.end());
  expect_made(r->sold, model);
  expect_good(r);
}

}  // namespace
