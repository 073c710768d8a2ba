// The character of the talk on offset data structures in Situ's regions, step by step as in the talk.
// character.rs is the same program in Rust. Both print the same.
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <exception>
#include <fstream>
#include <iterator>
#include <map>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "situ/region.hpp"

namespace {

// Region data are plain structs. The macro lists their members.
struct Skill {
  std::uint32_t id;
  std::uint32_t level;
};
SITU_REGION(Skill, id, level)

struct Item {
  std::uint32_t id;
  std::uint32_t number;
  std::uint64_t uuid;
  std::uint64_t timestamp;
};
SITU_REGION(Item, id, number, uuid, timestamp)

struct Position {
  float x;
  float y;
  float z;
};
SITU_REGION(Position, x, y, z)

// An equip is an item with more members.
struct Equip : Item {
  std::uint32_t level;
  situ::region_vector<float> attributes;
};
SITU_REGION_DERIVED(Equip, Item, level, attributes)

struct Character {
  std::uint64_t id;
  situ::region_string name;
  std::uint32_t level;
  float healthpoint;
  float manapoint;
  float speed;
  Position pos;
  situ::region_sorted_map<std::uint64_t, Item> items;
  situ::region_vector<Position> path;
  situ::region_vector<float> attributes;
  situ::region_vector<Equip> equips;
  situ::region_vector<Skill> skills;
};
SITU_REGION(Character, id, name, level, healthpoint, manapoint, speed, pos, items, path, attributes, equips,
            skills)

// A struct that may get more members at its end: its old and its new version.
namespace before {
struct alignas(8) Profile {
  std::uint64_t id;
  situ::region_string name;
};
SITU_REGION_APPENDABLE(Profile, id, name)
}  // namespace before
struct alignas(8) Profile {
  std::uint64_t id;
  situ::region_string name;
  situ::region_sorted_set<situ::region_string> tags;
};
SITU_REGION_APPENDABLE(Profile, id, name, tags)

/// FNV-1a, for comparing by eye.
unsigned long long hash(std::span<const std::byte> bytes) {
  std::uint64_t hash = 0xcbf29ce484222325U;
  for (const std::byte byte : bytes) hash = (hash ^ std::to_integer<std::uint64_t>(byte)) * 0x100000001b3U;
  return hash;
}

void expect(bool good, const char* what) {
  if (!good) throw std::runtime_error(what);
}

/// Containers are filled like those of the standard library. Each finds the memory of its region by itself.
void fill(Character& c) {
  c.id = 1;
  c.name = "Hero";
  c.level = 60;
  c.healthpoint = 100.5F;
  c.manapoint = 50.25F;
  c.speed = 1.5F;
  c.pos = {1, 2, 3};
  for (std::uint32_t i = 0; i < 5; ++i) c.items.emplace(50 - 10 * i, Item{i, i + 1, 7000 + i, 90 + i});
  for (std::uint32_t i = 0; i < 4; ++i) {
    const auto x = static_cast<float>(i);
    c.path.emplace_back(x, x * 2, x * 3);
  }
  c.attributes = {0, 0.5F, 1};
  for (std::uint32_t i = 0; i < 2; ++i) {
    Equip& equip = c.equips.emplace_back(Item{i, 1, 100 + i, 200 + i}, i + 5);
    equip.attributes = {0, 1, 2};
  }
  c.skills.emplace_back(1054, 3);
  c.skills.emplace_back(7, 1);
}

void say(const char* what, const situ::region<Character>& r) {
  std::printf("%s: %s, level %u, %zu items, %zu points, %zu equips, %zu skills, %016llx\n", what,
              r->name.str().c_str(), r->level, r->items.size(), r->path.size(), r->equips.size(),
              r->skills.size(), hash(r.canonical()));
}

void all_steps() {
  // Build. The memory of the region is the message.
  situ::region<Character> r;
  fill(*r);
  say("built", r);

  // Write in place: values with room do not move.
  const std::size_t size = r.size();
  r->level += 1;
  r->pos.x += 0.5F;
  for (Skill& skill : r->skills) skill.level += 1;
  r->items.at(30).number = 99;
  expect(r.size() == size, "nothing needed memory");
  say("written in place", r);

  // Write values that need memory: the region grows, and references to unmoved values stay valid.
  const std::uint32_t& level = r->level;
  r->name = "a hero with a name that does not fit into the string itself";
  r->skills.emplace_back(11, 2);
  r->items.erase(20);
  for (int i = 0; i < 1000; ++i) r->path.emplace_back(static_cast<float>(i), 0.0F, 0.0F);
  expect(&level == &r->level && level == 61, "the window grows in place");
  say("grown", r);

  // Containers within containers find the same memory.
  for (Equip& equip : r->equips) {
    equip.level += 1;
    equip.attributes.push_back(3);
  }
  say("nested", r);

  // To and from the standard library.
  const std::vector<Position> path(r->path.begin(), r->path.begin() + 8);
  const std::map<std::uint64_t, Item> items{{4, {4, 4, 4, 4}}, {2, {2, 2, 2, 2}}};
  r->path = path;
  r->items = items;
  say("assigned", r);

  // Trim: containers return their unused room, and the image ends behind the used part.
  r->skills.reserve(4096);
  const std::size_t wide = r.size();
  r->skills.shrink_to_fit();
  r.trim();
  expect(r.size() + 4000 * sizeof(Skill) < wide, "the room was given back");
  // Compact: no memory is free any more.
  r.compact();
  expect(r.free_bytes() == 0 && r.size() == r.canonical().size(), "there is no smaller arrangement");
  say("compacted", r);

  // Fill a fixed buffer, such as a loan of shared memory. When it is full, the call fails and nothing has
  // changed.
  alignas(16) static std::array<std::byte, 4096> small;
  alignas(16) static std::array<std::byte, 65536> large;
  situ::region<Character> fixed(small);
  fill(*fixed);
  while (fixed->path.try_emplace_back(1.0F, 2.0F, 3.0F) != nullptr) continue;
  const std::size_t fitted = fixed->path.size();
  expect(fixed.continue_in(large), "the larger one has room for the image");
  fixed->path.emplace_back(1.0F, 2.0F, 3.0F);
  expect(fitted > 4 && fixed->path.size() == fitted + 1, "it goes on in the larger one");
  fixed->path.resize(4);
  say("moved on", fixed);

  // Send. The received image is checked. Then it is read in place, or taken over and edited.
  const std::span<const std::byte> sent = r.bytes();
  const auto seen = situ::view_region<Character>(sent);
  expect(seen.has_value() && (*seen)->skills[0].id == 1054, "nothing was decoded");
  auto received = situ::region<Character>::adopt(sent);
  if (!received) throw std::runtime_error(received.error().message());
  (*received)->level += 1;
  say("received", *received);

  // Compatible layouts: a program with more members reads an older program's image.
  situ::region<before::Profile> old;
  old->id = 7;
  old->name = "of last year";
  auto grown = situ::region<Profile>::adopt(old.bytes());
  if (!grown) throw std::runtime_error(grown.error().message());
  (*grown)->tags.insert("new");
  std::printf("appended: %s, %zu tag, %016llx\n", (*grown)->name.str().c_str(), (*grown)->tags.size(),
              hash(grown->canonical()));
  // Any other difference makes another type.
  expect(!situ::region<before::Profile>::adopt(r.bytes()), "it is refused by its hash");

  // Validate. Wrong bytes are an error with a place, never a crash.
  std::vector<std::byte> spoilt = r.canonical();
  const std::int32_t link = 1 << 20;
  std::memcpy(spoilt.data() + 64 + offsetof(Character, skills), &link, sizeof(link));
  std::printf("refused: %s\n", situ::region<Character>::adopt(spoilt).error().message().c_str());
}

/// Writes a live image for a program in any language.
void make(const char* path) {
  situ::region<Character> r;
  fill(*r);
  const auto bytes = r.bytes();
  std::ofstream(path, std::ios::binary)
      .write(reinterpret_cast<const char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
}

/// Continues with an image that a program in any language wrote.
void take(const char* path) {
  std::ifstream file(path, std::ios::binary);
  const std::vector<char> bytes{std::istreambuf_iterator<char>(file), {}};
  auto r = situ::region<Character>::adopt(std::as_bytes(std::span(bytes)));
  if (!r) throw std::runtime_error(r.error().message());
  say("taken", *r);
  (*r)->items.erase(10);
  (*r)->skills.emplace_back(11, 2);
  say("edited", *r);
}

}  // namespace

int main(int count, char** words) try {
  const std::string_view what = count > 1 ? words[1] : "";
  if (what == "make" && count > 2) {
    make(words[2]);
  } else if (what == "take" && count > 2) {
    take(words[2]);
  } else {
    all_steps();
  }
  return 0;
} catch (const std::exception& error) {
  std::fprintf(stderr, "%s\n", error.what());
  return 1;
}
