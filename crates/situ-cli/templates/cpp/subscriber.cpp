// Prints where the robot is, until Ctrl-C.
#include <chrono>
#include <csignal>
#include <cstdio>
#include <exception>

#include "messages.hpp"
#include "situ/bus.hpp"

using namespace std::chrono_literals;
using my_robot::Pose;

namespace {
volatile std::sig_atomic_t stop = 0;
}

int main() try {
  std::signal(SIGINT, [](int) { stop = 1; });

  const situ::node node("my_robot_subscriber");
  auto subscriber = node.subscriber<Pose>("my_robot/pose");
  std::puts("waiting for my_robot/pose until Ctrl-C");

  while (stop == 0) {
    // Waits for the next pose, but looks at `stop` five times a second.
    const auto pose = subscriber.receive(200ms);
    if (!pose) continue;
    // The pose lies in the memory where its publisher wrote it.
    std::printf("pose %llu: x = %.3f, y = %.3f, heading = %.3f\n",
                static_cast<unsigned long long>(pose->sequence()), (*pose)->x, (*pose)->y, (*pose)->heading);
    std::fflush(stdout);
  }
  std::puts("done");
} catch (const std::exception& problem) {
  std::fprintf(stderr, "%s\n", problem.what());
  return 1;
}
