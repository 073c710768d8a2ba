// Ordered maps and sets beside the standard ones, for the tests with random programs and for the fuzzer.
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "region/memory.hpp"
#include "region/model.hpp"

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

/// Inserts what a number stands for; false where region and model disagree.
inline bool insert(Forest& f, model_forest& m, std::uint32_t number, bool full_is_good) {
  const Item item{1, 2, number * 7ULL, 3};
  const auto [place, is_new] = f.items.try_insert(number, item);
  if (place == nullptr ? !full_is_good : is_new != m.items.emplace(number, item).second) return false;
  const std::vector<std::uint16_t> list(number % 5, 9);
  const bool listed = f.lists.try_insert(key_of(number), list).first != nullptr;
  if (listed) m.lists.try_emplace(key_of(number), list);
  const auto small = static_cast<std::int16_t>(number - 500);
  const bool numbered = f.numbers.try_insert(small).first != nullptr;
  if (numbered) m.numbers.insert(small);
  return full_is_good || (listed && numbered);
}

/// Erases what a number stands for; false where region and model disagree.
inline bool erase(Forest& f, model_forest& m, std::uint32_t number) {
  const auto small = static_cast<std::int16_t>(number - 500);
  return f.items.erase(number) == m.items.erase(number) &&
         f.lists.erase(key_of(number)) == m.lists.erase(key_of(number)) &&
         f.numbers.erase(small) == m.numbers.erase(small);
}

/// Does a program of insertions and erasures of runs of numbers; whether region and model agree all the way,
/// and the image is good in the end.
inline bool run(program steps, situ::region<Forest>& r, bool full_is_good) {
  model_forest m;
  while (!steps.ended()) {
    const std::uint8_t what = steps.byte();
    const std::uint32_t first = steps.byte() * 7U;
    const std::uint32_t step = what / 4 % 8 + 1;
    const std::uint32_t count = what % 4 == 3 ? 0 : what / 32 * 8 + 1;
    for (std::uint32_t i = 0; i < count; ++i) {
      const std::uint32_t number = (first + i * step) % 2048;
      if (!(what % 4 < 2 ? insert(*r, m, number, full_is_good) : erase(*r, m, number))) return false;
    }
    if (what == 255) r.compact();
    if (what == 247) r.compact_in_place();
    if (what == 251) {
      r->items.shrink_to_fit();
      r->lists.shrink_to_fit();
      r->numbers.shrink_to_fit();
    }
  }
  aligned_bytes sent(r.bytes());
  const auto taken = situ::region<Forest>::adopt(sent.span());
  return same(*r, m) && taken && taken->canonical() == r.canonical();
}

}  // namespace situ_test
