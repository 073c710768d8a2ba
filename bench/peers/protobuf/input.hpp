// The values of the messages of table `protobuf`.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

constexpr int kLevels = 3;
constexpr std::size_t kNumbers = 1024;

struct Input {
  std::int32_t a = 0x12345678;
  std::uint32_t b = 0x90abcdef;
  std::int64_t c = 0x11111111;
  std::uint64_t d = 0xffffffff;
  char text[32];
  std::uint32_t numbers[kNumbers];

  std::string_view string() const { return {text, sizeof text}; }
};
