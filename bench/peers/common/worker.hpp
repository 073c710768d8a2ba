// The worker's side of the benchmark's protocol for C++ peers: see src/protocol.rs and src/tables/bounded.rs.

#pragma once

#include <fcntl.h>
#include <linux/futex.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <climits>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <ctime>
#include <functional>
#include <iostream>
#include <map>
#include <sstream>
#include <stdexcept>
#include <string>
#include <vector>

namespace bench {

// The header of every message. The benchmark's `size` includes it.
struct Header {
  std::uint64_t sequence;
  std::uint64_t time;
};

inline std::uint64_t monotonic_ns() {
  timespec time{};
  clock_gettime(CLOCK_MONOTONIC, &time);
  return static_cast<std::uint64_t>(time.tv_sec) * 1'000'000'000U + static_cast<std::uint64_t>(time.tv_nsec);
}

[[noreturn]] inline void fail(const std::string& what) { throw std::runtime_error(what); }

// The words through which publisher and subscriber synchronize.
class Page {
 public:
  explicit Page(const std::string& path) {
    const int file = ::open(path.c_str(), O_RDWR | O_CREAT, 0600);
    if (file < 0 || ftruncate(file, kBytes) != 0) fail("cannot open " + path + ": " + std::strerror(errno));
    address_ = mmap(nullptr, kBytes, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    ::close(file);
    if (address_ == MAP_FAILED) fail("cannot map " + path + ": " + std::strerror(errno));
  }
  Page(const Page&) = delete;
  Page& operator=(const Page&) = delete;
  ~Page() { munmap(address_, kBytes); }

  void reset() { word().store(0); }

  void acknowledge(std::uint64_t sequence) {
    word().store(static_cast<std::uint32_t>(sequence), std::memory_order_release);
    syscall(SYS_futex, address_, FUTEX_WAKE, INT_MAX, nullptr, nullptr, 0);
  }

  void await(std::uint64_t sequence) {
    for (;;) {
      const std::uint32_t seen = word().load(std::memory_order_acquire);
      if (seen >= sequence) return;
      syscall(SYS_futex, address_, FUTEX_WAIT, seen, nullptr, nullptr, 0);
    }
  }

 private:
  static constexpr std::size_t kBytes = 64 * 64;
  std::atomic_ref<std::uint32_t> word() { return std::atomic_ref(*static_cast<std::uint32_t*>(address_)); }

  void* address_ = nullptr;
};

// The driver's command-line arguments: `--name value` throughout.
class Arguments {
 public:
  Arguments(int count, char** values) {
    for (int at = 1; at + 1 < count; at += 2) values_[values[at]] = values[at + 1];
  }
  const std::string& operator[](const std::string& name) const {
    const auto found = values_.find(name);
    if (found == values_.end()) fail("missing " + name);
    return found->second;
  }

 private:
  std::map<std::string, std::string> values_;
};

// One peer's endpoints. The driver calls `open`, then `run` several times, then `close`.
class Endpoints {
 public:
  virtual ~Endpoints() = default;
  // Creates a publisher or a subscriber for messages of `size` bytes and waits until it is connected.
  virtual void open(const std::string& topic, std::size_t size) = 0;
  // Publishes one message: the header, and every other byte `static_cast<uint8_t>(sequence)`.
  virtual void publish(std::uint64_t sequence) = 0;
  // Calls `sink` with the header, the length and the last byte of each message, until it has been called
  // `count` times.
  using Sink = std::function<void(const Header& header, std::size_t size, std::uint8_t last)>;
  virtual void receive(std::uint64_t count, const Sink& sink) = 0;
  virtual void close() = 0;
};

inline void serve(const Arguments& arguments, Endpoints& endpoints) {
  const bool publisher = arguments["--role"] == "publisher";
  Page page(arguments["--page"]);
  std::uint64_t next = 1;
  std::size_t size = 0;
  std::cout << "ok" << std::endl;
  for (std::string line; std::getline(std::cin, line);) {
    std::istringstream words(line);
    std::string verb;
    words >> verb;
    std::map<std::string, std::uint64_t> values;
    for (std::string word; words >> word;) {
      const auto split = word.find('=');
      if (split != std::string::npos) values[word.substr(0, split)] = std::stoull(word.substr(split + 1));
    }
    try {
      if (verb == "open") {
        next = 1;
        size = values.at("size");
        if (!publisher) page.reset();
        endpoints.open("bounded_" + std::to_string(values.at("id")), size);
        std::cout << "ok" << std::endl;
      } else if (verb == "run") {
        const std::uint64_t count = values.at("count");
        std::ostringstream answer;
        answer << "samples";
        if (publisher) {
          for (const std::uint64_t end = next + count; next < end; ++next) {
            endpoints.publish(next);
            page.await(next);
          }
        } else {
          std::vector<std::uint64_t> samples;
          samples.reserve(count);
          endpoints.receive(count, [&](const Header& header, std::size_t got, std::uint8_t last) {
            const std::uint64_t now = monotonic_ns();
            if (header.sequence != next || got != size || last != static_cast<std::uint8_t>(next)) {
              fail("expected message " + std::to_string(next) + " of " + std::to_string(size) +
                   " bytes, got " + std::to_string(header.sequence) + " of " + std::to_string(got));
            }
            samples.push_back(now - header.time);
            page.acknowledge(next);
            ++next;
          });
          for (const std::uint64_t sample : samples) answer << ' ' << sample;
        }
        std::cout << answer.str() << std::endl;
      } else if (verb == "close") {
        endpoints.close();
        std::cout << "ok" << std::endl;
      } else {
        std::cout << "error unknown command " << verb << std::endl;
      }
    } catch (const std::exception& error) {
      std::string text = error.what();
      std::replace(text.begin(), text.end(), '\n', ' ');
      std::cout << "error " << text << std::endl;
    }
  }
  endpoints.close();
}

// Binds the process to its core, unless the kernel may choose, builds the endpoints and serves.
template <class Build>
int run(int count, char** values, Build build) {
  try {
    const Arguments arguments(count, values);
    cpu_set_t set;
    CPU_ZERO(&set);
    CPU_SET(std::stoul(arguments["--cpu"]), &set);
    if (sched_setaffinity(0, sizeof set, &set) != 0) fail("cannot bind to core " + arguments["--cpu"]);
    const auto endpoints = build(arguments);
    serve(arguments, *endpoints);
    return 0;
  } catch (const std::exception& error) {
    std::string text = error.what();
    std::replace(text.begin(), text.end(), '\n', ' ');
    std::cout << "error " << text << std::endl;
    return 1;
  }
}

// Polls until the condition holds. Connecting takes as long as discovery.
template <class Condition>
void until(const char* what, Condition condition) {
  const std::uint64_t deadline = monotonic_ns() + 10'000'000'000U;
  while (!condition()) {
    if (monotonic_ns() > deadline) fail(std::string(what) + " took longer than 10 s");
    usleep(1000);
  }
}

}  // namespace bench
