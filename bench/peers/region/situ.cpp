// Situ's regions. `situ` receives and sends live images: the region's memory, changed in place.
// `situ-canonical` (SITU_CANONICAL) receives and sends the compact form, as over a network.
#include "situ.hpp"

#include <csetjmp>

#include "native.hpp"
#include "situ_sets.hpp"
#include "situ_world.hpp"
#include "suite.hpp"

namespace region_bench {
namespace {

#ifdef SITU_CANONICAL
constexpr bool canonical = true;
#else
constexpr bool canonical = false;
#endif

// The room for growth behind a message in its buffer, as in a loan of shared memory.
constexpr std::size_t room = 8192;

// The received messages.
std::vector<std::byte> message(std::size_t i) {
  Region r;
  fill<InRegion>(*r, sources()[i]);
  expect_sum(i, read_all(*r));
  if (canonical) return r.canonical();
  const auto bytes = r.bytes();
  return {bytes.begin(), bytes.end()};
}

Region adopt(std::span<std::byte> buffer) {
  auto adopted = Region::adopt_in_place(buffer);
  if (!adopted) bench::fail(adopted.error().message());
  return std::move(*adopted);
}

void check_churn() {
  Region r;
  fill<InRegion>(*r, sources()[0]);
  const std::vector<std::byte> before = r.canonical();
  Random random(99);
  for (int i = 0; i < 100'000; ++i) {
    const std::uint64_t key = (random.bits() % 4096) * 2 + 1;
    if (r->items.contains(key)) {
      r->items.erase(key);
    } else {
      // This uuid must not remain in the image.
      r->items.emplace(key, Item{0xdeadbeefU, 0xdeadbeefU, 0xdeadbeefdeadbeefU, 0xdeadbeefdeadbeefU});
    }
  }
  for (std::uint64_t key = 1; key < 8192; key += 2) r->items.erase(key);
  for (int i = 0; i < 1000; ++i) {
    r->name = std::string(static_cast<std::size_t>(8 + i % 100), 'x');
  }
  r->name = sources()[0].name_view();
  const std::vector<std::byte> after = r.canonical();
  if (after.size() != before.size() || after != before) {
    bench::fail("100,000 inserts and erases and 1,000 renames have changed the canonical image");
  }
  constexpr std::uint32_t freed = 0xdeadbeefU;
  for (const auto bytes : {std::span<const std::byte>(after), r.bytes()}) {
    for (std::size_t at = 0; at + 4 <= bytes.size(); at += 4) {
      if (std::memcmp(bytes.data() + at, &freed, 4) == 0) bench::fail("an image holds erased data");
    }
  }
}

// Grows from a buffer of 1 KiB, by the four methods of the talk. All methods build the same character.
constexpr std::size_t first_buffer = 1024;

// Moves the region to a buffer of twice the size.
void enlarge(std::vector<std::byte>& memory, std::span<std::byte>& buffer, Region& r) {
  std::vector<std::byte> larger(buffer.size() * 2 + 16);
  void* at = larger.data();
  std::size_t space = larger.size();
  at = std::align(16, buffer.size() * 2, at, space);
  const std::span<std::byte> next(static_cast<std::byte*>(at), buffer.size() * 2);
  std::memcpy(next.data(), r.bytes().data(), r.bytes().size());
  r = adopt(next);
  memory = std::move(larger);
  buffer = next;
}

struct Moving {
  std::vector<std::byte> memory;
  std::span<std::byte> buffer;
  Region r;

