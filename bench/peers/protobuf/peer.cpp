// Encodes the messages of table `protobuf` with Situ, libprotobuf, mapbox's protozero and, where its sources
// are, Perfetto's ProtoZero, and reports the times. Commands on standard input: `facts` and `round
// <iterations>`. Answers: a line `<case> <system> <metric> <value>` for each number, then `done`. Each
// compiler builds this program once.
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <iostream>
#include <memory>
#include <new>
#include <protozero/buffer_fixed.hpp>
#include <protozero/pbf_writer.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "input.hpp"
#include "message.pb.h"
#include "message.situ.hpp"
#ifdef BENCH_PROTOZERO
#include "protozero.hpp"
#endif

namespace {

std::size_t allocations = 0;

constexpr std::size_t kPerMessage = 512;
constexpr std::size_t kCold = 64 * 1024 * 1024;
// Makes the compiler assume that the memory behind the pointer is read and written here.
inline void opaque(const void* what) { asm volatile("" : : "r"(what) : "memory"); }

// The systems. `simple`, `nested` and `packed` write into memory of a given size, and return the number of
// written bytes.

struct Situ {
  static constexpr const char* name = "situ";

  static void fill(bench::MessageWriter& it, const Input& in) {
    it.set_a(in.a);
    it.set_b(in.b);
    it.set_c(in.c);
    it.set_d(in.d);
    it.set_text(in.string());
  }
  static void level(bench::MessageWriter& it, const Input& in, int levels) {
    fill(it, in);
    if (levels > 0) {
      bench::MessageWriter child = it.set_child();
      level(child, in, levels - 1);
    }
  }
  template <class Fill>
  static std::size_t write(std::uint8_t* out, std::size_t size, Fill&& fill) {
    situ::protobuf::fixed_buffer buffer(std::span(out, size));
    situ::protobuf::writer writer(buffer);
    {
      bench::MessageWriter it(writer);
      fill(it);
    }
    if (writer.finish() != situ::protobuf::write_error::none) std::abort();
    return buffer.written().size();
  }
  static std::size_t simple(const Input& in, std::uint8_t* out, std::size_t size) {
    return write(out, size, [&](auto& it) { fill(it, in); });
  }
  static std::size_t nested(const Input& in, std::uint8_t* out, std::size_t size) {
    return write(out, size, [&](auto& it) { level(it, in, kLevels); });
  }
  static std::size_t packed(const Input& in, std::uint8_t* out, std::size_t size) {
    return write(out, size, [&](auto& it) { it.set_numbers(in.numbers); });
  }
};

template <bool Reused>
struct Libprotobuf {
  static constexpr const char* name = Reused ? "libprotobuf-reused" : "libprotobuf";

  static void level(bench::Message& it, const Input& in, int levels) {
    it.set_a(in.a);
    it.set_b(in.b);
    it.set_c(in.c);
    it.set_d(in.d);
    if constexpr (Reused) {
      // Not set_text(), which creates a string first.
      it.mutable_text()->assign(in.text, sizeof in.text);
    } else {
      // As in ProtoZero's benchmark.
      it.set_text(in.text, sizeof in.text);
    }
    if (levels > 0) level(*it.mutable_child(), in, levels - 1);
  }
  template <class Fill>
  static std::size_t write(std::uint8_t* out, std::size_t size, Fill&& fill) {
    if constexpr (Reused) {
      // NOLINTNEXTLINE: one message for each shape, as a program would keep it.
      static bench::Message kept;
      kept.Clear();
      fill(kept);
      if (!kept.SerializeToArray(out, static_cast<int>(size))) std::abort();
      return static_cast<std::size_t>(kept.GetCachedSize());
    } else {
      bench::Message fresh;
      fill(fresh);
      if (!fresh.SerializeToArray(out, static_cast<int>(size))) std::abort();
      return static_cast<std::size_t>(fresh.GetCachedSize());
    }
  }
  static std::size_t simple(const Input& in, std::uint8_t* out, std::size_t size) {
    return write(out, size, [&](auto& it) { level(it, in, 0); });
  }
  static std::size_t nested(const Input& in, std::uint8_t* out, std::size_t size) {
    return write(out, size, [&](auto& it) { level(it, in, kLevels); });
  }
  static std::size_t packed(const Input& in, std::uint8_t* out, std::size_t size) {
    return write(out, size,
                 [&](auto& it) { it.mutable_numbers()->Add(std::begin(in.numbers), std::end(in.numbers)); });
  }
};

struct Mapbox {
  static constexpr const char* name = "mapbox";
  using Buffer = protozero::fixed_size_buffer_adaptor;
  using Writer = protozero::basic_pbf_writer<Buffer>;

