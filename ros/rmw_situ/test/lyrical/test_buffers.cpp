// Messages with Lyrical's rosidl::Buffer, also with one whose bytes are not on the host.
#include <gtest/gtest.h>
#include <rmw/error_handling.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <rosidl_buffer/buffer.hpp>
#include <string>
#include <utility>
#include <vector>

#include "types/buffer.hpp"
#include "types/cdr_read.hpp"
#include "types/cdr_source.hpp"
#include "types/cdr_write.hpp"
#include "types/plan.hpp"

namespace rmw_situ::test {
namespace {

using Bytes = rosidl::Buffer<uint8_t>;

struct Picture {
  uint32_t height = 0;
  Bytes data;
  uint32_t width = 0;
};

// Bytes that only copies can see. Counts the copies.
class OnDevice : public rosidl::BufferImplBase<uint8_t> {
 public:
  OnDevice(std::vector<uint8_t> bytes, size_t& copies) : bytes_(std::move(bytes)), copies_(copies) {}
  std::string get_backend_type() const override { return "device"; }
  size_t size() const override { return bytes_.size(); }
  std::unique_ptr<BufferImplBase<uint8_t>> to_cpu() const override {
    ++copies_;
    auto host = std::make_unique<rosidl::CpuBufferImpl<uint8_t>>();
    host->get_storage() = bytes_;
    return host;
  }
  std::unique_ptr<BufferImplBase<uint8_t>> clone() const override {
    return std::make_unique<OnDevice>(bytes_, copies_);
  }

