// Builds a flat message of a ROS package in place, and prints what the Rust program prints for the same type.
#include <cinttypes>
#include <cstdio>

#include "situ_msgs/scan_msgs/action/turn.hpp"
#include "situ_msgs/scan_msgs/msg/scan.hpp"
#include "situ_msgs/scan_msgs/srv/measure.hpp"

namespace scan_msgs = situ_msgs::scan_msgs;
using scan_msgs::msg::Scan;

static_assert(situ::flat_message<Scan> && situ::flat_message<scan_msgs::action::Turn_Goal_<situ::flat>>);
static_assert(!situ::is_flat_v<scan_msgs::srv::Measure_Response>);
static_assert(Scan::UNITS_PER_METRE == 4);

int main() {
  alignas(64) std::byte place[sizeof(Scan) + 64];
  Scan* scan = Scan::init_at(place, {.raw = 3});
  if (!scan->header.frame_id.try_assign("front") || !scan->ranges.try_assign(2, 2.5F)) return 1;
  if (scan->ranges.try_assign(9, 0)) return 2;
  scan->pose.x = -1;
  if (scan->raw.size() != 3 || scan->header.frame_id != "front" || scan->ranges[1] != 2.5F) return 3;
  std::printf("%.*s %016" PRIx64 " %016" PRIx64 " %zu\n", static_cast<int>(Scan::situ_name.size()),
              Scan::situ_name.data(), Scan::schema_hash, Scan::layout_hash, sizeof(Scan));
}
