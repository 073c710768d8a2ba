// Turns four poses around, and refuses those that are nowhere.
#include <cmath>
#include <cstdio>
#include <exception>

#include "messages.hpp"
#include "situ/bus.hpp"

using examples::Pose;

int main() try {
  const situ::node node("turner");
  situ::executor executor(node);

  // ANCHOR: server
  executor.serve(
      node.server<Pose, Pose>("turn"),
      [&executor, left = 4](const situ::request<Pose>& asked) mutable -> situ::result<Pose, situ::refusal> {
        // The reply is sent before the executor stops.
        if (--left == 0) executor.stop();
        if (!std::isfinite(asked->x)) return situ::failure{situ::refusal{1, "where is that?"}};
        Pose turned;
        turned.x = -asked->x;
        turned.y = -asked->y;
        return turned;
      });
  // ANCHOR_END: server

  executor.spin();
} catch (const std::exception& problem) {
  std::fprintf(stderr, "%s\n", problem.what());
  return 1;
}
