// Cap'n Proto: one reused segment of memory, and accessors. Lists have fixed lengths. To change a character,
// the program decodes it into ordinary containers and encodes these.
#include <capnp/message.h>
#include <capnp/serialize.h>

#include "character.capnp.h"
#include "standard.hpp"
#include "suite.hpp"

namespace {

using namespace region_bench;
namespace cp = region_cp;

template <class B, class S>
void set_item(B to, const S& from) {
  to.setId(from.id);
  to.setNumber(from.number);
  to.setUuid(from.uuid);
  to.setTimestamp(from.timestamp);
}
template <class B>
void set_position(B to, const Position& from) {
  to.setX(from.x);
  to.setY(from.y);
  to.setZ(from.z);
}
template <class B, class F>
void set_floats(B to, const F& from) {
  for (unsigned i = 0; i < to.size(); ++i) to.set(i, from[i]);
}
const SourceItem& entry_of(const SourceItem& item) { return item; }
SourceItem entry_of(const std::pair<const std::uint64_t, Item>& item) { return {item.first, item.second}; }
std::string_view text_of(const std::array<char, 8>& name) { return {name.data(), name.size()}; }
std::string_view text_of(const std::string& name) { return name; }

// Builds from a source, or from a character of ordinary containers.
template <class C>
void build(cp::Character::Builder to, const C& s) {
  to.setId(s.id);
  const std::string_view name = text_of(s.name);
  std::memcpy(to.initName(static_cast<unsigned>(name.size())).begin(), name.data(), name.size());
  to.setLevel(s.level);
  to.setHealthpoint(s.healthpoint);
  to.setManapoint(s.manapoint);
  to.setSpeed(s.speed);
  set_position(to.getPos(), s.pos);
  auto items = to.initItems(static_cast<unsigned>(s.items.size()));
  unsigned at = 0;
  for (const auto& each : s.items) {
    const SourceItem& entry = entry_of(each);
    auto item = items[at++];
    item.setKey(entry.key);
    set_item(item, entry.value);
  }
  auto path = to.initPath(static_cast<unsigned>(s.path.size()));
  for (unsigned i = 0; i < path.size(); ++i) set_position(path[i], s.path[i]);
  set_floats(to.initAttributes(static_cast<unsigned>(s.attributes.size())), s.attributes);
  auto equips = to.initEquips(static_cast<unsigned>(s.equips.size()));
  for (unsigned i = 0; i < equips.size(); ++i) {
    auto equip = equips[i];
    set_item(equip.initBase(), s.equips[i].base);
    equip.setLevel(s.equips[i].level);
    set_floats(equip.initAttributes(static_cast<unsigned>(s.equips[i].attributes.size())),
               s.equips[i].attributes);
  }
  auto skills = to.initSkills(static_cast<unsigned>(s.skills.size()));
  for (unsigned i = 0; i < skills.size(); ++i) {
    skills[i].setId(s.skills[i].id);
    skills[i].setLevel(s.skills[i].level);
  }
}

// The first segment is reused. Cap'n Proto requires zeroed memory, and the builder zeroes the used part when
// it ends.
alignas(8)::capnp::word segment[1024];

template <class C, class Use>
void encode(const C& from, Use use) {
  ::capnp::MallocMessageBuilder builder(kj::arrayPtr(segment, std::size(segment)));
  build(builder.initRoot<cp::Character>(), from);
  use(builder);
}
// Writes the contiguous form, with the table of segments first, into a buffer.
std::size_t flatten(::capnp::MallocMessageBuilder& builder, std::span<std::byte> out) {
  kj::ArrayOutputStream stream(kj::arrayPtr(reinterpret_cast<kj::byte*>(out.data()), out.size()));
  ::capnp::writeMessage(stream, builder);
  return stream.getArray().size();
}

template <class R>
Item item_of(R from) {
  return {from.getId(), from.getNumber(), from.getUuid(), from.getTimestamp()};
}
template <class R>
Position position_of(R from) {
  return {from.getX(), from.getY(), from.getZ()};
}

std::uint64_t read(cp::Character::Reader c) {
  const auto name = c.getName();
  std::uint64_t total = c.getId() + sum(std::string_view(name.begin(), name.size())) + c.getLevel() +
                        sum(c.getHealthpoint()) + sum(c.getManapoint()) + sum(c.getSpeed()) +
                        sum(position_of(c.getPos()));
  for (const auto each : c.getItems()) total += each.getKey() + sum(item_of(each));
  for (const auto each : c.getPath()) total += sum(position_of(each));
  for (const float each : c.getAttributes()) total += sum(each);
  for (const auto each : c.getEquips()) {
    total += sum(item_of(each.getBase())) + each.getLevel();
    for (const float attribute : each.getAttributes()) total += sum(attribute);
  }
  for (const auto each : c.getSkills()) total += std::uint64_t{each.getId()} + each.getLevel();
  return total;
}

void decode(cp::Character::Reader from, standard::Character& c) {
  c.id = from.getId();
  const auto name = from.getName();
  c.name.assign(name.begin(), name.size());
  c.level = from.getLevel();
  c.healthpoint = from.getHealthpoint();
  c.manapoint = from.getManapoint();
  c.speed = from.getSpeed();
  c.pos = position_of(from.getPos());
  for (const auto each : from.getItems()) c.items.emplace_hint(c.items.end(), each.getKey(), item_of(each));
  const auto path = from.getPath();
  c.path.reserve(path.size() + headroom);
  for (const auto each : path) c.path.push_back(position_of(each));
  const auto attributes = from.getAttributes();
  c.attributes.reserve(attributes.size() + headroom);
  for (const float each : attributes) c.attributes.push_back(each);
  const auto equips = from.getEquips();
  c.equips.reserve(equips.size());
  for (const auto each : equips) {
    auto& equip = c.equips.emplace_back();
    equip.base = item_of(each.getBase());
    equip.level = each.getLevel();
    const auto of_equip = each.getAttributes();
    equip.attributes.reserve(of_equip.size());
    for (const float attribute : of_equip) equip.attributes.push_back(attribute);
  }
  const auto skills = from.getSkills();
  c.skills.reserve(skills.size());
  for (const auto each : skills) c.skills.push_back({each.getId(), each.getLevel()});
}

// A reader of a received message, which checks each link when it is followed.
struct Message {
  ::capnp::FlatArrayMessageReader reader;
  explicit Message(std::span<const std::byte> bytes)
      : reader(kj::arrayPtr(reinterpret_cast<const ::capnp::word*>(bytes.data()),
                            bytes.size() / sizeof(::capnp::word))) {}
  cp::Character::Reader root() { return reader.getRoot<cp::Character>(); }
};

}  // namespace

