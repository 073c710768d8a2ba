// Publishes where the robot is, ten times a second, until Ctrl-C.
#include <chrono>
#include <cmath>
#include <csignal>
#include <cstdio>
#include <exception>
#include <thread>

#include "messages.hpp"
#include "situ/bus.hpp"

using namespace std::chrono_literals;
using my_robot::Pose;

namespace {
volatile std::sig_atomic_t stop = 0;
}

int main() try {
  std::signal(SIGINT, [](int) { stop = 1; });

  const situ::node node("my_robot_publisher");
  auto publisher = node.publisher<Pose>("my_robot/pose");
  std::puts("publishing on my_robot/pose until Ctrl-C");

  for (double angle = 0; stop == 0; angle += 0.1) {
    // A pose in shared memory, with default values.
    auto pose = publisher.loan();
    pose->x = std::cos(angle);
    pose->y = std::sin(angle);
    pose->heading = angle;
    // Subscribers receive a reference to it. Nothing is copied.
    pose.publish();
    std::this_thread::sleep_for(100ms);
  }
  std::puts("done");
} catch (const std::exception& problem) {
  std::fprintf(stderr, "%s\n", problem.what());
  return 1;
}
