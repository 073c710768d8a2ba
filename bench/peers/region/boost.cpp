// Boost.Container: a flat map and vectors on the heap.
#include <boost/container/flat_map.hpp>
#include <boost/container/string.hpp>
#include <boost/container/vector.hpp>

#include "native.hpp"

namespace {

namespace bc = boost::container;

struct Equip {
  region_bench::Item base;
  std::uint32_t level;
  bc::vector<float> attributes;
};
struct Character {
  std::uint64_t id;
  bc::string name;
  std::uint32_t level;
  float healthpoint, manapoint, speed;
  region_bench::Position pos;
  bc::flat_map<std::uint64_t, region_bench::Item> items;
  bc::vector<region_bench::Position> path;
  bc::vector<float> attributes;
  bc::vector<Equip> equips;
  bc::vector<region_bench::Skill> skills;
};

struct How : region_bench::Plainly {
  template <class C>
  static void append_item(C& c, const region_bench::SourceItem& item) {
    c.items.emplace_hint(c.items.end(), item.key, item.value);
  }
};

}  // namespace

int main(int count, char** values) {
  region_bench::Suite suite;
  region_bench::add_native<Character, bc::vector<std::uint32_t>, How>(suite);
  return suite.serve(count, values);
}
