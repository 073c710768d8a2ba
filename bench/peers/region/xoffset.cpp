// The approach of the talk's XOffsetDatastructure: Boost.Container's containers in a buffer that
// Boost.Interprocess manages, with links that are offsets. The buffer is the message. A received buffer is
// not checked.
#include <boost/container/flat_map.hpp>
#include <boost/container/string.hpp>
#include <boost/container/vector.hpp>
#include <boost/interprocess/allocators/allocator.hpp>
#include <boost/interprocess/indexes/iset_index.hpp>
#include <boost/interprocess/managed_external_buffer.hpp>
#include <boost/interprocess/mem_algo/simple_seq_fit.hpp>
#include <cstdint>

#include "native.hpp"

namespace {

namespace bc = boost::container;
namespace bi = boost::interprocess;
using namespace region_bench;

// Links have 64 bits, as in the talk: Boost's flat containers need std::size_t in some places, so 32 bits
// would not do.
using Family = bi::null_mutex_family;
using Memory =
    bi::basic_managed_external_buffer<char, bi::simple_seq_fit<Family, bi::offset_ptr<void>>, bi::iset_index>;
template <class T>
using Allocator = bi::allocator<T, Memory::segment_manager>;
template <class T>
using Vector = bc::vector<T, Allocator<T>>;
using Text = bc::basic_string<char, std::char_traits<char>, Allocator<char>>;

struct Equip {
  Item base{};
  std::uint32_t level = 0;
  Vector<float> attributes;
  explicit Equip(Allocator<void> memory) : attributes(memory) {}
};
struct Character {
  std::uint64_t id = 0;
  Text name;
  std::uint32_t level = 0;
  float healthpoint = 0, manapoint = 0, speed = 0;
  Position pos{};
  bc::flat_map<std::uint64_t, Item, std::less<>, Allocator<std::pair<std::uint64_t, Item>>> items;
  Vector<Position> path;
  Vector<float> attributes;
  Vector<Equip> equips;
  Vector<Skill> skills;

  explicit Character(Allocator<void> memory)
      : name(memory), items(memory), path(memory), attributes(memory), equips(memory), skills(memory) {}
};

struct How : Plainly {
  static auto& add_equip(Character& c) { return c.equips.emplace_back(c.equips.get_allocator()); }
  static void append_item(Character& c, const SourceItem& item) {
    c.items.emplace_hint(c.items.end(), item.key, item.value);
  }
};

constexpr std::size_t room = 8192;

Character& create(Memory& memory) {
  return *memory.construct<Character>(bi::unique_instance)(Allocator<void>(memory.get_segment_manager()));
}
Character& open(Memory& memory) { return *memory.find<Character>(bi::unique_instance).first; }

// The message ends after the last used block.
std::string message(std::size_t i) {
  alignas(64) static std::array<std::byte, room> buffer;
  Memory memory(bi::create_only, buffer.data(), buffer.size());
  Character& c = create(memory);
  fill<How>(c, sources()[i]);
  expect_sum(i, read_all(c));
  memory.get_segment_manager()->shrink_to_fit();
  return {reinterpret_cast<const char*>(buffer.data()), memory.get_size()};
}

// Grows by moving to a larger buffer when the manager throws, as in the talk.
struct Moving {
  std::vector<std::uint64_t> buffer;
  Memory memory;

  Moving(std::size_t bytes) : buffer(bytes / 8), memory(bi::create_only, buffer.data(), bytes) {}
  void grow(unsigned percent) {
    const std::size_t before = buffer.size() * 8;
    const std::size_t after = std::max(before * percent / 100, before + 256) / 64 * 64;
    memory = Memory();
    buffer.resize(after / 8);
    memory = Memory(bi::open_only, buffer.data(), before);
    memory.grow(after - before);
  }
};

template <class Add>
void retry(Moving& m, unsigned percent, Add add) {
  for (;;) {
    try {
      add(open(m.memory));
      return;
    } catch (const bi::bad_alloc&) {
      m.grow(percent);
    } catch (const std::bad_alloc&) {
      m.grow(percent);
    }
  }
}

void fill_in_steps(Moving& m, const Source& s, unsigned percent) {
  Character& c = create(m.memory);
  c.id = s.id;
  c.name = s.name_view();
  for (const SourceItem& each : s.items) {
    retry(m, percent, [&](Character& to) { How::append_item(to, each); });
  }
  for (const Position& each : s.path) {
    retry(m, percent, [&](Character& to) { to.path.push_back(each); });
  }
  for (const Skill& each : s.skills) {
    retry(m, percent, [&](Character& to) { to.skills.push_back(each); });
  }
}

// Sums the other members too, for the memory of many units.
void fill_rest(Moving& m, const Source& s, unsigned percent) {
  retry(m, percent, [&](Character& to) { to.attributes.assign(s.attributes.begin(), s.attributes.end()); });
  for (const SourceEquip& each : s.equips) {
    retry(m, percent, [&](Character& to) {
      if (to.equips.size() == to.equips.capacity()) to.equips.reserve(to.equips.size() * 2 + 1);
    });
    retry(m, percent, [&](Character& to) {
      auto& equip = How::add_equip(to);
      try {
        set_equip<How>(equip, each);
      } catch (...) {
        to.equips.pop_back();
        throw;
      }
    });
  }
}

// Opens a buffer that was received.
struct Opened {
  Memory memory;
  Character& c;
  explicit Opened(std::span<std::byte> buffer)
      : memory(bi::open_only, buffer.data(), buffer.size()), c(open(memory)) {}
};

}  // namespace

