// The other side of tests between processes and languages: crates/situ-c/examples/bus_peer.rs, and the
// messages that both sides expect.
#pragma once

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdio>
#include <numeric>
#include <sstream>
#include <string>
#include <vector>

#include "bus/messages.hpp"
#include "situ/bus.hpp"

namespace bus_test {

/// A process whose output is read line by line.
class Peer {
 public:
  explicit Peer(const std::vector<std::string>& arguments) {
    std::array<int, 2> ends{};
    if (::pipe(ends.data()) != 0) ADD_FAILURE() << "no pipe";
    pid_ = ::fork();
    if (pid_ == 0) {
      ::dup2(ends[1], STDOUT_FILENO);
      ::close(ends[0]);
      ::close(ends[1]);
      std::vector<char*> words{const_cast<char*>(SITU_TEST_PEER)};
      for (const auto& argument : arguments) words.push_back(const_cast<char*>(argument.c_str()));
      words.push_back(nullptr);
      ::execv(SITU_TEST_PEER, words.data());
      ::_exit(127);
    }
    ::close(ends[1]);
    output_ = ::fdopen(ends[0], "r");
  }
  ~Peer() {
    if (pid_ > 0) end(SIGKILL);
    std::fclose(output_);
  }
  Peer(const Peer&) = delete;
  Peer& operator=(const Peer&) = delete;

  std::string line() {
    std::array<char, 512> text{};
    if (std::fgets(text.data(), text.size(), output_) == nullptr) return "(end of output)";
    std::string found(text.data());
    if (!found.empty() && found.back() == '\n') found.pop_back();
    return found;
  }
  /// Waits for the process to exit and returns its exit status.
  int end(int signal = 0) {
    if (signal != 0) ::kill(pid_, signal);
    int status = -1;
    ::waitpid(pid_, &status, 0);
    pid_ = -1;
    return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
  }

 private:
  pid_t pid_ = -1;
  std::FILE* output_ = nullptr;
};

// Message number `index`, with the same content as in bus_peer.
inline std::string name_of(std::uint32_t index) { return "scan-" + std::to_string(index); }
inline std::vector<std::uint16_t> levels_of(std::uint32_t index) {
  std::vector<std::uint16_t> levels;
  for (std::uint32_t i = 0; i < index % 5; ++i) levels.push_back(static_cast<std::uint16_t>(i * 100 + index));
  return levels;
}
inline std::vector<float> ranges_of(std::uint32_t index) {
  std::vector<float> ranges;
  for (std::uint32_t i = 0; i < index % 7 * 10; ++i) ranges.push_back(static_cast<float>(i + index) * 0.5F);
  return ranges;
}

inline std::string line_of(std::uint32_t index) {
  std::ostringstream line;
  line << index << ' ' << index << ' ' << name_of(index) << " [";
  const auto levels = levels_of(index);
  for (std::size_t i = 0; i < levels.size(); ++i) line << (i == 0 ? "" : ", ") << levels[i];
  const auto ranges = ranges_of(index);
  line << "] " << ranges.size() << ' ' << std::accumulate(ranges.begin(), ranges.end(), 0.0F);
  return line.str();
}

template <class T>
void expect_scan(const situ::sample<T>& sample, std::uint32_t index) {
  EXPECT_EQ(sample.sequence(), index);
  EXPECT_EQ(sample->id, index);
  EXPECT_EQ(sample->name, name_of(index));
  EXPECT_EQ(std::vector<std::uint16_t>(sample->levels.begin(), sample->levels.end()), levels_of(index));
  const auto ranges = sample.bulk(&T::ranges);
  EXPECT_EQ(std::vector<float>(ranges.begin(), ranges.end()), ranges_of(index));
}

inline void publish_scan(situ::publisher<Scan>& publisher, std::uint32_t index) {
  const auto ranges = ranges_of(index);
  const auto levels = levels_of(index);
  auto loan = publisher.loan({.ranges = ranges.size()});
  loan->id = index;
  loan->name = name_of(index);
  loan->levels.assign(levels.begin(), levels.end());
  std::copy(ranges.begin(), ranges.end(), loan.bulk(&Scan::ranges).begin());
  loan.publish();
}

inline void publish_scan(situ::publisher<HeapScan>& publisher, std::uint32_t index) {
  HeapScan scan;
  const auto levels = levels_of(index);
  scan.id = index;
  scan.name = name_of(index);
  scan.levels.assign(levels.begin(), levels.end());
  scan.ranges = ranges_of(index);
  publisher.publish(scan);
}

}  // namespace bus_test
