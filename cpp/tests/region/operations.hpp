// Each operation of the containers of a region that needs memory, in its throwing form and in the form that
// reports failure by its result.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "region/market.hpp"

namespace situ_test {

/// A container of each kind.
struct Everything {
  situ::region_string text;
  situ::region_vector<std::uint32_t> numbers;
  situ::region_vector<situ::region_string> texts;
  situ::region_vector<Equip> equips;
  std::array<situ::region_string, 2> pair;
  Equip equip;
  situ::region_sorted_set<situ::region_string> sorted_set;
  situ::region_hash_set<situ::region_string> hash_set;
  situ::region_ordered_set<situ::region_string> ordered_set;
  situ::region_sorted_map<std::uint32_t, situ::region_string> sorted_map;
  situ::region_hash_map<std::uint32_t, situ::region_string> hash_map;
  situ::region_ordered_map<std::uint32_t, situ::region_string> ordered_map;
  situ::region_sorted_map<std::uint32_t, Blade> blades;
  situ::region_optional<situ::region_string> nickname;
  situ::region_optional<Blade> blade;
  situ::region_unique<Node> tree;
  situ::region_shared<Texture> texture;
  Shape shape;
  situ::region_union<"Held", std::uint8_t, situ::region_case<"nothing", std::uint8_t, 0>,
                     situ::region_case<"equip", Equip, 1>,
                     situ::region_case<"texts", situ::region_vector<situ::region_string>, 2>>
      held;
};
SITU_REGION(Everything, text, numbers, texts, equips, pair, equip, sorted_set, hash_set, ordered_set,
            sorted_map, hash_map, ordered_map, blades, nickname, blade, tree, texture, shape, held)

inline constexpr std::string_view long_text = "a text that needs a block of its own";
inline constexpr std::string_view longer_text =
    "another text, which needs a block of its own that is longer than that of the first one, and longer "
    "still";

/// Fills each container with a few elements.
inline void fill(Everything& all) {
  all.text = long_text;
  all.numbers = {1, 2, 3, 4};
  for (const char* each : {"short", "a text in the vector"}) all.texts.emplace_back(each);
  all.equips.resize(2);
  all.equips[1].attributes = {1, 2};
  all.pair[1] = long_text;
  all.equip.level = 7;
  all.equip.attributes = {1, 2, 3};
  const std::set<std::string> keys{"one", "a key that needs a block"};
  all.sorted_set = keys;
  all.hash_set = keys;
  all.ordered_set = keys;
  const std::map<std::uint32_t, std::string> entries{{1, "one"}, {2, "the value of the second entry"}};
  all.sorted_map = entries;
  all.hash_map = entries;
  all.ordered_map = entries;
  all.blades.emplace(1U).first->second.attributes = {1, 2, 3};
  all.nickname.emplace(long_text);
  all.blade.emplace();
  all.blade->attributes = {1, 2};
  all.tree.emplace(5).children.emplace_back(6);
  all.texture.emplace(long_text);
  all.shape.emplace<"label">(2, long_text);
  all.held.emplace<"equip">(1);
  all.held.get<"equip">().attributes = {4, 5};
}

/// Takes all free granules.
inline void use_up(situ::region<Everything>& r) {
  auto* const h = const_cast<situ::region_detail::header*>(
      reinterpret_cast<const situ::region_detail::header*>(r.bytes().data()));
  while (situ::region_detail::allocate(h, situ::region_detail::granule) != nullptr) {
  }
}

/// The sources of the operations. They are larger than the remaining room, in another region and on the heap.
struct Source {
  situ::region<Everything> region;
  std::vector<std::uint32_t> numbers = std::vector<std::uint32_t>(100, 9);
  std::vector<std::string> texts = std::vector<std::string>(20, std::string(longer_text));
  std::set<std::string> keys;
  std::map<std::uint32_t, std::string> entries;
  std::map<std::uint32_t, std::string> values{{1, std::string(longer_text)}};

