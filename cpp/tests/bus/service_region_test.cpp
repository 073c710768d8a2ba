// Services whose requests and replies are regions, serialized values, or lie in the memory of a device.
#include <gtest/gtest.h>

#include <chrono>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "bus/messages.hpp"
#include "bus/scratch.hpp"
#include "region.hpp"

namespace bus_test {
namespace {

using namespace std::chrono_literals;

using game::Character;
using heap_character = situ::rebind<Character, situ::heap>;

TEST_F(Bus, regions_of_requests_and_replies_are_built_and_read_in_place) {
  const auto on = node("both");
  auto client = on.client<Character, Character>("characters");
  auto server = on.server<Character, Character>("characters");
  for (std::uint64_t count = 0; count < 50; ++count) {
    auto asked = client.loan();
    asked->name = "a name that needs a block of its own, " + std::to_string(count);
    for (std::uint64_t key = 0; key < count * 50; ++key) asked->items.try_emplace(key, 1, 2, key);
    auto call = asked.send(20s);

    const auto request = server.receive(20s);
    ASSERT_TRUE(request);
    EXPECT_EQ((*request)->items.size(), count * 50);
    EXPECT_FALSE(request->sample().is_copy());
    auto reply = server.loan(*request, 100'000);
    { auto unsent = server.loan(*request); }
    auto part = server.loan(*request);
    part->name = "part";
    part.send_part();
    reply->name = (*request)->name;
    for (std::uint64_t key = 0; key < 3000; ++key) reply->items.try_emplace(key, 1, 2, key * 7);
    reply.send();

    auto first = call.next();
    ASSERT_TRUE(first);
    EXPECT_EQ((*first)->name, "part");
    const auto whole = call.wait();
    EXPECT_EQ(whole->name, (*request)->name);
    EXPECT_EQ(whole->items.at(2999).uuid, 2999U * 7);
    EXPECT_FALSE(whole.is_copy());
  }
}

TEST_F(Bus, values_are_stored_in_regions_and_each_side_chooses_its_form) {
  const auto on = node("both");
  auto regions = on.client<Character, Character>("characters");
  auto values = on.client<heap_character, heap_character>("characters");
  heap_character value;
  value.name = "Hero";
  value.skills.push_back({1054, 3});
  const auto rounds = [&](auto& server) {
    const auto answer = [](const auto& request) {
      heap_character out;
      out.name = std::string(request->name) + " answered";
      return out;
    };
    auto first = regions.call(value, 20s);
    auto second = values.call(value, 20s);
    EXPECT_EQ(server.serve(answer, 20s), 2U);
    EXPECT_EQ(first.wait()->name, "Hero answered");
    EXPECT_EQ(second.wait()->name, "Hero answered");
  };
  {
    auto server = on.server<Character, Character>("characters");
    rounds(server);
  }
  auto server = on.server<heap_character, heap_character>("characters");
  rounds(server);
}

TEST_F(Bus, loans_of_regions_outlive_their_client_and_server_and_can_be_sent_again) {
  const auto on = node("both");
  std::optional client = on.client<Character, Character>("characters", {.depth = 1});
  std::optional server = on.server<Character, Character>("characters", {.depth = 1});
  auto call = client->call(heap_character{}, 20s);
  auto full = client->loan();
  full->name = "a name that needs a block of its own";
  const auto refused = full.try_send(1ms);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code(), situ::errc::full);
  const auto request = server->receive(20s);
  ASSERT_TRUE(request);
  server->part(*request, heap_character{});
  auto reply = server->loan(*request);
  reply->name = "late";
  EXPECT_FALSE(reply.try_send());
  server.reset();
  EXPECT_TRUE(call.next());
  for (std::uint64_t key = 0; key < 3000; ++key) reply->items.try_emplace(key, 1, 2, key);
  reply.send();
  EXPECT_EQ(call.wait()->name, "late");
  EXPECT_TRUE(full.try_send(20s));
  auto unsent = client->loan();
  client.reset();
  for (std::uint64_t key = 0; key < 3000; ++key) unsent->items.try_emplace(key, 1, 2, key);
  EXPECT_EQ(unsent->items.size(), 3000U);
}

TEST_F(Bus, a_reply_lies_in_the_memory_of_a_device) {
  const auto on = node("both");
  const situ::placement device{.domain = "emulated:0"};
  const situ::stream work(on, "emulated:0");
  auto near = on.client<Tick, Scan>("scan", {.replies = device});
  auto to_host = on.client<Tick, Scan>("scan");
  auto server = on.server<Tick, Scan>("scan", {.replies = device});
  std::vector<float> ranges(5000);
  for (std::size_t index = 0; index < ranges.size(); ++index) ranges[index] = static_cast<float>(index);
  for (auto* asks : {&near, &to_host}) {
    auto call = asks->call(Tick{.count = 3}, 20s);
    const auto request = server.receive(20s);
    ASSERT_TRUE(request);
    auto reply = server.loan(*request, {.ranges = ranges.size()});
    reply->id = 4;
    EXPECT_EQ(reply.span(&Scan::ranges).raw().domain_kind, 1U);
    reply.write(work, std::as_bytes(std::span(ranges)));
    reply.send_on(work);
    const auto got = call.wait();
    EXPECT_EQ(got->id, 4U);
    if (asks == &near) {
      std::vector<float> read(ranges.size());
      EXPECT_EQ(got.span(&Scan::ranges).raw().domain_kind, 1U);
      EXPECT_TRUE(got.wait_on(work, 20s));
      got.read(work, std::as_writable_bytes(std::span(read)));
      work.synchronize();
      EXPECT_EQ(read, ranges);
    } else {
      const auto host = got.bulk(&Scan::ranges);
      EXPECT_EQ(std::vector<float>(host.begin(), host.end()), ranges);
    }
  }
}

}  // namespace
}  // namespace bus_test
