// Assignment to the sets and maps of a region: from any range, from themselves, and without room.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <map>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "region/refused.hpp"
#include "support/memory.hpp"

namespace situ_test {

/// A set and a map of each kind.
struct Keyed {
  situ::region_sorted_set<situ::region_string> sorted_set;
  situ::region_hash_set<situ::region_string> hash_set;
  situ::region_ordered_set<situ::region_string> ordered_set;
  situ::region_sorted_set<std::uint32_t> numbers;
  situ::region_sorted_map<std::uint32_t, situ::region_string> sorted_map;
  situ::region_hash_map<std::uint32_t, situ::region_string> hash_map;
  situ::region_ordered_map<std::uint32_t, situ::region_string> ordered_map;
};
SITU_REGION(Keyed, sorted_set, hash_set, ordered_set, numbers, sorted_map, hash_map, ordered_map)

struct Padded {
  std::uint8_t small;
  std::uint32_t large;
};
SITU_REGION(Padded, small, large)
struct Titled {
  situ::region_string title;
  situ::region_string text;
};
SITU_REGION(Titled, title, text)
struct Structs {
  situ::region_vector<Padded> padded;
  situ::region_sorted_map<std::uint32_t, Padded> numbers;
  situ::region_sorted_map<std::uint32_t, Titled> texts;
};
SITU_REGION(Structs, padded, numbers, texts)

}  // namespace situ_test

