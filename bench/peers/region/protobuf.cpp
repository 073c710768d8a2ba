// Protobuf, the C++ library: messages on an arena with a reused first block, parsed and serialized.
#include <google/protobuf/arena.h>

#include "character.pb.h"
#include "suite.hpp"
#include "work.hpp"

namespace {

using namespace region_bench;
namespace pb = region_pb;

void set_item(pb::Item& to, const Item& from) {
  to.set_id(from.id);
  to.set_number(from.number);
  to.set_uuid(from.uuid);
  to.set_timestamp(from.timestamp);
}
void set_position(pb::Position& to, const Position& from) {
  to.set_x(from.x);
  to.set_y(from.y);
  to.set_z(from.z);
}
void set_equip(pb::Equip& to, const SourceEquip& from) {
  set_item(*to.mutable_base(), from.base);
  to.set_level(from.level);
  to.mutable_attributes()->Assign(from.attributes.begin(), from.attributes.end());
}

void fill(pb::Character& c, const Source& s) {
  c.set_id(s.id);
  c.set_name(s.name.data(), s.name.size());
  c.set_level(s.level);
  c.set_healthpoint(s.healthpoint);
  c.set_manapoint(s.manapoint);
  c.set_speed(s.speed);
  set_position(*c.mutable_pos(), s.pos);
  auto& items = *c.mutable_items();
  for (const SourceItem& each : s.items) set_item(items[each.key], each.value);
  c.mutable_path()->Reserve(static_cast<int>(s.path.size() + headroom));
  for (const Position& each : s.path) set_position(*c.add_path(), each);
  c.mutable_attributes()->Assign(s.attributes.begin(), s.attributes.end());
  c.mutable_equips()->Reserve(static_cast<int>(s.equips.size()));
  for (const SourceEquip& each : s.equips) set_equip(*c.add_equips(), each);
  c.mutable_skills()->Reserve(static_cast<int>(s.skills.size()));
  for (const Skill& each : s.skills) {
    pb::Skill& skill = *c.add_skills();
    skill.set_id(each.id);
    skill.set_level(each.level);
  }
}

std::uint64_t sum_of(const pb::Item& i) {
  return std::uint64_t{i.id()} + i.number() + i.uuid() + i.timestamp();
}
std::uint64_t sum_of(const pb::Position& p) { return sum(p.x()) + sum(p.y()) + sum(p.z()); }

std::uint64_t read(const pb::Character& c) {
  std::uint64_t total = c.id() + sum(std::string_view(c.name())) + c.level() + sum(c.healthpoint()) +
                        sum(c.manapoint()) + sum(c.speed()) + sum_of(c.pos());
  for (const auto& [key, item] : c.items()) total += key + sum_of(item);
  for (const pb::Position& each : c.path()) total += sum_of(each);
  for (const float each : c.attributes()) total += sum(each);
  for (const pb::Equip& each : c.equips()) {
    total += sum_of(each.base()) + each.level();
    for (const float attribute : each.attributes()) total += sum(attribute);
  }
  for (const pb::Skill& each : c.skills()) total += std::uint64_t{each.id()} + each.level();
  return total;
}

void change(pb::Character& c, const Change& by) {
  c.set_level(c.level() + 1);
  c.set_healthpoint(c.healthpoint() - 1);
  c.set_manapoint(c.manapoint() + 1);
  c.set_speed(c.speed() - 1);
  pb::Position& pos = *c.mutable_pos();
  pos.set_x(pos.x() + 1);
  pos.set_y(pos.y() - 1);
  pos.set_z(pos.z() + 1);
  for (std::size_t i = 0; i < by.equips.size(); ++i) {
    set_equip(*c.mutable_equips(static_cast<int>(i)), by.equips[i]);
  }
  for (const Position& each : by.path) {
    set_position(*c.add_path(), each);
    keep(c);
    c.mutable_path()->RemoveLast();
  }
  c.add_attributes(by.attribute);
  keep(c);
  c.mutable_attributes()->RemoveLast();
  set_item((*c.mutable_items())[by.item.key], by.item.value);
  keep(c);
  c.mutable_items()->erase(by.item.key);
}

// Messages take memory from one block, and are released all at once.
class Arenas {
 public:
  Arenas() : arena_(options()) {}
  pb::Character& next() {
    arena_.Reset();
    return *google::protobuf::Arena::CreateMessage<pb::Character>(&arena_);
  }

 private:
  google::protobuf::ArenaOptions options() {
    google::protobuf::ArenaOptions made;
    made.initial_block = block_.data();
    made.initial_block_size = block_.size();
    return made;
  }
  std::vector<char> block_ = std::vector<char>(std::size_t{64} << 10);
  google::protobuf::Arena arena_;
};

void parse(pb::Character& c, std::span<const std::byte> bytes) {
  if (!c.ParseFromArray(bytes.data(), static_cast<int>(bytes.size())))
    bench::fail("a valid message is rejected");
}

}  // namespace

int main(int count, char** values) {
  Suite suite;
  const auto arenas = std::make_shared<Arenas>();
  const auto out = std::make_shared<Buffers>(8192);
  const auto received = std::make_shared<Received>(
      [&](std::size_t i) {
        pb::Character& c = arenas->next();
        fill(c, sources()[i]);
        return c.SerializeAsString();
      },
      std::size_t{64});
  const auto serialize = [out](const pb::Character& c, std::size_t i) {
    if (!c.SerializeToArray((*out)[i].data(), static_cast<int>((*out)[i].size()))) bench::fail("no room");
    keep((*out)[i]);
  };
  suite.add("sizes", [received](const Parameters&) { return received->sizes(); });
  suite.add("build", [=](const Parameters& parameters) {
    return timed(parameters, [&](std::size_t i) {
      pb::Character& c = arenas->next();
      fill(c, sources()[i]);
      serialize(c, i);
    });
  });
  suite.add("read", [=](const Parameters& parameters) {
    return timed(parameters, [&](std::size_t i) {
      pb::Character& c = arenas->next();
      parse(c, (*received)[i]);
      expect_sum(i, read(c));
    });
  });
  suite.add("mutate_send", [=](const Parameters& parameters) {
    return timed(parameters, [&](std::size_t i) {
      pb::Character& c = arenas->next();
      parse(c, (*received)[i]);
      change(c, changes()[i]);
      serialize(c, i);
    });
  });
  suite.add("decode", [=](const Parameters& parameters) {
    return timed(parameters, [&](std::size_t i) {
      pb::Character& c = arenas->next();
      parse(c, (*received)[i]);
      keep(c);
    });
  });
  const auto native = [received](const Parameters& parameters, auto work) {
    std::vector<pb::Character> all(message_count);
    for (std::size_t i = 0; i < message_count; ++i) parse(all[i], (*received)[i]);
    return timed(parameters, [&](std::size_t i) { work(all[i], i); });
  };
  suite.add("encode", [=](const Parameters& parameters) {
    return native(parameters, [&](const pb::Character& c, std::size_t i) { serialize(c, i); });
  });
  suite.add("native_read", [native](const Parameters& parameters) {
    return native(parameters, [](const pb::Character& c, std::size_t) { keep(read(c)); });
  });
  suite.add("native_write", [native](const Parameters& parameters) {
    return native(parameters, [](pb::Character& c, std::size_t i) {
      change(c, changes()[i]);
      keep(c);
    });
  });
  return suite.serve(count, values);
}
