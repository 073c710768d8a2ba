// Takes ten poses and reads each where it lies.
#include <chrono>
#include <cstdio>
#include <exception>
#include <stdexcept>

#include "messages.hpp"
#include "situ/bus.hpp"

using namespace std::chrono_literals;
using examples::Pose;

int main() try {
  const situ::node node("hello_subscriber");
  auto subscriber = node.subscriber<Pose>("hello", {.reliability = situ::reliability::reliable});

  for (int i = 0; i < 10; ++i) {
    const auto pose = subscriber.receive(10s);
    if (!pose) throw std::runtime_error("no pose for 10 s");
    std::printf("pose %llu: x = %g, y = %g, heading = %g\n",
                static_cast<unsigned long long>(pose->sequence()), (*pose)->x, (*pose)->y, (*pose)->heading);
  }
} catch (const std::exception& problem) {
  std::fprintf(stderr, "%s\n", problem.what());
  return 1;
}