  static void level(Writer& it, const Input& in, int levels) {
    it.add_int32(1, in.a);
    it.add_uint32(2, in.b);
    it.add_int64(3, in.c);
    it.add_uint64(4, in.d);
    it.add_string(5, in.text, sizeof in.text);
    if (levels > 0) {
      Writer child(it, 6);
      level(child, in, levels - 1);
    }
  }
  template <class Fill>
  static std::size_t write(std::uint8_t* out, std::size_t size, Fill&& fill) {
    Buffer buffer(reinterpret_cast<char*>(out), size);
    {
      Writer it(buffer);
      fill(it);
    }
    return buffer.size();
  }
  static std::size_t simple(const Input& in, std::uint8_t* out, std::size_t size) {
    return write(out, size, [&](auto& it) { level(it, in, 0); });
  }
  static std::size_t nested(const Input& in, std::uint8_t* out, std::size_t size) {
    return write(out, size, [&](auto& it) { level(it, in, kLevels); });
  }
  static std::size_t packed(const Input& in, std::uint8_t* out, std::size_t size) {
    return write(out, size,
                 [&](auto& it) { it.add_packed_fixed32(7, std::begin(in.numbers), std::end(in.numbers)); });
  }
};

// The limit of the memory: the values one after another, without tags, lengths, or a check of the end.
struct Floor {
  static constexpr const char* name = "floor";

  template <class T>
  static std::uint8_t* put(std::uint8_t* at, const T& value) {
    std::memcpy(at, &value, sizeof value);
    return at + sizeof value;
  }
  static std::uint8_t* level(const Input& in, std::uint8_t* at) {
    return put(put(put(put(put(at, in.a), in.b), in.c), in.d), in.text);
  }
  static std::size_t simple(const Input& in, std::uint8_t* out, std::size_t) {
    return static_cast<std::size_t>(level(in, out) - out);
  }
  static std::size_t nested(const Input& in, std::uint8_t* out, std::size_t) {
    std::uint8_t* at = out;
    for (int i = 0; i <= kLevels; ++i) {
      at = level(in, at);
      opaque(&in);
    }
    return static_cast<std::size_t>(at - out);
  }
  static std::size_t packed(const Input& in, std::uint8_t* out, std::size_t) {
    return static_cast<std::size_t>(put(out, in.numbers) - out);
  }
};

double now() {
  timespec time{};
  clock_gettime(CLOCK_MONOTONIC, &time);
  return static_cast<double>(time.tv_sec) * 1e9 + static_cast<double>(time.tv_nsec);
}

using Encode = std::size_t (*)(const Input&, std::uint8_t*, std::size_t);

struct Run {
  const char* name;
  const char* system;
  Encode encode;
  // The distance from one message to the next in bytes. 0: all messages in the same place.
  std::size_t step;
  // The factor by which a slow case has fewer iterations.
  std::size_t share;
};

template <class System>
void add(std::vector<Run>& runs) {
  runs.push_back({"simple", System::name, System::simple, 0, 1});
  runs.push_back({"nested", System::name, System::nested, 0, 4});
  runs.push_back({"simple, cold", System::name, System::simple, kPerMessage, 4});
  runs.push_back({"nested, cold", System::name, System::nested, kPerMessage, 8});
  runs.push_back({"packed fixed32", System::name, System::packed, 0, 8});
}

}  // namespace

