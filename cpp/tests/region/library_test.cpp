// Regions beside the standard library: sorting, and strings of regions as keys of standard containers.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <functional>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "situ/region.hpp"

namespace situ_test {

struct Book {
  std::uint32_t year;
  situ::region_string title;
  situ::region_vector<situ::region_string> tags;
};
SITU_REGION(Book, year, title, tags)

struct Library {
  situ::region_vector<Book> books;
  std::array<Book, 3> window;
  situ::region_vector<situ::region_string> names;
  situ::region_vector<std::uint16_t> numbers;
};
SITU_REGION(Library, books, window, names, numbers)

}  // namespace situ_test

namespace {

using situ_test::Book;
using situ_test::Library;

template <class Books>
std::string titles(const Books& books) {
  std::string all;
  for (const Book& book : books) {
    all += book.title.str() + std::to_string(book.year) + " ";
    // The element's own vector came with it.
    EXPECT_EQ(book.tags.at(0), book.title.str() + " has a text that needs a block");
  }
  return all;
}
void set(Book& book, std::string_view title, std::uint32_t year) {
  book.title = title;
  book.year = year;
  book.tags.clear();
  book.tags.emplace_back(std::string(title) + " has a text that needs a block");
}
struct Libraries : testing::Test {
  Libraries() {
    const std::array<const char*, 5> names{"d", "b", "e", "a", "c"};
    for (std::uint32_t i = 0; i < names.size(); ++i) set(r->books.emplace_back(), names[i], 10 + i % 2);
  }
  situ::region<Library> r;
};

TEST_F(Libraries, AreSortedByMembers) {
  auto& books = r->books;
  situ::sort(books, std::less<>(), &Book::title);
  EXPECT_EQ(titles(books), "a11 b11 c10 d10 e10 ");
  situ::sort(books, {}, [](const Book& book) { return book.year; });  // stable
  EXPECT_EQ(titles(books), "c10 d10 e10 a11 b11 ");
  situ::stable_sort(books, [](const Book& a, const Book& b) { return a.year > b.year; });
  EXPECT_EQ(titles(books), "a11 b11 c10 d10 e10 ");
  books.sort(std::greater<>(), &Book::title);
  EXPECT_EQ(titles(books), "e10 d10 c10 b11 a11 ");
  EXPECT_TRUE(situ::region<Library>::adopt(r.bytes()));
}

TEST_F(Libraries, AreSortedInPart) {
  auto& books = r->books;
  situ::sort(books.begin() + 1, books.end() - 1, std::less<>(), &Book::title);
  EXPECT_EQ(titles(books), "d10 a11 b11 e10 c10 ");
  situ::sort(std::span(books).first(2), std::less<>(), &Book::title);
  EXPECT_EQ(titles(books), "a11 d10 b11 e10 c10 ");
  situ::stable_sort(books.begin(), books.begin(), std::less<>(), &Book::title);
  EXPECT_EQ(titles(books), "a11 d10 b11 e10 c10 ");
  EXPECT_TRUE(situ::region<Library>::adopt(r.bytes()));
}

TEST_F(Libraries, SortArraysStringsAndNumbers) {
  set(r->window[0], "z", 1);
  set(r->window[1], "y", 2);
  set(r->window[2], "x", 3);
  situ::sort(r->window, std::less<>(), &Book::title);
  EXPECT_EQ(titles(r->window), "x3 y2 z1 ");
  r->names = {"pear", "a very long apple, in a block", "fig"};
  situ::sort(r->names);
  EXPECT_EQ(r->names, (std::vector<std::string>{"a very long apple, in a block", "fig", "pear"}));
  r->numbers = {3, 1, 2};
  std::sort(r->numbers.begin(), r->numbers.end());  // numbers may leave the region
  EXPECT_EQ(r->numbers, (std::vector<std::uint16_t>{1, 2, 3}));
  situ::sort(r->numbers, std::greater<>());
  EXPECT_EQ(r->numbers, (std::vector<std::uint16_t>{3, 2, 1}));
  EXPECT_TRUE(situ::region<Library>::adopt(r.bytes()));
}

TEST_F(Libraries, GiveKeysToStandardMaps) {
  const situ::region_string& title = r->books[0].title;
  std::map<std::string, int> owned;
  owned[title] = 1;
  EXPECT_EQ(owned.at("d"), 1);
  EXPECT_EQ(owned.find(title)->second, 1);
  std::map<std::string, int, std::less<>> transparent(owned.begin(), owned.end());
  EXPECT_EQ(transparent.find(title)->second, 1);
  EXPECT_EQ(transparent.find(std::string_view("d"))->second, 1);
  std::unordered_map<std::string, int> hashed;
  hashed[title] = 2;
  EXPECT_EQ(hashed.at(title), 2);
  std::map<std::string_view, const Book*> views;
  for (const Book& book : r->books) views.emplace(book.title, &book);
  EXPECT_EQ(views.at("b"), &r->books[1]);
  EXPECT_EQ(views.find(title)->second, r->books.data());
}

TEST_F(Libraries, AreLookedUpByTextInStandardContainers) {
  using text = std::reference_wrapper<const situ::region_string>;
  std::unordered_map<text, const Book*, situ::text_hash, situ::text_equal> hashed;
  std::map<text, const Book*, std::less<>> sorted;
  for (const Book& book : r->books) {
    hashed.emplace(book.title, &book);
    sorted.emplace(book.title, &book);
  }
  EXPECT_EQ(hashed.find(std::string_view("e"))->second, &r->books[2]);
  EXPECT_EQ(hashed.find(std::string_view("f")), hashed.end());
  EXPECT_EQ(sorted.find(std::string_view("c"))->second, &r->books[4]);
  EXPECT_EQ(sorted.find(std::string_view("f")), sorted.end());
  std::unordered_map<std::string, int, situ::text_hash, situ::text_equal> owned{{"a", 1}, {"e", 2}};
  EXPECT_EQ(owned.find(r->books[2].title)->second, 2);
  EXPECT_EQ(owned.find(std::string_view("a"))->second, 1);
  EXPECT_EQ(owned.find("f"), owned.end());
  EXPECT_EQ(std::hash<situ::region_string>()(r->books[0].title), std::hash<std::string_view>()("d"));
}

}  // namespace