namespace {

using situ::region;
using situ_test::Keyed;

/// Texts that are too long for the string itself.
std::string text(std::uint32_t i) { return "text number " + std::to_string(1000 + i) + " of a test"; }

std::map<std::uint32_t, std::string> entries(std::uint32_t first, std::uint32_t count) {
  std::map<std::uint32_t, std::string> made;
  for (std::uint32_t i = first; i < first + count; ++i) made[i] = text(i);
  return made;
}
std::set<std::string> keys(std::uint32_t first, std::uint32_t count) {
  std::set<std::string> made;
  for (std::uint32_t i = first; i < first + count; ++i) made.insert(text(i));
  return made;
}

void expect_holds(const auto& map, const std::map<std::uint32_t, std::string>& expected) {
  EXPECT_EQ(map.size(), expected.size());
  for (const auto& [key, value] : expected) {
    ASSERT_TRUE(map.contains(key)) << key;
    EXPECT_EQ(map.at(key), value);
  }
}
void expect_holds(const auto& set, const std::set<std::string>& expected) {
  EXPECT_EQ(set.size(), expected.size());
  for (const auto& key : expected) EXPECT_TRUE(set.contains(key)) << key;
}

/// Calls with each set of texts and each map, and with a function that creates their elements.
template <class Call>
void for_each_container(Keyed& in, const Call& call) {
  call(in.sorted_set, keys);
  call(in.hash_set, keys);
  call(in.ordered_set, keys);
  call(in.sorted_map, entries);
  call(in.hash_map, entries);
  call(in.ordered_map, entries);
}

/// The elements of a container, read while it is iterated.
template <class C>
struct Elements {
  const C& of;
  auto begin() const { return of.begin(); }
  auto end() const { return of.end(); }
};
template <class C>
Elements(const C&) -> Elements<C>;

TEST(RegionAssignment, changes_nothing_where_there_is_no_room) {
  situ_test::aligned_bytes memory(4096);
  region<Keyed> r(memory.span());
  for_each_container(*r, [&r](auto& container, const auto& make) {
    container = make(0, 3);
    const auto before = r.canonical();
    r.trim();
    const std::size_t size = r.size();
    const std::size_t free = r.free_bytes();
    EXPECT_THROW(container = make(10, 200), situ::region_error);
    expect_holds(container, make(0, 3));
    EXPECT_EQ(r.canonical(), before);
    r.trim();
    EXPECT_EQ(r.size(), size);
    EXPECT_EQ(r.free_bytes(), free);
    EXPECT_EQ(situ_test::refused<Keyed>(r.bytes()), "accepted");
  });
}

TEST(RegionAssignment, of_another_regions_container_changes_nothing_where_there_is_no_room) {
  situ_test::aligned_bytes memory(4096);
  region<Keyed> r(memory.span());
  region<Keyed> large;
  for_each_container(*large, [](auto& container, const auto& make) { container = make(10, 200); });
  const auto refuse = [&r](auto& container, const auto& from, const auto& make) {
    container = make(0, 3);
    const auto before = r.canonical();
    EXPECT_THROW(container = from, situ::region_error);
    EXPECT_EQ(r.canonical(), before);
  };
  refuse(r->sorted_set, large->sorted_set, keys);
  refuse(r->hash_set, large->hash_set, keys);
  refuse(r->ordered_set, large->ordered_set, keys);
  refuse(r->sorted_map, large->sorted_map, entries);
  refuse(r->hash_map, large->hash_map, entries);
  refuse(r->ordered_map, large->ordered_map, entries);
  r->numbers = std::vector<std::uint32_t>{3, 1, 2, 1};
  EXPECT_EQ(r->numbers.size(), 3U);
  for (std::uint32_t i = 0; i < 2000; ++i) large->numbers.insert(i);
  refuse(r->numbers, large->numbers, [](std::uint32_t, std::uint32_t) {
    return std::set<std::uint32_t>{1, 2, 3};
  });
  EXPECT_EQ(situ_test::refused<Keyed>(r.bytes()), "accepted");
}

TEST(RegionAssignment, may_use_elements_of_the_container_itself) {
  region<Keyed> r;
  for_each_container(*r, [](auto& container, const auto& make) {
    const auto held = make(0, 30);
    container = held;
    if constexpr (requires { container.at(1); }) {
      std::vector<std::pair<std::uint32_t, std::string_view>> views;
      for (const auto& [key, value] : container) views.emplace_back(key, value);
      container = views;
    } else {
      std::vector<std::string_view> views(container.begin(), container.end());
      container = views;
    }
    expect_holds(container, held);
    container = Elements{container};
    expect_holds(container, held);
  });
  EXPECT_EQ(situ_test::refused<Keyed>(r.bytes()), "accepted");
}

TEST(RegionAssignment, replaces_all_and_frees_it) {
  region<Keyed> r;
  for_each_container(*r, [&r](auto& container, const auto& make) {
    r.trim();
    const std::size_t before = r.size();
    container = make(0, 200);
    container = make(100, 150);
    expect_holds(container, make(100, 150));
    const auto& same = container;
    container = same;
    expect_holds(container, make(100, 150));
    container = make(0, 0);
    EXPECT_TRUE(container.empty());
    container.shrink_to_fit();
    r.trim();
    EXPECT_EQ(r.size(), before);
  });
}

TEST(RegionAssignment, of_nothing_needs_no_memory) {
  situ_test::aligned_bytes memory(4096);
  region<Keyed> r(memory.span());
  for_each_container(*r, [&r](auto& container, const auto& make) {
    container = make(0, 3);
    while (r->numbers.try_insert(static_cast<std::uint32_t>(r->numbers.size())).first != nullptr) {
    }
    for (std::uint32_t i = 0; r->sorted_map.try_insert(1000 + i).first != nullptr; ++i) {
    }
    container = make(0, 0);
    EXPECT_TRUE(container.empty());
    r->numbers = std::set<std::uint32_t>();
    r->sorted_map.clear();
    r.compact_in_place();
  });
}

TEST(RegionAssignment, entries_may_be_made_of_parts_of_others) {
  region<situ_test::Structs> r;
  // With room, so that the other elements move within their block, and without.
  for (const std::uint32_t spare : {8U, 0U}) {
    r->numbers.clear();
    r->numbers.try_emplace(7, std::uint8_t{70}, 71U);
    r->numbers.try_emplace(9, std::uint8_t{90}, 91U);
    r->numbers.shrink_to_fit();
    r->numbers.reserve(2 + spare);
    const auto& seven = r->numbers.at(7);
    const auto [number, is_new] = r->numbers.try_emplace(5, seven.small, seven.large);
    EXPECT_TRUE(is_new);
    EXPECT_EQ(number->second.small, 70U);
    EXPECT_EQ(number->second.large, 71U);
    EXPECT_EQ(r->numbers.at(7).large, 71U);
    EXPECT_EQ(r->numbers.at(9).large, 91U);

    r->texts.clear();
    r->texts.try_emplace(7, "a title that needs a block", "seven");
    r->texts.try_emplace(9, "a title of nine in a block", "nine");
    r->texts.shrink_to_fit();
    r->texts.reserve(2 + spare);
    const auto& title = r->texts.at(7);
    const auto made = r->texts.try_emplace(5, title.title, title.text).first;
    EXPECT_EQ(made->second.title, "a title that needs a block");
    EXPECT_EQ(made->second.text, "seven");
    EXPECT_EQ(r->texts.at(7).title, "a title that needs a block");
    EXPECT_EQ(r->texts.at(9).text, "nine");
  }
  EXPECT_EQ(situ_test::refused<situ_test::Structs>(r.bytes()), "accepted");
}

TEST(RegionAssignment, of_entries_of_several_parts_changes_nothing_where_there_is_no_room) {
  situ_test::aligned_bytes memory(4096);
  region<situ_test::Structs> r(memory.span());
  std::uint32_t count = 0;
  for (;; ++count) {
    const auto before = r.canonical();
    if (r->texts.try_insert(count, text(count), text(count)).first != nullptr) continue;
    EXPECT_EQ(r.canonical(), before);
    break;
  }
  EXPECT_EQ(r->texts.size(), count);
  EXPECT_EQ(situ_test::refused<situ_test::Structs>(r.bytes()), "accepted");
}

TEST(RegionAssignment, takes_no_padding_along) {
  using situ_test::Padded;
  alignas(Padded) std::array<std::byte, sizeof(Padded) * 4> memory;
  memory.fill(std::byte{0xAA});
  auto* const from = reinterpret_cast<Padded*>(memory.data());
  for (std::uint32_t i = 0; i < 4; ++i) {
    from[i].small = static_cast<std::uint8_t>(i);
    from[i].large = i + 10;
  }
  situ_test::aligned_bytes small(512);
  region<situ_test::Structs> r(small.span());
  r->padded.reserve(4);
  while (r->numbers.try_insert(static_cast<std::uint32_t>(r->numbers.size())).first != nullptr) {
  }
  // The vector has room, and no other memory is needed.
  ASSERT_TRUE(r->padded.try_assign_range(std::span<const Padded>(from, 4)));
  EXPECT_EQ(std::count(r.bytes().begin(), r.bytes().end(), std::byte{0xAA}), 0);
  ASSERT_EQ(r->padded.size(), 4U);
  EXPECT_EQ(r->padded[3].large, 13U);
  ASSERT_TRUE(r->padded.try_assign_range(std::span<const Padded>(r->padded).subspan(1, 2)));
  ASSERT_EQ(r->padded.size(), 2U);
  EXPECT_EQ(r->padded[0].small, 1U);
  EXPECT_EQ(r->padded[1].large, 12U);
  EXPECT_EQ(situ_test::refused<situ_test::Structs>(r.bytes()), "accepted");
}

}  // namespace
