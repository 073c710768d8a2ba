// A node of callbacks: it publishes poses by a timer, receives them, and stops after the third one.
#include <chrono>
#include <cstdio>
#include <exception>

#include "messages.hpp"
#include "situ/bus.hpp"

using namespace std::chrono_literals;
using examples::Pose;

int main() try {
  const situ::node node("follower");
  situ::executor executor(node);

  // A guard condition connects callbacks with each other, with other threads, and with signal handlers.
  const situ::guard_condition arrived;
  executor.subscribe(node.subscriber<Pose>("follower/poses"),
                     [&arrived, count = 0](const situ::sample<Pose>& pose) mutable {
                       std::printf("pose: x = %g\n", pose->x);
                       if (++count == 3) arrived.trigger();
                     });

  auto poses = node.publisher<Pose>("follower/poses");
  executor.add(situ::timer(20ms), [&poses, x = 0.0](situ::timer_call) mutable {
    auto pose = poses.loan();
    pose->x = x++;
    pose.publish();
  });

  executor.add(arrived, [&executor] {
    std::puts("arrived");
    executor.stop();
  });

  // With `spin(4)`, callbacks of different groups run at the same time.
  executor.spin();
} catch (const std::exception& problem) {
  std::fprintf(stderr, "%s\n", problem.what());
  return 1;
}
