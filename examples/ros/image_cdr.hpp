// A sensor_msgs/Image as CDR, read and written in place: the form in which ROS's nodes on Situ exchange
// images.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <span>
#include <string_view>

namespace demo {

/// An image; texts and pixels lie elsewhere.
struct ImageView {
  std::int32_t sec = 0;
  std::uint32_t nanosec = 0;
  std::string_view frame_id;
  std::uint32_t height = 0;
  std::uint32_t width = 0;
  std::string_view encoding;
  std::uint8_t is_bigendian = 0;
  std::uint32_t step = 0;
  std::span<const std::uint8_t> data;
};

/// Walks over CDR (XCDR1, little-endian) from its first byte, or only counts if there are no bytes.
class ImageWriter {
 public:
  explicit ImageWriter(std::byte* to = nullptr) : to_(to) {}

  /// Writes everything but the pixels, and returns the number of bytes in front of them.
  std::size_t write(const ImageView& image, std::size_t pixels) {
    constexpr std::uint8_t encapsulation[4] = {0, 1, 0, 0};
    put(encapsulation, sizeof(encapsulation));
    number(static_cast<std::uint32_t>(image.sec));
    number(image.nanosec);
    text(image.frame_id);
    number(image.height);
    number(image.width);
    text(image.encoding);
    put(&image.is_bigendian, 1);
    number(image.step);
    number(static_cast<std::uint32_t>(pixels));
    return at_;
  }

 private:
  void put(const void* from, std::size_t size) {
    if (to_ != nullptr && size != 0) std::memcpy(to_ + at_, from, size);
    at_ += size;
  }
  void number(std::uint32_t value) {
    constexpr std::uint8_t zeroes[4] = {};
    put(zeroes, (4 - at_ % 4) % 4);
    put(&value, sizeof(value));
  }
  void text(std::string_view value) {
    number(static_cast<std::uint32_t>(value.size()) + 1);
    put(value.data(), value.size());
    put("", 1);
  }

  std::byte* to_;
  std::size_t at_ = 0;
};

/// Finds an image in bytes that another process wrote. Nothing if they are no image.
class ImageReader {
 public:
  static std::optional<ImageView> read(std::span<const std::byte> from) {
    ImageReader reader(from);
    ImageView image;
    std::uint32_t sec = 0, pixels = 0;
    const std::byte* flag = nullptr;
    // Byte 1 says that numbers are little-endian.
    const std::byte* const encapsulation = reader.take(4);
    if (encapsulation == nullptr || encapsulation[0] != std::byte{0} || encapsulation[1] != std::byte{1} ||
        !reader.number(sec) || !reader.number(image.nanosec) || !reader.text(image.frame_id) ||
        !reader.number(image.height) || !reader.number(image.width) || !reader.text(image.encoding) ||
        (flag = reader.take(1)) == nullptr || !reader.number(image.step) || !reader.number(pixels)) {
      return std::nullopt;
    }
    const std::byte* const data = reader.take(pixels);
    if (data == nullptr) return std::nullopt;
    image.sec = static_cast<std::int32_t>(sec);
    image.is_bigendian = std::to_integer<std::uint8_t>(*flag);
    image.data = {reinterpret_cast<const std::uint8_t*>(data), pixels};
    return image;
  }

 private:
  explicit ImageReader(std::span<const std::byte> from) : from_(from) {}

  const std::byte* take(std::size_t size) {
    if (size > from_.size() - at_) return nullptr;
    at_ += size;
    return from_.data() + at_ - size;
  }
  bool number(std::uint32_t& value) {
    const std::size_t padding = (4 - at_ % 4) % 4;
    const std::byte* const at = take(padding + sizeof(value));
    if (at == nullptr) return false;
    std::memcpy(&value, at + padding, sizeof(value));
    return true;
  }
  bool text(std::string_view& value) {
    std::uint32_t size = 0;
    if (!number(size) || size == 0) return false;
    const std::byte* const at = take(size);
    if (at == nullptr || at[size - 1] != std::byte{0}) return false;
    value = {reinterpret_cast<const char*>(at), size - 1};
    return true;
  }

  std::span<const std::byte> from_;
  std::size_t at_ = 0;
};

}  // namespace demo
