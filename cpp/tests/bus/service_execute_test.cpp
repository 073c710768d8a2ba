// Services with coroutines, executors and wait sets.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <coroutine>
#include <cstdint>
#include <exception>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "bus/messages.hpp"
#include "bus/scratch.hpp"

namespace bus_test {
namespace {

using namespace std::chrono_literals;
using Client = situ::client<Tick, Tick>;
using Server = situ::server<Tick, Tick>;

/// A coroutine that can be destroyed while it waits.
struct Owned {
  struct promise_type {
    Owned get_return_object() { return {std::coroutine_handle<promise_type>::from_promise(*this)}; }
    std::suspend_never initial_suspend() noexcept { return {}; }
    std::suspend_always final_suspend() noexcept { return {}; }
    void return_void() {}
    void unhandled_exception() { std::terminate(); }
  };
  std::coroutine_handle<promise_type> handle;
};

situ::task call_one(Client& client, std::uint64_t count, std::vector<std::string>& seen) {
  try {
    const auto reply = co_await client.call(Tick{.count = count}, 100s);
    seen.push_back(std::to_string(count) + " -> " + std::to_string(reply->count));
  } catch (const situ::error& error) {
    seen.push_back(std::to_string(count) + " -> error " + std::to_string(static_cast<int>(error.code())));
  }
}

situ::task call_parts(Client& client, std::vector<std::string>& seen) {
  auto call = client.call(Tick{.count = 7});
  while (const auto part = co_await call.next_part())
    seen.push_back("part " + std::to_string((*part)->count));
  seen.push_back("end");
}

TEST_F(Bus, a_coroutine_waits_for_a_reply_that_its_client_delivers) {
  const auto on = node("both");
  auto client = on.client<Tick, Tick>("tick");
  auto server = on.server<Tick, Tick>("tick");
  std::vector<std::string> seen;
  call_one(client, 1, seen);
  call_one(client, 2, seen);
  call_one(client, 3, seen);
  EXPECT_EQ(client.dispatch(), 0U);
  std::vector<situ::request<Tick>> requests;
  for (int i = 0; i < 3; ++i) requests.push_back(*server.receive(20s));
  server.reply(requests[2], Tick{.count = 30});
  server.refuse(requests[0], {});
  server.end(requests[1]);
  while (seen.size() < 3) client.dispatch(20s);
  EXPECT_EQ(seen, (std::vector<std::string>{"3 -> 30", "1 -> error " + std::to_string(SITU_ERROR_REFUSED),
                                            "2 -> error " + std::to_string(SITU_EMPTY)}));
  // A reply that is there already does not suspend.
  seen.clear();
  auto call = client.call(Tick{.count = 4});
  server.reply(*server.receive(20s), Tick{.count = 40});
  EXPECT_TRUE(call.ready());
  [](situ::pending_call<Tick> there, std::vector<std::string>& into) -> situ::task {
    into.push_back(std::to_string((co_await there)->count));
  }(std::move(call), seen);
  EXPECT_EQ(seen, std::vector<std::string>{"40"});
}

TEST_F(Bus, a_coroutine_receives_parts_and_the_end) {
  const auto on = node("both");
  auto client = on.client<Tick, Tick>("tick");
  auto server = on.server<Tick, Tick>("tick");
  std::vector<std::string> seen;
  call_parts(client, seen);
  const auto request = *server.receive(20s);
  server.part(request, Tick{.count = 1});
  while (seen.empty()) client.dispatch(20s);
  server.part(request, Tick{.count = 2});
  server.end(request);
  while (seen.size() < 3) client.dispatch(20s);
  EXPECT_EQ(seen, (std::vector<std::string>{"part 1", "part 2", "end"}));
}

TEST_F(Bus, a_coroutine_that_is_destroyed_while_it_waits_cancels_its_call) {
  const auto on = node("both");
  auto client = on.client<Tick, Tick>("tick");
  auto server = on.server<Tick, Tick>("tick");
  const Owned waiting = [](Client& of) -> Owned { (void)co_await of.call(Tick{}); }(client);
  const auto request = *server.receive(20s);
  waiting.handle.destroy();
  server.collect();
  EXPECT_TRUE(request.is_cancelled());
  server.reply(request, Tick{});
  EXPECT_EQ(client.dispatch(1ms), 0U);
}

TEST_F(Bus, an_executor_answers_requests_and_resumes_coroutines) {
  const auto on = node("both");
  situ::executor executor(on);
  // The callback refuses, and the other one streams.
  executor.serve(on.server<Tick, Tick>("double"),
                 [](const situ::request<Tick>& request) -> situ::result<Tick, situ::refusal> {
                   if (request->count == 0) return situ::failure{situ::refusal{.code = 1, .text = "zero"}};
                   return Tick{.count = 2 * request->count};
                 });
  executor.serve(on.server<Tick, Tick>("stream"), [](Server& server, situ::request<Tick> request) {
    server.part(request, Tick{.count = 1});
    server.reply(request, Tick{.count = 2});
  });
  auto doubling = on.client<Tick, Tick>("double");
  auto streaming = on.client<Tick, Tick>("stream");
  executor.add(doubling);
  executor.add(streaming);
  std::vector<std::string> seen;
  call_one(doubling, 21, seen);
  call_one(doubling, 0, seen);
  call_parts(streaming, seen);
  while (seen.size() < 5) ASSERT_TRUE(executor.spin_once(20s));
  std::sort(seen.begin(), seen.end());
  EXPECT_EQ(seen, (std::vector<std::string>{"0 -> error " + std::to_string(SITU_ERROR_REFUSED), "21 -> 42",
                                            "end", "part 1", "part 2"}));
}

TEST_F(Bus, a_callback_of_a_server_streams) {
  const auto node = this->node("both");
  situ::executor executor(node);
  // ANCHOR: service_stream
  executor.serve(node.server<Tick, Tick>("count"),
                 [](situ::server<Tick, Tick>& server, situ::request<Tick> request) {
                   for (std::uint64_t step = 0; step < request->count; ++step) {
                     server.collect();
                     if (request.is_cancelled()) return;
                     auto part = server.loan(request);
                     part->count = step + 1;
                     part.send_part(1s);
                   }
                   server.end(request);
                 });
  // ANCHOR_END: service_stream
  auto client = node.client<Tick, Tick>("count");
  auto call = client.call(Tick{.count = 3});
  ASSERT_TRUE(executor.spin_once(20s));
  std::uint64_t last = 0;
  // ANCHOR: service_parts
  while (auto part = call.next()) {
    last = (*part)->count;
  }
  // ANCHOR_END: service_parts
  EXPECT_EQ(last, 3U);
}

TEST_F(Bus, an_executor_tells_coroutines_of_deadlines_and_servers_that_are_gone) {
  const auto on = node("both");
  situ::executor executor(on);
  auto client = on.client<Tick, Tick>("tick");
  std::optional server = on.server<Tick, Tick>("tick");
  executor.add(client);
  std::vector<std::string> seen;
  const auto note = [&seen](const situ::result<std::optional<situ::sample<Tick>>, situ::error>& outcome) {
    seen.push_back(outcome ? "reply" : std::to_string(static_cast<int>(outcome.error().code())));
  };
  client.call(Tick{}, 10ms, note);
  while (seen.empty()) ASSERT_TRUE(executor.spin_once(20s));
  client.call(Tick{}, situ::forever, note);
  server.reset();
  while (seen.size() < 2) ASSERT_TRUE(executor.spin_once(20s));
  EXPECT_EQ(seen, (std::vector<std::string>{std::to_string(SITU_ERROR_DEADLINE),
                                            std::to_string(SITU_ERROR_SERVER_GONE)}));
}

TEST_F(Bus, a_reply_that_nothing_waits_for_leaves_the_executor_idle) {
  const auto on = node("both");
  situ::executor executor(on);
  auto client = on.client<Tick, Tick>("tick");
  auto server = on.server<Tick, Tick>("tick");
  executor.add(client);
  auto call = client.call(Tick{});
  server.reply(*server.receive(20s), Tick{.count = 1});
  ASSERT_TRUE(executor.spin_once(20s));
  executor.spin_some();
  executor.spin_some();
  EXPECT_FALSE(executor.spin_once(20ms));
  EXPECT_EQ(call.wait()->count, 1U);
}

TEST_F(Bus, a_wait_set_reports_clients_and_servers) {
  const auto on = node("both");
  situ::wait_set set(on);
  auto client = on.client<Tick, Tick>("tick");
  auto server = on.server<Tick, Tick>("tick");
  const auto replies = set.attach(client);
  const auto requests = set.attach(server);
  const auto again = set.try_attach(client);
  ASSERT_FALSE(again);
  EXPECT_EQ(again.error().code(), situ::errc::invalid_argument);
  std::array<situ::ready_source, 4> room;
  const auto wait_for = [&](situ::source_id wanted) {
    for (;;) {
      const auto ready = set.wait(room, 20s);
      if (ready.empty()) return false;
      for (const auto& source : ready) {
        if (source.id() == wanted) return true;
      }
    }
  };
  auto call = client.call(Tick{.count = 1});
  ASSERT_TRUE(wait_for(requests));
  server.reply(*server.take(), Tick{.count = 2});
  while (!call.ready()) ASSERT_TRUE(wait_for(replies));
  EXPECT_EQ(call.wait()->count, 2U);
}

situ::task wait_for(situ::pending_call<Tick>& call, bool& is_done) {
  (void)co_await call;
  is_done = true;
}

/// `ready` takes the reply out of the bus and keeps it. A coroutine that waits gets it nevertheless.
TEST_F(Bus, a_call_that_is_asked_for_its_state_still_resumes_its_coroutine) {
  const auto on = node("both");
  auto client = on.client<Tick, Tick>("tick");
  auto server = on.server<Tick, Tick>("tick");
  bool is_done = false;
  auto call = client.call(Tick{.count = 1});
  wait_for(call, is_done);
  const auto request = server.receive(20s);
  ASSERT_TRUE(request);
  server.reply(*request, Tick{.count = 2});
  EXPECT_TRUE(call.ready());
  for (int turn = 0; turn < 1000 && !is_done; ++turn) client.dispatch(10ms);
  EXPECT_TRUE(is_done);
}

situ::task note_end(situ::pending_call<Tick>& call, bool in_parts, std::vector<situ::errc>& ends) {
  try {
    if (in_parts) {
      (void)co_await call.next_part();
    } else {
      (void)co_await call;
    }
  } catch (const situ::error& error) {
    ends.push_back(error.code());
  }
}

TEST_F(Bus, a_cancelled_call_resumes_its_coroutine_with_an_error) {
  const auto on = node("both");
  auto client = on.client<Tick, Tick>("tick");
  auto server = on.server<Tick, Tick>("tick");
  std::vector<situ::errc> ends;
  for (const bool in_parts : {false, true}) {
    auto call = client.call(Tick{.count = 1});
    note_end(call, in_parts, ends);
    call.cancel();
    call = client.call(Tick{.count = 2});
    note_end(call, in_parts, ends);
    client.cancel(call.number());
    call = client.call(Tick{.count = 3});
    note_end(call, in_parts, ends);
    auto next = client.call(Tick{.count = 4});
    call = std::move(next);
    note_end(call, in_parts, ends);
  }
  EXPECT_EQ(ends, std::vector<situ::errc>(8, situ::errc::unknown_call));
  const auto request = server.receive(20s);
  ASSERT_TRUE(request);
  EXPECT_TRUE(request->is_cancelled() || (server.collect(), request->is_cancelled()));
}

/// A coroutine that is resumed by a cancellation may destroy the client, the call, and its own frame.
TEST_F(Bus, a_resumed_coroutine_may_destroy_what_cancelled_its_call) {
  const auto on = node("both");
  auto server = on.server<Tick, Tick>("tick");
  auto client = std::make_unique<situ::client<Tick, Tick>>(on.client<Tick, Tick>("tick"));
  std::vector<situ::errc> ends;
  auto call = std::make_unique<situ::pending_call<Tick>>(client->call(Tick{.count = 1}));
  const auto destroy = [&](situ::pending_call<Tick>& waited) -> situ::task {
    try {
      (void)co_await waited;
    } catch (const situ::error& error) {
      ends.push_back(error.code());
      call.reset();
      client.reset();
    }
  };
  destroy(*call);
  client->cancel(call->number());
  EXPECT_FALSE(call);
  EXPECT_EQ(ends, std::vector<situ::errc>{situ::errc::unknown_call});
  EXPECT_FALSE(client);
}

}  // namespace
}  // namespace bus_test
