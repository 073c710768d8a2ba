// A game::Bazaar with values in every container, as in spec/vectors/region_schema.py.
#pragma once

#include <array>
#include <cstdint>
#include <limits>
#include <string>

#include "bazaar.hpp"

namespace situ_test {

inline void set(auto& item, std::uint32_t id, std::uint32_t number, std::uint64_t uuid,
                std::uint64_t timestamp) {
  item.id = id;
  item.number = number;
  item.uuid = uuid;
  item.timestamp = timestamp;
}

/// The values of BAZAAR_VALUE in spec/vectors/region_schema.py.
inline void fill(game::Bazaar& b) {
  for (std::uint32_t i = 0; i < 505; ++i) b.index.insert(i * i % 1009);
  for (int i = 0; i < 40; ++i) b.words.insert("word " + std::to_string(i * 7 % 40) + " of forty");
  for (std::uint32_t i = 0; i < 100; ++i) b.prices.emplace("price " + std::to_string(i), i, i, i, i);
  b.shape.set_label("a label of some length", 3);
  b.shapes.emplace_back().set_radius(2.5F);
  b.shapes.emplace_back().set_label("short");
  b.shapes.emplace_back().set_points(std::array<float, 3>{1, 2, 3}, -4);
  b.shapes.emplace_back().select(0);
  b.choices[0].select(18446744073709551615ULL);
  b.choices[0].inner().text = "boxed in";
  b.choices[0].inner().numbers.push_back(5);
  b.choices[1].select(7);
  b.sound.select(game::Tone::SHRILL);
  b.sound.where().x = 1;
  b.sound.where().y = 2;
  b.sound.where().z = 3;
  b.sounds.emplace_back().set_level(11);
  b.sounds.emplace_back().select(game::Tone::QUIET);
  b.letter.select('b');
  b.letter.items().emplace("a sword of steel", 9, 8, 7, 6);
  b.flag.set_text("flagged with a long text");
  b.by_number[3].set_label("three");
  b.by_number[1].set_radius(0.5F);
  b.maybe.emplace().set_label("perhaps it is long");
  b.far.emplace().set_radius(4.0F);
  auto& texture = b.texture.emplace();
  texture.name = "oak with long grain";
  auto& grain = texture.grain.emplace();
  grain.text = "the grain that both have";
  grain.numbers = std::array<std::int16_t, 2>{3, 1};
  b.textures.emplace_back().name = "wood";
  b.textures.emplace_back().name = "bare";
  b.textures[0].grain.share(b.texture->grain);
  set(b.blade.base.base, 1, 2, 3, 4);
  b.blade.base.level = 5;
  b.blade.base.attributes.push_back(6);
  b.blade.edge = 7;
}

/// The values of CUPBOARD_VALUE in spec/vectors/region_schema.py.
inline void fill(game::Cupboard& c) {
  using limits = std::numeric_limits<double>;
  c.angles = {1.5, limits::quiet_NaN(), -0.0, -limits::infinity(), 0.0, -2.5};
  c.marks = {std::numeric_limits<float>::quiet_NaN(), 0.0F, -0.0F};
  for (int i = 0; i < 9; ++i) c.marks.insert(static_cast<float>(i) * 1.5F - 8);
  c.letters = {'z', '\xE9', 'A'};
  c.doors = {true, false};
  c.runes = {u'\u20AC', u'A'};
  c.signs = {{true, "open"}, {false, "closed for today"}};
  c.prices = {{'b', 0.5F}, {'\xFC', -1.5F}, {'a', 2.0F}};
  c.tides = {{6.25, "high"}, {-0.0, "none"}, {-limits::infinity(), "the lowest of all tides"}};
  for (int i = 0; i < 10; ++i) c.stock.try_emplace(static_cast<float>(i) * 0.5F - 2, i);
}

}  // namespace situ_test
