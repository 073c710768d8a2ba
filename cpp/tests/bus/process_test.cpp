// Messages between processes and languages: C++ here, Rust (crates/situ-c/examples/bus_peer.rs) in another
// process.
#include <gtest/gtest.h>
#include <signal.h>

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "bus/messages.hpp"
#include "bus/rust_peer.hpp"
#include "bus/scratch.hpp"

namespace bus_test {
namespace {

using namespace std::chrono_literals;

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
