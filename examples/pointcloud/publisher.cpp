// Publishes clouds of different sizes: each costs what it holds.
#include <chrono>
#include <cstddef>
#include <cstdio>
#include <exception>
#include <thread>

#include "messages.hpp"
#include "situ/bus.hpp"

using namespace std::chrono_literals;
using examples::Cloud;

int main() try {
  const situ::node node("pointcloud_publisher");
  auto publisher = node.publisher<Cloud>("cloud", {.reliability = situ::reliability::reliable});

  while (publisher.statistics().subscribers == 0) {
    std::this_thread::sleep_for(10ms);
  }
  for (const std::size_t size : {1'000U, 50'000U, 200'000U}) {
    auto cloud = publisher.loan({.points = size});
    cloud->frame_id = "lidar";
    float x = 0;
    for (auto& point : cloud.bulk(&Cloud::points)) {
      point.x = x++;
      point.y = 2;
      point.z = -1;
    }
    cloud.publish();
    std::printf("published %zu points\n", size);
  }
} catch (const std::exception& problem) {
  std::fprintf(stderr, "%s\n", problem.what());
  return 1;
}
