// Takes clouds and sums their points up, where they lie.
#include <chrono>
#include <cstdio>
#include <exception>
#include <stdexcept>

#include "messages.hpp"
#include "situ/bus.hpp"

using namespace std::chrono_literals;
using examples::Cloud;

int main() try {
  const situ::node node("pointcloud_subscriber");
  auto subscriber = node.subscriber<Cloud>("cloud", {.reliability = situ::reliability::reliable});

  for (int i = 0; i < 3; ++i) {
    const auto cloud = subscriber.receive(10s);
    if (!cloud) throw std::runtime_error("no cloud for 10 s");
    const auto points = cloud->bulk(&Cloud::points);
    double sum = 0;
    for (const auto& point : points) sum += point.x + point.y + point.z;
    std::printf("%s: %zu points, sum %.0f\n", (*cloud)->frame_id.c_str(), points.size(), sum);
  }
} catch (const std::exception& problem) {
  std::fprintf(stderr, "%s\n", problem.what());
  return 1;
}
