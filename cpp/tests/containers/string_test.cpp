// bounded_string and bounded_wstring compared with std::string and std::u16string.
#include <gtest/gtest.h>

#include <cstring>
#include <random>
#include <sstream>
#include <string>
#include <unordered_map>

#include "situ/layout/allocator.hpp"
#include "situ/layout/bounded_string.hpp"

namespace {

using situ::bounded_string;
using situ::bounded_wstring;
using situ::calloc_allocator;
using situ::inline_allocator;

constexpr std::size_t bound = 40;

template <class S>
class StringModel : public testing::Test {};

using strings = testing::Types<bounded_string<bound, inline_allocator<char>>, bounded_string<bound>,
                               bounded_string<bound, calloc_allocator<char>>,
                               bounded_wstring<bound, inline_allocator<char16_t>>, bounded_wstring<bound>>;
TYPED_TEST_SUITE(StringModel, strings);

template <class S, class Model>
void expect_equal(const S& text, const Model& model) {
  ASSERT_EQ(text.view(), std::basic_string_view<typename S::value_type>(model));
  ASSERT_EQ(text.size(), model.size());
  ASSERT_EQ(text.c_str()[text.size()], typename S::value_type()) << "the terminating zero";
  ASSERT_EQ(text.empty(), model.empty());
}

TYPED_TEST(StringModel, behaves_like_a_standard_one) {
  using S = TypeParam;
  using C = typename S::value_type;
  using Model = std::basic_string<C>;
  using View = std::basic_string_view<C>;
  std::mt19937 random(7);
  const auto any = [&random](std::size_t below) {
    return std::uniform_int_distribution<std::size_t>(0, below - 1)(random);
  };
  const auto unit = [&] { return static_cast<C>('a' + static_cast<int>(any(4))); };
  const auto word = [&](std::size_t most) {
    Model made;
    for (std::size_t i = any(most + 1); i != 0; --i) made.push_back(unit());
    return made;
  };
  S text;
  Model model;
  for (int step = 0; step < 8000; ++step) {
    const std::size_t size = model.size();
    const std::size_t room = bound - size;
    const std::size_t from = any(size + 1);
    const std::size_t count = any(size - from + 1);
    switch (any(22)) {
      case 0:
        if (room == 0) break;
        text.push_back(static_cast<C>('z'));
        model.push_back(static_cast<C>('z'));
        break;
      case 1:
        if (size == 0) break;
        text.pop_back();
        model.pop_back();
        break;
      case 2: {
        const Model more = word(std::min<std::size_t>(room, 9));
        text += more;
        model += more;
        break;
      }
      case 3: {
        const Model more = word(std::min<std::size_t>(room, 9));
        text.insert(from, more);
        model.insert(from, more);
        break;
      }
      case 4: {
        const Model more = word(std::min<std::size_t>(room + count, 9));
        text.replace(from, count, more);
        model.replace(from, count, more);
        break;
      }
      case 5: {
        const std::size_t times = any(std::min<std::size_t>(room + count, 9) + 1);
        text.replace(from, count, times, static_cast<C>('q'));
        model.replace(from, count, times, static_cast<C>('q'));
        break;
      }
      case 6:
        text.erase(from, count);
        model.erase(from, count);
        break;
      case 7: {
        const std::size_t to = any(bound + 1);
        text.resize(to, static_cast<C>('r'));
        model.resize(to, static_cast<C>('r'));
        break;
      }
      case 8: {
        const Model fresh = word(bound);
        text = fresh;
        model = fresh;
        break;
      }
      case 9: {
        S moved(std::move(text));
        expect_equal(moved, model);
        text = std::move(moved);
        break;
      }
      case 10: {
        const S copy(text);
        expect_equal(copy, model);
        EXPECT_EQ(copy, text);
        text.clear();
        text = copy;
        break;
      }
      case 11: {
        S other(word(bound));
        Model other_model(other.view());
        swap(text, other);
        swap(model, other_model);
        expect_equal(other, other_model);
        break;
      }
      case 12: {
        // A part of the string itself.
        if (count > room) break;
        const std::size_t where = any(size + 1);
        text.insert(where, View(text).substr(from, count));
        model.insert(where, Model(model, from, count));
        break;
      }
      case 13:
        text.shrink_to_fit();
        break;
      case 14: {
        const Model needle = word(3);
        const View v = needle;
        EXPECT_EQ(text.find(v, from), model.find(needle, from));
        EXPECT_EQ(text.rfind(v, from), model.rfind(needle, from));
        EXPECT_EQ(text.find_first_of(v, from), model.find_first_of(needle, from));
        EXPECT_EQ(text.find_last_of(v, from), model.find_last_of(needle, from));
        EXPECT_EQ(text.find_first_not_of(v, from), model.find_first_not_of(needle, from));
        EXPECT_EQ(text.find_last_not_of(v, from), model.find_last_not_of(needle, from));
        EXPECT_EQ(text.starts_with(v), model.starts_with(needle));
        EXPECT_EQ(text.ends_with(v), model.ends_with(needle));
        EXPECT_EQ(text.contains(v), model.find(needle) != Model::npos);
        break;
      }
      case 15: {
        const Model other = word(bound);
        EXPECT_EQ(text <=> S(other), model <=> other);
        EXPECT_EQ(text == S(other), model == other);
        EXPECT_EQ(text.compare(other) < 0, model.compare(other) < 0);
        break;
      }
      case 16:
        expect_equal(text.substr(from, count), model.substr(from, count));
        break;
      case 17: {
        const std::size_t gone = erase(text, static_cast<C>('a'));
        EXPECT_EQ(gone, std::erase(model, static_cast<C>('a')));
        break;
      }
      case 18: {
        const std::size_t times = any(std::min<std::size_t>(room, 5) + 1);
        const auto made = text.insert(text.cbegin() + from, times, static_cast<C>('i'));
        EXPECT_EQ(made - text.begin(), static_cast<std::ptrdiff_t>(from));
        model.insert(model.cbegin() + static_cast<std::ptrdiff_t>(from), times, static_cast<C>('i'));
        break;
      }
      case 19: {
        const auto next = text.erase(text.cbegin() + from, text.cbegin() + from + count);
        EXPECT_EQ(next - text.begin(), static_cast<std::ptrdiff_t>(from));
        model.erase(from, count);
        break;
      }
      case 20:
        EXPECT_EQ(std::hash<S>()(text), std::hash<Model>()(model));
        EXPECT_EQ(std::equal(text.rbegin(), text.rend(), model.rbegin(), model.rend()), true);
        break;
      case 21: {
        // All of itself, at its own beginning.
        const Model twice = model + model;
        if (twice.size() > bound) break;
        text.append(text);
        model = twice;
        break;
      }
    }
    ASSERT_NO_FATAL_FAILURE(expect_equal(text, model)) << "step " << step;
  }
}

TEST(String, inserts_a_part_of_itself) {
  bounded_string<16, inline_allocator<char>> text("abcdef");
  text.insert(1, text.view().substr(2, 3));
  EXPECT_EQ(text, "acdebcdef");
  text.replace(0, 2, text.view().substr(4));
  EXPECT_EQ(text, "bcdefdebcdef");
}

TEST(String, reads_like_a_string) {
  bounded_string<16, inline_allocator<char>> text = "lidar";
  EXPECT_EQ(text, "lidar");
  EXPECT_EQ("lidar", text);
  EXPECT_EQ(text, std::string("lidar"));
  EXPECT_NE(text, std::string_view("radar"));
  EXPECT_LT(text, "radar");
  const std::string_view view = text;
  EXPECT_EQ(view.size(), 5U);
  EXPECT_EQ(text + "/" + std::string("top"), "lidar/top");
  EXPECT_EQ("my " + text, "my lidar");
  EXPECT_EQ(std::strlen(text.c_str()), 5U);
  EXPECT_EQ(std::string(text), "lidar");
  EXPECT_EQ(text.str(), "lidar");
  text = std::string("left");
  text = std::string_view("right");
  text = 'x';
  text += 'y';
  text.append(2, 'z');
  EXPECT_EQ(text, "xyzz");
  EXPECT_EQ(text.front(), 'x');
  EXPECT_EQ(text.back(), 'z');
  EXPECT_EQ(text.at(1), 'y');
  EXPECT_THROW((void)text.at(4), std::out_of_range);
  EXPECT_THROW(text.insert(9, "no"), std::out_of_range);
  char buffer[3] = {};
  EXPECT_EQ(text.copy(buffer, 2, 1), 2U);
  EXPECT_STREQ(buffer, "yz");
  const bounded_string<4> narrower = text;
  EXPECT_EQ(narrower, text);
}

TEST(String, streams) {
  std::istringstream in("one seventeen_letters two\nthe rest\n");
  bounded_string<8> word;
  in >> word;
  EXPECT_EQ(word, "one");
  in >> word;
  EXPECT_TRUE(in.fail()) << "the second word is too long";
  EXPECT_EQ(word, "one");
  in.clear();
  in >> word;
  EXPECT_EQ(word, "two");
  in.ignore(1);
  getline(in, word);
  EXPECT_EQ(word, "the rest");
  std::ostringstream out;
  out << word;
  EXPECT_EQ(out.str(), "the rest");
}

TEST(String, hashes_as_a_key) {
  std::unordered_map<bounded_string<8>, int> ages;
  ages["ada"] = 36;
  EXPECT_EQ(ages.at("ada"), 36);
}

TEST(String, names_bound_and_size_when_exceeded) {
  bounded_string<4, inline_allocator<char>> text = "abc";
  try {
    text = "abcdef";
    FAIL() << "no exception";
  } catch (const situ::bound_error& error) {
    EXPECT_EQ(error.bound(), 4U);
    EXPECT_EQ(error.size(), 6U);
  }
  EXPECT_THROW(text.append("de"), situ::bound_error);
  EXPECT_THROW(text.insert(0, "de"), situ::bound_error);
  EXPECT_THROW(text.replace(0, 1, "abc"), situ::bound_error);
  EXPECT_THROW(text.resize(5), situ::bound_error);
  EXPECT_FALSE(text.try_assign("abcde"));
  EXPECT_FALSE(text.try_append("de"));
  EXPECT_FALSE(text.try_resize(5));
  EXPECT_EQ(text, "abc") << "a refused call changes nothing";
  EXPECT_TRUE(text.try_push_back('d'));
  EXPECT_FALSE(text.try_push_back('e'));
  EXPECT_THROW(text.push_back('e'), situ::bound_error);
}

TEST(String, limits_a_length_beyond_its_bound) {
  bounded_string<3, inline_allocator<char>> text = "abc";
  const std::uint32_t wild = 0xFFFF'FFFF;
  std::memcpy(static_cast<void*>(&text), &wild, sizeof(wild));
  EXPECT_EQ(text, "abc");
}

}  // namespace
