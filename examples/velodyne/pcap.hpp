// Reads UDP packets from a capture in the classic format of libpcap.
//
//   file: magic (a1b2c3d4: microseconds, a1b23c4d: nanoseconds), version, 8 unused bytes, limit, link
//   record: seconds, fraction, bytes in the file, bytes on the line; then the bytes: Ethernet, IPv4, UDP
//
// The magic is written in the byte order of all other numbers of the file. Packets that are no UDP in whole
// IPv4 packets are skipped: a capture has others, too.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <istream>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

namespace velodyne {

/// A UDP packet. Its content is valid until the next one is read.
struct Datagram {
  /// When it was captured: nanoseconds since 1970.
  std::uint64_t at_ns;
  /// The port that it was sent to.
  std::uint16_t port;
  std::span<const std::uint8_t> content;
};

/// A capture. Throws `std::runtime_error` if it cannot be read.
class Pcap {
 public:
  /// Reads the head of a capture.
  explicit Pcap(std::istream& from) : from_(from) {
    std::array<std::uint8_t, 24> head;
    if (!read(head)) throw std::runtime_error("the capture is shorter than its head");
    // In the byte order of a little-endian file.
    const std::uint32_t magic = number(head, 0);
    is_big_endian_ = magic == 0xd4c3'b2a1 || magic == 0x4d3c'b2a1;
    unit_ns_ = magic == 0xa1b2'c3d4 || magic == 0xd4c3'b2a1 ? 1000 : 1;
    if (!is_big_endian_ && magic != 0xa1b2'c3d4 && magic != 0xa1b2'3c4d) {
      char hex[9];
      std::snprintf(hex, sizeof(hex), "%08x", static_cast<unsigned>(magic));
      throw std::runtime_error("the file begins with " + std::string(hex) +
                               ", no capture of libpcap (`editcap -F pcap` converts others)");
    }
    // The upper half has other information.
    const std::uint32_t link = number(head, 20) & 0xffff;
    if (link != kEthernet) {
      throw std::runtime_error("the capture is of link type " + std::to_string(link) +
                               "; only Ethernet (1) is known");
    }
  }

  /// Returns the next UDP packet; nothing at the end. A record that the end of the file cuts off is the end:
  /// the capture was interrupted.
  std::optional<Datagram> next() {
    std::array<std::uint8_t, 16> head;
    while (read(head)) {
      const std::uint32_t size = number(head, 8);
      if (size > kMaxRecord) {
        throw std::runtime_error("a record claims " + std::to_string(size) + " bytes, more than " +
                                 std::to_string(kMaxRecord) + ": the capture is damaged");
      }
      record_.resize(size);
      if (!read(record_)) break;
      const std::uint64_t at_ns =
          std::uint64_t{number(head, 0)} * 1'000'000'000 + std::uint64_t{number(head, 4)} * unit_ns_;
      if (auto found = udp(record_, at_ns)) return found;
    }
    return std::nullopt;
  }

 private:
  using Bytes = std::span<const std::uint8_t>;

  /// The largest record that any capture program writes.
  static constexpr std::uint32_t kMaxRecord = 256 << 10;
  static constexpr std::uint32_t kEthernet = 1;
  static constexpr std::uint16_t kIpv4 = 0x0800;
  static constexpr std::uint16_t kVlan = 0x8100;
  static constexpr std::uint8_t kUdp = 17;

  /// Fills `bytes`. Returns false if the file ends before.
  bool read(std::span<std::uint8_t> bytes) {
    from_.read(reinterpret_cast<char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
    if (from_.bad()) throw std::runtime_error("the capture cannot be read");
    return static_cast<std::size_t>(from_.gcount()) == bytes.size();
  }

  /// Returns a number of a head, which has it.
  [[nodiscard]] std::uint32_t number(Bytes head, std::size_t at) const {
    std::uint32_t number = 0;
    for (std::size_t byte = 0; byte < 4; ++byte) {
      number = number << 8 | head[at + (is_big_endian_ ? byte : 3 - byte)];
    }
    return number;
  }

  /// Returns a number of a packet, which is big endian; nothing if the packet ends before.
  static std::optional<std::uint16_t> short_at(Bytes bytes, std::size_t at) {
    if (bytes.size() < at + 2) return std::nullopt;
    return static_cast<std::uint16_t>(bytes[at] << 8 | bytes[at + 1]);
  }

  /// Returns the bytes from one place to another; nothing if they are not all there.
  static std::optional<Bytes> part(Bytes bytes, std::size_t from, std::size_t to) {
    if (from > to || to > bytes.size()) return std::nullopt;
    return bytes.subspan(from, to - from);
  }

  /// Returns the packet in a frame of Ethernet with a whole packet of UDP in IPv4.
  static std::optional<Datagram> udp(Bytes frame, std::uint64_t at_ns) {
    std::size_t at = 12;  // Behind the addresses.
    while (short_at(frame, at) == kVlan) at += 4;
    if (short_at(frame, at) != kIpv4) return std::nullopt;
    const Bytes ip = frame.subspan(at + 2);
    const auto flags = short_at(ip, 6);
    const bool is_whole = flags && (*flags & 0x3fff) == 0;
    if (ip.size() < 10 || ip[0] >> 4 != 4 || ip[9] != kUdp || !is_whole) return std::nullopt;
    const std::size_t head = std::size_t{ip[0]} % 16 * 4;
    // A frame may have padding behind the packet.
    const auto packet = part(ip, std::max<std::size_t>(head, 20), short_at(ip, 2).value_or(0));
    if (!packet) return std::nullopt;
    const auto content = part(*packet, 8, short_at(*packet, 4).value_or(0));
    if (!content) return std::nullopt;
    return Datagram{at_ns, short_at(*packet, 2).value_or(0), *content};
  }

  std::istream& from_;
  bool is_big_endian_ = false;
  /// The unit of a record's fraction of a second.
  std::uint32_t unit_ns_ = 0;
  std::vector<std::uint8_t> record_;
};

}  // namespace velodyne
