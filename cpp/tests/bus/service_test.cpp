// Services: requests and replies of every form, streams, refusals, cancellations, deadlines, and ends.
#include <gtest/gtest.h>

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <thread>
#include <type_traits>
#include <utility>
#include <vector>

#include "bus/messages.hpp"
#include "bus/scratch.hpp"

namespace bus_test {
namespace {

using namespace std::chrono_literals;

/// A service type, as generated code has it.
struct Count {
  using Request = Tick;
  using Response = Scan;
};

static_assert(std::is_same_v<situ::client<Count>, situ::client<Tick, Scan>>);
static_assert(std::is_same_v<situ::server<Count>, situ::server<Tick, Scan>>);

/// Takes a request, which comes soon.
template <class Server>
auto take(Server& server) {
  auto request = server.receive(20s);
  if (!request) throw std::runtime_error("no request came");
  return std::move(*request);
}

TEST_F(Bus, a_request_is_read_where_it_was_built_and_so_is_the_reply) {
  const auto on = node("both");
  auto client = on.client<Scan, Scan>("scan");
  auto server = on.server<Scan, Scan>("scan");
  ASSERT_TRUE(client.wait_for_server(20s));
  EXPECT_EQ(client.servers(), 1U);
  auto loan = client.loan({.ranges = 3});
  loan->id = 7;
  loan->name = "front";
  loan.bulk(&Scan::ranges)[2] = 2.5F;
  auto call = loan.send();
  EXPECT_FALSE(loan);
  EXPECT_TRUE(call.is_under_way());
  EXPECT_FALSE(call.ready());
  {
    const auto request = take(server);
    EXPECT_EQ(request->id, 7U);
    EXPECT_EQ(request->name, "front");
    EXPECT_EQ(request.sample().bulk(&Scan::ranges)[2], 2.5F);
    EXPECT_FALSE(request.sample().is_copy());
    EXPECT_EQ(request.id().call, call.number());
    EXPECT_EQ(request.id().node, on.id());
    EXPECT_FALSE(request.deadline().has_value());
    EXPECT_FALSE(request.is_cancelled());
    auto reply = server.loan(request, {.ranges = 1});
    reply->id = 8;
    reply.bulk(&Scan::ranges)[0] = 1.5F;
    reply.send();
  }
  EXPECT_TRUE(call.ready());
  const auto reply = call.wait();
  EXPECT_EQ(reply->id, 8U);
  EXPECT_EQ(reply.bulk(&Scan::ranges)[0], 1.5F);
  EXPECT_FALSE(reply.is_copy());
  EXPECT_FALSE(call.is_under_way());
  EXPECT_EQ(server.statistics().clients, 1U);
  EXPECT_EQ(server.statistics().answered_clients, 1U);
}

TEST_F(Bus, values_are_copied_serialized_and_converted_as_on_topics) {
  const auto on = node("both");
  auto client = on.client<HeapScan, HeapScan>("scan");
  auto server = on.server<HeapScan, HeapScan>("scan");
  HeapScan scan;
  scan.id = 1;
  scan.name = "front";
  scan.ranges = {1.0F, 2.0F};
  auto call = client.call(scan);
  const auto request = take(server);
  EXPECT_EQ(*request, scan);
  EXPECT_TRUE(request.sample().is_copy());
  scan.ranges.push_back(3.0F);
  server.reply(request, scan);
  EXPECT_EQ(*call.wait(), scan);
  // A client of the flat form sends heap values, which are converted; the server decodes nothing.
  auto flat = on.client<Scan, Scan>("flat");
  auto heap = on.server<HeapScan, HeapScan>("flat");
  auto converted = flat.call(scan);
  const auto asked = take(heap);
  EXPECT_EQ(*asked, scan);
  heap.reply(asked, scan);
  EXPECT_EQ(converted.wait()->name, "front");
}

TEST_F(Bus, a_service_type_names_both_types) {
  const auto on = node("both");
  auto client = on.client<Count>("count");
  auto server = on.server<Count>("count");
  auto call = client.call(Tick{.count = 5});
  const auto request = take(server);
  auto reply = server.loan(request);
  reply->id = static_cast<std::uint32_t>(request->count + 1);
  reply.send();
  EXPECT_EQ(call.wait()->id, 6U);
  EXPECT_EQ(error_of([&] { (void)on.client<Tick, Tick>("count"); }).code(), situ::errc::type);
}

TEST_F(Bus, several_calls_are_answered_in_any_order) {
  const auto on = node("both");
  auto client = on.client<Tick, Tick>("tick");
  auto server = on.server<Tick, Tick>("tick");
  std::vector<situ::pending_call<Tick>> calls;
  for (std::uint64_t i = 0; i < 3; ++i) calls.push_back(client.call(Tick{.count = i}));
  std::vector<situ::request<Tick>> requests;
  for (int i = 0; i < 3; ++i) requests.push_back(take(server));
  server.reply(requests[2], Tick{.count = 12});
  EXPECT_FALSE(calls[0].ready());
  EXPECT_FALSE(calls[0].wait_for(1ms).has_value());
  EXPECT_TRUE(calls[2].ready());
  // Another thread may take the request with it. Its id is enough to answer.
  const situ::request_id id = requests[0].id();
  std::thread([held = std::move(requests[0])] { EXPECT_EQ(held->count, 0U); }).join();
  server.reply(id, Tick{.count = 10});
  auto moved = std::move(client);
  EXPECT_EQ(calls[0].wait()->count, 10U);
  EXPECT_EQ(calls[2].wait()->count, 12U);
  server.reply(requests[1], Tick{.count = 11});
  const auto reply = calls[1].wait_for(20s);
  ASSERT_TRUE(reply.has_value());
  EXPECT_EQ((*reply)->count, 11U);
}

TEST_F(Bus, a_reply_may_come_in_parts) {
  const auto on = node("both");
  auto client = on.client<Tick, Tick>("tick");
  auto server = on.server<Tick, Tick>("tick");
  const auto stream = [&](bool is_ended) {
    auto call = client.call(Tick{});
    const auto request = take(server);
    server.part(request, Tick{.count = 1});
    auto part = server.loan(request);
    part->count = 2;
    part.send_part(1s);
    if (is_ended) {
      server.end(request);
    } else {
      server.reply(request, Tick{.count = 3});
    }
    std::vector<std::uint64_t> parts;
    while (const auto next = call.next()) parts.push_back((*next)->count);
    EXPECT_FALSE(call.is_under_way());
    return parts;
  };
  EXPECT_EQ(stream(true), (std::vector<std::uint64_t>{1, 2}));
  EXPECT_EQ(stream(false), (std::vector<std::uint64_t>{1, 2, 3}));
  auto call = client.call(Tick{});
  server.end(take(server));
  EXPECT_EQ(error_of([&] { (void)call.wait(); }).code(), situ::errc::empty);
}

TEST_F(Bus, a_refusal_has_a_number_and_a_text) {
  const auto on = node("both");
  auto client = on.client<Tick, Tick>("tick");
  auto server = on.server<Tick, Tick>("tick");
  auto call = client.call(Tick{});
  server.refuse(take(server), {.code = 42, .text = "not now"});
  const auto ended = call.try_wait();
  ASSERT_FALSE(ended);
  EXPECT_EQ(ended.error().code(), situ::errc::refused);
  ASSERT_NE(ended.error().reason(), nullptr);
  EXPECT_EQ(ended.error().reason()->code, 42U);
  EXPECT_EQ(ended.error().reason()->text, "not now");
  EXPECT_NE(std::string(ended.error().what()).find("refused call"), std::string::npos);
}

TEST_F(Bus, a_server_knows_of_cancellations_and_deadlines) {
  const auto on = node("both");
  auto client = on.client<Tick, Tick>("tick");
  auto server = on.server<Tick, Tick>("tick");
  std::optional call = client.call(Tick{});
  auto kept = client.call(Tick{}, 100s);
  const auto first = take(server);
  const auto second = take(server);
  call.reset();
  EXPECT_FALSE(first.is_cancelled());
  server.collect();
  EXPECT_TRUE(first.is_cancelled());
  EXPECT_FALSE(second.is_cancelled());
  ASSERT_TRUE(second.deadline().has_value());
  EXPECT_GT(*second.deadline(), std::chrono::steady_clock::now());
  kept.cancel();
  EXPECT_FALSE(kept.is_under_way());
  EXPECT_FALSE(kept.next().has_value());
  auto late = client.call(Tick{}, 5ms);
  EXPECT_EQ(error_of([&] { (void)late.wait(); }).code(), situ::errc::deadline);
  EXPECT_FALSE(server.receive(1ms).has_value()) << "its time is over";
  EXPECT_EQ(server.statistics().expired, 1U);
}

TEST_F(Bus, errors_of_services_are_typed) {
  const auto on = node("both");
  auto client = on.client<Tick, Tick>("tick", {.max_calls = 2, .depth = 4});
  EXPECT_EQ(error_of([&] { (void)client.call(Tick{}); }).code(), situ::errc::no_server);
  EXPECT_FALSE(client.wait_for_server(1ms));
  std::optional server = on.server<Tick, Tick>("tick", {.depth = 1});
  auto first = client.call(Tick{});
  auto second = client.call(Tick{});
  const auto third = client.try_call(Tick{});
  ASSERT_FALSE(third);
  EXPECT_EQ(third.error().code(), situ::errc::too_many_calls);
  const auto request = take(*server);
  server->part(request, Tick{});
  // The client has no room: the loan stays, and is sent later.
  auto part = server->loan(request);
  part->count = 9;
  const auto full = part.try_send();
  ASSERT_FALSE(full);
  EXPECT_EQ(full.error().code(), situ::errc::full);
  ASSERT_TRUE(part);
  EXPECT_TRUE(first.next().has_value());
  part.send();
  EXPECT_EQ(first.wait()->count, 9U);
  server.reset();
  EXPECT_EQ(error_of([&] { (void)second.wait(); }).code(), situ::errc::server_gone);
  EXPECT_EQ(error_of([&] { (void)on.client<Tick, Tick>("situ:x"); }).code(), situ::errc::invalid_argument);

  auto other = on.server<Tick, Tick>("gone");
  std::optional<situ::request<Tick>> orphan;
  {
    auto leaving = on.client<Tick, Tick>("gone");
    auto call = leaving.call(Tick{});
    orphan = take(other);
    call.detach();
  }
  EXPECT_EQ(error_of([&] { other.reply(*orphan, Tick{}); }).code(), situ::errc::client_gone);
}

TEST_F(Bus, a_full_server_is_an_error_at_once_if_the_client_does_not_wait) {
  const auto on = node("both");
  auto client = on.client<Tick, Tick>("tick", {.depth = 1});
  auto server = on.server<Tick, Tick>("tick");
  auto call = client.call(Tick{});
  auto loan = client.loan();
  EXPECT_EQ(error_of([&] { (void)loan.send_now(); }).code(), situ::errc::full);
  ASSERT_TRUE(loan);
  server.reply(take(server), Tick{});
  auto sent = loan.send_now();
  EXPECT_TRUE(sent.is_under_way());
}

TEST_F(Bus, callbacks_receive_parts_ends_and_errors) {
  const auto on = node("both");
  auto client = on.client<Tick, Tick>("tick");
  auto server = on.server<Tick, Tick>("tick");
  std::vector<std::string> seen;
  const auto note = [&seen](const std::string& name) {
    return [&seen, name](const situ::result<std::optional<situ::sample<Tick>>, situ::error>& outcome) {
      if (!outcome) {
        seen.push_back(name + " error " + std::to_string(static_cast<int>(outcome.error().code())));
      } else if (!outcome->has_value()) {
        seen.push_back(name + " end");
      } else {
        seen.push_back(name + " " + std::to_string((**outcome)->count));
      }
    };
  };
  const auto single = client.call(Tick{}, situ::forever, note("single"));
  client.call(Tick{}, situ::forever, note("stream"));
  client.call(Tick{}, situ::forever, note("refused"));
  const auto cancelled = client.call(Tick{}, situ::forever, note("cancelled"));
  auto waited = client.call(Tick{});
  EXPECT_EQ(client.dispatch(), 0U);
  server.reply(take(server), Tick{.count = 1});
  const auto stream = take(server);
  server.part(stream, Tick{.count = 2});
  server.refuse(take(server), {});
  server.reply(take(server), Tick{.count = 4});
  client.cancel(cancelled);
  // A reply that nothing waits for is kept for its call.
  server.reply(take(server), Tick{.count = 5});
  while (seen.size() < 4) client.dispatch(1s);
  EXPECT_FALSE(client.is_under_way(single));
  server.end(stream);
  while (seen.size() < 5) client.dispatch(1s);
  EXPECT_EQ(seen,
            (std::vector<std::string>{"single 1", "single end", "stream 2",
                                      "refused error " + std::to_string(SITU_ERROR_REFUSED), "stream end"}));
  EXPECT_TRUE(waited.ready());
  EXPECT_EQ(waited.wait()->count, 5U);
  // An exception of a callback ends its call.
  const auto thrown = client.call(Tick{}, situ::forever, [](const auto&) { throw std::runtime_error("no"); });
  server.part(take(server), Tick{});
  EXPECT_THROW(client.dispatch(20s), std::runtime_error);
  EXPECT_FALSE(client.is_under_way(thrown));
  // A client with callbacks that are never called.
  client.call(Tick{}, situ::forever, note("never"));
}

TEST_F(Bus, a_server_answers_what_is_there) {
  const auto on = node("both");
  auto client = on.client<Tick, Tick>("tick");
  auto server = on.server<Tick, Tick>("tick");
  auto first = client.call(Tick{.count = 1});
  auto second = client.call(Tick{.count = 2});
  const auto twice = [](const situ::request<Tick>& request) -> situ::result<Tick, situ::refusal> {
    if (request->count == 2) return situ::failure{situ::refusal{.code = 2, .text = "two"}};
    return Tick{.count = request->count * 2};
  };
  std::size_t answered = 0;
  while (answered < 2) answered += server.serve(twice, 20s);
  EXPECT_EQ(first.wait()->count, 2U);
  EXPECT_EQ(second.try_wait().error().reason()->text, "two");
  EXPECT_EQ(server.serve(twice, 1ms), 0U);
}

TEST_F(Bus, descriptors_are_readable_when_requests_and_replies_come) {
  const auto on = node("both");
  auto client = on.client<Tick, Tick>("tick");
  auto server = on.server<Tick, Tick>("tick");
  EXPECT_GE(client.fd(), 0);
  EXPECT_GE(server.fd(), 0);
  auto call = client.call(Tick{.count = 1});
  server.clear_fd();
  server.reply(take(server), Tick{.count = 2});
  client.clear_fd();
  EXPECT_EQ(call.wait()->count, 2U);
}

TEST_F(Bus, loans_and_calls_outlive_their_client_and_server) {
  const auto on = node("both");
  std::optional client = on.client<Tick, Tick>("tick");
  std::optional server = on.server<Tick, Tick>("tick");
  auto call = client->call(Tick{.count = 1});
  auto unsent = client->loan();
  client.reset();
  const auto request = take(*server);
  auto reply = server->loan(request);
  reply->count = 3;
  server.reset();
  reply.send();
  EXPECT_EQ(call.wait()->count, 3U);
  unsent->count = 4;
}

/// A callback that delivers replies itself: parts that come meanwhile are kept until it has returned.
TEST_F(Bus, a_callback_may_dispatch) {
  const auto on = node("both");
  auto client = on.client<Tick, Tick>("tick");
  auto server = on.server<Tick, Tick>("tick");
  std::vector<std::uint64_t> parts;
  bool has_ended = false;
  client.call(Tick{.count = 1}, 20s, [&](situ::result<std::optional<situ::sample<Tick>>, situ::error> part) {
    if (!part || !part->has_value()) {
      has_ended = true;
      return;
    }
    parts.push_back((*part->value()).count);
    (void)client.try_dispatch();
  });
  const auto request = take(server);
  server.part(request, Tick{.count = 1});
  server.part(request, Tick{.count = 2});
  server.reply(request, Tick{.count = 3});
  for (int turn = 0; turn < 1000 && !has_ended; ++turn) client.dispatch(10ms);
  EXPECT_TRUE(has_ended);
  EXPECT_EQ(parts, (std::vector<std::uint64_t>{1, 2, 3}));
}

/// Interrupts while `wait` waits, and resets.
template <class Wait>
auto interrupted(const situ::interrupter& stop, const Wait& wait) {
  std::thread other([&stop] {
    std::this_thread::sleep_for(10ms);
    stop.interrupt();
  });
  auto ended = wait();
  other.join();
  stop.reset();
  return ended;
}

TEST_F(Bus, another_thread_ends_the_waits_of_clients_and_servers) {
  const auto on = node("both");
  const situ::interrupter stop;
  const situ::waiting how{.stop = &stop};
  auto lonely = on.client<Tick, Tick>("nobody");
  EXPECT_EQ(interrupted(stop, [&] { return lonely.wait_for_server(how); }), situ::waited::interrupted);
  EXPECT_EQ(lonely.wait_for_server({.timeout = 1ms, .stop = &stop}), situ::waited::timed_out);

  auto client = on.client<Tick, Tick>("tick", {.depth = 8});
  auto server = on.server<Tick, Tick>("tick", {.depth = 1});
  EXPECT_EQ(client.wait_for_server(how), situ::waited::ready);
  EXPECT_EQ(interrupted(stop, [&] { return server.wait(how); }), situ::waited::interrupted);
  EXPECT_FALSE(interrupted(stop, [&] { return server.receive(how); }));
  const auto echo = [](const situ::request<Tick>& request) { return *request; };
  EXPECT_EQ(interrupted(stop, [&] { return server.serve(echo, how); }), 0U);

  auto call = client.call(Tick{.count = 1});
  EXPECT_EQ(interrupted(stop, [&] { return client.wait(how); }), situ::waited::interrupted);
  EXPECT_EQ(interrupted(stop, [&] { return client.dispatch(how); }), 0U);
  EXPECT_FALSE(interrupted(stop, [&] { return call.wait_for(how); }));
  EXPECT_FALSE(interrupted(stop, [&] { return call.next(how); }));
  EXPECT_FALSE(call.next({.timeout = 1ms}));
  EXPECT_TRUE(call.is_under_way());

  // An interrupted wait ends even when there is something, and a wait for room fails.
  const auto request = server.receive(how);
  server.part(*request, Tick{.count = 2});
  server.set_interrupter(&stop);
  stop.interrupt();
  EXPECT_FALSE(call.wait_for(how));
  EXPECT_FALSE(call.next(how));
  auto part = server.loan(*request);
  part->count = 3;
  const auto sent = part.try_send_part(20s);
  ASSERT_FALSE(sent);
  EXPECT_EQ(sent.error().code(), situ::errc::interrupted);
  stop.reset();
  EXPECT_EQ((*call.next(how))->count, 2U);
  part.send(20s);
  EXPECT_EQ((*call.wait_for(how))->count, 3U);

  client.set_interrupter(&stop);
  stop.interrupt();
  std::vector<situ::pending_call<Tick>> calls;
  for (;;) {
    auto next = client.loan();
    next->count = calls.size();
    auto began = next.try_send();
    if (!began) {
      EXPECT_EQ(began.error().code(), situ::errc::interrupted);
      break;
    }
    ASSERT_LT(calls.size(), 64U);
    calls.push_back(std::move(*began));
  }
}

}  // namespace
}  // namespace bus_test
