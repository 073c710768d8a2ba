// bounded_vector compared with std::vector: the same operations, the same elements.
#include <gtest/gtest.h>

#include <deque>
#include <list>
#include <memory_resource>
#include <numeric>
#include <random>
#include <sstream>
#include <string>
#include <vector>

#include "containers/tracked.hpp"
#include "situ/layout/bounded_vector.hpp"

namespace {

using situ::bounded_vector;
using situ::calloc_allocator;
using situ::inline_allocator;
using situ_test::tracked;

constexpr std::size_t bound = 24;

template <class V>
class VectorModel : public testing::Test {};

using vectors =
    testing::Types<bounded_vector<int, bound, inline_allocator<int>>, bounded_vector<int, bound>,
                   bounded_vector<int, bound, calloc_allocator<int>>, bounded_vector<int, situ::unbounded>,
                   bounded_vector<tracked, bound, inline_allocator<tracked>>, bounded_vector<tracked, bound>,
                   bounded_vector<std::string, bound, inline_allocator<std::string>>,
                   bounded_vector<bool, bound, inline_allocator<bool>>,
                   bounded_vector<std::pair<int, std::string>, bound,
                                  std::pmr::polymorphic_allocator<std::pair<int, std::string>>>>;
TYPED_TEST_SUITE(VectorModel, vectors);

template <class T>
T value_of(int seed) {
  if constexpr (std::is_same_v<T, std::string>) {
    return std::string(static_cast<std::size_t>(seed % 40), 'x') + std::to_string(seed);
  } else if constexpr (std::is_same_v<T, std::pair<int, std::string>>) {
    return {seed, std::to_string(seed)};
  } else if constexpr (std::is_same_v<T, bool>) {
    return seed % 2 == 0;
  } else {
    return T(seed);
  }
}

template <class V>
void expect_equal(const V& vector, const std::deque<typename V::value_type>& model) {
  ASSERT_EQ(vector.size(), model.size());
  ASSERT_EQ(vector.empty(), model.empty());
  ASSERT_TRUE(std::equal(vector.begin(), vector.end(), model.begin(), model.end()));
  ASSERT_TRUE(std::equal(vector.rbegin(), vector.rend(), model.rbegin(), model.rend()));
  ASSERT_LE(vector.size(), vector.capacity());
}

TYPED_TEST(VectorModel, behaves_like_a_standard_one) {
  using V = TypeParam;
  using T = typename V::value_type;
  std::mt19937 random(20240607);
  const auto any = [&random](std::size_t below) {
    return std::uniform_int_distribution<std::size_t>(0, below - 1)(random);
  };
  const auto at = [](auto begin, std::size_t index) { return begin + static_cast<std::ptrdiff_t>(index); };
  int seed = 0;
  const std::ptrdiff_t alive_before = tracked::alive;
  {
    V vector;
    // A deque, because std::vector<bool> is not a sequence of booleans.
    std::deque<T> model;
    for (int step = 0; step < 4000; ++step) {
      const std::size_t size = model.size();
      const std::size_t room = bound - size;
      switch (any(19)) {
        case 0:
          if (room == 0) break;
          vector.push_back(value_of<T>(++seed));
          model.push_back(value_of<T>(seed));
          break;
        case 1:
          if (room == 0) break;
          ++seed;
          vector.emplace_back(value_of<T>(0)) = value_of<T>(seed);
          model.push_back(value_of<T>(seed));
          break;
        case 2:
          if (size == 0) break;
          vector.pop_back();
          model.pop_back();
          break;
        case 3: {
          if (room == 0) break;
          const std::size_t where = any(size + 1);
          const auto made = vector.insert(at(vector.cbegin(), where), value_of<T>(++seed));
          EXPECT_EQ(made - vector.begin(), static_cast<std::ptrdiff_t>(where));
          model.insert(at(model.begin(), where), value_of<T>(seed));
          break;
        }
        case 4: {
          const std::size_t where = any(size + 1);
          const std::size_t count = any(std::min<std::size_t>(room, 5) + 1);
          vector.insert(at(vector.cbegin(), where), count, value_of<T>(++seed));
          // libstdc++'s deque moves elements onto themselves when it inserts none.
          if (count != 0) model.insert(at(model.begin(), where), count, value_of<T>(seed));
          break;
        }
        case 5: {
          const std::size_t where = any(size + 1);
          std::list<T> more;
          for (std::size_t i = any(std::min<std::size_t>(room, 6) + 1); i != 0; --i)
            more.push_back(value_of<T>(++seed));
          const auto made = vector.insert(at(vector.cbegin(), where), more.begin(), more.end());
          EXPECT_EQ(made - vector.begin(), static_cast<std::ptrdiff_t>(where));
          if (!more.empty()) model.insert(at(model.begin(), where), more.begin(), more.end());
          break;
        }
        case 6: {
          if (size == 0) break;
          const std::size_t where = any(size);
          vector.erase(at(vector.cbegin(), where));
          model.erase(at(model.begin(), where));
          break;
        }
        case 7: {
          const std::size_t first = any(size + 1);
          const std::size_t last = first + any(size - first + 1);
          const auto next = vector.erase(at(vector.cbegin(), first), at(vector.cbegin(), last));
          EXPECT_EQ(next - vector.begin(), static_cast<std::ptrdiff_t>(first));
          if (first != last) model.erase(at(model.begin(), first), at(model.begin(), last));
          break;
        }
        case 8: {
          const std::size_t count = any(bound + 1);
          vector.resize(count);
          model.resize(count);
          break;
        }
        case 9: {
          const std::size_t count = any(bound + 1);
          vector.resize(count, value_of<T>(++seed));
          model.resize(count, value_of<T>(seed));
          break;
        }
        case 10: {
          const std::size_t count = any(bound + 1);
          vector.assign(count, value_of<T>(++seed));
          model.assign(count, value_of<T>(seed));
          break;
        }
        case 11: {
          const V copy(vector);
          expect_equal(copy, model);
          EXPECT_EQ(copy, vector);
          break;
        }
        case 12: {
          V moved(std::move(vector));
          expect_equal(moved, model);
          vector = std::move(moved);
          break;
        }
        case 13: {
          V other(any(bound + 1), value_of<T>(++seed));
          std::deque<T> other_model(other.begin(), other.end());
          swap(vector, other);
          swap(model, other_model);
          expect_equal(other, other_model);
          break;
        }
        case 14: {
          V other;
          other = vector;
          vector.clear();
          EXPECT_TRUE(vector.empty());
          vector = other;
          break;
        }
        case 15:
          // An element of the vector itself.
          if (size == 0 || room == 0) break;
          vector.push_back(vector.front());
          model.push_back(model.front());
          break;
        case 16:
          if (size == 0 || room == 0) break;
          vector.insert(vector.cbegin(), vector.back());
          model.insert(model.begin(), T(model.back()));
          break;
        case 17:
          vector.shrink_to_fit();
          break;
        case 18: {
          const std::size_t gone =
              erase_if(vector, [&](const T& value) { return value == value_of<T>(seed); });
          EXPECT_EQ(gone, std::erase_if(model, [&](const T& value) { return value == value_of<T>(seed); }));
          break;
        }
      }
      ASSERT_NO_FATAL_FAILURE(expect_equal(vector, model)) << "step " << step;
    }
  }
  EXPECT_EQ(tracked::alive, alive_before);
}

TEST(Vector, constructors) {
  using V = bounded_vector<int, 8, inline_allocator<int>>;
  EXPECT_EQ(V(3), (std::vector{0, 0, 0}));
  EXPECT_EQ(V(2, 7), (std::vector{7, 7}));
  EXPECT_EQ((V{1, 2, 3}), (std::vector{1, 2, 3}));
  const std::list<short> list{4, 5};
  EXPECT_EQ(V(list.begin(), list.end()), (std::vector{4, 5}));
  EXPECT_EQ(V(list), (std::vector{4, 5}));
  const std::vector<int> source{6, 7};
  EXPECT_EQ(V(source), source);
  std::istringstream numbers("8 9 10");
  EXPECT_EQ(V(std::istream_iterator<int>(numbers), std::istream_iterator<int>()), (std::vector{8, 9, 10}));
  const bounded_vector<int, 3> narrower{1, 2};
  V wider;
  wider = narrower;
  EXPECT_EQ(wider, narrower);
  wider = source;
  EXPECT_EQ(wider, source);
  wider = {1};
  EXPECT_EQ(wider.back(), 1);
}

TEST(Vector, is_a_span_and_is_made_of_spans) {
  bounded_vector<int, 8, inline_allocator<int>> vector{1, 2, 3};
  const std::span<int> all = vector;
  all[1] = 20;
  EXPECT_EQ(vector, (std::vector{1, 20, 3}));
  const std::span<const int> read_only = std::as_const(vector);
  EXPECT_EQ(read_only.size(), 3U);
  vector = read_only.subspan(1);
  EXPECT_EQ(vector, (std::vector{20, 3}));
  vector.append_range(std::vector{4, 5});
  vector.insert_range(vector.begin(), std::span(vector).subspan(2));
  EXPECT_EQ(vector, (std::vector{4, 5, 20, 3, 4, 5}));
}

TEST(Vector, takes_ranges_whose_end_is_of_another_type) {
  struct {
    std::list<int> numbers{1, 2, 3, 4};
    auto begin() const { return std::counted_iterator(numbers.begin(), 4); }
    auto end() const { return std::default_sentinel; }
  } const digits;
  bounded_vector<int, 8, inline_allocator<int>> vector(digits);
  EXPECT_EQ(vector, (std::vector{1, 2, 3, 4}));
  vector.insert_range(vector.begin() + 1, digits);
  EXPECT_EQ(vector, (std::vector{1, 1, 2, 3, 4, 2, 3, 4}));
}

TEST(Vector, compares_lexicographically) {
  const bounded_vector<int, 4> a{1, 2};
  const bounded_vector<int, 9, inline_allocator<int>> b{1, 3};
  EXPECT_NE(a, b);
  EXPECT_LT(a, b);
  EXPECT_GT(b, (std::vector{1, 2, 9}));
  EXPECT_EQ(std::vector({1, 2}), a);
}

TEST(Vector, names_bound_and_size_when_exceeded) {
  bounded_vector<int, 3, inline_allocator<int>> vector{1, 2, 3};
  const auto expect = [](auto&& call, std::size_t size) {
    try {
      call();
      FAIL() << "no exception";
    } catch (const situ::bound_error& error) {
      EXPECT_EQ(error.bound(), 3U);
      EXPECT_EQ(error.size(), size);
      EXPECT_EQ(error.field(), "");
    }
  };
  expect([&] { vector.push_back(4); }, 4);
  expect([&] { vector.insert(vector.begin(), 4); }, 4);
  expect([&] { vector.insert(vector.begin(), 5, 4); }, 8);
  expect([&] { vector.resize(9); }, 9);
  expect([&] { vector.resize(9, 1); }, 9);
  expect([&] { vector.assign(4, 1); }, 4);
  expect([&] { vector.reserve(5); }, 5);
  expect([&] { vector = std::vector{1, 2, 3, 4, 5, 6}; }, 6);
  EXPECT_EQ(vector, (std::vector{1, 2, 3})) << "a refused call changes nothing";
  EXPECT_THROW((void)vector.at(3), std::out_of_range);
  EXPECT_STREQ(situ::bound_error("data", 3, 4).what(),
               "bound exceeded in field 'data': 4 elements do not fit into a bound of 3");
}

TEST(Vector, try_forms_refuse_without_throwing) {
  bounded_vector<std::string, 2, inline_allocator<std::string>> vector{"a"};
  ASSERT_NE(vector.try_push_back("b"), nullptr);
  EXPECT_EQ(vector.try_push_back("c"), nullptr);
  EXPECT_EQ(vector.try_emplace_back(3U, 'c'), nullptr);
  EXPECT_FALSE(vector.try_resize(3));
  EXPECT_FALSE(vector.try_assign(3, "x"));
  const std::vector<std::string> three{"1", "2", "3"};
  EXPECT_FALSE(vector.try_assign(three.begin(), three.end()));
  EXPECT_EQ(vector, (std::vector<std::string>{"a", "b"}));
  EXPECT_TRUE(vector.full());
}

TEST(Vector, resize_may_leave_plain_elements_as_they_are) {
  bounded_vector<std::uint8_t, 4, inline_allocator<std::uint8_t>> vector{1, 2, 3, 4};
  vector.clear();
  vector.resize(4, situ::default_init);
  EXPECT_EQ(vector, (std::vector<std::uint8_t>{1, 2, 3, 4}));
  vector.clear();
  vector.resize(4);
  EXPECT_EQ(vector, (std::vector<std::uint8_t>{0, 0, 0, 0}));
}

TEST(Vector, limits_a_length_beyond_its_bound) {
  bounded_vector<int, 3, inline_allocator<int>> vector{1, 2, 3};
  const std::uint32_t wild = 1'000'000;
  std::memcpy(static_cast<void*>(&vector), &wild, sizeof(wild));
  EXPECT_EQ(vector.size(), 3U);
  EXPECT_EQ(std::accumulate(vector.begin(), vector.end(), 0), 6);
  vector.clear();
  EXPECT_EQ(vector.size(), 0U);
}

TEST(Vector, keeps_the_memory_resource_of_its_allocator) {
  using V = bounded_vector<int, 64, std::pmr::polymorphic_allocator<int>>;
  std::pmr::monotonic_buffer_resource one;
  std::pmr::monotonic_buffer_resource two;
  V a({1, 2, 3}, &one);
  V b({4}, &two);
  b = std::move(a);
  EXPECT_EQ(b, (std::vector{1, 2, 3}));
  EXPECT_EQ(b.get_allocator().resource(), &two);
  EXPECT_EQ(V(b).get_allocator().resource(), std::pmr::get_default_resource());
}

TEST(Vector, can_hold_its_own_type_on_the_heap) {
  struct node {
    int value = 0;
    bounded_vector<node, 4> children{};
  };
  node root{1, {}};
  root.children.push_back({2, {}});
  root.children.push_back(root);
  EXPECT_EQ(root.children.back().children.size(), 1U);
}

}  // namespace
