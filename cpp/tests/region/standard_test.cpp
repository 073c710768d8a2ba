// Operations that the containers of a region share with the standard ones have the same results: random
// operations on both.
#include <gtest/gtest.h>

#include <algorithm>
#include <list>
#include <map>
#include <random>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "region/refused.hpp"
#include "support/memory.hpp"

namespace situ_test {

struct Standard {
  situ::region_vector<std::uint16_t> numbers;
  situ::region_vector<situ::region_string> texts;
  situ::region_string text;
  situ::region_sorted_map<situ::region_string, std::uint32_t> sorted_map;
  situ::region_hash_map<situ::region_string, std::uint32_t> hash_map;
  situ::region_ordered_map<situ::region_string, std::uint32_t> ordered_map;
  situ::region_sorted_set<std::int32_t> sorted_set;
  situ::region_hash_set<std::int32_t> hash_set;
  situ::region_ordered_set<std::int32_t> ordered_set;
};
SITU_REGION(Standard, numbers, texts, text, sorted_map, hash_map, ordered_map, sorted_set, hash_set,
            ordered_set)

/// A struct with more than 27 members.
struct Wide {
  std::uint8_t a0, a1, a2, a3, a4, a5, a6, a7, a8, a9, b0, b1, b2, b3, b4, b5, b6, b7, b8, b9;
  std::uint8_t c0, c1, c2, c3, c4, c5, c6, c7, c8, c9, d0, d1, d2, d3, d4, d5, d6, d7, d8, d9;
  situ::region_string last;
};
SITU_REGION(Wide, a0, a1, a2, a3, a4, a5, a6, a7, a8, a9, b0, b1, b2, b3, b4, b5, b6, b7, b8, b9, c0, c1, c2,
            c3, c4, c5, c6, c7, c8, c9, d0, d1, d2, d3, d4, d5, d6, d7, d8, d9, last)

}  // namespace situ_test

namespace {

using situ::region;
using situ_test::Standard;

/// Pseudo-random numbers and texts, the same in each run.
class Chance {
 public:
  explicit Chance(std::uint32_t seed) : random_(seed) {}
  std::size_t below(std::size_t end) { return random_() % end; }
  std::uint16_t number() { return static_cast<std::uint16_t>(random_()); }
  /// Of 0 to 30 characters, so that some texts have a block and some have none.
  std::string text() { return std::string(below(31), static_cast<char>('a' + below(26))); }
  template <class T>
  T element() {
    if constexpr (std::is_same_v<T, std::uint16_t>) {
      return number();
    } else {
      return text();
    }
  }

