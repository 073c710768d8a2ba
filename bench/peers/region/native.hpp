// Systems with ordinary objects on the heap. They receive and send nothing, so their times show the cost of
// the containers.
#pragma once

#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <memory>

#include "suite.hpp"
#include "work.hpp"

namespace region_bench {

// The resident memory of this process, in bytes.
inline double resident_bytes() {
  std::FILE* file = std::fopen("/proc/self/statm", "r");
  unsigned long all = 0;
  unsigned long resident = 0;
  const bool read = file != nullptr && std::fscanf(file, "%lu %lu", &all, &resident) == 2;
  if (file != nullptr) std::fclose(file);
  if (!read) bench::fail("cannot read /proc/self/statm");
  return static_cast<double>(resident) * static_cast<double>(sysconf(_SC_PAGESIZE));
}

// The growth of a fresh process's resident memory by `work`, in bytes. The result of `work` lives until the
// measurement.
template <class Work>
Samples memory_of(Work work) {
  int ends[2];
  if (pipe(ends) != 0) bench::fail("no pipe");
  const pid_t child = fork();
  if (child < 0) bench::fail("cannot fork");
  if (child == 0) {
    double grown = -1;
    try {
      const double before = resident_bytes();
      const auto held = work();
      keep(held);
      grown = resident_bytes() - before;
    } catch (...) {
    }
    const ssize_t written = write(ends[1], &grown, sizeof grown);
    _exit(written == sizeof grown ? 0 : 1);
  }
  double grown = -1;
  const ssize_t got = read(ends[0], &grown, sizeof grown);
  close(ends[0]);
  close(ends[1]);
  waitpid(child, nullptr, 0);
  if (got != sizeof grown || grown < 0) bench::fail("the child that measures memory failed");
  return {grown};
}

inline constexpr std::size_t unit_count = 10'000;

// One push_back within the capacity, in a vector of 1024 numbers that is cleared in between.
template <class Vector>
Samples time_push_back(const Parameters& parameters, Vector& vector) {
  constexpr std::size_t pushes = 1024;
  vector.reserve(pushes);
  const std::uint64_t rounds = parameters.number("rounds");
  Samples samples;
  for (std::uint64_t round = 0; round < rounds; ++round) {
    vector.clear();
    const std::uint64_t begin = bench::monotonic_ns();
    for (std::size_t i = 0; i < pushes; ++i) {
      vector.push_back(static_cast<std::uint32_t>(i));
      keep(vector);
    }
    samples.push_back(static_cast<double>(bench::monotonic_ns() - begin) / pushes);
  }
  if (vector.back() != pushes - 1) bench::fail("push_back lost an element");
  return samples;
}

// One free and one allocation while 64 blocks of 16 to 128 bytes are alive, in a random order that is
// prepared in advance.
template <class Allocate, class Free>
Samples time_allocation(const Parameters& parameters, Allocate allocate, Free free) {
  struct Block {
    void* at;
    std::uint32_t size;
  };
  std::array<Block, 64> blocks{};
  Random random(64);
  const auto any_size = [&random] { return static_cast<std::uint32_t>(1 + random.bits() % 8) * 16; };
  for (Block& block : blocks) {
    block.size = any_size();
    block.at = allocate(block.size);
  }
  constexpr std::size_t steps = 1024;
  std::array<std::uint8_t, steps> victims{};
  for (auto& each : victims) each = static_cast<std::uint8_t>(random.bits() % blocks.size());
  const std::uint64_t rounds = parameters.number("rounds");
  Samples samples;
  for (std::uint64_t round = 0; round < rounds; ++round) {
    const std::uint64_t begin = bench::monotonic_ns();
    for (const std::uint8_t victim : victims) {
      // Allocates the size that was freed, as when one element is replaced by another.
      Block& block = blocks[victim];
      free(block.at, block.size);
      block.at = allocate(block.size);
      keep(block);
    }
    samples.push_back(static_cast<double>(bench::monotonic_ns() - begin) / steps);
  }
  for (const Block& block : blocks) free(block.at, block.size);
  return samples;
}

// All operations for a character type `C` with containers on the heap. `V` is the memory of its vectors.
template <class C, class Numbers, class How = Plainly>
void add_native(Suite& suite) {
  struct State {
    std::vector<std::unique_ptr<C>> characters;
    State() {
      for (std::size_t i = 0; i < message_count; ++i) {
        characters.push_back(std::make_unique<C>());
        fill<How>(*characters.back(), sources()[i]);
        expect_sum(i, read_all(*characters.back()));
        change<How>(*characters.back(), changes()[i]);
      }
    }
  };
  const auto state = std::make_shared<State>();
  suite.add("build", [](const Parameters& parameters) {
    return timed(parameters, [](std::size_t i) {
      C c{};
      fill<How>(c, sources()[i]);
      keep(c);
    });
  });
  const auto read = [state](const Parameters& parameters) {
    return timed(parameters, [&](std::size_t i) { keep(read_all(*state->characters[i])); });
  };
  const auto write = [state](const Parameters& parameters) {
    return timed(parameters, [&](std::size_t i) {
      change<How>(*state->characters[i], changes()[i]);
      keep(*state->characters[i]);
    });
  };
  suite.add("read", read);
  suite.add("mutate_send", write);
  suite.add("native_read", read);
  suite.add("native_write", write);
  suite.add("push_back", [](const Parameters& parameters) {
    Numbers numbers;
    return time_push_back(parameters, numbers);
  });
  suite.add("memory", [](const Parameters& parameters) {
    if (parameters.text("growth") != "200" || parameters.number("preallocate") != 0) return Samples{};
    return memory_of([] {
      std::vector<std::unique_ptr<C>> units;
      for (std::size_t i = 0; i < unit_count; ++i) {
        units.push_back(std::make_unique<C>());
        fill<How>(*units.back(), sources()[i % message_count]);
      }
      return units;
    });
  });
}

}  // namespace region_bench