int main(int count, char** values) {
  Suite suite;
  const auto received = std::make_shared<Received>(message, std::size_t{4096});
  const auto out = std::make_shared<Buffers>(room);
  suite.add("sizes", [received](const Parameters&) { return received->sizes(); });
  suite.add("build", [out](const Parameters& parameters) {
    return timed(parameters, [&out](std::size_t i) {
      Memory memory(bi::create_only, (*out)[i].data(), (*out)[i].size());
      fill<How>(create(memory), sources()[i]);
      memory.get_segment_manager()->shrink_to_fit();
      keep(memory.get_size());
    });
  });
  suite.add("read", [received](const Parameters& parameters) {
    received->restore();
    for (std::size_t i = 0; i < message_count; ++i) expect_sum(i, read_all(Opened((*received)[i]).c));
    return timed(parameters, [&received](std::size_t i) { keep(read_all(Opened((*received)[i]).c)); });
  });
  // The message has no room of its own. The buffer in which it was received has.
  const auto with_room = [received](std::size_t i) {
    Memory memory(bi::open_only, (*received)[i].data(), (*received)[i].size());
    memory.grow(received->buffer(i).size() / 64 * 64 - (*received)[i].size());
    return memory;
  };
  suite.add("mutate_send", [received, with_room](const Parameters& parameters) {
    return timed(
        parameters, [&received] { received->restore(); },
        [&](std::size_t i) {
          Memory memory = with_room(i);
          change<How>(open(memory), changes()[i]);
          memory.get_segment_manager()->shrink_to_fit();
          keep(memory.get_size());
        });
  });
  suite.add("decode", [received](const Parameters& parameters) {
    received->restore();
    return timed(parameters, [&received](std::size_t i) { keep(Opened((*received)[i]).c); });
  });
  suite.add("encode", [received](const Parameters& parameters) {
    received->restore();
    return timed(parameters, [&received](std::size_t i) { keep((*received)[i]); });
  });
  const auto native = [received, with_room](const Parameters& parameters, auto work) {
    received->restore();
    std::vector<Memory> all;
    for (std::size_t i = 0; i < message_count; ++i) all.push_back(with_room(i));
    std::vector<Character*> characters;
    for (Memory& each : all) characters.push_back(&open(each));
    return timed(parameters, [&](std::size_t i) { work(*characters[i], i); });
  };
  suite.add("native_read", [native](const Parameters& parameters) {
    return native(parameters, [](const Character& c, std::size_t) { keep(read_all(c)); });
  });
  suite.add("native_write", [native](const Parameters& parameters) {
    return native(parameters, [](Character& c, std::size_t i) {
      change<How>(c, changes()[i]);
      keep(c);
    });
  });
  suite.add("push_back", [](const Parameters& parameters) {
    std::vector<std::uint64_t> buffer(2048);
    Memory memory(bi::create_only, buffer.data(), buffer.size() * 8);
    Vector<std::uint32_t> numbers{Allocator<std::uint32_t>(memory.get_segment_manager())};
    return time_push_back(parameters, numbers);
  });
  suite.add("allocation", [](const Parameters& parameters) {
    std::vector<std::uint64_t> buffer(4096);
    Memory memory(bi::create_only, buffer.data(), buffer.size() * 8);
    return time_allocation(
        parameters, [&memory](std::uint32_t size) { return memory.allocate(size); },
        [&memory](void* block, std::uint32_t) { memory.deallocate(block); });
  });
  suite.add("resizing", [](const Parameters& parameters) {
    if (parameters.text("method") != "exception") return Samples{};
    return timed(parameters, [](std::size_t i) {
      Moving m(1024);
      fill_in_steps(m, sources()[i], 200);
      keep(m.buffer);
    });
  });
  suite.add("memory", [](const Parameters& parameters) {
    const auto percent = static_cast<unsigned>(parameters.number("growth"));
    const std::size_t first = std::max<std::size_t>(parameters.number("preallocate"), 1024);
    return memory_of([&] {
      std::vector<std::unique_ptr<Moving>> units;
      for (std::size_t i = 0; i < unit_count; ++i) {
        const Source& s = sources()[i % message_count];
        units.push_back(std::make_unique<Moving>(first));
        fill_in_steps(*units.back(), s, percent);
        fill_rest(*units.back(), s, percent);
      }
      return units;
    });
  });
  return suite.serve(count, values);
}
