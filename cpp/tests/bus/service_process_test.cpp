// Services between processes and languages: C++ here, Rust (crates/situ-c/examples/bus_peer.rs) in another
// process, and the death of either side.
#include <gtest/gtest.h>
#include <signal.h>

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "bus/messages.hpp"
#include "bus/rust_peer.hpp"
#include "bus/scratch.hpp"

namespace bus_test {
namespace {

using namespace std::chrono_literals;

// What the server in Rust does with requests of these numbers.
constexpr std::uint32_t refused = 100;
constexpr std::uint32_t streamed = 101;
constexpr std::uint32_t ignored = 102;

class CrosswiseServices : public Bus {
 protected:
  std::vector<std::string> peer(const std::string& what, const std::string& encoding, std::uint32_t count,
                                bool hang = false) const {
    std::vector<std::string> words{what, root_.path, "scans", encoding, std::to_string(count)};
    if (hang) words.push_back("hang");
    return words;
  }

  template <class T>
  static situ::pending_call<T> call(situ::client<T, T>& client, std::uint32_t id) {
    const auto fill = [id](auto& scan) {
      const auto levels = levels_of(id);
      scan.id = id;
      scan.name = name_of(id);
      scan.levels.assign(levels.begin(), levels.end());
    };
    const auto ranges = ranges_of(id);
    if constexpr (situ::flat_message<T>) {
      auto loan = client.loan({.ranges = ranges.size()});
      fill(*loan);
      std::copy(ranges.begin(), ranges.end(), loan.bulk(&T::ranges).begin());
      return loan.send(100s);
    } else {
      T scan;
      fill(scan);
      scan.ranges = ranges;
      return client.call(scan, 100s);
    }
  }

  template <class T>
  static void expect(const situ::sample<T>& scan, std::uint32_t id) {
    EXPECT_EQ(scan->id, id);
    EXPECT_EQ(scan->name, name_of(id));
    const auto ranges = scan.bulk(&T::ranges);
    EXPECT_EQ(std::vector<float>(ranges.begin(), ranges.end()), ranges_of(id));
  }

  template <class T>
  void cpp_calls_rust(const std::string& encoding) {
    const auto on = node("cpp");
    Peer rust(peer("serve", encoding, 13));
    ASSERT_EQ(rust.line(), "ready");
    auto client = on.client<T, T>("scans");
    ASSERT_TRUE(client.wait_for_server(60s));
    std::vector<situ::pending_call<T>> calls;
    for (std::uint32_t id = 0; id < 10; ++id) calls.push_back(call<T>(client, id));
    for (std::uint32_t id = 10; id-- > 0;) expect(calls[id].wait(), id + 1);
    const auto no = call<T>(client, refused).try_wait();
    ASSERT_FALSE(no);
    ASSERT_NE(no.error().reason(), nullptr) << no.error().what();
    EXPECT_EQ(no.error().reason()->code, 7U);
    EXPECT_EQ(no.error().reason()->text, "no scan 100");
    auto parts = call<T>(client, streamed);
    std::uint32_t part = 0;
    while (const auto scan = parts.next()) expect(*scan, ++part);
    EXPECT_EQ(part, 3U);
    // The server ends with a call under way, which it had ignored.
    auto orphan = call<T>(client, ignored);
    EXPECT_EQ(rust.line(), "ignored");
    EXPECT_EQ(rust.line(), "served");
    EXPECT_EQ(error_of([&] { (void)orphan.wait(); }).code(), situ::errc::server_gone);
    EXPECT_EQ(rust.end(), 0);
    EXPECT_EQ(client.servers(), 0U);
  }

