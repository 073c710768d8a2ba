// A program as users write it first. It must compile without a warning: GCC 12 sees where a region begins
// that is a variable of a function. It took the elements of a vector for a part of the vector, and warned of
// a write behind its end.
#include "situ/region.hpp"

struct Item {
  std::uint64_t id;
  double weight;
};
SITU_REGION(Item, id, weight)

struct Bag {
  situ::region_sorted_map<std::uint64_t, Item> items;
  situ::region_vector<Item> list;
};
SITU_REGION(Bag, items, list)

int main() {
  situ::region<Bag> bag;
  bag->items[3] = Item{1, 2.0};
  bag->list.insert(bag->list.begin(), Item{2, 1.0});
  return bag->items.begin()->second.id == 1 && bag->list[0].id == 2 ? 0 : 1;
}
