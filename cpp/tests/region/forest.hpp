// Ordered maps and sets together with standard ones, for the tests with random programs and for the fuzzer.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <map>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "region/model.hpp"
#include "support/memory.hpp"

namespace situ_test {

struct Forest {
  situ::region_ordered_map<std::uint64_t, Item> items;
  situ::region_ordered_map<situ::region_string, situ::region_vector<std::uint16_t>> lists;
  situ::region_ordered_set<std::int16_t> numbers;
};
SITU_REGION(Forest, items, lists, numbers)

struct model_forest {
  std::map<std::uint64_t, Item> items;
  std::map<std::string, std::vector<std::uint16_t>> lists;
  std::set<std::int16_t> numbers;
};

inline std::string key_of(std::uint32_t number) {
  return std::string(number % 25, 'k') + std::to_string(number);
}

inline bool same(const Forest& f, const model_forest& m) {
  return std::equal(f.items.begin(), f.items.end(), m.items.begin(), m.items.end(),
                    [](const auto& a, const auto& b) {
                      return a.first == b.first && a.second.uuid == b.second.uuid;
                    }) &&
         std::equal(f.lists.begin(), f.lists.end(), m.lists.begin(), m.lists.end(),
                    [](const auto& a, const auto& b) {
                      return a.first == b.first &&
                             std::equal(a.second.begin(), a.second.end(), b.second.begin(), b.second.end());
                    }) &&
         std::equal(f.numbers.begin(), f.numbers.end(), m.numbers.begin(), m.numbers.end());
}

/// Inserts the key for a number. Returns false if region and model disagree.
inline bool insert(Forest& f, model_forest& m, std::uint32_t number, bool full_is_good) {
  const Item item{1, 2, number * 7ULL, 3};
  const auto [place, is_new] = f.items.try_insert(number, item);
  if (place == nullptr ? !full_is_good : is_new != m.items.emplace(number, item).second) return false;
  constexpr std::array<std::uint16_t, 4> nines = {9, 9, 9, 9};
  const auto list = std::span(nines).first(number % 5);
  const std::string key = key_of(number);
  const bool listed = f.lists.try_insert(key, list).first != nullptr;
  if (listed) m.lists.try_emplace(key, list.begin(), list.end());
  const auto small = static_cast<std::int16_t>(number - 500);
  const bool numbered = f.numbers.try_insert(small).first != nullptr;
  if (numbered) m.numbers.insert(small);
  return full_is_good || (listed && numbered);
}

/// Erases the key for a number. Returns false if region and model disagree.
inline bool erase(Forest& f, model_forest& m, std::uint32_t number) {
  const auto small = static_cast<std::int16_t>(number - 500);
  const std::string key = key_of(number);
  return f.items.erase(number) == m.items.erase(number) && f.lists.erase(key) == m.lists.erase(key) &&
         f.numbers.erase(small) == m.numbers.erase(small);
}

/// Whether a position is the end if the model's position is, and otherwise has the same key.
template <class Place, class Expected>
bool same_place(const Place& at, const Place& end, const Expected& expected, const Expected& expected_end) {
  if (at == end || expected == expected_end) return at == end && expected == expected_end;
  return at->first == expected->first;
}

/// Whether the elements from a number on, after it, and before it are the same.
inline bool same_bounds(const Forest& f, const model_forest& m, std::uint32_t number) {
  const auto small = static_cast<std::int16_t>(number - 500);
  auto back = f.numbers.lower_bound(small);
  auto expected = m.numbers.lower_bound(small);
  for (int steps = 0; steps < 40 && expected != m.numbers.begin(); ++steps) {
    if (*--back != *--expected) return false;
  }
  const std::string key = key_of(number);
  return (expected != m.numbers.begin() || back == f.numbers.begin()) &&
         f.numbers.contains(small) == m.numbers.contains(small) &&
         same_place(f.items.lower_bound(number), f.items.end(), m.items.lower_bound(number), m.items.end()) &&
         same_place(f.items.upper_bound(number), f.items.end(), m.items.upper_bound(number), m.items.end()) &&
         same_place(f.lists.lower_bound(key), f.lists.end(), m.lists.lower_bound(key), m.lists.end());
}

/// Occasional operations between the steps. Returns false if region and model disagree.
inline bool tidy(situ::region<Forest>& r, model_forest& m, std::uint32_t way, std::uint32_t number,
                 bool full_is_good) {
  switch (way) {
    case 0:
      r.compact();
      return true;
    case 1:
      r.compact_in_place();
      return r.free_bytes() == 0;
    case 2:
      r->items.shrink_to_fit();
      r->lists.shrink_to_fit();
      r->numbers.shrink_to_fit();
      return true;
    case 3:
      r.trim();
      return same(*r, m);
    case 4: {
      const auto found = m.lists.find(key_of(number));
      if (found == m.lists.end()) return true;
      auto& list = r->lists.at(found->first);
      if (!list.try_push_back(static_cast<std::uint16_t>(number))) return full_is_good;
      found->second.push_back(static_cast<std::uint16_t>(number));
      return true;
    }
    case 5:
      if (number % 4 == 0) r->items.clear(), m.items.clear();
      if (number % 4 == 1) r->lists.clear(), m.lists.clear();
      if (number % 4 == 2) r->numbers.clear(), m.numbers.clear();
      return true;
    case 6: {
      const auto gone = [number](const auto& entry) {
        return std::string_view(entry.first).size() % 5 == number % 5;
      };
      const auto few = [number](std::int16_t small) { return small % 7 == static_cast<int>(number % 7); };
      if (number % 2 == 0) return erase_if(r->lists, gone) == std::erase_if(m.lists, gone);
      return erase_if(r->numbers, few) == std::erase_if(m.numbers, few);
    }
    default: {
      if (!same_bounds(*r, m, number)) return false;
      const auto behind = r->items.erase(r->items.lower_bound(number), r->items.upper_bound(number + 3));
      const auto expected = m.items.erase(m.items.lower_bound(number), m.items.upper_bound(number + 3));
      return same_place(behind, r->items.end(), expected, m.items.end());
    }
  }
}

/// Runs a program that inserts and erases runs of numbers, with other operations between. Returns true if
/// region and model agree after each step, and the image is valid at the end.
inline bool run(program steps, situ::region<Forest>& r, bool full_is_good) {
  // Runs are usually short, because a long one takes as long as many short ones.
  constexpr std::array<std::uint8_t, 8> counts = {1, 2, 3, 5, 9, 17, 33, 57};
  model_forest m;
  while (!steps.ended()) {
    const std::uint8_t what = steps.byte();
    const std::uint32_t first = steps.byte() * 7U;
    const std::uint32_t step = what / 4 % 8 + 1;
    if (what % 4 == 3) {
      if (!tidy(r, m, step - 1, first, full_is_good)) return false;
      continue;
    }
    for (std::uint32_t i = 0; i < counts[what / 32]; ++i) {
      const std::uint32_t number = (first + i * step) % 2048;
      if (!(what % 4 < 2 ? insert(*r, m, number, full_is_good) : erase(*r, m, number))) return false;
    }
  }
  aligned_bytes sent(r.bytes());
  const auto taken = situ::region<Forest>::adopt(sent.span());
  return same(*r, m) && taken && taken->canonical() == r.canonical();
}

}  // namespace situ_test