  template <class T>
  void rust_calls_cpp(const std::string& encoding) {
    const auto on = node("cpp");
    auto server = on.server<T, T>("scans");
    Peer rust(peer("call", encoding, 4));
    ASSERT_EQ(rust.line(), "called");
    std::vector<situ::request<T>> requests;
    for (std::uint32_t id = 0; id < 4; ++id) {
      auto request = server.receive(60s);
      ASSERT_TRUE(request.has_value());
      expect(request->sample(), id);
      EXPECT_TRUE(request->deadline().has_value());
      requests.push_back(std::move(*request));
    }
    // Answered with what was asked, from the last one on; one in parts, and one refused.
    const auto copy = [&](std::uint32_t of, bool is_last) {
      if constexpr (situ::flat_message<T>) {
        const auto ranges = requests[of].sample().bulk(&T::ranges);
        auto loan = server.loan(requests[of], {.ranges = ranges.size()});
        loan->id = requests[of]->id;
        loan->name = requests[of]->name;
        loan->levels = requests[of]->levels;
        std::copy(ranges.begin(), ranges.end(), loan.bulk(&T::ranges).begin());
        is_last ? loan.send() : loan.send_part();
      } else {
        is_last ? server.reply(requests[of], *requests[of]) : server.part(requests[of], *requests[of]);
      }
    };
    server.refuse(requests[3], {.code = 9, .text = "never"});
    copy(2, false);
    server.end(requests[2]);
    copy(1, true);
    copy(0, true);
    EXPECT_EQ(rust.line(), "0 " + rest_of_line(0));
    EXPECT_EQ(rust.line(), "1 " + rest_of_line(1));
    EXPECT_EQ(rust.line(), "2 " + rest_of_line(2));
    EXPECT_EQ(rust.line(), "2 end");
    EXPECT_EQ(rust.line(), "3 refused 9 never");
    EXPECT_EQ(rust.end(), 0);
  }

  /// A message as the peer prints it, without the number before it.
  static std::string rest_of_line(std::uint32_t index) {
    const std::string line = line_of(index);
    return line.substr(line.find(' ') + 1);
  }
};

TEST_F(CrosswiseServices, cpp_calls_rust_with_flat_messages) { cpp_calls_rust<Scan>("flat"); }
TEST_F(CrosswiseServices, cpp_calls_rust_with_serialized_messages) { cpp_calls_rust<HeapScan>("xcdr1"); }
TEST_F(CrosswiseServices, rust_calls_cpp_with_flat_messages) { rust_calls_cpp<Scan>("flat"); }
TEST_F(CrosswiseServices, rust_calls_cpp_with_serialized_messages) { rust_calls_cpp<HeapScan>("xcdr1"); }

TEST_F(CrosswiseServices, a_killed_server_is_an_error) {
  const auto on = node("cpp");
  Peer rust(peer("serve", "flat", 1, true));
  ASSERT_EQ(rust.line(), "ready");
  auto client = on.client<Scan, Scan>("scans");
  ASSERT_TRUE(client.wait_for_server(60s));
  auto orphan = call<Scan>(client, ignored);
  ASSERT_EQ(rust.line(), "ignored");
  EXPECT_EQ(rust.end(SIGKILL), -SIGKILL);
  EXPECT_EQ(error_of([&] { (void)orphan.wait(); }).code(), situ::errc::server_gone);
  EXPECT_EQ(error_of([&] { (void)call<Scan>(client, 0); }).code(), situ::errc::no_server);
}

TEST_F(CrosswiseServices, a_killed_server_is_an_error_for_a_coroutine) {
  const auto on = node("cpp");
  Peer rust(peer("serve", "flat", 1, true));
  ASSERT_EQ(rust.line(), "ready");
  auto client = on.client<Scan, Scan>("scans");
  ASSERT_TRUE(client.wait_for_server(60s));
  situ::executor executor(on);
  executor.add(client);
  std::optional<situ::errc> ended;
  const auto run = [](situ::pending_call<Scan> orphan, std::optional<situ::errc>& code) -> situ::task {
    try {
      (void)co_await orphan;
    } catch (const situ::error& error) {
      code = error.code();
    }
  };
  run(call<Scan>(client, ignored), ended);
  ASSERT_EQ(rust.line(), "ignored");
  EXPECT_EQ(rust.end(SIGKILL), -SIGKILL);
  while (!ended) ASSERT_TRUE(executor.spin_once(20s));
  EXPECT_EQ(*ended, situ::errc::server_gone);
}

TEST_F(CrosswiseServices, a_killed_client_is_an_error) {
  const auto on = node("cpp");
  auto server = on.server<Scan, Scan>("scans");
  Peer rust(peer("call", "flat", 2, true));
  ASSERT_EQ(rust.line(), "called");
  const auto first = server.receive(60s);
  const auto second = server.receive(60s);
  ASSERT_TRUE(first && second);
  server.loan(*first).send();
  EXPECT_EQ(rust.end(SIGKILL), -SIGKILL);
  // The server asks the kernel a few milliseconds after the last sign of life.
  for (;;) {
    auto loan = server.try_loan(*second);
    if (!loan) {
      EXPECT_EQ(loan.error().code(), situ::errc::client_gone);
      break;
    }
  }
  EXPECT_TRUE(second->is_cancelled());
  EXPECT_EQ(server.statistics().answered_clients, 0U);
}

}  // namespace
}  // namespace bus_test