  Source() {
    for (std::uint32_t i = 10; i < 60; ++i) {
      keys.insert(std::string(longer_text) + std::to_string(i));
      entries[i] = std::string(longer_text);
    }
    Everything& all = *region;
    fill(all);
    all.text = longer_text;
    all.numbers = numbers;
    all.texts = texts;
    all.equips.resize(30);
    all.equip.attributes = std::vector<float>(100, 1);
    all.pair = {};
    all.pair[0] = long_text;
    all.pair[1] = longer_text;
    all.sorted_set = keys;
    all.hash_set = keys;
    all.ordered_set = keys;
    all.sorted_map = entries;
    all.hash_map = entries;
    all.ordered_map = entries;
    all.blades.at(1).attributes = std::vector<float>(100, 1);
    all.nickname = longer_text;
    all.blade->attributes = std::vector<float>(100, 1);
    for (int i = 0; i < 30; ++i) all.tree->children.emplace_back(i);
    all.texture->name = longer_text;
    all.shape.emplace<"points">(9, numbers);
    all.held.get<"equip">().attributes = std::vector<float>(100, 1);
  }
};

/// Calls `visit(name, trying, throwing)` with each operation in both forms. All of them need memory.
template <class Visit>
void for_each_operation(const Source& from, const Visit& visit) {
  const Everything& other = *from.region;
  const auto strings = [&](auto name, auto member) {
    const std::string what = name;
    visit(
        what + " assign", [=](auto& a) { return member(a).try_assign(longer_text); },
        [=](auto& a) { member(a) = longer_text; });
    visit(
        what + " append", [=](auto& a) { return member(a).try_append(longer_text); },
        [=](auto& a) { member(a) += longer_text; });
    visit(
        what + " insert", [=](auto& a) { return member(a).try_insert(2, longer_text); },
        [=](auto& a) { member(a).insert(2, longer_text); });
    visit(
        what + " replace", [=](auto& a) { return member(a).try_replace(1, 3, longer_text); },
        [=](auto& a) { member(a).replace(1, 3, longer_text); });
    visit(
        what + " resize", [=](auto& a) { return member(a).try_resize(200, 'z'); },
        [=](auto& a) { member(a).resize(200, 'z'); });
    visit(
        what + " assign copies", [=](auto& a) { return member(a).try_assign(200, 'z'); },
        [=](auto& a) { member(a).assign(200, 'z'); });
    visit(
        what + " append copies", [=](auto& a) { return member(a).try_append(200, 'z'); },
        [=](auto& a) { member(a).append(200, 'z'); });
    visit(
        what + " reserve", [=](auto& a) { return member(a).try_reserve(200); },
        [=](auto& a) { member(a).reserve(200); });
  };
  strings(
      "string", [](auto& a) -> auto& { return a.text; });
  strings(
      "string in an array", [](auto& a) -> auto& { return a.pair[1]; });
  visit(
      "string push_back",
      [](auto& a) {
        for (int i = 0; i < 100; ++i) {
          if (!a.text.try_push_back('c')) {
            a.text.erase(a.text.size() - static_cast<std::size_t>(i));
            return false;
          }
        }
        return true;
      },
      [](auto& a) {
        for (int i = 0; i < 100; ++i) a.text.push_back('c');
      });

  visit(
      "vector emplace_back", [](auto& a) { return a.numbers.try_emplace_back(7U) != nullptr; },
      [](auto& a) { a.numbers.emplace_back(7U); });
  visit(
      "vector push_back", [](auto& a) { return a.numbers.try_push_back(7U); },
      [](auto& a) { a.numbers.push_back(7U); });
  visit(
      "vector push_back of what is stored", [](auto& a) { return a.texts.try_push_back(longer_text); },
      [](auto& a) { a.texts.push_back(longer_text); });
  visit(
      "vector emplace",
      [](auto& a) { return a.texts.try_emplace(a.texts.begin() + 1, long_text) != nullptr; },
      [](auto& a) { a.texts.emplace(a.texts.begin() + 1, long_text); });
  visit(
      "vector insert", [](auto& a) { return a.numbers.try_insert(a.numbers.begin(), 8U); },
      [](auto& a) { a.numbers.insert(a.numbers.begin(), 8U); });
  visit(
      "vector insert of copies", [](auto& a) { return a.texts.try_insert(a.texts.begin(), 9, a.texts[1]); },
      [](auto& a) { a.texts.insert(a.texts.begin(), 9, a.texts[1]); });
  visit(
      "vector insert between iterators",
      [&](auto& a) {
        return a.numbers.try_insert(a.numbers.begin() + 1, from.numbers.begin(), from.numbers.end());
      },
      [&](auto& a) { a.numbers.insert(a.numbers.begin() + 1, from.numbers.begin(), from.numbers.end()); });
  visit(
      "vector insert of a list",
      [](auto& a) {
        return a.numbers.try_insert(a.numbers.begin(), {8U, 9U});
      },
      [](auto& a) {
        a.numbers.insert(a.numbers.begin(), {8U, 9U});
      });
  visit(
      "vector insert_range",
      [&](auto& a) { return a.texts.try_insert_range(a.texts.begin() + 1, from.texts); },
      [&](auto& a) { a.texts.insert_range(a.texts.begin() + 1, from.texts); });
  visit(
      "vector append_range", [&](auto& a) { return a.equips.try_append_range(other.equips); },
      [&](auto& a) { a.equips.append_range(other.equips); });
  visit(
      "vector resize", [](auto& a) { return a.equips.try_resize(50); }, [](auto& a) { a.equips.resize(50); });
  visit(
      "vector resize to copies", [](auto& a) { return a.texts.try_resize(5, a.texts[1]); },
      [](auto& a) { a.texts.resize(5, a.texts[1]); });
  visit(
      "vector insert of text", [](auto& a) { return a.texts.try_insert(a.texts.begin(), longer_text); },
      [](auto& a) { a.texts.insert(a.texts.begin(), longer_text); });
  visit(
      "vector of strings = list",
      [](auto& a) {
        return a.texts.try_assign({"one", longer_text});
      },
      [](auto& a) {
        a.texts = {"one", longer_text};
      });
  visit(
      "vector reserve", [](auto& a) { return a.numbers.try_reserve(100); },
      [](auto& a) { a.numbers.reserve(100); });
  visit(
      "vector assign_range", [&](auto& a) { return a.texts.try_assign_range(from.texts); },
      [&](auto& a) { a.texts.assign_range(from.texts); });
  visit(
      "vector = range", [&](auto& a) { return a.texts.try_assign(from.texts); },
      [&](auto& a) { a.texts = from.texts; });
  visit(
      "vector = vector of another region", [&](auto& a) { return a.equips.try_assign(other.equips); },
      [&](auto& a) { a.equips = other.equips; });
  visit(
      "vector = list",
      [](auto& a) {
        return a.numbers.try_assign({1U, 2U, 3U, 4U, 5U});
      },
      [](auto& a) {
        a.numbers = {1U, 2U, 3U, 4U, 5U};
      });
  visit(
      "vector assign copies", [](auto& a) { return a.texts.try_assign(7, a.texts[1]); },
      [](auto& a) { a.texts.assign(7, a.texts[1]); });
  visit(
      "vector assign between iterators",
      [&](auto& a) { return a.texts.try_assign(from.texts.begin(), from.texts.end()); },
      [&](auto& a) { a.texts.assign(from.texts.begin(), from.texts.end()); });

  visit(
      "struct = struct", [&](auto& a) { return situ::try_assign(a.equip, other.equip); },
      [&](auto& a) { a.equip = other.equip; });
  visit(
      "struct = struct as a whole", [&](auto& a) { return situ::try_assign(a.equip, other.equip); },
      [&](auto& a) { situ::assign(a.equip, other.equip); });
  visit(
      "struct in a vector = another one", [](auto& a) { return situ::try_assign(a.equips[0], a.equips[1]); },
      [](auto& a) { a.equips[0] = a.equips[1]; });
  visit(
      "array = array", [&](auto& a) { return situ::try_assign(a.pair, other.pair); },
      [&](auto& a) { a.pair = other.pair; });
  visit(
      "whole = whole", [&](auto& a) { return situ::try_assign(a, other); }, [&](auto& a) { a = other; });

  const auto sets = [&](auto name, auto member) {
    const std::string what = name;
    visit(
        what + " insert", [=](auto& a) { return member(a).try_insert(longer_text).first != nullptr; },
        [=](auto& a) { member(a).insert(longer_text); });
    visit(
        what + " insert_range", [=, &from](auto& a) { return member(a).try_insert_range(from.keys); },
        [=, &from](auto& a) { member(a).insert_range(from.keys); });
    visit(
        what + " insert between iterators",
        [=, &from](auto& a) { return member(a).try_insert(from.keys.begin(), from.keys.end()); },
        [=, &from](auto& a) { member(a).insert(from.keys.begin(), from.keys.end()); });
    visit(
        what + " insert of a list",
        [=](auto& a) {
          return member(a).try_insert({"one", longer_text});
        },
        [=](auto& a) {
          member(a).insert({"one", longer_text});
        });
    visit(
        what + " = list",
        [=](auto& a) {
          return member(a).try_assign({"one", longer_text});
        },
        [=](auto& a) {
          member(a) = {"one", longer_text};
        });
    visit(
        what + " insert with a hint",
        [=](auto& a) { return member(a).try_insert(longer_text).first != nullptr; },
        [=](auto& a) { member(a).insert(member(a).begin(), longer_text); });
    visit(
        what + " = range", [=, &from](auto& a) { return member(a).try_assign(from.keys); },
        [=, &from](auto& a) { member(a) = from.keys; });
    visit(
        what + " = set of another region",
        [=, &other](auto& a) { return member(a).try_assign(member(other)); },
        [=, &other](auto& a) { member(a) = member(other); });
  };
  sets(
      "sorted set", [](auto& a) -> auto& { return a.sorted_set; });
  sets(
      "hash set", [](auto& a) -> auto& { return a.hash_set; });
  sets(
      "ordered set", [](auto& a) -> auto& { return a.ordered_set; });

  const auto maps = [&](auto name, auto member) {
    const std::string what = name;
    visit(
        what + " emplace", [=](auto& a) { return member(a).try_insert(9U, longer_text).first != nullptr; },
        [=](auto& a) { member(a).emplace(9U, longer_text); });
    visit(
        what + " insert", [=](auto& a) { return member(a).try_insert(8U, longer_text).first != nullptr; },
        [=](auto& a) { member(a).insert(std::pair(8U, longer_text)); });
    visit(
        what + " insert of an entry",
        [=](auto& a) {
          return member(a).try_insert({8U, longer_text}).first != nullptr;
        },
        [=](auto& a) {
          member(a).insert({8U, longer_text});
        });
    visit(
        what + " insert of a list",
        [=](auto& a) {
          return member(a).try_insert({{1U, "kept"}, {8U, longer_text}});
        },
        [=](auto& a) {
          member(a).insert({{1U, "kept"}, {8U, longer_text}});
        });
    visit(
        what + " insert with a hint",
        [=](auto& a) { return member(a).try_insert(std::pair(8U, longer_text)).first != nullptr; },
        [=](auto& a) { member(a).insert(member(a).begin(), std::pair(8U, longer_text)); });
    visit(
        what + " = list",
        [=](auto& a) {
          return member(a).try_assign({{8U, longer_text}});
        },
        [=](auto& a) {
          member(a) = {{8U, longer_text}};
        });
    visit(
        what + " []", [=](auto& a) { return member(a).try_insert(7U).first != nullptr; },
        [=](auto& a) { static_cast<void>(member(a)[7U]); });
    visit(
        what + " insert_or_assign", [=](auto& a) { return member(a).try_insert_or_assign(1U, longer_text); },
        [=](auto& a) { member(a).insert_or_assign(1U, longer_text); });
    visit(
        what + " insert_range", [=, &from](auto& a) { return member(a).try_insert_range(from.entries); },
        [=, &from](auto& a) { member(a).insert_range(from.entries); });
    visit(
        what + " insert between iterators",
        [=, &from](auto& a) { return member(a).try_insert(from.entries.begin(), from.entries.end()); },
        [=, &from](auto& a) { member(a).insert(from.entries.begin(), from.entries.end()); });
    visit(
        what + " = range", [=, &from](auto& a) { return member(a).try_assign(from.entries); },
        [=, &from](auto& a) { member(a) = from.entries; });
    visit(
        what + " = map of another region",
        [=, &other](auto& a) { return member(a).try_assign(member(other)); },
        [=, &other](auto& a) { member(a) = member(other); });
  };
  maps(
      "sorted map", [](auto& a) -> auto& { return a.sorted_map; });
  maps(
      "hash map", [](auto& a) -> auto& { return a.hash_map; });
  maps(
      "ordered map", [](auto& a) -> auto& { return a.ordered_map; });
  visit(
      "sorted map reserve", [](auto& a) { return a.sorted_map.try_reserve(100); },
      [](auto& a) { a.sorted_map.reserve(100); });
  visit(
      "sorted set reserve", [](auto& a) { return a.sorted_set.try_reserve(100); },
      [](auto& a) { a.sorted_set.reserve(100); });
  visit(
      "hash map reserve", [](auto& a) { return a.hash_map.try_reserve(100); },
      [](auto& a) { a.hash_map.reserve(100); });
  visit(
      "hash set reserve", [](auto& a) { return a.hash_set.try_reserve(100); },
      [](auto& a) { a.hash_set.reserve(100); });
  visit(
      "map of structs insert_or_assign",
      [&](auto& a) { return a.blades.try_insert_or_assign(1U, other.blades.at(1)); },
      [&](auto& a) { a.blades.insert_or_assign(1U, other.blades.at(1)); });

  visit(
      "optional = value", [](auto& a) { return a.nickname.try_assign(longer_text); },
      [](auto& a) { a.nickname = longer_text; });
  visit(
      "optional = optional of the heap",
      [](auto& a) { return a.nickname.try_assign(std::optional<std::string_view>(longer_text)); },
      [](auto& a) { a.nickname = std::optional<std::string_view>(longer_text); });
  visit(
      "optional = optional of another region", [&](auto& a) { return a.blade.try_assign(other.blade); },
      [&](auto& a) { a.blade = other.blade; });
  visit(
      "optional = struct", [&](auto& a) { return a.blade.try_assign(*other.blade); },
      [&](auto& a) { a.blade = *other.blade; });
  visit(
      "optional emplace", [](auto& a) { return a.nickname.try_emplace(longer_text) != nullptr; },
      [](auto& a) { a.nickname.emplace(longer_text); });
  visit(
      "unique = unique of another region", [&](auto& a) { return a.tree.try_assign(other.tree); },
      [&](auto& a) { a.tree = other.tree; });
  visit(
      "unique emplace", [](auto& a) { return a.tree.try_emplace(3) != nullptr; },
      [](auto& a) { a.tree.emplace(3); });
  visit(
      "shared = shared of another region", [&](auto& a) { return a.texture.try_assign(other.texture); },
      [&](auto& a) { a.texture = other.texture; });
  visit(
      "shared share", [&](auto& a) { return a.texture.try_share(other.texture); },
      [&](auto& a) { a.texture.share(other.texture); });
  visit(
      "shared emplace", [](auto& a) { return a.texture.try_emplace(longer_text) != nullptr; },
      [](auto& a) { a.texture.emplace(longer_text); });
  visit(
      "union = union with another member", [&](auto& a) { return a.shape.try_assign(other.shape); },
      [&](auto& a) { a.shape = other.shape; });
  visit(
      "union = union with the same member", [&](auto& a) { return a.held.try_assign(other.held); },
      [&](auto& a) { a.held = other.held; });
  visit(
      "union emplace",
      [](auto& a) { return a.shape.template try_emplace<"label">(3, longer_text) != nullptr; },
      [](auto& a) { a.shape.template emplace<"label">(3, longer_text); });
}

}  // namespace situ_test
