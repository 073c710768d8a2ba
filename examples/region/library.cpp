// Regions beside the standard library: loops, sorting, text, copies. The book shows this program.
#include <algorithm>
#include <cstdint>
#include <functional>
#include <iostream>
#include <map>
#include <string>
#include <unordered_map>
#include <vector>

#include "situ/region.hpp"
#include "situ/region/to_std.hpp"

struct Item {
  std::uint32_t level;
  situ::region_string name;
};
SITU_REGION(Item, level, name)

struct Bag {
  situ::region_sorted_map<std::uint64_t, Item> items;
  situ::region_vector<Item> found;
  situ::region_hash_map<situ::region_string, std::uint32_t> counts;
};
SITU_REGION(Bag, items, found, counts)

/// An item on the heap: the same members in the same order.
struct PlainItem {
  std::uint32_t level;
  std::string name;
};

int main() {
  situ::region<Bag> r;
  r->items.emplace(40U, 3U, "sword");
  r->items.emplace(20U, 5U, "shield");
  r->counts = {{"coins", 7}, {"keys", 2}};

  // ANCHOR: loops
  for (auto& [id, item] : r->items) item.level += 1;
  for (auto& [what, count] : r->counts) count *= 2;
  auto [last_id, last_item] = *std::prev(r->items.end());  // of a temporary iterator: by value
  // ANCHOR_END: loops

  // ANCHOR: sort
  for (const auto& [id, item] : r->items) r->found.push_back(item);
  r->found.emplace_back(1U, "rope");
  r->found.sort(std::less<>(), &Item::name);  // stable
  situ::sort(r->found.begin() + 1, r->found.end(), {}, [](const Item& item) { return item.level; });
  // ANCHOR_END: sort

  // ANCHOR: text
  std::cout << *r << '\n' << r->found << '\n';
  const std::string text = situ::to_string(r->items);
  // ANCHOR_END: text

  // ANCHOR: copies
  const auto counts = situ::to_std(r->counts);  // std::unordered_map<std::string, std::uint32_t>
  const auto found = situ::to_std(r->found);    // std::vector<std::tuple<std::uint32_t, std::string>>
  const auto plain = situ::to_std<std::vector<PlainItem>>(r->found);
  const auto& [level, name] = found.front();
  // ANCHOR_END: copies

  // ANCHOR: keys
  std::unordered_map<std::string, int, situ::text_hash, situ::text_equal> prices{{"rope", 2}};
  const int price = prices.find(r->found[0].name)->second;
  // ANCHOR_END: keys

  std::cout << last_id << ' ' << last_item << '\n'
            << text << '\n'
            << counts.at("coins") << ' ' << level << ' ' << name << ' ' << plain.size() << ' ' << price
            << '\n';
}
