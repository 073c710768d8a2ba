// Decodes the data packets of the lidar Velodyne VLP-16.
//
//   packet (1206 bytes): 12 blocks, time (u32, us since the hour), return mode, product
//   block (100 bytes):   FF EE, azimuth (u16, 0.01 degrees), 32 returns: 2 firings of 16 lasers
//   return (3 bytes):    distance (u16, 2 mm; 0: nothing), reflectivity (u8)
//
// Numbers are little endian. The lasers of a firing shoot one after another while the head turns, so each
// return has an azimuth and a time of its own. If a packet has two returns of each shot (dual mode), each
// pair of blocks has the same shots.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <numbers>
#include <optional>
#include <span>
#include <string>

namespace velodyne {

/// The port to which the lidar sends data packets.
inline constexpr std::uint16_t kPort = 2368;

/// A point that a laser hit.
struct Point {
  /// Forward, left and up from the lidar, in metres.
  float x, y, z;
  /// From 0 to 255: up to 100 diffuse, above that a retroreflector.
  std::uint8_t reflectivity;
  /// The laser, from 0 (the lowest) to 15.
  std::uint16_t ring;
  /// Since the packet's first shot.
  double seconds;
};

/// A checked data packet.
class Packet {
 public:
  /// Copies and checks a packet. If it is none, returns nothing, and `problem` says why.
  static std::optional<Packet> read(std::span<const std::uint8_t> bytes, std::string& problem) {
    if (bytes.size() != kSize) {
      problem = "the packet has " + std::to_string(bytes.size()) + " bytes, not " + std::to_string(kSize);
      return std::nullopt;
    }
    Packet packet;
    std::copy(bytes.begin(), bytes.end(), packet.bytes_.begin());
    char text[80] = "";
    if (bytes[kSize - 1] != kVlp16) {
      std::snprintf(text, sizeof(text), "the packet is of the product %#04x, not of a VLP-16 (%#04x)",
                    bytes[kSize - 1], kVlp16);
    }
    for (std::size_t block = 0; block < kBlocks && text[0] == 0; ++block) {
      const std::uint8_t* begin = packet.block(block);
      if (begin[0] != 0xff || begin[1] != 0xee) {
        std::snprintf(text, sizeof(text), "block %zu of the packet begins with %02x %02x, not with ff ee",
                      block, begin[0], begin[1]);
      } else if (packet.azimuth(block) >= kTurn) {
        std::snprintf(text, sizeof(text), "the azimuth of block %zu of the packet is %d, not below %d", block,
                      packet.azimuth(block), kTurn);
      }
    }
    problem = text;
    return problem.empty() ? std::optional(packet) : std::nullopt;
  }

  /// The azimuth at its first shot, in hundredths of a degree.
  [[nodiscard]] int first_azimuth() const { return azimuth(0); }

  [[nodiscard]] std::size_t point_count() const {
    std::size_t count = 0;
    for_each_hit([&count](auto...) { ++count; });
    return count;
  }

  /// Calls `use` with each point.
  template <class Use>
  void for_each_point(Use&& use) const {
    const std::size_t blocks_at_once = bytes_[kSize - 2] == kDual ? 2 : 1;
    for_each_hit(
        [&](std::size_t block, std::size_t index, std::uint16_t distance, std::uint8_t reflectivity) {
          const std::size_t laser = index % kLasers;
          const double in_block_us =
              static_cast<double>(index / kLasers) * kFiringUs + static_cast<double>(laser) * kShotUs;
          const double at_us = static_cast<double>(block / blocks_at_once) * kBlockUs + in_block_us;
          // How far the head turns during a block. That of the last block is as for the one before.
          const std::size_t from = std::min(block, kBlocks - 1 - blocks_at_once);
          const double turn = (azimuth(from + blocks_at_once) - azimuth(from) + kTurn) % kTurn;
          const double azimuth_here = azimuth(block) + turn * in_block_us / kBlockUs;
          const double sideways = radians(azimuth_here / 100), upwards = radians(kElevations[laser]);
          const double along = std::cos(upwards), metres = distance * 0.002;
          use(Point{
              // The azimuth grows clockwise, seen from above.
              .x = static_cast<float>(metres * (along * std::cos(sideways))),
              .y = static_cast<float>(metres * (-along * std::sin(sideways))),
              .z = static_cast<float>(metres * std::sin(upwards)),
              .reflectivity = reflectivity,
              .ring = static_cast<std::uint16_t>((kElevations[laser] + 15) / 2),
              .seconds = at_us / 1e6,
          });
        });
  }

 private:
  static constexpr std::size_t kSize = 1206;
  static constexpr std::size_t kBlocks = 12;
  static constexpr std::size_t kBlock = 100;
  static constexpr std::size_t kLasers = 16;
  static constexpr std::uint8_t kDual = 0x39;
  static constexpr std::uint8_t kVlp16 = 0x22;
  /// A turn of the head, in hundredths of a degree.
  static constexpr int kTurn = 36'000;
  /// From one laser's shot to the next one's.
  static constexpr double kShotUs = 2.304;
  /// From one firing of all lasers to the next one.
  static constexpr double kFiringUs = 55.296;
  static constexpr double kBlockUs = 2 * kFiringUs;
  /// The elevation of each laser in degrees, in the order in which they shoot.
  static constexpr std::array<int, kLasers> kElevations{-15, 1, -13, 3,  -11, 5,  -9, 7,
                                                        -7,  9, -5,  11, -3,  13, -1, 15};

  static double radians(double degrees) { return degrees * (std::numbers::pi / 180); }

  [[nodiscard]] const std::uint8_t* block(std::size_t index) const { return &bytes_[index * kBlock]; }
  [[nodiscard]] int azimuth(std::size_t index) const { return block(index)[2] | block(index)[3] << 8; }

  /// Calls `use` with block, index in it, distance (2 mm) and reflectivity of each shot that hit something.
  template <class Use>
  void for_each_hit(Use&& use) const {
    for (std::size_t index = 0; index < kBlocks; ++index) {
      for (std::size_t shot = 0; shot < 2 * kLasers; ++shot) {
        const std::uint8_t* found = block(index) + 4 + 3 * shot;
        const auto distance = static_cast<std::uint16_t>(found[0] | found[1] << 8);
        if (distance != 0) use(index, shot, distance, found[2]);
      }
    }
  }

  std::array<std::uint8_t, kSize> bytes_{};
};

}  // namespace velodyne
