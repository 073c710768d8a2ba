// The data set `world` as a region, read from the image that the Rust program writes
// (region/src/systems/situ_world.rs). Types and bytes are the same.
#pragma once

#include <algorithm>
#include <string>

#include "situ_sets.hpp"

namespace region_bench::sets {

template <class T>
using Shared = situ::region_shared<T>;

struct Faction {
  Text name, motto;
  std::uint32_t members;
  Vector<Text> allies;
};
SITU_REGION(Faction, name, motto, members, allies)
struct Monster {
  std::uint32_t level;
  Vector<std::uint32_t> loot;
};
SITU_REGION(Monster, level, loot)
struct Thing {
  float weight;
  std::uint32_t price;
};
SITU_REGION(Thing, weight, price)
using Kind = situ::region_union<"Kind", std::uint8_t, situ::region_case<"monster", Monster, 0>,
                                situ::region_case<"thing", Thing, 1>, situ::region_case<"scenery", Text, 2>>;
namespace world {
struct Entity {
  Text name;
  std::array<float, 3> position;
  std::uint32_t health;
  Maybe<Text> title;
  Vector<Text> tags;
  situ::region_sorted_map<Text, Vector<std::uint64_t>> relations;
  Kind kind;
  Shared<Faction> faction;
  Maybe<std::uint64_t> owner;
};
SITU_REGION(Entity, name, position, health, title, tags, relations, kind, faction, owner)
}  // namespace world
struct Site {
  Text name;
  Vector<std::uint64_t> entities;
  Vector<Site> sites;
};
SITU_REGION(Site, name, entities, sites)
struct World {
  Text name;
  situ::region_hash_map<std::uint64_t, world::Entity> entities;
  situ::region_hash_map<Text, std::uint64_t> names;
  situ::region_ordered_map<Text, situ::region_sorted_map<Text, Vector<Text>>> lore;
  Vector<Shared<Faction>> factions;
  Site root;
};
SITU_REGION(World, name, entities, names, lore, factions, root)

inline std::uint64_t sum_site(const Site& of) {
  std::uint64_t ids = 0;
  for (const std::uint64_t id : of.entities) ids ^= id;
  std::uint64_t total = of_text(of.name.view()) + ids;
  for (const Site& each : of.sites) total += sum_site(each);
  return total;
}

inline std::uint64_t sum_texts(const Vector<Text>& of) {
  std::uint64_t total = 0;
  for (const Text& each : of) total += of_text(each.view());
  return total;
}

struct OfKind {
  std::uint64_t operator()(const Monster& of) const {
    std::uint64_t total = of.level;
    for (const std::uint32_t each : of.loot) total += each;
    return total;
  }
  std::uint64_t operator()(const Thing& of) const { return of.price; }
  std::uint64_t operator()(const Text& of) const { return of_text(of.view()); }
};

inline std::uint64_t walk(const World& of) {
  std::uint64_t total = of_text(of.name.view()) + sum_site(of.root);
  for (const auto& [id, it] : of.entities) {
    total += id + of_text(it.name.view()) + it.health + std::bit_cast<std::uint32_t>(it.position[2]);
    if (it.title) total += of_text(it.title->view());
    total += sum_texts(it.tags) + (it.owner ? *it.owner : 1);
    for (const auto& [relation, to] : it.relations) {
      total += of_text(relation);
      for (const std::uint64_t each : to) total += each;
    }
    total += it.kind.visit(OfKind{});
    if (it.faction) total += it.faction->members;
  }
  for (const auto& [name, id] : of.names) total += of_text(name) + id;
  for (const auto& [title, book] : of.lore) {
    total += of_text(title);
    for (const auto& [chapter, lines] : book) total += of_text(chapter) + sum_texts(lines);
  }
  return total;
}

// Names in a random order, half of them missing.
inline std::vector<std::string> wanted_names(const World& of) {
  std::vector<std::string> all;
  for (const auto& [name, id] : of.names) {
    if (all.size() >= of.names.size()) break;
    all.emplace_back(name);
    all.emplace_back(std::string(name) + "0");
  }
  Random random(1);
  for (std::size_t i = all.size() - 1; i > 0; --i) std::swap(all[i], all[random.bits() % (i + 1)]);
  return all;
}

inline std::uint64_t look_up(const World& of, const std::vector<std::string>& wanted) {
  std::uint64_t total = 0;
  for (const std::string& name : wanted) {
    const auto found = of.names.find(name);
    if (found == of.names.end()) continue;
    const auto entity = of.entities.find(found->second);
    if (entity != of.entities.end()) total += entity->second.health;
  }
  return total;
}

inline void add_world(Suite& suite) {
  static constexpr situ::region_options options{.limit = 512U << 20U};
  const auto image = std::make_shared<std::unique_ptr<Image>>();
  const auto bytes = [image](const Parameters& parameters) {
    if (!*image) *image = std::make_unique<Image>(parameters.text("image"));
    return (*image)->bytes();
  };
  const auto root = [bytes](const Parameters& parameters) {
    const auto seen = situ::view_region<World>(bytes(parameters));
    if (!seen) bench::fail(seen.error().message());
    return *seen;
  };
  suite.add("world/validate", [bytes](const Parameters& parameters) {
    const auto of = bytes(parameters);
    return timed_whole(parameters, [of] {
      const auto seen = situ::view_region<World>(of);
      if (!seen) bench::fail(seen.error().message());
      keep(*seen);
    });
  });
  suite.add("world/read", [root](const Parameters& parameters) {
    const World* const of = root(parameters);
    return timed_whole(parameters, [&] { keep(walk(*of)); });
  });
  suite.add("world/look_up", [root](const Parameters& parameters) {
    const World* const of = root(parameters);
    const auto wanted = wanted_names(*of);
    return timed_whole(parameters, [&] { keep(look_up(*of, wanted)); });
  });
  // Receives, checks, changes 1,000 entities and sends.
  suite.add("world/send", [bytes, root](const Parameters& parameters) {
    std::vector<std::uint64_t> changed;
    for (const auto& [id, entity] : root(parameters)->entities) changed.push_back(id);
    for (std::size_t i = 0; i < changed.size() / 100; ++i) changed[i] = changed[100 * i];
    changed.resize(changed.size() / 100);
    return timed_whole(parameters, [&] {
      auto region = adopted<World>(bytes(parameters), options);
      for (const std::uint64_t id : changed) {
        world::Entity& it = region->entities.at(id);
        it.health /= 2;
        it.tags.push_back("changed by the last turn");
      }
      keep(region.bytes());
    });
  });
  add_packed<World>(suite, "world", bytes, options);
}

}  // namespace region_bench::sets
