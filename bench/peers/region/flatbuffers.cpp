// FlatBuffers: a reused builder, accessors and the verifier. To change a character, the program unpacks and
// packs it by the object API.
#include "character_generated.h"
#include "suite.hpp"
#include "work.hpp"

namespace {

using namespace region_bench;
namespace fb = region_fb;

fb::Item item_of(const Item& item) { return {item.id, item.number, item.uuid, item.timestamp}; }
fb::Position position_of(const Position& p) { return {p.x, p.y, p.z}; }

void build(flatbuffers::FlatBufferBuilder& builder, const Source& s) {
  std::array<flatbuffers::Offset<fb::Equip>, std::tuple_size_v<decltype(Source::equips)>> equips;
  for (std::size_t i = 0; i < equips.size(); ++i) {
    const SourceEquip& from = s.equips[i];
    const auto attributes = builder.CreateVector(from.attributes.data(), from.attributes.size());
    const fb::Item base = item_of(from.base);
    equips[i] = fb::CreateEquip(builder, &base, from.level, attributes);
  }
  const auto equips_at = builder.CreateVector(equips.data(), equips.size());
  fb::Entry* entries = nullptr;
  const auto items = builder.CreateUninitializedVectorOfStructs(s.items.size(), &entries);
  for (std::size_t i = 0; i < s.items.size(); ++i)
    entries[i] = fb::Entry(s.items[i].key, item_of(s.items[i].value));
  fb::Position* points = nullptr;
  const auto path = builder.CreateUninitializedVectorOfStructs(s.path.size(), &points);
  for (std::size_t i = 0; i < s.path.size(); ++i) points[i] = position_of(s.path[i]);
  fb::Skill* learned = nullptr;
  const auto skills = builder.CreateUninitializedVectorOfStructs(s.skills.size(), &learned);
  for (std::size_t i = 0; i < s.skills.size(); ++i) learned[i] = fb::Skill(s.skills[i].id, s.skills[i].level);
  const auto attributes = builder.CreateVector(s.attributes.data(), s.attributes.size());
  const auto name = builder.CreateString(s.name.data(), s.name.size());
  const fb::Position pos = position_of(s.pos);
  builder.Finish(fb::CreateCharacter(builder, s.id, name, s.level, s.healthpoint, s.manapoint, s.speed, &pos,
                                     items, path, attributes, equips_at, skills));
}

std::uint64_t sum_of(const fb::Item& item) {
  return std::uint64_t{item.id()} + item.number() + item.uuid() + item.timestamp();
}
std::uint64_t sum_of(const fb::Position& p) { return sum(p.x()) + sum(p.y()) + sum(p.z()); }

std::uint64_t read(const fb::Character& c) {
  std::uint64_t total = c.id() + sum(std::string_view(c.name()->data(), c.name()->size())) + c.level() +
                        sum(c.healthpoint()) + sum(c.manapoint()) + sum(c.speed()) + sum_of(*c.pos());
  for (const fb::Entry* each : *c.items()) total += each->key() + sum_of(each->value());
  for (const fb::Position* each : *c.path()) total += sum_of(*each);
  for (const float each : *c.attributes()) total += sum(each);
  for (const fb::Equip* each : *c.equips()) {
    total += sum_of(*each->base()) + each->level();
    for (const float attribute : *each->attributes()) total += sum(attribute);
  }
  for (const fb::Skill* each : *c.skills()) total += std::uint64_t{each->id()} + each->level();
  return total;
}

std::uint64_t read(const fb::CharacterT& c) {
  std::uint64_t total = c.id + sum(std::string_view(c.name)) + c.level + sum(c.healthpoint) +
                        sum(c.manapoint) + sum(c.speed) + sum_of(*c.pos);
  for (const fb::Entry& each : c.items) total += each.key() + sum_of(each.value());
  for (const fb::Position& each : c.path) total += sum_of(each);
  for (const float each : c.attributes) total += sum(each);
  for (const auto& each : c.equips) {
    total += sum_of(*each->base) + each->level;
    for (const float attribute : each->attributes) total += sum(attribute);
  }
  for (const fb::Skill& each : c.skills) total += std::uint64_t{each.id()} + each.level();
  return total;
}

auto place_of(std::vector<fb::Entry>& items, std::uint64_t key) {
  return std::lower_bound(items.begin(), items.end(), key,
                          [](const fb::Entry& entry, std::uint64_t k) { return entry.key() < k; });
}

void change(fb::CharacterT& c, const Change& by) {
  c.level += 1;
  c.healthpoint -= 1;
  c.manapoint += 1;
  c.speed -= 1;
  c.pos->mutate_x(c.pos->x() + 1);
  c.pos->mutate_y(c.pos->y() - 1);
  c.pos->mutate_z(c.pos->z() + 1);
  for (std::size_t i = 0; i < by.equips.size(); ++i) {
    fb::EquipT& equip = *c.equips[i];
    *equip.base = item_of(by.equips[i].base);
    equip.level = by.equips[i].level;
    equip.attributes.assign(by.equips[i].attributes.begin(), by.equips[i].attributes.end());
  }
  for (const Position& each : by.path) {
    c.path.push_back(position_of(each));
    keep(c.path);
    c.path.pop_back();
  }
  c.attributes.push_back(by.attribute);
  keep(c.attributes);
  c.attributes.pop_back();
  c.items.insert(place_of(c.items, by.item.key), fb::Entry(by.item.key, item_of(by.item.value)));
  keep(c.items);
  c.items.erase(place_of(c.items, by.item.key));
}

void verify(std::span<const std::byte> bytes) {
  flatbuffers::Verifier verifier(reinterpret_cast<const std::uint8_t*>(bytes.data()), bytes.size());
  if (!verifier.VerifyBuffer<fb::Character>(nullptr)) bench::fail("the verifier rejects a valid message");
}
const fb::Character& root(std::span<const std::byte> bytes) {
  return *flatbuffers::GetRoot<fb::Character>(bytes.data());
}

}  // namespace