// Not inlined: otherwise the compiler reports malloc and delete as a mismatch.
__attribute__((noinline)) void* operator new(std::size_t size) {
  ++allocations;
  if (void* memory = std::malloc(size)) return memory;
  throw std::bad_alloc();
}
__attribute__((noinline)) void operator delete(void* memory) noexcept { std::free(memory); }
__attribute__((noinline)) void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }

// Functions with one call and with five calls. The driver derives the code size of a call from their
// difference.
extern "C" {
__attribute__((noinline, used)) void code_situ_1(bench::MessageWriter& it, const std::uint32_t* values) {
  it.set_e(values[0]);
}
__attribute__((noinline, used)) void code_situ_5(bench::MessageWriter& it, const std::uint32_t* values) {
  it.set_e(values[0]);
  it.set_f(values[1]);
  it.set_g(values[2]);
  it.set_h(values[3]);
  it.set_i(values[4]);
}
__attribute__((noinline, used)) void code_libprotobuf_1(bench::Message& it, const std::uint32_t* values) {
  it.set_e(values[0]);
}
__attribute__((noinline, used)) void code_libprotobuf_5(bench::Message& it, const std::uint32_t* values) {
  it.set_e(values[0]);
  it.set_f(values[1]);
  it.set_g(values[2]);
  it.set_h(values[3]);
  it.set_i(values[4]);
}
}

// The argument is the core.
int main(int count, char** arguments) {
  if (count > 1) {
    cpu_set_t set;
    CPU_ZERO(&set);
    CPU_SET(static_cast<std::size_t>(std::atoi(arguments[1])), &set);
    sched_setaffinity(0, sizeof set, &set);
  }
  std::vector<Run> runs;
  add<Situ>(runs);
  add<Libprotobuf<false>>(runs);
  add<Libprotobuf<true>>(runs);
  add<Mapbox>(runs);
#ifdef BENCH_PROTOZERO
  add<ProtoZero>(runs);
#endif
  add<Floor>(runs);

  Input in;
  std::fill(std::begin(in.text), std::end(in.text), 'f');
  for (std::size_t i = 0; i < kNumbers; ++i) in.numbers[i] = static_cast<std::uint32_t>(i * 0x9e3779b9);
  // Touches every page before the measurement.
  std::vector<std::uint8_t> memory(kCold, 1);
  std::size_t place = 0;

  for (std::string line; std::getline(std::cin, line);) {
    if (line == "facts") {
      for (const Run& run : runs) {
        run.encode(in, memory.data(), kCold);
        const std::size_t before = allocations;
        const std::size_t bytes = run.encode(in, memory.data(), kCold);
        const std::size_t after = allocations;
        std::printf("%s|%s|bytes|%zu\n", run.name, run.system, bytes);
        std::printf("%s|%s|allocations|%zu\n", run.name, run.system, after - before);
      }
    } else if (line.rfind("round ", 0) == 0) {
      const std::size_t iterations = std::stoull(line.substr(6));
      for (const Run& run : runs) {
        const std::size_t count = iterations / run.share;
        for (std::size_t i = 0; i < 64; ++i) run.encode(in, memory.data(), kPerMessage + sizeof in.numbers);
        const double begin = now();
        for (std::size_t i = 0; i < count; ++i) {
          std::uint8_t* const at = memory.data() + place;
          opaque(&in);
          run.encode(in, at, kPerMessage + (run.step == 0 ? sizeof in.numbers : 0));
          opaque(at);
          if (run.step != 0) place = (place + run.step) % (kCold - kPerMessage);
        }
        std::printf("%s|%s|ns|%.3f\n", run.name, run.system, (now() - begin) / static_cast<double>(count));
      }
    }
    std::puts("done");
    std::fflush(stdout);
  }
}
