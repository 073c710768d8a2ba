// Finds the objects that stand on the ground in a point cloud: everything that is clearly above the lowest
// point nearby.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <vector>

namespace demo {

/// One return of the lidar, in the layout of the cloud's bytes.
struct Point {
  float x;
  float y;
  float z;
  float intensity;
};
static_assert(sizeof(Point) == 16);

/// Removes the ground, distant points, and invalid points. After its largest cloud it does not allocate any
/// more.
class ObstacleFilter {
 public:
  /// Decides which points stay. Returns their number.
  std::size_t select(std::span<const Point> points) {
    lowest_.assign(kSide * kSide, std::numeric_limits<float>::max());
    cells_.resize(points.size());
    for (std::size_t i = 0; i < points.size(); ++i) {
      cells_[i] = cell_of(points[i]);
      if (cells_[i] != kOutside) {
        lowest_[cells_[i]] = std::min(lowest_[cells_[i]], points[i].z);
      }
    }
    kept_.clear();
    for (std::size_t i = 0; i < points.size(); ++i) {
      if (cells_[i] == kOutside) {
        continue;
      }
      const float height = points[i].z - lowest_[cells_[i]];
      if (height > kLowestObstacle && height < kHighestObstacle) {
        kept_.push_back(static_cast<std::uint32_t>(i));
      }
    }
    return kept_.size();
  }

  /// Writes the points that stay to the place in which they will be read.
  void write(std::span<const Point> points, std::span<Point> out) const {
    const std::size_t count = std::min(kept_.size(), out.size());
    for (std::size_t i = 0; i < count; ++i) {
      out[i] = points[kept_[i]];
    }
  }

 private:
  /// The ground is searched in cells of one metre, within 50 metres to each side.
  static constexpr std::size_t kSide = 100;
  static constexpr float kReach = static_cast<float>(kSide) / 2;
  static constexpr float kLowestObstacle = 0.25F;
  static constexpr float kHighestObstacle = 4.0F;
  static constexpr std::uint16_t kOutside = std::numeric_limits<std::uint16_t>::max();
  static_assert(kSide * kSide < kOutside);

  static std::uint16_t cell_of(const Point& point) {
    // A comparison with NaN is false, so such points lie outside.
    const bool inside = std::abs(point.x) < kReach && std::abs(point.y) < kReach && std::isfinite(point.z);
    if (!inside) {
      return kOutside;
    }
    const auto column = static_cast<std::size_t>(point.x + kReach);
    const auto row = static_cast<std::size_t>(point.y + kReach);
    return static_cast<std::uint16_t>(std::min(row, kSide - 1) * kSide + std::min(column, kSide - 1));
  }

  std::vector<float> lowest_;
  std::vector<std::uint16_t> cells_;
  std::vector<std::uint32_t> kept_;
};

}  // namespace demo
