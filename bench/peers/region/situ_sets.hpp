// The data sets as regions, read from the images that the Rust program writes
// (region/src/systems/situ_sets.rs). Types and bytes are the same.
#pragma once

#include <fstream>

#include "situ/region.hpp"
#include "situ/region/packed.hpp"
#include "suite.hpp"

namespace region_bench::sets {

template <class T>
using Vector = situ::region_vector<T>;
template <class T>
using Maybe = situ::region_optional<T>;
using Text = situ::region_string;

struct Address {
  std::uint8_t x0, x1, x2, x3;
};
SITU_REGION(Address, x0, x1, x2, x3)
struct Log {
  Address address;
  Text identity, userid, date, request;
  std::uint16_t code;
  std::uint64_t size;
};
SITU_REGION(Log, address, identity, userid, date, request, code, size)
struct Logs {
  Vector<Log> logs;
};
SITU_REGION(Logs, logs)

struct Vector3 {
  float x, y, z;
};
SITU_REGION(Vector3, x, y, z)
struct Triangle {
  Vector3 v0, v1, v2, normal;
};
SITU_REGION(Triangle, v0, v1, v2, normal)
struct Mesh {
  Vector<Triangle> triangles;
};
SITU_REGION(Mesh, triangles)

struct Item {
  std::int8_t count;
  std::uint8_t slot;
  Text id;
};
SITU_REGION(Item, count, slot, id)
struct Abilities {
  float walk_speed, fly_speed;
  std::array<bool, 5> flags;
};
SITU_REGION(Abilities, walk_speed, fly_speed, flags)
struct Entity {
  Text id;
  std::array<double, 3> pos, motion;
  std::array<float, 2> rotation;
  float fall_distance;
  std::uint16_t fire, air;
  bool on_ground, no_gravity, invulnerable;
  std::int32_t portal_cooldown;
  std::array<std::uint32_t, 4> uuid;
  Maybe<Text> custom_name;
  bool custom_name_visible, silent, glowing;
};
SITU_REGION(Entity, id, pos, motion, rotation, fall_distance, fire, air, on_ground, no_gravity, invulnerable,
            portal_cooldown, uuid, custom_name, custom_name_visible, silent, glowing)
struct RecipeBook {
  Vector<Text> recipes, to_be_displayed;
  std::array<bool, 8> flags;
};
SITU_REGION(RecipeBook, recipes, to_be_displayed, flags)
struct Vehicle {
  std::array<std::uint32_t, 4> uuid;
  Entity entity;
};
SITU_REGION(Vehicle, uuid, entity)
struct Player {
  std::uint8_t game_type, previous_game_type;
  std::int64_t score;
  Text dimension;
  std::uint32_t selected_item_slot;
  Item selected_item;
  Maybe<Text> spawn_dimension;
  std::array<std::int64_t, 3> spawn;
  Maybe<bool> spawn_forced;
  std::uint16_t sleep_timer;
  float food_exhaustion_level, food_saturation_level;
  std::uint32_t food_tick_timer, xp_level;
  float xp_p;
  std::int32_t xp_total, xp_seed;
  Vector<Item> inventory, ender_items;
  Abilities abilities;
  Maybe<std::array<double, 3>> entered_nether_position;
  Maybe<Vehicle> root_vehicle;
  Maybe<Entity> shoulder_entity_left, shoulder_entity_right;
  bool seen_credits;
  RecipeBook recipe_book;
};
SITU_REGION(Player, game_type, previous_game_type, score, dimension, selected_item_slot, selected_item,
            spawn_dimension, spawn, spawn_forced, sleep_timer, food_exhaustion_level, food_saturation_level,
            food_tick_timer, xp_level, xp_p, xp_total, xp_seed, inventory, ender_items, abilities,
            entered_nether_position, root_vehicle, shoulder_entity_left, shoulder_entity_right, seen_credits,
            recipe_book)
struct Players {
  Vector<Player> players;
};
SITU_REGION(Players, players)

struct Transform {
  std::int8_t altitude;
  std::uint16_t angle;
  std::array<float, 2> position;
  std::int16_t velocity;
};
SITU_REGION(Transform, altitude, angle, position, velocity)
struct Guidance {
  std::uint16_t angle;
  bool submerge;
  std::int16_t velocity;
};
SITU_REGION(Guidance, angle, submerge, velocity)
struct Contact {
  std::uint8_t damage;
  std::uint32_t entity_id;
  Maybe<std::uint8_t> entity_type;
  Guidance guidance;
  Maybe<std::uint16_t> player_id;
  Vector<bool> reloads;
  Transform transform;
  Vector<std::uint16_t> turret_angles;
};
SITU_REGION(Contact, damage, entity_id, entity_type, guidance, player_id, reloads, transform, turret_angles)
struct Terrain {
  std::array<std::int8_t, 2> chunk_id;
  Vector<std::uint8_t> data;
};
SITU_REGION(Terrain, chunk_id, data)
struct Update {
  Vector<Contact> contacts;
  std::uint32_t score;
  float world_radius;
  Vector<Terrain> terrain_updates;
};
SITU_REGION(Update, contacts, score, world_radius, terrain_updates)
struct Updates {
  Vector<Update> updates;
};
SITU_REGION(Updates, updates)

struct Words {
  Vector<Text> words;
};
SITU_REGION(Words, words)

// Reads an image from a file, aligned to 64 bytes.
class Image {
 public:
  explicit Image(const std::string& path) {
    std::ifstream file(path, std::ios::binary | std::ios::ate);
    if (!file) bench::fail("cannot read " + path);
    size_ = static_cast<std::size_t>(file.tellg());
    memory_.reset(static_cast<std::byte*>(std::aligned_alloc(64, (size_ + 63) / 64 * 64)));
    if (!memory_) bench::fail("no memory for " + path);
    file.seekg(0);
    if (!file.read(reinterpret_cast<char*>(memory_.get()), static_cast<std::streamsize>(size_)))
      bench::fail("cannot read " + path);
  }
  [[nodiscard]] std::span<std::byte> bytes() const { return {memory_.get(), size_}; }

