// The common part of the C++ systems of table `region`: the driver's protocol (src/driver.rs), timing in
// batches, and sizes. Also message buffers whose addresses do not compete for the same cache lines.
#pragma once

#include <zlib.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <iostream>
#include <map>
#include <memory>
#include <span>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "data.hpp"
#include "worker.hpp"

namespace region_bench {

using Samples = std::vector<double>;

// The words of a `run` command.
class Parameters {
 public:
  explicit Parameters(const std::string& line) {
    std::istringstream words(line);
    for (std::string word; words >> word;) {
      const auto split = word.find('=');
      if (split != std::string::npos) values_[word.substr(0, split)] = word.substr(split + 1);
    }
  }
  [[nodiscard]] std::string text(const std::string& name) const {
    const auto found = values_.find(name);
    return found == values_.end() ? std::string() : found->second;
  }
  [[nodiscard]] std::uint64_t number(const std::string& name) const {
    const auto found = values_.find(name);
    if (found == values_.end()) bench::fail("missing " + name);
    return std::stoull(found->second);
  }

 private:
  std::map<std::string, std::string> values_;
};

// The nanoseconds of one operation, one sample for each round. A sample is the mean over a batch with one
// operation on each message. `prepare` is not timed.
template <class Prepare, class Body>
Samples timed(const Parameters& parameters, Prepare prepare, Body body) {
  const std::uint64_t rounds = parameters.number("rounds");
  Samples samples;
  samples.reserve(rounds);
  for (std::uint64_t round = 0; round < rounds; ++round) {
    prepare();
    const std::uint64_t begin = bench::monotonic_ns();
    for (std::size_t i = 0; i < message_count; ++i) body(i);
    const std::uint64_t end = bench::monotonic_ns();
    samples.push_back(static_cast<double>(end - begin) / static_cast<double>(message_count));
  }
  return samples;
}
template <class Body>
Samples timed(const Parameters& parameters, Body body) {
  return timed(
      parameters, [] {}, body);
}

// One buffer for each message, each at a different offset in its page and aligned to 64 bytes.
class Buffers {
 public:
  explicit Buffers(std::size_t room)
      : room_((room + 63) / 64 * 64), pitch_((room_ + 4095) / 4096 * 4096 + 192) {
    memory_.reset(static_cast<std::byte*>(std::aligned_alloc(64, (pitch_ * message_count + 63) / 64 * 64)));
    if (!memory_) bench::fail("no memory for messages");
    // Touches every page before timing.
    std::memset(memory_.get(), 0, pitch_ * message_count);
  }
  [[nodiscard]] std::span<std::byte> operator[](std::size_t i) { return {memory_.get() + i * pitch_, room_}; }

 private:
  struct Free {
    void operator()(std::byte* memory) const { std::free(memory); }
  };
  std::size_t room_;
  std::size_t pitch_;
  std::unique_ptr<std::byte, Free> memory_;
};

// Received messages: the original bytes, and buffers into which they are copied again before each batch.
class Received {
 public:
  template <class Make>
  explicit Received(Make make, std::size_t extra = 4096) : buffers_(0) {
    std::size_t room = 0;
    for (std::size_t i = 0; i < message_count; ++i) {
      const auto made = make(i);
      const auto bytes = std::as_bytes(std::span(made));
      pristine_.emplace_back(bytes.begin(), bytes.end());
      room = std::max(room, pristine_.back().size());
    }
    buffers_ = Buffers(room + extra);
    restore();
  }
  void restore() {
    for (std::size_t i = 0; i < message_count; ++i) {
      std::memcpy(buffers_[i].data(), pristine_[i].data(), pristine_[i].size());
    }
  }
  // The bytes of a message, and the whole buffer that begins with it.
  [[nodiscard]] std::span<std::byte> operator[](std::size_t i) {
    return buffers_[i].first(pristine_[i].size());
  }
  [[nodiscard]] std::span<std::byte> buffer(std::size_t i) { return buffers_[i]; }
  // The mean size of a message, plain and compressed by zlib, and a checksum of all bytes. The driver
  // compares the checksums of different languages.
  [[nodiscard]] Samples sizes() const {
    double plain = 0;
    double compressed = 0;
    std::uint32_t sum = 0;
    for (const auto& bytes : pristine_) {
      plain += static_cast<double>(bytes.size());
      uLongf size = compressBound(bytes.size());
      std::vector<Bytef> room(size);
      compress2(room.data(), &size, reinterpret_cast<const Bytef*>(bytes.data()), bytes.size(), 6);
      compressed += static_cast<double>(size);
      sum = static_cast<std::uint32_t>(
          crc32(sum, reinterpret_cast<const Bytef*>(bytes.data()), static_cast<uInt>(bytes.size())));
    }
    return {plain / message_count, compressed / message_count, static_cast<double>(sum)};
  }

 private:
  std::vector<std::vector<std::byte>> pristine_;
  Buffers buffers_;
};

// Checks that the read values are the written ones.
inline void expect_sum(std::size_t i, std::uint64_t found) {
  const std::uint64_t wanted = sum(sources()[i]);
  if (found != wanted) {
    bench::fail("message " + std::to_string(i) + " adds up to " + std::to_string(found) + ", not " +
                std::to_string(wanted));
  }
}

// The operations of a system, by name.
class Suite {
 public:
  using Operation = std::function<Samples(const Parameters&)>;
  void add(const std::string& name, Operation operation) { operations_[name] = std::move(operation); }

  int serve(int count, char** values) {
    try {
      const bench::Arguments arguments(count, values);
      cpu_set_t set;
      CPU_ZERO(&set);
      CPU_SET(std::stoul(arguments["--cpu"]), &set);
      if (sched_setaffinity(0, sizeof set, &set) != 0)
        bench::fail("cannot bind to core " + arguments["--cpu"]);
    } catch (const std::exception& error) {
      std::cout << "error " << error.what() << std::endl;
      return 1;
    }
    std::cout << "ok" << std::endl;
    for (std::string line; std::getline(std::cin, line);) answer(line);
    return 0;
  }

 private:
  // Runs `run op=build rounds=10`, or for a data set `run set=log op=read rounds=10`, and answers with
  // samples. An operation that the system does not offer has no samples.
  void answer(const std::string& line) {
    try {
      const Parameters parameters(line);
      const std::string set = parameters.text("set");
      const auto found = operations_.find((set.empty() ? "" : set + "/") + parameters.text("op"));
      Samples samples;
      if (found != operations_.end()) samples = found->second(parameters);
      std::ostringstream text;
      text.precision(12);
      text << "samples";
      for (const double sample : samples) text << ' ' << sample;
      std::cout << text.str() << std::endl;
    } catch (const std::exception& error) {
      std::string text = error.what();
      std::replace(text.begin(), text.end(), '\n', ' ');
      std::cout << "error " << text << std::endl;
    }
  }

  std::map<std::string, Operation> operations_;
};

}  // namespace region_bench
