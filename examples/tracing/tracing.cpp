// A program that traces its work beside the events of the bus: slices, moments, a counter, arrows, and its
// log.
#include <chrono>
#include <cstdio>
#include <exception>
#include <string>
#include <thread>

#include "messages.hpp"
#include "situ/bus.hpp"
#include "situ/trace.hpp"

using namespace std::chrono_literals;
using examples::Pose;

namespace {

constinit situ::trace::category planner{"planner"};

// Work that takes its time.
double think(const Pose& pose) {
  SITU_TRACE_SCOPE(planner, "think", situ::trace::arg<"x">(pose.x));
  const auto begin = std::chrono::steady_clock::now();
  while (std::chrono::steady_clock::now() - begin < 200us) {
  }
  if (pose.x > 7.0) {
    SITU_TRACE_INSTANT(planner, "turn", situ::trace::arg<"reason">("the end of the road"));
    // An adapter of a logging library does this, so that its messages are in the trace.
    const std::string text = "the road ends at " + std::to_string(static_cast<int>(pose.x));
    situ::trace::log(situ::trace::severity::warn, text, __FILE__, __LINE__);
  }
  return pose.x * 2.0;
}

void run() {
  const situ::node node("tracing");
  auto poses = node.publisher<Pose>("tracing/poses", {.reliability = situ::reliability::reliable});
  auto subscriber = node.subscriber<Pose>("tracing/poses", {.reliability = situ::reliability::reliable});
  int far = 0;
  for (int step = 0; step < 10; ++step) {
    // The parts of a step belong together: an arrow leads from the one slice to the other.
    SITU_TRACE_SCOPE(planner, "step", situ::trace::flow(1), situ::trace::arg<"step">(step));
    auto pose = poses.loan();
    pose->x = step;
    pose.publish();
    if (const auto taken = subscriber.receive(10s); taken && think(**taken) > 10.0) ++far;
    SITU_TRACE_SET(planner, "far", far);
    std::this_thread::sleep_for(2ms);
  }
  std::printf("%d of 10 poses were far away\n", far);
}

}  // namespace

int main() {
  try {
    run();
  } catch (const std::exception& problem) {
    std::fprintf(stderr, "%s\n", problem.what());
    return 1;
  }
  return 0;
}
