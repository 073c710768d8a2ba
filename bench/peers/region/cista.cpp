// cista with offset pointers: its containers, serialized and used in place. A received character can be
// changed. Its new elements live on the heap, so the program serializes it again to send it.
// cista has no sorted map; its hash map is used.
#ifdef CISTA_SINGLE_HEADER
#include <cista.h>
#else
#include <cista/containers.h>
#include <cista/serialization.h>
#endif

#include "suite.hpp"
#include "work.hpp"

namespace {

using namespace region_bench;
namespace data = cista::offset;

struct Equip {
  Item base{};
  std::uint32_t level{};
  data::vector<float> attributes;
};
struct Character {
  std::uint64_t id{};
  data::string name;
  std::uint32_t level{};
  float healthpoint{}, manapoint{}, speed{};
  Position pos{};
  data::hash_map<std::uint64_t, Item> items;
  data::vector<Position> path;
  data::vector<float> attributes;
  data::vector<Equip> equips;
  data::vector<Skill> skills;
};

struct How : Plainly {
  template <class C>
  static void reserve(C& c) {
    reserve_vectors(c);
  }
  template <class V, class R>
  static void assign(V& to, const R& from) {
    to.set(from.begin(), from.end());
  }
  static auto& add_equip(Character& c) {
    c.equips.emplace_back(Equip{});
    return c.equips.back();
  }
};

// Both modes check only the structure: no version, no checksum.
constexpr auto checked = cista::mode::NONE;
constexpr auto unchecked = cista::mode::UNCHECKED;

using Target = cista::buf<cista::byte_buf>;

void serialize(Target& target, Character& c) {
  target.reset();
  cista::serialize(target, c);
  keep(target);
}
Character& open(std::span<std::byte> bytes) {
  auto* const begin = reinterpret_cast<std::uint8_t*>(bytes.data());
  return *cista::deserialize<Character, unchecked>(begin, begin + bytes.size());
}
Character& check(std::span<std::byte> bytes) {
  auto* const begin = reinterpret_cast<std::uint8_t*>(bytes.data());
  return *cista::deserialize<Character, checked>(begin, begin + bytes.size());
}

}  // namespace

int main(int count, char** values) {
  Suite suite;
  const auto target = std::make_shared<Target>();
  const auto received = std::make_shared<Received>(
      [&target](std::size_t i) {
        Character c;
        fill<How>(c, sources()[i]);
        serialize(*target, c);
        return target->buf_;
      },
      std::size_t{64});
  suite.add("sizes", [received](const Parameters&) { return received->sizes(); });
  suite.add("build", [target](const Parameters& parameters) {
    return timed(parameters, [&target](std::size_t i) {
      Character c;
      fill<How>(c, sources()[i]);
      serialize(*target, c);
    });
  });
  suite.add("read", [received](const Parameters& parameters) {
    received->restore();
    for (std::size_t i = 0; i < message_count; ++i) expect_sum(i, read_all(open((*received)[i])));
    return timed(parameters, [&received](std::size_t i) { keep(read_all(open((*received)[i]))); });
  });
  suite.add("validate", [received](const Parameters& parameters) {
    return timed(
        parameters, [&received] { received->restore(); },
        [&received](std::size_t i) { keep(check((*received)[i])); });
  });
  suite.add("mutate_send", [received, target](const Parameters& parameters) {
    return timed(
        parameters, [&received] { received->restore(); },
        [&](std::size_t i) {
          Character& c = check((*received)[i]);
          change<How>(c, changes()[i]);
          serialize(*target, c);
          // Frees what grew on the heap.
          c.~Character();
        });
  });
  suite.add("decode", [received](const Parameters& parameters) {
    return timed(
        parameters, [&received] { received->restore(); },
        [&received](std::size_t i) { keep(check((*received)[i])); });
  });
  const auto native = [](const Parameters& parameters, auto work) {
    std::vector<std::unique_ptr<Character>> all;
    for (std::size_t i = 0; i < message_count; ++i) {
      all.push_back(std::make_unique<Character>());
      fill<How>(*all[i], sources()[i]);
    }
    return timed(parameters, [&](std::size_t i) { work(*all[i], i); });
  };
  suite.add("encode", [native, target](const Parameters& parameters) {
    return native(parameters, [&target](Character& c, std::size_t) { serialize(*target, c); });
  });
  suite.add("native_read", [native](const Parameters& parameters) {
    return native(parameters, [](const Character& c, std::size_t) { keep(read_all(c)); });
  });
  suite.add("native_write", [native](const Parameters& parameters) {
    return native(parameters, [](Character& c, std::size_t i) {
      change<How>(c, changes()[i]);
      keep(c);
    });
  });
  return suite.serve(count, values);
}