int main(int count, char** values) {
  Suite suite;
  const auto out = std::make_shared<Buffers>(8192);
  const auto received = std::make_shared<Received>(
      [&out](std::size_t i) {
        std::size_t size = 0;
        encode(sources()[i], [&](auto& builder) { size = flatten(builder, (*out)[i]); });
        return std::string(reinterpret_cast<const char*>((*out)[i].data()), size);
      },
      std::size_t{64});
  suite.add("sizes", [received](const Parameters&) { return received->sizes(); });
  suite.add("build", [](const Parameters& parameters) {
    return timed(parameters, [](std::size_t i) {
      // The segments without the copy that joins them.
      encode(sources()[i], [](auto& builder) { keep(builder.getSegmentsForOutput()); });
    });
  });
  suite.add("read", [received](const Parameters& parameters) {
    for (std::size_t i = 0; i < message_count; ++i) expect_sum(i, read(Message((*received)[i]).root()));
    return timed(parameters, [&received](std::size_t i) { keep(read(Message((*received)[i]).root())); });
  });
  suite.add("mutate_send", [received](const Parameters& parameters) {
    return timed(parameters, [&](std::size_t i) {
      standard::Character c;
      decode(Message((*received)[i]).root(), c);
      change<standard::How>(c, changes()[i]);
      encode(c, [](auto& builder) { keep(builder.getSegmentsForOutput()); });
    });
  });
  suite.add("decode", [received](const Parameters& parameters) {
    return timed(parameters, [&](std::size_t i) {
      standard::Character c;
      decode(Message((*received)[i]).root(), c);
      keep(c);
    });
  });
  suite.add("encode", [out](const Parameters& parameters) {
    std::vector<standard::Character> all(message_count);
    for (std::size_t i = 0; i < message_count; ++i) fill<standard::How>(all[i], sources()[i]);
    return timed(parameters, [&](std::size_t i) {
      encode(all[i], [&](auto& builder) { keep(flatten(builder, (*out)[i])); });
    });
  });
  return suite.serve(count, values);
}