 private:
  std::vector<uint8_t> bytes_;
  size_t& copies_;
};

// One that gives no copy on the host.
class Unreachable : public OnDevice {
 public:
  using OnDevice::OnDevice;
  std::unique_ptr<BufferImplBase<uint8_t>> to_cpu() const override { return clone(); }
};

Member number(const char* name, size_t offset) {
  Member made;
  made.name = name;
  made.kind = Kind::kUint32;
  made.offset = offset;
  return made;
}

// The type of Picture, with the functions that introspection has for it.
Struct picture(size_t bound = 0) {
  Member data;
  data.name = "data";
  data.kind = Kind::kUint8;
  data.container = Container::kSequence;
  data.is_buffer = true;
  data.length = bound;
  data.offset = offsetof(Picture, data);
  data.size = [](const void* at) { return static_cast<const Bytes*>(at)->size(); };
  data.get_const = [](const void* at, size_t index) -> const void* {
    return &(*static_cast<const Bytes*>(at))[index];
  };
  data.get = [](void* at, size_t index) -> void* { return &(*static_cast<Bytes*>(at))[index]; };
  data.resize_cpp = [](void* at, size_t size) { static_cast<Bytes*>(at)->resize(size); };
  Struct made;
  made.name = "test_msgs::msg::Picture";
  made.language = Language::kCpp;
  made.size = sizeof(Picture);
  made.alignment = alignof(Picture);
  made.members = {number("height", offsetof(Picture, height)), data,
                  number("width", offsetof(Picture, width))};
  return made;
}

const std::vector<uint8_t> PIXELS = {1, 2, 3, 4, 5};
// Little-endian: the height 7, five pixels, three bytes of padding, the width 9.
const std::vector<uint8_t> SERIALIZED = {0, 1, 0, 0, 7, 0, 0, 0, 5, 0, 0, 0,
                                         1, 2, 3, 4, 5, 0, 0, 0, 9, 0, 0, 0};

template <class Message>
std::vector<uint8_t> serialized(const Plan& plan, const Message& message) {
  std::vector<std::byte> bytes(measure_cdr(plan, &message));
  if (!write_cdr(plan, "test_msgs/msg/Picture", &message, bytes)) return {};
  const auto* const begin = reinterpret_cast<const uint8_t*>(bytes.data());
  return {begin, begin + bytes.size()};
}

Picture on_device(std::vector<uint8_t> bytes, size_t& copies) {
  return {7, Bytes(std::make_unique<OnDevice>(std::move(bytes), copies)), 9};
}

TEST(Buffers, OnTheHostAreWrittenAndRead) {
  const Struct type = picture();
  const Plan plan = compile(type);
  Picture message{7, {}, 9};
  message.data.resize(PIXELS.size());
  for (size_t i = 0; i < PIXELS.size(); ++i) message.data[i] = PIXELS[i];
  EXPECT_EQ(serialized(plan, message), SERIALIZED);

  Picture read;
  CdrSource source(std::as_bytes(std::span(SERIALIZED)), "test_msgs/msg/Picture");
  ASSERT_TRUE(source.open() && read_cdr(plan, source, &read)) << rmw_get_error_string().str;
  EXPECT_EQ(read.height, 7u);
  EXPECT_EQ(read.width, 9u);
  ASSERT_EQ(read.data.size(), PIXELS.size());
  for (size_t i = 0; i < PIXELS.size(); ++i) EXPECT_EQ(read.data[i], PIXELS[i]);
}

TEST(Buffers, OnADeviceAreCopiedOnceToTheHostAndWritten) {
  const Struct type = picture();
  const Plan plan = compile(type);
  size_t copies = 0;
  const Picture message = on_device(PIXELS, copies);
  EXPECT_EQ(serialized(plan, message), SERIALIZED);
  EXPECT_EQ(copies, 1u);
}

// As rclpy has it: a message in C, whose sequence is a buffer or an ordinary one.
TEST(Buffers, InMessagesOfCAreWritten) {
  struct PictureC {
    uint32_t height = 7;
    BufferSequenceC data = {};
    uint32_t width = 9;
  };
  Struct type = picture();
  type.language = Language::kC;
  type.size = sizeof(PictureC);
  type.members[1].offset = offsetof(PictureC, data);
  type.members[1].size = [](const void* at) { return static_cast<const BufferSequenceC*>(at)->size; };
  type.members[1].get_const = [](const void* at, size_t index) -> const void* {
    return static_cast<const uint8_t*>(static_cast<const BufferSequenceC*>(at)->data) + index;
  };
  type.members[1].resize_cpp = nullptr;
  type.members[1].resize_c = [](void*, size_t) { return false; };
  type.members[2].offset = offsetof(PictureC, width);
  const Plan plan = compile(type);
  PictureC message;
  message.data = {PIXELS.data(), PIXELS.size(), PIXELS.size(), false, false};
  EXPECT_EQ(serialized(plan, message), SERIALIZED);

  size_t copies = 0;
  const Bytes buffer(std::make_unique<OnDevice>(PIXELS, copies));
  message.data = {&buffer, 0, 0, true, false};
  EXPECT_EQ(serialized(plan, message), SERIALIZED);
  EXPECT_EQ(copies, 1u);
}

TEST(Buffers, OnADeviceMayBeEmpty) {
  const Struct type = picture();
  const Plan plan = compile(type);
  size_t copies = 0;
  const Picture message = on_device({}, copies);
  EXPECT_EQ(serialized(plan, message),
            (std::vector<uint8_t>{0, 1, 0, 0, 7, 0, 0, 0, 0, 0, 0, 0, 9, 0, 0, 0}));
}

TEST(Buffers, OnADeviceKeepTheirBound) {
  const Struct type = picture(4);
  const Plan plan = compile(type);
  size_t copies = 0;
  const Picture message = on_device(PIXELS, copies);
  std::vector<std::byte> bytes(measure_cdr(plan, &message));
  EXPECT_FALSE(write_cdr(plan, "test_msgs/msg/Picture", &message, bytes));
  EXPECT_NE(std::string(rmw_get_error_string().str).find("'data' has 5 elements, but its bound is 4"),
            std::string::npos);
  rmw_reset_error();
}

TEST(Buffers, WithoutACopyOnTheHostAreAnError) {
  const Struct type = picture();
  const Plan plan = compile(type);
  size_t copies = 0;
  const Picture message{7, Bytes(std::make_unique<Unreachable>(PIXELS, copies)), 9};
  std::vector<std::byte> bytes(measure_cdr(plan, &message));
  EXPECT_THROW(write_cdr(plan, "test_msgs/msg/Picture", &message, bytes), std::runtime_error);
}

}  // namespace
}  // namespace rmw_situ::test
