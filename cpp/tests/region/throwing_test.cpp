// If a source throws while it is read, the region does not change, and no memory of the region is lost.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <iterator>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "situ/region.hpp"

namespace {

using situ::region;

/// `count` values. The last one throws when it is read.
template <class T>
class throwing {
 public:
  class iterator {
   public:
    using iterator_category = std::forward_iterator_tag;
    using value_type = T;
    using difference_type = std::ptrdiff_t;
    using pointer = const T*;
    using reference = T;

    iterator() = default;
    iterator(const throwing* of, std::size_t at) : of_(of), at_(at) {}
    T operator*() const {
      if (at_ + 1 == of_->count_) throw std::runtime_error("no such value");
      return of_->value_;
    }
    iterator& operator++() {
      ++at_;
      return *this;
    }
    iterator operator++(int) { return std::exchange(*this, iterator(of_, at_ + 1)); }
    friend bool operator==(const iterator& a, const iterator& b) { return a.at_ == b.at_; }

   private:
    const throwing* of_ = nullptr;
    std::size_t at_ = 0;
  };

  throwing(T value, std::size_t count) : value_(value), count_(count) {}
  [[nodiscard]] iterator begin() const { return {this, 0}; }
  [[nodiscard]] iterator end() const { return {this, count_}; }

 private:
  T value_;
  std::size_t count_;
};

struct Item {
  situ::region_string name;
  situ::region_vector<situ::region_string> tags;
};
SITU_REGION(Item, name, tags)

struct All {
  situ::region_vector<std::int32_t> numbers;
  situ::region_vector<situ::region_string> names;
  situ::region_vector<Item> items;
  situ::region_vector<situ::region_vector<std::int32_t>> rows;
  situ::region_sorted_set<situ::region_string> sorted_set;
  situ::region_hash_set<situ::region_string> hash_set;
  situ::region_ordered_set<situ::region_string> ordered_set;
  situ::region_sorted_map<std::uint32_t, Item> sorted_map;
  situ::region_hash_map<std::uint32_t, Item> hash_map;
  situ::region_ordered_map<std::uint32_t, Item> ordered_map;
  situ::region_optional<Item> optional;
  situ::region_unique<Item> unique;
  situ::region_shared<Item> shared;
};
SITU_REGION(All, numbers, names, items, rows, sorted_set, hash_set, ordered_set, sorted_map, hash_map,
            ordered_map, optional, unique, shared)

/// Returns the number of bytes of the image that are marked as in use.
std::size_t in_use(region<All>& r) {
  r.trim();
  return r.size() - r.free_bytes();
}

/// With or without room after the elements, which are last in the image or not.
void fill(All& all, bool roomy, bool last) {
  if (roomy) {
    all.numbers.reserve(2000);
    all.names.reserve(50);
    all.items.reserve(50);
    all.rows.reserve(50);
  }
  all.numbers = {1, 2, 3};
  all.names.emplace_back("a name that needs a block");
  all.items.emplace_back("another name that needs one");
  all.rows.emplace_back(std::vector<std::int32_t>{1, 2});
  all.hash_set.insert("a name that needs a block");
  all.sorted_map[1].name = "an item that was there";
  all.unique.emplace("an item that was there");
  all.shared.emplace("an item that was there");
  if (!last) all.ordered_set.insert("what lies behind all others");
}

TEST(RegionThrowing, nothing_has_changed_and_no_memory_is_lost) {
  const throwing<std::int32_t> numbers(7, 1000);
  const throwing<std::string_view> names("this text needs a block of its own", 20);
  using operation = std::function<void(All&)>;
  const std::vector<std::pair<const char*, operation>> operations = {
      {"numbers append", [&](All& all) { all.numbers.append_range(numbers); }},
      {"numbers insert", [&](All& all) { all.numbers.insert_range(all.numbers.begin() + 1, numbers); }},
      {"numbers assign", [&](All& all) { all.numbers = numbers; }},
      {"names append", [&](All& all) { all.names.append_range(names); }},
      {"names insert", [&](All& all) { all.names.insert_range(all.names.begin(), names); }},
      {"names assign", [&](All& all) { all.names = names; }},
      {"items emplace_back", [&](All& all) { all.items.emplace_back("a name that needs a block", names); }},
      {"items emplace",
       [&](All& all) { all.items.emplace(all.items.begin(), "a name that needs a block", names); }},
      {"rows emplace_back", [&](All& all) { all.rows.emplace_back(numbers); }},
      {"sorted_set insert", [&](All& all) { all.sorted_set.insert_range(names); }},
      {"sorted_set assign", [&](All& all) { all.sorted_set = names; }},
      {"hash_set insert", [&](All& all) { all.hash_set.insert_range(names); }},
      {"hash_set assign", [&](All& all) { all.hash_set = names; }},
      {"ordered_set insert", [&](All& all) { all.ordered_set.insert_range(names); }},
      {"ordered_set assign", [&](All& all) { all.ordered_set = names; }},
      {"sorted_map emplace",
       [&](All& all) { all.sorted_map.try_emplace(0, "a name that needs a block", names); }},
      {"hash_map emplace",
       [&](All& all) { all.hash_map.try_emplace(0, "a name that needs a block", names); }},
      {"ordered_map emplace",
       [&](All& all) { all.ordered_map.try_emplace(0, "a name that needs a block", names); }},
      {"optional emplace", [&](All& all) { all.optional.emplace("a name that needs a block", names); }},
      {"unique emplace", [&](All& all) { all.unique.emplace("a name that needs a block", names); }},
      {"shared emplace", [&](All& all) { all.shared.emplace("a name that needs a block", names); }},
  };
  for (const auto& [name, throws] : operations) {
    for (const auto& [roomy, last] : {std::pair(false, false), {false, true}, {true, false}}) {
      SCOPED_TRACE(std::string(name) + (roomy ? ", roomy" : "") + (last ? ", last" : ""));
      region<All> r;
      fill(*r, roomy, last);
      const auto before = r.canonical();
      EXPECT_THROW(throws(*r), std::runtime_error);
      EXPECT_EQ(r.canonical(), before);
      const std::size_t used = in_use(r);
      auto copy = region<All>::adopt(r.bytes());
      ASSERT_TRUE(copy) << copy.error().message();
      EXPECT_EQ(used, in_use(*copy)) << "the number of bytes found in the image";
    }
  }
}

TEST(RegionThrowing, elements_that_were_made_leave_zeros) {
  region<All> r;
  r->numbers.reserve(1000);
  EXPECT_THROW(r->numbers.append_range(throwing<std::int32_t>(7, 900)), std::runtime_error);
  EXPECT_EQ(r->numbers.capacity(), 1000U);
  // Taking the image makes unused memory readable, which AddressSanitizer otherwise watches.
  EXPECT_GT(r.bytes().size(), 4000U);
  EXPECT_TRUE(
      std::all_of(r->numbers.data(), r->numbers.data() + 1000, [](std::int32_t x) { return x == 0; }));
  r->items.reserve(2);
  EXPECT_THROW(r->items.emplace_back("a name that needs a block", throwing<std::string_view>("text", 3)),
               std::runtime_error);
  EXPECT_GT(r.bytes().size(), 4000U);
  const auto items = std::as_bytes(std::span(r->items.data(), 2));
  EXPECT_TRUE(std::all_of(items.begin(), items.end(), [](std::byte each) { return each == std::byte{0}; }));
}

}  // namespace