int main(int count, char** values) {
  Suite suite;
  const auto builder = std::make_shared<flatbuffers::FlatBufferBuilder>(8192);
  const auto received = std::make_shared<Received>(
      [&builder](std::size_t i) {
        builder->Clear();
        build(*builder, sources()[i]);
        return std::string(reinterpret_cast<const char*>(builder->GetBufferPointer()), builder->GetSize());
      },
      std::size_t{64});
  suite.add("sizes", [received](const Parameters&) { return received->sizes(); });
  suite.add("build", [builder](const Parameters& parameters) {
    return timed(parameters, [&builder](std::size_t i) {
      builder->Clear();
      build(*builder, sources()[i]);
      keep(*builder);
    });
  });
  suite.add("read", [received](const Parameters& parameters) {
    for (std::size_t i = 0; i < message_count; ++i) expect_sum(i, read(root((*received)[i])));
    return timed(parameters, [&received](std::size_t i) { keep(read(root((*received)[i]))); });
  });
  suite.add("validate", [received](const Parameters& parameters) {
    return timed(parameters, [&received](std::size_t i) {
      verify((*received)[i]);
      keep((*received)[i]);
    });
  });
  suite.add("mutate_send", [received, builder](const Parameters& parameters) {
    return timed(parameters, [&](std::size_t i) {
      verify((*received)[i]);
      fb::CharacterT c;
      root((*received)[i]).UnPackTo(&c);
      change(c, changes()[i]);
      builder->Clear();
      builder->Finish(fb::Character::Pack(*builder, &c));
      keep(*builder);
    });
  });
  suite.add("decode", [received](const Parameters& parameters) {
    return timed(parameters, [&received](std::size_t i) {
      verify((*received)[i]);
      fb::CharacterT c;
      root((*received)[i]).UnPackTo(&c);
      keep(c);
    });
  });
  const auto native = [received](const Parameters& parameters, auto work) {
    std::vector<fb::CharacterT> all(message_count);
    for (std::size_t i = 0; i < message_count; ++i) {
      root((*received)[i]).UnPackTo(&all[i]);
      expect_sum(i, read(all[i]));
    }
    return timed(parameters, [&](std::size_t i) { work(all[i], i); });
  };
  suite.add("encode", [native, builder](const Parameters& parameters) {
    return native(parameters, [&builder](const fb::CharacterT& c, std::size_t) {
      builder->Clear();
      builder->Finish(fb::Character::Pack(*builder, &c));
      keep(*builder);
    });
  });
  suite.add("native_read", [native](const Parameters& parameters) {
    return native(parameters, [](const fb::CharacterT& c, std::size_t) { keep(read(c)); });
  });
  suite.add("native_write", [native](const Parameters& parameters) {
    return native(parameters, [](fb::CharacterT& c, std::size_t i) {
      change(c, changes()[i]);
      keep(c);
    });
  });
  return suite.serve(count, values);
}
