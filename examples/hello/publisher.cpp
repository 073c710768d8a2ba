// Publishes ten poses, each built where it will be read.
#include <chrono>
#include <cstdio>
#include <exception>
#include <thread>

#include "messages.hpp"
#include "situ/bus.hpp"

using namespace std::chrono_literals;
using examples::Pose;

int main() try {
  const situ::node node("hello_publisher");
  auto publisher = node.publisher<Pose>("hello", {.reliability = situ::reliability::reliable});

  while (publisher.statistics().subscribers == 0) {
    std::this_thread::sleep_for(10ms);
  }
  for (int step = 0; step < 10; ++step) {
    auto pose = publisher.loan();
    pose->x = step;
    pose->heading = 0.5;
    const auto number = pose.publish();
    std::printf("published pose %llu\n", static_cast<unsigned long long>(number));
    std::this_thread::sleep_for(20ms);
  }
} catch (const std::exception& problem) {
  std::fprintf(stderr, "%s\n", problem.what());
  return 1;
}
