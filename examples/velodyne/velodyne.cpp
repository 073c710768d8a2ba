// Publishes the point clouds of a Velodyne VLP-16 from a capture of its packets.
//
// `velodyne capture.pcap` publishes `velodyne/points`: one cloud for each turn of the head. A cloud is
// decoded directly into its message in shared memory.
#include <bit>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <exception>
#include <fstream>
#include <span>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "pcap.hpp"
#include "situ/bus.hpp"
#include "situ/sensor.hpp"
#include "situ/time.hpp"
#include "vlp16.hpp"

namespace {

using namespace std::chrono_literals;
using situ::sensor::PointCloud2;
using situ::sensor::PointFieldType;
using velodyne::Packet;

static_assert(std::endian::native == std::endian::little, "the points are written as they are in memory");

/// More packets than a turn of the slowest speed, 300 a minute, has (151).
constexpr std::size_t kMaxPackets = 400;

/// A point as it lies in the message.
struct PlacedPoint {
  float x, y, z, intensity;
  std::uint16_t ring;
  std::uint16_t unused;
  float time;
};
static_assert(sizeof(PlacedPoint) == 24);

struct Field {
  const char* name;
  std::size_t offset;
  PointFieldType datatype;
};
constexpr Field kFields[] = {
    {"x", offsetof(PlacedPoint, x), PointFieldType::FLOAT32},
    {"y", offsetof(PlacedPoint, y), PointFieldType::FLOAT32},
    {"z", offsetof(PlacedPoint, z), PointFieldType::FLOAT32},
    {"intensity", offsetof(PlacedPoint, intensity), PointFieldType::FLOAT32},
    {"ring", offsetof(PlacedPoint, ring), PointFieldType::UINT16},
    {"time", offsetof(PlacedPoint, time), PointFieldType::FLOAT32},
};

/// A packet with its time, in nanoseconds since 1970.
struct Timed {
  std::uint64_t at_ns;
  Packet packet;
};

/// Publishes the packets of a turn as one cloud.
void publish(situ::publisher<PointCloud2>& publisher, std::span<const Timed> turn) {
  const std::uint64_t begin_ns = turn.front().at_ns;
  std::size_t number = 0;
  for (const auto& [at_ns, packet] : turn) number += packet.point_count();
  auto cloud = publisher.loan({.data = number * sizeof(PlacedPoint)});
  cloud->header.stamp = situ::time::from_nanos<situ::common::Time>(static_cast<std::int64_t>(begin_ns));
  cloud->header.frame_id = "velodyne";
  cloud->height = 1;
  cloud->width = static_cast<std::uint32_t>(number);
  for (const auto& [name, offset, datatype] : kFields) {
    auto& field = cloud->fields.emplace_back();
    field.name = name;
    field.offset = static_cast<std::uint32_t>(offset);
    field.datatype = datatype;
  }
  cloud->point_step = sizeof(PlacedPoint);
  cloud->row_step = static_cast<std::uint32_t>(number * sizeof(PlacedPoint));
  cloud->is_dense = true;
  std::uint8_t* place = cloud.bulk(&PointCloud2::data).data();
  for (const auto& [at_ns, packet] : turn) {
    const double since_begin = at_ns > begin_ns ? static_cast<double>(at_ns - begin_ns) / 1e9 : 0;
    packet.for_each_point([&](const velodyne::Point& point) {
      const PlacedPoint placed{.x = point.x,
                               .y = point.y,
                               .z = point.z,
                               .intensity = static_cast<float>(point.reflectivity),
                               .ring = point.ring,
                               .unused = 0,
                               .time = static_cast<float>(since_begin + point.seconds)};
      std::memcpy(place, &placed, sizeof(placed));
      place += sizeof(placed);
    });
  }
  cloud.publish();
  std::printf("published %zu points of %zu packets\n", number, turn.size());
}

void run(const char* path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) throw std::runtime_error(std::string(path) + ": cannot be opened");
  velodyne::Pcap capture(file);

  const situ::node node("velodyne");
  auto publisher =
      node.publisher<PointCloud2>("velodyne/points", {.reliability = situ::reliability::reliable});
  while (publisher.statistics().subscribers == 0) {
    std::this_thread::sleep_for(10ms);
  }
  std::vector<Timed> turn;
  const auto finish = [&] {
    if (!turn.empty()) publish(publisher, turn);
    turn.clear();
  };
  while (const auto datagram = capture.next()) {
    if (datagram->port != velodyne::kPort) continue;
    std::string problem;
    const auto packet = Packet::read(datagram->content, problem);
    if (!packet) {
      std::fprintf(stderr, "skipped: %s\n", problem.c_str());
      continue;
    }
    const bool is_next = !turn.empty() && packet->first_azimuth() < turn.back().packet.first_azimuth();
    if (is_next || turn.size() == kMaxPackets) finish();
    turn.push_back({datagram->at_ns, *packet});
  }
  finish();
}

}  // namespace

int main(int argc, char** argv) try {
  if (argc != 2) {
    std::fprintf(stderr, "usage: velodyne FILE.pcap\n");
    return 2;
  }
  run(argv[1]);
} catch (const std::exception& problem) {
  std::fprintf(stderr, "%s\n", problem.what());
  return 1;
}
