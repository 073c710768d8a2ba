// The synchronizer's decisions against spec/vectors/synchronizer.
#include "support/vectors.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "situ/synchronize/matcher.hpp"

namespace situ_test {
namespace {

/// Queues of messages, each of which is its number on its topic.
struct numbered {
  std::vector<std::uint64_t> arrived;
  std::vector<std::deque<std::uint64_t>> queues;
  std::vector<std::vector<std::uint64_t>> sets;

  explicit numbered(std::size_t topics) : arrived(topics), queues(topics) {}

  void drop_first(std::size_t topic) {
    ASSERT_FALSE(queues[topic].empty());
    queues[topic].pop_front();
  }
  void take_set() {
    auto& set = sets.emplace_back();
    for (auto& queue : queues) {
      ASSERT_FALSE(queue.empty());
      set.push_back(queue.front());
      queue.pop_front();
    }
  }
};

using words = std::vector<std::string>;
using numbers = std::vector<std::uint64_t>;

words words_of(const std::string& line) {
  std::istringstream in(line);
  words found;
  for (std::string word; in >> word;) found.push_back(word);
  return found;
}

numbers numbers_from(const words& line, std::size_t first) {
  numbers found;
  for (std::size_t index = first; index < line.size(); ++index) found.push_back(std::stoull(line[index]));
  return found;
}

situ::synchronizer_policy policy_of(const words& line) {
  const std::size_t queue_size = std::stoull(line[2]);
  if (line[0] == "exact") return situ::exact_time{.queue_size = queue_size};
  EXPECT_EQ(line[0], "approximate");
  situ::approximate_time policy{.queue_size = queue_size, .age_penalty = std::stod(line[3])};
  if (line[4] != "none") policy.max_interval = std::chrono::nanoseconds(std::stoll(line[4]));
  return policy;
}

/// Pushes the messages of a file, and compares the sets and the counts. Returns the number of cases.
std::size_t check_vectors(const std::string& name) {
  const auto bytes = vector_bytes<char>("synchronizer/" + name);
  std::istringstream in(std::string(bytes.begin(), bytes.end()));
  std::string text;
  std::size_t cases = 0;
  while (std::getline(in, text)) {
    if (text.empty()) continue;
    SCOPED_TRACE(name + ": " + text);
    std::getline(in, text);
    const words policy = words_of(text);
    const std::size_t topics = std::stoull(policy[1]);
    std::vector<std::chrono::nanoseconds> bounds;
    for (const std::uint64_t bound : numbers_from(policy, 5 > policy.size() ? policy.size() : 5)) {
      bounds.emplace_back(static_cast<std::int64_t>(bound));
    }
    bounds.resize(topics);
    situ::detail::stamp_matcher matcher(policy_of(policy), bounds);
    numbered messages(topics);
    std::vector<numbers> expected;
    words line;
    for (;;) {
      EXPECT_TRUE(std::getline(in, text)) << "the case has no end";
      line = words_of(text);
      if (line.empty()) return 0;
      if (line[0] == "set") {
        expected.push_back(numbers_from(line, 1));
        continue;
      }
      EXPECT_EQ(std::exchange(messages.sets, {}), std::exchange(expected, {})) << "before: " << text;
      if (line[0] != "message") break;
      const std::size_t topic = std::stoull(line[1]);
      messages.queues[topic].push_back(messages.arrived[topic]++);
      matcher.push(topic, std::stoll(line[2]), messages);
    }
    EXPECT_EQ(line[0], "end");
    numbers found;
    for (const auto& queue : messages.queues) found.push_back(queue.size());
    for (const auto counted :
         {matcher.counts().unmatched, matcher.counts().overflowed, matcher.counts().clock_jumps}) {
      found.push_back(counted);
    }
    EXPECT_EQ(found, numbers_from(line, 1));
    ++cases;
  }
  return cases;
}

TEST(Synchronizer, exact_times_are_those_of_the_vectors) { EXPECT_GT(check_vectors("exact.txt"), 50U); }

TEST(Synchronizer, approximate_times_are_those_of_the_vectors) {
  EXPECT_GT(check_vectors("approximate.txt"), 200U);
}

}  // namespace
}  // namespace situ_test