  Moving() : memory(first_buffer + 16), buffer(first()), r(buffer) {}
  std::span<std::byte> first() {
    void* at = memory.data();
    std::size_t space = memory.size();
    at = std::align(16, first_buffer, at, space);
    return {static_cast<std::byte*>(at), first_buffer};
  }
  void grow() { enlarge(memory, buffer, r); }
};

// Each added element is a step. A step without room is repeated after growing.
template <class Step>
void fill_in_steps(Moving& g, const Source& s, Step step) {
  Character& c = *g.r;
  c.id = s.id;
  c.name = s.name_view();
  for (const SourceItem& each : s.items) {
    step(g, [&each](Character& to) { return to.items.try_insert(each.key, each.value).first != nullptr; });
  }
  for (const Position& each : s.path) {
    step(g, [&each](Character& to) { return to.path.try_push_back(each); });
  }
  for (const Skill& each : s.skills) {
    step(g, [&each](Character& to) { return to.skills.try_push_back(each); });
  }
}

Samples time_resizing(const Parameters& parameters) {
  const std::string method = parameters.text("method");
  const auto by = [&parameters](auto step) {
    return timed(parameters, [&step](std::size_t i) {
      Moving g;
      fill_in_steps(g, sources()[i], step);
      keep(g.r);
    });
  };
  if (method == "exception") {
    return by([](Moving& g, auto add) {
      for (;;) {
        try {
          if (!add(*g.r)) throw situ::region_error(situ::region_fault::full, g.r.capacity());
          return;
        } catch (const situ::region_error&) {
          g.grow();
        }
      }
    });
  }
  if (method == "longjmp") {
    return by([](Moving& g, auto add) {
      static std::jmp_buf again;
      if (setjmp(again) != 0) g.grow();
      if (!add(*g.r)) std::longjmp(again, 1);
    });
  }
  if (method == "error_code") {
    return by([](Moving& g, auto add) {
      while (!add(*g.r)) g.grow();
    });
  }
  if (method == "reserved_window") {
    return timed(parameters, [](std::size_t i) {
      Region r;
      const Source& s = sources()[i];
      r->id = s.id;
      r->name = s.name_view();
      for (const SourceItem& each : s.items) r->items.emplace(each.key, each.value);
      for (const Position& each : s.path) r->path.push_back(each);
      for (const Skill& each : s.skills) r->skills.push_back(each);
      keep(r);
    });
  }
  return {};
}

situ::region_options options_of(const Parameters& parameters) {
  situ::region_options options;
  options.growth_percent = static_cast<std::uint16_t>(std::stoul(parameters.text("growth")));
  options.preallocate = static_cast<std::uint32_t>(parameters.number("preallocate"));
  return options;
}

void add_live_only(Suite& suite) {
  suite.add("memory", [](const Parameters& parameters) {
    return memory_of([&parameters] {
      const situ::region_options options = options_of(parameters);
      std::vector<Region> units;
      units.reserve(unit_count);
      for (std::size_t i = 0; i < unit_count; ++i) {
        units.emplace_back(options);
        fill<InGrowingRegion>(*units.back(), sources()[i % message_count]);
      }
      return units;
    });
  });
  suite.add("growth", [](const Parameters& parameters) {
    std::vector<Region> units;
    for (std::size_t i = 0; i < message_count; ++i) {
      units.emplace_back(options_of(parameters));
      fill<InGrowingRegion>(*units.back(), sources()[i]);
    }
    if (parameters.text("what") == "image") {
      double bytes = 0;
      for (const Region& unit : units) bytes += static_cast<double>(unit.size());
      return Samples{bytes / message_count};
    }
    if (parameters.text("what") == "read") {
      return timed(parameters, [&units](std::size_t i) { keep(read_all(*units[i])); });
    }
    if (parameters.text("what") == "write") {
      return timed(parameters, [&units](std::size_t i) { change<InRegion>(*units[i], changes()[i]); });
    }
    return timed(
        parameters, [&units] { units.clear(); },
        [&units, &parameters](std::size_t i) {
          units.emplace_back(options_of(parameters));
          fill<InGrowingRegion>(*units.back(), sources()[i]);
        });
  });
  suite.add("resizing", time_resizing);
  suite.add("churn", [](const Parameters&) {
    check_churn();
    return Samples{0};
  });
  suite.add("push_back", [](const Parameters& parameters) {
    situ::region<Numbers> numbers;
    return time_push_back(parameters, numbers->values);
  });
  suite.add("allocation", [](const Parameters& parameters) {
    situ::region<Numbers> any;
    auto* h = reinterpret_cast<situ::region_detail::header*>(const_cast<std::byte*>(any.bytes().data()));
    return time_allocation(
        parameters, [h](std::uint32_t size) { return situ::region_detail::allocate(h, size); },
        [h](void* block, std::uint32_t size) { situ::region_detail::deallocate(h, block, size); });
  });
}

void add_messages(Suite& suite) {
  const auto received = std::make_shared<Received>(message, room);
  const auto out = std::make_shared<Buffers>(room);
  suite.add("sizes", [received](const Parameters&) { return received->sizes(); });
  suite.add("build", [out](const Parameters& parameters) {
    return timed(parameters, [&out](std::size_t i) {
      Region r((*out)[i]);
      fill<InRegion>(*r, sources()[i]);
      if (canonical) {
        alignas(64) static std::array<std::byte, room> compact;
        keep(r.canonical_to(compact));
      }
      keep(*r);
    });
  });
  suite.add("read", [received](const Parameters& parameters) {
    received->restore();
    const auto at = [&received](std::size_t i) -> const Character& {
      return *reinterpret_cast<const Character*>((*received)[i].data() + situ::region_detail::root_offset);
    };
    for (std::size_t i = 0; i < message_count; ++i) expect_sum(i, read_all(at(i)));
    return timed(parameters, [&at](std::size_t i) { keep(read_all(at(i))); });
  });
  suite.add("validate", [received](const Parameters& parameters) {
    received->restore();
    return timed(parameters, [&received](std::size_t i) {
      const auto seen = situ::view_region<Character>((*received)[i]);
      if (!seen) bench::fail(seen.error().message());
      keep(*seen);
    });
  });
  const auto mutate_send = [received, out](const Parameters& parameters) {
    return timed(
        parameters, [&received] { received->restore(); },
        [&received, &out](std::size_t i) {
          Region r = adopt(received->buffer(i));
          change<InRegion>(*r, changes()[i]);
          if (canonical) {
            keep(r.canonical_to((*out)[i]));
            keep((*out)[i]);
          } else {
            keep(r.bytes());
          }
        });
  };
  suite.add("mutate_send", mutate_send);
  suite.add("decode", [received](const Parameters& parameters) {
    return timed(
        parameters, [&received] { received->restore(); },
        [&received](std::size_t i) { keep(adopt(received->buffer(i))); });
  });
  if (canonical) {
    suite.add("encode", [received, out](const Parameters& parameters) {
      std::vector<Region> all;
      for (std::size_t i = 0; i < message_count; ++i) all.push_back(adopt(received->buffer(i)));
      return timed(parameters, [&](std::size_t i) { keep(all[i].canonical_to((*out)[i])); });
    });
    return;
  }
  const auto native = [received](const Parameters& parameters, auto work) {
    received->restore();
    std::vector<Region> all;
    for (std::size_t i = 0; i < message_count; ++i) all.push_back(adopt(received->buffer(i)));
    return timed(parameters, [&](std::size_t i) { work(*all[i], i); });
  };
  suite.add("encode", [received](const Parameters& parameters) {
    std::vector<Region> all;
    for (std::size_t i = 0; i < message_count; ++i) all.push_back(adopt(received->buffer(i)));
    return timed(parameters, [&all](std::size_t i) { keep(all[i].bytes()); });
  });
  suite.add("native_read", [native](const Parameters& parameters) {
    return native(parameters, [](const Character& c, std::size_t) { keep(read_all(c)); });
  });
  suite.add("native_write", [native](const Parameters& parameters) {
    return native(parameters, [](Character& c, std::size_t i) {
      change<InRegion>(c, changes()[i]);
      keep(c);
    });
  });
}

}  // namespace
}  // namespace region_bench

int main(int count, char** values) {
  region_bench::Suite suite;
  region_bench::add_messages(suite);
  if (!region_bench::canonical) {
    region_bench::add_live_only(suite);
    region_bench::sets::add_all(suite);
    region_bench::sets::add_world(suite);
  }
  return suite.serve(count, values);
}
