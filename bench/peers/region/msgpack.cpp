// MessagePack, by way of msgpack-cxx: ordinary containers, packed and unpacked.
#define MSGPACK_NO_BOOST
#include <msgpack.hpp>

#include "suite.hpp"
#include "work.hpp"

namespace {

using region_bench::headroom;

// The same members as elsewhere, with the macros of the library.
struct Skill {
  std::uint32_t id, level;
  MSGPACK_DEFINE(id, level)
};
struct Item {
  std::uint32_t id, number;
  std::uint64_t uuid, timestamp;
  MSGPACK_DEFINE(id, number, uuid, timestamp)
};
struct Position {
  float x, y, z;
  MSGPACK_DEFINE(x, y, z)
};
struct Equip {
  Item base;
  std::uint32_t level;
  std::vector<float> attributes;
  MSGPACK_DEFINE(base, level, attributes)
};
struct Character {
  std::uint64_t id;
  std::string name;
  std::uint32_t level;
  float healthpoint, manapoint, speed;
  Position pos;
  std::map<std::uint64_t, Item> items;
  std::vector<Position> path;
  std::vector<float> attributes;
  std::vector<Equip> equips;
  std::vector<Skill> skills;
  MSGPACK_DEFINE(id, name, level, healthpoint, manapoint, speed, pos, items, path, attributes, equips, skills)
};

Item item_of(const region_bench::Item& i) { return {i.id, i.number, i.uuid, i.timestamp}; }
Position position_of(const region_bench::Position& p) { return {p.x, p.y, p.z}; }

void set_equip(Equip& equip, const region_bench::SourceEquip& from) {
  equip.base = item_of(from.base);
  equip.level = from.level;
  equip.attributes.assign(from.attributes.begin(), from.attributes.end());
}

void fill(Character& c, const region_bench::Source& s) {
  c.id = s.id;
  c.name = s.name_view();
  c.level = s.level;
  c.healthpoint = s.healthpoint;
  c.manapoint = s.manapoint;
  c.speed = s.speed;
  c.pos = position_of(s.pos);
  for (const auto& each : s.items) c.items.emplace_hint(c.items.end(), each.key, item_of(each.value));
  c.path.reserve(s.path.size() + headroom);
  for (const auto& each : s.path) c.path.push_back(position_of(each));
  c.attributes.assign(s.attributes.begin(), s.attributes.end());
  c.equips.resize(s.equips.size());
  for (std::size_t i = 0; i < s.equips.size(); ++i) set_equip(c.equips[i], s.equips[i]);
  for (const auto& each : s.skills) c.skills.push_back({each.id, each.level});
}

std::uint64_t sum_of(const Item& i) { return std::uint64_t{i.id} + i.number + i.uuid + i.timestamp; }
std::uint64_t sum_of(const Position& p) {
  return region_bench::sum(p.x) + region_bench::sum(p.y) + region_bench::sum(p.z);
}
std::uint64_t read(const Character& c) {
  using region_bench::sum;
  std::uint64_t total = c.id + sum(std::string_view(c.name)) + c.level + sum(c.healthpoint) +
                        sum(c.manapoint) + sum(c.speed) + sum_of(c.pos);
  for (const auto& [key, item] : c.items) total += key + sum_of(item);
  for (const Position& each : c.path) total += sum_of(each);
  for (const float each : c.attributes) total += sum(each);
  for (const Equip& each : c.equips) {
    total += sum_of(each.base) + each.level;
    for (const float attribute : each.attributes) total += sum(attribute);
  }
  for (const Skill& each : c.skills) total += std::uint64_t{each.id} + each.level;
  return total;
}

void change(Character& c, const region_bench::Change& by) {
  c.level += 1;
  c.healthpoint -= 1;
  c.manapoint += 1;
  c.speed -= 1;
  c.pos.x += 1;
  c.pos.y -= 1;
  c.pos.z += 1;
  for (std::size_t i = 0; i < by.equips.size(); ++i) set_equip(c.equips[i], by.equips[i]);
  for (const auto& each : by.path) {
    c.path.push_back(position_of(each));
    region_bench::keep(c.path);
    c.path.pop_back();
  }
  c.attributes.push_back(by.attribute);
  region_bench::keep(c.attributes);
  c.attributes.pop_back();
  c.items.emplace(by.item.key, item_of(by.item.value));
  region_bench::keep(c.items);
  c.items.erase(by.item.key);
}

void decode(std::span<const std::byte> bytes, Character& c) {
  const msgpack::object_handle handle =
      msgpack::unpack(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  handle.get().convert(c);
}

}  // namespace

int main(int count, char** values) {
  using namespace region_bench;
  Suite suite;
  const auto packed = std::make_shared<msgpack::sbuffer>(8192);
  const auto pack = [packed](const Character& c) {
    packed->clear();
    msgpack::pack(*packed, c);
    keep(*packed);
  };
  const auto received = std::make_shared<Received>(
      [&](std::size_t i) {
        Character c{};
        fill(c, sources()[i]);
        pack(c);
        return std::string(packed->data(), packed->size());
      },
      std::size_t{64});
  suite.add("sizes", [received](const Parameters&) { return received->sizes(); });
  suite.add("build", [pack](const Parameters& parameters) {
    return timed(parameters, [&pack](std::size_t i) {
      Character c{};
      fill(c, sources()[i]);
      pack(c);
    });
  });
  suite.add("read", [received](const Parameters& parameters) {
    return timed(parameters, [&received](std::size_t i) {
      Character c{};
      decode((*received)[i], c);
      expect_sum(i, read(c));
    });
  });
  suite.add("mutate_send", [received, pack](const Parameters& parameters) {
    return timed(parameters, [&](std::size_t i) {
      Character c{};
      decode((*received)[i], c);
      change(c, changes()[i]);
      pack(c);
    });
  });
  suite.add("decode", [received](const Parameters& parameters) {
    return timed(parameters, [&received](std::size_t i) {
      Character c{};
      decode((*received)[i], c);
      keep(c);
    });
  });
  suite.add("encode", [received, pack](const Parameters& parameters) {
    std::vector<Character> all(message_count);
    for (std::size_t i = 0; i < message_count; ++i) decode((*received)[i], all[i]);
    return timed(parameters, [&](std::size_t i) { pack(all[i]); });
  });
  return suite.serve(count, values);
}
