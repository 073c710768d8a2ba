// Types and values of the vectors market and profile: trees, unions, shared links, bases, and appendable
// structs.
#pragma once

#include <string>

#include "region/character.hpp"

namespace situ_test {

using Shape =
    situ::region_union<"Shape", std::int32_t, situ::region_case<"radius", float, 1>,
                       situ::region_case<"label", situ::region_string, 2, 3>,
                       situ::region_case<"points", situ::region_vector<float>, situ::region_default{}>>;
using Choice = situ::region_union<"Choice", std::uint64_t, situ::region_case<"flag", bool, 1>,
                                  situ::region_case<"big", std::int64_t, 2>>;
using Flagged = situ::region_union<"Flagged", bool, situ::region_case<"number", std::uint8_t, false>,
                                   situ::region_case<"text", situ::region_string, true>>;

struct Texture {
  situ::region_string name;
  situ::region_shared<Texture> base;
};
SITU_REGION(Texture, name, base)

/// A C++ base class. Its tail padding is not reused.
struct Blade : Equip {
  alignas(Equip) std::uint16_t edge;
};
SITU_REGION_DERIVED(Blade, Equip, edge)

struct Market {
  situ::region_ordered_set<std::uint32_t> index;
  situ::region_ordered_set<situ::region_string> words;
  situ::region_ordered_map<situ::region_string, Item> prices;
  situ::region_ordered_map<std::uint8_t, situ::region_string> nothing;
  Shape shape;
  situ::region_vector<Shape> shapes;
  std::array<Choice, 2> choices;
  Flagged flagged;
  situ::region_shared<Texture> texture;
  situ::region_vector<situ::region_shared<Texture>> textures;
  Blade blade;
  situ::region_sorted_map<std::uint8_t, situ::region_shared<Item>> boxed;
};
SITU_REGION(Market, index, words, prices, nothing, shape, shapes, choices, flagged, texture, textures, blade,
            boxed)

inline Item item(std::uint32_t i) { return {i, i, i, i}; }

inline void fill(Market& m) {
  for (std::uint32_t i = 0; i < 505; ++i) m.index.insert(i * i % 1009);
  for (int i = 0; i < 40; ++i) m.words.insert("word " + std::to_string(i * 7 % 40) + " of forty");
  for (std::uint32_t i = 0; i < 100; ++i) m.prices.emplace("price " + std::to_string(i), item(i));
  m.shape.emplace<"label">(3, "a label of some length");
  m.shapes.emplace_back().emplace<"radius">(1, 2.5F);
  m.shapes.emplace_back().emplace<"label">(2, "short");
  m.shapes.emplace_back().emplace<"points">(-4, std::array<float, 3>{1, 2, 3});
  m.shapes.emplace_back();
  m.choices[0].emplace<"big">(2, -1);
  m.choices[1].select(7);
  m.flagged.emplace<"text">(true, "flagged");
  m.textures.resize(4);
  m.textures[0].emplace("wood");
  m.texture.emplace("oak with long grain").base.share(m.textures[0]);
  m.textures[3].share(m.textures[0]);
  m.textures[1].share(m.texture);
  static_cast<Item&>(m.blade.base) = {1, 2, 3, 4};
  m.blade.level = 5;
  m.blade.attributes.push_back(6);
  m.blade.edge = 7;
  m.boxed.reserve(2);  // so that one does not move while the other is assigned
  m.boxed[1].emplace(item(7));
  m.boxed[3] = m.boxed[1];
}

/// The version before members were appended.
namespace before {
struct alignas(8) Record {
  std::uint32_t score;
  std::uint64_t when;
};
SITU_REGION_APPENDABLE(Record, score, when)
struct alignas(8) Profile {
  std::uint64_t id;
  situ::region_string name;
  situ::region_unique<Record> best;
};
SITU_REGION_APPENDABLE(Profile, id, name, best)

inline void fill(Profile& p) {
  p.id = 5;
  p.name = "the name of this profile";
  p.best.emplace(900, 1'700'000'000);
}
}  // namespace before

/// The version after members were appended.
namespace after {
struct alignas(8) Record {
  std::uint32_t score;
  std::uint64_t when;
  situ::region_string by;
};
SITU_REGION_APPENDABLE(Record, score, when, by)
struct alignas(8) Profile {
  std::uint64_t id;
  situ::region_string name;
  situ::region_unique<Record> best;
  std::uint8_t level;
  situ::region_sorted_set<situ::region_string> tags;
  situ::region_shared<Record> rival;
};
SITU_REGION_APPENDABLE(Profile, id, name, best, level, tags, rival)

inline void fill(Profile& p) {
  p.id = 5;
  p.name = "the name of this profile";
  p.best.emplace(900, 1'700'000'000, "somebody with a long name");
  p.level = 3;
  p.tags.insert("quick");
  p.tags.insert("with a longer name");
  p.rival.emplace(901, 1'700'000'001, "me");
}
}  // namespace after

}  // namespace situ_test
