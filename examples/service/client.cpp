// Has three poses turned around at once, and one that is nowhere.
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <stdexcept>

#include "messages.hpp"
#include "situ/bus.hpp"

using namespace std::chrono_literals;
using examples::Pose;
using Turn = situ::client<Pose, Pose>;

namespace {

// ANCHOR: client
/// Begins a call. The request is built where the server reads it.
situ::pending_call<Pose> turn(Turn& client, double x) {
  auto request = client.loan();
  request->x = x;
  return request.send(10s);
}

/// A coroutine: while it waits, others run. Here nothing else does.
situ::task turn_all(Turn& client, bool& is_done) try {
  auto first = turn(client, 1), second = turn(client, 2), third = turn(client, 3), last = turn(client, NAN);
  std::printf("turned: x = %g\n", (co_await first)->x);
  std::printf("turned: x = %g\n", (co_await second)->x);
  std::printf("turned: x = %g\n", (co_await third)->x);
  try {
    (void)co_await last;
  } catch (const situ::error& error) {
    if (error.reason() == nullptr) throw;
    std::printf("refused: %s (%u)\n", error.reason()->text.c_str(),
                static_cast<unsigned>(error.reason()->code));
  }
  is_done = true;
} catch (const std::exception& problem) {
  std::fprintf(stderr, "%s\n", problem.what());
  std::exit(1);
}
// ANCHOR_END: client

}  // namespace

int main() try {
  const situ::node node("turning");
  auto client = node.client<Pose, Pose>("turn");
  if (!client.wait_for_server(10s)) throw std::runtime_error("no server for 10 s");
  bool is_done = false;
  turn_all(client, is_done);
  // Resumes coroutines whose replies are there. In a program with an executor, `executor.add(client)` does
  // it.
  while (!is_done) client.dispatch(1s);
} catch (const std::exception& problem) {
  std::fprintf(stderr, "%s\n", problem.what());
  return 1;
}
