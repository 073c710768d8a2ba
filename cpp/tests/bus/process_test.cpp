// Messages between processes and languages: C++ here, Rust (crates/situ-c/examples/bus_peer.rs) in another
// process.
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <numeric>
#include <sstream>
#include <string>
#include <vector>

#include "bus/messages.hpp"
#include "bus/scratch.hpp"

namespace bus_test {
namespace {

using namespace std::chrono_literals;

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
std::string name_of(std::uint32_t index) { return "scan-" + std::to_string(index); }
std::vector<std::uint16_t> levels_of(std::uint32_t index) {
  std::vector<std::uint16_t> levels;
  for (std::uint32_t i = 0; i < index % 5; ++i) levels.push_back(static_cast<std::uint16_t>(i * 100 + index));
  return levels;
}
std::vector<float> ranges_of(std::uint32_t index) {
  std::vector<float> ranges;
  for (std::uint32_t i = 0; i < index % 7 * 10; ++i) ranges.push_back(static_cast<float>(i + index) * 0.5F);
  return ranges;
}

std::string line_of(std::uint32_t index) {
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

void publish_scan(situ::publisher<Scan>& publisher, std::uint32_t index) {
  const auto ranges = ranges_of(index);
  const auto levels = levels_of(index);
  auto loan = publisher.loan({.ranges = ranges.size()});
  loan->id = index;
  loan->name = name_of(index);
  loan->levels.assign(levels.begin(), levels.end());
  std::copy(ranges.begin(), ranges.end(), loan.bulk(&Scan::ranges).begin());
  loan.publish();
}

void publish_scan(situ::publisher<HeapScan>& publisher, std::uint32_t index) {
  HeapScan scan;
  const auto levels = levels_of(index);
  scan.id = index;
  scan.name = name_of(index);
  scan.levels.assign(levels.begin(), levels.end());
  scan.ranges = ranges_of(index);
  publisher.publish(scan);
}

class Crosswise : public Bus {
 protected:
  static constexpr std::uint32_t count = 200;

  std::vector<std::string> peer(const std::string& what, const std::string& encoding,
                                const std::string& rest = "") const {
    std::vector<std::string> words{what, root_.path, "scans", encoding, std::to_string(count)};
    if (!rest.empty()) words.push_back(rest);
    return words;
  }

  template <class T>
  void cpp_to_rust(const std::string& encoding) {
    const auto on = node("cpp");
    auto publisher = on.publisher<T>("scans", {.reliability = situ::reliability::reliable});
    Peer rust(peer("take", encoding));
    ASSERT_EQ(rust.line(), "ready");
    for (std::uint32_t i = 0; i < count; ++i) publish_scan(publisher, i);
    for (std::uint32_t i = 0; i < count; ++i) ASSERT_EQ(rust.line(), line_of(i));
    EXPECT_EQ(rust.end(), 0);
  }

  template <class T>
  void rust_to_cpp(const std::string& encoding) {
    const auto on = node("cpp");
    auto subscriber = on.subscriber<T>("scans", {.reliability = situ::reliability::reliable});
    Peer rust(peer("publish", encoding));
    for (std::uint32_t i = 0; i < count; ++i) {
      const auto sample = subscriber.receive(20s);
      ASSERT_TRUE(sample.has_value()) << "message " << i;
      expect_scan(*sample, i);
      EXPECT_EQ(sample->is_copy(), encoding != "flat" || !situ::flat_message<T>);
    }
    EXPECT_EQ(rust.end(), 0);
  }
};

TEST_F(Crosswise, cpp_publishes_flat_messages_that_rust_takes) { cpp_to_rust<Scan>("flat"); }
TEST_F(Crosswise, cpp_publishes_serialized_messages_that_rust_takes) { cpp_to_rust<HeapScan>("xcdr1"); }
TEST_F(Crosswise, rust_publishes_flat_messages_that_cpp_takes) { rust_to_cpp<Scan>("flat"); }
TEST_F(Crosswise, rust_publishes_flat_messages_that_cpp_takes_on_the_heap) { rust_to_cpp<HeapScan>("flat"); }
TEST_F(Crosswise, rust_publishes_serialized_messages_that_cpp_takes) { rust_to_cpp<HeapScan>("xcdr1"); }
TEST_F(Crosswise, rust_publishes_serialized_messages_that_cpp_takes_flat) { rust_to_cpp<Scan>("xcdr1"); }

TEST_F(Crosswise, a_message_can_be_read_after_its_publisher_has_ended) {
  const auto on = node("cpp");
  auto subscriber = on.subscriber<Scan>("scans");
  Peer rust(peer("publish", "flat"));
  EXPECT_EQ(rust.line(), "published");
  EXPECT_EQ(rust.end(), 0);
  // At least the last 8 messages of a best-effort publisher with depth 8 remain.
  std::uint64_t last = 0;
  std::uint32_t taken = 0;
  while (const auto sample = subscriber.take()) {
    last = sample->sequence();
    expect_scan(*sample, static_cast<std::uint32_t>(last));
    ++taken;
  }
  EXPECT_EQ(last, count - 1);
  EXPECT_GE(taken, 8U);
  EXPECT_EQ(subscriber.statistics().lost + taken, count);
}

TEST_F(Crosswise, a_killed_publisher_leaves_its_messages_and_is_cleaned_up) {
  {
    const auto on = node("cpp");
    auto subscriber = on.subscriber<Scan>("scans");
    std::optional<situ::sample<Scan>> held;
    {
      Peer rust(peer("publish", "flat", "hang"));
      EXPECT_EQ(rust.line(), "published");
      held = subscriber.take();
      EXPECT_EQ(rust.end(SIGKILL), -SIGKILL);
    }
    ASSERT_TRUE(held.has_value());
    expect_scan(*held, static_cast<std::uint32_t>(held->sequence()));
    bool last = false;
    while (const auto sample = subscriber.take()) last = sample->sequence() == count - 1;
    EXPECT_TRUE(last);
    const auto cleaned = situ::clean(root_);
    EXPECT_EQ(cleaned.nodes, 1U);
    EXPECT_EQ(cleaned.topics, 0U) << "it is still in use";
  }
  EXPECT_EQ(leftovers(), std::vector<std::string>());
}

TEST_F(Crosswise, a_reliable_publisher_goes_on_when_its_subscriber_is_killed) {
  const auto on = node("cpp");
  auto publisher = on.publisher<Scan>("scans", {.reliability = situ::reliability::reliable, .depth = 4});
  Peer rust(peer("take", "flat"));
  ASSERT_EQ(rust.line(), "ready");
  ASSERT_EQ(publisher.statistics().subscribers, 1U);
  EXPECT_EQ(rust.end(SIGKILL), -SIGKILL);
  for (std::uint32_t i = 0; i < 20; ++i) publish_scan(publisher, i);
  EXPECT_EQ(publisher.statistics().subscribers, 0U);
}

}  // namespace
}  // namespace bus_test