 private:
  std::mt19937 random_;
};

/// Runs the same operation on a vector of a region and on a standard one.
template <class T, class V>
void vector_step(Chance& chance, V& v, std::vector<T>& m) {
  const std::size_t at = chance.below(m.size() + 1);
  const std::size_t to = at + chance.below(m.size() - at + 1);
  const auto i = static_cast<std::ptrdiff_t>(at);
  const auto j = static_cast<std::ptrdiff_t>(to);
  std::vector<T> some;
  for (std::size_t count = chance.below(9); count != 0; --count) some.push_back(chance.element<T>());
  const T one = chance.element<T>();
  using element = typename V::value_type;
  region<Standard> other;
  V& others = [&other]() -> V& {
    if constexpr (std::is_same_v<T, std::uint16_t>) {
      return other->numbers;
    } else {
      return other->texts;
    }
  }();
  others.push_back(one);
  const element& value = others[0];
  switch (chance.below(16)) {
    case 0: {
      const auto made = v.insert(v.begin() + i, some.size(), value);
      EXPECT_EQ(made, v.begin() + i);
      m.insert(m.begin() + i, some.size(), one);
      break;
    }
    case 1:
      v.insert(v.begin() + i, some.begin(), some.end());
      m.insert(m.begin() + i, some.begin(), some.end());
      break;
    case 2: {
      const std::list<T> forward(some.begin(), some.end());
      const auto made = v.insert_range(v.begin() + i, forward);
      EXPECT_EQ(made, v.begin() + i);
      m.insert(m.begin() + i, some.begin(), some.end());
      break;
    }
    case 3:
      v.append_range(some);
      m.insert(m.end(), some.begin(), some.end());
      break;
    case 4: {
      // Part of the vector itself.
      const std::vector<T> part(m.begin() + i, m.begin() + j);
      const std::size_t before = chance.below(m.size() + 1);
      v.insert(v.begin() + before, v.begin() + i, v.begin() + j);
      m.insert(m.begin() + static_cast<std::ptrdiff_t>(before), part.begin(), part.end());
      break;
    }
    case 5: {
      const T copy = m.empty() ? one : m[at % m.size()];
      v.insert(v.begin() + i, 3, m.empty() ? value : v[at % m.size()]);
      m.insert(m.begin() + i, 3, copy);
      break;
    }
    case 6:
      v.assign(some.begin(), some.end());
      m.assign(some.begin(), some.end());
      break;
    case 7:
      v.assign(some.size(), value);
      m.assign(some.size(), one);
      break;
    case 8: {
      const std::vector<T> part(m.begin() + i, m.begin() + j);
      v.assign(v.begin() + i, v.begin() + j);
      m = part;
      break;
    }
    case 9:
      v.resize(at * 2, value);
      m.resize(at * 2, one);
      break;
    case 10:
      EXPECT_EQ(v.erase(v.begin() + i, v.begin() + j), v.begin() + i);
      m.erase(m.begin() + i, m.begin() + j);
      break;
    case 11: {
      const auto gone = [](const auto& each) {
        if constexpr (std::is_same_v<T, std::uint16_t>) {
          return each % 3 == 0;
        } else {
          return each.size() % 3 == 0;
        }
      };
      EXPECT_EQ(erase_if(v, gone), std::erase_if(m, gone));
      break;
    }
    case 12:
      if (!m.empty()) {
        const T gone = m[at % m.size()];
        EXPECT_EQ(erase(v, gone), std::erase(m, gone));
      }
      break;
    case 13:
      v.shrink_to_fit();
      break;
    case 14:
      EXPECT_TRUE(v.try_append_range(some));
      m.insert(m.end(), some.begin(), some.end());
      break;
    default:
      if (m.size() > 200) {
        v.clear();
        m.clear();
      }
  }
}

TEST(RegionStandard, vectors) {
  for (std::uint32_t seed = 0; seed < 6; ++seed) {
    Chance chance(seed);
    situ::region_options options;
    options.zero_on_free = seed % 2 == 0;
    options.growth_percent = static_cast<std::uint16_t>(100 + seed * 25);
    region<Standard> r(options);
    std::vector<std::uint16_t> numbers;
    std::vector<std::string> texts;
    for (int step = 0; step < 1500; ++step) {
      vector_step(chance, r->numbers, numbers);
      vector_step(chance, r->texts, texts);
      ASSERT_TRUE(std::equal(r->numbers.begin(), r->numbers.end(), numbers.begin(), numbers.end())) << step;
      ASSERT_TRUE(std::equal(r->texts.begin(), r->texts.end(), texts.begin(), texts.end())) << step;
      ASSERT_TRUE(std::equal(r->texts.crbegin(), r->texts.crend(), texts.crbegin(), texts.crend()));
      if (step % 50 == 0) {
        ASSERT_EQ(situ_test::refused<Standard>(r.bytes()), "accepted");
      }
    }
    r->numbers.clear();
    r->texts.clear();
    r.compact_in_place();
    EXPECT_EQ(r.size(), region<Standard>().size());
  }
}

TEST(RegionStandard, a_predicate_that_throws_leaves_a_good_vector) {
  region<Standard> r;
  for (int i = 0; i < 9; ++i) r->texts.emplace_back("a text with a block, number " + std::to_string(i));
  int asked = 0;
  EXPECT_THROW(erase_if(r->texts,
                        [&asked](const auto&) {
                          if (++asked == 6) throw std::runtime_error("enough");
                          return asked % 2 == 1;
                        }),
               std::runtime_error);
  // Of the first five, the second and the fourth remain; the predicate has not seen the others.
  ASSERT_EQ(r->texts.size(), 6U);
  EXPECT_TRUE(r->texts[0].ends_with('1'));
  EXPECT_TRUE(r->texts[1].ends_with('3'));
  EXPECT_TRUE(r->texts[2].ends_with('5'));
  EXPECT_EQ(situ_test::refused<Standard>(r.bytes()), "accepted");
}

TEST(RegionStandard, strings) {
  for (std::uint32_t seed = 0; seed < 4; ++seed) {
    Chance chance(seed);
    situ::region_options options;
    options.zero_on_free = seed % 2 == 0;
    region<Standard> r(options);
    situ::region_string& s = r->text;
    std::string m;
    for (int step = 0; step < 4000; ++step) {
      const std::size_t at = chance.below(m.size() + 1);
      const std::size_t count = chance.below(m.size() + 3);
      const std::string text = chance.text();
      switch (chance.below(12)) {
        case 0:
          s.insert(at, text);
          m.insert(at, text);
          break;
        case 1:
          s.replace(at, count, text);
          m.replace(at, count, text);
          break;
        case 2:
          s.erase(at, count);
          m.erase(at, count);
          break;
        case 3:
          s.resize(count, 'z');
          m.resize(count, 'z');
          break;
        case 4: {
          const std::string part = m.substr(at, count);
          s.insert(m.size() / 2, s.substr(at, count));
          m.insert(m.size() / 2, part);
          break;
        }
        case 5: {
          const std::string part = m.substr(at, count);
          s.replace(m.size() / 3, 5, s.substr(at, count));
          m.replace(m.size() / 3, 5, part);
          break;
        }
        case 6:
          s.append(s.substr(at, count));
          m.append(m.substr(at, count));
          break;
        case 7:
          s.shrink_to_fit();
          break;
        case 8:
          s.push_back('q');
          m.push_back('q');
          break;
        case 9:
          if (m.size() > 100) {
            s.erase(7);
            m.erase(7);
          }
          break;
        case 10:
          s.assign(s.substr(at, count));
          m.assign(m.substr(at, count));
          break;
        default:
          s += text;
          m += text;
      }
      ASSERT_EQ(s.view(), m) << step;
      const std::string_view view = s;
      const std::size_t within = std::min(at, m.size());
      const std::string part = m.substr(within, 2);
      ASSERT_EQ(s.find(part), m.find(part));
      ASSERT_EQ(s.find('q', 3), m.find('q', 3));
      ASSERT_EQ(s.rfind(part), m.rfind(part));
      ASSERT_EQ(s.rfind('a'), m.rfind('a'));
      ASSERT_EQ(s.find_first_of("xyz"), m.find_first_of("xyz"));
      ASSERT_EQ(s.find_last_of("xyz"), m.find_last_of("xyz"));
      ASSERT_EQ(s.find_first_not_of("az"), m.find_first_not_of("az"));
      ASSERT_EQ(s.find_last_not_of("az"), m.find_last_not_of("az"));
      ASSERT_EQ(s.contains(text), m.find(text) != std::string::npos);
      ASSERT_EQ(s.contains('c'), m.find('c') != std::string::npos);
      ASSERT_EQ(s.starts_with(part), m.starts_with(part));
      ASSERT_EQ(s.ends_with(part), m.ends_with(part));
      ASSERT_EQ(s.compare(text) < 0, m.compare(text) < 0);
      ASSERT_EQ(s.compare(m), 0);
      ASSERT_EQ(s.substr(within), view.substr(within));
      if (!m.empty()) {
        ASSERT_EQ(s.front(), m.front());
        ASSERT_EQ(s.at(m.size() - 1), m.back());
      }
      if (step % 100 == 0) {
        ASSERT_EQ(situ_test::refused<Standard>(r.bytes()), "accepted");
      }
    }
    s.clear();
    s.shrink_to_fit();
    r.trim();
    EXPECT_EQ(r.size(), region<Standard>().size());
  }
}

/// Returns the element at a position, or nothing at the end.
template <class C, class At>
auto shown(const C& container, const At& at) {
  using found = std::optional<std::pair<std::string, std::uint32_t>>;
  return at == container.end() ? found() : found(std::pair(std::string((*at).first), (*at).second));
}

TEST(RegionStandard, maps) {
  Chance chance(5);
  region<Standard> r;
  std::map<std::string, std::uint32_t> ordered;
  std::unordered_map<std::string, std::uint32_t> hashed;
  const auto both = [&](const auto& done) {
    done(r->sorted_map, ordered);
    done(r->ordered_map, ordered);
    done(r->hash_map, hashed);
  };
  for (int step = 0; step < 700; ++step) {
    std::vector<std::pair<std::string, std::uint32_t>> some;
    for (std::size_t count = chance.below(6); count != 0; --count)
      some.emplace_back(chance.text(), chance.number());
    if (step % 2 == 0 && !some.empty()) some.emplace_back(some.front().first, chance.number());
    const std::string key = chance.text();
    const std::uint32_t value = chance.number();
    std::map<std::string, std::uint32_t> before = ordered;
    std::unordered_map<std::string, std::uint32_t> hashed_before = hashed;
    const std::size_t what = chance.below(10);
    both([&](auto& map, auto& model) {
      // Two maps have the same model. The second one therefore starts with the content that the first one
      // started with.
      if constexpr (std::is_same_v<std::remove_cvref_t<decltype(model)>, decltype(before)>) {
        model = before;
      } else {
        model = hashed_before;
      }
      switch (what) {
        case 0:
          map.insert(some.begin(), some.end());
          model.insert(some.begin(), some.end());
          break;
        case 1:
          map.insert_range(some);
          model.insert(some.begin(), some.end());
          break;
        case 2: {
          const auto [at, is_new] = map.insert(std::pair(key, value));
          const auto [expected, expected_new] = model.insert({key, value});
          EXPECT_EQ(is_new, expected_new);
          EXPECT_EQ((*at).second, expected->second);
          break;
        }
        case 3: {
          const auto [at, is_new] = map.insert_or_assign(key, value);
          EXPECT_EQ(is_new, model.insert_or_assign(key, value).second);
          EXPECT_EQ((*at).first, key);
          EXPECT_EQ((*at).second, value);
          break;
        }
        case 4:
          EXPECT_EQ(map.try_emplace(key, value).second, model.try_emplace(key, value).second);
          break;
        case 5: {
          const auto gone = [](const auto& entry) { return entry.second % 4 == 0; };
          EXPECT_EQ(erase_if(map, gone), std::erase_if(model, gone));
          break;
        }
        case 6:
          if (const auto at = map.find(key); at != map.end()) {
            const auto behind = map.erase(at);
            const auto expected = model.erase(model.find(key));
            if constexpr (requires { map.lower_bound(key); }) {
              EXPECT_EQ(shown(map, behind), shown(model, expected));
            }
          }
          break;
        case 7:
          if constexpr (requires { map.lower_bound(key); }) {
            const auto from = map.lower_bound("k");
            const auto to = map.upper_bound("pp");
            const auto expected = model.erase(model.lower_bound("k"), model.upper_bound("pp"));
            EXPECT_EQ(shown(map, map.erase(from, to)), shown(model, expected));
          }
          break;
        case 8:
          map = some;
          model = std::remove_cvref_t<decltype(model)>(some.begin(), some.end());
          break;
        default:
          EXPECT_EQ(map.erase(key), model.erase(key));
      }
      ASSERT_EQ(map.size(), model.size());
      for (const auto& [name, number] : model) {
        ASSERT_TRUE(map.contains(name));
        ASSERT_EQ(map.count(name), 1U);
        ASSERT_EQ(*map.try_at(name), number);
      }
      const auto [first, last] = map.equal_range(key);
      const auto [from, to] = model.equal_range(key);
      ASSERT_EQ(std::ranges::distance(first, last), std::distance(from, to));
      if constexpr (requires { map.lower_bound(key); }) {
        ASSERT_TRUE(std::equal(
            map.begin(), map.end(), model.begin(), model.end(),
            [](const auto& a, const auto& b) { return a.first == b.first && a.second == b.second; }));
        ASSERT_EQ(shown(map, first), shown(model, from));
        ASSERT_EQ(shown(map, last), shown(model, to));
        ASSERT_EQ(shown(map, std::as_const(map).equal_range(key).first), shown(model, from));
      } else if (first != last) {
        ASSERT_EQ(shown(map, first), shown(model, from));
      }
    });
    if (step % 20 == 0) {
      ASSERT_EQ(situ_test::refused<Standard>(r.bytes()), "accepted") << step;
    }
  }
}

TEST(RegionStandard, sets) {
  Chance chance(6);
  region<Standard> r;
  std::set<std::int32_t> model;
  for (int step = 0; step < 1500; ++step) {
    std::vector<std::int32_t> some;
    for (std::size_t count = chance.below(9); count != 0; --count)
      some.push_back(static_cast<std::int32_t>(chance.below(600)) - 300);
    const auto key = static_cast<std::int32_t>(chance.below(600)) - 300;
    const std::set<std::int32_t> before = model;
    const std::size_t what = chance.below(6);
    const auto done = [&](auto& set) {
      model = before;
      switch (what) {
        case 0:
          set.insert(some.begin(), some.end());
          model.insert(some.begin(), some.end());
          break;
        case 1:
          set.insert({1, 5, key});
          model.insert({1, 5, key});
          break;
        case 2: {
          const auto gone = [key](std::int32_t each) { return (each + key) % 5 == 0; };
          EXPECT_EQ(erase_if(set, gone), std::erase_if(model, gone));
          break;
        }
        case 3:
          if (const auto at = set.find(key); at != set.end()) {
            const auto behind = set.erase(at);
            const auto expected = model.erase(model.find(key));
            if constexpr (requires { set.lower_bound(key); }) {
              ASSERT_EQ(behind == set.end(), expected == model.end());
              if (expected != model.end()) {
                ASSERT_EQ(*behind, *expected);
              }
            }
          }
          break;
        case 4:
          if constexpr (requires { set.lower_bound(key); }) {
            set.erase(set.lower_bound(key), set.lower_bound(key + 20));
            model.erase(model.lower_bound(key), model.lower_bound(key + 20));
          }
          break;
        default:
          set.insert_range(some);
          model.insert(some.begin(), some.end());
      }
      ASSERT_EQ(set.size(), model.size());
      for (const std::int32_t each : model) ASSERT_TRUE(set.contains(each));
      const auto [first, last] = set.equal_range(key);
      ASSERT_EQ(std::ranges::distance(first, last), static_cast<std::ptrdiff_t>(model.count(key)));
      if constexpr (requires { set.lower_bound(key); }) {
        ASSERT_TRUE(std::equal(set.begin(), set.end(), model.begin(), model.end()));
      }
    };
    done(r->sorted_set);
    done(r->ordered_set);
    if (what != 4) done(r->hash_set);
    if (what == 4) r->hash_set = model;
    if (step % 20 == 0) {
      ASSERT_EQ(situ_test::refused<Standard>(r.bytes()), "accepted") << step;
    }
  }
}

/// The last entry takes the place of an erased one: each entry is visited once.
TEST(RegionStandard, erase_if_visits_each_entry_of_a_table_once) {
  for (std::int32_t begin = 0; begin < 400; ++begin) {
    region<Standard> r;
    for (std::int32_t i = 0; i < 14; ++i) r->hash_set.insert(begin * 100 + i);
    ASSERT_GT(r->hash_set.capacity(), 8U);
    std::multiset<std::int32_t> seen;
    const std::size_t gone = erase_if(r->hash_set, [&seen](std::int32_t key) {
      seen.insert(key);
      return key % 3 != 0;
    });
    EXPECT_EQ(gone, 14U - r->hash_set.size());
    ASSERT_EQ(seen.size(), 14U);
    for (const std::int32_t key : seen) ASSERT_EQ(r->hash_set.contains(key), key % 3 == 0);
    ASSERT_EQ(situ_test::refused<Standard>(r.bytes()), "accepted");
  }
}

TEST(RegionStandard, more_than_27_members) {
  region<situ_test::Wide> r;
  r->d9 = 7;
  r->last = "behind forty others";
  const auto taken = region<situ_test::Wide>::adopt(r.bytes());
  ASSERT_TRUE(taken);
  EXPECT_EQ((*taken)->d9, 7);
  EXPECT_EQ((*taken)->last, "behind forty others");
}

/// If there is no room for twice the size, containers take the needed size, as long as it fits.
TEST(RegionStandard, a_size_that_fits_is_not_refused_because_twice_the_size_does_not) {
  situ_test::aligned_bytes memory(16384);
  region<Standard> r(memory.span());
  while (r->numbers.try_push_back(7)) {
  }
  // All memory except less than a granule is in use: header, root, and 2 bytes per element.
  const std::size_t root = 64 + (sizeof(Standard) + 15) / 16 * 16;
  EXPECT_EQ(r->numbers.size(), (r.capacity() - root) / 2);
  r->numbers.clear();
  r->numbers.shrink_to_fit();
  while (r->text.try_push_back('c')) {
  }
  // A string does not grow in place. The last block and the one before it existed at once.
  EXPECT_GT(r->text.size(), (r.capacity() - root) / 2 - 32);
  r->text.clear();
  r->text.shrink_to_fit();
  EXPECT_TRUE(r->numbers.try_resize((r.capacity() - root) / 2));
  EXPECT_FALSE(r->numbers.try_resize((r.capacity() - root) / 2 + 1));
}

}  // namespace