 private:
  struct Free {
    void operator()(std::byte* memory) const { std::free(memory); }
  };
  std::unique_ptr<std::byte, Free> memory_;
  std::size_t size_ = 0;
};

// The part of a text in a sum: its length, and its last byte.
inline std::uint64_t of_text(std::string_view text) {
  return text.size() + (text.empty() ? 0 : static_cast<unsigned char>(text.back()));
}

template <class Body>
Samples timed_whole(const Parameters& parameters, Body body) {
  Samples samples;
  for (std::uint64_t round = parameters.number("rounds"); round != 0; --round) {
    const std::uint64_t begin = bench::monotonic_ns();
    body();
    samples.push_back(static_cast<double>(bench::monotonic_ns() - begin));
  }
  return samples;
}

template <class T>
situ::region<T> adopted(std::span<const std::byte> image, const situ::region_options& options) {
  auto made = situ::region<T>::adopt(image, options);
  if (!made) bench::fail(made.error().message());
  return std::move(*made);
}

// The operations on the packed form of a set: written from a region, checked, and made a region again.
// `bytes(parameters)` is the canonical image.
template <class T, class Bytes>
void add_packed(Suite& suite, const std::string& name, Bytes bytes,
                const situ::region_options& options = {}) {
  const auto packed = std::make_shared<std::vector<std::byte>>();
  const auto made = [=](const Parameters& parameters) -> std::span<const std::byte> {
    if (packed->empty()) *packed = situ::packed(adopted<T>(bytes(parameters), options));
    return *packed;
  };
  suite.add(name + "/pack", [=](const Parameters& parameters) {
    const auto region = adopted<T>(bytes(parameters), options);
    std::vector<std::byte> to(region.size());
    return timed_whole(parameters, [&] { keep(situ::packed_to(region, to)); });
  });
  suite.add(name + "/validate_packed", [=](const Parameters& parameters) {
    const auto image = made(parameters);
    return timed_whole(parameters, [&] {
      const auto seen = situ::view_packed<T>(image);
      if (!seen) bench::fail(seen.error().message());
      keep(*seen);
    });
  });
  suite.add(name + "/unpack", [=](const Parameters& parameters) {
    const auto image = made(parameters);
    return timed_whole(parameters, [&] {
      const auto region = situ::adopt_packed<T>(image, options);
      if (!region) bench::fail(region.error().message());
      keep(region->bytes());
    });
  });
}

// The operations on one set. `read` returns a sum of the values, `update` changes numbers in place.
template <class T, class Read, class Update>
void add_set(Suite& suite, const std::string& name, Read read, Update update) {
  const auto image = std::make_shared<std::unique_ptr<Image>>();
  const auto bytes = [image](const Parameters& parameters) {
    if (!*image) *image = std::make_unique<Image>(parameters.text("image"));
    return (*image)->bytes();
  };
  const auto root = [bytes](const Parameters& parameters) {
    return reinterpret_cast<T*>(bytes(parameters).data() + situ::region_detail::root_offset);
  };
  suite.add(name + "/validate", [bytes](const Parameters& parameters) {
    const auto of = bytes(parameters);
    return timed_whole(parameters, [of] {
      const auto seen = situ::view_region<T>(of);
      if (!seen) bench::fail(seen.error().message());
      keep(*seen);
    });
  });
  suite.add(name + "/read", [root, read](const Parameters& parameters) {
    const T* const of = root(parameters);
    return timed_whole(parameters, [&] { keep(read(*of)); });
  });
  suite.add(name + "/update", [root, update](const Parameters& parameters) {
    T* const of = root(parameters);
    return timed_whole(parameters, [&] {
      update(*of);
      keep(*of);
    });
  });
  add_packed<T>(suite, name, bytes);
}

inline void add_all(Suite& suite) {
  add_set<Logs>(
      suite, "log",
      [](const Logs& data) {
        std::uint64_t total = 0;
        for (const Log& each : data.logs) {
          total += std::bit_cast<std::uint32_t>(each.address) + each.code + each.size;
        }
        return total;
      },
      [](Logs& data) {
        for (Log& each : data.logs) {
          each.address = {0, 0, 0, 0};
          each.code = 200;
          each.size = 0;
        }
      });
  add_set<Mesh>(
      suite, "mesh",
      [](const Mesh& data) {
        std::uint64_t total = 0;
        for (const Triangle& each : data.triangles) {
          total += sum(each.normal.x) + sum(each.normal.y) + sum(each.normal.z);
        }
        return total;
      },
      [](Mesh& data) {
        for (Triangle& each : data.triangles) each.normal = {0, 0, 0};
      });
  add_set<Players>(
      suite, "minecraft_savedata",
      [](const Players& data) {
        std::uint64_t total = 0;
        for (const Player& each : data.players) total += each.game_type;
        return total;
      },
      [](Players& data) {
        for (Player& each : data.players) {
          each.game_type = 0;
          each.spawn = {0, 0, 0};
        }
      });
  add_set<Updates>(
      suite, "mk48",
      [](const Updates& data) {
        std::uint64_t total = 0;
        for (const Update& each : data.updates) total += each.score;
        return total;
      },
      [](Updates& data) {
        for (Update& each : data.updates) each.score *= 2;
      });
  add_set<Words>(
      suite, "words",
      [](const Words& data) {
        std::uint64_t total = 0;
        for (const Text& each : data.words) total += of_text(each.view());
        return total;
      },
      [](Words&) {});
}

}  // namespace region_bench::sets
